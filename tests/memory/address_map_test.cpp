#include "models/memory/address_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "models/memory/messages.h"

namespace xpusim::memory {
namespace {

HbmParams with_channels(std::int64_t stacks, std::int64_t channels, std::int64_t interleave = 512) {
  HbmParams p;
  p.stacks = stacks;
  p.channels = channels;
  p.interleave_bytes = interleave;
  return p;
}

TEST(AddressMap, is_a_bijection_for_any_number_of_channels) {
  std::mt19937_64 random(1);
  for (const std::int64_t interleave : {512, 1024, 4096}) {
    for (const auto& [stacks, channels] : {std::pair{6, 16}, {2, 8}, {5, 16}, {1, 1}, {7, 3}}) {
      const AddressMap map(with_channels(stacks, channels, interleave), 1);
      for (int i = 0; i < 2000; ++i) {
        const std::uint64_t a = random() % (std::uint64_t{1} << 37);
        EXPECT_EQ(map.address_of(map.locate(a)), a);
      }
    }
  }
}

TEST(AddressMap, is_a_bijection_where_it_is_skewed) {
  std::mt19937_64 random(1);
  for (const auto& [stacks, channels] : {std::pair{2, 8}, {6, 8}, {1, 1}}) {
    HbmParams params = with_channels(stacks, channels);
    params.spread = "skewed";
    const AddressMap map(params, 1);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t a = random() % (std::uint64_t{1} << 37);
      EXPECT_EQ(map.address_of(map.locate(a)), a);
    }
  }
}

TEST(AddressMap, is_a_bijection_with_halves) {
  std::mt19937_64 random(1);
  for (const auto& [stacks, channels, slices] :
       {std::tuple{6, 16, 96}, {5, 16, 80}, {5, 8, 80}, {1, 2, 8}}) {
    const AddressMap map(with_channels(stacks, channels), static_cast<std::uint32_t>(slices),
                         0xab000);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t a = random() % (std::uint64_t{1} << 37);
      EXPECT_EQ(map.address_of(map.locate(a)), a);
    }
  }
}

TEST(AddressMap, finds_the_home_half_by_the_parity_of_the_masked_bits) {
  constexpr std::uint32_t kSlices = 96;
  const AddressMap map(with_channels(6, 16), kSlices, 0xab000);
  const auto half = [&](std::uint64_t a) { return map.slice_block(a).slice / (kSlices / 2); };
  EXPECT_EQ(half(0), 0);
  EXPECT_EQ(half(0xe00), 0);  // the same piece of 4 KiB
  EXPECT_EQ(half(0x1000), 1);
  EXPECT_EQ(half(0x3000), 0);
  EXPECT_EQ(half(0x4000), 0);  // bit 14 has no part in it
  EXPECT_EQ(half(0x8000), 1);
  EXPECT_EQ(half(0x20000), 1);
  EXPECT_EQ(half(0x80000), 1);
  EXPECT_EQ(half(0xa8000), 1);
}

TEST(AddressMap, spreads_a_block_of_tiles_evenly_where_it_is_skewed) {
  // 16 rows of tiles of a matrix of 4096 columns of bf16: 2 KiB every 64 KiB. 64 requests of 512 B
  // over 32 pseudo channels.
  HbmParams params = with_channels(2, 8);
  params.spread = "skewed";
  const AddressMap map(params, 1);
  std::vector<int> hits(map.pseudo_channels());
  for (std::uint64_t row = 0; row < 16; ++row)
    for (std::uint64_t k = 0; k < 4; ++k) ++hits[map.pseudo_channel(row * 65536 + k * 512)];
  EXPECT_LE(*std::max_element(hits.begin(), hits.end()), 3);
}

TEST(AddressMap, gives_different_bytes_different_places) {
  const AddressMap map(with_channels(3, 1), 1);  // 6 pseudo channels
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> places;
  for (std::uint64_t a = 0; a < 1 << 20; a += kColumnBytes) {
    const Location l = map.locate(a);
    EXPECT_TRUE(places.emplace(l.pseudo_channel, l.bank, l.row, l.column).second);
  }
}

