#include <algorithm>
#include <utility>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

constexpr int kAttempts = 8;
constexpr double kWorthFlowing = 0.96;  ///< of the length at most, for loads to flow
constexpr int kWithinReach = 4;         ///< registers too many that reordering may still save

int round_up(int n) { return (n + kGranule - 1) / kGranule * kGranule; }

Placed attempt(const MachineCode& code, const CompilerParams& params, const ScheduleGoal& goal,
               bool lingering) {
  Placed p;
  p.code = code;
  p.schedule = schedule(p.code, params, goal);
  exit_early(p.code);
  spill_predicates(p.code);
  p.where = allocate(p.code, lingering);
  return p;
}

/// Lane registers that code may keep alive for the most warps to fit.
int full_occupancy_budget(const CompilerParams& params) {
  return static_cast<int>(params.occupancy_registers - params.reserved_registers) - kStackPointer;
}

int granted(const Placed& p, const CompilerParams& params) {
  return round_up(p.where.general + static_cast<int>(params.reserved_registers));
}

/// For several warps a block: registers are weighed against how many blocks fit.
Placed place_for_occupancy(const MachineCode& code, const CompilerParams& params, int most,
                           int warps) {
  const int full = full_occupancy_budget(params);
  Placed best = attempt(code, params, {.comfortable = full}, true);
  int budget = best.schedule.peak;
  bool lingering = true;
  const double limit = static_cast<double>(best.schedule.length) * params.longest_trade;
  for (int n = full; n < budget; n += kGranule) {
    Placed tight = attempt(code, params, {.budget = n, .comfortable = full}, true);
    if (static_cast<double>(tight.schedule.length) > limit) continue;
    if (n == full) lingering = tight.schedule.peak > full + kWithinReach;
    if (tight.schedule.peak > n + kWithinReach) continue;
    budget = n;
    best = std::move(tight);
  }
  const int reserved = kStackPointer + static_cast<int>(params.reserved_registers);
  const int needed = lingering ? std::max(full, best.schedule.peak) : full;
  const int goal = round_up(needed + reserved) - reserved + kStackPointer;
  for (int n = 0; n < kAttempts && best.where.general > goal; ++n) {
    Placed smaller = attempt(code, params, {.budget = budget - n}, lingering);
    if (smaller.where.general < best.where.general) best = std::move(smaller);
  }
  const auto blocks = [&](const Placed& p) {
    return kRegistersOfSm / (granted(p, params) * kWarpLanes * warps);
  };
  if (granted(best, params) > round_up(full)) {
    const int same =
        kRegistersOfSm / (std::max(1, blocks(best)) * kWarpLanes * warps) / kGranule * kGranule;
    const int room = std::min(same, most) - reserved;
    Placed roomy = attempt(code, params, {.budget = room}, lingering);
    if (blocks(roomy) >= blocks(best) && roomy.schedule.length < best.schedule.length) {
      best = std::move(roomy);
    }
  }
  Placed flowing =
      attempt(code, params, {.budget = best.schedule.peak, .loads_flow = true}, lingering);
  const double worth = static_cast<double>(best.schedule.memory_length) * kWorthFlowing;
  const bool shorter = static_cast<double>(flowing.schedule.memory_length) < worth;
  if (shorter && granted(flowing, params) <= granted(best, params)) best = std::move(flowing);
  return best;
}

}  // namespace

Placed place(const MachineCode& code, const CompilerParams& params, int most, int warps) {
  Placed best = warps == 1 ? attempt(code, params, {.comfortable = most, .loads_flow = true}, true)
                           : place_for_occupancy(code, params, most, warps);
  const int reserved = kStackPointer + static_cast<int>(params.reserved_registers);
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
