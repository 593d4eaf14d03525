// Shared memory: allocations, views, loads, stores, and asynchronous copies from global memory. A
// copy's data is there at once, but may be read only after its wait: an earlier read is an error.
// Layouts only say where elements lie, so they are left out.

#include "sim/exec/handlers/shared.h"

#include <fmt/format.h>

#include "sim/exec/dense.h"
#include "sim/exec/handlers/access.h"
#include "sim/exec/handlers/async.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

Step allocate(Frame& f, const Instruction& in) {
  const Tile& out = f.result(in);
  View& view = f.views[in.result];
  view = {};
  view.argument = in.index;
  view.dtype = out.dtype;
  view.shape = out.shape;
  view.strides = row_major_strides(out.shape);
  const Tile* value = f.has(in, 0) ? &f.operand(in, 0) : nullptr;
  f.shared_written[in.index].clear();
  if (value) {
    f.live[in.result] = f.live[f.slot(in, 0)];
    mark_written(f, view);
  }
  if (!f.wants(in) || (value && is_unknown(*value))) return Step::kNext;
  std::vector<std::byte>& storage = f.shared[in.index];
  storage.resize(static_cast<std::size_t>(out.count()) * element_bytes(out));
  view.bytes = storage;
  if (value) write_part(view, all_of(view), *value, nullptr);
  return Step::kNext;
}

/// One of several buffers in one allocation: dimension 0 goes.
Step select_buffer(Frame& f, const Instruction& in) {
  const View& from = f.views[f.slot(in, 0)];
  const Tile& index = f.operand(in, 1);
  if (is_unknown(index) || index.bits < 0 || index.bits >= from.shape[0]) {
    return f.fail(in, fmt::format("buffer {} of {}: there are {}", index.bits,
                                  in.op->operands[0]->name, from.shape[0]));
  }
  View& to = f.views[in.result];
  to = from;
  to.offset += index.bits * from.strides[0];
  to.shape.erase(to.shape.begin());
  to.strides.erase(to.strides.begin());
  if (to.shape.empty() && !f.result(in).shape.empty()) {  // one of a row of mbarriers stays a row
    to.shape.push_back(1);
    to.strides.push_back(1);
  }
  return Step::kNext;
}

/// ttg.memdesc_subslice: a box of the result's shape, at "offsets".
Step subslice(Frame& f, const Instruction& in) {
  const View from = f.views[f.slot(in, 0)];
  View& to = f.views[in.result];
  to = from;
  const auto offsets = in.op->attr("offsets")->int_list();
  for (std::size_t d = 0; d < offsets.size(); ++d) to.offset += offsets[d] * from.strides[d];
  to.shape = f.result(in).shape;
  return Step::kNext;
}

std::string_view prepare_subslice(const kernel::Op& op, Instruction&) {
  const auto& from = op.operands[0]->type->shape;
  const auto& to = op.result()->type->shape;
  const kernel::Attr attr = op.attr("offsets");
  const auto offsets = attr ? attr->int_list() : std::vector<std::int64_t>{};
  if (offsets.size() != from.size() || to.size() != from.size())
    return "the slice has another rank";
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (offsets[d] < 0 || offsets[d] > from[d] - to[d]) return "the slice leaves its buffer";
  }
  return "";
}

/// ttg.memdesc_reshape and memdesc_reinterpret of a whole buffer: the same bytes in another shape.
/// Only where the view is contiguous is that a view again.
Step reshape_view(Frame& f, const Instruction& in) {
  const View from = f.views[f.slot(in, 0)];
  if (from.strides != row_major_strides(from.shape)) {
    return f.fail(in, fmt::format("{} of a view that is not contiguous", in.op->name()));
  }
  const Tile& result = f.result(in);
  if (result.dtype != from.dtype) {
    return f.fail(in, "a buffer seen as another element type is not supported");
  }
  View& to = f.views[in.result];
  to = from;
  to.shape = result.shape;
  to.strides = row_major_strides(to.shape);
  return Step::kNext;
}

