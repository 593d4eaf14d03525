// Asynchronous copies, matrix instructions, and the waits for them.

#include <algorithm>
#include <bit>
#include <utility>

#include "models/gpu/core/sub_core.h"

namespace xpusim::gpu {

namespace {

std::size_t index(Port p) { return static_cast<std::size_t>(p); }
std::uint32_t cycles(std::int64_t v) { return static_cast<std::uint32_t>(v); }

}  // namespace

void SubCore::issue_copy(std::uint32_t w, const IssueWord& in, const WarpFootprint& f,
                         std::uint32_t served, std::uint32_t now) {
  AsyncGroups& groups = async_[w].copies;
  const WarpRef who{age_[w], static_cast<std::uint8_t>(index_), static_cast<std::uint8_t>(w),
                    groups.open(), warps_[w].block};
  const Lsu::CopyShape shape =
      in.action == Action::kCopyBypass
          ? Lsu::CopyShape{16, 0}
          : Lsu::CopyShape{in.passes & kWideCopy ? 8u : 4u, in.passes & (kWideCopy - 1u)};
  const std::uint32_t done = sm_.lsu.copy(in.action, who, f, shape, served, now);
  if (done == kBlocked) {
    groups.begin();
  } else {
    groups.add(done);
  }
}

/// LDGDEPBAR follows the copies through the MIO, and moves nothing.
void SubCore::close_copies(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  const std::uint32_t served = sm_.lsu.enter_mio(index_, now, 0);
  take_mio_port(now);
  raise(warps_[w], in.reads, served + cycles(sm_.params.mio.read_latency), false);
  if (!async_.empty()) async_[w].copies.close(now);
}

/// mma.sync: the port is free when the core is.
void SubCore::issue_matrix(Warp& v, const IssueWord& in, std::uint32_t now) {
  const std::uint32_t start = tensor_.begin_mma(now, in.vector);
  interval_[index(Port::kMatrix)] = in.vector;
  set_port(Port::kMatrix, start + in.vector);
  raise(v, in.sets, start + in.target, false);
}

/// The warp's quarter of a wgmma: on the core as long as its products take, or as long as shared
/// memory takes to bring its factors. The next one follows after a quarter of its products' time at
/// the earliest (measured: the accumulators' addresses are passed on).
void SubCore::issue_wgmma(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  const TensorParams& p = sm_.params.tensor;
  const std::uint32_t start = tensor_.wgmma_start(now, w, in.a_in_shared);
  const std::uint32_t end = std::max(start + in.vector, sm_.lsu.move_shared(now, start, in.target));
  const std::uint32_t room = tensor_.queue(start, end, w);
  wgmma_until_ = end;
  const std::int64_t least = in.a_in_shared ? p.wgmma_interval : p.wgmma_register_interval;
  const std::uint32_t interval = std::max(cycles(least), static_cast<std::uint32_t>(in.vector / 4));
  interval_[index(Port::kWgmma)] = interval;
  set_port(Port::kWgmma, std::max(now + interval, room));
  AsyncGroups& groups = async_[w].products;
  groups.add(end + cycles(in.a_in_shared ? p.wgmma_tail : p.register_tail));
  if (in.commits) groups.close(now);
}

/// Instructions after which the warp stands still until something has happened.
void SubCore::hold(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  const std::uint32_t next = now + in.stall;
  switch (in.action) {
    case Action::kCopyWait:
    case Action::kBoxWait:
      wait_for_groups(w, in, now);
      break;
    case Action::kPhaseWait:
      wait_for_phase(w, in, now);
      break;
    case Action::kWgArrive:
      arrive_warpgroup(w, now);
      break;
    case Action::kWgWait: {
      const std::uint32_t at = async_.empty() ? 0 : async_[w].products.ready(in.passes);
      prepare(w, std::max(next, at), at > next ? Stall::kWarpgroup : Stall::kWait);
      break;
    }
    default:
      prepare(w, std::max(next, now + cycles(sm_.params.mio.proxy_fence_latency)), Stall::kMembar);
      break;
  }
}

/// Copies that bring data, or boxes that take them from shared memory.
void SubCore::wait_for_groups(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  if (async_.empty()) {
    prepare(w, now + in.stall, Stall::kWait);
    return;
  }
  v.pending = in.passes;
  hold_until(v, now + in.stall, Stall::kWait);
  v.wait = in.action == Action::kBoxWait ? Wait::kBoxes : Wait::kCopies;
  v.why = Stall::kLongScoreboard;
  set_ready(w, kBlocked);
  check_groups(w);
}

/// Lets a warp go on whose copies have come, or are known to.
void SubCore::check_groups(std::uint32_t w) {
  Warp& v = warps_[w];
  const AsyncWork& work = async_[w];
  std::uint32_t at = (v.wait == Wait::kBoxes ? work.boxes : work.copies).ready(v.pending);
  if (at == AsyncGroups::kUnknown) return;
  if (v.wait == Wait::kCopies && at > v.earliest) at = sm_.lsu.end_wait(at);
  prepare(w, std::max(v.earliest, at), at > v.earliest ? Stall::kLongScoreboard : Stall::kWait);
  sm_.wake[index_] = std::min(sm_.wake[index_], time(w));
}

void SubCore::arrive_warpgroup(std::uint32_t w, std::uint32_t now) {
  Warp& v = warps_[w];
  v.wait = Wait::kWarpgroup;
  v.why = Stall::kWarpgroup;
  set_ready(w, kBlocked);
  std::uint64_t& here = sm_.blocks[v.block].at_arrive[v.in_block / kWarpsOfWarpgroup];
  here |= 1ull << (index_ * kWarpsOfSubCore + w);
  if (std::popcount(here) < static_cast<int>(kWarpsOfWarpgroup)) return;
  const std::uint32_t at = now + cycles(sm_.params.tensor.arrive_latency);
  for (std::uint64_t m = std::exchange(here, 0); m != 0; m &= m - 1) {
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(m));
    sm_.sub_cores[bit / kWarpsOfSubCore].leave_barrier(bit % kWarpsOfSubCore, at,
                                                       Stall::kWarpgroup);
  }
}

