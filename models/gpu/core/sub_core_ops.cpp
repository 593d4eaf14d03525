// What the instructions of a sub-core do: memory, special functions, branches, barriers, exits.

#include <algorithm>
#include <utility>

#include "models/gpu/core/sub_core.h"

namespace xpusim::gpu {

namespace {

std::size_t index(Port p) { return static_cast<std::size_t>(p); }
std::size_t index(Opcode op) { return static_cast<std::size_t>(op); }
std::uint32_t cycles(std::int64_t v) { return static_cast<std::uint32_t>(v); }

}  // namespace

void SubCore::take_mio_port(std::uint32_t now) {
  const std::uint32_t free = std::max(now + interval_[index(Port::kMio)], sm_.lsu.mio_free(index_));
  set_port(Port::kMio, free);
  set_port(Port::kLg, std::max(free, sm_.lsu.lg_free()));
}

/// The special-function unit behind its own short queue (the profiler counts a full one as
/// mio_throttle); returns the cycle of the result.
std::uint32_t SubCore::issue_xu(const IssueWord& in, std::uint32_t now) {
  const std::uint32_t start = std::max(now, xu_free_);
  xu_free_ = start + cycles(sm_.params.pipes.xu_interval);
  xu_starts_[xu_next_] = start;
  if (++xu_next_ == xu_starts_.size()) xu_next_ = 0;
  set_port(Port::kXu, std::max(now + 1, xu_starts_[xu_next_]));
  return start + latency_[index(in.op)];
}

std::uint32_t SubCore::issue_mio(Warp& v, const IssueWord& in, std::uint32_t now) {
  const bool acts = in.action == Action::kConstant || in.vector == 0 || v.in_group < in.vector;
  // An access whose lanes are all off passes all the same (measured: a wavefront each).
  const std::uint32_t passes = acts ? in.passes : std::min<std::uint32_t>(in.passes, 1);
  std::uint32_t served = sm_.lsu.enter_mio(index_, now, passes);
  take_mio_port(now);
  raise(v, in.reads, served + cycles(sm_.params.mio.read_latency), false);
  if (in.action == Action::kConstant) {
    if (sm_.constants_ready == kBlocked) {
      sm_.constants_ready = served + cycles(sm_.params.fetch.constant_miss_latency);
    }
    served = std::max(served, sm_.constants_ready);
  } else {
    sm_.lsu.count_wavefronts(passes);
    served += std::max<std::uint32_t>(passes, 1) - 1;
  }
  return served + latency_[index(in.op)];
}

const exec::Access* SubCore::access_of(Warp& v, std::uint32_t w, const IssueWord& in) {
  return access_at(v, in.site, site(w, in.site).next * sm_.image.copies[in.site] + in.target);
}

const exec::Access* SubCore::access_at(Warp& v, std::uint32_t number, std::uint32_t occurrence) {
  BlockRun& run = sm_.blocks[v.block].run;
  if (number == run.effect_site && occurrence == run.effect_occurrence) sm_.source.advance(run);
  while (run.trace.access_count(number) <= occurrence) {
    if (!sm_.source.advance(run)) return nullptr;
  }
  return &run.trace.access(number, occurrence);
}

std::int64_t SubCore::decision_of(Warp& v, std::uint32_t site_number, std::uint32_t occurrence) {
  BlockRun& run = sm_.blocks[v.block].run;
  while (run.trace.decision_count(site_number) <= occurrence) {
    if (!sm_.source.advance(run)) return 0;
  }
  return run.trace.decision(site_number, occurrence);
}

void SubCore::issue_global(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  WarpFootprint& f = sm_.footprint;
  f.count = f.lanes = f.lines = f.wavefronts = 0;
  if (const exec::Access* a = access_of(v, w, in)) {
    sm_.image.footprints[in.site].touch(*a, v.in_group, in.vector, f);
    if (sm_.recorder) [[unlikely]]
      record_access(w, now, in, *a);
  }
  if (in.last_of_site) ++site(w, in.site).next;
  const bool copies = in.action == Action::kCopy || in.action == Action::kCopyBypass;
  const bool stores = in.action != Action::kLoad && !copies;
  const bool is_atomic = in.action == Action::kAtomic || in.action == Action::kReduction;
  const std::uint32_t passes = stores ? sm_.lsu.passes(f) : 0u;
  const std::uint32_t served = sm_.lsu.enter_mio(index_, now, passes);
  raise(v, in.reads, served + cycles(sm_.params.mio.read_latency), false);
  if (copies) {
    issue_copy(w, in, f, served, now);
    take_lg_port(now);
    return;
  }
  // As an access to shared memory: in the masked tails of measured streams, one each.
  if (f.lanes == 0) sm_.lsu.count_wavefronts(1);
  const WarpRef who{age_[w], static_cast<std::uint8_t>(index_), static_cast<std::uint8_t>(w),
                    in.sets, v.block};
  const std::uint32_t done =
      sm_.lsu.access(in.action, who, f, served, now, is_atomic && in.passes != 0);
  raise(v, in.sets, done, true);
  const bool in_flight = done == kBlocked;
  if (in_flight && (in.action == Action::kStore || in.action == Action::kReduction)) {
    ++v.stores;
    ++sm_.stores_left;
    if (sm_.lsu.sent() == kBlocked) {
      ++v.unsent;
    } else {
      sm_.blocks[v.block].sent = std::max(sm_.blocks[v.block].sent, sm_.lsu.sent());
    }
  }
  take_lg_port(now);
}

void SubCore::issue_invalidate(Warp& v, const IssueWord& in, std::uint32_t now) {
  raise(v, in.sets, sm_.lsu.invalidate(sm_.lsu.enter_mio(index_, now, 1)), true);
  take_lg_port(now);
}

void SubCore::take_lg_port(std::uint32_t now) {
  take_mio_port(now);
  for (std::uint32_t s = 0; s < kSubCores; ++s) sm_.sub_cores[s].lg_queue_free(sm_.lsu.lg_free());
}

void SubCore::lg_queue_free(std::uint32_t at) {
  const std::uint32_t free = std::max(at, port_free_[index(Port::kMio)]);
  if (free != port_free_[index(Port::kLg)]) set_port(Port::kLg, free);
}

bool SubCore::branch_taken(std::uint32_t w, const IssueWord& in) {
  if (in.branch == Branch::kAlways) return true;
  if (in.branch == Branch::kToGroup) return sm_.image.warps[warps_[w].in_block].group != 0;
  SiteState& s = site(w, in.site);
  switch (in.branch) {
    case Branch::kLoopEntry:
      s.left = static_cast<std::uint32_t>(
          std::max<std::int64_t>(0, decision_of(warps_[w], in.site, s.next++)));
      return s.left == 0;
    case Branch::kLoopBack:
      if (s.left > 0) --s.left;
      return s.left > 0;
    case Branch::kIfSet:
      return decision_of(warps_[w], in.site, s.next++) != 0;
    default:
      return decision_of(warps_[w], in.site, s.next++) == 0;
  }
}

void SubCore::arrive(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  ResidentBlock& block = sm_.blocks[v.block];
  v.earliest = now + in.stall;
  warp_stalls_[static_cast<std::size_t>(Stall::kWait)] += v.earliest - v.last;
  v.last = v.earliest;
  v.wait = Wait::kBarrier;
  v.why = Stall::kBarrier;
  set_ready(w, kBlocked);
  ResidentBlock::Barrier& barrier = block.barriers[in.target];
  barrier.here |= 1ull << (index_ * kWarpsOfSubCore + w);
  barrier.meeting = in.vector;
  const std::uint32_t served = sm_.lsu.enter_mio(index_, now, 0);  // takes a turn like accesses
  take_mio_port(now);
  const std::uint32_t counted = std::max(served - 1, sm_.barrier_free);
  sm_.barrier_free = counted + cycles(sm_.params.mio.barrier_interval);
  release_barrier(block, in.target, counted);
}

void SubCore::release_barrier(ResidentBlock& block, std::uint32_t number, std::uint32_t now) {
  ResidentBlock::Barrier& barrier = block.barriers[number];
  const std::uint32_t meeting =
      barrier.meeting != 0 ? barrier.meeting : block.warps_left - block.leaving;
  if (static_cast<std::uint32_t>(__builtin_popcountll(barrier.here)) < meeting) return;
  const std::uint32_t at = now + cycles(sm_.params.mio.barrier_latency);
  for (std::uint64_t m = std::exchange(barrier.here, 0); m != 0; m &= m - 1) {
    const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(m));
    sm_.sub_cores[bit / kWarpsOfSubCore].leave_barrier(bit % kWarpsOfSubCore, at, Stall::kBarrier);
  }
}

