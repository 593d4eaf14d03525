// Mosaic ops that move elements of vectors: rotations, concatenations, gathers, extracts, repeats
// and bitcasts between widths.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/axis.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// A tile's elements side by side in memory, whatever its form.
class Elements {
 public:
  explicit Elements(const Tile& t) {
    if (t.form == TileForm::kDense) {
      data_ = t.data->data();
      return;
    }
    storage_.resize(static_cast<std::size_t>(t.count()) * element_bytes(t));
    read_elements(t, 0, t.count(), storage_.data());
    data_ = storage_.data();
  }
  const std::byte* data() const { return data_; }

 private:
  std::vector<std::byte> storage_;
  const std::byte* data_;
};

/// Whether an operand is not known (or the result not wanted): then neither is the result.
bool skips(Frame& f, const Instruction& in) {
  bool unknown = !f.wants(in);
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    unknown = unknown || (f.has(in, k) && is_unknown(f.operand(in, k)));
  }
  if (unknown) f.result(in).form = TileForm::kUnknown;
  return unknown;
}

std::int64_t modulo(std::int64_t a, std::int64_t n) { return ((a % n) + n) % n; }

/// Decodes the dimension that `key` names.
std::string_view take_dimension(const kernel::Op& op, const char* key, Instruction& in) {
  in.immediate = op.int_attr(key, -1);
  const auto rank = static_cast<std::int64_t>(op.operands[0]->type->shape.size());
  return in.immediate >= 0 && in.immediate < rank ? "" : "no such dimension";
}

std::string_view prepare_dimension(const kernel::Op& op, Instruction& in) {
  return take_dimension(op, "dimension", in);
}

/// out[.., i, ..] = from[.., source(i), ..] along one axis.
template <class F>
void move_along(const Tile& from, std::size_t axis, Tile& out, F source) {
  const Around a = around(from.shape, axis), to = around(out.shape, axis);
  const std::size_t row = static_cast<std::size_t>(a.inner) * element_bytes(out);
  const Elements elements(from);
  std::byte* bytes = dense_storage(out);
  for (std::int64_t o = 0; o < to.outer; ++o) {
    for (std::int64_t i = 0; i < to.n; ++i) {
      std::memcpy(bytes + static_cast<std::size_t>(o * to.n + i) * row,
                  elements.data() + static_cast<std::size_t>(o * a.n + source(i)) * row, row);
    }
  }
}

/// What lies at i comes to i + amount; with a stride, by `stride` more for each position of another
/// dimension.
void rotate_by(const Tile& from, std::size_t axis, std::int64_t amount, std::int64_t stride,
               std::size_t stride_axis, Tile& out) {
  const std::int64_t n = from.shape[axis];
  if (stride == 0) {
    return move_along(from, axis, out, [&](std::int64_t i) { return modulo(i - amount, n); });
  }
  const Around a = around(from.shape, axis), other = around(from.shape, stride_axis);
  const std::size_t size = element_bytes(out);
  const Elements elements(from);
  std::byte* bytes = dense_storage(out);
  for (std::int64_t linear = 0; linear < from.count(); ++linear) {
    const std::int64_t i = linear / a.inner % a.n, j = linear / other.inner % other.n;
    const std::int64_t k = modulo(i + amount + stride * j, n);
    std::memcpy(bytes + static_cast<std::size_t>(linear + (k - i) * a.inner) * size,
                elements.data() + static_cast<std::size_t>(linear) * size, size);
  }
}

/// tpu.rotate and tpu.dynamic_rotate: value, and the amount as attribute or operand.
Step rotate(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const std::int64_t amount =
      in.operand_count > 1 ? f.operand(in, 1).bits : in.op->int_attr("amount");
  rotate_by(f.operand(in, 0), static_cast<std::size_t>(in.immediate), amount,
            in.op->int_attr("stride"),
            static_cast<std::size_t>(in.op->int_attr("stride_dimension")), f.result(in));
  return Step::kNext;
}

std::string_view prepare_rotate(const kernel::Op& op, Instruction& in) {
  const auto rank = static_cast<std::int64_t>(op.operands[0]->type->shape.size());
  const std::int64_t other = op.int_attr("stride_dimension");
  if (other < 0 || other >= rank) return "no such stride dimension";
  if (op.int_attr("stride") != 0 && other == op.int_attr("dimension"))
    return "it cannot stride along the dimension that it rotates";
  return prepare_dimension(op, in);
}

