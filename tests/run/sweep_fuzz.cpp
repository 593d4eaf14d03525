// Any text is read as a sweep file, and its first and last points are applied to a launch file; it
// may not crash, hang or grow without bound.

#include <cstdint>
#include <string>

#include "sim/config/set_value.h"
#include "sim/run/launch_parameters.h"
#include "sim/run/sweep.h"
#include "sim/run/workload.h"

namespace {

void apply(xpusim::config::Node launch, const xpusim::run::SweepPoint& point) {
  using namespace xpusim;
  config::Node config;
  for (const auto& [path, value] : point.settings) {
    if (run::is_launch_parameter(path))
      (void)run::set_launch_parameter(launch, path, value);
    else
      (void)config::set_value(config, path, value);
  }
  (void)run::parse_workload(launch, "w.yaml");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace xpusim;
  const std::string launches =
      "schema: xpusim.workload/1\n"
      "tensors: {x: {dtype: f32, shape: [64]}}\n"
      "launches: [{kernel: a, grid: [n], constexprs: {B: 1}, args: {p: x, n: 1}}]\n";
  static const config::Node launch_files[] = {
      *config::read_yaml(launches + "variants: {B: {1: a, 2: b}}\n", "w.yaml"),
      *config::read_yaml(launches + "variants: [{kernel: a, B: 1}, {kernel: b, B: 2}]\n"
                                    "sizes: [{n: 2}, {name: three, n: 3}]\n",
                         "w.yaml")};
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto root = config::read_yaml(text, "s.yaml");
  if (!root) return 0;
  auto sweep = run::parse_sweep(*root, "s.yaml");
  if (!sweep) return 0;
  for (const auto& launch_file : launch_files)
    for (std::size_t i : {std::size_t{0}, sweep->size() - 1}) apply(launch_file, sweep->point(i));
  return 0;
}
