// Logic of truth values in predicates, and their comparisons.

#include <map>
#include <utility>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/float_facts.h"

namespace xpusim::gpu {
namespace {

constexpr int kVariantAt = 26;  ///< of an immediate: which function it is

std::uint32_t variant_of(const kernel::Op& op) {
  if (op.name() == "arith.andi") return 0;
  if (op.name() == "arith.ori") return 1;
  if (op.name() == "arith.xori") return 2;
  return 3 + static_cast<std::uint32_t>(kernel::compare_of(op));
}

/// A comparison that also holds for NaNs.
bool lower_unordered(Lowering& l, const kernel::Op& op, const kernel::Op& compare) {
  constexpr std::uint32_t kUnordered = 7;  ///< from ogt (2) to ugt (9), as MLIR numbers them
  const kernel::LinearLayout* layout = nullptr;
  if (op.result()->type->kind == kernel::TypeKind::kTensor &&
      !(layout = l.layout(op.result()->type, op))) {
    return false;
  }
  const std::vector<Element> left = l.elements(*compare.operands[0]);
  const std::vector<Element> right = l.elements(*compare.operands[1]);
  const auto how = static_cast<std::uint32_t>(compare.int_attr("predicate")) + kUnordered;
  std::map<std::pair<Element, Element>, Element> done;
  std::vector<Element> result;
  for (std::size_t r = 0; r < (layout ? layout->register_count() : 1); ++r) {
    const Element x = l.whole(left[left.size() == 1 ? 0 : r]);
    const Element y = l.whole(right[right.size() == 1 ? 0 : r]);
    auto [it, fresh] = done.try_emplace({x, y});
    if (fresh) {
      it->second = {l.builder().predicate()};
      l.builder().emit(Opcode::kAlu, "FSETP", {it->second.reg}, {x.reg, y.reg},
                       x.bits ^ y.bits ^ how);
    }
    result.push_back(it->second);
  }
  l.set_elements(*op.result(), layout, std::move(result));
  return true;
}

}  // namespace

bool lower_predicate_logic(Lowering& l, const kernel::Op& op) {
  const bool is_and = op.name() == "arith.andi", is_or = op.name() == "arith.ori";
  const auto unordered = is_or ? unordered_compare(op) : std::nullopt;  // of 32 bits
  if (unordered) return lower_unordered(l, op, *unordered->compare);
  return map_elements(l, op, [&](std::span<const Element> e) {
    for (std::size_t n = 0; n < 2 && (is_and || is_or); ++n) {
      if (!e[n].is_constant()) continue;
      return (e[n].bits != 0) == is_and ? e[1 - n] : e[n];  // it decides nothing, or all
    }
    const VReg p = l.builder().predicate();
    l.builder().emit(Opcode::kAlu, "PLOP3", {p}, {e[0].reg, e[1].reg},
                     (e[0].bits ^ e[1].bits) ^ variant_of(op) << kVariantAt);
    return Element{p};
  });
}

}  // namespace xpusim::gpu
