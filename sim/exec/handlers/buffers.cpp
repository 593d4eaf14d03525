// Memrefs: loads and stores of vectors and scalars in the machine's buffers, and slices of them.

#include <fmt/format.h>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/async.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"
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

/// Finds the part, and whether it lies inside the view.
bool locate_part(Frame& f, const Instruction& in, const Roles& roles, const View& view,
                 const Shape& shape, Part& part) {
  if (roles.index_count != view.shape.size() ||
      (!shape.empty() && shape.size() != view.shape.size())) {
    f.fail(in, fmt::format("{} has {} indices for a memref of {} dimensions", in.op->name(),
                           roles.index_count, view.shape.size()));
    return false;
  }
  part.base = view.offset;
  part.shape = shape;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    const Tile& index = f.operand(in, roles.first_index + d);
    if (is_unknown(index)) {
      f.fail(in, fmt::format("{}: index {} depends on values that --values off does not hold",
                             in.op->name(), d));
      return false;
    }
    const std::int64_t length = shape.empty() ? 1 : shape[d];
    if (index.bits < 0 || index.bits > view.shape[d] - length) {
      f.fail(in,
             fmt::format("{} of {}: elements {} to {} of dimension {} lie outside its {} elements",
                         in.op->name(), in.op->operands[0]->name, index.bits,
                         index.bits + length - 1, d, view.shape[d]));
      return false;
    }
    part.base += index.bits * view.strides[d];
  }
  return true;
}

/// The view of a part, for checks against copies that go on.
View narrowed(const View& view, const Part& part) {
  View v = view;
  v.bytes = {};
  v.offset = part.base;
  v.shape = part.shape;
  if (part.shape.empty()) v.strides.clear();
  return v;
}

bool is_ready(Frame& f, const Instruction& in, const View& view, const Part& part, bool writes) {
  return f.copies.empty() || check_finished(f, in, narrowed(view, part), writes);
}

bool has_payload(Frame& f, const Instruction& in, const View& view) {
  if (view.address == 0) return !view.bytes.empty();
  f.fail(in, fmt::format("{} of a memref in device memory: a DMA has to bring it closer first",
                         in.op->name()));
  return false;
}

Step load(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, false);
  const View& view = f.views[f.slot(in, roles.memref)];
  Tile& out = f.result(in);
  Part part;
  if (!locate_part(f, in, roles, view, out.shape, part) || !is_ready(f, in, view, part, false))
    return Step::kFail;
  const std::size_t size = element_bytes(out);
  f.live[in.result] = out.count();
  f.counts.load_bytes += static_cast<std::uint64_t>(out.count()) * size;
  const bool held = has_payload(f, in, view);
  if (!f.error.message.empty()) return Step::kFail;
  if (!held || !f.wants(in)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  read_part(view, part, out);
  return Step::kNext;
}

Step store(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, true);
  const View& view = f.views[f.slot(in, roles.memref)];
  const Tile& value = f.operand(in, roles.value);
  const Tile* mask = roles.mask == ~std::size_t{0} ? nullptr : &f.operand(in, roles.mask);
  Part part;
  if (!locate_part(f, in, roles, view, value.shape, part) || !is_ready(f, in, view, part, true))
    return Step::kFail;
  const std::size_t size = element_bytes(value);
  f.counts.store_bytes += static_cast<std::uint64_t>(value.count()) * size;
  const bool held = has_payload(f, in, view);
  if (!f.error.message.empty()) return Step::kFail;
  if (!held || is_unknown(value) || (mask && is_unknown(*mask))) return Step::kNext;
  write_part(view, part, value, mask);
  return Step::kNext;
}

/// tpu.memref_slice: a window of the result's shape, moved by the index operands.
Step slice(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, false);
  const View& from = f.views[f.slot(in, roles.memref)];
  View& to = f.views[in.result];
  Part part;
  const Shape shape = f.result(in).shape;
  if (!locate_part(f, in, roles, from, shape, part)) return Step::kFail;
  to = from;
  to.shape = shape;
  to.offset = part.base;
  return Step::kNext;
}

/// tpu.memref_squeeze: dimensions of size 1 go.
Step squeeze(Frame& f, const Instruction& in) {
  const View& from = f.views[f.slot(in, 0)];
  View& to = f.views[in.result];
  const Shape shape = f.result(in).shape;
  to = from;
  to.shape.clear();
  to.strides.clear();
  std::size_t d = 0;
  for (const std::int64_t size : shape) {
    while (d < from.shape.size() && from.shape[d] != size) ++d;
    if (d == from.shape.size()) return f.fail(in, "the result is no squeezed form of the operand");
    to.shape.push_back(size);
    to.strides.push_back(from.strides[d++]);
  }
  return Step::kNext;
}

}  // namespace

void add_buffers(OpTable& table) {
  for (const auto* name : {"vector.load", "memref.load"}) {
    table.add({.name = name, .run = load, .pure = false});
  }
  for (const auto* name : {"tpu.vector_store", "vector.store", "memref.store"}) {
    table.add({.name = name, .run = store, .pure = false});
  }
  table.add({.name = "tpu.memref_slice", .run = slice, .pure = false});
  table.add({.name = "tpu.memref_squeeze", .run = squeeze, .pure = false});
}

}  // namespace xpusim::exec
