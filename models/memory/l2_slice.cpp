#include "models/memory/l2_slice.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/engine/check.h"

namespace xpusim::memory {
namespace {

/// Fractions of a cycle in which a slice keeps its time: rates need not be whole.
constexpr unsigned kFraction = 8;

std::uint64_t fractions(double cycles) {
  return static_cast<std::uint64_t>(std::lround(std::ldexp(cycles, kFraction)));
}

/// What an atomic unit owns at once.
constexpr std::uint32_t kUnitBytes = 256;

std::uint32_t count(std::uint32_t mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

/// Of an atomic.
std::uint32_t passes(const engine::Message& m) {
  return std::max<std::uint32_t>(count(BlockRequest::of(m.data).mask),
                                 m.count & ~std::uint32_t{kFloatPasses});
}

std::uint32_t block_of(const engine::Message& m) {
  return static_cast<std::uint32_t>((m.address & 0xffff'ffff'ffff) / kBlockBytes);
}

std::uint64_t lines_of_a_slice(const L2Params& p) {
  return static_cast<std::uint64_t>(p.capacity_bytes / p.slices) / kLineBytes;
}

/// The slice of the same place in the other half; of an L2 in one piece, the slice itself.
std::uint32_t counterpart(const L2Params& p, std::uint32_t index) {
  const auto slices = static_cast<std::uint32_t>(p.slices);
  return p.halves == 1 ? index : (index + slices / 2) % slices;
}

}  // namespace

L2Slice::L2Slice(const sc_core::sc_module_name& name, const L2Params& params, std::uint32_t index,
                 Cycle far_reply)
    : sc_module(name),
      replies("replies"),
      bridge("bridge"),
      memory("memory"),
      params_(params),
      index_(index),
      other_(counterpart(params, index)),
      far_reply_(far_reply),
      look_up_(fractions(1 / params.sectors_per_cycle)),
      fill_(fractions(1 / params.filled_per_cycle)),
      atomic_(fractions(params.atomic_cycles)),
      float_atomic_(fractions(std::max(params.atomic_cycles, params.float_atomic_cycles))),
      units_(static_cast<std::size_t>(params.atomic_units)),
      tags_(lines_of_a_slice(params), static_cast<std::uint32_t>(params.ways), params.dirty_share) {
}

engine::Cycle L2Slice::receive(const Message& m, Cycle now) {
  switch (m.kind) {
    case kRead:
    case kFarRead:
      read(m, now);
      break;
    case kWrite:
    case kFarWrite:
      write(m, now);
      break;
    case kAtomic:
    case kReduce:
    case kFarAtomic:
    case kFarReduce:
      atomic(m, now);
      break;
    case kReadDone:
    case kFarDone: {
      const Cycle taken = m.kind == kReadDone ? take_in(sectors(m), now) : now;
      const Cycle at = taken + static_cast<Cycle>(params_.fill_cycles);
      fills_.close(
          m.tag, [&](std::uint32_t block, const L2Fills::Waiter& w) { answer(block, w, at); },
          [&](const L2Fills::Waiter& w) { expect_answer(w); });
      break;
    }
    case kFarInvalidate: {
      const BlockRequest r = BlockRequest::of(m.data);
      tags_.invalidate(r.place, block_of(m), r.mask);
      break;
    }
    case kFlush:
      flush(m, now);
      break;
    default:
      engine::broken(name(), now, "a message that an L2 slice does not know");
  }
  return engine::kNever;
}

void L2Slice::expect(const Message& m) const {
  if (m.kind == kReadDone || m.kind == kFarDone) {
    fills_.prefetch(block_of(m), m.tag);
  } else {
    const BlockRequest r = BlockRequest::of(m.data);
    tags_.prefetch(r.place, block_of(m), r.mask);
    if (m.kind == kRead || m.kind == kFarRead) fills_.prefetch(block_of(m));
    if (m.kind == kRead) replies->expect_answer(m);
  }
}

void L2Slice::expect_soon(const Message& m) const {
  if (m.kind == kReadDone || m.kind == kFarDone) {
    fills_.prefetch_others(m.tag);
    if (const L2Fills::Waiter* first = fills_.first_waiter(m.tag)) expect_answer(*first);
  } else if (m.kind == kRead || m.kind == kFarRead) {
    fills_.prefetch_first(block_of(m));
  }
}

/// Brings what answering will touch into the host's cache.
void L2Slice::expect_answer(const L2Fills::Waiter& waiter) const {
  if (waiter.kind != kRead) return;
  Message read;
  read.from = waiter.from;
  read.tag = waiter.tag;
  replies->expect_answer(read);
}

double L2Slice::busy_cycles() const {
  std::uint64_t busy = counters_.busy_fractions;
  for (const AtomicUnit& unit : units_) busy = std::max(busy, unit.busy);
  return static_cast<double>(busy) / static_cast<double>(std::uint64_t{1} << kFraction);
}

/// Takes the look-up pipeline, in order of arrival; returns the cycle in which the look-up starts.
engine::Cycle L2Slice::occupy(std::uint32_t sectors, Cycle now) {
  const std::uint64_t start = std::max(now << kFraction, next_free_);
  next_free_ = start + sectors * look_up_;
  counters_.busy_fractions += sectors * look_up_;
  return start >> kFraction;
}

/// Data of that many sectors comes to the array; returns the cycle in which it is written.
engine::Cycle L2Slice::take_in(std::uint32_t sectors, Cycle at) {
  const std::uint64_t start = std::max(at << kFraction, next_fill_);
  next_fill_ = start + sectors * fill_;
  return start >> kFraction;
}

/// Work on a sector, in order of arrival: the unit is taken for as long as it `takes`, the sector
/// `until_next`.
void L2Slice::AtomicUnit::perform(std::uint64_t sector, std::uint64_t start, std::uint64_t takes,
                                  std::uint64_t until_next) {
  auto at =
      std::find_if(last.begin(), last.end(), [&](const Sector& s) { return s.number == sector; });
  if (at == last.end()) {
    at = last.begin() + oldest;
    oldest = (oldest + 1) % last.size();
    *at = {sector, 0};
  }
  const std::uint64_t begin = std::max({start, next_free, at->free});
  next_free = begin + takes;
  at->free = begin + until_next;
  busy += takes;
}

/// Passes of an atomic in the units of its sectors, as many over each; returns the cycle after the
/// last.
engine::Cycle L2Slice::perform(const Message& m, const BlockRequest& r, Cycle start) {
  constexpr std::uint32_t kPieces = kBlockBytes / kUnitBytes;
  constexpr std::uint32_t kSectorsOfPiece = kUnitBytes / kSectorBytes;
  const std::uint64_t all = passes(m), sectors = count(r.mask);
  const std::uint64_t takes = all * atomic_ / sectors;
  const std::uint64_t until_next =
      (m.count & kFloatPasses) != 0 ? all * float_atomic_ / sectors : takes;
  std::uint64_t last = start << kFraction;
  for (std::uint32_t mask = r.mask; mask != 0; mask &= mask - 1) {
    const auto sector = static_cast<std::uint32_t>(std::countr_zero(mask));
    const std::uint32_t piece = block_of(m) * kPieces + sector / kSectorsOfPiece;
    AtomicUnit& unit = units_[piece % units_.size()];
    const std::uint64_t number = std::uint64_t{block_of(m)} * (kBlockBytes / kSectorBytes) + sector;
    unit.perform(number, start << kFraction, takes, until_next);
    last = std::max(last, unit.next_free);
  }
  return last >> kFraction;
}

void L2Slice::read(const Message& m, Cycle now) {
  const BlockRequest r = BlockRequest::of(m.data);
  const std::uint32_t block = block_of(m);
  const Cycle start = occupy(count(r.mask), now);
  L2Tags::Victims victims;
  const L2Tags::Read found = tags_.read(r.place, block, r.mask, victims);
  if (m.kind == kFarRead) tags_.mark_copied(r.place, block, r.mask);
  counters_.read += count(r.mask);
  counters_.hit += count(found.present);
  counters_.miss += count(found.filled);
  write_back(victims, start + static_cast<Cycle>(params_.miss_cycles));
  fetch(m, r, found.filled, start);
}

/// Answers a request whose look-up began at `start`, when all its sectors have come.
void L2Slice::fetch(const Message& m, const BlockRequest& r, std::uint16_t filled, Cycle start) {
  const std::uint32_t block = block_of(m);
  // Sectors under way are present, so a request for absent ones only has none to join. (Those of a
  // line that was evicted meanwhile are read again.)
  const bool all_absent = (r.mask & ~filled) == 0;
  const std::uint16_t under_way = all_absent ? std::uint16_t{0} : fills_.under_way(block);
  const auto joined = static_cast<std::uint16_t>(r.mask & under_way);
  const auto wanted = static_cast<std::uint16_t>(filled & ~under_way);
  if (joined == 0 && wanted == 0) {
    answer(block, waiter(m, r), start + static_cast<Cycle>(params_.hit_cycles));
    return;
  }
  const std::uint32_t fill = fills_.wait(block, waiter(m, r), joined, wanted);
  if (wanted == 0) return;
  Message ask;
  ask.from = is_home(r) ? id_ : index_;
  ask.to = r.home;
  ask.address = m.address;
  ask.tag = fill;
  ask.kind = is_home(r) ? kRead : kFarRead;
  ask.data = BlockRequest{wanted, 0, r.home, r.place}.data();
  (is_home(r) ? memory : bridge)->send(ask, start + static_cast<Cycle>(params_.miss_cycles));
}

L2Fills::Waiter L2Slice::waiter(const Message& m, const BlockRequest& r) const {
  return {m.tag,  static_cast<std::uint16_t>(m.from), static_cast<std::uint16_t>(m.address >> 48),
          r.mask, static_cast<std::uint8_t>(r.line),  static_cast<std::uint8_t>(m.kind)};
}

void L2Slice::answer(std::uint32_t block, const L2Fills::Waiter& w, Cycle at) {
  if (w.tag == kNoReply) return;
  Message m;
  m.to = w.from;
  m.tag = w.tag;
  m.address =
      std::uint64_t{w.chip} << 48 | (std::uint64_t{block} * kBlockBytes + w.line * kLineBytes);
  m.data = static_cast<std::uint64_t>(w.mask >> w.line * (kLineBytes / kSectorBytes));
  switch (w.kind) {
    case kFarRead:
      m.kind = kFarDone;
      bridge->send(m, at);
      return;
    case kRead:
      m.kind = kReadDone;
      break;
    case kWrite:
      m.kind = kWriteDone;
      break;
    case kFarWrite:
      m.kind = kWriteDone;
      at += far_reply_;
      break;
    case kFarAtomic:
    case kFarReduce:
      m.kind = kAtomicDone;
      at += far_reply_;
      break;
    default:
      m.kind = kAtomicDone;
  }
  replies->send(m, at);
}

void L2Slice::pass_to_home(const Message& m, std::uint16_t kind, Cycle at) {
  Message far = m;
  far.to = other_;
  far.kind = kind;
  bridge->send(far, at);
}

void L2Slice::write(const Message& m, Cycle now) {
  const BlockRequest r = BlockRequest::of(m.data);
  const std::uint32_t block = block_of(m);
  const Cycle start = occupy(count(r.mask), now);
  const Cycle leaves = start + static_cast<Cycle>(params_.miss_cycles);
  counters_.write += count(r.mask);
  counters_.hit += count(r.mask);
  L2Tags::Victims victims;
  if (!is_home(r)) {
    tags_.write_through(r.place, block, r.mask, victims);
    write_back(victims, leaves);
    pass_to_home(m, kFarWrite, leaves);
    return;
  }
  const std::uint16_t copied = tags_.write(r.place, block, r.mask, victims);
  if (m.kind == kFarWrite) {
    tags_.mark_copied(r.place, block, r.mask);
  } else if (copied != 0) {
    drop_copy(m, r, copied, leaves);
  }
  write_back(victims, leaves);
  answer(block, waiter(m, r),
         take_in(count(r.mask), start) + static_cast<Cycle>(params_.hit_cycles));
}

void L2Slice::atomic(const Message& m, Cycle now) {
  const BlockRequest r = BlockRequest::of(m.data);
  const std::uint32_t block = block_of(m);
  const bool reduce = m.kind == kReduce || m.kind == kFarReduce;
  // Where no lane wants a result, two of the lanes on an address come as one sector.
  const std::uint32_t operations =
      reduce ? std::max(count(r.mask), (passes(m) + 1) / 2) : passes(m);
  (reduce ? counters_.red : counters_.atom) += operations;
  if (!is_home(r)) {
    counters_.hit += operations;
    const Cycle start = occupy(operations, now);
    tags_.invalidate(r.place, block, r.mask);
    pass_to_home(m, reduce ? kFarReduce : kFarAtomic,
                 start + static_cast<Cycle>(params_.miss_cycles));
    return;
  }
  const Cycle start = occupy(operations, now);
  const Cycle done = perform(m, r, start);
  L2Tags::Victims victims;
  const L2Tags::Read found = tags_.read(r.place, block, r.mask, victims);
  const std::uint16_t copied = tags_.write(r.place, block, r.mask, victims);
  counters_.miss += count(found.filled);
  counters_.hit += operations - std::min(operations, count(r.mask & found.filled));
  const Cycle leaves = start + static_cast<Cycle>(params_.miss_cycles);
  if (copied != 0 && (m.kind == kAtomic || m.kind == kReduce)) drop_copy(m, r, copied, leaves);
  write_back(victims, leaves);
  fetch(m, r, found.filled, done);
}

void L2Slice::drop_copy(const Message& m, const BlockRequest& r, std::uint16_t copied, Cycle at) {
  Message drop;
  drop.to = other_;
  drop.from = index_;
  drop.address = m.address;
  drop.data = BlockRequest{copied, 0, r.home, r.place}.data();
  drop.kind = kFarInvalidate;
  bridge->send(drop, at);
}

void L2Slice::write_back(const L2Tags::Victims& victims, Cycle at) {
  for (const L2Tags::Victim& v : victims) write_back(v.block, v.sectors, at);
}

void L2Slice::write_back(std::uint32_t block, std::uint16_t sectors, Cycle at) {
  Message m;
  m.from = id_;
  m.address = std::uint64_t{block} * kBlockBytes;
  m.data = sectors;
  m.tag = kNoReply;
  m.kind = kWrite;
  memory->send(m, at);
}

/// One line a cycle goes to memory; the answer says that all have been sent.
void L2Slice::flush(const Message& m, Cycle now) {
  Cycle at = now;
  tags_.clean(
      [&](std::uint32_t block, std::uint16_t sectors) { write_back(block, sectors, at++); });
  Message done = m;
  done.kind = kWrite;
  answer(block_of(m), waiter(done, BlockRequest::of(m.data)), at);
}

}  // namespace xpusim::memory
