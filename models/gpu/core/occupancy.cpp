#include "models/gpu/core/occupancy.h"

#include <algorithm>
#include <array>

namespace xpusim::gpu {

namespace {
constexpr std::int64_t kSubCoresOfSm = 4;
constexpr std::int64_t kLeastRegisters = 16;
constexpr std::int64_t kSharedUnit = 128;  // bytes
constexpr std::array<std::int64_t, 10> kCarveOutsKib{0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

std::int64_t round_up(std::int64_t v, std::int64_t unit) { return (v + unit - 1) / unit * unit; }

std::int64_t carve_out(const SmParams& sm, std::int64_t needed) {
  for (std::int64_t kib : kCarveOutsKib) {
    if (kib * 1024 >= needed) return std::min(kib * 1024, sm.l1_bytes);
  }
  return std::min(sm.shared_bytes, sm.l1_bytes);
}
}  // namespace

Occupancy occupancy(const SmParams& sm, const Program& program) {
  Occupancy o;
  const std::int64_t warps = std::max(1, program.num_warps);
  o.registers_per_thread = std::max<std::int64_t>(program.registers_per_thread, kLeastRegisters);
  const std::int64_t per_warp = kWarpLanes * round_up(o.registers_per_thread, kRegisterUnit);
  o.by_registers = sm.registers / kSubCoresOfSm / per_warp * kSubCoresOfSm / warps;
  o.shared_bytes_per_block = program.shared_bytes + sm.shared_reserved_bytes;
  const std::int64_t taken = round_up(o.shared_bytes_per_block, kSharedUnit);
  o.by_shared = program.shared_bytes == 0 || taken == 0 ? sm.blocks : sm.shared_bytes / taken;
  o.by_warps = sm.warps / warps;
  o.by_slots = sm.blocks;
  o.blocks = std::min({o.by_registers, o.by_shared, o.by_warps, o.by_slots});
  o.carve_out_bytes = carve_out(sm, program.shared_bytes == 0 ? 0 : taken * o.blocks);
  return o;
}

}  // namespace xpusim::gpu
