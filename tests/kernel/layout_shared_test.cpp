#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/kernel/analysis/shared_banks.h"
#include "sim/kernel/analysis/shared_layout.h"
#include "tests/kernel/layout_reading.h"

namespace xpusim::kernel {
namespace {

using testing::dot_op;
using testing::Encoding;
using testing::mma_v2;
using testing::mma_v3;
using Shape = std::vector<std::int64_t>;

std::string nvmma(int width, bool transposed, int bits, const std::string& more = "") {
  return "#ttg.nvmma_shared<{swizzlingByteWidth = " + std::to_string(width) +
         ", transposed = " + (transposed ? "true" : "false") +
         ", elementBitWidth = " + std::to_string(bits) + more + "}>";
}
std::string swizzled(int vec, int per_phase, int max_phase, const std::string& order) {
  return "#ttg.swizzled_shared<{vec = " + std::to_string(vec) +
         ", perPhase = " + std::to_string(per_phase) + ", maxPhase = " + std::to_string(max_phase) +
         ", order = " + order + "}>";
}
SharedLayout shared_of(const std::string& text, const Shape& shape, int bytes) {
  const Encoding encoding(text);
  auto layout = shared_layout(encoding, shape, bytes, {});
  if (layout) return *layout;
  ADD_FAILURE() << layout.error().str();
  return {};
}
std::string problem(const std::string& text, const Shape& shape, int bytes) {
  const Encoding encoding(text);
  const auto layout = shared_layout(encoding, shape, bytes, {});
  return layout ? "" : layout.error().list()[0].message;
}
LinearLayout layout_of(const std::string& text, const Shape& shape) {
  const Encoding encoding(text);
  auto layout = linear_layout(encoding, shape, {});
  if (layout) return *layout;
  ADD_FAILURE() << layout.error().str();
  return {};
}

// Of swizzle modes 128, 64 and 32 bytes, TMA exchanges the 16-byte chunks of a row: chunk number
// xor (row mod 8), (row / 2 mod 4), (row / 4 mod 2) (CUDA C++ Programming Guide, "Tensor Memory
// Access: swizzle modes").
TEST(SharedLayout, ARowOfOneSwizzleWidthExchangesChunksByItsNumber) {
  for (const int width : {128, 64, 32}) {
    const auto l = shared_of(nvmma(width, false, 16), {64, width / 2}, 2);
    EXPECT_EQ(l.bytes, 64 * width);
    EXPECT_EQ(l.alignment, 8 * width);
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < width / 2; ++column) {
        const int swizzle = width == 128 ? row % 8 : width == 64 ? row / 2 % 4 : row / 4 % 2;
        const int chunk = column / 8 ^ swizzle;
        EXPECT_EQ(l.offset({row, column}), row * width + chunk * 16 + column % 8 * 2);
      }
    }
  }
}

TEST(SharedLayout, ALongRowGoesOnInAPieceBehindAllRows) {
  const auto l = shared_of(nvmma(128, false, 16), {64, 128}, 2);
  EXPECT_EQ(l.offset({0, 63}), 126);
  EXPECT_EQ(l.offset({0, 64}), 64 * 128);
  EXPECT_EQ(l.offset({3, 64 + 8 * 2}), 64 * 128 + 3 * 128 + (2 ^ 3) * 16);
  EXPECT_EQ(l.bytes, 64 * 128 * 2);
}

TEST(SharedLayout, ATransposedTileHasItsFirstDimensionInARow) {
  const auto l = shared_of(nvmma(64, true, 8), {128, 32}, 1);
  // Rows of 64 elements along dimension 0; the other 64 lie behind all 32 of these.
  EXPECT_EQ(l.offset({5, 0}), 5);
  EXPECT_EQ(l.offset({16, 2}), 2 * 64 + (1 ^ 1) * 16);
  EXPECT_EQ(l.offset({64, 0}), 32 * 64);
  EXPECT_EQ(l.bytes, 128 * 32);
}

TEST(SharedLayout, ABoxOfTmaHasAtMost256Rows) {
  const auto l = shared_of(nvmma(128, true, 16), {128, 512}, 2);
  EXPECT_EQ(l.offset({0, 255}), 255 * 128 + 7 * 16);
  EXPECT_EQ(l.offset({64, 0}), 256 * 128);       // the other half of the row of the same boxes
  EXPECT_EQ(l.offset({0, 256}), 2 * 256 * 128);  // the other boxes
}

