// Memrefs: loads and stores of vectors and scalars in the machine's buffers. Contents that nobody
// has written are not told apart: compilers read what they are about to overwrite.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/async.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// Which operand is what. Found by type, since dialects differ in the order.
struct Roles {
  std::size_t memref = 0, first_index = 0, index_count = 0;
  std::size_t value = ~std::size_t{0}, mask = ~std::size_t{0};
};

bool is_index_like(const Tile& t) { return t.shape.empty() && kernel::is_integer(t.dtype); }

/// The operands of a load or store: one memref, its indices side by side, and (for stores) the
/// value, which is the vector that comes first, or the scalar before the memref; then a mask.
Roles roles_of(Frame& f, const Instruction& in, bool stores) {
  Roles r;
  while (r.memref < in.operand_count &&
         !(f.has(in, r.memref) && f.code->slots[f.slot(in, r.memref)].is_view)) {
    ++r.memref;
  }
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    if (k == r.memref || !f.has(in, k)) continue;
    const Tile& t = f.operand(in, k);
    if (stores && r.value == ~std::size_t{0} && (k < r.memref || !is_index_like(t))) {
      r.value = k;
    } else if (is_index_like(t)) {
      if (r.index_count++ == 0) r.first_index = k;
    } else {
      r.mask = k;
    }
  }
  return r;
}

constexpr std::int64_t kStrided = 1, kAdds = 2;  // bits of `immediate`

/// The elements from one to the next that an access takes along each dimension ("strides"); one by
/// one where the op does not say.
void strides_of(const kernel::Op& op, std::size_t rank, Shape& strides) {
  strides.assign(rank, 1);
  const kernel::Attr attr = op.attr("strides");
  const std::vector<std::int64_t> list = attr ? attr->int_list() : std::vector<std::int64_t>{};
  for (std::size_t d = 0; d < std::min(rank, list.size()); ++d) strides[d] = list[d];
}

/// Finds the part of a view that an access touches, and whether it lies inside. A vector of fewer
/// dimensions than the memref takes its last ones. With strides, `view` becomes one of every so
/// many elements.
bool locate_part(Frame& f, const Instruction& in, std::size_t first_index, std::size_t index_count,
                 View& view, const Shape& shape, Part& part) {
  const std::size_t rank = view.shape.size();
  if (index_count != rank || shape.size() > rank) {
    f.fail(in, fmt::format("{} has {} indices for a memref of {} dimensions", in.op->name(),
                           index_count, rank));
    return false;
  }
  part.base = view.offset;
  part.shape.assign(rank - shape.size(), 1);
  part.shape.insert(part.shape.end(), shape.begin(), shape.end());
  Shape steps;
  strides_of(*in.op, (in.immediate & kStrided) != 0 ? rank : 0, steps);
  for (std::size_t d = 0; d < rank; ++d) {
    const Tile& index = f.operand(in, first_index + d);
    if (is_unknown(index)) {
      f.fail(in, fmt::format("{}: index {} depends on values that --values off does not hold",
                             in.op->name(), d));
      return false;
    }
    const std::int64_t step = steps.empty() ? 1 : steps[d];
    const std::int64_t reach = (part.shape[d] - 1) * step;
    if (index.bits < 0 || reach < 0 || index.bits > view.shape[d] - 1 - reach) {
      f.fail(in,
             fmt::format("{} of {}: elements {} to {} of dimension {} lie outside its {} elements",
                         in.op->name(), in.op->operands[0]->name, index.bits, index.bits + reach, d,
                         view.shape[d]));
      return false;
    }
    part.base += index.bits * view.strides[d];
    view.strides[d] *= step;
  }
  return true;
}

bool is_ready(Frame& f, const Instruction& in, const View& view, const Part& part, bool writes) {
  if (f.copies.empty()) return true;
  View touched = view;
  touched.bytes = {};
  touched.offset = part.base;
  touched.shape = part.shape;
  return check_finished(f, in, touched, writes);
}

