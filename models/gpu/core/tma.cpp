#include "models/gpu/core/tma.h"

#include <algorithm>
#include <bit>

#include "models/memory/messages.h"
#include "sim/exec/affine.h"

namespace xpusim::gpu {

namespace {

std::uint16_t message_kind(exec::AccessKind kind) {
  switch (kind) {
    case exec::AccessKind::kStore:
      return memory::kWrite;
    case exec::AccessKind::kAtomic:
      return memory::kReduce;
    default:
      return memory::kRead;
  }
}

/// The elements of a box that lie in its tensor.
exec::Box inside(const exec::Access& a) {
  if (!a.masked || a.mask.form == exec::TileForm::kSplat) {
    exec::Box box = exec::whole(a.pointers.shape);
    const bool none = a.masked && a.mask.bits == 0;
    if (none) std::fill(box.high.begin(), box.high.end(), 0);
    return box;
  }
  return a.mask.box;
}

}  // namespace

/// A row's bytes, as messages of at most an aligned 512 bytes; rows that follow one another in
/// memory share them.
void Tma::add_row(std::uint64_t address, std::uint64_t bytes, Box& box) {
  memory::for_each_block(address, bytes, [&](std::uint64_t line, std::uint32_t sectors) {
    const auto size = static_cast<std::uint32_t>(std::popcount(sectors)) * memory::kSectorBytes;
    if (!box.requests.empty()) {
      Request& last = box.requests.back();
      if (last.address / memory::kBlockBytes == line / memory::kBlockBytes &&
          line >= last.address) {
        last.sectors |= sectors << (line - last.address) / memory::kSectorBytes;
        last.bytes += size;
        return;
      }
    }
    box.requests.push_back({line, sectors, size});
  });
}

void Tma::cut(const exec::Access& a, Box& box) {
  box.requests.clear();
  const exec::Box part = inside(a);
  if (part.high.empty() || exec::is_empty(part)) return;
  const std::size_t rank = part.high.size();
  const std::size_t row = rank - 1;
  exec::Shape at(part.low.begin(), part.low.end());
  const auto bytes = static_cast<std::uint64_t>(part.high[row] - part.low[row]) * a.element_bytes;
  for (;;) {
    add_row(static_cast<std::uint64_t>(exec::integer_at(a.pointers, {at.data(), rank})), bytes,
            box);
    std::size_t d = row;
    while (d-- > 0) {
      if (++at[d] < part.high[d]) break;
      at[d] = part.low[d];
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

bool Tma::begin(const exec::Access& access, const WarpRef& who, std::uint32_t now) {
  std::uint32_t id = static_cast<std::uint32_t>(boxes_.size());
  if (free_boxes_.empty()) {
    boxes_.emplace_back();
  } else {
    id = free_boxes_.back();
    free_boxes_.pop_back();
  }
  if (descriptor_ready_ == kBlocked) {
    descriptor_ready_ = now + static_cast<std::uint32_t>(params_.descriptor_latency);
  }
  Box& box = boxes_[id];
  cut(access, box);
  box.next = 0;
  box.left = static_cast<std::uint32_t>(box.requests.size());
  box.kind = message_kind(access.kind);
  const std::int64_t latency =
      box.kind == memory::kRead ? params_.issue_latency : params_.store_latency;
  box.start = std::max(now + static_cast<std::uint32_t>(latency), descriptor_ready_);
  box.ready = box.start;
  box.phase = access.phase;
  box.who = who;
  const bool writes = box.kind != memory::kRead && box.left > 0;
  waiting_.push_back(id);
  send(now);
  return writes;
}

/// Sends what there is room for, oldest box first.
void Tma::send(std::uint32_t now) {
  while (!waiting_.empty() && send_box(waiting_.front(), now)) {
    const std::uint32_t id = waiting_.front();
    waiting_.pop_front();
    const Box& box = boxes_[id];
    if (box.kind != memory::kRead) end(id, TmaEvent::kRead, box.ready);
    if (box.requests.empty()) {
      if (box.kind == memory::kRead) end(id, TmaEvent::kArrived, box.ready);
      free_boxes_.push_back(id);
    }
  }
}

/// False: there is no room for the rest of it.
bool Tma::send_box(std::uint32_t id, std::uint32_t now) {
  Box& box = boxes_[id];
  const auto limit = static_cast<std::uint32_t>(params_.lines);
  const auto interval = static_cast<std::uint32_t>(
      box.kind == memory::kRead ? params_.line_interval : params_.store_line_interval);
  const std::uint32_t first = std::max({now, free_, box.start});
  for (; box.next < box.requests.size(); ++box.next) {
    const Request& r = box.requests[box.next];
    const std::uint32_t lines = memory::lines_of(r.sectors);
    if (lines_ > 0 && lines_ + lines > limit) return false;
    std::uint32_t at = std::max({now, free_, box.start});
    if (box.kind != memory::kRead) {
      at = std::max(lsu_.move_shared(now, at, r.bytes), at + lines * interval);
      box.ready = std::max(box.ready, at);
    }
    engine::Message m;
    m.from = component_;
    m.address = r.address;
    m.data = r.sectors;
    m.tag = kTmaTag | id;
    m.kind = box.kind;
    m.count = box.kind == memory::kReduce ? 1 : 0;  // passes; writes count as whole
    outbox_->push_back({m, at});
    free_ = box.kind == memory::kRead ? at + lines * interval : at;
    lines_ += lines;
    ++messages_;
    sectors_requested_ += static_cast<std::uint32_t>(std::popcount(r.sectors));
  }
  free_ = std::max(free_, first + static_cast<std::uint32_t>(params_.box_interval));
  return true;
}

void Tma::end(std::uint32_t id, TmaEvent::Kind kind, std::uint32_t at) {
  const Box& box = boxes_[id];
  events_.push_back({kind, box.who, box.phase, at});
}

void Tma::receive(const engine::Message& message, std::uint32_t now) {
  const std::uint32_t id = message.tag & ~kTmaTag;
  Box& box = boxes_[id];
  const auto sectors = static_cast<std::uint32_t>(message.data & 0xffffu);
  lines_ -= memory::lines_of(sectors);
  sectors_done_ += memory::sectors(message);
  if (box.kind == memory::kRead) {
    const std::uint32_t come = now + static_cast<std::uint32_t>(params_.fill_latency);
    box.ready = std::max(
        box.ready, lsu_.move_shared(now, come, memory::sectors(message) * memory::kSectorBytes));
  }
  if (--box.left == 0) {
    end(id, box.kind == memory::kRead ? TmaEvent::kArrived : TmaEvent::kPerformed,
        box.kind == memory::kRead ? box.ready : now);
    free_boxes_.push_back(id);
  }
  send(now);
}

}  // namespace xpusim::gpu
