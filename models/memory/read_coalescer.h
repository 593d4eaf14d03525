#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "models/memory/block_index.h"
#include "models/memory/l2_params.h"
#include "models/network/bandwidth_calendar.h"
#include "sim/engine/prefetch.h"

namespace xpusim::memory {

/// The coalescer of a group of SMs (a GPC), on their way to the L2: a read waits here for its turn
/// to enter the network, and while it does, reads of the same sectors by other SMs join it. The L2
/// sees one read, and its answer goes to all that joined. The vendor's profiler names such a unit
/// (LRC, the L2 request coalescer); its inside is not public. What is modelled follows from
/// measured L2 sectors of SMs that read the same lines (traces/h200/microbench_sm.json, together):
///
/// * a read can be joined for `latency` cycles (part of its way to the L2), and longer if those
///   before it have not left by then, at `bandwidth` bytes read a cycle: the sooner another SM
///   asks, and the more the group has to read, the likelier it joins. (A pair in step reads 0.58 of
///   what it receives, 100 cycles apart 0.76, 400 cycles apart 0.97.)
/// * a read has at most `readers` readers, then it is closed. (All 16 to 18 SMs of a GPC read
///   together 0.36 of what they receive, not 0.06.)
///
/// Reads may come out of the order of their dates, as far as SMs date them back (Sm). The first
/// that comes is the one that goes on: one that comes later with an earlier date joins it, if it
/// would have been joined by it, and has its data later by the difference than if it had gone on
/// itself.
///
/// Not modelled: a limit on reads that wait, reads that overlap one that waits only in part (they
/// go on their own), merging of writes and atomics, and what these take of the way into the
/// network.
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
    engine::Cycle at;    ///< kForward: it leaves then; kAnswered: the data leave the L2 then
  };

  explicit ReadCoalescer(const CoalescerParams& params);

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

  static constexpr std::uint32_t kOwnReaders = 3;

  /// A line of the host's cache. Cycles are kept in 32 bits: launches are shorter.
  struct alignas(64) Read {
    std::uint32_t block;
    std::uint32_t next;    ///< of its bucket
    std::uint32_t others;  ///< links to the readers beyond its own
    std::uint32_t goes;    ///< it enters the network
    std::uint32_t leaves;  ///< its answer leaves the L2, or kUnknown
    std::uint16_t stays;   ///< cycles from its coming to `goes`
    std::uint8_t readers;  ///< that asked so far
    std::uint8_t lists;    ///< kListed, kWaiting
    std::array<Reader, kOwnReaders> own;
    std::uint16_t mask;  ///< of the first reader

    bool answered() const { return leaves != kUnknown; }
    /// True if they wait at the same time, whichever of the two came first.
    bool meets(std::uint32_t sent) const { return sent < goes && sent + 2 * stays > goes; }
  };
  static_assert(sizeof(Read) == 64);
  static constexpr std::uint8_t kListed = 1;   ///< it is in `open_`
  static constexpr std::uint8_t kWaiting = 2;  ///< it is in `waiting_`
  struct Link {
    Reader reader;
    std::uint32_t next;
  };

  std::uint32_t open(std::uint32_t block, const Reader& reader, engine::Cycle sent,
                     engine::Cycle goes);
  void join(Read& read, const Reader& reader);
  void unlist(std::uint32_t read);
  void forget_until(engine::Cycle settled);

  engine::Cycle latency_;
  std::uint32_t most_readers_;
  network::BandwidthCalendar way_out_;
  BlockIndex<Read> open_;  ///< reads that others may join
  std::vector<Read> reads_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> free_reads_, free_links_;
  struct Waiting {
    engine::Cycle goes;
    std::uint32_t block;
    std::uint32_t read;
  };
  std::vector<Waiting> waiting_;  ///< reads that may not have gone yet, in order of coming
  std::size_t waiting_head_ = 0;
  std::uint64_t joined_sectors_ = 0;
};

template <class F>
void ReadCoalescer::answer(std::uint32_t number, engine::Cycle at, F&& to) {
  Read& read = reads_[number];
  read.leaves = static_cast<std::uint32_t>(at);
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(read.readers, kOwnReaders); ++i) {
    to(read.own[i]);
  }
  for (std::uint32_t link = read.others; link != kNone;) {
    Link& l = links_[link];
    const std::uint32_t after = l.next;
    if (after != kNone) engine::prefetch(&links_[after]);
    to(l.reader);
    free_links_.push_back(link);
    link = after;
  }
  read.others = kNone;
  if ((read.lists & kWaiting) == 0) free_reads_.push_back(number);
}

}  // namespace xpusim::memory
