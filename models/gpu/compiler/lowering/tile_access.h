#pragma once

#include <optional>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"
#include "sim/kernel/analysis/shared_layout.h"

namespace xpusim::gpu {

/// How LDSM reads a tile and STSM stores one: a word of each lane is its part of an 8x8 matrix of
/// words' halves or of whole rows, and a lane names the row of 16 bytes of one of up to four
/// matrices.
struct MatrixRows {
  std::vector<kernel::Basis> lanes;  ///< [bit of the naming lane] what it adds to the coordinates
  std::uint32_t word_bits = 1;       ///< of the register's number, lowest: the elements of a word
  std::uint32_t matrices = 4;        ///< an instruction
};

/// Whether and how matrix instructions move the tile. Rows of the matrices are rows of shared
/// memory or, transposed, its columns. Register bits of a word must come first in the layout.
std::optional<MatrixRows> matrix_rows(const kernel::LinearLayout& layout,
                                      const kernel::SharedLayout& shared);
/// Whether the rows of matrices are 16 bytes of the buffer each, as STSM needs it.
bool has_whole_rows(const kernel::LinearLayout& layout, const kernel::SharedLayout& shared);

/// A tile's values, [register of the layout], to and from shared memory by matrix instructions.
void store_matrices(Lowering& l, const kernel::LinearLayout& layout,
                    const kernel::SharedLayout& shared, const MatrixRows& rows,
                    const std::vector<Element>& values, const BufferView& view);
std::vector<Element> load_matrices(Lowering& l, const kernel::LinearLayout& layout,
                                   const kernel::SharedLayout& shared, const MatrixRows& rows,
                                   const BufferView& view);

/// The same by vectors, as wide as both layouts allow. Lanes and warps with copies do not store.
void store_vectors(Lowering& l, const kernel::LinearLayout& layout,
                   const kernel::SharedLayout& shared, const std::vector<Element>& values,
                   const BufferView& view);
std::vector<Element> load_vectors(Lowering& l, const kernel::LinearLayout& layout,
                                  const kernel::SharedLayout& shared, const BufferView& view);

}  // namespace xpusim::gpu
