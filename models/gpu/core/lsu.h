#pragma once

// The memory side of an SM: MIO queue, load/store unit, L1, and the requests that have left.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "models/gpu/core/kernel_image.h"
#include "models/gpu/core/l1_cache.h"
#include "models/gpu/program/footprint.h"
#include "models/memory/messages.h"
#include "models/network/bandwidth_calendar.h"
#include "sim/engine/alone.h"
#include "sim/engine/link.h"
#include "sim/engine/prefetch.h"

namespace xpusim::gpu {

inline constexpr std::uint32_t kSubCores = 4;
inline constexpr std::uint32_t kBlocked = ~0u;  ///< a time that an event has still to set

/// Counts of an SM's memory side, with the names of the cases files where they have one.
struct LsuCounters {
  std::uint64_t load_requests = 0, load_sectors = 0, load_sectors_hit = 0;
  std::uint64_t store_requests = 0, store_sectors = 0;
  std::uint64_t atomic_requests = 0, atomic_sectors = 0;
  std::uint64_t wavefronts = 0;  ///< of the MIO's data stage: shared memory, shuffles, registers
  std::uint64_t messages = 0, sectors_requested = 0, sectors_done = 0;
};

/// The warp instruction to which an access belongs. `age` is the warp's own number: its slot may
/// have been used again when a load comes back that nothing waited for.
struct WarpRef {
  std::uint32_t age = 0;
  std::uint8_t sub_core = 0, warp = 0, scoreboard = kNoScoreboard, block = 0;
};

/// An access that is complete: its result is written at `ready`, its stores are performed, or what
/// it copies is in shared memory (then WarpRef::scoreboard is the number of the copy's group); or
/// stores that had to wait have left the SM.
struct Completion {
  enum Kind : std::uint8_t { kResult, kStore, kCopy, kSent };
  WarpRef who;
  Kind kind = kResult;
  std::uint32_t ready = 0;
};

/// First in, first out from the sub-cores' MIO queues through one data stage an SM (a wavefront of
/// 128 bytes a cycle; barriers take a turn without data). Global memory instructions go on to the
/// L1's own queue, whose tag stage takes a cycle a wavefront, and from there to the memory system,
/// a message for what misses of each aligned 512 bytes. Stages are timestamps; only what waits for
/// room among the outstanding lines is a real queue. In programs with wgmma or asynchronous copies,
/// these and the MIO share the bandwidth of the data stage (a calendar: wgmma books what it will
/// read when its turn comes). Left out: the write-back port of the register file, replays of
/// misaligned vectors, and the sharing of the data stage between global and shared memory.
class Lsu {
 public:
  /// `shares_data_stage`: the program has wgmma or asynchronous copies.
  Lsu(const MioParams& p, std::int64_t l1_bytes, bool shares_data_stage = false);
  /// Requests go into `outbox`, to be sent in their order.
  void connect(std::vector<engine::Sending>& outbox, std::uint32_t component_id) {
    outbox_ = &outbox;
    component_ = component_id;
  }

  /// What it may have under way, times this. Where the memory system is full, SMs are served by
  /// what they have under way: so an SM gets more of it than others. It stands for turns on the
  /// way to the network, which would not show in an SM alone; this does.
  void set_share(double share) {
    limit_ = scaled(limit_, share);
    store_limit_ = scaled(store_limit_, share);
  }

  /// An instruction enters the MIO from a sub-core at `now` and takes `passes` wavefronts of data
  /// (0: only its turn); returns
  /// the cycle at which it is served.
  std::uint32_t enter_mio(std::uint32_t sub_core, std::uint32_t now, std::uint32_t passes);
  /// When a warp learns that the copies that it waits for have come at `at`: one warp at a time.
  std::uint32_t end_wait(std::uint32_t at) {
    return wait_ended_ = std::max(at, wait_ended_ + wait_interval_);
  }
  void count_wavefronts(std::uint32_t n) { counters_.wavefronts += n; }
  /// Cycles that a global access takes of the L1: its passes through the data stage, or its lines'
  /// tags some at a time.
  std::uint32_t passes(const WarpFootprint& f) const {
    return std::max({1u, f.wavefronts, (f.lines + l1_tags_ - 1) / l1_tags_});
  }
  /// What passes the L1 by takes only its tag stage.
  std::uint32_t passes(Action action, const WarpFootprint& f) const {
    return action == Action::kCopyBypass ? std::max(1u, (f.lines + l1_tags_ - 1) / l1_tags_)
                                         : passes(f);
  }
  /// The first cycle at which the sub-core's queue takes another instruction.
  std::uint32_t mio_free(std::uint32_t sub_core) const {
    return mio_starts_[sub_core * mio_depth_ + mio_next_[sub_core]];
  }
  /// Of the access begun last: the cycle after its last request left, or kBlocked if it waits for
  /// room.
  std::uint32_t sent() const { return sent_; }
  /// The first cycle at which the L1's queue takes another one, or kBlocked.
  std::uint32_t lg_free() const { return lg_starts_[lg_next_]; }

