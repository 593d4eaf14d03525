#include "sim/trace/sink.h"

#include <fmt/format.h>

#include <filesystem>

#include "sim/trace/pftrace_writer.h"

namespace xpusim::trace {

Expected<std::unique_ptr<Sink>> open_sink(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending != ".pftrace") {
    return fail({path, 0, 0},
                fmt::format("{}; supported: .pftrace (Perfetto)",
                            ending.empty() ? std::string("a trace file needs an ending")
                                           : fmt::format("unknown kind of trace '{}'", ending)));
  }
  auto file = AtomicFile::create(path);
  if (!file) return fail(std::move(file.error()));
  return std::make_unique<PftraceSink>(std::move(*file));
}

}  // namespace xpusim::trace