TEST(SharedLayout, WithoutSwizzleRowsFollowOneAnother) {
  const auto l = shared_of(nvmma(0, false, 32), {16, 8}, 4);
  EXPECT_EQ(l.offset({3, 5}), (3 * 8 + 5) * 4);
  EXPECT_EQ(shared_of(nvmma(0, false, 32), {64}, 4).offset({9}), 36);
}

TEST(SharedLayout, BuffersOfAPipelineFollowOneAnother) {
  const auto l = shared_of(nvmma(128, false, 16), {3, 64, 128}, 2);
  EXPECT_EQ(l.buffer_dims, 1u);
  EXPECT_EQ(l.buffer_bytes, 64 * 128 * 2);
  EXPECT_EQ(l.bytes, 3 * 64 * 128 * 2);
  EXPECT_EQ(l.offset({2, 0, 64}), 2 * 64 * 128 * 2 + 64 * 128);
  EXPECT_EQ(l.offset({0, 64}), 64 * 128);  // without a buffer: of the first
  const auto barriers = shared_of(swizzled(1, 1, 1, "[0]"), {4, 1}, 8);
  EXPECT_EQ(barriers.offset({3, 0}), 24);
  EXPECT_EQ(barriers.bytes, 32);
  const auto boxes = shared_of(nvmma(128, false, 16, ", rank = 3"), {2, 64, 128}, 2);
  EXPECT_EQ(boxes.buffer_dims, 0u);
  EXPECT_EQ(boxes.offset({1, 0, 0}), 64 * 128);  // the rows of both matrices, then the next piece
  EXPECT_EQ(boxes.offset({0, 0, 64}), 2 * 64 * 128);
}

// Group of vec elements number column / vec of a row becomes number
// (column / vec) xor (row / perPhase mod maxPhase).
TEST(SharedLayout, SwizzledRowsExchangeGroupsOfElements) {
  struct Case {
    int vec, per_phase, max_phase;
    Shape shape;
  };
  for (const Case& c : {Case{8, 1, 8, {64, 64}}, Case{8, 2, 4, {32, 32}}, Case{4, 1, 4, {16, 32}},
                        Case{1, 1, 1, {8, 8}}, Case{8, 1, 8, {32, 16}}, Case{16, 2, 4, {64, 64}}}) {
    const auto l = shared_of(swizzled(c.vec, c.per_phase, c.max_phase, "[1, 0]"), c.shape, 2);
    const auto t =
        shared_of(swizzled(c.vec, c.per_phase, c.max_phase, "[0, 1]"), {c.shape[1], c.shape[0]}, 2);
    for (std::int64_t row = 0; row < c.shape[0]; ++row) {
      for (std::int64_t column = 0; column < c.shape[1]; ++column) {
        const std::int64_t groups = c.shape[1] / c.vec;
        const std::int64_t group = (column / c.vec ^ row / c.per_phase % c.max_phase) % groups;
        const std::int64_t at = (row * c.shape[1] + group * c.vec + column % c.vec) * 2;
        EXPECT_EQ(l.offset({row, column}), at);
        EXPECT_EQ(t.offset({column, row}), at);
      }
    }
  }
}

TEST(SharedLayout, PaddingFollowsEveryIntervalButTheLast) {
  for (const char* text : {"#ttg.padded_shared<[64:+4] {order = [1, 0], shape = [16, 64]}>",
                           "#ttg.padded_shared<[64:+4] {offset = [[0, 1], [0, 2], [0, 4], [0, 8], "
                           "[0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0]], block = []}>"}) {
    const auto l = shared_of(text, {16, 64}, 4);
    EXPECT_FALSE(l.is_linear());
    EXPECT_EQ(l.offset({0, 63}), 63 * 4);
    EXPECT_EQ(l.offset({3, 5}), (3 * 68 + 5) * 4);
    EXPECT_EQ(l.bytes, (16 * 64 + 15 * 4) * 4);
  }
  const auto two =
      shared_of("#ttg.padded_shared<[8:+2, 32:+4] {order = [0], shape = [64]}>", {64}, 1);
  EXPECT_EQ(two.offset({33}), 33 + 4 * 2 + 4);
}

TEST(SharedLayout, ALinearMapIsInverted) {
  const auto l = shared_of(
      "#ttg.shared_linear<{offset = [[0, 1], [1, 1], [0, 2], [2, 2]], block = []}>", {4, 4}, 2);
  // Element number 2 in memory is (1, 1), number 3 is (0, 1) xor (1, 1) = (1, 0).
  EXPECT_EQ(l.offset({0, 1}), 2);
  EXPECT_EQ(l.offset({1, 1}), 4);
  EXPECT_EQ(l.offset({1, 0}), 6);
  EXPECT_EQ(l.offset({2, 2}), 16);
  EXPECT_EQ(l.offset({2, 0}), 24);
}

