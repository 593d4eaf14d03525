#include "models/memory/hbm.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/memory/messages.h"
#include "sim/engine/system.h"

namespace xpusim::memory {
namespace {

using engine::Cycle;

/// A DMA engine: moves `bytes` from one place to another (or only reads them), with at most `limit`
/// blocks under way. A block is written when it has been read.
class Dma : public sc_core::sc_module, public engine::Component {
 public:
  Dma(const sc_core::sc_module_name& name, std::uint64_t bytes, bool copy, std::uint32_t limit)
      : sc_module(name),
        memory("memory"),
        blocks_(bytes / kBlockBytes),
        copy_(copy),
        limit_(limit) {}
  engine::OutPort memory;

  Cycle tick(Cycle now) override {
    if (now < due_) return due_;
    due_ = engine::kNever;
    while (sent_ < blocks_ && under_way_ < limit_) send(kRead, sent_++, now);
    return due_;
  }
  Cycle receive(const engine::Message& m, Cycle now) override {
    last = now;
    if (m.kind == kReadDone && copy_) {
      --under_way_;
      send(kWrite, m.tag, now);
    } else {
      --under_way_;
      ++finished;
    }
    due_ = now;
    return due_;
  }
  void start(engine::Scheduler& s) {
    due_ = 0;
    s.wake(id, 0);
  }
  bool done() const { return finished == blocks_; }
  std::uint32_t id = 0;
  std::uint64_t finished = 0;
  Cycle last = 0;

 private:
  void send(std::uint16_t kind, std::uint64_t block, Cycle now) {
    engine::Message m;
    m.kind = kind;
    m.address = block * kBlockBytes + (kind == kWrite ? std::uint64_t{1} << 32 : 0);
    m.data = 0xffff;
    m.tag = static_cast<std::uint32_t>(block);
    m.from = id;
    ++under_way_;
    memory->send(m, now);
  }
  std::uint64_t blocks_, sent_ = 0;
  bool copy_;
  std::uint32_t limit_, under_way_ = 0;
  Cycle due_ = engine::kNever;
};

struct Outcome {
  Cycle cycles;
  HbmCounters counters;
  std::uint64_t transfer, all;
};

Outcome run(const HbmParams& params, std::uint64_t bytes, bool copy, std::uint32_t limit,
            std::uint64_t hz) {
  engine::fresh_simulation();
  engine::ClockDomain domain("chip", engine::Clock(hz));
  const AddressMap map(params, 1);
  Hbm hbm("hbm", domain.scheduler(), params, map);
  Dma dma("dma", bytes, copy, limit);
  dma.memory(hbm);
  dma.id = domain.scheduler().add(dma, "dma");
  dma.start(domain.scheduler());
  engine::SystemRunner runner({&domain});
  const auto result = runner.run([&] { return dma.done(); });
  EXPECT_TRUE(result) << (result ? "" : result.error().str());
  hbm.finish(dma.last);
  std::uint64_t all = 0;
  for (int r = 0; r < static_cast<int>(HbmReason::kCount); ++r) {
    all += hbm.cycles(static_cast<HbmReason>(r));
  }
  return {dma.last, hbm.counters(), hbm.cycles(HbmReason::kTransfer), all};
}

HbmParams small() {
  HbmParams p;
  p.stacks = 1;
  p.channels = 8;
  return p;
}

TEST(Hbm, conserves_bytes_and_answers_every_request) {
  const Outcome o = run(small(), 1 << 20, true, 64, 1'500'000'000);
  EXPECT_EQ(o.counters.read_bytes, 1u << 20);
  EXPECT_EQ(o.counters.write_bytes, 1u << 20);
  EXPECT_EQ(o.counters.requests, 2u * (1 << 20) / 512);
}

TEST(Hbm, charges_every_ck_of_every_pseudo_channel_once) {
  const Outcome o = run(small(), 1 << 20, false, 64, 1'500'000'000);
  const double ck = static_cast<double>(o.cycles) * 1.6 / 1.5;
  EXPECT_NEAR(static_cast<double>(o.all), 16 * ck, 16 * 2);
  EXPECT_EQ(o.transfer, (1u << 20) / 32 * 2);
}

TEST(Hbm, streams_at_nearly_its_peak_when_enough_is_under_way) {
  const HbmParams p = small();
  const Outcome o = run(p, 8 << 20, false, 16 * 16, 1'500'000'000);
  const double rate = (8 << 20) / (static_cast<double>(o.cycles) / 1.5e9);
  EXPECT_GT(rate / p.bytes_per_second(), 0.95);
  EXPECT_LE(rate / p.bytes_per_second(), 1.0);
}

TEST(Hbm, is_bound_by_latency_when_little_is_under_way) {
  HbmParams p = small();
  p.refresh = "none";
  const Outcome one = run(p, 1 << 16, false, 1, 1'500'000'000);
  const double latency = static_cast<double>(one.cycles) / ((1 << 16) / 512);
  const double ck = latency * 1.6 / 1.5;
  // request, activate (of half of the blocks: a row holds two), 16 columns, data, reply, 2 links
  EXPECT_NEAR(ck, 80 + 31 / 2.0 + 15 * 4 + 20 + 2 + 112 + 2, 2);
}

TEST(Hbm, takes_the_same_time_on_any_processor_clock) {
  const double fast =
      static_cast<double>(run(small(), 1 << 20, true, 64, 2'000'000'000).cycles) / 2.0;
  const double slow = static_cast<double>(run(small(), 1 << 20, true, 64, 1'000'000'000).cycles);
  EXPECT_NEAR(fast / slow, 1.0, 0.02);
}

TEST(Hbm, answers_on_a_clock_that_is_slower_than_its_whole_latency) {
  const Outcome o = run(small(), 1 << 16, true, 64, 1'000'000);  // 1 us a cycle
  EXPECT_EQ(o.counters.write_bytes, 1u << 16);
  // a wave of 64 blocks: read and write, each with a cycle there and one back at least
  EXPECT_GE(o.cycles, 2u * 2 * (1 << 16) / 512 / 64);
  HbmParams quick = small();
  quick.reply_ns = 1;
  EXPECT_EQ(run(quick, 1 << 16, true, 64, 100'000'000).counters.read_bytes, 1u << 16);
}

}  // namespace
}  // namespace xpusim::memory