Step concatenate(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  Tile& out = f.result(in);
  const auto axis = static_cast<std::size_t>(in.immediate);
  const Around to = around(out.shape, axis);
  const std::size_t row = static_cast<std::size_t>(to.inner) * element_bytes(out);
  std::byte* bytes = dense_storage(out);
  std::int64_t at = 0;
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    const Tile& from = f.operand(in, k);
    const std::int64_t n = from.shape[axis];
    const Elements elements(from);
    for (std::int64_t o = 0; o < to.outer; ++o) {
      std::memcpy(bytes + static_cast<std::size_t>(o * to.n + at) * row,
                  elements.data() + static_cast<std::size_t>(o * n) * row,
                  static_cast<std::size_t>(n) * row);
    }
    at += n;
  }
  return Step::kNext;
}

std::string_view prepare_concatenate(const kernel::Op& op, Instruction& in) {
  if (op.operands.empty()) return "nothing to concatenate";
  const auto& out = op.result()->type->shape;
  in.immediate = op.int_attr("dimension", -1);
  if (in.immediate < 0 || in.immediate >= static_cast<std::int64_t>(out.size()))
    return "no such dimension";
  const auto axis = static_cast<std::size_t>(in.immediate);
  std::int64_t length = 0;
  for (const auto* source : op.operands) {
    auto shape = source->type->shape;
    if (shape.size() != out.size()) return "its sources differ in rank";
    length += shape[axis];
    shape[axis] = out[axis];
    if (shape != out) return "its sources differ in shape";
  }
  return length == out[axis] ? "" : "its sources do not fill the result";
}

/// tpu.repeat: copies of the whole one after another.
Step repeat(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const Tile& from = f.operand(in, 0);
  const auto axis = static_cast<std::size_t>(in.immediate);
  const std::int64_t n = from.shape[axis];
  move_along(from, axis, f.result(in), [n](std::int64_t i) { return i % n; });
  return Step::kNext;
}

/// tpu.gather: positions that the text names.
Step gather(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const std::vector<std::int64_t> indices = in.op->attr("indices")->int_list();
  move_along(f.operand(in, 0), static_cast<std::size_t>(in.immediate), f.result(in),
             [&](std::int64_t i) { return indices[static_cast<std::size_t>(i)]; });
  return Step::kNext;
}

std::string_view prepare_gather(const kernel::Op& op, Instruction& in) {
  if (const auto wrong = prepare_dimension(op, in); !wrong.empty()) return wrong;
  const auto axis = static_cast<std::size_t>(in.immediate);
  const kernel::Attr attr = op.attr("indices");
  const std::vector<std::int64_t> indices = attr ? attr->int_list() : std::vector<std::int64_t>{};
  const auto& out = op.result()->type->shape;
  if (axis >= out.size() || static_cast<std::int64_t>(indices.size()) != out[axis])
    return "it needs an index for each position of its result";
  const std::int64_t n = op.operands[0]->type->shape[axis];
  const bool inside =
      std::all_of(indices.begin(), indices.end(), [n](std::int64_t i) { return i >= 0 && i < n; });
  return inside ? "" : "an index lies outside its operand";
}

/// out[.., i, ..] = source[.., indices[.., i, ..], ..]
Step dynamic_gather(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const Tile& source = f.operand(in, 0);
  Tile& out = f.result(in);
  const auto axis = static_cast<std::size_t>(in.immediate);
  const Around from = around(source.shape, axis), to = around(out.shape, axis);
  const std::size_t size = element_bytes(out);
  const Elements elements(source);
  std::byte* bytes = dense_storage(out);
  ChunkReader<std::int64_t> reader(f.operand(in, 1));
  for (std::int64_t start = 0; start < out.count(); start += kChunk) {
    const std::int64_t n = std::min(kChunk, out.count() - start);
    const std::int64_t* index = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t linear = start + i, j = index[i];
      if (j < 0 || j >= from.n) {
        return f.fail(in, fmt::format("{}: index {} of element {} lies outside the {} elements of "
                                      "its dimension",
                                      in.op->name(), j, linear, from.n));
      }
      const std::int64_t outer = linear / (to.n * to.inner), inner = linear % to.inner;
      const std::int64_t at = (outer * from.n + j) * from.inner + inner;
      std::memcpy(bytes + static_cast<std::size_t>(linear) * size,
                  elements.data() + static_cast<std::size_t>(at) * size, size);
    }
  }
  return Step::kNext;
}

