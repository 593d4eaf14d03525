// Any text is read as a launch file and as an expression; neither may crash, hang or grow without
// bound.

#include <cstdint>
#include <string>

#include "sim/run/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (auto root = config::read_yaml(text, "launch.yaml"); root) {
    (void)run::parse_workload(*root, "launch.yaml");
  }
  if (auto e = run::parse_expression(text, {"launch.yaml", 1, 1}); e) {
    (void)run::evaluate_integer(*e, {{"n", 1000}, {"BLOCK", 64}});
  }
  return 0;
}
