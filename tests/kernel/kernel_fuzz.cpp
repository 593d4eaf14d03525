// Any bytes either read or give diagnostics; what reads prints to a text that reads to the same
// text.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/kernel/ir.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim::kernel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = read_module(text, "fuzz");
  if (!first) {
    if (!first.error().has_errors()) std::abort();
    return 0;
  }
  const std::string printed = print_module(*first);
  const auto second = read_module(printed, "fuzz");
  if (!second || print_module(*second) != printed) std::abort();
  return 0;
}
