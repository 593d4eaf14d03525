#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/memory/block_index.h"
#include "sim/engine/prefetch.h"
#include "sim/engine/time.h"

namespace xpusim::memory {

/// The coalescer of a group of SMs, on their way to the L2: a read of sectors of which another SM's
/// read is under way joins it; the L2 sees one read, and its answer goes to all that joined. The
/// vendor's profiler names such a unit (LRC, the L2 request coalescer); how many SMs share one, and
/// for how long it keeps a read open, is not public: here, from the SM's sending to the answer's
/// leaving the L2 (which is as long as a unit in the middle of the network would).
///
/// Reads may come out of the order of their dates, as far as SMs date them back (Sm). The first
/// that comes is the one that goes on: one that comes later with an earlier date joins it, and has
/// its data later by the difference than if it had gone on itself.
///
/// Not modelled: a limit on reads under way, reads that overlap one under way only in part (they go
/// on their own), merging of writes and atomics.
class ReadCoalescer {
 public:
  /// A read that waits.
  struct Reader {
    std::uint32_t tag;
    std::uint16_t sm, mask;  ///< sectors of the block
    std::uint8_t line;       ///< the first line that it named
  };
  /// What becomes of a read.
  struct Outcome {
    enum { kForward, kWait, kAnswered } what;
    std::uint32_t read;  ///< kForward: its number, for answer()
    engine::Cycle at;    ///< kAnswered: the data leave the L2 then
  };

  /// A read that an SM sends at `sent`. None that comes later is dated before `settled` (<= sent),
  /// which does not decrease.
  Outcome read(std::uint32_t block, const Reader& reader, engine::Cycle sent,
               engine::Cycle settled);
  /// The answer of a read that was forwarded leaves the L2 at `at`: calls to(const Reader&) for
  /// each reader, in order of asking.
  template <class F>
  void answer(std::uint32_t read, engine::Cycle at, F&& to);

  /// What read() will look at first, and after that: brought into the host's cache; changes nothing
  /// else.
  void prefetch_chain(std::uint32_t block) const { open_.prefetch(block); }
  void prefetch_first(std::uint32_t block) const {
    if (const std::uint32_t i = open_.chain(block); i != kNone) engine::prefetch(&reads_[i]);
  }

  /// The same of what answer() will touch.
  void prefetch_answer(std::uint32_t read) const {
    if (read < reads_.size()) engine::prefetch(&reads_[read]);
  }

  std::uint64_t joined_sectors() const { return joined_sectors_; }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kUnknown = ~0u;

  struct alignas(32) Read {
    std::uint32_t block;
    Reader first;
    std::uint32_t next;          ///< of its bucket
    std::uint32_t others, last;  ///< groups of the readers that joined: the first, the last
    std::uint32_t leaves;  ///< its answer (cycle: launches are shorter than 2^32), or kUnknown
  };
  static_assert(sizeof(Read) == 32);
  /// Readers that joined: a line of the host's cache.
  struct alignas(64) Group {
    std::array<Reader, 4> readers;
    std::uint32_t count;
    std::uint32_t next;  ///< of the same read
  };
  static_assert(sizeof(Group) == 64);

  std::uint32_t open(std::uint32_t block, const Reader& reader);
  void join(Read& read, const Reader& reader);
  void add_group(Read& read);
  void forget_until(engine::Cycle settled);

  BlockIndex<Read> open_;  ///< reads that others may join
  std::vector<Read> reads_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> free_reads_, free_groups_;
  struct Leaving {
    engine::Cycle at;
    std::uint32_t block;
    std::uint32_t read;
  };
  std::vector<Leaving> leaving_;  ///< answered reads, in order of their answers' coming
  std::size_t leaving_head_ = 0;
  std::uint64_t joined_sectors_ = 0;
};

template <class F>
void ReadCoalescer::answer(std::uint32_t number, engine::Cycle at, F&& to) {
  Read& read = reads_[number];
  read.leaves = static_cast<std::uint32_t>(at);
  to(read.first);
  for (std::uint32_t i = read.others; i != kNone;) {
    Group& group = groups_[i];
    const std::uint32_t after = group.next;
    if (after != kNone) engine::prefetch(&groups_[after]);
    for (std::uint32_t n = 0; n < group.count; ++n) to(group.readers[n]);
    free_groups_.push_back(i);
    i = after;
  }
  read.others = kNone;
  leaving_.push_back({at, read.block, number});
}

}  // namespace xpusim::memory
