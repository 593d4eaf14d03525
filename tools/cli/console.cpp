#include "tools/cli/console.h"

#include <unistd.h>

#include <cstdio>

namespace xpusim::cli {
namespace {
bool is_terminal() {
  static const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return terminal;
}
}  // namespace

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print(const Diagnostics& problems) {
  for (const auto& d : problems.list()) std::fprintf(stderr, "%s\n", d.str().c_str());
}

bool all_is_printed() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return true;
  std::fprintf(stderr, "standard output: error: cannot be written\n");
  return false;
}

void progress(const std::string& text) {
  if (is_terminal()) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

void end_progress() {
  if (is_terminal()) std::fprintf(stderr, "\r\033[K");
}

}  // namespace xpusim::cli
