#include <fmt/format.h>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/core/triton_body.h"
#include "models/tpu/launch.h"

namespace xpusim::tpu {

Expected<PreparedLaunch> prepare_triton(const exec::Launch& launch, exec::DeviceMemory& memory,
                                        const TpuParams& params, bool values) {
  auto prepared = exec::Prepared::make(launch.module, *launch.function);
  if (!prepared) return fail(prepared.error());
  Expected<KernelPlan> plan = plan_triton(launch, params.core);
  if (!plan) return fail(plan.error());
  std::vector<WindowSpec> windows;
  for (const WindowPlan& w : plan->windows) {
    WindowSpec spec;
    spec.name = plan->program.buffers[w.buffer].name;
    spec.output = w.output;
    spec.copies = static_cast<std::uint32_t>(plan->program.buffers[w.buffer].copies);
    const auto address = static_cast<std::uint64_t>(launch.args[w.operand].bits);
    spec.map = std::make_unique<TritonWindow>(address, *w.affine);
    if (const exec::Allocation* t = memory.find(address)) {
      spec.tensor = t->address;
      spec.tensor_bytes = t->bytes;
    }
    windows.push_back(std::move(spec));
  }
  PreparedLaunch out;
  out.windows = std::make_unique<WindowSet>(std::move(windows), plan->grid);
  out.body =
      std::make_unique<TritonBody>(exec::Interpreter::make(*prepared, launch, memory, {values}));
  Expected<Program> program = compile(std::move(*plan), params.core);
  if (!program) return fail(program.error());
  out.program = std::move(*program);
  if (auto fits = check_vmem(out.program, params, launch.function->op->line()); !fits) {
    return fail(fits.error());
  }
  return out;
}

}  // namespace xpusim::tpu
