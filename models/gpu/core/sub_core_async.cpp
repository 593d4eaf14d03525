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
  const std::uint32_t done = sm_.lsu.copy(in.action, who, f, in.passes, served, now);
  if (done == kBlocked) {
    groups.begin();
  } else {
    groups.add(done);
  }
}

/// LDGDEPBAR follows the copies through the MIO, and moves nothing.
void SubCore::close_copies(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  const std::uint32_t served = sm_.lsu.enter_mio(index_, now, 1);
  take_mio_port(now);
  raise(warps_[w], in.reads, served + cycles(sm_.params.mio.read_latency), false);
  if (!async_.empty()) async_[w].copies.close(now);
}

/// mma.sync: the port is free when the core is.
void SubCore::issue_matrix(Warp& v, const IssueWord& in, std::uint32_t now) {
  const std::uint32_t start = tensor_.start(now);
  tensor_.take_until(start + in.vector);
  interval_[index(Port::kMatrix)] = in.vector;
  set_port(Port::kMatrix, start + in.vector);
  raise(v, in.sets, start + in.target, false);
}

/// The warp's quarter of a wgmma: on the core as long as its products take, or as long as shared
/// memory takes to bring its factors.
void SubCore::issue_wgmma(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  const TensorParams& p = sm_.params.tensor;
  const std::uint32_t start = tensor_.start(now);
  const std::uint32_t end = std::max(start + in.vector, sm_.lsu.move_shared(now, start, in.target));
  const std::uint32_t room = tensor_.queue_until(end);
  const std::int64_t interval = in.a_in_shared ? p.wgmma_interval : p.wgmma_register_interval;
  set_port(Port::kWgmma, std::max(now + cycles(interval), room));
  AsyncGroups& groups = async_[w].products;
  groups.add(end + cycles(in.a_in_shared ? p.wgmma_tail : p.wgmma_register_tail));
  if (in.commits) groups.close(now);
}

/// Instructions after which the warp stands still until something has happened.
void SubCore::hold(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  const std::uint32_t next = now + in.stall;
  switch (in.action) {
    case Action::kCopyWait:
      wait_for_copies(w, in, now);
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

void SubCore::wait_for_copies(std::uint32_t w, const IssueWord& in, std::uint32_t now) {
  Warp& v = warps_[w];
  if (async_.empty()) {
    prepare(w, now + in.stall, Stall::kWait);
    return;
  }
  async_[w].pending = in.passes;
  v.earliest = now + in.stall;
  v.wait = Wait::kCopies;
  v.why = Stall::kLongScoreboard;
  set_ready(w, kBlocked);
  check_copies(w);
}

/// Lets a warp go on whose copies have come, or are known to.
void SubCore::check_copies(std::uint32_t w) {
  Warp& v = warps_[w];
  const std::uint32_t at = async_[w].copies.ready(async_[w].pending);
  if (at == AsyncGroups::kUnknown) return;
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

}  // namespace xpusim::gpu
