#pragma once

#include <cstdint>

#include "models/memory/hbm_timing.h"
#include "sim/engine/divider.h"

namespace xpusim::memory {

/// Where a byte of the chip's memory lies.
struct Location {
  std::uint32_t pseudo_channel = 0;  ///< over all stacks
  std::uint32_t bank = 0;            ///< within the pseudo channel; its group is bank % bank_groups
  std::uint32_t row = 0;
  std::uint32_t column = 0;  ///< of 32 B
  std::uint32_t byte = 0;    ///< within the column
};

/// Spreads chip addresses over pseudo channels (and L2 slices), banks and rows. With P pseudo
/// channels and interleave I, a = address without its chip id, g = a / I, q = g / P:
///
///     pseudo channel = (g mod P + fold(q)) mod P          place within it = q * I + a mod I
///     page = place / row_bytes, B = banks, row = page / B
///     bank = (page mod B + fold(row)) mod B               group = bank mod bank_groups
///
/// fold() is a xor-folding hash, or (`spread: skewed`) the sum of the digits of its argument to the
/// base of what it turns. For any q the first line is a rotation, so P interleave units in a
/// row meet P different pseudo channels, the map is a bijection for every P (192 is no power of
/// two), and a stride of a power of two does not pile up on one of them. Consecutive pages of a
/// pseudo channel alternate between bank groups. The hash of a real chip is not public; this one
/// only shares these properties with it.
///
/// L2 slices divide the pseudo channels evenly: `slices` is a divisor or a multiple of P.
/// Neighbouring pseudo channels belong to different slices: a KiB that all blocks add to is served
/// by two.
///
/// With a `half_mask` M the slices form two halves, and the parity of the address's bits in M says
/// which is the home: memory comes in pieces of the size of M's lowest bit, in turns of a half that
/// the upper bits decide. The map above then holds within a half, of its pieces and of P/2 pseudo
/// channels.
class AddressMap {
 public:
  AddressMap(const HbmParams& hbm, std::uint32_t slices, std::uint64_t half_mask = 0);

  Location locate(std::uint64_t address) const;
  std::uint64_t address_of(const Location& location) const;  ///< the inverse

  /// The home slice of an address, and the number of its 512 B block within that slice.
  struct SliceBlock {
    std::uint32_t slice;
    std::uint32_t block;
  };
  SliceBlock slice_block(std::uint64_t address) const;

  std::uint32_t pseudo_channel(std::uint64_t address) const;
  std::uint32_t pseudo_channels() const { return all_channels_; }
  std::uint32_t slices() const { return slices_.divisor(); }

 private:
  struct Place {
    std::uint32_t channel;
    std::uint64_t byte;  ///< within the pseudo channel
  };
  Place place(std::uint64_t address) const;
  std::uint32_t of_half(std::uint32_t channel, std::uint32_t half) const;
  std::uint32_t turn(std::uint64_t x, const engine::Divider& n) const;  ///< fold() as above

  std::uint64_t half_mask_;  ///< 0: no halves
  unsigned half_bit_ = 0;    ///< its lowest
  std::uint32_t all_channels_;
  engine::Divider channels_;  ///< of a half
  engine::Divider slices_, banks_, row_bytes_;
  engine::Divider half_run_;  ///< pseudo channels of a half with consecutive numbers
  unsigned interleave_bits_;
  std::uint32_t channels_per_slice_;
  engine::Divider slices_per_channel_;  ///< one of these two is 1
  bool skewed_;
};

/// True if `slices` can share out the pseudo channels evenly.
bool slices_fit(std::int64_t slices, std::int64_t pseudo_channels);

}  // namespace xpusim::memory
