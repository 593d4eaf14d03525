#include "sim/run/bind_kernel.h"

#include <fmt/format.h>

#include "sim/run/bind.h"
#include "sim/run/constexprs.h"
#include "sim/run/stablehlo/launches.h"

namespace xpusim::run {

Expected<std::vector<exec::Launch>> bind_kernel(const Workload& workload, LaunchSpec spec,
                                                const Machine& machine, const Family& family,
                                                const RunSettings& settings,
                                                exec::DeviceMemory& memory) {
  if (settings.num_warps) spec.num_warps = settings.num_warps;
  if (settings.num_stages) spec.num_stages = settings.num_stages;
  auto module = read_kernel(workload, spec, family, settings.from);
  if (!module) return fail(module.error());
  Diagnostics problems;
  std::vector<exec::Launch> out;
  if ((*module)->form == kernel::Form::kStableHlo) {
    auto launches = bind_stablehlo(spec, **module, family, memory);
    if (!launches) return fail(launches.error());
    out = std::move(*launches);
  } else {
    const kernel::Function* function = (*module)->kernel();
    auto launch = bind_launch(spec, *module, memory, function ? function->name : "");
    if (!launch) return fail(launch.error());
    check_constexprs(spec, **module, workload.variants, problems);
    out.push_back(std::move(*launch));
  }
  for (const exec::Launch& launch : out)
    for (const auto& op : machine.unsupported(*launch.module))
      problems.error({launch.module->file, 0, 0},
                     fmt::format("{} cannot run this kernel: {}", machine.name(), op));
  if (problems.has_errors()) return fail(std::move(problems));
  return out;
}

}  // namespace xpusim::run
