// Memrefs as values: slices and other views, and allocations inside a kernel. No data moves.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/semaphores.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// Whether scalar operand k is known; the frame's error says so if not.
bool is_known(Frame& f, const Instruction& in, std::size_t k) {
  if (!is_unknown(f.operand(in, k))) return true;
  f.fail(in, fmt::format("{}: operand {} depends on values that --values off does not hold",
                         in.op->name(), k));
  return false;
}

/// tpu.memref_slice: a window of the result's shape, moved by the index operands. Sizes that are
/// not known at compile time are operands too.
Step slice(Frame& f, const Instruction& in) {
  const View from = f.views[f.slot(in, 0)];
  const std::size_t rank = from.shape.size();
  const kernel::Type type = in.op->result()->type;
  View& to = f.views[in.result];
  to = from;
  std::size_t next_size = 1 + rank;
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t size = type->shape[d];
    if (size == kernel::kDynamic) {
      if (next_size >= in.operand_count) return f.fail(in, "a slice lacks one of its sizes");
      if (!is_known(f, in, next_size)) return Step::kFail;
      size = f.operand(in, next_size++).bits;
    }
    if (!is_known(f, in, 1 + d)) return Step::kFail;
    const std::int64_t index = f.operand(in, 1 + d).bits;
    if (size < 0 || index < 0 || index > from.shape[d] - size) {
      return f.fail(
          in, fmt::format("{} of {}: elements {} to {} of dimension {} lie outside its {} elements",
                          in.op->name(), in.op->operands[0]->name, index, index + size - 1, d,
                          from.shape[d]));
    }
    to.shape[d] = size;
    to.offset += index * from.strides[d];
  }
  return Step::kNext;
}

/// tpu.memref_squeeze: dimensions of size 1 go, as the types say.
Step squeeze(Frame& f, const Instruction& in) {
  const View from = f.views[f.slot(in, 0)];
  const kernel::Type before = in.op->operands[0]->type, after = in.op->result()->type;
  View& to = f.views[in.result];
  to = from;
  to.shape.clear();
  to.strides.clear();
  for (std::size_t d = 0; d < before->shape.size(); ++d) {
    if (to.shape.size() == after->shape.size() ||
        after->shape[to.shape.size()] != before->shape[d]) {
      continue;
    }
    to.shape.push_back(from.shape[d]);
    to.strides.push_back(from.strides[d]);
  }
  return Step::kNext;
}

bool is_contiguous(const View& v) {
  const Shape dense = row_major_strides(v.shape);
  for (std::size_t d = 0; d < v.shape.size(); ++d) {
    if (v.shape[d] != 1 && v.strides[d] != dense[d]) return false;
  }
  return true;
}

/// The same elements in another shape, or read as another type of the same width.
Step reshape(Frame& f, const Instruction& in) {
  const View from = f.views[f.slot(in, 0)];
  const Tile& out = f.result(in);
  View& to = f.views[in.result];
  to = from;
  if (from.dtype != out.dtype) {
    if (kernel::byte_size(from.dtype) != kernel::byte_size(out.dtype)) {
      return f.fail(in, fmt::format("{} between elements of {} and {} B: how the chip packs narrow "
                                    "elements into rows is not modelled",
                                    in.op->name(), kernel::byte_size(from.dtype),
                                    kernel::byte_size(out.dtype)));
    }
    to.dtype = out.dtype;
  }
  if (from.shape == out.shape) return Step::kNext;
  std::int64_t count = 1;
  for (const std::int64_t n : from.shape) count *= n;
  if (count != out.count() || !is_contiguous(from)) {
    return f.fail(
        in, fmt::format("{} of a memref whose elements do not lie side by side", in.op->name()));
  }
  to.shape = out.shape;
  to.strides = row_major_strides(out.shape);
  return Step::kNext;
}

Step same_view(Frame& f, const Instruction& in) {
  f.views[in.result] = f.views[f.slot(in, 0)];
  return Step::kNext;
}

/// memref.dim
Step dimension(Frame& f, const Instruction& in) {
  const View& view = f.views[f.slot(in, 0)];
  if (!is_known(f, in, 1)) return Step::kFail;
  const std::int64_t d = f.operand(in, 1).bits;
  if (d < 0 || d >= static_cast<std::int64_t>(view.shape.size())) {
    return f.fail(in, fmt::format("memref.dim: dimension {} of {}", d, view.shape.size()));
  }
  set_integer(f.result(in), view.shape[static_cast<std::size_t>(d)]);
  return Step::kNext;
}

/// memref.alloca, tpu.sem_alloc: new memory each time. Its contents are undefined: all bits are
/// set, so that floats are NaN. Semaphores begin at zero.
Step allocate(Frame& f, const Instruction& in) {
  const Tile& out = f.result(in);
  View& view = f.views[in.result];
  view = {};
  view.argument = static_cast<std::uint32_t>(f.code->arguments.size()) + in.index;
  view.dtype = out.dtype;
  view.shape = out.shape;
  view.strides = row_major_strides(out.shape);
  if (out.dtype == DType::kNone) {
    forget_semaphores(f, view.argument);
    return Step::kNext;
  }
  if (!f.values && kernel::is_float(out.dtype)) return Step::kNext;
  std::vector<std::byte>& storage = f.shared[in.index];
  storage.assign(static_cast<std::size_t>(out.count()) * element_bytes(out), kUnwrittenByte);
  view.bytes = storage;
  return Step::kNext;
}

std::string_view prepare_allocation(const kernel::Op& op, Instruction&) {
  const auto& shape = op.result()->type->shape;
  const bool fixed = std::none_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; });
  return fixed && op.operands.empty() ? "" : "only allocations of a fixed size are supported";
}

}  // namespace

void add_memrefs(OpTable& table) {
  table.add({.name = "tpu.memref_slice", .run = slice, .pure = false});
  table.add({.name = "tpu.memref_squeeze", .run = squeeze, .pure = false});
  for (const auto* name : {"tpu.memref_reshape", "tpu.memref_bitcast", "tpu.reinterpret_cast"}) {
    table.add({.name = name, .run = reshape, .pure = false});
  }
  for (const auto* name : {"tpu.erase_memref_layout", "tpu.assume_layout", "memref.cast"}) {
    table.add({.name = name, .run = same_view, .pure = false});
  }
  table.add({.name = "memref.dim", .run = dimension, .pure = false});
  for (const auto* name : {"memref.alloca", "tpu.sem_alloc"}) {
    table.add({.name = name,
               .run = allocate,
               .pure = false,
               .prepare = prepare_allocation,
               .allocates = true});
  }
}

}  // namespace xpusim::exec
