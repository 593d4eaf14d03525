#include "sim/kernel/analysis/shared_banks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace xpusim::kernel {
namespace {

constexpr std::int64_t kBanks = 32;
constexpr std::int64_t kWordBytes = 4;

/// Lanes whose access goes together.
std::size_t lanes_together(std::uint32_t bytes) { return bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8; }

std::uint32_t wavefronts_of_part(std::span<const std::int64_t> offsets, std::uint32_t bytes) {
  std::vector<std::int64_t> words;
  for (const std::int64_t offset : offsets) {
    const std::int64_t last = (offset + bytes - 1) / kWordBytes;
    for (std::int64_t word = offset / kWordBytes; word <= last; ++word) words.push_back(word);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::array<std::uint32_t, kBanks> of_bank{};
  for (const std::int64_t word : words) ++of_bank[static_cast<std::size_t>(word % kBanks)];
  return *std::max_element(of_bank.begin(), of_bank.end());
}

/// A register bit that steps from one element to the one `bytes` behind; -1: there is none.
int stepping_bit(const LinearLayout& layout, const SharedLayout& shared, std::int64_t bytes) {
  for (std::size_t bit = 0; bit < layout.registers.size(); ++bit) {
    if (shared.unpadded(layout.registers[bit]) == bytes) return static_cast<int>(bit);
  }
  return -1;
}

/// Whether the vectors of `bytes` bytes, made by these register bits, are aligned everywhere.
bool aligned(const LinearLayout& layout, const SharedLayout& shared, std::int64_t bytes,
             std::uint32_t register_bits) {
  const auto is_multiple = [&](const Basis& basis) { return shared.unpadded(basis) % bytes == 0; };
  for (std::size_t bit = 0; bit < layout.registers.size(); ++bit) {
    if (((register_bits >> bit) & 1u) == 0 && !is_multiple(layout.registers[bit])) return false;
  }
  return std::all_of(layout.lanes.begin(), layout.lanes.end(), is_multiple) &&
         std::all_of(layout.warps.begin(), layout.warps.end(), is_multiple) &&
         (shared.buffer_dims == 0 || shared.buffer_bytes % bytes == 0) &&
         std::all_of(shared.paddings.begin(), shared.paddings.end(),
                     [&](const auto& p) { return p.every % bytes == 0 && p.bytes % bytes == 0; });
}

}  // namespace

SharedVector shared_vector(const LinearLayout& layout, const SharedLayout& shared,
                           std::uint32_t most_bytes) {
  SharedVector best, longer;
  std::int64_t bytes = shared.element_bytes;
  while (bytes * 2 <= most_bytes) {
    const int bit = stepping_bit(layout, shared, bytes);
    if (bit < 0) break;
    bytes *= 2;
    longer = {longer.elements * 2, longer.register_bits | 1u << bit};
    if (aligned(layout, shared, bytes, longer.register_bits)) best = longer;
  }
  return best;
}

std::uint32_t shared_wavefronts(std::span<const std::int64_t> lane_offsets, std::uint32_t bytes) {
  const std::size_t together = lanes_together(bytes);
  std::uint32_t wavefronts = 0;
  for (std::size_t lane = 0; lane < lane_offsets.size(); lane += together) {
    const std::size_t lanes = std::min(together, lane_offsets.size() - lane);
    wavefronts += wavefronts_of_part(lane_offsets.subspan(lane, lanes), bytes);
  }
  return wavefronts;
}

std::vector<std::vector<BankUse>> shared_bank_map(std::span<const std::int64_t> lane_offsets,
                                                  std::uint32_t bytes) {
  const std::size_t together = lanes_together(bytes);
  std::vector<std::vector<BankUse>> map;
  for (std::size_t first = 0; first < lane_offsets.size(); first += together) {
    std::map<std::int64_t, std::uint32_t> words;  // lanes that want it
    for (std::size_t lane = first; lane < std::min(first + together, lane_offsets.size()); ++lane) {
      const std::int64_t offset = lane_offsets[lane];
      if (offset < 0) continue;
      for (std::int64_t w = offset / kWordBytes; w <= (offset + bytes - 1) / kWordBytes; ++w)
        words[w] |= 1u << lane;
    }
    const std::size_t begin = map.size();
    std::array<std::size_t, kBanks> given{};
    for (const auto& [word, lanes] : words) {
      const auto bank = static_cast<std::uint32_t>(word % kBanks);
      const std::size_t at = begin + given[bank]++;
      if (at == map.size()) map.emplace_back();
      map[at].push_back({bank, word, lanes});
    }
  }
  return map;
}

std::uint32_t shared_wavefronts(const LinearLayout& layout, const SharedLayout& shared,
                                std::uint32_t elements, std::uint32_t reg, std::uint32_t warp) {
  std::vector<std::int64_t> offsets;
  for (std::uint32_t lane = 0; lane < layout.lane_count(); ++lane) {
    offsets.push_back(shared.offset(layout.at(reg, lane, warp)));
  }
  return shared_wavefronts(offsets, elements * static_cast<std::uint32_t>(shared.element_bytes));
}

}  // namespace xpusim::kernel