std::string_view prepare_dynamic_gather(const kernel::Op& op, Instruction& in) {
  const kernel::Attr attr = op.attr("dimensions");
  const std::vector<std::int64_t> list = attr ? attr->int_list() : std::vector<std::int64_t>{};
  if (list.size() != 1) return "a gather over other than one dimension is not supported";
  in.immediate = list[0];
  const auto& source = op.operands[0]->type->shape;
  auto out = op.result()->type->shape;
  if (in.immediate < 0 || in.immediate >= static_cast<std::int64_t>(source.size()))
    return "no such dimension";
  if (op.operands[1]->type->shape != out) return "it needs an index for each element";
  const auto axis = static_cast<std::size_t>(in.immediate);
  if (out.size() != source.size()) return "operand and result differ in rank";
  out[axis] = source[axis];
  return out == source ? "" : "operand and result differ beyond the gathered dimension";
}

/// vector.extract: the elements at a position of the leading dimensions. Those that are not in the
/// text come as operands.
Step extract(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const Tile& from = f.operand(in, 0);
  Tile& out = f.result(in);
  const std::vector<std::int64_t> position = in.op->attr("static_position")->int_list();
  std::int64_t at = 0;
  std::size_t next = 1;
  for (std::size_t d = 0; d < from.shape.size(); ++d) {
    std::int64_t i = d < position.size() ? position[d] : 0;
    if (d < position.size() && i == std::numeric_limits<std::int64_t>::min())
      i = f.operand(in, next++).bits;
    if (i < 0 || i >= from.shape[d]) {
      return f.fail(in, fmt::format("vector.extract: position {} of dimension {} lies outside its "
                                    "{} elements",
                                    i, d, from.shape[d]));
    }
    at = at * from.shape[d] + i;
  }
  if (out.shape.empty()) {
    set_bits(out, element_bits(from, at));
  } else {
    read_elements(from, at, out.count(), dense_storage(out));
  }
  return Step::kNext;
}

std::string_view prepare_extract(const kernel::Op& op, Instruction&) {
  const kernel::Attr attr = op.attr("static_position");
  if (!attr) return "no position";
  const std::vector<std::int64_t> position = attr->int_list();
  const auto dynamic =
      std::count(position.begin(), position.end(), std::numeric_limits<std::int64_t>::min());
  if (static_cast<std::size_t>(dynamic) + 1 != op.operands.size())
    return "it needs an operand for each position that its text leaves open";
  const auto& shape = op.operands[0]->type->shape;
  if (position.size() > shape.size()) return "more positions than dimensions";
  const std::vector<std::int64_t> rest(shape.begin() + static_cast<std::ptrdiff_t>(position.size()),
                                       shape.end());
  const kernel::Type out = op.result()->type;
  return (out->is_shaped() ? out->shape : std::vector<std::int64_t>{}) == rest
             ? ""
             : "its result has another shape than the dimensions left";
}

struct StridedSlice {
  std::vector<std::int64_t> offsets, strides;
};

StridedSlice strided_slice_of(const kernel::Op& op) {
  const auto list = [&](const char* key) {
    const kernel::Attr a = op.attr(key);
    return a ? a->int_list() : std::vector<std::int64_t>{};
  };
  StridedSlice s{list("offsets"), list("strides")};
  const std::size_t rank = op.operands[0]->type->shape.size();
  s.offsets.resize(rank, 0);
  s.strides.resize(rank, 1);
  return s;
}

/// vector.extract_strided_slice: offsets, sizes and strides of the leading dimensions.
Step strided_slice(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const StridedSlice s = strided_slice_of(*in.op);
  Tile held = f.operand(in, 0);
  for (std::size_t d = 0; d < held.shape.size(); ++d) {
    Tile next;
    next.shape = held.shape;
    next.shape[d] = f.result(in).shape[d];
    next.dtype = held.dtype;
    move_along(held, d, next, [&](std::int64_t i) { return s.offsets[d] + i * s.strides[d]; });
    held = std::move(next);
  }
  assign(f.result(in), held);
  return Step::kNext;
}

std::string_view prepare_strided_slice(const kernel::Op& op, Instruction&) {
  const StridedSlice s = strided_slice_of(op);
  const auto& from = op.operands[0]->type->shape;
  const auto& to = op.result()->type->shape;
  if (from.size() != to.size() || s.offsets.size() != from.size() ||
      s.strides.size() != from.size()) {
    return "operand and result differ in rank";
  }
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (s.offsets[d] < 0 || s.strides[d] < 1 || to[d] < 1 || s.offsets[d] >= from[d] ||
        (to[d] - 1) > (from[d] - 1 - s.offsets[d]) / s.strides[d]) {
      return "the slice lies outside its operand";
    }
  }
  return "";
}

