#include "models/gpu/compiler/lowering/partial_results.h"

#include <algorithm>

#include "sim/kernel/analysis/shared_banks.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWavefrontBytes = 128;

SharedPlace place(SharedLanes lanes) {
  const auto active = static_cast<std::uint32_t>(
      std::count_if(lanes.lanes.begin(), lanes.lanes.end(),
                    [](std::int64_t at) { return at != SharedLanes::kOff; }));
  const auto taken = kernel::shared_bank_map(lanes.at(0, 0), lanes.bytes).size();
  const std::size_t fewest =
      std::max(1u, (active * lanes.bytes + kWavefrontBytes - 1) / kWavefrontBytes);
  return {std::move(lanes), static_cast<std::uint8_t>(taken > fewest ? taken - fewest : 0)};
}

}  // namespace

PartialResults::PartialResults(const kernel::LinearLayout& layout, std::size_t axis)
    : layout_(layout), axis_(axis), stride_(layout.shape.size()) {
  std::vector<std::size_t> fastest_first{layout.fastest_dim()};
  for (std::size_t d = stride_.size(); d-- > 0;) {
    if (d != fastest_first[0]) fastest_first.push_back(d);
  }
  std::int64_t results = 1;
  for (const std::size_t d : fastest_first) {
    if (d == axis) continue;
    stride_[d] = results;
    results *= layout.shape[d];
  }
  for (std::uint32_t bit = 0; bit < layout.warps.size(); ++bit) {
    if (layout.warps[bit][axis] != 0) along_.push_back(bit);
  }
  std::sort(along_.begin(), along_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return layout.warps[a][axis] < layout.warps[b][axis];
  });
  warps_ = 1u << along_.size();
}

std::int64_t PartialResults::row(const kernel::Basis& basis) const {
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < stride_.size(); ++d) sum += basis[d] * stride_[d];
  return sum;
}

std::uint32_t PartialResults::words_before(kernel::Basis at) const {
  at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis_), 0);
  return static_cast<std::uint32_t>(row(at)) * warps_;
}

SharedPlace PartialResults::by_result(std::uint32_t bytes, std::int64_t base,
                                      std::uint32_t idle_lanes) const {
  SharedLanes s{bytes, base, {}, {}, {}};
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    const bool idle = (lane & idle_lanes) != 0;
    s.lanes.push_back(idle ? SharedLanes::kOff : row(layout_.at(0, lane, 0)) * warps_ * bytes);
  }
  for (const kernel::Basis& warp : layout_.warps) s.warps.push_back(row(warp) * warps_ * bytes);
  return place(std::move(s));
}

SharedPlace PartialResults::written(std::uint32_t bytes, std::int64_t base) const {
  std::uint32_t idle = layout_.copy_lanes();
  for (std::uint32_t bit = 0; bit < layout_.lanes.size(); ++bit) {
    if (layout_.lanes[bit][axis_] != 0) idle |= 1u << bit;
  }
  SharedPlace written = by_result(bytes, base, idle);
  for (std::size_t n = 0; n < along_.size(); ++n) {
    written.lanes.warps[along_[n]] += std::int64_t{bytes} << n;
  }
  return written;
}

SharedPlace PartialResults::in_order(std::uint32_t bytes, std::int64_t base, std::uint32_t lanes,
                                     std::uint32_t stride) const {
  SharedLanes s{bytes, base, {}, {}, {}};
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) {
    const bool acts = lane < lanes && lane % stride == 0;
    s.lanes.push_back(acts ? std::int64_t{lane} * bytes : SharedLanes::kOff);
  }
  for (std::uint32_t bit = 0; bit < layout_.warps.size(); ++bit) {
    s.warps.push_back(std::int64_t{kWarpLanes} * bytes << bit);
  }
  return place(std::move(s));
}

SharedPlace PartialResults::read(std::uint32_t bytes, std::int64_t base) const {
  return by_result(bytes, base, 0);
}

}  // namespace xpusim::gpu
