#include "models/memory/read_coalescer.h"

#include <bit>

#include "sim/engine/prefetch.h"

namespace xpusim::memory {
namespace {

constexpr std::size_t kAhead = 4;  // places of a list that are brought into the host's cache before

template <class T>
std::uint32_t take(std::vector<T>& pool, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free.back();
  free.pop_back();
  if (free.size() >= kAhead) engine::prefetch(&pool[free[free.size() - kAhead]]);
  return index;
}

}  // namespace

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
  const std::uint32_t index = take(reads_, free_reads_);
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
  const std::uint32_t index = take(groups_, free_groups_);
  groups_[index].count = 0;
  groups_[index].next = kNone;
  (read.others == kNone ? read.others : groups_[read.last].next) = index;
  read.last = index;
}

/// Frees the reads whose answers have left, up to the first that has not.
void ReadCoalescer::forget_until(engine::Cycle settled) {
  while (leaving_head_ < leaving_.size() && leaving_[leaving_head_].at <= settled) {
    if (leaving_head_ + kAhead < leaving_.size()) {
      const Leaving& soon = leaving_[leaving_head_ + kAhead];
      engine::prefetch(&reads_[soon.read]);
      open_.prefetch(soon.block);
    }
    const std::uint32_t index = leaving_[leaving_head_++].read;
    open_.remove(reads_, index);
    free_reads_.push_back(index);
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
