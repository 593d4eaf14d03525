// Any text either reads as a bundle program that prints and reads again, or is refused.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/tpu/program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = xpusim::tpu::parse_program(text, "fuzz");
  if (!program) return 0;
  const std::string printed = xpusim::tpu::print(*program);
  const auto again = xpusim::tpu::parse_program(printed, "again");
  if (!again || xpusim::tpu::print(*again) != printed) std::abort();
  return 0;
}
