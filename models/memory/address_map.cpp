#include "models/memory/address_map.h"

#include <algorithm>
#include <bit>

namespace xpusim::memory {
namespace {

constexpr std::uint64_t kChipMask = (std::uint64_t{1} << 48) - 1;
constexpr unsigned kBlockBits = 9;

constexpr std::uint64_t low_bits(unsigned n) { return (std::uint64_t{1} << n) - 1; }

/// A xor-folding hash of 32 bits: each step folds the upper part onto the lower, the odd factors
/// carry it up again (the finalizer of MurmurHash3).
std::uint32_t fold(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return x;
}

/// fold(x) scaled to [0, n).
std::uint32_t rotation(std::uint64_t x, std::uint32_t n) {
  const auto folded = fold(static_cast<std::uint32_t>(x ^ (x >> 32)));
  return static_cast<std::uint32_t>((std::uint64_t{folded} * n) >> 32);
}

/// The sum of x's digits to the base n: the next block of blocks is turned by one more.
std::uint32_t skew(std::uint64_t x, const engine::Divider& n) {
  if (n.divisor() == 1) return 0;
  std::uint64_t sum = 0;
  for (std::uint64_t rest = 0; x != 0; x = rest) {
    rest = n.quotient(x);
    sum += x - rest * n.divisor();
  }
  return static_cast<std::uint32_t>(sum % n.divisor());
}

}  // namespace

bool slices_fit(std::int64_t slices, std::int64_t pseudo_channels) {
  return slices > 0 && pseudo_channels > 0 &&
         (slices % pseudo_channels == 0 || pseudo_channels % slices == 0);
}

AddressMap::AddressMap(const HbmParams& hbm, std::uint32_t slices, std::uint64_t half_mask)
    : half_mask_(half_mask),
      half_bit_(half_mask == 0 ? 0 : static_cast<unsigned>(std::countr_zero(half_mask))),
      all_channels_(static_cast<std::uint32_t>(hbm.total_pseudo_channels())),
      channels_(half_mask == 0 ? all_channels_ : all_channels_ / 2),
      slices_(slices),
      banks_(static_cast<std::uint32_t>(hbm.bank_groups * hbm.banks_per_group)),
      row_bytes_(static_cast<std::uint32_t>(hbm.row_bytes)),
      half_run_(half_mask == 0 ? all_channels_ : std::min(slices, all_channels_) / 2),
      interleave_bits_(static_cast<unsigned>(
          std::countr_zero(static_cast<std::uint64_t>(hbm.interleave_bytes)))),
      channels_per_slice_(slices < pseudo_channels() ? pseudo_channels() / slices : 1),
      slices_per_channel_(slices > pseudo_channels() ? slices / pseudo_channels() : 1),
      skewed_(hbm.spread == "skewed") {}

std::uint32_t AddressMap::turn(std::uint64_t x, const engine::Divider& n) const {
  return skewed_ ? skew(x, n) : rotation(x, n.divisor());
}

/// The number of a half's pseudo channel among all.
std::uint32_t AddressMap::of_half(std::uint32_t channel, std::uint32_t half) const {
  const std::uint32_t run = half_run_.divisor();
  return channel + run * (static_cast<std::uint32_t>(half_run_.quotient(channel)) + half);
}

AddressMap::Place AddressMap::place(std::uint64_t address) const {
  std::uint64_t a = address & kChipMask;
  const auto half = static_cast<std::uint32_t>(std::popcount(a & half_mask_)) & 1u;
  if (half_mask_ != 0) a = (a >> (half_bit_ + 1) << half_bit_) | (a & low_bits(half_bit_));
  const std::uint64_t unit = a >> interleave_bits_;
  const std::uint64_t q = channels_.quotient(unit);
  const std::uint32_t channels = channels_.divisor();
  std::uint32_t channel = static_cast<std::uint32_t>(unit - q * channels) + turn(q, channels_);
  if (channel >= channels) channel -= channels;
  if (half_mask_ != 0) channel = of_half(channel, half);
  const std::uint64_t within = a & low_bits(interleave_bits_);
  return {channel, (q << interleave_bits_) | within};
}

std::uint32_t AddressMap::pseudo_channel(std::uint64_t address) const {
  return place(address).channel;
}

Location AddressMap::locate(std::uint64_t address) const {
  const Place p = place(address);
  const std::uint64_t page = row_bytes_.quotient(p.byte);
  const auto in_row = static_cast<std::uint32_t>(p.byte - page * row_bytes_.divisor());
  const std::uint64_t row = banks_.quotient(page);
  const std::uint32_t banks = banks_.divisor();
  std::uint32_t bank = static_cast<std::uint32_t>(page - row * banks) + turn(row, banks_);
  if (bank >= banks) bank -= banks;
  return {p.channel, bank, static_cast<std::uint32_t>(row), in_row / kColumnBytes,
          in_row % kColumnBytes};
}

std::uint64_t AddressMap::address_of(const Location& l) const {
  const std::uint32_t banks = banks_.divisor(), channels = channels_.divisor();
  const auto run = static_cast<std::uint32_t>(half_run_.quotient(l.pseudo_channel));
  const std::uint32_t half = half_mask_ != 0 ? run % 2 : 0;
  const std::uint32_t channel =
      half_mask_ != 0 ? l.pseudo_channel - half_run_.divisor() * ((run + 1) / 2) : l.pseudo_channel;
  const std::uint32_t turned = (l.bank + banks - turn(l.row, banks_)) % banks;
  const std::uint64_t page = std::uint64_t{l.row} * banks + turned;
  const std::uint64_t byte = page * row_bytes_.divisor() + l.column * kColumnBytes + l.byte;
  const std::uint64_t q = byte >> interleave_bits_;
  const std::uint64_t within = byte & low_bits(interleave_bits_);
  const std::uint64_t unit = q * channels + (channel + channels - turn(q, channels_)) % channels;
  const std::uint64_t a = (unit << interleave_bits_) | within;
  if (half_mask_ == 0) return a;
  const std::uint64_t spread = (a >> half_bit_ << (half_bit_ + 1)) | (a & low_bits(half_bit_));
  const bool other = (static_cast<std::uint32_t>(std::popcount(spread & half_mask_)) & 1u) != half;
  return spread | std::uint64_t{other} << half_bit_;
}

AddressMap::SliceBlock AddressMap::slice_block(std::uint64_t address) const {
  const Place p = place(address);
  const std::uint64_t block = p.byte >> kBlockBits;
  if (const std::uint32_t share = slices_per_channel_.divisor(); share > 1) {
    const std::uint64_t place_of_slice = slices_per_channel_.quotient(block);
    const auto which = static_cast<std::uint32_t>(block - place_of_slice * share);
    return {p.channel * share + which, static_cast<std::uint32_t>(place_of_slice)};
  }
  const auto group = static_cast<std::uint32_t>(slices_.quotient(p.channel));
  return {p.channel - group * slices_.divisor(),
          static_cast<std::uint32_t>(block) * channels_per_slice_ + group};
}

}  // namespace xpusim::memory
