#pragma once

// A sub-core (the vendor's SM sub-partition): up to 16 warps and their issue logic.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/gpu/core/async_groups.h"
#include "models/gpu/core/block_source.h"
#include "models/gpu/core/fetch.h"
#include "models/gpu/core/kernel_image.h"
#include "models/gpu/core/lsu.h"
#include "models/gpu/core/stall.h"
#include "models/gpu/core/tensor_core.h"
#include "models/gpu/core/tma.h"
#include "sim/engine/prefetch.h"
#include "sim/stats/ledger.h"

namespace xpusim::gpu {

inline constexpr std::uint32_t kWarpsOfSubCore = 16;

class SubCore;
class SmRecorder;
class SmTracer;

/// How far a phase of a block's mbarriers has come.
struct Phase {
  std::uint32_t events = 0;  ///< arrivals and copies that have taken place
  std::uint32_t ready = 0;   ///< the last of them
};

/// A block on an SM.
struct ResidentBlock {
  BlockRun run;
  bool used = false;
  std::uint32_t sequence = 0;    ///< of the SM's blocks
  std::uint32_t begun = 0;       ///< cycle
  std::uint32_t warps_left = 0;  ///< that have not exited
  std::uint32_t leaving = 0;     ///< ... of these, that are past their exit and drain
  std::uint32_t sent = 0;        ///< cycle at which the last of its stores left
  /// A named barrier: who has arrived, and how many warps must (0: all that are left).
  struct Barrier {
    std::uint64_t here = 0;  ///< bit sub_core * 16 + warp
    std::uint32_t meeting = 0;
  };
  std::array<Barrier, kBarriersOfBlock> barriers;
  std::uint64_t at_phase = 0;      ///< the same bits of warps that wait for a phase
  std::uint64_t at_registers = 0;  ///< ... that wait for registers
  std::int64_t registers = 0;      ///< that its warps have given up: a thread's, over warps
  std::vector<Phase> phases;       ///< by number (exec::BlockTrace)
  /// The same of WARPGROUP.ARRIVE, by warpgroup.
  std::array<std::uint64_t, kWarpsOfSubCore * kSubCores / kWarpsOfWarpgroup> at_arrive{};
};

/// What the sub-cores of an SM share.
struct SmShared {
  SmShared(const SmParams& p, KernelImage& kernel, LaunchProfile& counts,
           BlockSource& blocks_source, std::int64_t l1_bytes)
      : params(p),
        image(kernel),
        profile(counts),
        source(blocks_source),
        lsu(p.mio, l1_bytes, kernel.is_async),
        tma(p.tma, lsu),
        fetch(p.fetch, kernel.code.size()),
        blocks(static_cast<std::size_t>(p.blocks)) {
    wake.fill(kBlocked);
  }
  const SmParams& params;
  KernelImage& image;
  LaunchProfile& profile;
  BlockSource& source;
  SubCore* sub_cores = nullptr;
  SmTracer* tracer = nullptr;
  SmRecorder* recorder = nullptr;
  std::array<std::uint32_t, kSubCores> wake;  ///< when each sub-core can next issue
  std::uint32_t barrier_free = 0;             ///< when the next arrival at a barrier counts
  std::uint32_t constants_ready = kBlocked;   ///< kBlocked: no constant was read yet
  std::uint32_t ended_block = kBlocked;       ///< a block whose last warp has just exited
  std::uint32_t stores_left = 0;              ///< not yet performed, those of ended blocks too
  Lsu lsu;  ///< Sm::expect_tick() brings all before it into the host's cache at once
  Tma tma;
  InstructionFetch fetch;
  std::vector<ResidentBlock> blocks;
  WarpFootprint footprint;
};

/// Picks one warp a cycle, greedy then oldest: the warp that issued last while it can, else the
/// oldest that can (what the vendor does is not public; newer studies see a compiler hint and the
/// youngest). A warp can issue when its stall count has run out, the scoreboards that its
/// instruction waits for are clear, its line is fetched and the port is free; the control words
/// that the compiler set are obeyed as they stand, registers are not looked at. Left out: register
/// bank conflicts, the operand collector, dual issue, replays, and that HFMA2 and mma.sync share a
/// pipe.
class SubCore {
 public:
  using Ledger = stats::Ledger<Stall>;

  SubCore(SmShared& sm, std::uint32_t index);

  std::uint32_t free_slots() const { return kWarpsOfSubCore - slots_used_; }
  /// Gives warp `in_block` of a block a slot; it may issue from `start` on.
  void start_warp(std::uint32_t block, std::uint32_t in_block, std::uint32_t age,
                  std::uint32_t start, std::uint32_t now);
  /// The block's warps have all exited: their slots are free.
  void free_block(std::uint32_t block);