/// Gives registers up, or waits until the block has as many to spare.
void SubCore::set_registers(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  ResidentBlock& block = sm_.blocks[v.block];
  const std::int64_t more = std::int64_t{in.target} - v.registers;
  v.registers = static_cast<std::uint8_t>(in.target);
  hold_until(v, now + in.stall, Stall::kWait);
  if (more <= block.registers) {
    block.registers -= more;
    prepare(w, v.earliest, Stall::kWait);
  } else {
    v.wait = Wait::kRegisters;
    v.why = Stall::kWarpgroup;
    v.missing_registers = static_cast<std::uint8_t>(more);
    set_ready(w, kBlocked);
    block.at_registers |= 1ull << (index_ * kWarpsOfSubCore + w);
  }
  for (std::uint64_t m = more < 0 ? block.at_registers : 0; m != 0; m &= m - 1) {
    const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(m));
    sm_.sub_cores[bit / kWarpsOfSubCore].take_registers(bit % kWarpsOfSubCore, now);
  }
}

/// Lets a warp go on that waits for registers, if the block has enough.
void SubCore::take_registers(std::uint32_t w, std::uint32_t now) {
  Warp& v = warps_[w];
  ResidentBlock& block = sm_.blocks[v.block];
  if (v.missing_registers > block.registers) return;
  block.registers -= v.missing_registers;
  block.at_registers &= ~(1ull << (index_ * kWarpsOfSubCore + w));
  leave_barrier(w, std::max(v.earliest, now + 1), Stall::kWarpgroup);
}

