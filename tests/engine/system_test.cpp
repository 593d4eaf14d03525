#include "sim/engine/system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace xpusim::engine
