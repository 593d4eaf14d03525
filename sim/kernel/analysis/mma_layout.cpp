#include "sim/kernel/analysis/mma_layout.h"

#include <fmt/format.h>

#include <utility>

#include "sim/kernel/analysis/layout_bases.h"

namespace xpusim::kernel {
namespace {

constexpr std::int64_t kSubtileRows = 8;       ///< of what the lanes of a warp hold side by side
constexpr std::int64_t kLanesAlong = 4;        ///< lanes along a row of it
constexpr std::int64_t kResultNeighbours = 2;  ///< elements of the result a lane holds side by side
constexpr std::int64_t kMostElements = 16;     ///< ... of a factor: those of one byte in 16 bytes

/// What an #ttg.nvidia_mma says.
struct Mma {
  std::int64_t version = 0;
  std::vector<std::int64_t> warps;
  std::int64_t m = 0, n = 0;  ///< rows and columns that one warp's instruction covers
  std::vector<std::int64_t> warp_order;
};

std::int64_t integer(Attr encoding, const char* key) {
  const Attr value = encoding->get(key);
  return value ? value->integer : -1;
}

Expected<Mma> read_mma(Attr encoding, std::size_t rank, const SourcePosition& where) {
  Mma mma;
  mma.version = integer(encoding, "versionMajor");
  if (mma.version != 2 && mma.version != 3) {
    return fail(where, fmt::format("of the layouts #ttg.nvidia_mma, version 2 (mma.sync) and 3 "
                                   "(wgmma) are modelled, not {}",
                                   mma.version));
  }
  if (rank != 2 && !(rank == 3 && mma.version == 2)) {
    return fail(where, fmt::format("a tile of rank {} cannot be the result of the matrix "
                                   "instruction {}",
                                   rank, encoding->text));
  }
  const std::size_t entries = mma.version == 2 ? rank : 3;
  for (const auto& problem : {check_cluster(encoding), check_powers(encoding, "warpsPerCTA", rank),
                              check_powers(encoding, "instrShape", entries)}) {
    if (!problem.empty()) return fail(where, problem);
  }
  const auto shape = encoding->get("instrShape")->int_list();
  mma.warps = encoding->get("warpsPerCTA")->int_list();
  mma.m = mma.version == 2 ? shape[rank - 2] : shape[0];
  mma.n = mma.version == 2 ? shape[rank - 1] : shape[1];
  if (mma.m < kSubtileRows || mma.n < kLanesAlong * kResultNeighbours) {
    return fail(where, "an instruction covers 8 x 8 elements or more: " + encoding->text);
  }
  mma.warp_order = row_major(rank);
  if (mma.version == 3) std::swap(mma.warp_order[0], mma.warp_order[1]);
  return mma;
}

/// What a warp's registers and lanes hold of one instruction's `inner` x `outer` elements, with
/// `width` neighbours along the inner dimension in a lane.
struct Tile {
  std::size_t inner_dim, outer_dim;
  std::int64_t inner, outer, width;
};
void hold(const Tile& tile, LinearLayout& layout, std::vector<std::int64_t>& covered) {
  extend(layout.registers, tile.inner_dim, tile.width, covered);
  extend(layout.lanes, tile.inner_dim, kLanesAlong, covered);
  extend(layout.lanes, tile.outer_dim, kSubtileRows, covered);
  extend(layout.registers, tile.outer_dim, tile.outer / kSubtileRows, covered);
  extend(layout.registers, tile.inner_dim, tile.inner / (kLanesAlong * tile.width), covered);
}

/// A factor of an mma: k is its inner dimension.
Expected<LinearLayout> mma_operand(Attr encoding, bool left, std::size_t k_dim,
                                   const std::vector<std::int64_t>& shape,
                                   const SourcePosition& where) {
  const auto mma = read_mma(encoding->get("parent"), shape.size(), where);
  if (!mma) return fail(mma.error());
  if (!left && mma->version == 3) {
    return fail(where, "wgmma reads its right factor from shared memory: " + encoding->text);
  }
  const std::int64_t width = integer(encoding, "kWidth");
  if (!power_of_two(width) || width > kMostElements) {
    return fail(where, "kWidth of " + encoding->text + " is no power of two up to 16");
  }
  const std::size_t rank = shape.size();
  const std::size_t other_dim = left ? rank - 2 : rank - 1;
  // An instruction takes two of the lanes' neighbours along k; of f64 with m = 8, one.
  const std::int64_t k = kLanesAlong * width * (mma->m == kSubtileRows ? 1 : 2);
  std::vector<std::int64_t> covered(rank, 1);
  LinearLayout layout;
  layout.shape = shape;
  hold({k_dim, other_dim, k, left ? mma->m : kSubtileRows, width}, layout, covered);
  layout.warps = span(mma->warps, mma->warp_order, covered, k_dim);
  auto order = row_major(rank);
  if (!left) std::swap(order[0], order[1]);
  return fit(std::move(layout), std::move(covered), order);
}

/// A factor of a product by fused multiply-adds.
Expected<LinearLayout> blocked_operand(Attr parent, std::size_t k_dim,
                                       const std::vector<std::int64_t>& shape,
                                       const SourcePosition& where) {
  // The parent's own layout checks its lists.
  if (const auto whole = linear_layout(parent, shape, where); !whole) return whole;
  const auto order = parent->get("order")->int_list();
  auto size = parent->get("sizePerThread")->int_list();
  size[k_dim] = shape[k_dim];
  std::vector<std::int64_t> covered(shape.size(), 1);
  LinearLayout layout;
  layout.shape = shape;
  layout.registers = span(size, order, covered);
  layout.lanes = span(parent->get("threadsPerWarp")->int_list(), order, covered, k_dim);
  layout.warps = span(parent->get("warpsPerCTA")->int_list(), order, covered, k_dim);
  return fit(std::move(layout), std::move(covered), order);
}

}  // namespace

Expected<LinearLayout> mma_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                  const SourcePosition& where) {
  const std::size_t rank = shape.size();
  const auto mma = read_mma(encoding, rank, where);
  if (!mma) return fail(mma.error());
  std::vector<std::int64_t> covered(rank, 1);
  LinearLayout layout;
  layout.shape = shape;
  hold({rank - 1, rank - 2, mma->n, mma->m, kResultNeighbours}, layout, covered);
  layout.warps = span(mma->warps, mma->warp_order, covered);
  return fit(std::move(layout), std::move(covered), row_major(rank));
}

Expected<LinearLayout> dot_operand_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                          const SourcePosition& where) {
  const Attr parent = encoding->get("parent");
  const std::int64_t which = integer(encoding, "opIdx");
  if (!parent || (which != 0 && which != 1)) {
    return fail(where, "a factor needs opIdx 0 or 1 and a parent: " + encoding->text);
  }
  if (shape.size() < 2) return fail(where, "a factor is a matrix: " + encoding->text);
  const bool left = which == 0;
  const std::size_t k_dim = left ? shape.size() - 1 : shape.size() - 2;
  if (parent->string == "ttg.nvidia_mma") return mma_operand(encoding, left, k_dim, shape, where);
  if (parent->string == "ttg.blocked") return blocked_operand(parent, k_dim, shape, where);
  return fail(where, "factors of #" + parent->string + " are not modelled");
}

}  // namespace xpusim::kernel
