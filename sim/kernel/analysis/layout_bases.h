#pragma once

// How the bases of linear layouts are put together, dimension by dimension: what the readers of
// the single encodings share.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::kernel {

bool power_of_two(std::int64_t n);

/// Appends bases that step through `count` positions of `dim`, `covered[dim]` elements apart, and
/// moves `covered` on to what follows.
void extend(std::vector<Basis>& bases, std::size_t dim, std::int64_t count,
            std::vector<std::int64_t>& covered);
/// Appends bits that make `count` copies of a tile of `rank` dimensions.
void extend_copies(std::vector<Basis>& bases, std::int64_t count, std::size_t rank);

inline constexpr std::size_t kNoDim = ~std::size_t{0};

/// Bases that step through `counts[d]` positions of each dimension d, in `order`; along the
/// dimension `copied`, if any, there are copies instead.
std::vector<Basis> span(const std::vector<std::int64_t>& counts,
                        const std::vector<std::int64_t>& order, std::vector<std::int64_t>& covered,
                        std::size_t copied = kNoDim);

/// Fits a layout that covers `covered` elements a dimension to its tile: bits that would step out
/// of the tile make copies; where the tile is larger, registers are added, dimension by dimension
/// in `order`.
LinearLayout fit(LinearLayout layout, std::vector<std::int64_t> covered,
                 const std::vector<std::int64_t>& order);

/// The dimensions of a tile of that rank, the last one first.
std::vector<std::int64_t> row_major(std::size_t rank);

/// Why this list of the encoding is no list of `count` powers of two; "" if it is one.
std::string check_powers(Attr encoding, const char* key, std::size_t count);
/// Why the tile of the encoding is spread over several blocks; "" if it is not.
std::string check_cluster(Attr encoding);

}  // namespace xpusim::kernel
