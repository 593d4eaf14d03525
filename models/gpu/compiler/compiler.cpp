#include "models/gpu/compiler/compiler.h"

#include <set>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {
namespace {

void collect(const kernel::Region& region, std::set<std::string>& names) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      if (!is_lowered(op->name())) names.emplace(op->name());
      for (const auto& inner : op->regions) collect(*inner, names);
    }
  }
}

}  // namespace

Expected<Program> compile(const kernel::Module& module, const kernel::Function& function,
                          const SiteOf& site_of, const CompilerParams& params) {
  if (module.form != kernel::Form::kTtgir) {
    return fail({module.file, 0, 0}, "the GPU compiles kernels in TTGIR form");
  }
  Lowering lowering(module, function, site_of);
  const int num_warps = lowering.num_warps();
  auto lowered = lowering.run();
  if (!lowered) return fail(std::move(lowered.error()));
  Program program;
  program.name = function.name;
  program.num_warps = num_warps;
  program.shared_bytes = lowered->shared_bytes;
  program.sites = std::move(lowered->sites);
  program.lines = std::move(lowered->lines);
  program.shared_lanes = std::move(lowered->shared_lanes);
  assemble(std::move(lowered->code), params, program);
  return program;
}

std::vector<std::string> unsupported_ops(const kernel::Module& module) {
  std::set<std::string> names;
  if (const kernel::Function* kernel = module.kernel()) collect(*kernel->op->regions[0], names);
  return {names.begin(), names.end()};
}

}  // namespace xpusim::gpu