  /// Brings what tick() will touch of itself and its first `warps` slots into the host's cache.
  void prefetch(std::uint32_t warps) const {
    const auto* begin = reinterpret_cast<const char*>(this);
    engine::prefetch(begin,
                     static_cast<std::size_t>(reinterpret_cast<const char*>(&warps_) - begin));
    engine::prefetch(warps_.data(), warps * sizeof(Warp));
    engine::prefetch(&ledger_,
                     static_cast<std::size_t>(reinterpret_cast<const char*>(&checksum_ + 1) -
                                              reinterpret_cast<const char*>(&ledger_)));
    constexpr std::size_t kMostBytes = 1024;  // of sites: some programs have many
    engine::prefetch(sites_.data(),
                     std::min(warps * sm_.image.site_count * sizeof(SiteState), kMostBytes));
    if (async_.empty()) return;
    for (std::uint32_t w = 0; w < warps; ++w) {
      engine::prefetch(&async_[w].copies, sizeof(AsyncGroups));
      engine::prefetch(&async_[w].products);  // most often few
    }
  }
  /// Issues at most one instruction at `now`; returns the next cycle at which it may be able to.
  std::uint32_t tick(std::uint32_t now);
  /// The cycle at which a warp can issue as things stand, or kBlocked.
  std::uint32_t time(std::uint32_t warp) const {
    return std::max(ready_[warp], port_free_[port_[warp]]);
  }

  void complete(const Completion& c, std::uint32_t now);
  void leave_barrier(std::uint32_t warp, std::uint32_t at, Stall why);
  /// A copy by TMA of one of its warps has come to something (but for kPerformed, which is of the
  /// block's slot).
  void box_event(const TmaEvent& event);
  void lg_queue_free(std::uint32_t at);  ///< of the L1: the first cycle with room
  /// Charges what is left, at the end of a launch: no warp until `blocks_end`, drain until `end`.
  void finish(std::uint32_t blocks_end, std::uint32_t end);

  const Ledger& ledger() const { return ledger_; }
  std::uint64_t warp_stall(Stall s) const { return warp_stalls_[static_cast<std::size_t>(s)]; }
  std::uint64_t issued() const { return ledger_.of(Stall::kIssued); }
  std::uint64_t warp_cycles() const { return warp_cycles_; }      ///< sum of the warps' lives
  std::uint64_t active_cycles() const { return active_cycles_; }  ///< with at least one warp
  std::uint64_t checksum() const { return checksum_; }            ///< over (cycle, warp, pc)
  const char* waiting_for() const;

 private:
  enum class Wait : std::uint8_t {
    kNothing,
    kScoreboard,
    kBarrier,
    kMembar,
    kWarpgroup,
    kCopies,
    kBoxes,
    kPhase,
    kRegisters,
    kDrain,
    kExited
  };
  struct SiteState {
    std::uint32_t next = 0;  ///< occurrences begun (control) or ended (memory)
    std::uint32_t left = 0;  ///< loops: iterations left
  };
  struct alignas(64) Warp {
    std::uint16_t pc = 0;
    std::uint8_t block = 0, in_block = 0;
    std::uint8_t in_group = 0;  ///< its number among the warps that share its code
    Wait wait = Wait::kExited;
    Stall first = Stall::kLaunch;  ///< what held it until `earliest`
    Stall why = Stall::kLaunch;    ///< what held it from then until it was ready
    bool in_use : 1 = false, entered_line : 1 = false;
    std::uint8_t long_mask = 0;  ///< scoreboards that wait for the L1 and beyond
    std::array<std::uint8_t, kScoreboards> count{};   ///< raised, until an event
    std::array<std::uint32_t, kScoreboards> clear{};  ///< raised, until this cycle
    std::uint32_t last = 0;  ///< cycle up to which its life is accounted for
    std::uint32_t start = 0, earliest = 0;
    std::uint32_t stores = 0;   ///< accesses that are not yet performed
    std::uint32_t pending = 0;  ///< groups of copies or boxes that its wait lets be under way
    std::uint16_t unsent = 0;   ///< stores that wait in the L1's queue
    std::uint8_t registers = 0, missing_registers = 0;
  };
  static_assert(sizeof(Warp) == 64);

  /// What a warp has under way beside its instructions.
  struct alignas(64) AsyncWork {
    AsyncGroups copies, products;
    AsyncGroups boxes;       ///< copies by TMA from shared memory, each a group
    std::int64_t phase = 0;  ///< that it waits for
  };

