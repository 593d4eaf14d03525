// Any text is read as a sweep file, and its first and last points are applied to a launch file; it
// may not crash, hang or grow without bound.

#include <cstdint>
#include <string>

#include "sim/config/set_value.h"
#include "sim/run/launch_parameters.h"
#include "sim/run/sweep.h"
#include "sim/run/workload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim;
  static const auto launch_file = *config::read_yaml(
      "schema: xpusim.workload/1\n"
      "tensors: {x: {dtype: f32, shape: [64]}}\n"
      "launches: [{kernel: a, grid: [n], constexprs: {B: 1}, args: {p: x, n: 1}}]\n"
      "variants: {B: {1: a, 2: b}}\n",
      "w.yaml");
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto root = config::read_yaml(text, "s.yaml");
  if (!root) return 0;
  auto sweep = run::parse_sweep(*root, "s.yaml");
  if (!sweep) return 0;
  for (std::size_t i : {std::size_t{0}, sweep->size() - 1}) {
    config::Node launch = launch_file, config;
    for (const auto& [path, value] : sweep->point(i).settings) {
      if (run::is_launch_parameter(path))
        (void)run::set_launch_parameter(launch, path, value);
      else
        (void)config::set_value(config, path, value);
    }
    (void)run::parse_workload(launch, "w.yaml");
  }
  return 0;
}
