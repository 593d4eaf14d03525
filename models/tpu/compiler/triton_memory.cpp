// Loads, stores and reductions of a Triton program on the TPU.

#include <fmt/format.h>

#include <algorithm>

#include "models/tpu/compiler/triton_front.h"

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::Value;

/// Scalar instructions a window and step: a multiply and an add for each term of the address, the
/// limits of the mask, and the four words of a descriptor.
std::int64_t window_scalar_ops(const AffineWindow& w) {
  std::int64_t terms = 0;
  for (std::int64_t c : w.pointer.program) terms += c != 0;
  return 2 * terms + 3 * static_cast<std::int64_t>(w.mask.below.size()) + 4;
}

/// Why a mask cannot cut a window to a box, or "".
std::string mask_problem(const AffineMask& mask) {
  for (const AffineForm& f : mask.below) {
    if (std::count_if(f.element.begin(), f.element.end(), [](auto s) { return s != 0; }) > 1) {
      return "its mask mixes the tile's dimensions, so that it is no box";
    }
  }
  return "";
}

}  // namespace

std::optional<std::uint16_t> TritonFront::window(const Op& o, const Value& pointer,
                                                 const Value* mask, bool output) {
  const Known& p = known(pointer);
  const kernel::TypeData& type = *pointer.type;
  if (!p.form || p.form->pointer < 0) {
    refuse(o,
           "its addresses are not affine in the program's number and the element's coordinates, "
           "so that no DMA window can fetch them");
    return std::nullopt;
  }
  if (mask && !known(*mask).mask && !known(*mask).form) {
    refuse(o,
           "its mask depends on data; only masks that cut the tile to a box can become a window");
    return std::nullopt;
  }
  AffineWindow w;
  w.pointer = *p.form;
  w.shape = type.is_shaped() ? type.shape : std::vector<std::int64_t>{1};
  w.pointer.element.resize(w.shape.size(), type.is_shaped() ? 0 : 1);
  const kernel::Type pointee = type.pointee();
  const kernel::DType dtype = pointee ? pointee->dtype : kernel::DType::kNone;
  w.element_bytes = kernel::byte_size(dtype);
  if (mask && known(*mask).mask) w.mask = *known(*mask).mask;
  const Element e = element_of(dtype);
  std::string problem = mask_problem(w.mask);
  if (e == Element::kNone) {
    problem = fmt::format("the TPU's vector unit has no {}", kernel::name(dtype));
  } else if (w.shape.size() > 2) {
    problem = "tiles of more than two dimensions are not modelled";
  } else if (w.pointer.element.back() != 1) {
    problem = "the elements of a row are not neighbours in memory";
  }
  if (!problem.empty()) {
    refuse(o, problem);
    return std::nullopt;
  }
  const VregGrid grid = grid_of(type);
  WindowPlan plan;
  plan.operand = plan.argument = static_cast<std::size_t>(p.form->pointer);
  plan.output = output;
  plan.element = e;
  plan.block = w.shape;
  plan.scalar_ops = window_scalar_ops(w);
  plan.affine = std::move(w);
  plan.line = build_.line();
  Buffer b;
  b.name = fmt::format("{}{}", kernel::loc_name(function_.entry().args[plan.argument]->loc),
                       output ? ".out" : "");
  b.kind = output ? BufferKind::kOutput : BufferKind::kInput;
  b.bytes = grid.count() * tile_bytes(e);
  b.copies = 2;
  plan_.program.buffers.push_back(b);
  plan.buffer = static_cast<std::uint16_t>(plan_.program.buffers.size() - 1);
  plan_.windows.push_back(std::move(plan));
  return plan_.windows.back().buffer;
}