TEST(SharedLayout, WhatIsWrongOrNotModelledIsNamed) {
  EXPECT_NE(problem("#ttg.moebius<{a = 1}>", {64, 64}, 2).find("#ttg.moebius"), std::string::npos);
  EXPECT_NE(problem(nvmma(128, false, 16), {64, 32}, 2), "");  // a row of 64 bytes
  EXPECT_NE(problem(nvmma(128, false, 16), {64, 64}, 4), "");
  EXPECT_NE(problem(nvmma(48, false, 16), {64, 64}, 2), "");
  EXPECT_NE(problem(nvmma(128, false, 16), {64}, 2), "");
  EXPECT_NE(problem(nvmma(128, false, 8, ", fp4Padded = true"), {64, 128}, 1), "");
  EXPECT_NE(problem(nvmma(128, false, 16, ", CGALayout = [[1, 0]]"), {64, 64}, 2), "");
  EXPECT_NE(problem(swizzled(8, 1, 8, "[1, 1]"), {64, 64}, 2), "");
  EXPECT_NE(problem(swizzled(8, 1, 8, "[2, 1, 0]"), {64, 64}, 2), "");
  EXPECT_NE(problem(swizzled(0, 1, 8, "[1, 0]"), {64, 64}, 2), "");
  EXPECT_NE(problem(swizzled(8, 1, 8, "[1, 0]"), {64, 48}, 2), "");
  EXPECT_NE(problem(swizzled(8, 1, 8, "[1, 0]"), {1 << 30, 1 << 30}, 2), "");
  EXPECT_NE(problem("#ttg.shared_linear<{offset = [[0, 1], [0, 1]]}>", {2, 2}, 2), "");
  EXPECT_NE(problem("#ttg.shared_linear<{offset = [[0, 1]]}>", {2, 2}, 2), "");
  EXPECT_NE(problem("#ttg.padded_shared<[0:+4] {order = [1, 0], shape = [2, 2]}>", {2, 2}, 2), "");
  EXPECT_NE(problem("#ttg.padded_shared<[64:+4] {block = []}>", {2, 2}, 2), "");
}

// --- banks

std::vector<std::int64_t> lanes_at(std::int64_t step) {
  std::vector<std::int64_t> offsets(32);
  for (std::size_t i = 0; i < 32; ++i) offsets[i] = static_cast<std::int64_t>(i) * step;
  return offsets;
}

TEST(SharedBanks, WavefrontsOfStridesAreThoseOfTheProgrammingGuide) {
  EXPECT_EQ(shared_wavefronts(lanes_at(4), 4), 1u);
  EXPECT_EQ(shared_wavefronts(lanes_at(8), 4), 2u);
  EXPECT_EQ(shared_wavefronts(lanes_at(12), 4), 1u);  // odd strides meet no bank twice
  EXPECT_EQ(shared_wavefronts(lanes_at(128), 4), 32u);
  EXPECT_EQ(shared_wavefronts(lanes_at(0), 4), 1u);  // one word for all
  EXPECT_EQ(shared_wavefronts(lanes_at(1), 1), 1u);  // four lanes a word
  EXPECT_EQ(shared_wavefronts(lanes_at(2), 2), 1u);
  EXPECT_EQ(shared_wavefronts(lanes_at(8), 8), 2u);    // 256 bytes
  EXPECT_EQ(shared_wavefronts(lanes_at(16), 16), 4u);  // 512 bytes
  EXPECT_EQ(shared_wavefronts(lanes_at(128), 16), 32u);
}

TEST(SharedBanks, OfAStrideOfTwoWordsEachBankServesTwoLanesOneAfterTheOther) {
  const auto map = shared_bank_map(lanes_at(8), 4);
  ASSERT_EQ(map.size(), 2u);
  for (std::uint32_t w = 0; w < 2; ++w) {
    ASSERT_EQ(map[w].size(), 16u);  // only the even banks are used
    for (std::uint32_t i = 0; i < 16; ++i) {
      const std::uint32_t lane = 16 * w + i;  // lane 16 wants word 32: bank 0 again
      EXPECT_EQ(map[w][i].bank, 2 * i);
      EXPECT_EQ(map[w][i].word, 2 * lane);
      EXPECT_EQ(map[w][i].lanes, 1u << lane);
    }
  }
}

