// Tensor descriptors as Triton's own level has them: made from a pointer, or from 128 bytes that
// the block writes (a tensor map), and used by loads, stores and reductions that return at once.

#include "sim/exec/handlers/descriptors.h"

#include <algorithm>
#include <limits>

#include "sim/exec/dense.h"
#include "sim/exec/handlers/access.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {

bool locate_block(Frame& f, const Instruction& in, std::size_t first, DescriptorBlock& block) {
  const TensorDescriptor& d = f.descriptors[f.slot(in, 0)];
  block.descriptor = &d;
  const auto size = static_cast<std::int64_t>(kernel::byte_size(d.dtype));
  Tile& p = block.pointers;
  p.shape = d.block;
  p.dtype = DType::kI64;
  p.is_pointer = true;
  p.form = TileForm::kAffine;
  p.affine = {};
  p.affine.base = static_cast<std::int64_t>(d.address);
  Tile& m = block.mask;
  m.shape = d.block;
  m.dtype = DType::kI1;
  m.form = TileForm::kBox;
  m.box = whole(d.block);
  for (std::size_t k = 0; k < d.block.size(); ++k) {
    const Tile& at = f.operand(in, first + k);
    if (is_unknown(at)) {
      f.fail(in, "a coordinate depends on values that --values off does not hold");
      return false;
    }
    p.affine.base += at.bits * d.strides[k] * size;
    p.affine.digits.push_back({d.strides[k] * size, 1, 0, static_cast<std::uint8_t>(k)});
    m.box.low[k] = std::max<std::int64_t>(0, -at.bits);
    m.box.high[k] = std::clamp<std::int64_t>(d.shape[k] - at.bits, m.box.low[k], d.block[k]);
  }
  normalise(p.affine, p.shape);
  if (is_empty(m.box)) set_integer(m, 0);
  return true;
}

void fetch_block(Frame& f, const DescriptorBlock& b, const Touch& touch, Tile& out) {
  Tile block, padding;
  block.shape = padding.shape = b.descriptor->block;
  block.dtype = padding.dtype = b.descriptor->dtype;
  if (b.descriptor->pads_with_nan) set_float(padding, std::numeric_limits<double>::quiet_NaN());
  const Tile* other = b.descriptor->pads_with_nan ? &padding : nullptr;
  const bool same = out.shape == block.shape;
  fetch(f, b.pointers, &b.mask, other, touch, same ? out : block);
  if (!same) reshape(block, out);  // a block may have dimensions of 1 that its tile leaves out
}

namespace {

/// A value in its block's shape.
const Tile& in_block(const Tile& value, const Shape& shape, Tile& held) {
  if (value.shape == shape) return value;
  held.shape = shape;
  held.dtype = value.dtype;
  reshape(value, held);
  return held;
}

}  // namespace

void put_block(Frame& f, const DescriptorBlock& b, const Touch& touch, const Tile& value) {
  Tile held;
  put(f, b.pointers, &b.mask, touch, in_block(value, b.descriptor->block, held));
}

void reduce_block(Frame& f, Rmw op, const DescriptorBlock& b, const Tile& value) {
  Tile held;
  const Tile& block = in_block(value, b.descriptor->block, held);
  read_modify_write(f, op, b.pointers, &b.mask, block, nullptr);
}

std::string_view prepare_descriptor_reduce(const kernel::Op& op, Instruction& in) {
  constexpr Rmw kKinds[] = {Rmw::kAdd,       Rmw::kMin, Rmw::kMax, Rmw::kIncrement,
                            Rmw::kDecrement, Rmw::kAnd, Rmw::kOr,  Rmw::kXor};
  const std::int64_t kind = op.int_attr("kind");
  if (kind < 1 || kind > 8) return "no such reduction";
  in.immediate = static_cast<std::int64_t>(kKinds[kind - 1]);
  return "";
}

