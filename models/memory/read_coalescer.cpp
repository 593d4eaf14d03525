#include "models/memory/read_coalescer.h"

#include <bit>

#include "sim/engine/prefetch.h"

namespace xpusim::memory {

ReadCoalescer::Outcome ReadCoalescer::read(std::uint32_t block, const Reader& reader,
                                           engine::Cycle sent, engine::Cycle settled) {
  forget_until(settled);
  std::uint32_t joins = kNone;  // the read whose answer leaves first
  for (std::uint32_t i = open_.chain(block); i != kNone; i = reads_[i].next) {
    const Read& r = reads_[i];
    if (r.block != block || (reader.mask & ~r.first.mask) != 0 || r.leaves <= sent) continue;
    if (joins == kNone || r.leaves < reads_[joins].leaves) joins = i;
  }
  if (joins == kNone) return {Outcome::kForward, open(block, reader), 0};
  joined_sectors_ += static_cast<std::uint64_t>(std::popcount(reader.mask));
  Read& r = reads_[joins];
  if (r.leaves != kUnknown) return {Outcome::kAnswered, 0, r.leaves};
  join(r, reader);
  return {Outcome::kWait, 0, 0};
}

std::uint32_t ReadCoalescer::open(std::uint32_t block, const Reader& reader) {
  std::uint32_t index = free_reads_;
  if (index != kNone) {
    free_reads_ = reads_[index].next;
    if (free_reads_ != kNone) engine::prefetch(&reads_[free_reads_]);
  } else {
    index = static_cast<std::uint32_t>(reads_.size());
    reads_.emplace_back();
  }
  reads_[index] = {block, reader, kNone, kNone, kNone, kUnknown};
  open_.insert(reads_, index);
  return index;
}

void ReadCoalescer::join(Read& read, const Reader& reader) {
  if (read.others == kNone || groups_[read.last].count == groups_[read.last].readers.size()) {
    add_group(read);
  }
  Group& group = groups_[read.last];
  group.readers[group.count++] = reader;
}

void ReadCoalescer::add_group(Read& read) {
  std::uint32_t index = free_groups_;
  if (index != kNone) {
    free_groups_ = groups_[index].next;
    if (free_groups_ != kNone) engine::prefetch(&groups_[free_groups_]);
  } else {
    index = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
  }
  groups_[index].count = 0;
  groups_[index].next = kNone;
  (read.others == kNone ? read.others : groups_[read.last].next) = index;
  read.last = index;
}

/// Frees the reads whose answers have left, up to the first that has not.
void ReadCoalescer::forget_until(engine::Cycle settled) {
  constexpr std::size_t kAhead = 4;  // reads whose data are brought into the host's cache before
  while (leaving_head_ < leaving_.size() && leaving_[leaving_head_].at <= settled) {
    if (leaving_head_ + kAhead < leaving_.size()) {
      const Leaving& soon = leaving_[leaving_head_ + kAhead];
      engine::prefetch(&reads_[soon.read]);
      open_.prefetch(soon.block);
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
