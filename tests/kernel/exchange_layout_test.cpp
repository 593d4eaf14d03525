#include "sim/kernel/analysis/exchange_layout.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/kernel/analysis/shared_banks.h"
#include "tests/kernel/layout_reading.h"

namespace xpusim::kernel {
namespace {

using testing::Encoding;
using testing::layout_of;
using testing::mma_v2;
using testing::mma_v3;

constexpr ExchangeTarget kHopper{.stores_matrices = true, .loads_matrices = true};

std::string blocked(const std::string& size, const std::string& threads, const std::string& warps,
                    const std::string& order) {
  return "#ttg.blocked<{sizePerThread = " + size + ", threadsPerWarp = " + threads +
         ", warpsPerCTA = " + warps + ", order = " + order + "}>";
}

/// In each round, both sides name the same elements, each at a place of its own.
void expect_exchange(const ExchangeLayout& e, const LinearLayout& from, const LinearLayout& to) {
  std::vector<std::map<Basis, std::int64_t>> stored(e.rounds), loaded(e.rounds);
  const auto visit = [&](const LinearLayout& l, auto& seen) {
    for (std::uint32_t w = 0; w < l.warp_count(); ++w) {
      for (std::uint32_t lane = 0; lane < l.lane_count(); ++lane) {
        for (std::uint32_t r = 0; r < l.register_count(); ++r) {
          const Basis at = l.at(r, lane, w);
          ASSERT_LT(e.round(at), e.rounds);
          seen[e.round(at)][at] = e.shared.unpadded(at);
        }
      }
    }
  };
  visit(from, stored);
  visit(to, loaded);
  for (std::uint32_t round = 0; round < e.rounds; ++round) {
    EXPECT_EQ(stored[round], loaded[round]);
    std::set<std::int64_t> places;
    for (const auto& [at, place] : stored[round]) {
      EXPECT_TRUE(place >= 0 && place < e.shared.bytes) << place;
      EXPECT_EQ(place % e.shared.element_bytes, 0);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), stored[round].size());
    EXPECT_EQ(static_cast<std::int64_t>(places.size()) * e.shared.element_bytes, e.shared.bytes);
  }
}

// The end of a matrix product of 128x64 with eight warps: a lane of the result has two columns side
// by side, and eight columns further two more; a lane that stores to global memory has eight side
// by side. Measured listings of such kernels: STS.128, LDSM.x4.
TEST(ExchangeLayout, TheResultOfWgmmaGoesOutByVectorsAndComesBackByMatrices) {
  const auto from = layout_of(mma_v3("[8, 1]", "[16, 64, 16]"), {128, 64});
  const auto to = layout_of(blocked("[1, 8]", "[4, 8]", "[8, 1]", "[1, 0]"), {128, 64});
  const ExchangeLayout e = exchange_layout(from, to, 16, kHopper);
  expect_exchange(e, from, to);
  EXPECT_EQ(e.store, ExchangeAccess::kVectors);
  EXPECT_EQ(e.load, ExchangeAccess::kMatrices);
  EXPECT_EQ(e.rounds, 1u);
  // Columns 1, 8 and 16 follow the element 0: the 16 bytes that a lane stores.
  EXPECT_EQ(e.shared.unpadded({0, 1}), 2);
  EXPECT_EQ(e.shared.unpadded({0, 8}), 4);
  EXPECT_EQ(e.shared.unpadded({0, 16}), 8);
}

// With 256 rows, rows 128 and further lie in other registers of the same threads on both sides:
// the tile goes in two halves through half the memory.
TEST(ExchangeLayout, WhatBothSidesHaveInRegistersGoesInRounds) {
  const auto from = layout_of(mma_v3("[8, 1]", "[16, 64, 16]"), {256, 64});
  const auto to = layout_of(blocked("[1, 8]", "[4, 8]", "[8, 1]", "[1, 0]"), {256, 64});
  const ExchangeLayout e = exchange_layout(from, to, 16, kHopper);
  expect_exchange(e, from, to);
  EXPECT_EQ(e.rounds, 2u);
  EXPECT_EQ(e.round({128, 0}), 1u);
  EXPECT_EQ(e.shared.bytes, 128 * 64 * 2);
}

// Without matrix instructions the two columns that a lane has side by side on both sides are a
// word; nothing longer stays together.
TEST(ExchangeLayout, AnOldChipMovesWords) {
  const auto from = layout_of(mma_v2("[4, 1]"), {64, 64});
  const auto to = layout_of(blocked("[1, 8]", "[4, 8]", "[4, 1]", "[1, 0]"), {64, 64});
  const ExchangeLayout e = exchange_layout(from, to, 16, {});
  expect_exchange(e, from, to);
  EXPECT_EQ(e.store, ExchangeAccess::kVectors);
  EXPECT_EQ(e.load, ExchangeAccess::kVectors);
  EXPECT_EQ(e.shared.unpadded({0, 1}), 2);
}

// A transposition of 32-bit elements: 32 lanes along a row become 32 lanes along a column. What
// both sides have in registers (columns 32 and rows 32 further) makes vectors of 16 bytes; the rest
// is paired by exclusive or: neither side has conflicts.
TEST(ExchangeLayout, ATransposeHasNoBankConflicts) {
  const auto from = layout_of(blocked("[1, 1]", "[1, 32]", "[4, 1]", "[1, 0]"), {64, 64});
  const auto to = layout_of(blocked("[1, 1]", "[32, 1]", "[1, 4]", "[0, 1]"), {64, 64});
  const ExchangeLayout e = exchange_layout(from, to, 32, kHopper);
  expect_exchange(e, from, to);
  for (const LinearLayout* side : {&from, &to}) {
    const SharedVector vector = shared_vector(*side, e.shared);
    EXPECT_EQ(vector.elements, 4u);
    EXPECT_EQ(shared_wavefronts(*side, e.shared, vector.elements), 4u);  // 32 lanes, 512 bytes
  }
}

// Bases of several bits, which no vector or matrix fits: still every element has a place.
TEST(ExchangeLayout, LayoutsOfMixedBitsMeetToo) {
  const auto from = layout_of(
      "#ttg.linear<{register = [[6], [8]], lane = [[256], [64], [32], [1], [128]], "
      "warp = [[16], [2]], block = []}>",
      {512});
  const auto to = layout_of(
      "#ttg.linear<{register = [[6], [24]], lane = [[64], [32], [128], [256], [2]], "
      "warp = [[1], [16]], block = []}>",
      {512});
  for (std::uint32_t bits : {8u, 16u, 32u, 64u}) {
    expect_exchange(exchange_layout(from, to, bits, kHopper), from, to);
  }
}

TEST(ExchangeLayout, EveryPairOfLayoutsMeetsInSharedMemory) {
  const std::vector<std::int64_t> shape{32, 64};
  const std::vector<std::string> texts{
      blocked("[1, 4]", "[2, 16]", "[4, 1]", "[1, 0]"),
      blocked("[4, 1]", "[32, 1]", "[1, 4]", "[0, 1]"),
      blocked("[2, 2]", "[8, 4]", "[2, 2]", "[1, 0]"),
      blocked("[1, 1]", "[1, 32]", "[4, 1]", "[1, 0]"),
      blocked("[1, 8]", "[1, 32]", "[4, 1]", "[1, 0]"),  // lanes with copies
      blocked("[8, 8]", "[4, 8]", "[1, 4]", "[0, 1]"),
      mma_v2("[2, 2]"),
      mma_v3("[4, 1]", "[16, 128, 16]"),
      "#ttg.dot_op<{opIdx = 0, parent = " + mma_v2("[4, 1]") + ", kWidth = 2}>",
  };
  for (const auto& a : texts) {
    for (const auto& b : texts) {
      for (std::uint32_t bits : {8u, 16u, 32u, 64u}) {
        SCOPED_TRACE(a + " -> " + b + " of " + std::to_string(bits) + " bits");
        const auto from = layout_of(a, shape), to = layout_of(b, shape);
        expect_exchange(exchange_layout(from, to, bits, kHopper), from, to);
        expect_exchange(exchange_layout(from, to, bits, {}), from, to);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace xpusim::kernel
