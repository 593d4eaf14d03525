// Logic of truth values in predicates, and their comparisons.

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

constexpr int kVariantAt = 26;  ///< of an immediate: which function it is

std::uint32_t variant_of(const kernel::Op& op) {
  if (op.name() == "arith.andi") return 0;
  if (op.name() == "arith.ori") return 1;
  if (op.name() == "arith.xori") return 2;
  return 3 + static_cast<std::uint32_t>(kernel::compare_of(op));
}

}  // namespace

bool lower_predicate_logic(Lowering& l, const kernel::Op& op) {
  const bool is_and = op.name() == "arith.andi", is_or = op.name() == "arith.ori";
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
