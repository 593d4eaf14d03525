#include "models/memory/read_coalescer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "models/memory/messages.h"
#include "sim/engine/alone.h"
#include "sim/engine/free_list.h"

namespace xpusim::memory {

namespace {

/// Of a reader that has just been written.
void copy(const ReadCoalescer::Reader& from, ReadCoalescer::Reader& to) {
  to.tag = engine::alone(from.tag);
  to.sm = engine::alone(from.sm);
  to.mask = engine::alone(from.mask);
  to.line = engine::alone(from.line);
}

}  // namespace

ReadCoalescer::ReadCoalescer(const CoalescerParams& params)
    : latency_(static_cast<engine::Cycle>(params.latency_cycles)),
      most_readers_(static_cast<std::uint32_t>(params.readers)),
      way_out_(static_cast<std::uint32_t>(params.bytes_per_cycle)) {}

ReadCoalescer::Outcome ReadCoalescer::read(std::uint32_t block, const Reader& reader,
                                           engine::Cycle sent, engine::Cycle settled) {
  forget_until(settled);
  const auto at = static_cast<std::uint32_t>(sent);
  const auto sectors = static_cast<std::uint32_t>(std::popcount(reader.mask));
  std::uint32_t joins = kNone;  // the read that goes first
  for (std::uint32_t i = open_.chain(block); i != kNone; i = reads_[i].next) {
    const Read& r = reads_[i];
    if (r.block != block || (reader.mask & ~r.mask) != 0 || !r.meets(at)) continue;
    if (joins == kNone || r.goes < reads_[joins].goes) joins = i;
  }
  if (joins == kNone) {
    const engine::Cycle goes = way_out_.book(settled, sent + latency_, sectors * kSectorBytes);
    return {Outcome::kForward, open(block, reader, sent, goes), goes};
  }
  joined_sectors_ += sectors;
  Read& r = reads_[joins];
  if (++r.readers >= most_readers_) unlist(joins);
  if (r.answered()) return {Outcome::kAnswered, 0, r.leaves};
  join(r, reader);
  return {Outcome::kWait, 0, 0};
}

std::uint32_t ReadCoalescer::open(std::uint32_t block, const Reader& reader, engine::Cycle sent,
                                  engine::Cycle goes) {
  const std::uint32_t index = engine::take_free(reads_, free_reads_);
  constexpr engine::Cycle kMostStay = std::numeric_limits<std::uint16_t>::max();
  Read& read = reads_[index];
  read.block = block;
  read.others = kNone;
  read.goes = static_cast<std::uint32_t>(goes);
  read.leaves = kUnknown;
  read.stays = static_cast<std::uint16_t>(std::min(goes - sent, kMostStay));
  read.readers = 1;
  read.lists = kWaiting;
  read.mask = reader.mask;
  copy(reader, read.own[0]);
  waiting_.push_back({goes, block, index});
  if (most_readers_ == 1) return index;
  read.lists |= kListed;
  open_.insert(reads_, index);
  return index;
}

/// The last of the read's readers.
void ReadCoalescer::join(Read& read, const Reader& reader) {
  if (read.readers <= kOwnReaders) {
    copy(reader, read.own[read.readers - 1u]);
    return;
  }
  const std::uint32_t index = engine::take_free(links_, free_links_);
  copy(reader, links_[index].reader);
  links_[index].next = kNone;
  std::uint32_t* last = &read.others;  // of a few
  while (*last != kNone) last = &links_[*last].next;
  *last = index;
}

void ReadCoalescer::unlist(std::uint32_t read) {
  if ((reads_[read].lists & kListed) == 0) return;
  open_.remove(reads_, read);
  reads_[read].lists &= static_cast<std::uint8_t>(~kListed);
}

/// Takes out the reads that have gone, up to the first that has not: none can join them any more.
void ReadCoalescer::forget_until(engine::Cycle settled) {
  // Reads whose data are brought into the host's cache before: the head of the chain, then its
  // first.
  constexpr std::size_t kAhead = 16, kChainAhead = 8;
  while (waiting_head_ < waiting_.size() && waiting_[waiting_head_].goes <= settled) {
    if (waiting_head_ + kAhead < waiting_.size()) {
      const Waiting& soon = waiting_[waiting_head_ + kAhead];
      engine::prefetch(&reads_[soon.read]);
      open_.prefetch(soon.block);
    }
    if (waiting_head_ + kChainAhead < waiting_.size()) {
      prefetch_first(waiting_[waiting_head_ + kChainAhead].block);
    }
    const std::uint32_t index = waiting_[waiting_head_++].read;
    unlist(index);
    reads_[index].lists &= static_cast<std::uint8_t>(~kWaiting);
    if (reads_[index].answered()) free_reads_.push_back(index);
  }
  if (waiting_head_ == waiting_.size()) {
    waiting_.clear();
    waiting_head_ = 0;
  } else if (waiting_head_ >= 1024) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_head_));
    waiting_head_ = 0;
  }
}

}  // namespace xpusim::memory
