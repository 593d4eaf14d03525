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
  kBankGroup,   ///< columns stream, but of one bank group only: each second turn of the bus is lost
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
  static constexpr std::uint32_t kMaxBanks = 32;

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

  /// `index` of `of`: the channels' refreshes are spread evenly over the refresh interval, so that
  /// they do not all stand still at once.
  explicit HbmChannel(const HbmTiming& timing, std::uint32_t index = 0, std::uint32_t of = 1);

  /// Queues a request that reaches the controller at CK `arrival`; arrivals do not decrease.
  void push(const Request& request, Ck arrival);
  /// Works through time up to and including `until`. Appends each request whose last column command
  /// was given by then; its data comes cl or cwl and a burst later.
  void advance(Ck until, std::vector<Completion>& done);
  /// The next CK by which advance() should be called, or later: something happens or a request is
  /// done then. kNever if nothing is queued.
  Ck next_due() const;
  bool idle() const { return next_ == kNever; }

  /// Brings what advance() will touch into the host's cache: it comes to a channel every few
  /// hundred cycles only. Changes nothing else.
  void prefetch() const;

  /// Charges the ledger up to `ck` at the end of a run.
  void finish(Ck ck);
  const HbmCounters& counters() const { return counters_; }
  const stats::Ledger<HbmReason>& ledger() const { return ledger_; }

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  using BankMask = std::uint32_t;

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
    std::array<std::uint16_t, kMaxBanks> head, tail, hit;  ///< hit: oldest run of the open row
    BankMask waiting = 0, hits = 0;  ///< banks with a run; with a hit that is on no lane
    std::uint32_t columns = 0;       ///< not yet settled
  };
  /// A run that streams its columns: one every ccd_l from `start`.
  struct Lane {
    std::uint16_t run = kNone, bank = 0;
    std::uint32_t columns = 0;
    Ck start = 0;
    bool busy() const { return run != kNone; }
  };
  struct Bank {
    Ck act_at = 0, pre_at = 0, read_at = 0, write_at = 0, refreshed_at = 0;
    std::uint32_t row = 0;
  };
  struct Group {
    Ck act_at = 0, read_at = 0, write_at = 0;
  };
  struct Arrival {
    Request request;
    Ck at;
  };
  struct Pick {
    int bank = -1;     ///< the oldest that is ready, or -1
    Ck next = kNever;  ///< else the first time at which one will be
  };

  // One event: everything that happens at `now`; returns the time of the next.
  Ck step(Ck now, std::vector<Completion>& done);
  Ck quiet_arrivals(Ck next);

  // Arrivals.
  bool arrivals_waiting() const { return inbox_head_ < inbox_.size(); }
  Ck admit_arrivals(Ck now);
  bool merge(const Request& request, Ck now);
  void enqueue(const Request& request);
  bool is_quiet(const Request& request) const;
  void pop_arrival();
  std::uint16_t new_part(const Request& request, std::uint16_t end);

  // Columns.
  std::uint32_t issued(const Lane& lane, Ck now) const;
  std::uint32_t queued(bool write, Ck now) const;
  int busy_lanes() const { return int{lanes_[0].busy()} + int{lanes_[1].busy()}; }
  Ck when_issued(std::uint32_t columns, Ck now) const;
  Ck start_lanes(Ck now);
  Pick pick_hit(const Lane& other, Ck now) const;
  void settle(Lane& lane, std::uint32_t columns, std::vector<Completion>& done);
  void complete_parts(const Lane& lane, std::uint32_t columns, std::vector<Completion>& done);
  void hold_after(const Lane& lane, std::uint32_t columns);
  void remove_run(Queue& queue, std::uint16_t index);
  void find_hit(Queue& queue, std::uint32_t bank);
  Ck switch_direction(Ck now, std::vector<Completion>& done);

  // Rows.
  Ck row_command(Ck now);
  Pick pick_row(Ck now) const;
  void activate(std::uint32_t bank, std::uint32_t row, Ck now);
  void precharge(std::uint32_t bank, Ck now);
  void schedule_refresh(Ck now, std::vector<Completion>& done);
  bool refresh_command(Ck now, Ck& next);
  void refresh(BankMask banks, Ck now);
  void refresh_while_idle(Ck until);
  BankMask all_banks() const {
    return t_.banks == kMaxBanks ? ~BankMask{0} : (BankMask{1} << t_.banks) - 1;
  }

  void charge(Ck now);
  HbmReason reason(Ck now) const;

  HbmTiming t_;
  bool two_lanes_;
  int ccd_l_bits_;  ///< ccd_l is this power of two, or -1
  std::array<Bank, kMaxBanks> banks_{};
  std::array<Group, kMaxBanks> groups_{};
  std::array<BankMask, kMaxBanks> group_banks_{};
  std::array<Queue, 2> queues_;  ///< reads, writes
  std::array<Lane, 2> lanes_;
  std::array<std::uint8_t, kMaxBanks> group_of_{};  ///< of each bank
  bool write_mode_ = false;
  BankMask open_ = 0, refresh_due_ = 0;
  Ck act_at_ = 0, pre_at_ = 0, read_at_ = 0, write_at_ = 0, row_bus_at_ = 0;
  std::array<Ck, 4> faw_{};  ///< when a further activate may follow each of the last four
  std::uint32_t faw_next_ = 0, refresh_bank_ = 0;
  Ck refresh_at_ = kNever;
  Ck next_ = kNever;
  std::uint64_t age_ = 0;

  std::vector<Run> runs_;
  std::vector<std::uint16_t> free_runs_;
  std::vector<Part> parts_;
  std::vector<std::uint16_t> free_parts_;
  std::vector<Arrival> inbox_;
  std::size_t inbox_head_ = 0;
  bool blocked_ = false;  ///< the first arrival does not fit into its queue

  HbmCounters counters_;
  stats::Ledger<HbmReason> ledger_;
  HbmReason reason_ = HbmReason::kIdle;
  std::uint64_t moved_settled_ = 0, moved_charged_ = 0;  ///< CK of the data bus
};

}  // namespace xpusim::memory
