#include "models/memory/read_coalescer.h"

#include <gtest/gtest.h>

#include <vector>

namespace xpusim::memory {
namespace {

using Outcome = ReadCoalescer::Outcome;
using Reader = ReadCoalescer::Reader;

std::vector<std::uint32_t> answer(ReadCoalescer& c, std::uint32_t read, engine::Cycle at) {
  std::vector<std::uint32_t> tags;
  c.answer(read, at, [&](const Reader& r) { tags.push_back(r.tag); });
  return tags;
}

TEST(ReadCoalescer, lets_the_first_read_pass_and_the_next_wait) {
  ReadCoalescer c;
  const Outcome first = c.read(5, {1, 0, 0xff, 0}, 10, 10);
  EXPECT_EQ(first.what, Outcome::kForward);
  EXPECT_EQ(c.read(5, {2, 1, 0xff, 0}, 20, 20).what, Outcome::kWait);
  EXPECT_EQ(c.read(5, {3, 2, 0x0f, 0}, 30, 30).what, Outcome::kWait);
  EXPECT_EQ(answer(c, first.read, 100), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(c.joined_sectors(), 12u);
}

TEST(ReadCoalescer, forwards_reads_of_other_blocks_and_of_more_sectors) {
  ReadCoalescer c;
  const Outcome first = c.read(5, {1, 0, 0x0f, 0}, 10, 10);
  EXPECT_EQ(c.read(6, {2, 1, 0x0f, 0}, 10, 10).what, Outcome::kForward);
  const Outcome more = c.read(5, {3, 2, 0xff, 0}, 10, 10);
  EXPECT_EQ(more.what, Outcome::kForward);
  EXPECT_NE(more.read, first.read);
}

TEST(ReadCoalescer, answers_at_once_what_is_about_to_leave_the_l2) {
  ReadCoalescer c;
  const Outcome first = c.read(5, {1, 0, 0xff, 0}, 10, 10);
  answer(c, first.read, 200);
  const Outcome late = c.read(5, {2, 1, 0xff, 0}, 199, 199);
  EXPECT_EQ(late.what, Outcome::kAnswered);
  EXPECT_EQ(late.at, 200u);
}

TEST(ReadCoalescer, forwards_a_read_of_what_has_left) {
  ReadCoalescer c;
  const Outcome first = c.read(5, {1, 0, 0xff, 0}, 10, 10);
  answer(c, first.read, 200);
  EXPECT_EQ(c.read(5, {2, 1, 0xff, 0}, 200, 200).what, Outcome::kForward);
}

TEST(ReadCoalescer, has_any_number_of_reads_and_readers_under_way) {
  constexpr std::uint32_t kReads = 100'000;
  ReadCoalescer c;
  std::vector<std::uint32_t> reads;
  for (std::uint32_t i = 0; i < kReads; ++i) {
    reads.push_back(c.read(i, {i, 0, 0xf, 0}, 10, 10).read);
    EXPECT_EQ(c.read(i, {i + kReads, 1, 0xf, 0}, 10, 10).what, Outcome::kWait);
  }
  for (std::uint32_t i = 0; i < kReads; i += 997) {
    EXPECT_EQ(answer(c, reads[i], 100), (std::vector<std::uint32_t>{i, i + kReads}));
  }
}

TEST(ReadCoalescer, forgets_what_it_has_answered) {
  ReadCoalescer c;
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const Outcome o = c.read(i, {i, 0, 0xffff, 0}, i * 10, i * 10);
    ASSERT_EQ(o.what, Outcome::kForward);
    largest = std::max(largest, o.read);
    answer(c, o.read, i * 10 + 95);
  }
  EXPECT_LT(largest, 16u);  // its records are used again
}

}  // namespace
}  // namespace xpusim::memory
