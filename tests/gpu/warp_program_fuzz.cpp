#include <cstdlib>
#include <string_view>

#include "models/gpu/program/program.h"

/// Any text is read or refused; what is read prints to a text that reads back to the same text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = xpusim::gpu::parse_program(text, "fuzz");
  if (!program) return 0;
  const std::string printed = xpusim::gpu::print(*program);
  const auto again = xpusim::gpu::parse_program(printed, "fuzz");
  if (!again || xpusim::gpu::print(*again) != printed) std::abort();
  return 0;
}