TEST(SharedBanks, TheMapHasAsManyWavefrontsAsAreCounted) {
  for (const std::int64_t step : {0, 1, 4, 8, 12, 16, 64, 128, 132}) {
    for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
      EXPECT_EQ(shared_bank_map(lanes_at(step), bytes).size(),
                shared_wavefronts(lanes_at(step), bytes))
          << step << " " << bytes;
    }
  }
  auto one_lane = lanes_at(4);
  std::fill(one_lane.begin() + 1, one_lane.end(), -1);
  const auto map = shared_bank_map(one_lane, 16);  // 16 bytes: four banks
  ASSERT_EQ(map.size(), 1u);
  EXPECT_EQ(map[0].size(), 4u);
}

TEST(SharedBanks, RowsOf128BytesConflictUnlessSwizzled) {
  // The eight rows of a matrix of 8 x 16 bytes, as ldmatrix reads them, of a tile of rows of 128
  // bytes.
  const auto wavefronts = [](const SharedLayout& l) {
    std::vector<std::int64_t> rows;
    for (int row = 0; row < 8; ++row) rows.push_back(l.offset({row, 24}));
    return shared_wavefronts(rows, 16);
  };
  EXPECT_EQ(wavefronts(shared_of(swizzled(1, 1, 1, "[1, 0]"), {64, 64}, 2)), 8u);
  EXPECT_EQ(wavefronts(shared_of(nvmma(128, false, 16), {64, 64}, 2)), 1u);
  EXPECT_EQ(wavefronts(shared_of(swizzled(8, 1, 8, "[1, 0]"), {64, 64}, 2)), 1u);
  EXPECT_EQ(wavefronts(shared_of(swizzled(8, 1, 4, "[1, 0]"), {64, 64}, 2)), 2u);
}

TEST(SharedBanks, AVectorIsWhatBothLayoutsKeepSideBySide) {
  const std::string blocked =
      "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order "
      "= [1, 0]}>";
  const auto l = layout_of(blocked, {64, 64});
  const auto shared = shared_of(nvmma(128, false, 16), {64, 64}, 2);
  const auto v = shared_vector(l, shared);
  EXPECT_EQ(v.elements, 8u);
  EXPECT_EQ(v.register_bits, 0b111u);
  EXPECT_EQ(shared_wavefronts(l, shared, v.elements), 4u);  // 512 bytes: no conflict
  EXPECT_EQ(shared_vector(l, shared_of(swizzled(4, 1, 4, "[1, 0]"), {64, 64}, 2)).elements, 4u);
  EXPECT_EQ(shared_vector(l, shared_of(nvmma(128, true, 16), {64, 64}, 2)).elements, 1u);
  // The result of a wgmma: pairs of columns.
  const auto result = layout_of(mma_v3("[4, 1]", "[16, 64, 16]"), {64, 64});
  const auto pair = shared_vector(result, shared);
  EXPECT_EQ(pair.elements, 2u);
  EXPECT_EQ(pair.register_bits, 0b1u);
  EXPECT_EQ(shared_wavefronts(result, shared, 2), 1u);
  EXPECT_EQ(shared_wavefronts(result, shared_of(nvmma(0, false, 16), {64, 64}, 2), 2), 8u);
  // Padding of 4 bytes leaves no longer vector.
  const auto padded =
      shared_of("#ttg.padded_shared<[64:+2] {order = [1, 0], shape = [64, 64]}>", {64, 64}, 2);
  EXPECT_EQ(shared_vector(l, padded).elements, 2u);
}

TEST(SharedBanks, EveryRegisterAndWarpTakesEquallyManyWavefronts) {
  const auto l = layout_of(dot_op(0, mma_v2("[2, 2]"), 2), {64, 64});
  for (const auto& shared :
       {shared_of(nvmma(128, false, 16), {64, 64}, 2), shared_of(nvmma(0, false, 16), {64, 64}, 2),
        shared_of(swizzled(8, 2, 4, "[0, 1]"), {64, 64}, 2)}) {
    const auto v = shared_vector(l, shared);
    const auto first = shared_wavefronts(l, shared, v.elements);
    for (std::uint32_t w = 0; w < l.warp_count(); ++w) {
      for (std::uint32_t r = 0; r < l.register_count(); ++r) {
        if ((r & v.register_bits) != 0) continue;
        EXPECT_EQ(shared_wavefronts(l, shared, v.elements, r, w), first);
      }
    }
  }
}

}  // namespace
}  // namespace xpusim::kernel