/// One lane gives the engine a box; each copy from shared memory is a group of the warp.
void SubCore::issue_box(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  if (in.vector != 0 && v.in_group >= in.vector) return;
  const exec::Access* a = access_at(v, in.site, site(w, in.site).next++);
  if (a == nullptr) return;
  AsyncGroups& boxes = async_[w].boxes;
  const WarpRef who{age_[w], static_cast<std::uint8_t>(index_), static_cast<std::uint8_t>(w),
                    boxes.open(), v.block};
  if (a->kind != exec::AccessKind::kAsyncCopy) {
    boxes.begin();
    boxes.close(now);
  } else if (a->phase == exec::kNoPhase) {
    return;  // its predicate is off
  }
  if (sm_.tma.begin(*a, who, now)) ++sm_.stores_left;
  for (const TmaEvent& e : sm_.tma.take_events()) sm_.sub_cores[e.who.sub_core].box_event(e);
}

void SubCore::box_event(const TmaEvent& e) {
  const std::uint32_t w = e.who.warp;
  if (!warps_[w].in_use || age_[w] != e.who.age) return;
  if (e.kind == TmaEvent::kArrived) {
    phase_event(sm_.blocks[e.who.block], e.phase, e.at);
  } else if (e.kind == TmaEvent::kRead) {
    async_[w].boxes.end(e.who.scoreboard, e.at);
    if (warps_[w].wait == Wait::kBoxes) check_groups(w);
  }
}

void SubCore::issue_arrival(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  if (in.vector != 0 && v.in_group >= in.vector) return;
  const std::uint32_t served = sm_.lsu.enter_mio(index_, now, 1);
  take_mio_port(now);
  const std::uint32_t done = served + cycles(sm_.params.tma.arrive_latency);
  raise(v, in.reads, served + cycles(sm_.params.mio.read_latency), false);
  raise(v, in.sets, done, false);
  if (in.site == kNoImageSite) return;
  const std::int64_t phase = decision_of(v, in.site, site(w, in.site).next++);
  if (phase != exec::kNoPhase) phase_event(sm_.blocks[v.block], phase, done);
}

void SubCore::phase_event(ResidentBlock& block, std::int64_t number, std::uint32_t at) {
  const auto n = static_cast<std::size_t>(number);
  if (block.phases.size() <= n) block.phases.resize(n + 1);
  ++block.phases[n].events;
  block.phases[n].ready = std::max(block.phases[n].ready, at);
  for (std::uint64_t m = block.at_phase; m != 0; m &= m - 1) {
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(m));
    sm_.sub_cores[bit / kWarpsOfSubCore].check_phase(bit % kWarpsOfSubCore);
  }
}

void SubCore::wait_for_phase(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  sm_.lsu.enter_mio(index_, now, 1);
  take_mio_port(now);
  const std::int64_t phase = decision_of(v, in.site, site(w, in.site).next++);
  hold_until(v, now + std::max<std::uint32_t>(in.stall, cycles(sm_.params.tma.wait_latency)),
             Stall::kShortScoreboard);
  if (phase == exec::kNoPhase) {
    prepare(w, v.earliest, Stall::kShortScoreboard);
    return;
  }
  async_[w].phase = phase;
  v.wait = Wait::kPhase;
  v.why = Stall::kLongScoreboard;
  set_ready(w, kBlocked);
  sm_.blocks[v.block].at_phase |= 1ull << (index_ * kWarpsOfSubCore + w);
  check_phase(w);
}

/// Lets a warp go on whose phase is complete: all events that the trace has of it have taken place.
void SubCore::check_phase(std::uint32_t w) {
  Warp& v = warps_[w];
  ResidentBlock& block = sm_.blocks[v.block];
  const std::int64_t number = async_[w].phase;
  const auto n = static_cast<std::size_t>(number);
  if (n >= block.phases.size()) return;
  const Phase& phase = block.phases[n];
  if (phase.events < block.run.trace.phase_events(number)) return;
  block.at_phase &= ~(1ull << (index_ * kWarpsOfSubCore + w));
  const std::uint32_t over = phase.ready + cycles(sm_.params.tma.wait_latency);
  const bool waited = over > v.earliest;
  prepare(w, std::max(over, v.earliest), waited ? Stall::kLongScoreboard : Stall::kShortScoreboard);
  sm_.wake[index_] = std::min(sm_.wake[index_], time(w));
}

}  // namespace xpusim::gpu
