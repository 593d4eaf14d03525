#pragma once

// The linear-layout algebra: which element of a tile a thread holds in which register. A layout
// maps the bits of (register, lane, warp) to coordinates; coordinates of several bits combine by
// exclusive or. (Zhou et al., "Linear Layouts: Robust Code Generation of Efficient Tensor
// Computation Using F2", 2025.)

#include <cstdint>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/kernel/ir.h"

namespace xpusim::kernel {

/// The coordinates that one bit stands for; all zero: the bit only makes copies.
using Basis = std::vector<std::int64_t>;

/// A distributed layout of a tile over the threads of a block.
struct LinearLayout {
  std::vector<std::int64_t> shape;
  std::vector<Basis> registers, lanes, warps;  ///< [bit], least significant first

  std::uint32_t register_count() const { return 1u << registers.size(); }
  std::uint32_t lane_count() const { return 1u << lanes.size(); }
  std::uint32_t warp_count() const { return 1u << warps.size(); }

  /// Coordinates of the element in a register of a thread.
  Basis at(std::uint32_t reg, std::uint32_t lane, std::uint32_t warp) const;
  /// The same as a row-major index.
  std::int64_t flat(std::uint32_t reg, std::uint32_t lane, std::uint32_t warp) const;

  /// The dimension along which registers (failing these, lanes) step by one element.
  std::uint32_t fastest_dim() const;
  /// Elements along `dim` that lie in consecutive registers, from register 0.
  std::uint32_t contiguous(std::uint32_t dim) const;

  /// Bits whose basis is zero: registers, lanes and warps that differ in such bits only hold
  /// copies.
  std::uint32_t copy_registers() const;
  std::uint32_t copy_lanes() const;
  std::uint32_t copy_warps() const;

  bool operator==(const LinearLayout&) const = default;
};

/// The layout that a tensor's encoding (#ttg.blocked, #ttg.slice, #ttg.linear, #ttg.nvidia_mma,
/// #ttg.dot_op) gives a tile of `shape`. A tile smaller than the encoding's own tile is held in
/// several copies; a larger one takes more registers. Encodings that are not modelled, clusters of
/// several blocks, and sizes that are no power of two are errors by name.
Expected<LinearLayout> linear_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                     const SourcePosition& where);

}  // namespace xpusim::kernel