  /// A global access that the MIO serves at `served`. Returns the cycle of its result when that is
  /// known (all hits, or no active lane), else kBlocked: a completion will come.
  std::uint32_t access(Action action, const WarpRef& who, const WarpFootprint& footprint,
                       std::uint32_t served, std::uint32_t now, bool adds_floats = false);

  /// What an asynchronous copy moves a lane, and the wavefronts of its write to shared memory
  /// beyond the fewest.
  struct CopyShape {
    std::uint32_t lane_bytes, conflicts;
  };
  /// The same of an asynchronous copy: the cycle at which they lie in shared
  /// memory. Lanes that are off are filled with zeros at once.
  std::uint32_t copy(Action action, const WarpRef& who, const WarpFootprint& footprint,
                     CopyShape shape, std::uint32_t served, std::uint32_t now);

  /// Books bytes of shared memory at `now` from cycle `ready` on; returns the cycle after the last.
  std::uint32_t move_shared(std::uint32_t now, std::uint32_t ready, std::uint32_t bytes) {
    return static_cast<std::uint32_t>(data_stage_.book(now, ready, bytes)) + 1;
  }

  /// The L1 forgets its lines; its tag stage is taken for that long. Returns the cycle of the end.
  std::uint32_t invalidate(std::uint32_t served);

  /// A response will come soon: brings what it will touch into the host's cache.
  void expect(const engine::Message& message) const {
    if (!is_of_request(message)) {
      if (const Access* a = access_of(message)) engine::prefetch(a);
      return;
    }
    if (message.tag < requests_.size()) engine::prefetch(&requests_[message.tag]);
    l1_.prefetch(message.address);
  }
  /// The same, in a moment: what it touches by way of what expect() has brought.
  void expect_soon(const engine::Message& message) const {
    if (!is_of_request(message)) return;
    if (const Access* a = access_of(message)) engine::prefetch(a);
  }
  /// Responses will come soon: the same of what they may let go on.
  void expect_room() const {
    if (!any_waits()) return;
    engine::prefetch(&accesses_[waiting_[waiting_first_].access]);
    engine::prefetch(&deferred_[deferred_first_]);
  }
  /// It will be at work soon: the same of itself, and of what waits.
  void prefetch() const {
    engine::prefetch(this, sizeof *this);
    engine::prefetch(waiting_.data() + waiting_first_);
  }
  /// A response has come; returns the accesses that are complete with it (valid until the next
  /// call).
  const std::vector<Completion>& receive(const engine::Message& message, std::uint32_t now);

  std::uint32_t outstanding_lines() const { return outstanding_; }
  const LsuCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::uint32_t kShareUnit = 64;
  /// In the tag of a read that is of no Request, but of the access itself: it passes the L1 by.
  static constexpr std::uint32_t kBypassTag = 1u << 30;
  struct alignas(32) Access {  // complete when `left` requests have come
    WarpRef who;
    Action action = Action::kLoad;
    std::uint16_t copied = 0;  // bytes that a copy writes to shared memory
    std::uint32_t left = 0, ready = 0;
    std::uint16_t pass_kind = 0;  // of an atomic's messages: 0, or kFloatPasses

    /// Field by field: the host waits for the parts of a struct that it copies as a whole.
    void set(const WarpRef& by, Action what, std::uint16_t bytes, std::uint16_t passes) {
      who.age = engine::alone(by.age);
      who.sub_core = engine::alone(by.sub_core);
      who.warp = engine::alone(by.warp);
      who.scoreboard = engine::alone(by.scoreboard);
      who.block = engine::alone(by.block);
      action = what;
      copied = bytes;
      left = ready = 0;
      pass_kind = passes;
    }
  };
  /// A load's message that has left, by its tag: as few as lines may be outstanding, so that the L1
  /// can name them. (All messages that fill nothing of the L1 are tagged with the access.)
  struct Request {
    std::uint64_t address = 0;
    std::array<L1Cache::Line, 4> lines{};
    std::uint16_t sectors = 0;
    bool live = false;
    std::uint32_t access = kNone;   // that sent it
    std::uint32_t waiters = kNone;  // others that wait for it

    /// The same.
    void set(std::uint64_t at, std::uint16_t mask, std::uint32_t by) {
      address = at;
      sectors = mask;
      live = true;
      access = by;
      waiters = kNone;
    }
  };
  struct Waiter {
    std::uint32_t access = kNone, next = kNone;
  };
  struct Requests {  // of one instruction
    const SectorRequest* first;
    std::uint32_t count, lines, sectors, passes;
    bool whole;  // its lanes fill all of its sectors
  };
  struct Deferred {  // waits for room among what is under way, its requests in a list
    std::uint32_t access, queue_slot, served;
    Requests requests;  // `first`: not yet
    Action action;
  };