  std::uint32_t pick(std::uint32_t now);
  std::uint32_t earliest(std::uint32_t from) const;  ///< at which a warp can issue
  void issue(std::uint32_t w, std::uint32_t now);
  void account(std::uint32_t w, std::uint32_t now, const IssueWord& in);
  void account_port(std::uint32_t w, std::uint32_t held, std::uint32_t now, const IssueWord& in);
  /// Of the cycles in which a warp was ready: those that its port took; in the others another warp
  /// was picked.
  struct PortWait {
    Stall reason;
    std::uint32_t from, until;
  };
  PortWait port_wait(std::uint32_t w, std::uint32_t held, std::uint32_t now,
                     const IssueWord& in) const;
  void record_issue(std::uint32_t w, std::uint32_t now, const IssueWord& in);
  void record_drain(std::uint32_t w, std::uint32_t now);
  void record_access(std::uint32_t w, std::uint32_t now, const IssueWord& in,
                     const exec::Access& access);
  void charge(std::uint32_t until, Stall reason, std::uint32_t line);
  void charge_idle(std::uint32_t now);
  void charge_to(std::uint32_t w, std::uint32_t now);
  void prepare(std::uint32_t w, std::uint32_t at, Stall why);
  static void hold_until(Warp& v, std::uint32_t at, Stall why) { v.earliest = at, v.first = why; }
  void check_scoreboards(std::uint32_t w);
  void raise(Warp& v, std::uint32_t scoreboard, std::uint32_t until, bool is_long);
  Stall port_reason(Port port, std::uint32_t w) const;
  void take_fma(const IssueWord& in, std::uint32_t now);
  /// Times the interval of pipes that take two cycles for a warp: a wgmma's accumulators take turns
  /// of the register file's ports (measured; why the pipes of a cycle are spared is not known).
  std::uint32_t beside_wgmma(std::uint32_t now) const {
    return now < wgmma_until_ ? static_cast<std::uint32_t>(sm_.params.tensor.beside) : 1;
  }
  void set_port(Port port, std::uint32_t free) {
    port_free_[static_cast<std::size_t>(port)] = free;
  }
  void set_ready(std::uint32_t w, std::uint32_t at) {
    ready_[w] = at;
    const std::uint32_t bit = 1u << w;
    runnable_ = at == kBlocked ? runnable_ & ~bit : runnable_ | bit;
  }

  std::uint32_t issue_xu(const IssueWord& in, std::uint32_t now);
  std::uint32_t issue_mio(Warp& v, const IssueWord& in, std::uint32_t now);
  void issue_global(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void issue_invalidate(Warp& v, const IssueWord& in, std::uint32_t now);
  void take_mio_port(std::uint32_t now);
  void take_lg_port(std::uint32_t now);
  const exec::Access* access_of(Warp& v, std::uint32_t w, const IssueWord& in);
  const exec::Access* access_at(Warp& v, std::uint32_t site, std::uint32_t occurrence);
  std::int64_t decision_of(Warp& v, std::uint32_t site, std::uint32_t occurrence);
  bool branch_taken(std::uint32_t w, const IssueWord& in);
  void issue_copy(std::uint32_t w, const IssueWord& in, const WarpFootprint& f,
                  std::uint32_t served, std::uint32_t now);
  void close_copies(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void issue_matrix(Warp& v, const IssueWord& in, std::uint32_t now);
  void issue_wgmma(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void hold(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void wait_for_groups(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void check_groups(std::uint32_t w);
  void issue_box(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void issue_arrival(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void wait_for_phase(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void phase_event(ResidentBlock& block, std::int64_t phase, std::uint32_t at);
  void check_phase(std::uint32_t w);
  void arrive_warpgroup(std::uint32_t w, std::uint32_t now);
  void arrive(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void release_barrier(ResidentBlock& block, std::uint32_t number, std::uint32_t now);
  void set_registers(std::uint32_t w, const IssueWord& in, std::uint32_t now);
  void take_registers(std::uint32_t w, std::uint32_t now);
  bool exits(std::uint32_t w, const IssueWord& in);
  void drain(std::uint32_t w, std::uint32_t now);
  void end_drain(std::uint32_t w, std::uint32_t now);
  void exit_warp(std::uint32_t w, std::uint32_t now);

  SiteState& site(std::uint32_t w, std::uint32_t s) { return sites_[w * sm_.image.site_count + s]; }

  alignas(64) std::array<std::uint32_t, kWarpsOfSubCore> ready_;  // kBlocked: an event has to come
  std::array<std::uint32_t, kPorts> port_free_{};
  std::array<std::uint8_t, kWarpsOfSubCore> port_{};  // that the next instruction takes
  std::uint32_t runnable_ = 0;                        // warps whose ready_ is not kBlocked
  std::uint32_t last_ = 0, next_time_ = kBlocked;
  const IssueWord* code_;
  std::uint64_t* executed_;
  alignas(64) std::array<std::uint32_t, kWarpsOfSubCore> age_{};
  std::array<std::uint32_t, kPorts> interval_{};
  std::uint32_t imad_interval_, float_half_free_ = 0;  // of the halves of the FMA pipe
  std::uint32_t wgmma_until_ = 0;                      // one is on the tensor core
  std::vector<std::uint32_t> xu_starts_;  // when the special-function unit began the last ones
  std::uint32_t xu_next_ = 0, xu_free_ = 0;
  TensorCore tensor_;
  std::vector<AsyncWork> async_;  // by warp, where the program has such work
  std::uint32_t resident_ = 0, slots_used_ = 0, active_since_ = 0;
  SmShared& sm_;
  std::uint32_t index_;
  std::array<Warp, kWarpsOfSubCore> warps_{};
  std::vector<SiteState> sites_;
  Ledger ledger_;
  std::array<std::uint64_t, Ledger::kReasons> warp_stalls_{};
  std::uint64_t warp_cycles_ = 0, active_cycles_ = 0, checksum_ = 0;
  bool had_warp_ = false;
  std::array<std::uint32_t, static_cast<std::size_t>(Opcode::kCount)> latency_{};
};

}  // namespace xpusim::gpu
