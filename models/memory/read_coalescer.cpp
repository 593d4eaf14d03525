#include "models/memory/read_coalescer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "models/memory/messages.h"

namespace xpusim::memory {

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
    if (r.readers >= most_readers_) continue;
    if (joins == kNone || r.goes < reads_[joins].goes) joins = i;
  }
  if (joins == kNone) {
    const engine::Cycle goes = way_out_.book(settled, sent + latency_, sectors * kSectorBytes);
    return {Outcome::kForward, open(block, reader, sent, goes), goes};
  }
  joined_sectors_ += sectors;
  Read& r = reads_[joins];
  ++r.readers;
  if (r.leaves != kUnknown) return {Outcome::kAnswered, 0, r.leaves};
  join(r, reader);
  return {Outcome::kWait, 0, 0};
}

std::uint32_t ReadCoalescer::open(std::uint32_t block, const Reader& reader, engine::Cycle sent,
                                  engine::Cycle goes) {
  std::uint32_t index = free_reads_;
  if (index != kNone) {
    free_reads_ = reads_[index].next;
    if (free_reads_ != kNone) engine::prefetch(&reads_[free_reads_]);
  } else {
    index = static_cast<std::uint32_t>(reads_.size());
    reads_.emplace_back();
  }
  constexpr engine::Cycle kMostStay = std::numeric_limits<std::uint16_t>::max();
  reads_[index] = {block,
                   kNone,
                   kNone,
                   static_cast<std::uint32_t>(goes),
                   kUnknown,
                   reader.tag,
                   reader.sm,
                   reader.mask,
                   static_cast<std::uint16_t>(std::min(goes - sent, kMostStay)),
                   reader.line,
                   1};
  open_.insert(reads_, index);
  return index;
}

void ReadCoalescer::join(Read& read, const Reader& reader) {
  std::uint32_t index = free_links_;
  if (index != kNone) {
    free_links_ = links_[index].next;
    if (free_links_ != kNone) engine::prefetch(&links_[free_links_]);
  } else {
    index = static_cast<std::uint32_t>(links_.size());
    links_.emplace_back();
  }
  links_[index] = {reader, kNone};
  std::uint32_t* last = &read.others;  // of a few
  while (*last != kNone) last = &links_[*last].next;
  *last = index;
}

/// Frees the reads whose answers have left, up to the first that has not.
void ReadCoalescer::forget_until(engine::Cycle settled) {
  // Reads whose data are brought into the host's cache before: the head of the chain, then its
  // first.
  constexpr std::size_t kAhead = 6, kChainAhead = 3;
  while (leaving_head_ < leaving_.size() && leaving_[leaving_head_].at <= settled) {
    if (leaving_head_ + kAhead < leaving_.size()) {
      const Leaving& soon = leaving_[leaving_head_ + kAhead];
      engine::prefetch(&reads_[soon.read]);
      open_.prefetch(soon.block);
    }
    if (leaving_head_ + kChainAhead < leaving_.size()) {
      prefetch_first(leaving_[leaving_head_ + kChainAhead].block);
    }
    const std::uint32_t index = leaving_[leaving_head_++].read;
    open_.remove(reads_, index);
    reads_[index].next = free_reads_;
    free_reads_ = index;
  }
  if (leaving_head_ == leaving_.size()) {
    leaving_.clear();
    leaving_head_ = 0;
  } else if (leaving_head_ >= 4096) {
    leaving_.erase(leaving_.begin(), leaving_.begin() + static_cast<std::ptrdiff_t>(leaving_head_));
    leaving_head_ = 0;
  }
}

}  // namespace xpusim::memory
