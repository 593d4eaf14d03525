#include <algorithm>
#include <map>
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

/// One way to order the code, and the lane registers that it takes.
struct Attempt {
  Schedule schedule;
  bool lingering;
  int general;
};

/// Tries ways of placing one code.
class Placer {
 public:
  Placer(const MachineCode& code, const CompilerParams& params, int most, int warps)
      : params_(params), most_(most), warps_(warps), schedules_(code, params) {}

  Placed run();

 private:
  Placed build(const Order& order, bool lingering) const {
    Placed p;
    p.code = schedules_.ordered(order);
    exit_early(p.code);
    spill_predicates(p.code);
    p.where = allocate(p.code, lingering);
    return p;
  }
  int registers_of(const Order& order, bool lingering) {
    auto [known, is_new] = registers_.try_emplace({order, lingering}, 0);
    if (is_new) known->second = build(order, lingering).where.general;
    return known->second;
  }
  /// Stalls of busy units are filled, unless that takes registers and saves little.
  Attempt attempt(ScheduleGoal goal, bool lingering) {
    Attempt filled{schedules_.under(goal), lingering, 0};
    filled.general = registers_of(filled.schedule.order, lingering);
    goal.sees_units = false;
    Attempt plain{schedules_.under(goal), lingering, 0};
    const double longest = static_cast<double>(filled.schedule.length) * kWorthRegisters;
    if (static_cast<double>(plain.schedule.length) > longest) return filled;
    plain.general = registers_of(plain.schedule.order, lingering);
    if (plain.general < filled.general) return plain;
    return filled;
  }

  /// Lane registers that code may keep alive for the most warps to fit.
  int full_occupancy_budget() const {
    return static_cast<int>(params_.occupancy_registers - params_.reserved_registers) -
           kStackPointer;
  }
  int reserved() const { return kStackPointer + static_cast<int>(params_.reserved_registers); }
  int granted(const Attempt& a) const {
    return round_up(a.general + static_cast<int>(params_.reserved_registers));
  }
  int blocks(const Attempt& a) const { return kRegistersOfSm / (granted(a) * kWarpLanes * warps_); }
  void save_registers(int budget, int goal, bool lingering, Attempt& best);
  void use_room(bool lingering, Attempt& best);
  void let_loads_flow(bool lingering, Attempt& best);
  Attempt for_occupancy();

  const CompilerParams& params_;
  int most_, warps_;  // registers a thread at most; of a block
  Schedules schedules_;
  std::map<std::pair<Order, bool>, int> registers_;  // [order, lingering] as tried
};

/// Tries to reach the goal within a budget; of those that do, the one that waits least for memory.
void Placer::save_registers(int budget, int goal, bool lingering, Attempt& best) {
  int relaxed = std::min(full_occupancy_budget(), budget);
  for (int n = 0; n < kRelaxations; ++n, relaxed -= kRelaxationStep) {
    Attempt other =
        attempt({.budget = budget, .comfortable = relaxed, .relaxed = relaxed}, lingering);
    const bool both = other.general <= goal && best.general <= goal;
    if (both ? other.schedule.memory_length < best.schedule.memory_length
             : other.general < best.general) {
      best = std::move(other);
    }
  }
}

/// With all registers that leave an SM as many blocks, if the code gets shorter.
void Placer::use_room(bool lingering, Attempt& best) {
  const int same =
      kRegistersOfSm / (std::max(1, blocks(best)) * kWarpLanes * warps_) / kGranule * kGranule;
  const int room = std::min(same, most_) - reserved();
  Attempt roomy = attempt({.budget = room, .relaxed = room}, lingering);
  if (blocks(roomy) >= blocks(best) && roomy.schedule.length < best.schedule.length) {
    best = std::move(roomy);
  }
}

/// As early as the registers that are needed anyway allow, if that saves waiting for memory.
void Placer::let_loads_flow(bool lingering, Attempt& best) {
  const int peak = best.schedule.peak;
  Attempt flowing = attempt({.budget = peak, .relaxed = peak, .loads_flow = true}, lingering);
  const auto length = [](const Attempt& a) {
    return static_cast<double>(a.schedule.memory_length);
  };
  const bool free = granted(flowing) <= granted(best);
  const double a_block = length(flowing) / std::max(1, blocks(flowing));
  if ((free && length(flowing) < length(best) * kWorthFlowing) ||
      a_block < length(best) / std::max(1, blocks(best)) * kWorthBlocks) {
    best = std::move(flowing);
  }
}

/// For several warps a block: registers are weighed against how many blocks fit.
Attempt Placer::for_occupancy() {
  const int full = full_occupancy_budget();
  ScheduleGoal best_goal{.comfortable = full, .relaxed = full};
  Attempt best = attempt(best_goal, true);
  int budget = best.schedule.peak;
  bool lingering = true;
  const double limit = static_cast<double>(best.schedule.length) * params_.longest_trade;
  const double known = static_cast<double>(best.schedule.known_length) * kWorthStalls;
  for (int n = full; n < budget; n += kGranule) {
    Attempt tight = attempt({.budget = n, .comfortable = full, .relaxed = full}, true);
    if (static_cast<double>(tight.schedule.length) > limit) continue;
    if (static_cast<double>(tight.schedule.known_length) > known) continue;
    if (n == full) lingering = tight.schedule.peak > full + kWithinReach;
    if (tight.schedule.peak > n + kWithinReach) continue;
    best_goal.budget = budget = n;
    best = std::move(tight);
  }
  const int needed = lingering ? std::max(full, best.schedule.peak) : full;
  const int goal = round_up(needed + reserved()) - reserved() + kStackPointer;
  if (best.general > goal) {  // sources of shuffles reused at once, before order is given up
    Attempt reused = attempt(best_goal, false);
    if (reused.general <= goal || blocks(reused) > blocks(best)) {
      best = std::move(reused);
      lingering = false;
    }
  }
  for (int n = 0; n < kAttempts && best.general > goal; ++n) {
    save_registers(budget - n, goal, lingering, best);
  }
  if (granted(best) > round_up(full)) use_room(lingering, best);
  let_loads_flow(lingering, best);
  return best;
}

/// A block of one warp lets its loads flow.
Placed Placer::run() {
  const ScheduleGoal alone{
      .comfortable = most_, .relaxed = kRelaxedAlone - reserved(), .loads_flow = true};
  Attempt best = warps_ == 1 ? attempt(alone, true) : for_occupancy();
  const auto fits = [&](const Attempt& a) {
    return a.general + static_cast<int>(params_.reserved_registers) <= most_;
  };
  for (int n = most_ - reserved(); !fits(best) && n > most_ / 2; n -= kGranule) {
    Attempt smaller = attempt({.budget = n}, false);
    if (smaller.general < best.general) best = std::move(smaller);
  }
  Placed placed = build(best.schedule.order, best.lingering);
  placed.length = best.schedule.length;
  return placed;
}

}  // namespace

Placed place(const MachineCode& code, const CompilerParams& params, int most, int warps) {
  return Placer(code, params, most, warps).run();
}

}  // namespace xpusim::gpu
