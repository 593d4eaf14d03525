#include "models/memory/read_coalescer.h"

#include <gtest/gtest.h>

#include <vector>

namespace xpusim::memory {
namespace {

using Outcome = ReadCoalescer::Outcome;
using Reader = ReadCoalescer::Reader;

/// Reads stay for 40 cycles, and longer when more than 128 B a cycle go.
CoalescerParams params(std::int64_t readers = 3) {
  CoalescerParams p;
  p.latency_cycles = 40;
  p.bytes_per_cycle = 128;
  p.readers = readers;
  return p;
}

std::vector<std::uint32_t> answer(ReadCoalescer& c, std::uint32_t read, engine::Cycle at) {
  std::vector<std::uint32_t> tags;
  c.answer(read, at, [&](const Reader& r) { tags.push_back(r.tag); });
  return tags;
}

TEST(ReadCoalescer, lets_the_first_read_pass_and_the_next_wait) {
  ReadCoalescer c(params());
  const Outcome first = c.read(5, {1, 0, 0xff, 0}, 10, 10);
  EXPECT_EQ(first.what, Outcome::kForward);
  EXPECT_EQ(c.read(5, {2, 1, 0xff, 0}, 20, 20).what, Outcome::kWait);
  EXPECT_EQ(c.read(5, {3, 2, 0x0f, 0}, 30, 30).what, Outcome::kWait);
  EXPECT_EQ(answer(c, first.read, 100), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(c.joined_sectors(), 12u);
}

TEST(ReadCoalescer, forwards_reads_of_other_blocks_and_of_more_sectors) {
  ReadCoalescer c(params());
  const Outcome first = c.read(5, {1, 0, 0x0f, 0}, 10, 10);
  EXPECT_EQ(c.read(6, {2, 1, 0x0f, 0}, 10, 10).what, Outcome::kForward);
  const Outcome more = c.read(5, {3, 2, 0xff, 0}, 10, 10);
  EXPECT_EQ(more.what, Outcome::kForward);
  EXPECT_NE(more.read, first.read);
}

TEST(ReadCoalescer, lets_a_read_go_after_its_latency) {
  ReadCoalescer c(params());
  EXPECT_EQ(c.read(5, {1, 0, 0xf, 0}, 10, 10).at, 50u);
  EXPECT_EQ(c.read(5, {2, 1, 0xf, 0}, 49, 49).what, Outcome::kWait);
  EXPECT_EQ(c.read(5, {3, 2, 0xf, 0}, 50, 50).what, Outcome::kForward);
}

TEST(ReadCoalescer, keeps_reads_longer_while_others_go) {
  ReadCoalescer c(params());
  // 320 blocks of 512 B take 1280 cycles from cycle 40 on (slots of 32 cycles: 8 blocks each).
  engine::Cycle last = 0;
  for (std::uint32_t i = 0; i < 320; ++i) last = c.read(i, {i, 0, 0xffff, 0}, 0, 0).at;
  EXPECT_NEAR(static_cast<double>(last), 40 + 1280, 32);
  EXPECT_EQ(c.read(319, {999, 1, 0xffff, 0}, 1000, 1000).what, Outcome::kWait);
  EXPECT_EQ(c.read(0, {999, 1, 0xffff, 0}, 1000, 1000).what, Outcome::kForward);
}

TEST(ReadCoalescer, closes_a_read_that_has_all_its_readers) {
  ReadCoalescer c(params(2));
  const Outcome first = c.read(5, {1, 0, 0xf, 0}, 10, 10);
  EXPECT_EQ(c.read(5, {2, 1, 0xf, 0}, 10, 10).what, Outcome::kWait);
  const Outcome third = c.read(5, {3, 2, 0xf, 0}, 10, 10);
  EXPECT_EQ(third.what, Outcome::kForward);
  EXPECT_EQ(c.read(5, {4, 3, 0xf, 0}, 10, 10).what, Outcome::kWait);
  EXPECT_EQ(answer(c, first.read, 100), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(answer(c, third.read, 100), (std::vector<std::uint32_t>{3, 4}));
}

TEST(ReadCoalescer, joins_reads_of_the_same_dates_in_whichever_order_they_come) {
  for (const engine::Cycle apart : {engine::Cycle{39}, engine::Cycle{40}}) {
    const auto what = apart < 40 ? Outcome::kWait : Outcome::kForward;
    ReadCoalescer earlier_first(params()), later_first(params());
    earlier_first.read(5, {1, 0, 0xf, 0}, 100, 100);
    EXPECT_EQ(earlier_first.read(5, {2, 1, 0xf, 0}, 100 + apart, 100).what, what) << apart;
    later_first.read(5, {2, 1, 0xf, 0}, 100 + apart, 100);
    EXPECT_EQ(later_first.read(5, {1, 0, 0xf, 0}, 100, 100).what, what) << apart;
  }
}

TEST(ReadCoalescer, answers_at_once_a_read_dated_back_to_before_one_went_that_is_answered) {
  ReadCoalescer c(params());
  const Outcome first = c.read(5, {1, 0, 0xff, 0}, 10, 10);
  answer(c, first.read, 200);
  const Outcome late = c.read(5, {2, 1, 0xff, 0}, 49, 49);
  EXPECT_EQ(late.what, Outcome::kAnswered);
  EXPECT_EQ(late.at, 200u);
}

TEST(ReadCoalescer, has_any_number_of_reads_under_way) {
  constexpr std::uint32_t kReads = 100'000;
  ReadCoalescer c(params());
  std::vector<std::uint32_t> reads;
  for (std::uint32_t i = 0; i < kReads; ++i) {
    reads.push_back(c.read(i, {i, 0, 0xf, 0}, 10, 10).read);
    EXPECT_EQ(c.read(i, {i + kReads, 1, 0xf, 0}, 10, 10).what, Outcome::kWait);
  }
  for (std::uint32_t i = 0; i < kReads; i += 997) {
    EXPECT_EQ(answer(c, reads[i], 200'000), (std::vector<std::uint32_t>{i, i + kReads}));
  }
}

TEST(ReadCoalescer, forgets_what_it_has_answered) {
  ReadCoalescer c(params());
  std::uint32_t largest = 0;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const Outcome o = c.read(i, {i, 0, 0xffff, 0}, i * 10, i * 10);
    ASSERT_EQ(o.what, Outcome::kForward);
    largest = std::max(largest, o.read);
    answer(c, o.read, i * 10 + 95);
  }
  EXPECT_LT(largest, 16u);  // its records are used again
}

TEST(ReadCoalescer, answers_reads_of_any_sector_line_and_sm) {
  ReadCoalescer c(params());
  const Outcome o = c.read(5, {~0u, 16383, 0xffff, 3}, 10, 10);
  c.read(5, {7, 2, 0x8000, 3}, 10, 10);
  std::vector<Reader> readers;
  c.answer(o.read, 100, [&](Reader r) { readers.push_back(r); });
  ASSERT_EQ(readers.size(), 2u);
  EXPECT_EQ(readers[0].tag, ~0u);
  EXPECT_EQ(readers[0].sm, 16383u);
  EXPECT_EQ(readers[0].mask, 0xffffu);
  EXPECT_EQ(readers[0].line, 3u);
  EXPECT_EQ(readers[1].mask, 0x8000u);
}

TEST(NumberedQueue, keeps_numbers_while_it_grows) {
  NumberedQueue<std::uint32_t> queue;
  for (std::uint32_t i = 0; i < 40; ++i) queue.push(i);
  for (std::uint32_t i = 0; i < 40; ++i) queue.pop();
  EXPECT_TRUE(queue.empty());
  const std::uint32_t first = queue.push(1000);
  std::uint32_t last = first;
  for (std::uint32_t i = 1; i < 1000; ++i) last = queue.push(1000 + i);
  EXPECT_EQ(queue.size(), 1000u);
  EXPECT_EQ(queue.first(), first);
  EXPECT_EQ(queue[first + 500], 1500u);
  EXPECT_EQ(queue[last], 1999u);
}

}  // namespace
}  // namespace xpusim::memory