void SubCore::leave_barrier(std::uint32_t w, std::uint32_t at, Stall why) {
  prepare(w, std::max(at, warps_[w].earliest), why);
  sm_.wake[index_] = std::min(sm_.wake[index_], time(w));
}

bool SubCore::exits(std::uint32_t w, const IssueWord& in) {
  if (!in.by_site) return true;
  Warp& v = warps_[w];
  const exec::Access* a = access_of(v, w, in);
  return a == nullptr || !sm_.image.footprints[in.site].any_active(*a, v.in_group, in.vector);
}

/// A warp past its exit: no barrier waits for it, but its slot is taken while its stores wait.
void SubCore::drain(std::uint32_t w, std::uint32_t now) {
  Warp& v = warps_[w];
  v.wait = Wait::kDrain;
  v.why = Stall::kDrain;
  set_ready(w, kBlocked);
  ResidentBlock& block = sm_.blocks[v.block];
  ++block.leaving;
  for (std::uint32_t n = 0; n < kBarriersOfBlock; ++n) {
    if (block.barriers[n].here != 0) release_barrier(block, n, now);
  }
}

void SubCore::end_drain(std::uint32_t w, std::uint32_t now) {
  Warp& v = warps_[w];
  warp_stalls_[static_cast<std::size_t>(Stall::kDrain)] += now + 1 - v.last;
  if (resident_ == 1) charge(now + 1, Stall::kDrain, code_[v.pc].line);
  if (sm_.recorder) [[unlikely]]
    record_drain(w, now);
  --sm_.blocks[v.block].leaving;
  exit_warp(w, now);
}

void SubCore::exit_warp(std::uint32_t w, std::uint32_t now) {
  Warp& v = warps_[w];
  v.wait = Wait::kExited;
  set_ready(w, kBlocked);
  warp_cycles_ += now + 1 - v.start;
  if (--resident_ == 0) active_cycles_ += now + 1 - active_since_;
  ResidentBlock& block = sm_.blocks[v.block];
  if (--block.warps_left == 0) {
    sm_.ended_block = v.block;
    return;
  }
  for (std::uint32_t n = 0; n < kBarriersOfBlock; ++n) {
    if (block.barriers[n].here != 0) release_barrier(block, n, now);
  }
}

void SubCore::complete(const Completion& c, std::uint32_t now) {
  const std::uint32_t w = c.who.warp;
  Warp& v = warps_[w];
  if (!v.in_use || age_[w] != c.who.age || v.wait == Wait::kExited) return;
  if (c.kind == Completion::kCopy) {
    async_[w].copies.end(c.who.scoreboard, c.ready + cycles(sm_.params.mio.copy_latency));
    if (v.wait == Wait::kCopies) check_groups(w);
    return;
  }
  if (c.kind == Completion::kSent) {
    ResidentBlock& block = sm_.blocks[v.block];
    block.sent = std::max(block.sent, c.ready);
    if (--v.unsent == 0 && v.wait == Wait::kDrain) end_drain(w, now);
    return;
  }
  if (c.kind == Completion::kStore) {
    if (--v.stores == 0 && v.wait == Wait::kMembar) {
      prepare(w, std::max(v.earliest, c.ready), Stall::kMembar);
      sm_.wake[index_] = std::min(sm_.wake[index_], time(w));
    }
  }
  if (c.who.scoreboard >= kScoreboards) return;
  --v.count[c.who.scoreboard];
  v.clear[c.who.scoreboard] = std::max(v.clear[c.who.scoreboard], c.ready);
  if (v.wait != Wait::kScoreboard) return;
  check_scoreboards(w);
  sm_.wake[index_] = std::min(sm_.wake[index_], time(w));
}

}  // namespace xpusim::gpu
