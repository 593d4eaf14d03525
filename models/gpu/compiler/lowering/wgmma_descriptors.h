#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// How the instruction tiles of a wgmma's factor lie in shared memory.
struct FactorTiles {
  std::int64_t parts = 1;      ///< different ones that a warp names
  bool of_warpgroup = false;   ///< each warpgroup has tiles of its own
  bool several_atoms = false;  ///< one spans several atoms of the swizzle
};

/// The descriptors of a factor in shared memory, 64 bits each in two uniform registers. An
/// instruction wants those of both factors in four neighbouring ones, which shapes the code (from
/// listings of 59 kernels):
///
/// * the first is made from the address (shifted, cut to 14 bits; a warpgroup adds its own offset,
///   anew in every iteration) with a constant above it, and the distance of atoms or'ed in;
/// * the second is the first's address and a constant of 64 bits: with its carry if others follow
///   from it, else from two registers;
/// * each further one is the second and a small constant;
/// * the second again is a copy, as it stays to add to; the others stand in their places, unless
///   the other factor does not change in the loop and keeps them.
///
/// Left out: copies that come from the vendor's choice of registers.
class WgmmaDescriptors {
 public:
  /// Place of an instruction's tile in the whole tile.
  using Place = std::array<std::int64_t, 2>;

  /// `both_short`: each factor has two parts. `beside_fixed`: the other one's
  /// descriptors outlive the loop.
  WgmmaDescriptors(Lowering& l, const BufferView& view, const FactorTiles& tiles, bool both_short,
                   bool beside_fixed);
  /// The two registers of one part.
  std::vector<VReg> part(const Place& place);
  /// Whether they are the same in every iteration of a loop.
  bool is_fixed() const { return fixed_; }

 private:
  using Pair = std::array<VReg, 2>;
  VReg address(Lowering& l, const BufferView& view);
  VReg uniform(std::string_view mnemonic, std::initializer_list<VReg> uses, std::uint32_t bits,
               bool pinned = false);
  Pair second(const Place& place);
  Pair sum(Pair from, const Place& place);

  Builder& b_;
  FactorTiles tiles_;
  bool fixed_, beside_fixed_;
  VReg low_;  ///< of the address, cut
  std::map<Place, Pair> parts_;
  std::set<Place> asked_;
  std::optional<Place> base_;  ///< the second one's
};

}  // namespace xpusim::gpu