bool has_payload(Frame& f, const Instruction& in, const View& view) {
  if (view.address == 0) return !view.bytes.empty();
  f.fail(in, fmt::format("{} of a memref in device memory: a DMA has to bring it closer first",
                         in.op->name()));
  return false;
}

/// Elements that a mask leaves out are zero.
void clear_masked(const Tile& mask, Tile& out) {
  const std::size_t size = element_bytes(out);
  std::byte* to = dense_storage(out);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    if (element_bits(mask, i) == 0) std::memset(to + static_cast<std::size_t>(i) * size, 0, size);
  }
}

Step load(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, false);
  View view = f.views[f.slot(in, roles.memref)];
  Tile& out = f.result(in);
  Part part;
  if (!locate_part(f, in, roles.first_index, roles.index_count, view, out.shape, part) ||
      !is_ready(f, in, view, part, false)) {
    return Step::kFail;
  }
  const std::size_t size = element_bytes(out);
  f.live[in.result] = out.count();
  f.counts.load_bytes += static_cast<std::uint64_t>(out.count()) * size;
  const bool held = has_payload(f, in, view);
  if (!f.error.message.empty()) return Step::kFail;
  const Tile* mask = roles.mask == ~std::size_t{0} ? nullptr : &f.operand(in, roles.mask);
  if (!held || !f.wants(in) || (mask && is_unknown(*mask))) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  read_part(view, part, out);
  if (mask) clear_masked(*mask, out);
  return Step::kNext;
}

/// sum = value + what lies there already.
void add_to_old(Frame& f, const View& view, const Part& part, const Tile& value, Tile& sum) {
  Tile old;
  sum.shape = old.shape = value.shape;
  sum.dtype = old.dtype = value.dtype;
  read_part(view, part, old);
  if (!kernel::is_float(value.dtype)) {
    return integer_binary(IntOp::kAdd, old, value, sum);
  }
  const Tile* operands[] = {&old, &value};
  float_op(FloatOp::kAdd, operands, sum);
  f.counts.flops += static_cast<std::uint64_t>(value.count());
}

Step store(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, true);
  View view = f.views[f.slot(in, roles.memref)];
  const Tile& value = f.operand(in, roles.value);
  const Tile* mask = roles.mask == ~std::size_t{0} ? nullptr : &f.operand(in, roles.mask);
  Part part;
  if (!locate_part(f, in, roles.first_index, roles.index_count, view, value.shape, part) ||
      !is_ready(f, in, view, part, true)) {
    return Step::kFail;
  }
  const std::size_t size = element_bytes(value);
  f.counts.store_bytes += static_cast<std::uint64_t>(value.count()) * size;
  const bool held = has_payload(f, in, view);
  if (!f.error.message.empty()) return Step::kFail;
  if (!held || is_unknown(value) || (mask && is_unknown(*mask))) return Step::kNext;
  if ((in.immediate & kAdds) == 0) {
    write_part(view, part, value, mask);
    return Step::kNext;
  }
  Tile sum;
  add_to_old(f, view, part, value, sum);
  write_part(view, part, sum, mask);
  return Step::kNext;
}

std::string_view prepare_access(const kernel::Op& op, Instruction& in) {
  const kernel::Attr strides = op.attr("strides");
  if (strides && !strides->int_list().empty()) in.immediate |= kStrided;
  if (op.int_attr("add") != 0) in.immediate |= kAdds;
  return "";
}

}  // namespace

void add_buffers(OpTable& table) {
  for (const auto* name : {"vector.load", "memref.load", "tpu.vector_load", "tpu.strided_load"}) {
    table.add({.name = name, .run = load, .pure = false, .prepare = prepare_access});
  }
  for (const auto* name :
       {"tpu.vector_store", "vector.store", "memref.store", "tpu.strided_store"}) {
    table.add({.name = name, .run = store, .pure = false, .prepare = prepare_access});
  }
}

}  // namespace xpusim::exec
