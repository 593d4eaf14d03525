#include "sim/engine/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/engine/check.h"
#include "sim/engine/link.h"

namespace xpusim::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Sends a message each time that it ticks and writes down what arrives.
class Node : public sc_core::sc_module, public Component {
 public:
  Node(const sc_core::sc_module_name& module_name, Scheduler& scheduler)
      : sc_module(module_name), out("out"), id(scheduler.add(*this, name())) {}
  Cycle tick(Cycle now) override {
    if (to_send == 0) return kNever;
    out->send({.tag = --to_send}, now);
    return to_send ? now + gap : kNever;
  }
  Cycle receive(const Message& message, Cycle now) override {
    arrivals.emplace_back(message.tag, now);
    return kNever;
  }
  const char* waiting_for() const override { return waits; }

  OutPort out;
  std::uint32_t id;
  std::uint32_t to_send = 0;
  Cycle gap = 1;
  const char* waits = "";
  std::vector<std::pair<std::uint32_t, Cycle>> arrivals;
};

std::string error_of(const Expected<void>& result) {
  return result ? "" : result.error().list().at(0).message;
}

class SystemTest : public ::testing::Test {
 protected:
  SystemTest() { fresh_simulation(); }
};

TEST_F(SystemTest, AMessageWithinADomainArrivesAfterTheLatency) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node a("a", domain.scheduler()), b("b", domain.scheduler());
  Link ab("ab", domain.scheduler(), domain.scheduler(), b.id, 5);
  Link ba("ba", domain.scheduler(), domain.scheduler(), a.id, 1);
  a.out(ab);
  b.out(ba);
  a.to_send = 3;
  domain.scheduler().wake(a.id, 10);
  SystemRunner runner({&domain});
  ASSERT_EQ(error_of(runner.run([&] { return b.arrivals.size() == 3; })), "");
  EXPECT_THAT(b.arrivals, ElementsAre(std::pair(2u, 15u), std::pair(1u, 16u), std::pair(0u, 17u)));
}

TEST_F(SystemTest, AnUnboundPortIsOneLineBeforeTheFirstCycle) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node a("sm", domain.scheduler());
  domain.scheduler().wake(a.id, 0);
  SystemRunner runner({&domain});
  const std::string error = error_of(runner.run([] { return true; }));
  EXPECT_THAT(error, HasSubstr("sm.out"));
  EXPECT_THAT(error, HasSubstr("not bound"));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_EQ(domain.scheduler().activations(), 0u);
}

/// Two domains: 1.755 GHz (569.80057 ps) and 1.6 GHz (625 ps), 4 cycles of the sender from end to
/// end.
class CrossingTest : public SystemTest {
 protected:
  CrossingTest() {
    a.out(ab);
    b.out(ba);
  }
  void run() {
    ASSERT_EQ(error_of(runner.run([&] {
                return fast.scheduler().next() == kNever && slow.scheduler().next() == kNever;
              })),
              "");
  }
  ClockDomain fast{"fast", Clock(1'755'000'000)}, slow{"slow", Clock(1'600'000'000)};
  Node a{"a", fast.scheduler()}, b{"b", slow.scheduler()};
  Link ab{"ab", fast.scheduler(), slow.scheduler(), b.id, 4};
  Link ba{"ba", slow.scheduler(), fast.scheduler(), a.id, 4};
  SystemRunner runner{{&fast, &slow}};
};

// Sent in cycle 10: leaves the wire at the edge of 14, 7977.208 ps = 12.76 slow cycles.
// Sent in cycle 347: at the edge of 351, which is 200 ns, the very edge of slow cycle 320.
// Sent in cycle 699: at the edge of 703 = 2 * 351 + 1, 400.57 ns, in slow cycle 641.
TEST_F(CrossingTest, AMessageIntoASlowerDomainArrivesAtItsNextEdge) {
  a.to_send = 1;
  for (const Cycle at : {10, 347, 699}) {
    fast.scheduler().wake(a.id, at);
    run();
    a.to_send = 1;
  }
  EXPECT_THAT(b.arrivals,
              ElementsAre(std::pair(0u, 13u), std::pair(0u, 320u), std::pair(0u, 641u)));
}

// Sent in cycle 16: leaves the wire at the edge of 20, 12.5 ns = 21.94 fast cycles.
// Sent in cycle 316: at 320, 200 ns = fast cycle 351. Sent in 637: at 641, fast cycle 702 + 1.097.
TEST_F(CrossingTest, AMessageIntoAFasterDomainArrivesAtItsNextEdge) {
  b.to_send = 1;
  for (const Cycle at : {16, 316, 637}) {
    slow.scheduler().wake(b.id, at);
    run();
    b.to_send = 1;
  }
  EXPECT_THAT(a.arrivals,
              ElementsAre(std::pair(0u, 22u), std::pair(0u, 351u), std::pair(0u, 704u)));
}

