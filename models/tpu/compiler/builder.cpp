#include "models/tpu/compiler/builder.h"

#include <algorithm>
#include <utility>

namespace xpusim::tpu {
namespace {

/// The scalar unit's instruction for what the vector ALU does.
Opcode scalar_form(Opcode op) {
  switch (op) {
    case Opcode::kVMul:
      return Opcode::kSMul;
    case Opcode::kVCompare:
      return Opcode::kSCompare;
    case Opcode::kVSelect:
      return Opcode::kSSelect;
    case Opcode::kVLogic:
    case Opcode::kVShift:
    case Opcode::kVMaskLogic:
      return Opcode::kSLogic;
    case Opcode::kVReciprocal:
      return Opcode::kSDivide;
    default:
      return Opcode::kSAdd;
  }
}

}  // namespace

void TileBuilder::push(TileOp op) {
  op.line = line_;
  region_->ops.push_back(std::move(op));
}

ValueId TileBuilder::uniform(Element element, bool constant) {
  TileValue v;
  v.element = element;
  const ValueId id = tile(v);
  constant_[static_cast<std::size_t>(id)] = constant;
  return id;
}

ValueId TileBuilder::tile(TileValue v) {
  const ValueId id = function_.add(v);
  constant_.resize(static_cast<std::size_t>(id) + 1, false);
  return id;
}

bool TileBuilder::must_widen(Opcode op, Element element) const {
  if (element != Element::kBf16 || core_.native_bf16) return false;
  switch (op) {
    case Opcode::kVMove:
    case Opcode::kVSelect:
    case Opcode::kVLogic:
    case Opcode::kVPack:
    case Opcode::kVUnpack:
      return false;
    default:
      return true;
  }
}

ValueId TileBuilder::widen(ValueId v) {
  if (is_uniform(v)) return v;
  return tile_compute(Opcode::kVUnpack, Element::kF32, {v}, TileValue::Kind::kTile);
}

ValueId TileBuilder::tile_compute(Opcode opcode, Element element,
                                  const std::vector<ValueId>& operands, TileValue::Kind kind) {
  TileOp op;
  op.opcode = opcode;
  op.element = element;
  std::copy(operands.begin(), operands.end(), op.operands.begin());
  for (ValueId v : operands) op.grid = join(op.grid, value(v).grid);
  return define(std::move(op), kind);
}

/// The op's result is a value of its grid and element.
ValueId TileBuilder::define(TileOp op, TileValue::Kind kind) {
  TileValue result;
  result.kind = kind;
  result.grid = op.grid;
  result.element = op.element;
  op.result = tile(result);
  const ValueId id = op.result;
  push(std::move(op));
  return id;
}

ValueId TileBuilder::compute(Opcode op, Element element, std::vector<ValueId> operands) {
  const auto uniform_operand = [&](ValueId v) { return is_uniform(v); };
  if (std::all_of(operands.begin(), operands.end(), uniform_operand)) {
    const bool fixed =
        std::all_of(operands.begin(), operands.end(), [&](ValueId v) { return is_constant(v); });
    const ValueId result = uniform(element, fixed);
    if (!fixed) scalar_op(scalar_form(op), operands, result);
    return result;
  }
  if (!must_widen(op, element)) return tile_compute(op, element, operands, TileValue::Kind::kTile);
  for (ValueId& v : operands) v = widen(v);
  const ValueId wide = tile_compute(op, Element::kF32, operands, TileValue::Kind::kTile);
  return tile_compute(Opcode::kVPack, Element::kBf16, {wide}, TileValue::Kind::kTile);
}

ValueId TileBuilder::compare(Opcode op, Element element, std::vector<ValueId> operands) {
  const auto uniform_operand = [&](ValueId v) { return is_uniform(v); };
  if (std::all_of(operands.begin(), operands.end(), uniform_operand)) {
    return compute(op, element, std::move(operands));
  }
  if (must_widen(op, element)) {
    for (ValueId& v : operands) v = widen(v);
    element = Element::kF32;
  }
  return tile_compute(op, element, operands, TileValue::Kind::kMask);
}

ValueId TileBuilder::generate(Opcode opcode, Element element, VregGrid grid) {
  TileOp op;
  op.opcode = opcode;
  op.element = element;
  op.grid = grid;
  TileValue v;
  v.kind = TileValue::Kind::kTile;
  v.grid = grid;
  v.element = element;
  op.result = tile(v);
  const ValueId id = op.result;
  push(std::move(op));
  return id;
}

ValueId TileBuilder::convert(Opcode op, Element from, Element to, ValueId v) {
  if (is_uniform(v)) return is_constant(v) ? constant(to) : compute(op, to, {v});
  const bool mask = value(v).kind == TileValue::Kind::kMask;
  if (from == to && !mask) return v;
  return tile_compute(mask ? Opcode::kVSelect : op, to, {v}, TileValue::Kind::kTile);
}

ValueId TileBuilder::load(TileOp op, VregGrid grid) {
  op.kind = TileOp::Kind::kLoad;
  op.grid = grid;
  TileValue v;
  v.kind = TileValue::Kind::kTile;
  v.grid = grid;
  v.element = op.element;
  op.result = tile(v);
  const ValueId id = op.result;
  push(std::move(op));
  return id;
}

ValueId TileBuilder::reduce(Opcode opcode, Element element, TileOp::Axis axis, TileOp op) {
  if (must_widen(opcode, element)) {
    op.operands[0] = widen(op.operands[0]);
    const ValueId wide = reduce(opcode, Element::kF32, axis, std::move(op));
    return convert(Opcode::kVPack, Element::kF32, element, wide);
  }
  op.kind = TileOp::Kind::kReduce;
  op.opcode = opcode;
  op.element = element;
  op.axis = axis;
  TileValue result;
  result.kind = TileValue::Kind::kTile;
  result.element = element;
  if (axis == TileOp::Axis::kColumns) result.grid.rows = op.grid.rows;
  if (axis == TileOp::Axis::kRows) result.grid.cols = op.grid.cols;
  op.result = tile(result);
  const ValueId id = op.result;
  push(std::move(op));
  return id;
}

ValueId TileBuilder::transpose(Element element, VregGrid grid, ValueId v) {
  if (is_uniform(v)) return v;
  const ValueId id = generate(Opcode::kVTranspose, element, grid);
  region_->ops.back().operands[0] = v;
  return id;
}

ValueId TileBuilder::matmul(Element element, TileOp op) {
  op.kind = TileOp::Kind::kMatmul;
  op.element = element;
  return define(std::move(op), TileValue::Kind::kTile);
}

void TileBuilder::scalar_op(Opcode opcode, std::span<const ValueId> operands, ValueId result) {
  TileOp op;
  op.kind = TileOp::Kind::kScalar;
  op.opcode = opcode;
  std::size_t n = 0;
  for (ValueId v : operands) {
    if (!is_constant(v) && is_uniform(v) && n < op.operands.size()) op.operands[n++] = v;
  }
  op.result = result;
  push(std::move(op));
}

}  // namespace xpusim::tpu
