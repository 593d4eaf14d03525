#pragma once

// How often shared memory must be accessed for one instruction of a warp: 32 banks of 4 bytes give
// one word each at a time.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/kernel/analysis/shared_layout.h"

namespace xpusim::kernel {

/// The elements that a lane of a layout can move with one instruction: those that lie one behind
/// the other in shared memory, in some of the lane's registers.
struct SharedVector {
  std::uint32_t elements = 1;
  std::uint32_t register_bits = 0;  ///< of the register number: which ones make a vector
};
/// The longest vector of up to `most_bytes` bytes, aligned in every lane, that the two layouts
/// allow. With several buffers or paddings, these must keep the alignment too.
SharedVector shared_vector(const LinearLayout& layout, const SharedLayout& shared,
                           std::uint32_t most_bytes = 16);

/// The wavefronts that an access of a warp takes: lane i moves `bytes` bytes at lane_offsets[i].
/// Accesses of 16 bytes go by quarters of a warp, of 8 bytes by halves, others whole; of each part
/// the wavefronts are the most different words that one bank has to give: lanes that want the same
/// word get it at once. (CUDA C++ Programming Guide, "Shared Memory" of compute capability 3.x and
/// 5.x.) Not modelled: parts that the hardware joins where their lanes want the same words.
std::uint32_t shared_wavefronts(std::span<const std::int64_t> lane_offsets, std::uint32_t bytes);

/// What one bank gives in one wavefront.
struct BankUse {
  std::uint32_t bank = 0;
  std::int64_t word = 0;    ///< byte offset / 4
  std::uint32_t lanes = 0;  ///< bit: the lane wants of it
};
/// The wavefronts themselves, in one of the orders that are possible: each bank gives its words in
/// ascending order. Lanes with a negative offset do nothing.
std::vector<std::vector<BankUse>> shared_bank_map(std::span<const std::int64_t> lane_offsets,
                                                  std::uint32_t bytes);

/// The same where a lane moves, from the element that `layout` has in register `reg`, `elements`
/// elements that lie one behind the other. Without padding, each register and warp takes equally
/// many.
std::uint32_t shared_wavefronts(const LinearLayout& layout, const SharedLayout& shared,
                                std::uint32_t elements, std::uint32_t reg = 0,
                                std::uint32_t warp = 0);

}  // namespace xpusim::kernel