TEST_F(CrossingTest, BothWaysAtOnceNothingIsLostAndNothingIsLate) {
  a.to_send = b.to_send = 5000;
  a.gap = 3;
  b.gap = 2;
  fast.scheduler().wake(a.id, 0);
  slow.scheduler().wake(b.id, 0);
  run();
  ASSERT_EQ(a.arrivals.size(), 5000u);
  ASSERT_EQ(b.arrivals.size(), 5000u);
  const Clock f(1'755'000'000), s(1'600'000'000);
  for (std::size_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(b.arrivals[i].second, s.cycle_at_or_after(f.edge(3 * i + 4)));
    EXPECT_EQ(a.arrivals[i].second, f.cycle_at_or_after(s.edge(2 * i + 4)));
  }
}

TEST_F(SystemTest, ALinkFromADomainThatIsNotRunIsAnError) {
  ClockDomain one("one", Clock(1'000'000'000)), two("two", Clock(1'000'000'000));
  Node b("b", two.scheduler());
  Link link("link", one.scheduler(), two.scheduler(), b.id, 1);
  SystemRunner runner({&two});
  EXPECT_THAT(error_of(runner.run([] { return true; })), HasSubstr("two has a link from"));
}

TEST_F(SystemTest, ALinkWithoutLatencyIsRefusedByName) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node b("b", domain.scheduler());
  EXPECT_THROW(Link("too_fast", domain.scheduler(), domain.scheduler(), b.id, 0), BrokenInvariant);
}

/// Ticks for ever; breaks its own invariant in one cycle.
class Busy : public Component {
 public:
  Cycle tick(Cycle now) override {
    if (now == breaks_at) broken("gpu.sm[2]", now, "credits below zero");
    retired_work += works;
    return now + 1;
  }
  Cycle receive(const Message&, Cycle) override { return kNever; }
  std::uint64_t retired() const override { return retired_work; }
  const char* waiting_for() const override { return "a lock that nobody frees"; }

  Cycle breaks_at = kNever;
  bool works = false;
  std::uint64_t retired_work = 0;
};

TEST_F(SystemTest, ABrokenInvariantEndsTheRunWithComponentAndCycle) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Busy busy;
  busy.breaks_at = 5;
  domain.scheduler().wake(domain.scheduler().add(busy), 0);
  SystemRunner runner({&domain});
  EXPECT_EQ(error_of(runner.run([] { return false; })), "gpu.sm[2] at cycle 5: credits below zero");
}

TEST_F(SystemTest, ADeadlockNamesWhoWaitsForWhat) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node a("sm_0", domain.scheduler()), b("sm_1", domain.scheduler()), c("sm_2", domain.scheduler());
  Link link("link", domain.scheduler(), domain.scheduler(), b.id, 7);
  for (Node* node : {&a, &b, &c}) node->out(link);
  a.to_send = 1;
  a.waits = "an mbarrier";
  c.waits = "a semaphore";
  domain.scheduler().wake(a.id, 1000);
  SystemRunner runner({&domain});
  EXPECT_EQ(error_of(runner.run([] { return false; })),
            "no progress at 1 us (gpu cycle 1008): nothing is due, but the run is not over; "
            "waiting: sm_0 (an mbarrier), sm_2 (a semaphore)");
}

TEST_F(SystemTest, ALongListOfWaitersIsCutWithItsNumber) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  std::vector<Busy> many(20);
  for (Busy& one : many) domain.scheduler().add(one);
  SystemRunner runner({&domain});
  EXPECT_THAT(error_of(runner.run([] { return false; })), HasSubstr(") and 8 more"));
}

TEST_F(SystemTest, ALiveLockEndsAfterFiveMilliseconds) {
  ClockDomain domain("gpu", Clock(100'000'000));
  Busy busy;
  domain.scheduler().wake(domain.scheduler().add(busy, "sm"), 0);
  SystemRunner runner({&domain});
  const std::string error = error_of(runner.run([] { return false; }));
  EXPECT_THAT(error, HasSubstr("no message and no work completed for 5 ms"));
  EXPECT_THAT(error, HasSubstr("sm (a lock that nobody frees)"));
  EXPECT_NEAR(domain.scheduler().now(), 500'000, 1'000);  // 5 ms at 100 MHz
}

