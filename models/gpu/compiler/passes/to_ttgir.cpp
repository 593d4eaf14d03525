#include <fmt/format.h>

#include <bit>
#include <unordered_set>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {
namespace {

Expected<void> check_target(const kernel::Module& module, const Target& target) {
  const SourcePosition where{module.file, 0, 0};
  Diagnostics problems;
  const auto warps = static_cast<std::uint64_t>(target.num_warps);
  if (target.num_warps < 1 || target.num_warps > 32 || !std::has_single_bit(warps))
    problems.error(
        where, fmt::format("num_warps is a power of two from 1 to 32, not {}", target.num_warps));
  if (target.num_stages < 1 || target.num_stages > 16)
    problems.error(where, fmt::format("num_stages is from 1 to 16, not {}", target.num_stages));
  if (module.form != kernel::Form::kTtir)
    problems.error(where, "these passes take kernels in TTIR form");
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

kernel::Module copy_of(const kernel::Module& module) {
  kernel::Module copy;
  copy.context = module.context;
  ValueMap map;
  copy.op = clone(*module.op, map);
  copy.form = kernel::Form::kTtgir;
  copy.file = module.file;
  copy.type_aliases = module.type_aliases;
  copy.loc_aliases = module.loc_aliases;
  copy.leading_aliases = module.leading_aliases;
  copy.text_hash = module.text_hash;
  return copy;
}

void set_module_attrs(kernel::Module& module, const Target& target) {
  Context& context = *module.context;
  const Type i32 = context.scalar(kernel::DType::kI32);
  module.op->attrs.emplace_back("ttg.num-ctas", context.integer(1, i32));
  module.op->attrs.emplace_back("ttg.num-warps", context.integer(target.num_warps, i32));
  module.op->attrs.emplace_back("ttg.target",
                                context.string(fmt::format("cuda:{}", target.capability)));
  module.op->attrs.emplace_back("ttg.threads-per-warp", context.integer(kThreadsPerWarp, i32));
}

/// Names layouts as Triton's texts do: #blocked, #blocked1, #mma, #shared, #smem.
class LayoutNames {
 public:
  explicit LayoutNames(kernel::Module& module) : module_(module) {}

  void run() {
    walk(*module_.op, [&](Op& op) {
      for (const Value* operand : op.operands) visit(operand->type);
      for (const auto& result : op.results) visit(result->type);
      for (const auto& region : op.regions) {
        for (const auto& block : region->blocks) {
          for (const auto& arg : block->args) visit(arg->type);
        }
      }
    });
  }

 private:
  void visit(Type type) {
    visit(type->encoding);
    visit(type->memory_space);
  }
  void visit(Attr attr) {
    if (!attr || !seen_.insert(attr).second) return;
    for (const auto& [key, field] : attr->fields) {
      if (field->kind == kernel::AttrKind::kDialect) visit(field);
    }
    const std::string base = base_name(attr->string);
    if (base.empty()) return;
    const int n = counts_[base]++;
    module_.aliases.emplace_back("#" + base + (n == 0 ? "" : std::to_string(n)), attr);
  }
  static std::string base_name(std::string_view name) {
    if (name == "ttg.blocked") return "blocked";
    if (name == "ttg.linear") return "linear";
    if (name == "ttg.nvidia_mma") return "mma";
    if (name == "ttg.shared_memory") return "smem";
    if (name == "ttg.nvmma_shared" || name == "ttg.swizzled_shared") return "shared";
    return "";
  }

  kernel::Module& module_;
  std::unordered_set<Attr> seen_;
  std::unordered_map<std::string, int> counts_;
};

/// Names values as the source does, where it does; constants by their value.
void name_values(kernel::Module& module) {
  walk(*module.op, [](Op& op) {
    for (auto& result : op.results) {
      result->name = loc_name(result->loc);
      if (op.name() != "arith.constant") continue;
      const Attr value = op.attr("value");
      const bool is_scalar = value->kind == kernel::AttrKind::kInteger;
      result->name =
          value->kind == kernel::AttrKind::kBool ? (value->integer != 0 ? "true" : "false")
          : is_scalar ? fmt::format("c{}_{}", value->integer, kernel::name(result->type->dtype))
                      : "cst";
    }
  });
}

void run_passes(Kernel& kernel) {
  assign_plain_layouts(kernel);
  if (kernel.problems.has_errors()) return;
  coalesce_accesses(kernel);
  propagate_layouts(kernel);
  rematerialize(kernel);
  move_conversions(kernel);
  place_products(kernel);
  propagate_layouts(kernel);
  rematerialize(kernel);
  move_conversions(kernel);
  simplify(kernel);
  hoist_invariants(kernel);
  simplify(kernel);
  pipeline_loops(kernel);
  launch_products(kernel);
  simplify(kernel);
  rematerialize(kernel);
  simplify(kernel);
}

}  // namespace

Expected<kernel::Module> to_ttgir(const kernel::Module& ttir, const Target& target) {
  if (auto fits = check_target(ttir, target); !fits) return fail(std::move(fits.error()));
  kernel::Module module = copy_of(ttir);
  set_module_attrs(module, target);
  Diagnostics problems;
  for (Op* function : ops_named(*module.op, "tt.func")) {
    if (function->regions.empty() || function->regions[0]->blocks.empty()) continue;
    Kernel kernel{*module.context, *function, target, problems};
    run_passes(kernel);
  }
  if (problems.has_errors()) return fail(std::move(problems));
  name_values(module);
  LayoutNames(module).run();
  kernel::index_functions(module);
  return module;
}

}  // namespace xpusim::gpu::passes
