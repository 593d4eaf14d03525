#pragma once

// What the front ends write tile functions with.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "models/tpu/compiler/tile_ir.h"
#include "models/tpu/params.h"

namespace xpusim::tpu {

/// Appends tile ops to a region. Ops on constants vanish, ops on scalars become scalar
/// instructions, and 16-bit arithmetic is widened where the core has no native form of it.
class TileBuilder {
 public:
  TileBuilder(TileFunction& function, const CoreParams& core)
      : function_(function), core_(core), region_(&function.body) {}

  /// The region that ops go to; returns the one before.
  TileRegion* enter(TileRegion* region) { return std::exchange(region_, region); }
  void at_line(std::uint32_t line) { line_ = line; }
  std::uint32_t line() const { return line_; }
  const TileValue& value(ValueId v) const { return function_.values[static_cast<std::size_t>(v)]; }
  bool is_uniform(ValueId v) const { return value(v).kind == TileValue::Kind::kUniform; }
  bool is_constant(ValueId v) const { return constant_[static_cast<std::size_t>(v)]; }

  ValueId constant(Element element) { return uniform(element, true); }
  ValueId scalar(Element element) { return uniform(element, false); }
  /// One instruction on every register of the joined grid.
  ValueId compute(Opcode op, Element element, std::vector<ValueId> operands);
  /// The same with a mask as result.
  ValueId compare(Opcode op, Element element, std::vector<ValueId> operands);
  /// A value with a grid of its own (lane numbers).
  ValueId generate(Opcode op, Element element, VregGrid grid);
  ValueId convert(Opcode op, Element from, Element to, ValueId v);
  ValueId load(TileOp op, VregGrid grid);
  void store(TileOp op) { push(std::move(op)); }
  /// Operand 0, iteration space and ragged edges are those of `over`.
  ValueId reduce(Opcode op, Element element, TileOp::Axis axis, TileOp over);
  /// `grid`: of the transpose.
  ValueId transpose(Element element, VregGrid grid, ValueId v);
  /// Operands, grid and precision are those of `op`; `element`: of the result.
  ValueId matmul(Element element, TileOp op);
  void scalar_op(Opcode op, std::span<const ValueId> operands, ValueId result);
  void control(TileOp op) { push(std::move(op)); }

 private:
  ValueId uniform(Element element, bool constant);
  ValueId tile(TileValue v);
  ValueId tile_compute(Opcode op, Element element, const std::vector<ValueId>& operands,
                       TileValue::Kind kind);
  ValueId widen(ValueId v);
  bool must_widen(Opcode op, Element element) const;
  ValueId define(TileOp op, TileValue::Kind kind);
  void push(TileOp op);

  TileFunction& function_;
  const CoreParams& core_;
  TileRegion* region_;
  std::uint32_t line_ = 0;
  std::vector<bool> constant_;
};

/// Draws up an element-wise op of a kernel dialect: the instructions that compute it.
using ElementwiseHandler = ValueId (*)(TileBuilder&, std::span<const ValueId>, Element);
/// The handler of an op by its name ("arith.addf"), or null. These are shared by the front ends.
ElementwiseHandler elementwise_handler(std::string_view op);

}  // namespace xpusim::tpu
