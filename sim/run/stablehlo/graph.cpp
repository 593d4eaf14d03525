#include "sim/run/stablehlo/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace xpusim::run {
namespace {

using kernel::Op;
using kernel::Value;

constexpr std::int64_t kLargestTile = std::int64_t{1} << 20;                    // Triton's
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - kLargestTile;  // by 32-bit offsets

std::string_view mnemonic(const Op& op) {
  constexpr std::string_view kDialect = "stablehlo.";
  return op.name().starts_with(kDialect) ? op.name().substr(kDialect.size()) : op.name();
}

bool is_constant(const Value& v) { return v.def && mnemonic(*v.def) == "constant"; }

std::int64_t power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Kernels work on some elements of every tensor, whose number is known.
void check_size(const Value& v, const SourcePosition& where, Diagnostics& problems) {
  const auto& shape = v.type->shape;
  const auto none = [](std::int64_t extent) { return extent <= 0; };
  if (std::any_of(shape.begin(), shape.end(), none)) {
    problems.error(where, fmt::format("'{}': tensors without elements, or with a number of them "
                                      "that is not known, are not compiled",
                                      v.type->text));
  } else if (v.type->count() > kMostElements) {
    problems.error(where, fmt::format("'{}': tensors of more than {} elements are not compiled",
                                      v.type->text, kMostElements));
  }
}

Diagnostics check_sizes(const kernel::Function& function) {
  Diagnostics problems;
  for (const auto& a : function.entry().args) check_size(*a, function.op->text, problems);
  for (const auto& op : function.entry().ops) {
    for (const auto& r : op->results) check_size(*r, op->line(), problems);
  }
  return problems;
}

}  // namespace

const Reducer* reducer_of(const Op& reduce) {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::array<Reducer, 4> kReducers = {
      {{"arith.addf", "arith.addi", 0},
       {"arith.mulf", "arith.muli", 1},
       {"arith.maximumf", "arith.maxsi", -kInfinity},
       {"arith.minimumf", "arith.minsi", kInfinity}}};
  const auto k = static_cast<std::size_t>(reduce.int_attr("reducer", -1));  // as the reader numbers
  return k < kReducers.size() ? &kReducers[k] : nullptr;
}

Expected<HloGraph> HloGraph::make(const kernel::Function& function, bool fuse,
                                  const TileSizes& tiles) {
  Diagnostics problems = check_sizes(function);
  if (problems.has_errors()) return fail(std::move(problems));
  HloGraph g;
  g.find_roots(function, fuse);
  for (const Value* r : g.results_) {
    if (!r->def || is_constant(*r)) {
      problems.error(function.op->text,
                     "a result that is an argument or a constant needs no kernel");
    }
  }
  for (const auto& op : function.entry().ops) {
    if (!op->results.empty() && g.in_memory(*op->result())) g.add_kernels(*op, tiles, problems);
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return g;
}

/// Which values lie in memory.
void HloGraph::find_roots(const kernel::Function& function, bool fuse) {
  for (const auto& a : function.entry().args) in_memory_.insert(a.get());
  for (const auto& op : function.entry().ops) {
    const std::string_view name = mnemonic(*op);
    if (op->results.empty()) {
      for (const Value* v : op->operands) {
        in_memory_.insert(v);
        results_.push_back(v);
      }
      continue;
    }
    const bool view =
        name == "constant" || (name == "broadcast_in_dim" && op->operands[0]->type->shape.empty());
    const bool always = name == "reduce" || name == "dot_general";
    if (always || (!fuse && !view)) in_memory_.insert(op->result());
    for (const Value* v : op->operands) {
      if (name == "dot_general" && !is_constant(*v)) in_memory_.insert(v);
    }
  }
}

void HloGraph::add_kernels(const Op& op, const TileSizes& tiles, Diagnostics& problems) {
  const std::string_view name = mnemonic(op);
  if (name == "reduce") return add_reduction(op, tiles, problems);
  HloKernel k;
  k.root = &op;
  const std::int64_t count = op.result()->type->count();
  if (name == "dot_general") {
    const auto& shape = op.result()->type->shape;
    if (shape.size() < 2) {
      return problems.error(op.line(), "products of fewer than two dimensions are not compiled");
    }
    k.kind = HloKernel::Kind::kDot;
    const std::int64_t m = shape[shape.size() - 2], n = shape.back();
    k.programs = count / (m * n) * cdiv(m, tiles.dot_m) * cdiv(n, tiles.dot_n);
  } else {
    k.block = std::min(tiles.elements, power_of_two(count));
    k.programs = cdiv(count, k.block);
  }
  add(std::move(k));
}

void HloGraph::add_reduction(const Op& op, const TileSizes& tiles, Diagnostics& problems) {
  const auto& shape = op.operands[0]->type->shape;
  const kernel::Attr attr = op.attr("dimensions");
  const std::vector<std::int64_t> dims = attr ? attr->int_list() : std::vector<std::int64_t>();
  const auto kept = static_cast<std::int64_t>(shape.size() - dims.size());
  std::int64_t rows = 1, cols = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    (static_cast<std::int64_t>(d) < kept ? rows : cols) *= shape[d];
  }
  const bool last =
      std::all_of(dims.begin(), dims.end(), [&](std::int64_t d) { return d >= kept; });
  if (!reducer_of(op)) return problems.error(op.line(), "no kernel for this reducer");
  if (!last && kept > 0) {
    return problems.error(op.line(), "only reductions over the last dimensions are compiled");
  }
  HloKernel k;
  k.root = &op;
  if (kept > 0) {
    k.kind = HloKernel::Kind::kRows;
    k.block = power_of_two(cols);
    k.programs = rows;
    if (k.block > kLargestTile)
      return problems.error(op.line(), "a row is longer than a tile can be");
    return add(std::move(k));
  }
  k.kind = HloKernel::Kind::kPartial;
  k.block = std::min(tiles.elements, power_of_two(cols));
  k.programs = cdiv(cols, k.block);
  HloKernel sum = k;
  add(std::move(k));
  sum.kind = HloKernel::Kind::kFinal;
  sum.parts = sum.programs;
  sum.block = power_of_two(sum.parts);
  sum.programs = 1;
  add(std::move(sum));
}

void HloGraph::add(HloKernel k) {
  Computed computed;
  if (k.kind != HloKernel::Kind::kFinal) {
    for (const Value* v : k.root->operands) {
      const bool init = mnemonic(*k.root) == "reduce" && v == k.root->operands[1];
      if (!init) find_inputs(*v, k, computed);
    }
  }
  std::vector<std::string>& ops = computed.ops;
  ops.emplace_back(mnemonic(*k.root));
  const bool fusion = ops.size() > 1;
  if (ops.size() > 4) ops.erase(ops.begin(), ops.end() - 4);
  k.name = fmt::format("{}{}", fmt::join(ops, "_"), fusion ? "_fusion" : "");
  if (k.kind == HloKernel::Kind::kFinal) k.name += "_rest";
  kernels_.push_back(std::move(k));
}

void HloGraph::find_inputs(const Value& v, HloKernel& k, Computed& computed) const {
  if (!computed.seen.insert(&v).second) return;
  if (in_memory(v)) return k.inputs.push_back(&v);
  if (!v.def || is_constant(v)) return;
  for (const Value* operand : v.def->operands) find_inputs(*operand, k, computed);
  if (mnemonic(*v.def) != "broadcast_in_dim") computed.ops.emplace_back(mnemonic(*v.def));
}

}  // namespace xpusim::run
