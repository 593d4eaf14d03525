// tpu.enqueue_dma and its wait. Each stops the block, so that the machine can give it its time. The
// data moves when the copy starts; it may be used after the wait. Copies on one semaphore are taken
// to end in the order of their start: a kernel that waits for the second of two by the bytes of the
// first is not found out.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/exec/dense.h"
#include "sim/exec/handlers/async.h"
#include "sim/exec/handlers/copies.h"
#include "sim/exec/handlers/remote.h"
#include "sim/exec/handlers/semaphores.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"

namespace xpusim::exec {
namespace {

enum Operand : std::size_t { kSource, kSourceSemaphore, kTarget, kTargetSemaphore, kDevice, kCore };
constexpr std::size_t kSemaphore = 0;  // of a wait; its last memref tells how much it waits for

View& view_of(Frame& f, const Instruction& in, std::size_t k) { return f.views[f.slot(in, k)]; }

std::int64_t elements(const View& v) {
  std::int64_t n = 1;
  for (const std::int64_t s : v.shape) n *= s;
  return n;
}

std::int64_t bytes_of(const View& v) { return elements(v) * kernel::byte_size(v.dtype); }

/// A tensor that began as unwritten may only be copied where something was written.
bool is_written(Frame& f, const Instruction& in, const View& source) {
  const Allocation* a = source.address != 0 ? f.memory->find(source.address) : nullptr;
  if (!a || a->init.kind != Init::Kind::kUnwritten) return true;
  const auto size = static_cast<std::uint64_t>(kernel::byte_size(source.dtype));
  bool fine = true;
  for_view_runs(source, all_of(source), [&](std::int64_t at, std::int64_t, std::int64_t n) {
    fine =
        fine && !f.memory->first_unwritten(source.address + static_cast<std::uint64_t>(at) * size,
                                           static_cast<std::uint64_t>(n) * size);
  });
  if (!fine) {
    f.fail(in,
           fmt::format("the DMA copies a part of tensor '{}' that nothing has written", a->name));
  }
  return fine;
}

Step enqueue(Frame& f, const Instruction& in) {
  const View& source = view_of(f, in, kSource);
  const View& target = view_of(f, in, kTarget);
  const auto device = device_of(f, in, kDevice, kCore, "a remote copy");
  if (!device) return Step::kFail;
  if (source.shape != target.shape || source.dtype != target.dtype) {
    return f.fail(in, fmt::format("a DMA of [{}] {} to [{}] {}: source and target differ",
                                  fmt::join(source.shape, ", "), kernel::name(source.dtype),
                                  fmt::join(target.shape, ", "), kernel::name(target.dtype)));
  }
  const bool local = *device == f.device;
  if (!check_finished(f, in, source) || (local && !check_finished(f, in, target, true)) ||
      !is_written(f, in, source)) {
    return Step::kFail;
  }
  return Step::kEffect;
}

/// To another device: the data is taken now, and lands there when the machine brings it. Here the
/// source's semaphore counts when it has left.
Step send(Frame& f, const Instruction& in, std::uint32_t device) {
  const View& source = view_of(f, in, kSource);
  const View& target = view_of(f, in, kTarget);
  Outgoing out;
  out.device = device;
  out.copy = true;
  out.target = target;
  if (holds_payload(f, source)) out.data = read_view(f, source);
  out.semaphore = semaphore_key(view_of(f, in, kTargetSemaphore));
  out.amount = bytes_of(target);
  f.outgoing = std::move(out);
  if (!f.has(in, kSourceSemaphore)) return Step::kNext;
  begin_copy(f, in, source, semaphore_key(view_of(f, in, kSourceSemaphore)), false);
  f.copies.back().bytes = bytes_of(source);
  return Step::kNext;
}

Step perform_enqueue(Frame& f, const Instruction& in) {
  const auto device = device_of(f, in, kDevice, kCore, "a remote copy");
  if (device && *device != f.device) return send(f, in, *device);
  const View& source = view_of(f, in, kSource);
  const View& target = view_of(f, in, kTarget);
  const std::int64_t key = semaphore_key(view_of(f, in, kTargetSemaphore));
  begin_copy(f, in, source, key, false);
  begin_copy(f, in, target, key, true);
  f.copies.back().bytes = bytes_of(target);
  if (holds_payload(f, source) && holds_payload(f, target)) {
    write_view(f, target, read_view(f, source));
  }
  if (f.has(in, kSourceSemaphore)) {  // a copy to a device that is this one has two
    semaphore_count(f, semaphore_key(view_of(f, in, kSourceSemaphore))) += bytes_of(source);
  }
  return Step::kNext;
}

/// Copies on a semaphore end, the oldest first, until it has counted so many bytes; false if there
/// are no more.
bool finish_copies(Frame& f, std::int64_t key, std::int64_t bytes) {
  std::int64_t& arrived = semaphore_count(f, key);
  while (arrived < bytes) {
    const auto first = std::find_if(f.copies.begin(), f.copies.end(),
                                    [key](const Frame::AsyncCopy& c) { return c.group == key; });
    if (first == f.copies.end()) return false;
    // A copy's two ends lie side by side, the source's first; one to another device has no second.
    const auto last = first->bytes > 0 ? first : first + 1;
    arrived += last->bytes;
    f.copies.erase(first, last + 1);
  }
  return true;
}

/// A wait counts the bytes of its target, whatever has copied them.
Step wait(Frame& f, const Instruction& in) {
  if (f.devices > 1) return Step::kEffect;  // others may send to it
  const std::int64_t key = semaphore_key(view_of(f, in, kSemaphore));
  std::int64_t coming = semaphore_count(f, key);
  for (const Frame::AsyncCopy& c : f.copies) coming += c.group == key ? c.bytes : 0;
  const std::int64_t wanted = bytes_of(view_of(f, in, static_cast<std::size_t>(in.immediate)));
  if (coming >= wanted) return Step::kEffect;
  return f.fail(in,
                fmt::format("deadlock: it waits for {} B on semaphore {}, but copies of only {} "
                            "B have been started on it",
                            wanted, semaphore_name(*in.op->operands[kSemaphore]), coming));
}

Step perform_wait(Frame& f, const Instruction& in) {
  const std::int64_t key = semaphore_key(view_of(f, in, kSemaphore));
  const std::int64_t wanted = bytes_of(view_of(f, in, static_cast<std::size_t>(in.immediate)));
  if (!finish_copies(f, key, wanted)) return f.fail(in, "a wait for a copy that nobody started");
  semaphore_count(f, key) -= wanted;
  return Step::kNext;
}

/// The memref whose bytes it waits for: wait_dma2 has semaphore, src, dst; wait_dma semaphore, ref.
std::string_view prepare_wait(const kernel::Op& op, Instruction& in) {
  in.immediate = op.name() == "tpu.wait_dma" ? 1 : 2;
  return "";
}

Step device_id(Frame& f, const Instruction& in) {
  set_integer(f.result(in), f.device);
  return Step::kNext;
}

/// This core is number 0.
Step zero(Frame& f, const Instruction& in) {
  set_integer(f.result(in), 0);
  return Step::kNext;
}

}  // namespace

void add_dma(OpTable& table) {
  table.add({.name = "tpu.enqueue_dma", .run = enqueue, .pure = false, .perform = perform_enqueue});
  for (const auto* name : {"tpu.wait_dma2", "tpu.wait_dma"}) {
    table.add({.name = name,
               .run = wait,
               .pure = false,
               .perform = perform_wait,
               .prepare = prepare_wait});
  }
  table.add({.name = "tpu.device_id", .run = device_id, .per_block = true});
  for (const auto* name : {"tpu.core_id", "tpu.subcore_id"}) {
    table.add({.name = name, .run = zero});
  }
}

}  // namespace xpusim::exec
