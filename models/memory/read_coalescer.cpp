#include "models/memory/read_coalescer.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "models/memory/messages.h"
#include "sim/engine/free_list.h"

namespace xpusim::memory {

ReadCoalescer::ReadCoalescer(const CoalescerParams& params)
    : latency_(static_cast<engine::Cycle>(params.latency_cycles)),
      most_readers_(static_cast<std::uint32_t>(params.readers)),
      way_out_(static_cast<std::uint32_t>(params.bytes_per_cycle)) {}

ReadCoalescer::Outcome ReadCoalescer::read(std::uint32_t block, Reader reader, engine::Cycle sent,
                                           engine::Cycle settled) {
  forget_until(settled);
  const auto at = static_cast<std::uint32_t>(sent);
  const std::uint32_t mask = reader.mask;
  const auto sectors = static_cast<std::uint32_t>(std::popcount(mask));
  std::uint32_t joins = kNone;  // the one that goes first
  for (std::uint32_t i = index_.chain(block); i != kNone; i = open_[i].next) {
    const Open& o = open_[i];
    if (o.block != block || (mask & ~std::uint32_t{o.mask}) != 0 || !o.meets(at)) continue;
    if (joins == kNone || o.goes < open_[joins].goes) joins = i;
  }
  if (joins == kNone) {
    const engine::Cycle goes = way_out_.book(settled, sent + latency_, sectors * kSectorBytes);
    return {Outcome::kForward, open(block, reader, sent, goes), goes};
  }
  joined_sectors_ += sectors;
  Open& o = open_[joins];
  if (++o.readers >= most_readers_) unlist(joins);
  Read& read = reads_[o.read];
  if (read.leaves != kUnknown) return {Outcome::kAnswered, 0, read.leaves};
  join(read, reader);
  return {Outcome::kWait, 0, 0};
}

std::uint32_t ReadCoalescer::open(std::uint32_t block, Reader reader, engine::Cycle sent,
                                  engine::Cycle goes) {
  const std::uint32_t number = engine::take_free(reads_, free_reads_);
  if (number == ended_.size()) ended_.push_back(0);
  reads_[number] = {kUnknown, kNone, {reader}};
  constexpr engine::Cycle kMostStay = std::numeric_limits<std::uint16_t>::max();
  const auto stays = static_cast<std::uint16_t>(std::min(goes - sent, kMostStay));
  const bool listed = most_readers_ > 1;
  const std::uint32_t open =
      open_.push({block, kNone, static_cast<std::uint32_t>(goes), number, stays,
                  static_cast<std::uint16_t>(reader.mask), 1, listed});
  if (listed) index_.insert(open_, open);
  return number;
}

/// The last of the read's readers.
void ReadCoalescer::join(Read& read, Reader reader) {
  for (Reader& own : read.own) {
    if (own.mask != 0) continue;
    own = reader;
    return;
  }
  const std::uint32_t index = engine::take_free(links_, free_links_);
  links_[index] = {reader, kNone};
  std::uint32_t* last = &read.others;  // of a few
  while (*last != kNone) last = &links_[*last].next;
  *last = index;
}

void ReadCoalescer::unlist(std::uint32_t open) {
  if (!open_[open].listed) return;
  index_.remove(open_, open);
  open_[open].listed = false;
}

/// Takes out the reads that have gone, up to the first that has not: none can join them any more.
void ReadCoalescer::forget_until(engine::Cycle settled) {
  constexpr std::uint32_t kAhead = 8;  // reads whose chain is brought into the host's cache before
  while (!open_.empty() && open_[open_.first()].goes <= settled) {
    const std::uint32_t first = open_.first();
    if (open_.size() > kAhead) index_.prefetch(open_[first + kAhead].block);
    unlist(first);
    end(open_[first].read);
    open_.pop();
  }
}

}  // namespace xpusim::memory
