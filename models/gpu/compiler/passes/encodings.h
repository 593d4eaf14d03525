#pragma once

// Layout attributes: making them, and how they follow through ops.

#include <cstdint>
#include <vector>

#include "models/gpu/compiler/passes/edit.h"

namespace xpusim::gpu::passes {

using Shape = std::vector<std::int64_t>;

inline constexpr std::int64_t kThreadsPerWarp = 32;

/// The parameters of a #ttg.blocked: each thread holds `per_thread` neighbours, threads of a warp
/// and warps of the block follow, along the dimensions in `order`.
struct Blocked {
  Shape per_thread, threads, warps, order;
};
Attr encoding_of(Context& context, const Blocked& blocked);
bool is_blocked(Attr encoding);
Blocked read_blocked(Attr encoding);
/// Spreads threads, then warps, along `order` until the tile is covered; what is left of them goes
/// to the last dimension.
Blocked spread(const Shape& tile, Shape per_thread, Shape order, std::int64_t warps);
/// The layout of a tile that nothing else asks for: one element a thread at a time, row by row.
Attr plain_layout(Context& context, const Shape& tile, std::int64_t warps);
/// The dimensions from the last to the first.
Shape row_major(std::size_t rank);

bool is_mma(Attr encoding);          ///< #ttg.nvidia_mma
bool is_dot_operand(Attr encoding);  ///< #ttg.dot_op
Attr slice(Context& context, std::int64_t dim, Attr parent);
Attr dot_operand(Context& context, std::int64_t index, Attr parent, std::int64_t k_width);
Attr mma(Context& context, std::int64_t version, const Shape& warps, const Shape& instruction);

/// The layout in which threads keep their elements when a tile takes another shape.
Attr reshaped(Context& context, Attr encoding, const Shape& from, const Shape& to);
/// The layout of two tiles joined along a new last dimension that lies within a thread, and of the
/// halves of such a tile; null where there is none.
Attr joined(Context& context, Attr encoding);
Attr halved(Context& context, Attr encoding);

/// #ttg.nvmma_shared of a tile, as wgmma reads it: rows (columns if `transposed`) are permuted in
/// pieces of up to 128 bytes.
Attr wgmma_shared(Context& context, const Shape& tile, std::int64_t bits, bool transposed);
/// #ttg.swizzled_shared: groups of `vec` elements, permuted from row to row.
Attr swizzled_shared(Context& context, std::int64_t vec, std::int64_t per_phase,
                     std::int64_t max_phase, const Shape& order);
/// The memdesc of a tile, or of several behind one another.
Type memdesc(Context& context, Shape shape, Type element, Attr encoding, bool is_mutable);

/// The dimensions of a layout from the one along which a thread's elements lie on.
Shape order_of(Attr encoding, std::size_t rank);

/// The layout that an op's tensor operands need for results in a layout, and the other way round;
/// null where the op gives no rule.
Attr operand_encoding(Context& context, const Op& op, Attr result);
Attr result_encoding(Context& context, const Op& op, Attr operand);
/// Whether all tensors of an op have one layout.
bool keeps_layout(const Op& op);

}  // namespace xpusim::gpu::passes
