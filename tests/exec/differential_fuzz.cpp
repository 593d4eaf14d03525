// Any program over integer tiles writes the same with compact tiles and with dense ones.

#include <cstdio>

#include "tests/exec/random_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  const std::string difference = xpusim::exec::difference_of_forms(bytes);
  if (difference.empty()) return 0;
  std::fprintf(stderr, "%s\n%s", difference.c_str(),
               xpusim::exec::random_program(bytes, false).c_str());
  __builtin_trap();
}
