#include "models/gpu/compiler/lowering/wgmma_descriptors.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kHigh = 0x40000040;  ///< stride and swizzle of 128-byte rows
constexpr std::uint32_t kAddressUnit = 4, kAddressBits = 14;

std::uint32_t distance(const WgmmaDescriptors::Place& place) {
  return static_cast<std::uint32_t>(place[0] << 8 | place[1]);
}

}  // namespace

WgmmaDescriptors::WgmmaDescriptors(Lowering& l, const BufferView& view, const FactorTiles& tiles,
                                   bool both_short, bool beside_fixed)
    : b_(l.builder()),
      tiles_(tiles),
      fixed_(view.address == kNoVReg && !tiles.of_warpgroup),
      beside_fixed_(beside_fixed),
      low_(address(l, view)) {
  VReg first = low_;
  if (tiles_.several_atoms) first = uniform("ULOP3", {low_}, 1);
  if (both_short) first = uniform("UMOV", {first}, 0, true);
  parts_[{0, 0}] = {first, uniform("UMOV", {}, kHigh, !fixed_)};
}

VReg WgmmaDescriptors::address(Lowering& l, const BufferView& view) {
  VReg at = view.address == kNoVReg ? l.shared_base() : view.address;
  if (view.offset != 0) at = uniform("UIADD3", {at}, static_cast<std::uint32_t>(view.offset));
  if (!tiles_.of_warpgroup) {
    return uniform("USGXT", {uniform("USHF", {at}, kAddressUnit)}, kAddressBits);
  }
  const VReg own = uniform("ULOP3", {uniform("USHF.L", {l.warp_number()}, 0, true)}, 2);
  return uniform("ULOP3", {uniform("ULEA.HI", {at, own}, kAddressUnit)}, kAddressBits);
}

VReg WgmmaDescriptors::uniform(std::string_view mnemonic, std::initializer_list<VReg> uses,
                               std::uint32_t bits, bool pinned) {
  const VReg r = b_.uniform();
  b_.emit(Opcode::kUniform, mnemonic, {r}, uses, bits).pinned = pinned;
  return r;
}

WgmmaDescriptors::Pair WgmmaDescriptors::sum(Pair from, const Place& place) {
  const Pair r{b_.uniform(), b_.uniform()};
  b_.emit(Opcode::kUniform, "UIADD3.64", {r[0], r[1]}, {from[0], from[1]}, distance(place));
  return r;
}

/// The cut address has no upper half: zero, and the constant has one.
WgmmaDescriptors::Pair WgmmaDescriptors::second(const Place& place) {
  const VReg zero = uniform("UMOV", {}, 0, !fixed_);
  if (tiles_.parts > 2) {
    const VReg low = uniform("UIADD3", {low_}, distance(place) | 1u << 31);
    return {low, uniform("UIADD3.X", {zero, low}, kHigh)};
  }
  const Pair constant{uniform("UMOV", {}, distance(place), !fixed_),
                      uniform("UMOV", {}, kHigh, !fixed_)};
  const Pair r{b_.uniform(), b_.uniform()};
  b_.emit(Opcode::kUniform, "UIADD3.64", {r[0], r[1]}, {low_, zero, constant[0], constant[1]});
  return r;
}

std::vector<VReg> WgmmaDescriptors::part(const Place& place) {
  const bool known = parts_.contains(place);
  if (!known && !base_) base_ = place;
  if (!known) parts_[place] = place == base_ ? second(place) : sum(parts_[*base_], place);
  const Pair& p = parts_[place];
  const bool again = known && asked_.contains(place);
  asked_.insert(place);
  if (!again || !(beside_fixed_ || place == base_)) return {p[0], p[1]};
  return {uniform("UMOV", {p[0]}, 0, true), uniform("UMOV", {p[1]}, 0, true)};
}

}  // namespace xpusim::gpu
