#include "models/network/bandwidth_calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace xpusim::network {
namespace {

using engine::Cycle;

TEST(BandwidthCalendar, lets_a_small_transfer_pass_a_free_port_at_once) {
  BandwidthCalendar port(64);
  EXPECT_EQ(port.book(100, 110, 64), 110u);
}

TEST(BandwidthCalendar, takes_a_cycle_for_every_further_port_width) {
  BandwidthCalendar port(64);
  EXPECT_EQ(port.book(96, 96, 520), 96u + 8);
}

TEST(BandwidthCalendar, makes_transfers_of_the_same_time_queue) {
  BandwidthCalendar port(32);
  for (Cycle i = 0; i < 20; ++i) EXPECT_EQ(port.book(0, 0, 32), i);
}

TEST(BandwidthCalendar, does_not_let_a_late_transfer_block_an_early_one) {
  BandwidthCalendar port(32);
  EXPECT_EQ(port.book(0, 400, 320), 409u);
  EXPECT_EQ(port.book(0, 0, 32), 0u);
  EXPECT_EQ(port.book(0, 100'000, 320), 100'009u);  // behind the window: a free port
  EXPECT_EQ(port.book(0, 1, 32), 1u);
}

TEST(BandwidthCalendar, books_transfers_that_are_ready_a_thousand_cycles_on) {
  BandwidthCalendar port(16);
  Cycle last = 0;
  for (int i = 0; i < 10; ++i) last = port.book(0, 1500, 520);
  EXPECT_NEAR(static_cast<double>(last), 1500 + 10 * 520 / 16.0, 32);
}

TEST(BandwidthCalendar, never_gives_more_than_its_rate) {
  std::mt19937_64 random(3);
  for (const unsigned spread : {1u, 100u, 400u}) {
    BandwidthCalendar port(64);
    std::uint64_t bytes = 0;
    Cycle now = 0, last = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (random() % 8 == 0) now += random() % 16;
      const auto size = static_cast<std::uint32_t>(random() % 600 + 1);
      const Cycle ready = now + random() % spread;
      const Cycle end = port.book(now, ready, size);
      EXPECT_GE(end, ready + (size - 1) / 64);
      bytes += size;
      last = std::max(last, end);
    }
    const double rate = static_cast<double>(bytes) / static_cast<double>(last + 1);
    EXPECT_LE(rate, 64.0 * 1.002) << spread;
    EXPECT_GE(rate, 64.0 * 0.98) << spread;  // it was always full
  }
}

TEST(BandwidthCalendar, keeps_a_long_line_in_order) {
  BandwidthCalendar port(64);
  Cycle before = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Cycle end = port.book(0, 0, 520);
    EXPECT_GE(end, before);
    before = end;
  }
  EXPECT_NEAR(static_cast<double>(before), 10'000 * 520 / 64.0, 2);
  EXPECT_GE(port.book(1000, 1000, 64), before);  // the line is still there when time has moved on
}

}  // namespace
}  // namespace xpusim::network