/// tpu.bitcast between widths: `ratio` narrow rows lie in one wide row, the lowest bits first, as
/// the chip packs its registers.
void repack_rows(const Tile& from, bool to_narrow, std::int64_t ratio, Tile& out) {
  const Tile& wide = to_narrow ? from : out;
  const std::int64_t columns = wide.shape.back(), count = wide.count();
  const std::size_t narrow_bytes = element_bytes(to_narrow ? out : from);
  const Elements elements(from);
  std::byte* bytes = dense_storage(out);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = i / columns, column = i % columns;
    for (std::int64_t k = 0; k < ratio; ++k) {
      const std::int64_t narrow_at = (row * ratio + k) * columns + column;
      const std::size_t narrow = static_cast<std::size_t>(narrow_at) * narrow_bytes;
      const std::size_t packed = static_cast<std::size_t>(i * ratio + k) * narrow_bytes;
      std::memcpy(bytes + (to_narrow ? narrow : packed),
                  elements.data() + (to_narrow ? packed : narrow), narrow_bytes);
    }
  }
}

Step bitcast_rows(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const Tile& from = f.operand(in, 0);
  Tile& out = f.result(in);
  const auto before = static_cast<std::int64_t>(element_bytes(from));
  const auto after = static_cast<std::int64_t>(element_bytes(out));
  if (before == after) {
    bitcast(from, out);
  } else {
    repack_rows(from, after < before, std::max(before, after) / std::min(before, after), out);
  }
  return Step::kNext;
}

std::string_view prepare_bitcast_rows(const kernel::Op& op, Instruction&) {
  const kernel::Type from = op.operands[0]->type, to = op.result()->type;
  const std::int64_t before = kernel::byte_size(from->dtype), after = kernel::byte_size(to->dtype);
  if (kernel::bit_width(from->dtype) % 8 != 0 || kernel::bit_width(to->dtype) % 8 != 0)
    return "elements narrower than a byte are not supported";
  if (before == after) return from->shape == to->shape ? "" : "operand and result differ in shape";
  const std::size_t rank = from->shape.size();
  if (rank < 2 || to->shape.size() != rank || from->shape.back() != to->shape.back())
    return "between widths, only the second to last dimension may change";
  return from->count() * before == to->count() * after ? "" : "operand and result differ in size";
}

/// vector.bitcast: the same bytes, in row-major order.
Step bitcast_bytes(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const Tile& from = f.operand(in, 0);
  const Elements elements(from);
  Tile& out = f.result(in);
  std::memcpy(dense_storage(out), elements.data(),
              static_cast<std::size_t>(out.count()) * element_bytes(out));
  return Step::kNext;
}

std::string_view prepare_bitcast_bytes(const kernel::Op& op, Instruction&) {
  const kernel::Type from = op.operands[0]->type, to = op.result()->type;
  if (kernel::bit_width(from->dtype) % 8 != 0 || kernel::bit_width(to->dtype) % 8 != 0)
    return "elements narrower than a byte are not supported";
  return from->count() * kernel::byte_size(from->dtype) ==
                 to->count() * kernel::byte_size(to->dtype)
             ? ""
             : "operand and result differ in size";
}

}  // namespace

void add_lanes(OpTable& table) {
  for (const auto* name : {"tpu.rotate", "tpu.dynamic_rotate"}) {
    table.add({.name = name, .run = rotate, .prepare = prepare_rotate});
  }
  table.add({.name = "tpu.concatenate", .run = concatenate, .prepare = prepare_concatenate});
  table.add({.name = "tpu.repeat", .run = repeat, .prepare = prepare_dimension});
  table.add({.name = "tpu.gather", .run = gather, .prepare = prepare_gather});
  table.add({.name = "tpu.dynamic_gather",
             .run = dynamic_gather,
             .pure = false,
             .prepare = prepare_dynamic_gather});
  table.add({.name = "vector.extract", .run = extract, .pure = false, .prepare = prepare_extract});
  table.add({.name = "vector.extract_strided_slice",
             .run = strided_slice,
             .prepare = prepare_strided_slice});
  table.add({.name = "tpu.bitcast", .run = bitcast_rows, .prepare = prepare_bitcast_rows});
  table.add({.name = "vector.bitcast", .run = bitcast_bytes, .prepare = prepare_bitcast_bytes});
}

}  // namespace xpusim::exec
