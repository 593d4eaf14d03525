#include "models/gpu/compiler/lowering/even_tiles.h"

#include <algorithm>
#include <optional>

#include "sim/kernel/analysis/op_facts.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu {
namespace {

bool only_moves(std::string_view op) {
  return op == "tt.splat" || op == "tt.broadcast" || op == "tt.expand_dims" || op == "tt.reshape" ||
         op == "tt.trans" || op == "ttg.convert_layout";
}

/// The largest value of an integer tile, where ranges, constants and loop counters tell it.
std::optional<std::int64_t> largest(const kernel::Value& value) {
  if (const auto c = kernel::integer_constant(value)) return c;
  const kernel::Op* op = value.def;
  if (op == nullptr) {
    const kernel::Op* loop = value.owner ? value.owner->parent->parent : nullptr;
    if (!loop || loop->name() != "scf.for" || value.index != 0) return std::nullopt;
    const auto low = kernel::integer_constant(*loop->operands[0]);
    const auto high = kernel::integer_constant(*loop->operands[1]);
    const auto step = kernel::integer_constant(*loop->operands[2]);
    if (!low || !high || !step || *step <= 0 || *high <= *low) return std::nullopt;
    return *low + (*high - *low - 1) / *step * *step;
  }
  if (op->name() == "tt.make_range") return op->int_attr("end") - 1;
  if (only_moves(op->name())) return largest(*op->operands[0]);
  if (op->name() != "arith.addi") return std::nullopt;
  const auto a = largest(*op->operands[0]), b = largest(*op->operands[1]);
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

/// Whether a mask holds for all elements.
bool holds(const kernel::Value& mask) {
  if (const auto c = kernel::integer_constant(mask)) return *c != 0;
  const kernel::Op* op = mask.def;
  if (op == nullptr) return false;
  if (only_moves(op->name())) return holds(*op->operands[0]);
  if (op->name() == "arith.andi") return holds(*op->operands[0]) && holds(*op->operands[1]);
  if (op->name() != "arith.cmpi" || kernel::compare_of(*op) != kernel::Compare::kSlt) return false;
  const auto most = largest(*op->operands[0]);
  const auto bound = kernel::integer_constant(*op->operands[1]);
  return most && bound && *most < *bound;
}

const kernel::Op& terminator(const kernel::Region& region) {
  return *region.blocks.back()->ops.back();
}

}  // namespace

EvenTiles::EvenTiles(const kernel::Function& function) : uneven_(function.value_count) {
  const auto& blocks = function.op->regions[0]->blocks;
  for (const auto& block : blocks) {  // what branches pass is not looked at
    for (const auto& arg : block->args) mark(*arg, block == blocks[0]);
  }
  while (visit(*function.op->regions[0])) {
  }
}

bool EvenTiles::mark(const kernel::Value& value, bool even) {
  const bool tile = value.type->kind == kernel::TypeKind::kTensor;
  if (even || !tile || uneven_[value.id]) return false;
  uneven_[value.id] = true;
  return true;
}

bool EvenTiles::is_even(const kernel::Op& op) const {
  const std::string_view name = op.name();
  const auto even = [&](const kernel::Value* v) { return contains(*v); };
  if (name == "arith.constant") {
    return kernel::integer_constant(*op.result()) || kernel::float_constant(*op.result());
  }
  if (name == "arith.select" && holds(*op.operands[0])) return even(op.operands[1]);
  const bool elementwise = op.info->has(kernel::kElementwise) && op.regions.empty();
  if (!elementwise && !only_moves(name)) return false;
  return std::all_of(op.operands.begin(), op.operands.end(), even);
}

/// Whether anything new was found.
bool EvenTiles::visit(const kernel::Region& region) {
  bool changed = false;
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      for (const auto& inner : op->regions) changed |= visit(*inner);
      changed |= visit(*op);
    }
  }
  return changed;
}

bool EvenTiles::visit(const kernel::Op& op) {
  bool changed = false;
  const auto even = [&](const kernel::Op& at, std::size_t n) { return contains(*at.operands[n]); };
  if (op.name() == "scf.for") {
    const kernel::Op& yield = terminator(*op.regions[0]);
    for (std::size_t n = 0; n < op.results.size(); ++n) {
      const bool both = even(op, n + 3) && even(yield, n);
      changed |= mark(*op.regions[0]->blocks[0]->args[n + 1], both);
      changed |= mark(*op.result(n), both);
    }
    return changed;
  }
  if (op.name() == "scf.if") {
    for (std::size_t n = 0; n < op.results.size(); ++n) {
      changed |= mark(*op.result(n),
                      even(terminator(*op.regions[0]), n) && even(terminator(*op.regions[1]), n));
    }
    return changed;
  }
  if (op.name() == "scf.while") {
    const kernel::Op &test = terminator(*op.regions[0]), &yield = terminator(*op.regions[1]);
    for (std::size_t n = 0; n < op.operands.size(); ++n) {
      changed |= mark(*op.regions[0]->blocks[0]->args[n], even(op, n) && even(yield, n));
    }
    for (std::size_t n = 0; n < op.results.size(); ++n) {
      changed |= mark(*op.regions[1]->blocks[0]->args[n], even(test, n + 1));
      changed |= mark(*op.result(n), even(test, n + 1));
    }
    return changed;
  }
  const bool is = is_even(op);
  for (const auto& result : op.results) changed |= mark(*result, is);
  return changed;
}

}  // namespace xpusim::gpu
