#include "tests/e2e/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace xpusim::e2e {
namespace {
std::string scratch() {
  static const std::string folder = [] {
    const auto path = testing::TempDir() + "xpusim_e2e_" + std::to_string(::getpid());
    std::filesystem::create_directories(path);
    return path;
  }();
  return folder;
}
}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::string temporary(const std::string& name, const std::string& content) {
  const auto path = std::filesystem::path(scratch()) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

Result xpusim(const std::string& arguments) {
  const std::string out = scratch() + "/out", err = scratch() + "/err";
  const std::string command = "cd '" XPUSIM_SOURCE_DIR "' && '" XPUSIM_BINARY "' " + arguments +
                              " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  Result r;
  r.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.out = read_file(out);
  r.err = read_file(err);
  return r;
}

}  // namespace xpusim::e2e
