#include <algorithm>
#include <utility>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

constexpr int kGranule = 8;  ///< the chip hands out registers a thread in units of eight
constexpr int kAttempts = 6;

int round_up(int n) { return (n + kGranule - 1) / kGranule * kGranule; }

Placed attempt(const MachineCode& code, const CompilerParams& params, int budget) {
  Placed p;
  p.code = code;
  p.schedule = schedule(p.code, params, budget);
  exit_early(p.code);
  spill_predicates(p.code);
  p.where = allocate(p.code);
  return p;
}

}  // namespace

Placed place(const MachineCode& code, const CompilerParams& params) {
  const int full = full_occupancy_budget(params);
  const int reserved = static_cast<int>(params.reserved_registers);
  Placed best = attempt(code, params, kNoBudget);
  int budget = best.schedule.peak;
  if (best.where.general > full + kStackPointer) {
    Placed tight = attempt(code, params, full);
    const double limit = static_cast<double>(best.schedule.length) * params.longest_trade;
    if (static_cast<double>(tight.schedule.length) <= limit) {
      budget = full;
      best = std::move(tight);
    }
  }
  const int goal =
      round_up(std::max(full, best.schedule.peak) + kStackPointer + reserved) - reserved;
  for (int n = 1; n <= kAttempts && best.where.general > goal; ++n) {
    Placed smaller = attempt(code, params, budget - n);
    if (smaller.where.general < best.where.general) best = std::move(smaller);
  }
  return best;
}

}  // namespace xpusim::gpu
