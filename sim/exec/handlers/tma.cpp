// Copies by TMA between tensors that descriptors describe and shared memory. A copy's data is there
// at once, but may be used only after its wait: on the copy's mbarrier, or for copies from shared
// memory by their number. Leaves out: fences between the two proxies, multicast.

#include "sim/exec/handlers/async.h"
#include "sim/exec/handlers/descriptors.h"
#include "sim/exec/handlers/shared.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

std::int64_t bytes_of(const TensorDescriptor& d) {
  std::int64_t bytes = kernel::byte_size(d.dtype);
  for (const std::int64_t n : d.block) bytes *= n;
  return bytes;
}

Tile tile_of(const View& view) {
  Tile t;
  t.shape = view.shape;
  t.dtype = view.dtype;
  return t;
}

/// A copy whose predicate is off leaves a record of nothing.
Step skip_copy(Frame& f, const Instruction& in) {
  Access& access = f.trace.add_access(in.site);
  access.op = in.op;
  access.kind = AccessKind::kAsyncCopy;
  access.masked = true;
  set_integer(access.mask, 0);
  return Step::kNext;
}

/// desc, coord*, barrier, result, pred.
Step copy_in(Frame& f, const Instruction& in) {
  const std::size_t rank = f.descriptors[f.slot(in, 0)].block.size();
  const std::size_t barrier = 1 + rank, target = barrier + 1, predicate = target + 1;
  const Tile& wanted = f.operand(in, predicate);
  if (is_unknown(wanted)) return f.fail(in, "whether to copy is not known with --values off");
  if (wanted.bits == 0) return skip_copy(f, in);
  const View& view = f.views[f.slot(in, target)];
  Barriers::Barrier* b = f.barriers.find(f.views[f.slot(in, barrier)]);
  if (!b) return f.fail(in, "the copy's mbarrier has not been initialised, or no longer is one");
  DescriptorBlock block;
  Touch touch;
  const auto size = static_cast<std::size_t>(kernel::byte_size(view.dtype));
  if (!check_finished(f, in, view, true) || !locate_block(f, in, 1, block) ||
      !check_access(f, in, AccessKind::kAsyncCopy, block.pointers, &block.mask, size, touch)) {
    return Step::kFail;
  }
  f.counts.load(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  begin_copy(f, in, view, group_of(*b), true);
  f.copies.back().phase = b->phase;
  f.trace.last_access(in.site).phase = b->number;
  f.trace.add_phase_event(b->number);
  f.barriers.complete(*b, bytes_of(*block.descriptor));
  mark_written(f, view);
  if (view.bytes.empty() || !f.wants(in)) return Step::kNext;
  Tile tile = tile_of(view);
  fetch_block(f, block, touch, tile);
  write_part(view, all_of(view), tile, nullptr);
  return Step::kNext;
}

/// What a copy from shared memory holds; kUnknown where no payload is held.
Tile read_source(Frame&, const View& view) {
  Tile tile = tile_of(view);
  if (!view.bytes.empty()) read_part(view, all_of(view), tile);
  return tile;
}

/// desc, coord*, src: the last operand.
const View& source_of(Frame& f, const Instruction& in) {
  return f.views[f.slot(in, in.operand_count - 1)];
}

Step copy_out(Frame& f, const Instruction& in) {
  const View& view = source_of(f, in);
  DescriptorBlock block;
  Touch touch;
  const auto size = static_cast<std::size_t>(kernel::byte_size(view.dtype));
  if (!check_readable(f, in, view) || !locate_block(f, in, 1, block) ||
      !check_access(f, in, AccessKind::kStore, block.pointers, &block.mask, size, touch)) {
    return Step::kFail;
  }
  f.counts.store(f.hints[in.site], static_cast<std::uint64_t>(touch.active) * size);
  begin_copy(f, in, view, kStoreGroups + f.strand.bulk_stores++, false);
  const Tile value = read_source(f, view);
  if (!is_unknown(value)) put_block(f, block, touch, value);
  return Step::kNext;
}

Step perform_reduce(Frame& f, const Instruction& in) {
  DescriptorBlock block;
  const Tile value = read_source(f, source_of(f, in));
  if (is_unknown(value) || !locate_block(f, in, 1, block)) return Step::kNext;
  reduce_block(f, static_cast<Rmw>(in.immediate), block, value);
  return Step::kNext;
}

Step reduce(Frame& f, const Instruction& in) {
  const View& view = source_of(f, in);
  DescriptorBlock block;
  Touch touch;
  const auto size = static_cast<std::size_t>(kernel::byte_size(view.dtype));
  if (!check_readable(f, in, view) || !locate_block(f, in, 1, block) ||
      !check_access(f, in, AccessKind::kAtomic, block.pointers, &block.mask, size, touch)) {
    return Step::kFail;
  }
  const auto bytes = static_cast<std::uint64_t>(touch.active) * size;
  f.counts.load(f.hints[in.site], bytes);
  f.counts.store(f.hints[in.site], bytes);
  if (kernel::is_float(view.dtype)) f.counts.flops += static_cast<std::uint64_t>(touch.active);
  begin_copy(f, in, view, kStoreGroups + f.strand.bulk_stores++, false);
  return in.visible ? Step::kEffect : in.perform(f, in);
}

/// All but the last `pendings` copies of these warps from shared memory have read it.
Step wait_stores(Frame& f, const Instruction& in) {
  const std::int64_t begun = f.strand.bulk_stores, finished = kStoreGroups + begun - in.immediate;
  const std::int64_t first = kStoreGroups + begun / Frame::kStrandGroups * Frame::kStrandGroups;
  std::erase_if(f.copies,
                [&](const Frame::AsyncCopy& c) { return c.group >= first && c.group < finished; });
  return Step::kNext;
}

std::string_view prepare_pendings(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("pendings");
  return in.immediate >= 0 ? "" : "a negative number of copies";
}

}  // namespace

void add_tma(OpTable& table) {
  table.add({.name = "ttng.async_tma_copy_global_to_local",
             .run = copy_in,
             .pure = false,
             .leaves_record = true});
  table.add({.name = "ttng.async_tma_copy_local_to_global",
             .run = copy_out,
             .pure = false,
             .leaves_record = true});
  table.add({.name = "ttng.async_tma_reduce",
             .run = reduce,
             .pure = false,
             .perform = perform_reduce,
             .prepare = prepare_descriptor_reduce,
             .leaves_record = true});
  table.add({.name = "ttng.async_tma_store_wait",
             .run = wait_stores,
             .pure = false,
             .prepare = prepare_pendings});
}

}  // namespace xpusim::exec
