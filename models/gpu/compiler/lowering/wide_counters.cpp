#include "models/gpu/compiler/lowering/wide_counters.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::gpu {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

/// A power of two that is known to divide a number: by the kernel's own arithmetic, not by what the
/// launch says of its arguments.
std::int64_t multiple_of(const kernel::Value& value) {
  const kernel::Value& v = kernel::source_of(value);
  if (const auto c = kernel::integer_constant(v)) return *c == 0 ? kMost + 1 : *c & -*c;
  if (v.def == nullptr) return 1;
  const auto of = [&](std::size_t n) { return multiple_of(*v.def->operands[n]); };
  if (v.def->name() == "arith.muli") return std::min(of(0) * of(1), kMost + 1);
  if (v.def->name() == "arith.addi" || v.def->name() == "arith.subi") return std::min(of(0), of(1));
  return 1;
}

/// The largest number that a value can be.
std::int64_t most(const kernel::Value& value) {
  const kernel::Value& v = kernel::source_of(value);
  if (const auto c = kernel::integer_constant(v)) return *c;
  if (v.def != nullptr) {
    const auto of = [&](std::size_t n) { return most(*v.def->operands[n]); };
    const auto name = v.def->name();
    if (name == "arith.minsi") return std::min(of(0), of(1));
    if (name == "arith.divsi") {
      if (const auto by = kernel::integer_constant(*v.def->operands[1]); by && *by > 0) {
        return of(0) / *by;
      }
    }
  }
  return kMost + 1 - multiple_of(v);
}

/// Whether the result is an index that goes on from an operand's.
bool goes_on(const kernel::Op& op) {
  const auto name = op.name();
  return name == "arith.addi" || name == "arith.subi" || name == "arith.muli" ||
         name == "arith.extsi" || name == "arith.extui" || name == "tt.splat" ||
         name == "tt.expand_dims" || name == "tt.broadcast" || name == "ttg.convert_layout";
}

/// Adds to `derived` what a block computes from it; true if any of that moves a pointer.
bool moves_pointer(const kernel::Block& block, std::set<std::int64_t>& derived) {
  for (const auto& op : block.ops) {
    const bool reads = std::any_of(op->operands.begin(), op->operands.end(),
                                   [&](const auto* v) { return derived.contains(v->id); });
    if (reads && op->name() == "tt.addptr") return true;
    for (const auto& region : op->regions) {
      for (const auto& inner : region->blocks) {
        if (moves_pointer(*inner, derived)) return true;
      }
    }
    if (reads && goes_on(*op)) derived.insert(op->result()->id);
  }
  return false;
}

}  // namespace

bool counts_in_64_bits(const kernel::Op& loop) {
  const kernel::Block& body = *loop.regions[0]->blocks[0];
  if (kernel::bit_width(body.args[0]->type->dtype) != 32) return false;
  const auto step = kernel::integer_constant(*loop.operands[2]);
  if (!step || *step <= 0 || most(*loop.operands[1]) - 1 + *step > kMost) return false;
  std::set<std::int64_t> derived{body.args[0]->id};
  return moves_pointer(body, derived);
}

}  // namespace xpusim::gpu
