#include "models/gpu/compiler/lowering/shared_access.h"

#include <algorithm>

#include "sim/kernel/analysis/shared_banks.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWavefrontBytes = 128;

}  // namespace

SharedLanes lanes_of(const kernel::SharedLayout& shared, std::span<const kernel::Basis> lanes,
                     std::span<const kernel::Basis> warps, std::uint32_t bytes, std::int64_t base) {
  SharedLanes s;
  s.bytes = bytes;
  s.base = base;
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    std::int64_t at = 0;
    for (std::size_t bit = 0; bit < lanes.size(); ++bit) {
      if (((lane >> bit) & 1u) != 0) at ^= shared.unpadded(lanes[bit]);
    }
    s.lanes.push_back((lane >> lanes.size()) == 0 ? at : SharedLanes::kOff);
  }
  for (const kernel::Basis& warp : warps) s.warps.push_back(shared.unpadded(warp));
  for (const auto& p : shared.paddings) s.paddings.push_back({p.every, p.bytes});
  return s;
}

SharedAccess::SharedAccess(Lowering& l, const kernel::LinearLayout& layout,
                           const kernel::SharedLayout& shared, const BufferView& view,
                           std::uint32_t most_bytes)
    : view_(view) {
  const kernel::SharedVector vector = kernel::shared_vector(layout, shared, most_bytes);
  bytes_ = vector.elements * static_cast<std::uint32_t>(shared.element_bytes);
  const std::uint32_t fewest = std::max(1u, bytes_ * kWarpLanes / kWavefrontBytes);
  const std::uint32_t passes = kernel::shared_wavefronts(layout, shared, vector.elements);
  extra_passes_ = static_cast<std::uint8_t>(passes > fewest ? passes - fewest : 0);

  std::vector<std::int64_t> images;
  for (const auto* bases : {&layout.lanes, &layout.warps}) {
    for (const kernel::Basis& b : *bases) images.push_back(shared.unpadded(b));
  }
  lanes_ = lanes_of(shared, layout.lanes, layout.warps, bytes_, view.offset);
  std::int64_t set_by_threads = 0;
  for (std::int64_t image : images) set_by_threads |= image;
  const VReg thread = l.index_math().thread_offset(images);
  for (std::uint32_t first = 0; first < layout.register_count(); ++first) {
    if ((first & (layout.copy_registers() | vector.register_bits)) != 0) continue;
    Vector v;
    std::vector<std::pair<std::int64_t, std::uint32_t>> order;
    for (std::uint32_t r = first;; r = ((r | ~vector.register_bits) + 1) & vector.register_bits) {
      const std::uint32_t reg = first | (r & vector.register_bits);
      order.emplace_back(shared.offset(layout.at(reg, 0, 0)), reg);
      if ((reg & vector.register_bits) == vector.register_bits) break;
    }
    std::sort(order.begin(), order.end());
    for (const auto& [offset, reg] : order) v.registers.push_back(reg);
    const std::int64_t offset = shared.unpadded(layout.at(first, 0, 0));
    v.offset = static_cast<std::uint32_t>(offset);
    const std::int64_t crossed = offset & set_by_threads;
    v.immediate = shared.offset(layout.at(first, 0, 0)) - crossed + view.offset;
    v.address = l.index_math().exclusive_or(thread, crossed);
    vectors_.push_back(std::move(v));
  }
}

std::optional<SharedAccess> SharedAccess::make(Lowering& l, const kernel::Op& op, kernel::Type tile,
                                               kernel::Type buffer, const BufferView& view,
                                               std::uint32_t most_bytes) {
  const kernel::LinearLayout* layout = l.layout(tile, op);
  if (!layout) return std::nullopt;
  const auto shared = kernel::shared_layout(buffer, op.text);
  if (!shared) {
    l.error(op, shared.error().list().front().message);
    return std::nullopt;
  }
  return SharedAccess(l, *layout, *shared, view, most_bytes);
}

SharedLanes SharedAccess::lanes(std::uint32_t idle_lanes) const {
  SharedLanes result = lanes_;
  for (std::uint32_t lane = 0; lane < result.lanes.size(); ++lane) {
    if ((lane & idle_lanes) != 0) result.lanes[lane] = SharedLanes::kOff;
  }
  return result;
}

VReg SharedAccess::base(Lowering& l) const {
  return view_.address == kNoVReg ? l.shared_base() : view_.address;
}

}  // namespace xpusim::gpu