Step transpose_view(Frame& f, const Instruction& in) {
  const View from = f.views[f.slot(in, 0)];
  View& to = f.views[in.result];
  const kernel::Attr attr = in.op->attr("order");
  const std::vector<std::int64_t> order = attr ? attr->int_list() : std::vector<std::int64_t>{};
  if (order.size() != from.shape.size()) return f.fail(in, "the order has another rank");
  to = from;
  for (std::size_t d = 0; d < order.size(); ++d) {
    to.shape[d] = from.shape[static_cast<std::size_t>(order[d])];
    to.strides[d] = from.strides[static_cast<std::size_t>(order[d])];
  }
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

Step load(Frame& f, const Instruction& in) {
  const View& view = f.views[f.slot(in, 0)];
  Tile& out = f.result(in);
  if (!check_readable(f, in, view)) return Step::kFail;
  if (view.bytes.empty() || !f.wants(in)) {
    out.form = TileForm::kUnknown;
  } else {
    read_part(view, all_of(view), out);
  }
  return Step::kNext;
}

Step store(Frame& f, const Instruction& in) {
  const Tile& value = f.operand(in, 0);
  const View& view = f.views[f.slot(in, 1)];
  if (!check_finished(f, in, view, true)) return Step::kFail;
  mark_written(f, view);
  if (!view.bytes.empty() && !is_unknown(value)) write_part(view, all_of(view), value, nullptr);
  return Step::kNext;
}

/// ttg.async_copy_global_to_local: pointers, view, mask?, other?.
Step copy_async(Frame& f, const Instruction& in) {
  const Tile& pointers = f.operand(in, 0);
  const View& view = f.views[f.slot(in, 1)];
  const Tile* mask = f.has(in, 2) ? &f.operand(in, 2) : nullptr;
  const Tile* other = f.has(in, 3) ? &f.operand(in, 3) : nullptr;
  const auto size = static_cast<std::size_t>(kernel::byte_size(view.dtype));
  Touch touch;
  if (!check_finished(f, in, view, true) ||
      !check_access(f, in, AccessKind::kAsyncCopy, pointers, mask, size, touch)) {
    return Step::kFail;
  }
  f.counts.load(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  begin_copy(f, in, view, f.strand.open_group, true);
  mark_written(f, view);
  if (view.bytes.empty() || !f.wants(in)) return Step::kNext;
  Tile& tile = f.held[0];
  tile.shape = view.shape;
  tile.dtype = view.dtype;
  fetch(f, pointers, mask, other, touch, tile);
  write_part(view, all_of(view), tile, nullptr);
  return Step::kNext;
}

Step commit_group(Frame& f, const Instruction&) {
  ++f.strand.open_group;
  return Step::kNext;
}

/// All but the last `num` groups of these warps are there.
Step wait_groups(Frame& f, const Instruction& in) {
  const std::int64_t finished = f.strand.open_group - in.immediate;
  const std::int64_t first = f.strand.open_group / Frame::kStrandGroups * Frame::kStrandGroups;
  std::erase_if(f.copies,
                [&](const Frame::AsyncCopy& c) { return c.group >= first && c.group < finished; });
  return Step::kNext;
}

std::string_view prepare_wait(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("num");
  return "";
}

/// ttng.warp_group_dot_wait: passes its operands on.
Step pass_on(Frame& f, const Instruction& in) {
  for (std::uint32_t k = 0; k < in.result_count; ++k) {
    assign(f.result(in, k), f.operand(in, k));
    f.live[in.result + k] = f.live[f.slot(in, k)];
    if (f.code->slots[in.result + k].is_view) f.views[in.result + k] = f.views[f.slot(in, k)];
  }
  return Step::kNext;
}

Step nothing(Frame&, const Instruction&) { return Step::kNext; }

}  // namespace

void mark_written(Frame& f, const View& view) {
  std::int64_t end = view.offset + 1;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    end += (view.shape[d] - 1) * view.strides[d];
  }
  f.shared_written[view.argument].add(view.offset, end);
}

bool check_readable(Frame& f, const Instruction& in, const View& view) {
  if (!check_finished(f, in, view)) return false;
  bool written = true;
  for_view_runs(view, all_of(view), [&](std::int64_t at, std::int64_t, std::int64_t n) {
    written = written && f.shared_written[view.argument].contains(at, at + n);
  });
  if (!written) {
    f.fail(in, fmt::format("{} reads shared memory that nothing has written", in.op->name()));
  }
  return written;
}

const Tile* read_operand(Frame& f, const Instruction& in, std::size_t k, Tile& held) {
  const std::uint32_t slot = f.slot(in, k);
  if (!f.code->slots[slot].is_view) return &f.slots[slot];
  const View& view = f.views[slot];
  if (!check_readable(f, in, view)) return nullptr;
  held.shape = view.shape;
  held.dtype = view.dtype;
  held.form = TileForm::kUnknown;
  if (!view.bytes.empty() && f.wants(in)) read_part(view, all_of(view), held);
  return &held;
}

void add_shared(OpTable& table) {
  table.add({.name = "ttg.local_alloc", .run = allocate, .pure = false, .allocates = true});
  table.add({.name = "ttg.memdesc_index", .run = select_buffer, .pure = false});
  table.add({.name = "ttg.memdesc_trans", .run = transpose_view, .pure = false});
  table.add({.name = "ttg.memdesc_subslice",
             .run = subslice,
             .pure = false,
             .prepare = prepare_subslice});
  for (const auto* name : {"ttg.memdesc_reshape", "ttg.memdesc_reinterpret"}) {
    table.add({.name = name, .run = reshape_view, .pure = false});
  }
  table.add({.name = "ttg.local_load", .run = load, .pure = false});
  table.add({.name = "ttg.local_store", .run = store, .pure = false});
  table.add({.name = "ttg.async_copy_global_to_local",
             .run = copy_async,
             .pure = false,
             .leaves_record = true});
  table.add({.name = "ttg.async_commit_group", .run = commit_group, .pure = false});
  table.add({.name = "ttg.async_wait", .run = wait_groups, .pure = false, .prepare = prepare_wait});
  table.add({.name = "ttng.warp_group_dot_wait", .run = pass_on, .pure = false});
  for (const auto* name : {"ttg.local_dealloc", "ttng.fence_async_shared"}) {
    table.add({.name = name, .run = nothing, .pure = false});
  }
}

}  // namespace xpusim::exec
