// Requests that an SM dates back: it works through a window of cycles at the window's end.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "models/memory/memory_system.h"
#include "models/memory/messages.h"
#include "sim/engine/system.h"

namespace xpusim::memory {
namespace {

using engine::Cycle;

/// Reads one sector, always the same, at given cycles and with given dates.
class DatedReader : public sc_core::sc_module, public engine::Component {
 public:
  struct Read {
    Cycle at, dated;
  };
  DatedReader(const sc_core::sc_module_name& name, std::vector<Read> reads)
      : sc_module(name), memory("memory"), reads_(std::move(reads)) {}
  engine::OutPort memory;

  Cycle tick(Cycle now) override {
    if (sent_ < reads_.size() && reads_[sent_].at == now) {
      engine::Message m;
      m.kind = kRead;
      m.data = 1;
      m.tag = static_cast<std::uint32_t>(sent_);
      memory->send(m, reads_[sent_++].dated);
    }
    return sent_ < reads_.size() ? reads_[sent_].at : engine::kNever;
  }
  Cycle receive(const engine::Message&, Cycle now) override {
    answered.push_back(now);
    return engine::kNever;
  }
  bool done() const { return answered.size() == reads_.size(); }
  std::vector<Cycle> answered;

 private:
  std::vector<Read> reads_;
  std::size_t sent_ = 0;
};

constexpr Cycle kReplyLatency = 4;

/// SMs of one group before an L2 in one piece.
struct Group {
  explicit Group(const std::vector<std::vector<DatedReader::Read>>& reads) {
    MemoryParams p;
    p.l2.halves = 1;
    p.coalescer.groups = 1;
    p.coalescer.latency_cycles = 40;
    p.replies.latency_cycles = static_cast<std::int64_t>(kReplyLatency);
    engine::fresh_simulation();
    engine::ClockDomain domain("chip", engine::Clock(1'980'000'000));
    engine::Scheduler& s = domain.scheduler();
    MemorySystem memory("memory", s, p, static_cast<std::uint32_t>(reads.size()));
    window = memory.window();
    std::vector<std::unique_ptr<DatedReader>> sms;
    for (std::uint32_t i = 0; i < reads.size(); ++i) {
      sms.push_back(std::make_unique<DatedReader>(("sm_" + std::to_string(i)).c_str(), reads[i]));
      sms[i]->memory(memory.sm_port(i));
      const std::uint32_t id = s.add(*sms[i], "sm");
      memory.connect_sm(i, id);
      s.wake(id, reads[i].front().at);
    }
    engine::SystemRunner runner({&domain});
    const auto result = runner.run([&] {
      return std::all_of(sms.begin(), sms.end(), [](const auto& sm) { return sm->done(); });
    });
    error = result ? "" : result.error().str();
    for (const auto& sm : sms) answered.push_back(sm->answered);
    joined = memory.counters().coalesced_sectors;
    l2_reads = memory.counters().l2_sectors_read;
  }
  Cycle window = 0;
  std::string error;
  std::vector<std::vector<Cycle>> answered;
  std::uint64_t joined = 0, l2_reads = 0;
};

constexpr Cycle kWarm = 4000;  // the line is in the L2 by then
constexpr Cycle kStay = 40;    // in the coalescer

TEST(DatedRequests, MayGoBackByTheShorterOfTheTwoWays) {
  EXPECT_EQ(Group({{{0, 0}}}).window, kReplyLatency);
}

TEST(DatedRequests, AReadJoinsOneThatHasGoneSinceItsDate) {
  const Cycle gone = kWarm + kStay;
  const Group g({{{0, 0}, {kWarm, kWarm}}, {{gone + kReplyLatency - 2, gone - 1}}});
  EXPECT_EQ(g.error, "");
  EXPECT_EQ(g.joined, 1u);
  EXPECT_EQ(g.answered[1][0], g.answered[0][1]);
}

TEST(DatedRequests, AReadOfALaterDateDoesNotMakeAnEarlierOneMissItsRead) {
  // The second SM works first: at its date the read has gone. The third one's date is earlier.
  const Cycle gone = kWarm + kStay;
  const Cycle at = gone + kReplyLatency - 2;
  const Group g({{{0, 0}, {kWarm, kWarm}}, {{at, gone}}, {{at, gone - 1}}});
  EXPECT_EQ(g.error, "");
  EXPECT_EQ(g.joined, 1u);
  EXPECT_EQ(g.answered[2][0], g.answered[0][1]);
  EXPECT_EQ(g.answered[1][0], g.answered[0][1] + kStay);
}

}  // namespace
}  // namespace xpusim::memory
