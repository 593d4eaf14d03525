// When the instructions of a kernel are there, line by line.

#include <gtest/gtest.h>

#include "models/gpu/core/fetch.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kLine = kInstructionsOfLine;

FetchParams params() {
  FetchParams p;
  p.miss_latency = 100;
  p.line_interval = 16;
  p.prefetch_lines = 0;
  p.first_bytes = 1024;   // 8 lines
  p.second_bytes = 2048;  // 16 lines
  p.preloaded_bytes = 1 << 20;
  p.second_latency = 40;
  p.l2_interval = 50;
  return p;
}

/// Walks `lines` lines, each at once when the one before has come; returns the last arrival.
std::uint32_t walk(InstructionFetch& fetch, std::uint32_t lines, std::uint32_t from) {
  std::uint32_t now = from;
  for (std::uint32_t line = 0; line < lines; ++line) now = fetch.enter(line * kLine, now);
  return now;
}

TEST(InstructionFetch, CodeThatFitsIsFetchedOnce) {
  InstructionFetch fetch(params(), 8 * kLine);
  walk(fetch, 8, 0);
  EXPECT_EQ(fetch.lines_fetched(), 8u);
  EXPECT_EQ(fetch.enter(3 * kLine, 10000), 100u * 4);  // long there
  EXPECT_EQ(fetch.lines_fetched(), 8u);
}

TEST(InstructionFetch, CodeBeyondTheFirstCacheComesFromTheSecond) {
  InstructionFetch fetch(params(), 12 * kLine);
  walk(fetch, 12, 0);
  EXPECT_EQ(walk(fetch, 12, 10000), 10000u + 12 * 40);
  EXPECT_EQ(fetch.lines_fetched(), 24u);  // each pass drives its own beginning out
}

TEST(InstructionFetch, CodeBeyondTheSecondCacheComesFromTheL2) {
  InstructionFetch fetch(params(), 20 * kLine);
  walk(fetch, 20, 0);
  EXPECT_EQ(walk(fetch, 20, 10000), 10000u + 20 * 100);
}

TEST(InstructionFetch, AWarpBehindAnotherFindsItsLines) {
  InstructionFetch fetch(params(), 20 * kLine);
  std::uint32_t now = 0;
  for (std::uint32_t line = 0; line < 20; ++line) {
    now = fetch.enter(line * kLine, now);
    if (line < 2) continue;
    EXPECT_LE(fetch.enter((line - 2) * kLine, now), now);
  }
  EXPECT_EQ(fetch.lines_fetched(), 20u);
}

}  // namespace
}  // namespace xpusim::gpu
