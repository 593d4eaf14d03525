#include "models/gpu/core/sub_core.h"

#include <algorithm>
#include <utility>

#include "models/gpu/core/sm_tracer.h"

namespace xpusim::gpu {

namespace {

constexpr std::uint32_t kNoWarp = ~0u;
constexpr std::uint32_t kNoLine = ~0u;

std::size_t index(Port p) { return static_cast<std::size_t>(p); }
std::size_t index(Opcode op) { return static_cast<std::size_t>(op); }
std::uint32_t cycles(std::int64_t v) { return static_cast<std::uint32_t>(v); }

}  // namespace

SubCore::SubCore(SmShared& sm, std::uint32_t index_of_sm)
    : code_(sm.image.code.data()),
      executed_(sm.profile.executed.data()),
      imad_interval_(cycles(sm.params.pipes.imad_interval)),
      float_half_free_(sm.params.pipes.imad_interval > sm.params.pipes.fma_interval ? 0 : kBlocked),
      xu_starts_(static_cast<std::size_t>(sm.params.pipes.xu_queue)),
      tensor_(sm.params.tensor),
      async_(sm.image.is_async ? kWarpsOfSubCore : 0),
      sm_(sm),
      index_(index_of_sm),
      sites_(kWarpsOfSubCore * sm.image.site_count) {
  ready_.fill(kBlocked);
  const PipeParams& p = sm.params.pipes;
  interval_[index(Port::kFma)] = cycles(p.fma_interval);
  interval_[index(Port::kAlu)] = cycles(p.alu_interval);
  interval_[index(Port::kFp64)] = cycles(p.fp64_interval);
  interval_[index(Port::kXu)] = 1;
  interval_[index(Port::kTensor)] = cycles(p.tensor_interval);
  interval_[index(Port::kMatrix)] = 1;
  interval_[index(Port::kWgmma)] = 1;
  interval_[index(Port::kUniform)] = cycles(p.uniform_interval);
  interval_[index(Port::kMio)] = cycles(sm.params.mio.issue_interval);
  interval_[index(Port::kLg)] = cycles(sm.params.mio.issue_interval);
  interval_[index(Port::kControl)] = 1;
  const MioParams& m = sm.params.mio;
  latency_[index(Opcode::kMufu)] = cycles(p.xu_latency);
  latency_[index(Opcode::kFp64)] = cycles(p.fp64_latency);
  latency_[index(Opcode::kS2ur)] = cycles(m.special_register_latency);
  latency_[index(Opcode::kS2r)] = cycles(m.special_register_latency);
  latency_[index(Opcode::kShfl)] = cycles(m.shuffle_latency);
  latency_[index(Opcode::kLds)] = cycles(m.shared_latency);
  latency_[index(Opcode::kSts)] = cycles(m.shared_latency);
  latency_[index(Opcode::kLdsm)] = cycles(m.shared_latency);
  latency_[index(Opcode::kStsm)] = cycles(m.shared_latency);
  latency_[index(Opcode::kLdc)] = cycles(m.constant_latency);
}

void SubCore::start_warp(std::uint32_t block, std::uint32_t in_block, std::uint32_t age,
                         std::uint32_t start, std::uint32_t now) {
  charge_idle(now);
  if (resident_++ == 0) active_since_ = now;
  had_warp_ = true;
  std::uint32_t w = 0;
  while (warps_[w].in_use) ++w;
  ++slots_used_;
  Warp& v = warps_[w];
  v = Warp{};
  v.in_use = true;
  v.block = static_cast<std::uint8_t>(block);
  v.in_block = static_cast<std::uint8_t>(in_block);
  v.in_group = sm_.image.warps[in_block].number;
  v.registers = static_cast<std::uint8_t>(sm_.image.registers);
  v.last = v.start = now;
  age_[w] = age;
  if (!async_.empty()) {
    async_[w].copies.clear();
    async_[w].products.clear();
    async_[w].boxes.clear();
  }
  std::fill_n(sites_.begin() + w * sm_.image.site_count, sm_.image.site_count, SiteState{});
  prepare(w, start, Stall::kLaunch);
  sm_.wake[index_] = std::min(sm_.wake[index_], std::max(time(w), now));
}

/// Before a warp comes: the idle cycles until `now` were lost to what holds the oldest of the warps
/// that are there.
void SubCore::charge_idle(std::uint32_t now) {
  if (resident_ == 0) {
    charge(now, had_warp_ ? Stall::kNoWarp : Stall::kLaunch, kNoLine);
    return;
  }
  std::uint32_t oldest = kNoWarp;
  for (std::uint32_t w = 0; w < kWarpsOfSubCore; ++w) {
    const bool there = warps_[w].in_use && warps_[w].wait != Wait::kExited;
    if (there && (oldest == kNoWarp || age_[w] < age_[oldest])) oldest = w;
  }
  charge_to(oldest, now);
}

/// An idle sub-core's cycles until `now` were lost to what held the warp, then to its port.
void SubCore::charge_to(std::uint32_t w, std::uint32_t now) {
  if (ledger_.charged() >= now) return;
  const IssueWord& in = code_[warps_[w].pc];
  charge(std::min({warps_[w].earliest, ready_[w], now}), warps_[w].first, in.line);
  charge(std::min(ready_[w], now), warps_[w].why, in.line);
  charge(now, port_reason(in.port, w), in.line);
}

void SubCore::free_block(std::uint32_t block) {
  for (Warp& v : warps_) {
    if (!v.in_use || v.block != block) continue;
    v.in_use = false;
    --slots_used_;
  }
}

std::uint32_t SubCore::tick(std::uint32_t now) {
  std::uint32_t w = last_;
  if (time(w) > now) {
    w = pick(now);
    if (w == kNoWarp) return next_time_;
  }
  issue(w, now);
  last_ = w;
  return earliest(now + 1);
}

std::uint32_t SubCore::pick(std::uint32_t now) {
  // Without a branch that depends on a warp: the host could not foresee it.
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t oldest = kNone;  // age, warp
  std::uint32_t first = kBlocked;
  for (std::uint32_t m = runnable_; m != 0; m &= m - 1) {
    const auto w = static_cast<std::uint32_t>(__builtin_ctz(m));
    const std::uint32_t t = time(w);
    first = std::min(first, t);
    const std::uint64_t aged = std::uint64_t{age_[w]} << 32 | w;
    oldest = std::min(oldest, t <= now ? aged : kNone);
  }
  next_time_ = first;
  return static_cast<std::uint32_t>(oldest);  // of none: kNoWarp
}

std::uint32_t SubCore::earliest(std::uint32_t from) const {
  std::uint32_t first = kBlocked;
  for (std::uint32_t m = runnable_; m != 0; m &= m - 1) {
    first = std::min(first, time(static_cast<std::uint32_t>(__builtin_ctz(m))));
  }
  return std::max(first, from);
}

Stall SubCore::port_reason(Port port, std::uint32_t w) const {
  switch (port) {
    case Port::kXu:
    case Port::kMio:
      return Stall::kMioThrottle;
    case Port::kLg:
      return sm_.lsu.lg_free() > port_free_[index(Port::kMio)] ? Stall::kLgThrottle
                                                               : Stall::kMioThrottle;
    case Port::kWgmma:  // measured: without another warpgroup there is no `gmma`
      return tensor_.last_warp() == w ? Stall::kWarpgroup : Stall::kGmma;
    default:
      return Stall::kMathPipe;
  }
}

void SubCore::charge(std::uint32_t until, Stall reason, std::uint32_t line) {
  const std::uint64_t from = ledger_.charged();
  if (until <= from) return;
  ledger_.charge_until(until, reason);
  if (line != kNoLine) {
    sm_.profile.line_cycles[line * Ledger::kReasons + static_cast<std::size_t>(reason)] +=
        until - from;
  }
  if (sm_.tracer) sm_.tracer->phase(index_, reason, from, until);
}

void SubCore::account(std::uint32_t w, std::uint32_t now, const IssueWord& in) {
  if (sm_.recorder) [[unlikely]]
    record_issue(w, now, in);
  Warp& v = warps_[w];
  // The warp's own life: what held it, then the port, then other warps.
  const std::uint32_t held = std::max(ready_[w], v.last);
  const std::uint32_t first = std::clamp(v.earliest, v.last, held);
  warp_stalls_[static_cast<std::size_t>(v.first)] += first - v.last;
  warp_stalls_[static_cast<std::size_t>(v.why)] += held - first;
  if (held < now) account_port(w, held, now, in);
  v.last = now + 1;
  if (ledger_.charged() < now) charge_to(w, now);
  ledger_.charge_until(now + 1, Stall::kIssued);
  if (sm_.tracer) sm_.tracer->phase(index_, Stall::kIssued, now, now + 1);
}

void SubCore::account_port(std::uint32_t w, std::uint32_t held, std::uint32_t now,
                           const IssueWord& in) {
  const PortWait port = port_wait(w, held, now, in);
  const std::uint32_t taken = port.until - port.from;
  warp_stalls_[static_cast<std::size_t>(port.reason)] += taken;
  warp_stalls_[static_cast<std::size_t>(Stall::kNotSelected)] += now - held - taken;
}

SubCore::PortWait SubCore::port_wait(std::uint32_t w, std::uint32_t held, std::uint32_t now,
                                     const IssueWord& in) const {
  const Stall reason = port_reason(in.port, w);
  const std::uint32_t free = std::clamp(port_free_[port_[w]], held, now);
  // A pipe's first cycle goes to the warp that was picked for it; a queue is full for all of it.
  const std::uint32_t taken =
      reason == Stall::kMathPipe
          ? std::clamp(port_free_[port_[w]] + 1 - interval_[port_[w]], held, free)
          : held;
  return {reason, taken, free};
}

/// Floats go to the half of the FMA pipe that has no multiplier for integers, as long as it is
/// free. The other half is slower beside a wgmma.
void SubCore::take_fma(const IssueWord& in, std::uint32_t now) {
  std::uint32_t& imad_free = port_free_[index(Port::kImad)];
  // Two halves keep up with fma_interval if each takes twice that.
  const std::uint32_t a_float = std::min(imad_interval_, 2 * interval_[index(Port::kFma)]);
  if (in.port == Port::kFma && float_half_free_ <= now) {
    float_half_free_ = now + a_float;
  } else {
    interval_[index(Port::kImad)] = in.port == Port::kImad ? imad_interval_ * in.passes : a_float;
    interval_[index(Port::kImad)] *= beside_wgmma(now);
    imad_free = now + interval_[index(Port::kImad)];
  }
  const std::uint32_t either = std::min(float_half_free_, imad_free);
  set_port(Port::kFma, std::max(now + interval_[index(Port::kFma)], either));
}

/// Flattened: the host calls a handful of small functions for each instruction else.
[[gnu::flatten]] void SubCore::issue(std::uint32_t w, std::uint32_t now) {
  Warp& v = warps_[w];
  const IssueWord& in = code_[v.pc];
  account(w, now, in);
  ++executed_[v.pc];
  checksum_ = checksum_ * 0x9E3779B97F4A7C15ull + ((static_cast<std::uint64_t>(now) << 24) ^
                                                   (static_cast<std::uint64_t>(w) << 16) ^ v.pc);
  set_port(in.port, now + interval_[index(in.port)]);
  if (in.port <= Port::kImad) take_fma(in, now);
  if (in.port == Port::kAlu) set_port(in.port, now + beside_wgmma(now) * interval_[index(in.port)]);
  std::uint32_t next = now + in.stall;
  Stall why = Stall::kWait;
  std::uint32_t target = v.pc + 1u;
  switch (in.action) {
    case Action::kFixed:
      break;
    case Action::kTimed:
      raise(v, in.sets, now + latency_[index(in.op)], false);
      break;
    case Action::kXu:
      raise(v, in.sets, issue_xu(in, now), false);
      break;
    case Action::kMio:
    case Action::kConstant:
      raise(v, in.sets, issue_mio(v, in, now), false);
      break;
    case Action::kLoad:
    case Action::kStore:
    case Action::kAtomic:
    case Action::kReduction:
    case Action::kCopy:
    case Action::kCopyBypass:
      issue_global(w, in, now);
      break;
    case Action::kCopyClose:
      close_copies(w, in, now);
      break;
    case Action::kMatrix:
      issue_matrix(v, in, now);
      break;
    case Action::kWgmma:
      issue_wgmma(w, in, now);
      break;
    case Action::kBoxCopy:
      issue_box(w, in, now);
      break;
    case Action::kPhaseArrive:
      issue_arrival(w, in, now);
      break;
    case Action::kCopyWait:
    case Action::kWgArrive:
    case Action::kWgWait:
    case Action::kFence:
    case Action::kBoxWait:
    case Action::kPhaseWait:
      v.pc = static_cast<std::uint16_t>(target);
      hold(w, in, now);
      return;
    case Action::kInvalidate:
      issue_invalidate(v, in, now);
      break;
    case Action::kBranch:
      if (!branch_taken(w, in)) break;
      target = in.branch == Branch::kToGroup ? sm_.image.warps[v.in_block].begin : in.target;
      next = now + std::max<std::uint32_t>(in.stall, cycles(sm_.params.fetch.branch_latency));
      why = Stall::kBranch;
      v.entered_line = true;
      break;
    case Action::kBarrier:
      v.pc = static_cast<std::uint16_t>(target);
      arrive(w, in, now);
      return;
    case Action::kSetRegisters:
      v.pc = static_cast<std::uint16_t>(target);
      set_registers(w, in, now);
      return;
    case Action::kMembar:
      v.pc = static_cast<std::uint16_t>(target);
      hold_until(v, now + cycles(sm_.params.mio.membar_latency), Stall::kMembar);
      if (v.stores > 0) {
        v.wait = Wait::kMembar;
        v.why = Stall::kMembar;
        set_ready(w, kBlocked);
      } else {
        prepare(w, v.earliest, Stall::kMembar);
      }
      return;
    case Action::kExit:
      if (!exits(w, in)) break;
      if (v.unsent == 0) {
        exit_warp(w, now);
      } else {
        drain(w, now);
      }
      return;
  }
  v.pc = static_cast<std::uint16_t>(target);
  prepare(w, next, why);
}

void SubCore::prepare(std::uint32_t w, std::uint32_t at, Stall why) {
  Warp& v = warps_[w];
  const IssueWord& in = code_[v.pc];
  if (v.pc % kInstructionsOfLine == 0 || v.entered_line) {
    v.entered_line = false;
    if (const std::uint32_t fetched = sm_.fetch.enter(v.pc, at); fetched > at) {
      at = fetched;
      why = Stall::kNoInstruction;
    }
  }
  port_[w] = static_cast<std::uint8_t>(in.port);
  v.why = why;
  hold_until(v, at, why);
  if (in.wait_mask == 0) {
    v.wait = Wait::kNothing;
    set_ready(w, at);
    return;
  }
  check_scoreboards(w);
}

void SubCore::check_scoreboards(std::uint32_t w) {
  Warp& v = warps_[w];
  std::uint32_t at = v.earliest;
  for (std::uint32_t m = code_[v.pc].wait_mask; m != 0; m &= m - 1) {
    const auto sb = static_cast<std::uint32_t>(__builtin_ctz(m));
    const Stall reason = v.long_mask >> sb & 1u ? Stall::kLongScoreboard : Stall::kShortScoreboard;
    if (v.count[sb] > 0) {
      v.wait = Wait::kScoreboard;
      v.why = reason;
      set_ready(w, kBlocked);
      return;
    }
    if (v.clear[sb] > at) {
      at = v.clear[sb];
      v.why = reason;
    }
  }
  v.wait = Wait::kNothing;
  set_ready(w, at);
}

void SubCore::raise(Warp& v, std::uint32_t scoreboard, std::uint32_t until, bool is_long) {
  if (scoreboard >= kScoreboards) return;
  if (until == kBlocked) {
    ++v.count[scoreboard];
  } else {
    v.clear[scoreboard] = std::max(v.clear[scoreboard], until);
  }
  const auto bit = static_cast<std::uint8_t>(1u << scoreboard);
  v.long_mask = static_cast<std::uint8_t>(is_long ? v.long_mask | bit : v.long_mask & ~bit);
}

void SubCore::finish(std::uint32_t blocks_end, std::uint32_t end) {
  charge(blocks_end, had_warp_ ? Stall::kNoWarp : Stall::kNoWork, kNoLine);
  charge(end, Stall::kTail, kNoLine);
}

const char* SubCore::waiting_for() const {
  for (const Warp& v : warps_) {
    if (!v.in_use) continue;
    switch (v.wait) {
      case Wait::kScoreboard:
        return "a warp waits for a scoreboard";
      case Wait::kBarrier:
        return "a warp waits at a barrier";
      case Wait::kMembar:
        return "a warp waits for its stores";
      case Wait::kWarpgroup:
        return "a warp waits for its warpgroup";
      case Wait::kCopies:
        return "a warp waits for its asynchronous copies";
      case Wait::kBoxes:
        return "a warp waits for its copies by TMA";
      case Wait::kPhase:
        return "a warp waits for an mbarrier";
      case Wait::kDrain:
        return "a warp that has exited waits for its stores to leave";
      case Wait::kRegisters:
        return "a warp waits for registers that others give up";
      default:
        break;
    }
  }
  return "";
}

}  // namespace xpusim::gpu
