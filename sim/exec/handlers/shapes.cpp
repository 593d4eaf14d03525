// Constants, program ids, ranges and the ops that only move elements.

#include <algorithm>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"

namespace xpusim::exec {
namespace {

Step constant(Frame& f, const Instruction& in) {
  assign(f.result(in), f.code->constants[in.index]);
  return Step::kNext;
}

std::string_view prepare_axis(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("axis", -1);
  return in.immediate >= 0 && in.immediate < 3 ? "" : "the axis is none of x, y, z";
}

Step program_id(Frame& f, const Instruction& in) {
  set_integer(f.result(in), f.id[static_cast<std::size_t>(in.immediate)]);
  return Step::kNext;
}

Step num_programs(Frame& f, const Instruction& in) {
  set_integer(f.result(in), f.grid[static_cast<std::size_t>(in.immediate)]);
  return Step::kNext;
}

Step range(Frame& f, const Instruction& in) {
  make_range(in.immediate, f.result(in));
  return Step::kNext;
}

std::string_view prepare_range(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("start");
  return "";
}

std::vector<std::int64_t> iota_dimensions(const kernel::Op& op) {
  const kernel::Attr dimensions = op.attr("dimensions");
  return dimensions ? dimensions->int_list() : std::vector<std::int64_t>{};
}

/// Counts through its dimensions, the last of them fastest.
Step iota(Frame& f, const Instruction& in) {
  Tile& out = f.result(in);
  const std::vector<std::int64_t> dimensions = iota_dimensions(*in.op);
  if (dimensions.size() == 1) {
    make_range(0, out, static_cast<int>(dimensions[0]));
    return Step::kNext;
  }
  std::int64_t stride = 1;
  out.form = TileForm::kAffine;
  out.affine = {};
  for (std::size_t k = dimensions.size(); k-- > 0;) {
    Digit digit;
    digit.stride = stride;
    digit.dim = static_cast<std::uint8_t>(dimensions[k]);
    out.affine.digits.push_back(digit);
    stride *= out.shape[digit.dim];
  }
  return Step::kNext;
}

std::string_view prepare_iota(const kernel::Op& op, Instruction&) {
  std::vector<std::int64_t> list = iota_dimensions(op);
  const auto rank = static_cast<std::int64_t>(op.result()->type->shape.size());
  if (list.empty() || list.size() > 8) return "an iota over no or too many dimensions";
  std::sort(list.begin(), list.end());
  if (list.front() < 0 || list.back() >= rank) return "no such dimension";
  if (std::adjacent_find(list.begin(), list.end()) != list.end()) return "a dimension comes twice";
  const kernel::DType d = op.result()->type->dtype;
  return list.size() == 1 || d == DType::kI32 || d == DType::kI64 ? ""
                                                                  : "its elements are too narrow";
}

Step spread(Frame& f, const Instruction& in) {
  const Tile& from = f.operand(in, 0);
  Tile& to = f.result(in);
  broadcast(from, to);
  const std::int64_t count = from.count();
  f.live[in.result] = count == 0 ? 0 : f.live[f.slot(in, 0)] * (to.count() / count);
  return Step::kNext;
}

Step same_elements(Frame& f, const Instruction& in) {
  reshape(f.operand(in, 0), f.result(in));
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

Step insert_axis(Frame& f, const Instruction& in) {
  expand_dims(f.operand(in, 0), static_cast<int>(in.immediate), f.result(in));
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

std::string_view prepare_axis_number(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("axis");
  return in.immediate >= 0 && in.immediate < kMaxRank ? "" : "no such axis";
}

std::span<const std::int64_t> order_of(const kernel::Op& op, std::vector<std::int64_t>& storage) {
  for (const auto* key : {"order", "permutation"}) {
    if (const kernel::Attr a = op.attr(key)) storage = a->int_list();
  }
  return storage;
}

Step permute_axes(Frame& f, const Instruction& in) {
  std::vector<std::int64_t> storage;
  transpose(f.operand(in, 0), order_of(*in.op, storage), f.result(in));
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

std::string_view prepare_order(const kernel::Op& op, Instruction&) {
  std::vector<std::int64_t> order;
  order_of(op, order);
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < sorted.size(); ++d) {
    if (sorted[d] != static_cast<std::int64_t>(d)) return "the order is no permutation";
  }
  return order.size() == op.result()->type->shape.size() ? "" : "the order has another rank";
}

}  // namespace

void add_shapes(OpTable& table) {
  table.add({.name = "arith.constant", .run = constant});
  table.add(
      {.name = "tt.get_program_id", .run = program_id, .prepare = prepare_axis, .per_block = true});
  table.add({.name = "tt.get_num_programs", .run = num_programs, .prepare = prepare_axis});
  table.add({.name = "tt.make_range", .run = range, .prepare = prepare_range});
  table.add({.name = "tpu.iota", .run = iota, .prepare = prepare_iota});
  for (const auto* name : {"tt.splat", "tt.broadcast", "vector.broadcast", "vector.splat"}) {
    table.add({.name = name, .run = spread});
  }
  for (const auto* name : {"tt.reshape", "ttg.convert_layout", "vector.shape_cast", "tt.unsplat"}) {
    table.add({.name = name, .run = same_elements});
  }
  table.add({.name = "tt.expand_dims", .run = insert_axis, .prepare = prepare_axis_number});
  for (const auto* name : {"tt.trans", "vector.transpose", "tpu.transpose"}) {
    table.add({.name = name, .run = permute_axes, .prepare = prepare_order});
  }
}

}  // namespace xpusim::exec