namespace {

void set_block(TensorDescriptor& d, kernel::Type type) {
  d.dtype = type->element->dtype;
  d.block.assign(type->element->shape.begin(), type->element->shape.end());
}

constexpr std::int64_t kPadNan = 2;

/// tt.make_tensor_descriptor: base, shape*, strides*.
Step make(Frame& f, const Instruction& in) {
  TensorDescriptor& d = f.descriptors[in.result];
  set_block(d, in.op->result()->type);
  d.address = static_cast<std::uint64_t>(f.operand(in, 0).bits);
  d.shape.clear();
  d.strides.clear();
  const std::size_t rank = d.block.size();
  for (std::size_t k = 0; k < rank; ++k) {
    d.shape.push_back(f.operand(in, 1 + k).bits);
    d.strides.push_back(f.operand(in, 1 + rank + k).bits);
  }
  d.pads_with_nan = in.op->int_attr("padding") == kPadNan;
  return Step::kNext;
}

std::string_view prepare_make(const kernel::Op& op, Instruction&) {
  const std::size_t rank = op.result()->type->element->shape.size();
  return op.operands.size() == 1 + 2 * rank ? "" : "needs a size and a stride for each dimension";
}

Step load(Frame& f, const Instruction& in) {
  DescriptorBlock b;
  Tile& out = f.result(in);
  const std::size_t size = element_bytes(out);
  Touch touch;
  if (!locate_block(f, in, 1, b) ||
      !check_access(f, in, AccessKind::kLoad, b.pointers, &b.mask, size, touch)) {
    return Step::kFail;
  }
  f.live[in.result] = touch.active;
  f.counts.load(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  if (!f.wants(in)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  fetch_block(f, b, touch, out);
  return Step::kNext;
}

/// desc, src, indices*.
Step store(Frame& f, const Instruction& in) {
  DescriptorBlock b;
  const Tile& value = f.operand(in, 1);
  const std::size_t size = element_bytes(value);
  Touch touch;
  if (!locate_block(f, in, 2, b) ||
      !check_access(f, in, AccessKind::kStore, b.pointers, &b.mask, size, touch)) {
    return Step::kFail;
  }
  f.counts.store(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  if (!is_unknown(value)) put_block(f, b, touch, value);
  return Step::kNext;
}

Step perform_reduce(Frame& f, const Instruction& in) {
  DescriptorBlock b;
  const Tile& value = f.operand(in, 1);
  if (is_unknown(value) || !locate_block(f, in, 2, b)) return Step::kNext;
  reduce_block(f, static_cast<Rmw>(in.immediate), b, value);
  return Step::kNext;
}

Step reduce(Frame& f, const Instruction& in) {
  DescriptorBlock b;
  const Tile& value = f.operand(in, 1);
  const std::size_t size = element_bytes(value);
  Touch touch;
  if (!locate_block(f, in, 2, b) ||
      !check_access(f, in, AccessKind::kAtomic, b.pointers, &b.mask, size, touch)) {
    return Step::kFail;
  }
  const auto bytes = static_cast<std::uint64_t>(touch.active) * size;
  f.counts.load(f.hints[in.site], bytes);
  f.counts.store(f.hints[in.site], bytes);
  if (kernel::is_float(value.dtype)) f.counts.flops += static_cast<std::uint64_t>(touch.active);
  return in.visible ? Step::kEffect : in.perform(f, in);
}

/// Scratch memory of a block lies at addresses of its own, which no tensor has: what a kernel keeps
/// there besides tensor maps is not modelled.
Step allocate_scratch(Frame& f, const Instruction& in) {
  constexpr std::int64_t kFirst = std::int64_t{1} << 60, kApart = std::int64_t{1} << 32;
  set_integer(f.result(in), kFirst + static_cast<std::int64_t>(in.op->id) * kApart);
  return Step::kNext;
}

/// ttng.tensormap_create: place, address, box*, sizes*, strides* (bytes, of all dimensions but the
/// innermost), element strides*; innermost dimension first.
Step create_map(Frame& f, const Instruction& in) {
  const auto& groups = in.op->segments;
  const std::size_t rank = groups[2], sizes = 2 + rank, strides = sizes + rank;
  const std::size_t steps = strides + std::max<std::size_t>(groups[4], 1);
  const auto number = [&](std::size_t k) { return f.operand(in, k).bits; };
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    if (f.has(in, k) && is_unknown(f.operand(in, k)))
      return f.fail(in, "depends on values that are not held");
  }
  TensorDescriptor d;
  d.dtype = in.op->operands[1]->type->pointee()->dtype;
  d.address = static_cast<std::uint64_t>(number(1));
  const std::int64_t size = kernel::byte_size(d.dtype);
  for (std::size_t k = rank; k-- > 0;) {
    d.block.push_back(number(2 + k));
    d.shape.push_back(number(sizes + k));
    d.strides.push_back(k == 0 ? 1 : number(strides + k - 1) / size);
    if (number(steps + k) != 1) {
      return f.fail(in, "strides between the elements of a tensor map are not supported");
    }
  }
  d.pads_with_nan = in.op->int_attr("fill_mode") == 1;
  f.tensor_maps[number(0)] = d;
  return Step::kNext;
}

std::string_view prepare_map(const kernel::Op& op, Instruction&) {
  const auto& groups = op.segments;
  const bool fits = groups.size() == 6 && groups[2] > 0 && groups[3] == groups[2] &&
                    groups[4] + 1 == groups[2] && groups[5] == groups[2];
  return fits ? "" : "needs a size, a block's size and strides for each dimension";
}

/// A descriptor is what its place holds; the type says how large its block is.
Step reinterpret(Frame& f, const Instruction& in) {
  const auto it = f.tensor_maps.find(f.operand(in, 0).bits);
  if (it == f.tensor_maps.end()) return f.fail(in, "no tensor map was written at this address");
  TensorDescriptor& d = f.descriptors[in.result];
  d = it->second;
  set_block(d, in.op->result()->type);
  if (d.block.size() == d.shape.size()) return Step::kNext;
  return f.fail(in, "the tensor map has another rank than the descriptor's type");
}

Step nothing(Frame&, const Instruction&) { return Step::kNext; }

}  // namespace

void add_descriptors(OpTable& table) {
  table.add({.name = "tt.make_tensor_descriptor", .run = make, .prepare = prepare_make});
  table.add({.name = "tt.descriptor_load", .run = load, .pure = false, .leaves_record = true});
  table.add({.name = "tt.descriptor_store", .run = store, .pure = false, .leaves_record = true});
  table.add({.name = "tt.descriptor_reduce",
             .run = reduce,
             .pure = false,
             .perform = perform_reduce,
             .prepare = prepare_descriptor_reduce,
             .leaves_record = true});
  table.add({.name = "ttg.global_scratch_alloc", .run = allocate_scratch});
  table.add(
      {.name = "ttng.tensormap_create", .run = create_map, .pure = false, .prepare = prepare_map});
  table.add({.name = "ttng.tensormap_fenceproxy_acquire", .run = nothing, .pure = false});
  table.add({.name = "ttng.reinterpret_tensor_descriptor", .run = reinterpret, .pure = false});
}

}  // namespace xpusim::exec
