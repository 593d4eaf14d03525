// Memrefs: loads and stores of vectors and scalars in the machine's buffers, and slices of them.

#include <fmt/format.h>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/elements.h"
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

/// The part of a view that an op touches: `shape` elements from `base`, in elements of the view's
/// buffer.
struct Part {
  std::int64_t base = 0;
  Shape shape;
};

/// Finds the part, and whether it lies inside the view.
bool locate(Frame& f, const Instruction& in, const Roles& roles, const View& view,
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

/// Calls f(buffer element, tile element, count) for each run that is contiguous in both.
template <class F>
void for_view_runs(const View& view, const Part& part, F f) {
  const std::size_t rank = part.shape.size();
  std::int64_t run = 1;
  std::size_t outer = rank;
  while (outer > 0 && view.strides[outer - 1] == run) run *= part.shape[--outer];
  std::int64_t index[kMaxRank] = {}, tile = 0;
  while (true) {
    std::int64_t at = part.base;
    for (std::size_t d = 0; d < outer; ++d) at += index[d] * view.strides[d];
    f(at, tile, run);
    tile += run;
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == part.shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
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
  if (!locate(f, in, roles, view, out.shape, part)) return Step::kFail;
  const std::size_t size = element_bytes(out);
  f.live[in.result] = out.count();
  f.counts.load_bytes += static_cast<std::uint64_t>(out.count()) * size;
  const bool held = has_payload(f, in, view);
  if (!f.error.message.empty()) return Step::kFail;
  if (!held || !f.wants(in)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  if (out.shape.empty()) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, view.bytes.data() + static_cast<std::size_t>(part.base) * size, size);
    set_bits(out, bits);
    return Step::kNext;
  }
  std::byte* to = dense_storage(out);
  for_view_runs(view, part, [&](std::int64_t at, std::int64_t tile, std::int64_t n) {
    std::memcpy(to + static_cast<std::size_t>(tile) * size,
                view.bytes.data() + static_cast<std::size_t>(at) * size,
                static_cast<std::size_t>(n) * size);
  });
  return Step::kNext;
}

Step store(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, true);
  const View& view = f.views[f.slot(in, roles.memref)];
  const Tile& value = f.operand(in, roles.value);
  const Tile* mask = roles.mask == ~std::size_t{0} ? nullptr : &f.operand(in, roles.mask);
  Part part;
  if (!locate(f, in, roles, view, value.shape, part)) return Step::kFail;
  const std::size_t size = element_bytes(value);
  f.counts.store_bytes += static_cast<std::uint64_t>(value.count()) * size;
  const bool held = has_payload(f, in, view);
  if (!f.error.message.empty()) return Step::kFail;
  if (!held || is_unknown(value) || (mask && is_unknown(*mask))) return Step::kNext;
  std::byte* bytes = view.bytes.data();
  if (value.shape.empty()) {
    read_elements(value, 0, 1, bytes + static_cast<std::size_t>(part.base) * size);
    return Step::kNext;
  }
  for_view_runs(view, part, [&](std::int64_t at, std::int64_t tile, std::int64_t n) {
    std::byte* to = bytes + static_cast<std::size_t>(at) * size;
    if (!mask) return read_elements(value, tile, n, to);
    for (std::int64_t i = 0; i < n; ++i) {
      if (element_bits(*mask, tile + i) != 0) {
        read_elements(value, tile + i, 1, to + static_cast<std::size_t>(i) * size);
      }
    }
  });
  return Step::kNext;
}

/// tpu.memref_slice: a window of the result's shape, moved by the index operands.
Step slice(Frame& f, const Instruction& in) {
  const Roles roles = roles_of(f, in, false);
  const View& from = f.views[f.slot(in, roles.memref)];
  View& to = f.views[in.result];
  Part part;
  const Shape shape = f.result(in).shape;
  if (!locate(f, in, roles, from, shape, part)) return Step::kFail;
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