void TritonFront::load(const Op& o) {
  const Value* mask = o.operands.size() > 1 ? o.operands[1] : nullptr;
  const Value* other = o.operands.size() > 2 ? o.operands[2] : nullptr;
  const auto buffer = window(o, *o.operands[0], mask, false);
  if (!buffer) return;
  const kernel::TypeData& type = *o.result()->type;
  if (!type.is_shaped()) {
    known(*o.result()).data = build_.scalar(element_of(type.dtype));
    return build_.scalar_op(Opcode::kSLoad, {}, known(*o.result()).data);
  }
  TileOp op;
  op.buffer = *buffer;
  op.element = element_of(type.dtype);
  const VregGrid grid = grid_of(type);
  op.pitch = grid.cols;
  ValueId v = build_.load(op, grid);
  if (mask && other) v = select_other(o, v, *mask, *other);
  known(*o.result()).data = v;
  known(*o.result()).layout = layout_of(type);
}

/// Lanes that the mask leaves out take the other value: one select a register.
ValueId TritonFront::select_other(const Op& o, ValueId loaded, const Value& mask,
                                  const Value& other) {
  const ValueId m = data(mask, o);
  return build_.compute(Opcode::kVSelect, build_.value(loaded).element,
                        {m, loaded, data(other, o)});
}

void TritonFront::store(const Op& o) {
  const Value* mask = o.operands.size() > 2 ? o.operands[2] : nullptr;
  const auto buffer = window(o, *o.operands[0], mask, true);
  if (!buffer) return;
  const kernel::TypeData& type = *o.operands[1]->type;
  const ValueId v = data(*o.operands[1], o);
  const Layout layout = known(*o.operands[1]).layout;
  if (layout != layout_of(type) && layout != Layout::kUniform) {
    return refuse(o,
                  "a reduced tile would have to be moved between lanes before its store, which "
                  "is not modelled");
  }
  TileOp op;
  op.kind = TileOp::Kind::kStore;
  op.buffer = *buffer;
  op.element = element_of(type.dtype);
  op.grid = grid_of(type);
  op.pitch = op.grid.cols;
  op.ragged_cols = !type.is_shaped();  // one element of a register
  op.operands[0] = v;
  build_.store(op);
}

void TritonFront::reduce(const Op& o) {
  static const std::vector<std::pair<std::string_view, Opcode>> kCombiners = {
      {"arith.addf", Opcode::kVAdd},    {"arith.maximumf", Opcode::kVMax},
      {"arith.maxnumf", Opcode::kVMax}, {"arith.minimumf", Opcode::kVMin},
      {"arith.minnumf", Opcode::kVMin}, {"arith.addi", Opcode::kVAdd},
      {"arith.maxsi", Opcode::kVMax},   {"arith.minsi", Opcode::kVMin},
      {"arith.mulf", Opcode::kVMul}};
  const kernel::Block& body = *o.regions[0]->blocks[0];
  const auto found = std::find_if(kCombiners.begin(), kCombiners.end(), [&](const auto& c) {
    return body.ops.size() == 2 && body.ops[0]->name() == c.first;
  });
  if (o.operands.size() != 1 || found == kCombiners.end()) {
    return refuse(o, "only reductions of one tile by one sum, maximum, minimum or product");
  }
  const kernel::TypeData& type = *o.operands[0]->type;
  const std::int64_t axis = o.int_attr("axis");
  const bool flat = type.shape.size() == 1;
  const ValueId v = data(*o.operands[0], o);
  const Layout have = known(*o.operands[0]).layout;
  if (have != layout_of(type) && have != Layout::kUniform) {
    return refuse(o, "reducing a reduced tile again is not modelled");
  }
  const TileOp::Axis over = flat        ? TileOp::Axis::kBoth
                            : axis == 1 ? TileOp::Axis::kColumns
                                        : TileOp::Axis::kRows;
  Known& r = known(*o.result());
  TileOp op;
  op.grid = grid_of(type);
  op.operands[0] = v;
  r.data = build_.reduce(found->second, element_of(type.dtype), over, std::move(op));
  r.layout = flat ? Layout::kUniform : axis == 1 ? Layout::kColumn : Layout::kRow;
}

}  // namespace xpusim::tpu
