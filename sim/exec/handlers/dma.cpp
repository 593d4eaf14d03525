// tpu.enqueue_dma and its wait, and the other ops on semaphores. Each stops the block, so that the
// machine can give it its time. The data moves when the copy starts; it may be used after the wait.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/exec/handlers/async.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/op_table.h"

namespace xpusim::exec {
namespace {

enum Operand : std::size_t { kSource, kSourceSemaphore, kTarget, kTargetSemaphore, kDevice };
enum WaitOperand : std::size_t { kSemaphore, kWaitSource, kWaitTarget };

/// Semaphores are told apart by argument and element.
std::int64_t semaphore_key(const View& v) {
  return (static_cast<std::int64_t>(v.argument) << 32) | v.offset;
}

View& view_of(Frame& f, const Instruction& in, std::size_t k) { return f.views[f.slot(in, k)]; }

bool holds_payload(const Frame& f, const View& v) {
  return v.address != 0 ? f.values && f.memory != nullptr : !v.bytes.empty();
}

/// The elements of a view side by side, in row-major order.
std::vector<std::byte> read_bytes(const Frame& f, const View& v, std::size_t size) {
  std::size_t count = 1;
  for (const std::int64_t n : v.shape) count *= static_cast<std::size_t>(n);
  std::vector<std::byte> out(count * size);
  for_view_runs(v, all_of(v), [&](std::int64_t at, std::int64_t element, std::int64_t n) {
    const std::span<std::byte> to(out.data() + static_cast<std::size_t>(element) * size,
                                  static_cast<std::size_t>(n) * size);
    const std::size_t from = static_cast<std::size_t>(at) * size;
    if (v.address != 0) return f.memory->read(v.address + from, to);
    std::copy_n(v.bytes.begin() + static_cast<std::ptrdiff_t>(from), to.size(), to.begin());
  });
  return out;
}

void write_bytes(const Frame& f, const View& v, std::size_t size,
                 const std::vector<std::byte>& in) {
  for_view_runs(v, all_of(v), [&](std::int64_t at, std::int64_t element, std::int64_t n) {
    const std::span<const std::byte> from(in.data() + static_cast<std::size_t>(element) * size,
                                          static_cast<std::size_t>(n) * size);
    const std::size_t to = static_cast<std::size_t>(at) * size;
    if (v.address != 0) return f.memory->write(v.address + to, from);
    std::copy_n(from.begin(), from.size(), v.bytes.begin() + static_cast<std::ptrdiff_t>(to));
  });
}

std::int64_t elements(const View& v) {
  std::int64_t n = 1;
  for (const std::int64_t s : v.shape) n *= s;
  return n;
}

Step enqueue(Frame& f, const Instruction& in) {
  const View& source = view_of(f, in, kSource);
  const View& target = view_of(f, in, kTarget);
  if (f.has(in, kDevice)) {
    return f.fail(in, "a copy to another device: the executor runs one device");
  }
  if (elements(source) != elements(target) || source.dtype != target.dtype) {
    return f.fail(in, "the source and the target of a DMA differ in size");
  }
  if (!check_finished(f, in, source) || !check_finished(f, in, target, true)) return Step::kFail;
  return Step::kEffect;
}

Step perform_enqueue(Frame& f, const Instruction& in) {
  const View& source = view_of(f, in, kSource);
  const View& target = view_of(f, in, kTarget);
  const std::int64_t key = semaphore_key(view_of(f, in, kTargetSemaphore));
  begin_copy(f, in, source, key, false);
  begin_copy(f, in, target, key, true);
  const auto size = static_cast<std::size_t>(kernel::byte_size(source.dtype));
  if (holds_payload(f, source) && holds_payload(f, target)) {
    write_bytes(f, target, size, read_bytes(f, source, size));
  }
  return Step::kNext;
}

Step stop(Frame&, const Instruction&) { return Step::kEffect; }

/// The oldest copy on this semaphore is over: its source and its target.
Step perform_wait(Frame& f, const Instruction& in) {
  const std::int64_t key = semaphore_key(view_of(f, in, kSemaphore));
  for (int ends = 0; ends < 2; ++ends) {
    const auto it = std::find_if(f.copies.begin(), f.copies.end(),
                                 [key](const Frame::AsyncCopy& c) { return c.group == key; });
    if (it != f.copies.end()) f.copies.erase(it);
  }
  return Step::kNext;
}

Step device(Frame& f, const Instruction& in) {
  f.result(in).form = TileForm::kSplat;
  f.result(in).bits = 0;
  return Step::kNext;
}

}  // namespace

void add_dma(OpTable& table) {
  table.add({.name = "tpu.enqueue_dma", .run = enqueue, .pure = false, .perform = perform_enqueue});
  table.add({.name = "tpu.wait_dma2", .run = stop, .pure = false, .perform = perform_wait});
  table.add({.name = "tpu.device_id", .run = device});
}

}  // namespace xpusim::exec