TEST(AddressMap, keeps_a_block_in_one_row) {
  const AddressMap map(with_channels(6, 16), 96);
  for (std::uint64_t block = 0; block < 10000; ++block) {
    const Location first = map.locate(block * kBlockBytes);
    const Location last = map.locate(block * kBlockBytes + kBlockBytes - 1);
    EXPECT_EQ(first.pseudo_channel, last.pseudo_channel);
    EXPECT_EQ(first.bank, last.bank);
    EXPECT_EQ(first.row, last.row);
  }
}

/// The busiest pseudo channel's share of `count` accesses, over the mean.
double peak_over_mean(const AddressMap& map, std::uint64_t stride, std::uint64_t count) {
  std::vector<std::uint64_t> hits(map.pseudo_channels());
  for (std::uint64_t i = 0; i < count; ++i) ++hits[map.pseudo_channel(i * stride)];
  return static_cast<double>(*std::max_element(hits.begin(), hits.end())) *
         static_cast<double>(hits.size()) / static_cast<double>(count);
}

TEST(AddressMap, spreads_a_stream_evenly) {
  const AddressMap map(with_channels(6, 16), 96);
  EXPECT_EQ(peak_over_mean(map, 512, 192 * 1000), 1.0);
}

TEST(AddressMap, spreads_strides_of_powers_of_two) {
  const AddressMap h200(with_channels(6, 16), 96);
  const AddressMap v6e(with_channels(2, 16), 1);
  for (std::uint64_t stride = 1024; stride <= 1 << 20; stride *= 2) {
    // 400 a channel at random: the busiest of 192 has some 3 standard deviations more, 15 %
    EXPECT_LT(peak_over_mean(h200, stride, 192 * 400), 1.25) << stride;
    EXPECT_LT(peak_over_mean(v6e, stride, 64 * 400), 1.25) << stride;
  }
}

TEST(AddressMap, alternates_bank_groups_page_by_page) {
  const AddressMap map(with_channels(1, 1), 1);
  const Location first = map.locate(0);
  std::uint32_t before = first.bank % 4;
  int changes = 0;
  for (std::uint64_t a = 512; a < 1 << 20; a += 512) {
    const Location l = map.locate(a);
    if (l.pseudo_channel != first.pseudo_channel || l.column != 0) continue;
    changes += l.bank % 4 != before;
    before = l.bank % 4;
  }
  EXPECT_GT(changes, 400);  // of 511
}

TEST(AddressMap, gives_each_slice_its_own_pseudo_channels) {
  for (const std::uint32_t slices : {96u, 192u, 384u, 48u, 1u}) {
    const AddressMap map(with_channels(6, 16), slices);
    std::set<std::pair<std::uint32_t, std::uint32_t>> places;
    for (std::uint64_t block = 0; block < 100'000; ++block) {
      const auto where = map.slice_block(block * kBlockBytes);
      EXPECT_LT(where.slice, slices);
      EXPECT_TRUE(places.emplace(where.slice, where.block).second);
      if (slices <= 192) {
        EXPECT_EQ(where.slice, map.pseudo_channel(block * kBlockBytes) % slices);
      }
    }
  }
}

TEST(AddressMap, ignores_the_chip_id) {
  const AddressMap map(with_channels(6, 16), 96);
  EXPECT_EQ(map.pseudo_channel((std::uint64_t{3} << 48) + 123456), map.pseudo_channel(123456));
}

TEST(Messages, cut_a_transfer_into_blocks_that_add_up) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t address = random() % 100'000 * 32, bytes = (random() % 200 + 1) * 32;
    std::uint64_t at = address;
    for_each_block(address, bytes, [&](std::uint64_t line, std::uint32_t mask) {
      EXPECT_EQ(line % kLineBytes, 0u);
      EXPECT_EQ(line + static_cast<unsigned>(std::countr_zero(mask)) * 32u, at);
      at += static_cast<unsigned>(std::popcount(mask)) * 32u;
      EXPECT_EQ((at - 1) / kBlockBytes, line / kBlockBytes);
      EXPECT_LE(mask, 0xffffu);
    });
    EXPECT_EQ(at, address + bytes);
  }
}

}  // namespace
}  // namespace xpusim::memory
