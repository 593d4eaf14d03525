// tt.join, tt.split and tt.cat.

#include <algorithm>
#include <vector>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"
#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::exec {
namespace {

/// Pairs lie side by side: the new dimension is the last.
Step join(Frame& f, const Instruction& in) {
  Tile& out = f.result(in);
  f.live[in.result] = f.live[f.slot(in, 0)] + f.live[f.slot(in, 1)];
  if (is_unknown(f.operand(in, 0)) || is_unknown(f.operand(in, 1))) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  const std::size_t size = element_bytes(out);
  std::byte* to = dense_storage(out);
  std::vector<std::byte> run;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tile& half = f.operand(in, k);
    run.resize(static_cast<std::size_t>(half.count()) * size);
    read_elements(half, 0, half.count(), run.data());
    spread_elements(run.data(), half.count(), size, to + k * size, 2);
  }
  return Step::kNext;
}

Step split(Frame& f, const Instruction& in) {
  const Tile& pairs = f.operand(in, 0);
  for (std::uint32_t k = 0; k < 2; ++k) {
    Tile& out = f.result(in, k);
    f.live[in.result + k] = f.live[f.slot(in, 0)] / 2;
    if (is_unknown(pairs)) {
      out.form = TileForm::kUnknown;
      continue;
    }
    const std::size_t size = element_bytes(out);
    std::byte* to = dense_storage(out);
    for (std::int64_t i = 0; i < out.count(); ++i) {
      read_elements(pairs, 2 * i + k, 1, to + static_cast<std::size_t>(i) * size);
    }
  }
  return Step::kNext;
}

using Order = std::vector<std::int64_t>;

/// Where each element of `cat` comes from: first those of the left operand, then those of the
/// right. Layouts make it so for each thread by itself; without them the operands stay whole.
Expected<Order> cat_order(const kernel::Op& op) {
  const kernel::Type half = op.operands[0]->type, whole = op.result()->type;
  std::int64_t count = 1;
  for (const std::int64_t n : half->shape) count *= n;
  Order from(static_cast<std::size_t>(2 * count));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int64_t>(i);
  if (!half->encoding || !whole->encoding) return from;
  const auto a = kernel::linear_layout(half->encoding, half->shape, op.line());
  if (!a) return fail(a.error());
  const auto b = kernel::linear_layout(whole->encoding, whole->shape, op.line());
  if (!b) return fail(b.error());
  const std::uint32_t registers = a->register_count();
  if (b->register_count() != 2 * registers || a->lane_count() != b->lane_count() ||
      a->warp_count() != b->warp_count()) {
    return fail(op.line(), "the result does not hold two elements for one of its operands'");
  }
  for (std::uint32_t warp = 0; warp < a->warp_count(); ++warp) {
    for (std::uint32_t lane = 0; lane < a->lane_count(); ++lane) {
      for (std::uint32_t r = 0; r < 2 * registers; ++r) {
        const std::int64_t offset = r < registers ? 0 : count;
        from[static_cast<std::size_t>(b->flat(r, lane, warp))] =
            offset + a->flat(r % registers, lane, warp);
      }
    }
  }
  return from;
}

Step cat(Frame& f, const Instruction& in) {
  const Tile& left = f.operand(in, 0);
  const Tile& right = f.operand(in, 1);
  Tile& out = f.result(in);
  f.live[in.result] = f.live[f.slot(in, 0)] + f.live[f.slot(in, 1)];
  if (is_unknown(left) || is_unknown(right)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  const auto order = cat_order(*in.op);
  if (!order) return f.fail(in, "tt.cat: " + order.error().list().front().message);
  const std::size_t size = element_bytes(out);
  std::byte* to = dense_storage(out);
  const std::int64_t count = left.count();
  for (const std::int64_t from : *order) {
    read_elements(from < count ? left : right, from % count, 1, to);
    to += size;
  }
  return Step::kNext;
}

std::string_view prepare_cat(const kernel::Op& op, Instruction&) {
  std::int64_t halves = 0, whole = 1;
  for (const kernel::Value* v : op.operands) {
    std::int64_t count = 1;
    for (const std::int64_t n : v->type->shape) count *= n;
    halves += count;
  }
  for (const std::int64_t n : op.result()->type->shape) whole *= n;
  return halves == whole ? "" : "the result has another size than its operands together";
}

}  // namespace

void add_pairs(OpTable& table) {
  table.add({.name = "tt.join", .run = join});
  table.add({.name = "tt.split", .run = split});
  table.add({.name = "tt.cat", .run = cat, .pure = false, .prepare = prepare_cat});
}

}  // namespace xpusim::exec