  static std::uint32_t scaled(std::uint32_t limit, double share) {
    return std::max(1u, static_cast<std::uint32_t>(share * limit + 0.5));
  }
  static bool is_of_request(const engine::Message& m) {
    return m.kind == memory::kReadDone && (m.tag & kBypassTag) == 0;
  }
  /// The access that a response is for, or nullptr if its tag is none of ours.
  const Access* access_of(const engine::Message& m) const {
    const bool of_request = is_of_request(m);
    if (of_request && m.tag >= requests_.size()) return nullptr;
    const std::uint32_t access = of_request ? requests_[m.tag].access : m.tag & ~kBypassTag;
    return access < accesses_.size() ? &accesses_[access] : nullptr;
  }
  Requests requests(Action action, const WarpFootprint& f) const {
    return {f.requests.data(), f.count,           f.lines,
            f.sectors,         passes(action, f), f.bytes == f.sectors * memory::kSectorBytes};
  }
  void store_part(std::uint64_t address, std::uint32_t sectors);
  std::uint32_t begin(std::uint32_t id, const WarpFootprint& footprint, std::uint32_t served,
                      std::uint32_t now);
  void serve(std::uint32_t access, const Requests& requests, std::uint32_t start,
             std::uint32_t now);
  void defer(std::uint32_t access, std::uint32_t queue_slot, std::uint32_t served,
             const WarpFootprint& footprint);
  bool any_waits() const { return waiting_first_ < waiting_.size(); }
  void drop_first_deferred();
  void serve_waiting(std::uint32_t now);
  void load_part(std::uint32_t access, std::uint64_t address, std::uint32_t sectors,
                 std::uint32_t at);
  void bypass_part(std::uint32_t access, std::uint64_t address, std::uint32_t sectors,
                   std::uint32_t at);
  void send(std::uint32_t access, std::uint64_t address, std::uint32_t sectors,
            std::uint16_t passes, std::uint32_t at, std::uint32_t tag);
  void fill(std::uint32_t request, std::uint32_t now);
  void wait_for(std::uint32_t request, std::uint32_t access);
  void arrived(std::uint32_t access, std::uint32_t now);
  std::uint32_t end_copy(Access& a, std::uint32_t now);
  void count(Action action, const WarpFootprint& footprint);
  static bool is_copy(Action a) { return a == Action::kCopy || a == Action::kCopyBypass; }
  bool has_room(Action action, std::uint32_t lines, std::uint32_t sectors) const {
    if (action == Action::kStore) return stored_ == 0 || stored_ + sectors <= store_limit_;
    if (is_copy(action) && copies_ >= copy_limit_) return false;
    const bool reads = action == Action::kLoad || is_copy(action);
    return !reads || outstanding_ == 0 || outstanding_ + lines <= limit_;
  }

  std::vector<engine::Sending>* outbox_ = nullptr;
  std::uint32_t component_ = 0;
  std::uint32_t mio_depth_, l1_tags_, l1_latency_, fill_latency_, request_interval_,
      invalidate_cycles_, limit_, store_limit_, copy_limit_, copy_share_;
  bool shares_data_stage_;
  std::uint32_t wait_interval_, wait_ended_ = 0;  // ends of waits for copies

  std::uint32_t data_stage_free_ = 0, tag_stage_free_ = 0, port_free_ = 0;
  std::array<std::uint32_t, kSubCores> mio_next_{};
  std::vector<std::uint32_t> mio_starts_;  // [sub_core * depth + n]: when the last ones were served
  std::vector<std::uint32_t> lg_starts_;   // the same of the L1's queue; kBlocked: not yet
  std::uint32_t lg_next_ = 0;

  L1Cache l1_;
  std::uint32_t outstanding_ = 0;  // lines of loads and copies
  std::uint32_t copies_ = 0;       // that have not come
  std::uint32_t stored_ = 0;       // sectors of stores that are not yet performed
  std::uint32_t sent_ = 0;         // when the last access left, kBlocked: it waits
  std::vector<Access> accesses_;
  std::vector<Request> requests_;
  std::vector<Waiter> waiters_;
  std::vector<std::uint32_t> free_accesses_, free_requests_, free_waiters_;
  std::vector<Deferred> waiting_;        // from the first on, in order
  std::vector<SectorRequest> deferred_;  // of these, in order
  std::size_t waiting_first_ = 0, deferred_first_ = 0;
  std::vector<Completion> completions_;
  LsuCounters counters_;
  network::BandwidthCalendar data_stage_;  // where shares_data_stage_
};

}  // namespace xpusim::gpu
