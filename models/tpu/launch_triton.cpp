#include <fmt/format.h>

#include <array>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/core/triton_body.h"
#include "models/tpu/launch.h"
#include "sim/config/quantity.h"

namespace xpusim::tpu {
namespace {

std::vector<WindowSpec> windows_of(const KernelPlan& plan, const exec::Launch& launch,
                                   const exec::DeviceMemory& memory, TritonBody& body) {
  std::vector<WindowSpec> windows;
  for (const WindowPlan& w : plan.windows) {
    WindowSpec& spec = windows.emplace_back();
    spec.name = plan.program.buffers[w.buffer].name;
    spec.output = w.output;
    spec.copies = static_cast<std::uint32_t>(plan.program.buffers[w.buffer].copies);
    spec.bytes = plan.program.buffers[w.buffer].bytes;
    if (const auto* t = memory.find(static_cast<std::uint64_t>(launch.args[w.operand].bits))) {
      spec.tensor = t->address;
      spec.tensor_bytes = t->bytes;
    }
    if (w.whole) {
      spec.map = std::make_unique<WholeTensor>(spec.tensor, spec.tensor_bytes);
    } else {
      spec.map = std::make_unique<TritonWindow>(body, w.site);
    }
  }
  return windows;
}

/// Tensors that stay in SMEM have to fit together.
Expected<void> check_smem(const KernelPlan& plan, const exec::Launch& launch,
                          const exec::DeviceMemory& memory, std::int64_t smem_bytes) {
  std::int64_t bytes = 0;
  for (const WindowPlan& w : plan.windows) {
    const auto* t = memory.find(static_cast<std::uint64_t>(launch.args[w.operand].bits));
    if (!w.whole || w.output || !t) continue;
    bytes += static_cast<std::int64_t>(t->bytes);
    if (bytes <= smem_bytes) continue;
    return fail(
        plan.program.lines[w.line],
        fmt::format(
            "what its atomics add to takes {} of SMEM, the core has {}",
            config::format_quantity(static_cast<double>(bytes), config::Unit::kBytes),
            config::format_quantity(static_cast<double>(smem_bytes), config::Unit::kBytes)));
  }
  return {};
}

}  // namespace

Expected<PreparedLaunch> prepare_triton(const exec::Launch& launch,
                                        std::span<exec::DeviceMemory* const> memories,
                                        const TpuParams& params, bool values) {
  auto prepared = exec::Prepared::make(launch.module, *launch.function);
  if (!prepared) return fail(prepared.error());
  Expected<KernelPlan> plan = plan_triton(launch, **prepared, params.core);
  if (!plan) return fail(plan.error());
  if (auto fits = check_smem(*plan, launch, *memories.front(), params.smem.bytes); !fits) {
    return fail(fits.error());
  }
  PreparedLaunch out;
  const std::int64_t cores = plan->one_core ? 1 : params.core.count;
  const std::vector<GridBox> boxes =
      share_grid(plan->grid, std::array<std::size_t, 3>{0, 1, 2}, cores);
  for (std::uint32_t d = 0; d < memories.size(); ++d) {
    for (const GridBox& box : boxes) {
      auto body = std::make_unique<TritonBody>(
          exec::Interpreter::make(*prepared, launch, *memories[d], {values}), plan->streams);
      auto windows = windows_of(*plan, launch, *memories[d], *body);
      out.cores.push_back(
          {std::make_unique<WindowSet>(std::move(windows), box), std::move(body), d});
    }
  }
  Expected<Program> program = compile(std::move(*plan), params.core);
  if (!program) return fail(program.error());
  out.program = std::move(*program);
  if (auto fits = check_vmem(out.program, params, launch.function->op->line()); !fits) {
    return fail(fits.error());
  }
  return out;
}

}  // namespace xpusim::tpu