TEST_F(SystemTest, WorkWithoutMessagesIsNoLiveLock) {
  ClockDomain domain("gpu", Clock(100'000'000));
  Busy busy;
  busy.works = true;
  domain.scheduler().wake(domain.scheduler().add(busy), 0);
  SystemRunner runner({&domain});
  EXPECT_EQ(error_of(runner.run([&] { return busy.retired_work > 2'000'000; })), "");
}

TEST_F(SystemTest, ARunGoesOnWhereTheLastOneEnded) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node a("a", domain.scheduler()), b("b", domain.scheduler());
  Link link("link", domain.scheduler(), domain.scheduler(), b.id, 2);
  a.out(link);
  b.out(link);
  SystemRunner runner({&domain});
  for (std::size_t launch = 1; launch <= 3; ++launch) {
    a.to_send = 1;
    domain.scheduler().wake(a.id, domain.scheduler().now() + 5000);
    ASSERT_EQ(error_of(runner.run([&] { return b.arrivals.size() == launch; })), "");
  }
  EXPECT_EQ(b.arrivals[0].second, 5002u);
  EXPECT_GT(b.arrivals[1].second, 10'000u);
  EXPECT_GT(b.arrivals[2].second, 15'000u);
  EXPECT_GT(sc_core::sc_time_stamp().value(), 15'000'000'000u - SystemRunner::kWindow);
}

TEST_F(SystemTest, PauseAsksAtOnceWhetherTheRunIsOver) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Busy busy;
  domain.scheduler().wake(domain.scheduler().add(busy), 0);
  busy.works = true;
  SystemRunner runner({&domain});
  ASSERT_EQ(error_of(runner.run([&] {
              domain.scheduler().pause();  // ask after each cycle from now on
              return busy.retired_work >= 1234;
            })),
            "");
  EXPECT_LE(busy.retired_work, 2234u);
  EXPECT_EQ(domain.scheduler().now(), busy.retired_work);
}

/// Halves its clock in cycle 10.
class Governor : public Component {
 public:
  explicit Governor(Scheduler& scheduler) : scheduler_(scheduler) {}
  Cycle tick(Cycle now) override {
    if (now == 10) scheduler_.set_hz(500'000'000);
    if (now < 12) return now + 1;
    end = scheduler_.clock().edge(now);
    return kNever;
  }
  Cycle receive(const Message&, Cycle) override { return kNever; }
  Femto end = 0;

 private:
  Scheduler& scheduler_;
};

// Cycles 0..10 at 1 GHz, the edge of 11 at 11 ns, that of 12 at 13 ns. The other domain's message
// of its cycle 12 (12 ns) arrives after 1 ns, at the edge of 12.
TEST_F(SystemTest, AClockMayChangeWhileOthersSend) {
  ClockDomain slowing("slowing", Clock(1'000'000'000)), other("other", Clock(1'000'000'000));
  Governor governor(slowing.scheduler());
  slowing.scheduler().wake(slowing.scheduler().add(governor), 0);
  Node a("a", other.scheduler()), b("b", slowing.scheduler());
  Link ab("ab", other.scheduler(), slowing.scheduler(), b.id, 1);
  Link ba("ba", slowing.scheduler(), other.scheduler(), a.id, 1);
  a.out(ab);
  b.out(ba);
  a.to_send = 1;
  other.scheduler().wake(a.id, 12);
  SystemRunner runner({&slowing, &other});
  ASSERT_EQ(error_of(runner.run([&] { return b.arrivals.size() == 1; })), "");
  EXPECT_EQ(governor.end, 13'000'000u);
  EXPECT_THAT(b.arrivals, ElementsAre(std::pair(0u, 12u)));
}

TEST_F(SystemTest, AClockAboveItsBoundIsABrokenInvariant) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  EXPECT_THROW(domain.scheduler().set_hz(1'000'000'001), BrokenInvariant);
  domain.scheduler().allow_up_to(2'000'000'000);
  EXPECT_NO_THROW(domain.scheduler().set_hz(1'500'000'000));
}

/// A user's own SystemC block in the place of one of ours: a memory that takes requests at the port
/// and answers 40 ns later, with events and a process of its own.
class UserMemory : public sc_core::sc_module, public MessageIf {
 public:
  SC_HAS_PROCESS(UserMemory);
  UserMemory(const sc_core::sc_module_name& name, const Clock& clock)
      : sc_module(name), reply("reply"), clock_(clock) {
    SC_METHOD(answer);
    sensitive << ready_;
    dont_initialize();
  }
  void send(const Message& message, Cycle) override {
    waiting_ = message;
    if (fails) SC_REPORT_ERROR("user_memory", "parity");
    ready_.notify(40, sc_core::SC_NS);
  }
  OutPort reply;
  bool fails = false;

 private:
  void answer() {
    reply->send(waiting_, clock_.cycle_at_or_after(sc_core::sc_time_stamp().value()));
  }

  const Clock& clock_;
  Message waiting_;
  sc_core::sc_event ready_;
};

// Asked in cycle 10 (10 ns), it answers at 50 ns; the link back takes 3 cycles.
TEST_F(SystemTest, AUsersSystemCBlockCanStandInForOneOfOurs) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node sm("sm", domain.scheduler());
  UserMemory memory("memory", domain.scheduler().clock());
  Link back("back", domain.scheduler(), domain.scheduler(), sm.id, 3);
  sm.out(memory);
  memory.reply(back);
  sm.to_send = 3;
  sm.gap = 100;
  domain.scheduler().wake(sm.id, 10);
  SystemRunner runner({&domain});
  ASSERT_EQ(error_of(runner.run([&] { return sm.arrivals.size() == 3; })), "");
  EXPECT_THAT(sm.arrivals,
              ElementsAre(std::pair(2u, 53u), std::pair(1u, 153u), std::pair(0u, 253u)));
}

TEST_F(SystemTest, AnErrorOfAUsersBlockIsOneLine) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node sm("sm", domain.scheduler());
  UserMemory memory("memory", domain.scheduler().clock());
  Link back("back", domain.scheduler(), domain.scheduler(), sm.id, 3);
  sm.out(memory);
  memory.reply(back);
  memory.fails = true;
  sm.to_send = 1;
  domain.scheduler().wake(sm.id, 10);
  SystemRunner runner({&domain});
  const std::string error = error_of(runner.run([] { return false; }));
  EXPECT_THAT(error, HasSubstr("parity"));
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

/// A user's clocked block that fails by itself.
class UserBug : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(UserBug);
  explicit UserBug(const sc_core::sc_module_name& name) : sc_module(name) {
    SC_METHOD(act);
    sensitive << clock_.posedge_event();
  }

 private:
  void act() {
    if (++cycles_ == 20) SC_REPORT_ERROR("user_bug", "lost a token");
  }
  sc_core::sc_clock clock_{"clock", 2, sc_core::SC_NS};
  int cycles_ = 0;
};

TEST_F(SystemTest, AnErrorInAUsersProcessEndsTheRun) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Busy busy;
  busy.works = true;
  domain.scheduler().wake(domain.scheduler().add(busy), 0);
  UserBug bug("bug");
  SystemRunner runner({&domain});
  EXPECT_THAT(error_of(runner.run([] { return false; })), HasSubstr("lost a token"));
  EXPECT_LT(busy.retired_work, 60u);
}

TEST_F(SystemTest, ADeadlockBesideARunningClockIsFound) {
  ClockDomain domain("gpu", Clock(1'000'000'000));
  Node a("a", domain.scheduler());
  Link link("link", domain.scheduler(), domain.scheduler(), a.id, 1);
  a.out(link);
  a.waits = "an answer";
  sc_core::sc_clock clock("clock", 100, sc_core::SC_NS);
  SystemRunner runner({&domain});
  EXPECT_THAT(error_of(runner.run([] { return false; })), HasSubstr("a (an answer)"));
}

TEST(FreshSimulationTest, SystemsRunOneAfterAnotherWithTheSameNames) {
  for (int i = 0; i < 50; ++i) {
    fresh_simulation();
    EXPECT_EQ(sc_core::sc_time_stamp().value(), 0u);
    EXPECT_EQ(sc_core::sc_get_time_resolution(), sc_core::sc_time::from_value(1));
    ClockDomain domain("gpu", Clock(1'000'000'000));
    Node a("a", domain.scheduler()), b("b", domain.scheduler());
    EXPECT_STREQ(a.name(), "a");
    Link link("link", domain.scheduler(), domain.scheduler(), b.id, 2);
    a.out(link);
    if (i % 5 != 4) b.out(link);  // each fifth one fails at elaboration
    a.to_send = 1;
    domain.scheduler().wake(a.id, 5);
    SystemRunner runner({&domain});
    EXPECT_EQ(runner.run([&] { return b.arrivals.size() == 1; }).has_value(), i % 5 != 4);
  }
}

TEST(FreshSimulationTest, AnOlderSystemMayOutliveTheNextOne) {
  fresh_simulation();
  auto old = std::make_unique<ClockDomain>("gpu", Clock(1'000'000'000));
  fresh_simulation();
  ClockDomain next("gpu", Clock(1'000'000'000));
  EXPECT_STREQ(next.name(), "gpu");
  old.reset();
}

}  // namespace
}  // namespace xpusim::engine
