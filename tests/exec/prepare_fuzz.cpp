// Any text that the reader takes can be prepared, or is refused with diagnostics.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/exec/step_interpreter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim;
  auto read = kernel::read_module({reinterpret_cast<const char*>(data), size}, "fuzz.mlir");
  if (!read) return 0;
  const auto module = std::make_shared<const kernel::Module>(std::move(*read));
  for (const kernel::Function& f : module->functions) {
    const auto prepared = exec::Prepared::make(module, f);
    if (!prepared && !prepared.error().has_errors()) __builtin_trap();
  }
  return 0;
}
