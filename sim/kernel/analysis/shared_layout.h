#pragma once

// Where an element of a tile lies in shared memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::kernel {

/// The layout of an allocation in shared memory (a memdesc): one buffer, or several one behind the
/// other (of a software pipeline), each of the same tile. Inside a buffer, the byte offset of a
/// coordinate is the exclusive or of the offsets of its bits, but for padding.
struct SharedLayout {
  /// So many bytes of nothing follow every `every` bytes of elements.
  struct Padding {
    std::int64_t every = 0, bytes = 0;
    bool operator==(const Padding&) const = default;
  };

  std::vector<std::int64_t> shape;  ///< the buffers' dimensions, then the tile's
  std::size_t buffer_dims = 0;      ///< leading dimensions that count buffers
  std::int64_t element_bytes = 0;
  std::vector<std::vector<std::int64_t>> bases;  ///< [dimension of the tile][bit]: bytes
  std::int64_t buffer_bytes = 0;                 ///< from one buffer to the next, without padding
  std::vector<Padding> paddings;
  std::int64_t bytes = 0;      ///< of the whole allocation
  std::int64_t alignment = 0;  ///< bytes; the allocation's address is a multiple

  bool is_linear() const { return paddings.empty(); }

  /// The exclusive or of the offsets of a coordinate's bits, in its buffer, without padding. Also
  /// what a basis of a LinearLayout over the tile adds to an offset.
  std::int64_t unpadded(const Basis& in_tile) const;
  /// The byte offset of an element of the first buffer (coordinates of the tile) or of any
  /// (coordinates of `shape`).
  std::int64_t offset(const Basis& at) const;

  bool operator==(const SharedLayout&) const = default;
};

/// The layout that an encoding gives an allocation of `shape`; leading dimensions beyond the
/// encoding's own count buffers. Encodings:
/// - #ttg.swizzled_shared {vec, perPhase, maxPhase, order}: groups of vec elements along a row are
///   permuted by (row / perPhase mod maxPhase) xor their number;
/// - #ttg.nvmma_shared {swizzlingByteWidth, transposed, elementBitWidth}: what TMA writes and wgmma
///   reads: 16-byte groups of a row of swizzlingByteWidth bytes are permuted over 8 rows; a longer
///   row goes on in another piece behind all rows of the first. Its tile has `rank` dimensions
///   where it says so, else 2;
/// - #ttg.padded_shared <[every:+pad, ...] {order, shape}> or <... {offset}>;
/// - #ttg.shared_linear {offset}: a one-to-one map from bits of the offset.
/// Padded 4-bit elements, clusters of several blocks and sizes that are no power of two are errors
/// by name.
Expected<SharedLayout> shared_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                     std::int64_t element_bytes, const SourcePosition& where);
/// The same of a memdesc type. A view of a part lies where the whole allocation has it: offsets are
/// of the allocation's layout, without the buffers that an index has taken away.
Expected<SharedLayout> shared_layout(Type memdesc, const SourcePosition& where);

}  // namespace xpusim::kernel
