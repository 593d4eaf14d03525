#include "sim/engine/mailboxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/scheduler.h"

namespace xpusim::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Message tagged(std::uint32_t tag) { return {.tag = tag}; }

std::vector<std::pair<std::uint32_t, Cycle>> take(Mailboxes& mail, std::uint32_t id, Cycle end) {
  std::vector<std::pair<std::uint32_t, Cycle>> out;
  mail.take(id, end, [&](const Message& m, Cycle at) { out.emplace_back(m.tag, at); });
  return out;
}

TEST(Mailboxes, GivesAWindowsMessagesByCycleThenInOrderOfSending) {
  Mailboxes mail;
  mail.open(3, 10);
  EXPECT_EQ(mail.put(tagged(1), 3, 25, 0), 29u);
  EXPECT_EQ(mail.put(tagged(2), 3, 21, 0), 29u);
  mail.put(tagged(3), 3, 25, 5);
  mail.put(tagged(4), 3, 30, 5);
  EXPECT_EQ(mail.next(3, 7), 29u);
  EXPECT_THAT(take(mail, 3, 9), IsEmpty());
  EXPECT_THAT(take(mail, 3, 29),
              ElementsAre(std::pair(2u, 21u), std::pair(1u, 25u), std::pair(3u, 25u)));
  EXPECT_EQ(mail.next(3, 30), 39u);
  EXPECT_THAT(take(mail, 3, 39), ElementsAre(std::pair(4u, 30u)));
  EXPECT_EQ(mail.next(3, 40), kNever);
}

TEST(Mailboxes, KeepsTheOrderOfMessagesThatWereSentFarAhead) {
  Mailboxes mail;
  mail.open(0, 10);
  mail.put(tagged(1), 0, 10'005, 0);  // beyond what is kept apart
  EXPECT_EQ(mail.next(0, 0), 10'009u);
  mail.put(tagged(2), 0, 10'005, 9'990);
  EXPECT_THAT(take(mail, 0, 10'009), ElementsAre(std::pair(1u, 10'005u), std::pair(2u, 10'005u)));
}

TEST(Mailboxes, HoldsAnyNumberOfMessages) {
  Mailboxes mail;
  mail.open(0, 60);
  for (std::uint32_t i = 0; i < 10'000; ++i) mail.put(tagged(i), 0, 60 + i % 60, 0);
  const auto taken = take(mail, 0, 119);
  ASSERT_EQ(taken.size(), 10'000u);
  for (std::size_t i = 1; i < taken.size(); ++i) {
    ASSERT_LT(std::pair(taken[i - 1].second, taken[i - 1].first),
              std::pair(taken[i].second, taken[i].first));
  }
}

/// Writes down what comes to it and when it is ticked, once a window.
class Windowed : public Component {
 public:
  Cycle tick(Cycle now) override {
    if (now % 10 == 9) log.push_back("tick@" + std::to_string(now));
    return kNever;
  }
  Cycle receive(const Message& m, Cycle at) override {
    log.push_back(std::to_string(m.tag) + "@" + std::to_string(at));
    return kNever;
  }
  std::vector<std::string> log;
};

class WindowedComponent : public ::testing::TestWithParam<Scheduler::Mode> {};

TEST_P(WindowedComponent, ReceivesAWindowTogetherBeforeItIsTicked) {
  Scheduler scheduler(Clock(1'000'000'000), GetParam());
  Windowed c;
  const std::uint32_t id = scheduler.add(c, "c", 10);
  scheduler.post(tagged(1), id, 17);
  scheduler.post(tagged(2), id, 12);
  scheduler.post(tagged(3), id, 31);
  scheduler.run_until(35);
  EXPECT_EQ(scheduler.messages(), 2u);
  scheduler.run_until(40);
  EXPECT_EQ(scheduler.messages(), 3u);
  std::erase_if(c.log, [](const std::string& what) {  // ticked all the time, for nothing
    return what == "tick@9" || what == "tick@29";
  });
  EXPECT_THAT(c.log, ElementsAre("2@12", "1@17", "tick@19", "3@31", "tick@39"));
}

INSTANTIATE_TEST_SUITE_P(Modes, WindowedComponent,
                         ::testing::Values(Scheduler::Mode::kSkip, Scheduler::Mode::kTickAll));

}  // namespace
}  // namespace xpusim::engine
