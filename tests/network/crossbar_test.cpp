#include "models/network/crossbar.h"

#include <gtest/gtest.h>

#include <vector>

#include "models/memory/messages.h"
#include "sim/engine/scheduler.h"
#include "sim/engine/system.h"

namespace xpusim::network {
namespace {

using engine::Cycle;

struct Sink : engine::Component {
  Cycle tick(Cycle) override { return engine::kNever; }
  Cycle receive(const engine::Message& m, Cycle now) override {
    arrivals.emplace_back(m.tag, now);
    return engine::kNever;
  }
  std::vector<std::pair<std::uint32_t, Cycle>> arrivals;
};

class CrossbarTest : public testing::Test {
 protected:
  CrossbarTest() : scheduler(engine::Clock(1'000'000'000)) {
    engine::fresh_simulation();
    crossbar =
        std::make_unique<Crossbar>("crossbar", scheduler, CrossbarParams{50, 64, 64, 8}, 4, 3);
    for (std::uint32_t i = 0; i < 3; ++i) crossbar->connect(i, scheduler.add(sinks[i]));
  }
  void send(std::uint32_t from, std::uint32_t to, std::uint16_t kind, std::uint32_t tag,
            Cycle at = 0) {
    engine::Message m;
    m.to = to;
    m.kind = kind;
    m.data = 0xffff;
    m.tag = tag;
    crossbar->port(from).send(m, at);
  }
  engine::Scheduler scheduler;
  Sink sinks[3];
  std::unique_ptr<Crossbar> crossbar;
};

TEST_F(CrossbarTest, delivers_a_small_message_after_its_latency) {
  send(0, 1, memory::kRead, 7);
  scheduler.run_until(1000);
  ASSERT_EQ(sinks[1].arrivals.size(), 1u);
  EXPECT_EQ(sinks[1].arrivals[0], (std::pair<std::uint32_t, Cycle>{7, 50}));
}

TEST_F(CrossbarTest, delivers_512_bytes_when_the_last_of_them_has_come) {
  send(0, 1, memory::kWrite, 1);
  scheduler.run_until(1000);
  EXPECT_EQ(sinks[1].arrivals[0].second, 50u + (512 + 8 - 1) / 64);
}

TEST_F(CrossbarTest, takes_as_long_again_for_sectors_that_are_written_in_part) {
  engine::Message m;
  m.to = 1;
  m.kind = memory::kWrite;
  m.data = 0xffff;
  m.count = 16;
  crossbar->port(0).send(m, 0);
  scheduler.run_until(1000);
  EXPECT_EQ(sinks[1].arrivals[0].second, 50u + (2 * 512 + 8 - 1) / 64);
  EXPECT_EQ(crossbar->bytes(), 512u + 8);
}

TEST_F(CrossbarTest, makes_messages_from_many_sources_share_a_destination) {
  for (std::uint32_t i = 0; i < 4; ++i) send(i, 2, memory::kWrite, i);
  scheduler.run_until(1000);
  ASSERT_EQ(sinks[2].arrivals.size(), 4u);
  constexpr auto kSlot = static_cast<double>(BandwidthCalendar::kSlotCycles);
  EXPECT_NEAR(static_cast<double>(sinks[2].arrivals[3].second), 50 + 4 * 520 / 64.0, kSlot);
}

TEST_F(CrossbarTest, makes_messages_from_one_source_share_its_port) {
  for (std::uint32_t i = 0; i < 3; ++i) send(0, i, memory::kWrite, i);
  scheduler.run_until(1000);
  EXPECT_NEAR(static_cast<double>(sinks[2].arrivals[0].second), 50 + 3 * 520 / 64.0, 4.0);
}

TEST_F(CrossbarTest, does_not_let_one_source_slow_down_another) {
  for (std::uint32_t i = 0; i < 50; ++i) send(0, 1, memory::kWrite, i);
  send(3, 2, memory::kRead, 99);
  scheduler.run_until(5000);
  EXPECT_EQ(sinks[2].arrivals[0].second, 50u);
}

TEST_F(CrossbarTest, knows_how_busy_its_busiest_port_was) {
  for (std::uint32_t i = 0; i < 4; ++i) send(i, 2, memory::kWrite, i);
  send(0, 1, memory::kRead, 9);  // without data: takes nothing
  scheduler.run_until(1000);
  const auto busy = crossbar->busy();
  EXPECT_EQ(busy.most, 4 * 520 / 64.0);  // destination 2 of three
  EXPECT_DOUBLE_EQ(busy.mean, 4 * 520 / 64.0 / 3);
}

TEST_F(CrossbarTest, delivers_everything_once) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    send(i % 4, i % 3, i % 2 == 0 ? memory::kRead : memory::kWrite, i);
  }
  scheduler.run_until(100'000);
  EXPECT_EQ(sinks[0].arrivals.size() + sinks[1].arrivals.size() + sinks[2].arrivals.size(), 1000u);
  EXPECT_EQ(crossbar->messages(), 1000u);
  EXPECT_EQ(crossbar->bytes(), 1000u * 8 + 500u * 512);
}

}  // namespace
}  // namespace xpusim::network
