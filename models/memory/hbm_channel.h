#pragma once

// One HBM pseudo channel with its queues, by runs of columns of one row.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/memory/hbm_timing.h"
#include "sim/stats/ledger.h"

namespace xpusim::memory {

/// What a pseudo channel spends its CK on; the sum is the CK lived.
enum class HbmReason : std::uint8_t {
  kTransfer,    ///< data bus busy
  kBankGroup,   ///< columns of one bank group only: half of the data bus's turns are lost
  kRow,         ///< waits for activates and precharges
  kTurnaround,  ///< waits between reads and writes
  kRefresh,     ///< waits for a refresh
  kIdle,        ///< nothing queued
  kCount,
};

struct HbmCounters {
  std::uint64_t read_bytes = 0, write_bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t activates = 0, precharges = 0, refreshes = 0;
  std::uint64_t row_hits = 0;  ///< requests that found their row open or already asked for
  HbmCounters& operator+=(const HbmCounters& o);
};

/// A pseudo channel and its scheduler: first-ready first-come-first-served with an open page, a
/// read and a write queue, writes drained between two watermarks. Activates, precharges, refreshes,
/// turnarounds, tRRD, tFAW and the occupancy of the queues are exact events; the columns of a *run*
/// (what is queued for one row) are a closed form on one of two lanes: two bank groups in turn fill
/// the data bus, one of them alone half of it. A request to the row of its bank's youngest queued
/// run extends that run.
///
/// Against a cycle-by-cycle reference with the same policy: total time within 2 % (tests/memory).
class HbmChannel {
 public:
  using Ck = std::uint64_t;
  static constexpr Ck kNever = std::numeric_limits<Ck>::max();
  static constexpr std::uint32_t kMaxBanks = 64;

  struct Request {
    std::uint32_t id;
    std::uint32_t row;
    std::uint16_t bank;
    std::uint16_t columns;
    bool write;
  };
  struct Completion {
    std::uint32_t id;
    Ck at;  ///< the last data has crossed the bus
  };

  explicit HbmChannel(const HbmTiming& timing);

  /// Queues a request that reaches the controller at CK `arrival`; arrivals do not decrease.
  void push(const Request& request, Ck arrival);
  /// Works through time up to and including `until`. Appends each request whose last column command
  /// was given by then; its data comes cl or cwl and a burst later.
  void advance(Ck until, std::vector<Completion>& done);
  /// The next CK at which something happens; kNever if nothing is queued.
  Ck next() const { return next_; }
  bool idle() const { return next_ == kNever; }

  /// Charges the ledger up to `ck` at the end of a run.
  void finish(Ck ck);
  const HbmCounters& counters() const { return counters_; }
  const stats::Ledger<HbmReason>& ledger() const { return ledger_; }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  using BankMask = std::uint64_t;

  /// A request inside a run: it is done when the run's first `end` columns are.
  struct Part {
    std::uint32_t id;
    std::uint16_t end, next;
  };
  /// Columns of one row, in their bank's list of one queue.
  struct Run {
    std::uint32_t row;
    std::uint16_t bank, columns, issued;  ///< `issued` of `columns` commands were given
    std::uint16_t next, first_part, last_part;
    std::uint64_t age;
  };
  /// The runs of one direction.
  struct Queue {
    std::array<std::uint16_t, kMaxBanks> head, tail, hit;  ///< hit: the oldest run of the open row
    BankMask waiting = 0, hits = 0;  ///< banks with a run; with a hit that is on no lane
    std::uint32_t columns = 0;       ///< not yet given
  };
  /// A run that streams its columns: one every ccd_l from `start`.
  struct Lane {
    std::uint16_t run = kNone, bank = 0;
    std::uint32_t columns = 0;
    Ck start = 0;
    bool busy() const { return run != kNone; }
  };
  struct Arrival {
    Request request;
    Ck at;
  };

  Ck step(Ck now, std::vector<Completion>& done);
  HbmTiming t_;
  Ck next_ = kNever;
  HbmCounters counters_;
  stats::Ledger<HbmReason> ledger_;
};

}  // namespace xpusim::memory
