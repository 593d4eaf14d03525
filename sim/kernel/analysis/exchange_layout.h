#pragma once

// How a tile goes from one distributed layout to another through shared memory.

#include <cstdint>
#include <vector>

#include "sim/kernel/analysis/linear_layout.h"
#include "sim/kernel/analysis/shared_layout.h"

namespace xpusim::kernel {

/// What moves elements between registers and shared memory.
enum class ExchangeAccess : std::uint8_t {
  kVectors,             ///< ld.shared, st.shared: up to 16 bytes that a lane holds
  kMatrices,            ///< ldmatrix, stmatrix: rows of 8x8 matrices that four lanes hold
  kTransposedMatrices,  ///< the same, .trans: columns that eight lanes hold
};

/// What a chip has besides vectors.
struct ExchangeTarget {
  bool stores_matrices = false;  ///< sm_90
  bool loads_matrices = false;   ///< sm_75
};

/// Where the elements of a tile lie while threads exchange them, and how they get there.
struct ExchangeLayout {
  SharedLayout shared;  ///< of one round; bits of coordinates that count rounds have no offset
  std::vector<std::vector<std::uint32_t>> round_bases;  ///< [dimension][bit]: round number
  std::uint32_t rounds = 1;  ///< stored, loaded, and stored over, one after another
  ExchangeAccess store = ExchangeAccess::kVectors, load = ExchangeAccess::kVectors;

  /// The round in which an element moves; also what a basis adds to its number (exclusive or).
  std::uint32_t round(const Basis& at) const;
};

/// The layout that Triton chooses for elements of `bits` bits (8 to 128): the widest instructions
/// that both sides allow, bank conflicts fewest, then rounds most, which need the least memory. Of
/// the chosen instructions' lanes, whatever both layouts have in lanes goes to different banks;
/// bits that only one of them has in lanes are paired by exclusive or. (Zhou et al., "Linear
/// Layouts", 2025, section 5.4, and Triton 3.6's behaviour on measured kernels.) Left out: layouts
/// whose bases are no single bits are compared basis by basis; where nothing comes of that,
/// elements lie in order of their coordinates.
ExchangeLayout exchange_layout(const LinearLayout& from, const LinearLayout& to, std::uint32_t bits,
                               const ExchangeTarget& target);

}  // namespace xpusim::kernel
