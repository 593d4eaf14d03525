#include <algorithm>
#include <utility>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

constexpr int kAttempts = 8;
constexpr double kWorthFlowing = 0.96;    ///< of the length at most, for loads to flow
constexpr int kWithinReach = 4;           ///< registers too many that reordering may still save
constexpr double kWorthRegisters = 1.05;  ///< of the length at most, for fewer registers (assumed)
/// Of the known length of loops at most, for occupancy (FIT: transposes in loops). What runs once
/// may stall for more warps: streams of vectors keep to 32 registers by clearing destinations late.
constexpr double kWorthStalls = 1.12;
constexpr double kWorthBlocks = 0.5;  ///< of the length a block at most, for loads that cost blocks
constexpr int kRelaxations = 3, kRelaxationStep = 4;  ///< how early work may fill stalls, as tried
/// Registers a thread of blocks of one warp below which work fills stalls: with these as many
/// blocks fit as an SM takes (32).
constexpr int kRelaxedAlone = 64;

int round_up(int n) { return (n + kGranule - 1) / kGranule * kGranule; }

Placed attempt_once(const MachineCode& code, const CompilerParams& params, const ScheduleGoal& goal,
                    bool lingering) {
  Placed p;
  p.code = code;
  p.schedule = schedule(p.code, params, goal);
  exit_early(p.code);
  spill_predicates(p.code);
  p.where = allocate(p.code, lingering);
  return p;
}

/// Stalls of busy units are filled, unless that takes registers and saves little.
Placed attempt(const MachineCode& code, const CompilerParams& params, const ScheduleGoal& goal,
               bool lingering) {
  Placed filled = attempt_once(code, params, goal, lingering);
  ScheduleGoal plain_goal = goal;
  plain_goal.sees_units = false;
  Placed plain = attempt_once(code, params, plain_goal, lingering);
  const double longest = static_cast<double>(filled.schedule.length) * kWorthRegisters;
  const bool saves = plain.where.general < filled.where.general;
  return saves && static_cast<double>(plain.schedule.length) <= longest ? plain : filled;
}

/// Lane registers that code may keep alive for the most warps to fit.
int full_occupancy_budget(const CompilerParams& params) {
  return static_cast<int>(params.occupancy_registers - params.reserved_registers) - kStackPointer;
}

int granted(const Placed& p, const CompilerParams& params) {
  return round_up(p.where.general + static_cast<int>(params.reserved_registers));
}

/// Tries to reach the goal within a budget; of those that do, the one that waits least for memory.
void save_registers(const MachineCode& code, const CompilerParams& params, int budget, int goal,
                    bool lingering, Placed& best) {
  int relaxed = std::min(full_occupancy_budget(params), budget);
  for (int n = 0; n < kRelaxations; ++n, relaxed -= kRelaxationStep) {
    const ScheduleGoal within{.budget = budget, .comfortable = relaxed, .relaxed = relaxed};
    Placed other = attempt(code, params, within, lingering);
    const bool both = other.where.general <= goal && best.where.general <= goal;
    if (both ? other.schedule.memory_length < best.schedule.memory_length
             : other.where.general < best.where.general) {
      best = std::move(other);
    }
  }
}

/// For several warps a block: registers are weighed against how many blocks fit.
Placed place_for_occupancy(const MachineCode& code, const CompilerParams& params, int most,
                           int warps) {
  const int full = full_occupancy_budget(params);
  ScheduleGoal best_goal{.comfortable = full, .relaxed = full};
  Placed best = attempt(code, params, best_goal, true);
  int budget = best.schedule.peak;
  bool lingering = true;
  const double limit = static_cast<double>(best.schedule.length) * params.longest_trade;
  const double known = static_cast<double>(best.schedule.known_length) * kWorthStalls;
  for (int n = full; n < budget; n += kGranule) {
    Placed tight = attempt(code, params, {.budget = n, .comfortable = full, .relaxed = full}, true);
    if (static_cast<double>(tight.schedule.length) > limit) continue;
    if (static_cast<double>(tight.schedule.known_length) > known) continue;
    if (n == full) lingering = tight.schedule.peak > full + kWithinReach;
    if (tight.schedule.peak > n + kWithinReach) continue;
    best_goal.budget = budget = n;
    best = std::move(tight);
  }
  const int reserved = kStackPointer + static_cast<int>(params.reserved_registers);
  const int needed = lingering ? std::max(full, best.schedule.peak) : full;
  const int goal = round_up(needed + reserved) - reserved + kStackPointer;
  const auto blocks = [&](const Placed& p) {
    return kRegistersOfSm / (granted(p, params) * kWarpLanes * warps);
  };
  if (best.where.general > goal) {  // sources of shuffles reused at once, before order is given up
    Placed reused = attempt(code, params, best_goal, false);
    if (reused.where.general <= goal || blocks(reused) > blocks(best)) {
      best = std::move(reused);
      lingering = false;
    }
  }
  for (int n = 0; n < kAttempts && best.where.general > goal; ++n) {
    save_registers(code, params, budget - n, goal, lingering, best);
  }
  if (granted(best, params) > round_up(full)) {
    const int same =
        kRegistersOfSm / (std::max(1, blocks(best)) * kWarpLanes * warps) / kGranule * kGranule;
    const int room = std::min(same, most) - reserved;
    Placed roomy = attempt(code, params, {.budget = room, .relaxed = room}, lingering);
    if (blocks(roomy) >= blocks(best) && roomy.schedule.length < best.schedule.length) {
      best = std::move(roomy);
    }
  }
  const int peak = best.schedule.peak;
  Placed flowing =
      attempt(code, params, {.budget = peak, .relaxed = peak, .loads_flow = true}, lingering);
  const auto length = [](const Placed& p) { return static_cast<double>(p.schedule.memory_length); };
  const bool free = granted(flowing, params) <= granted(best, params);
  const double a_block = length(flowing) / std::max(1, blocks(flowing));
  if ((free && length(flowing) < length(best) * kWorthFlowing) ||
      a_block < length(best) / std::max(1, blocks(best)) * kWorthBlocks) {
    best = std::move(flowing);
  }
  return best;
}

}  // namespace

Placed place(const MachineCode& code, const CompilerParams& params, int most, int warps) {
  const int reserved = kStackPointer + static_cast<int>(params.reserved_registers);
  const ScheduleGoal alone{
      .comfortable = most, .relaxed = kRelaxedAlone - reserved, .loads_flow = true};
  Placed best = warps == 1 ? attempt(code, params, alone, true)
                           : place_for_occupancy(code, params, most, warps);
  const auto fits = [&](const Placed& p) {
    return p.where.general + static_cast<int>(params.reserved_registers) <= most;
  };
  for (int n = most - reserved; !fits(best) && n > most / 2; n -= kGranule) {
    Placed smaller = attempt(code, params, {.budget = n}, false);
    if (smaller.where.general < best.where.general) best = std::move(smaller);
  }
  return best;
}

}  // namespace xpusim::gpu
