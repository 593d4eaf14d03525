#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "models/memory/block_index.h"
#include "models/memory/l2_params.h"
#include "models/memory/numbered_queue.h"
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
  /// A read that waits: of SM `sm`, for the sectors `mask` of the block, of which it named the line
  /// `line` first.
  struct Reader {
    std::uint32_t tag;
    std::uint32_t sm : 14, mask : 16, line : 2;
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
  Outcome read(std::uint32_t block, Reader reader, engine::Cycle sent, engine::Cycle settled);
  /// The answer of a read that was forwarded leaves the L2 at `at`: calls to(Reader) for each
  /// reader, in order of asking.
  template <class F>
  void answer(std::uint32_t read, engine::Cycle at, F&& to);

  /// What read() will look at first, and after that: brought into the host's cache; changes nothing
  /// else.
  void prefetch_chain(std::uint32_t block) const { index_.prefetch(block); }
  void prefetch_first(std::uint32_t block) const {
    if (const std::uint32_t i = index_.chain(block); i != kNone) engine::prefetch(&open_[i]);
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

  /// A read that may not have gone yet. Cycles are kept in 32 bits: launches are shorter.
  struct Open {
    std::uint32_t block;
    std::uint32_t next;     ///< of its bucket
    std::uint32_t goes;     ///< it enters the network
    std::uint32_t read;     ///< its number
    std::uint16_t stays;    ///< cycles from its coming to `goes`
    std::uint16_t mask;     ///< of the first reader
    std::uint16_t readers;  ///< that asked so far
    bool listed;            ///< it is in `index_`

    /// True if they wait at the same time, whichever of the two came first.
    bool meets(std::uint32_t sent) const { return sent < goes && sent + 2 * stays > goes; }
  };
  /// Who waits for it. Half a line of the host's cache.
  struct alignas(32) Read {
    std::uint32_t leaves;                 ///< its answer leaves the L2, or kUnknown
    std::uint32_t others;                 ///< links to the readers beyond its own
    std::array<Reader, kOwnReaders> own;  ///< without sectors: none
  };
  static_assert(sizeof(Read) == 32);
  struct Link {
    Reader reader;
    std::uint32_t next;
  };

  std::uint32_t open(std::uint32_t block, Reader reader, engine::Cycle sent, engine::Cycle goes);
  void join(Read& read, Reader reader);
  void unlist(std::uint32_t open);
  void forget_until(engine::Cycle settled);
  void end(std::uint32_t read);

  engine::Cycle latency_;
  std::uint32_t most_readers_;
  network::BandwidthCalendar way_out_;
  NumberedQueue<Open> open_;               ///< in order of coming
  BlockIndex<NumberedQueue<Open>> index_;  ///< of those that others may join
  std::vector<Read> reads_;
  std::vector<std::uint8_t> ended_;  ///< by read: of the two, that it has gone and is answered
  std::vector<Link> links_;
  std::vector<std::uint32_t> free_reads_, free_links_;
  std::uint64_t joined_sectors_ = 0;
};

/// It has gone, or is answered: with the second of the two its place is free.
inline void ReadCoalescer::end(std::uint32_t read) {
  if (++ended_[read] < 2) return;
  ended_[read] = 0;
  free_reads_.push_back(read);
}

template <class F>
void ReadCoalescer::answer(std::uint32_t number, engine::Cycle at, F&& to) {
  Read& read = reads_[number];
  read.leaves = static_cast<std::uint32_t>(at);
  for (const Reader& reader : read.own) {
    if (reader.mask != 0) to(reader);
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
  end(number);
}

}  // namespace xpusim::memory
