#include "models/gpu/compiler/compiler.h"

#include <algorithm>
#include <set>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/lowering/lowering.h"
#include "models/gpu/compiler/warp_groups.h"

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

/// Puts a group's code behind what there is.
void append(Program& program, Assembled part, const WarpGroup& group) {
  const auto begin = static_cast<int>(program.code.size());
  for (Instruction& i : part.code) {
    if (i.op == Opcode::kBra) i.target += begin;
    if (i.branch == Branch::kToGroup) i.op = Opcode::kBra;
    program.code.push_back(std::move(i));
  }
  program.groups.push_back({group.first, group.warps, part.registers, begin});
}

/// Orders the groups by their warps. A block gets what its hungriest warps need, or what it asks
/// for.
void finish(Program& program, const WarpGroups& groups) {
  for (const WarpRange& g : program.groups)
    program.registers_per_thread = std::max(program.registers_per_thread, g.registers);
  if (groups.launch_registers != 0)
    program.registers_per_thread = std::min(groups.launch_registers, kRegistersOfInstruction);
  std::sort(program.groups.begin(), program.groups.end(),
            [](const WarpRange& a, const WarpRange& b) { return a.first < b.first; });
  if (groups.specialize == nullptr) program.groups.clear();
}

}  // namespace

Expected<Program> compile(const kernel::Module& module, const kernel::Function& function,
                          const SiteOf& site_of, const CompilerParams& params) {
  if (module.form != kernel::Form::kTtgir) {
    return fail({module.file, 0, 0}, "the GPU compiles kernels in TTGIR form");
  }
  auto groups = WarpGroups::make(module, function);
  if (!groups) return fail(std::move(groups.error()));
  KernelTables tables;
  Program program;
  program.name = function.name;
  program.num_warps = groups->warps;
  for (std::size_t n = 0; n < groups->groups.size(); ++n) {
    auto code = Lowering(module, function, site_of, *groups, n, tables).run();
    if (!code) return fail(std::move(code.error()));
    const WarpGroup& group = groups->groups[n];
    const int most = group.registers != 0 ? std::min(group.registers, kRegistersOfInstruction)
                                          : most_registers(groups->warps);
    append(program, assemble(std::move(*code), params, most, groups->warps), group);
  }
  finish(program, *groups);
  program.shared_bytes = tables.shared_bytes;
  program.sites = std::move(tables.sites);
  program.lines = std::move(tables.lines);
  program.shared_lanes = std::move(tables.shared_lanes);
  return program;
}

std::vector<std::string> unsupported_ops(const kernel::Module& module) {
  std::set<std::string> names;
  if (const kernel::Function* kernel = module.kernel()) collect(*kernel->op->regions[0], names);
  return {names.begin(), names.end()};
}

}  // namespace xpusim::gpu
