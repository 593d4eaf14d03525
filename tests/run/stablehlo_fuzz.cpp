// Any text that reads as a StableHLO module becomes kernels whose Triton text can be read, or is
// refused; neither may crash, hang or grow without bound.

#include <cstdint>
#include <string>

#include "sim/run/stablehlo/triton_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim;
  const auto module =
      kernel::read_module(std::string(reinterpret_cast<const char*>(data), size), "m.mlir");
  if (!module || module->form != kernel::Form::kStableHlo || !module->kernel()) return 0;
  for (const bool fuse : {true, false}) {
    const auto graph = run::HloGraph::make(*module->kernel(), fuse, {});
    if (!graph) continue;
    for (const run::HloKernel& k : graph->kernels()) {
      if (const auto text = run::triton_text(*graph, k, {}); text) {
        (void)kernel::read_module(*text, k.name);
      }
    }
  }
  return 0;
}
