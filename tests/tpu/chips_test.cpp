// Several chips that run a program together: hand-computed times of what passes between two of
// them.

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "models/network/topology.h"
#include "models/tpu/core/simulate.h"
#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

constexpr std::int64_t kSource = 1, kTarget = 2;  // keys of semaphores
constexpr std::uint64_t kBytes = 4096;

/// A body that stands at a few things, one of which may go to device 1.
class TalkingBody : public KernelBody {
 public:
  TalkingBody(std::vector<Dma> list, bool sends, bool copies)
      : list_(std::move(list)), sends_(sends), copies_(copies) {}
  bool run(WindowSet&) override { return true; }
  std::optional<Dma> dma() override {
    if (at_ >= list_.size()) return std::nullopt;
    Dma d = list_[at_];
    d.held = held_;
    return d;
  }
  bool resume() override {
    sent_ = sends_ && at_ == 0;
    return ++at_, true;
  }
  std::optional<exec::Outgoing> take_outgoing() override {
    if (!std::exchange(sent_, false)) return std::nullopt;
    exec::Outgoing out;
    out.device = 1;
    out.copy = copies_;
    out.semaphore = kTarget;
    out.amount = copies_ ? static_cast<std::int64_t>(kBytes) : 1;
    return out;
  }
  void arrive(const exec::Outgoing& what) override {
    held_ += static_cast<std::uint64_t>(what.amount);
  }
  const exec::BlockTrace& trace() const override { return trace_; }
  const exec::ExecError& error() const override { return error_; }
  const exec::WorkCounts& counts() const override { return counts_; }

 private:
  std::vector<Dma> list_;
  bool sends_, copies_, sent_ = false;
  std::size_t at_ = 0;
  std::uint64_t held_ = 0;
  exec::BlockTrace trace_;
  exec::ExecError error_;
  exec::WorkCounts counts_;
};

/// Two chips at 1 GHz, joined by a link of 8 GB/s and 100 ns. A DMA is issued in 10 ns and noticed
/// 5 ns after its end; engines take 512 B a cycle.
Expected<SimulationResult> run_two(const std::string& bundles, TalkingBody& first,
                                   TalkingBody& second) {
  network::NetworkParams network;
  network.torus.x = 2;
  network.torus.y = network.torus.z = 1;
  network.torus.link.bandwidth = 8e9;
  network.torus.link.latency_ns = 100;
  network.torus.link.flit = network.torus.link.header = 128;
  network.torus.link.packet = 4096;
  auto topology = network::make_topology(network);
  if (!topology) return fail(topology.error());
  TpuParams params;
  params.launch_ns = 0;
  params.dma.issue_ns = 10;
  params.dma.completion_ns = 5;
  params.dma.bytes_per_cycle = 512;
  auto program = parse_program("program \"p\"\nline \"k.py\" 7 1\n" + bundles, "test");
  if (!program) return fail(program.error());
  WindowSet none_first({}, GridBox({1})), none_second({}, GridBox({1}));
  const CoreWork work[] = {{&none_first, &first, 0}, {&none_second, &second, 1}};
  SimulationOptions options;
  options.clock_hz = 1'000'000'000;
  const run::Interconnect joined{**topology, network, {0, 1}};
  return simulate(params, *program, work, options, &joined);
}

KernelBody::Dma wait_for(std::int64_t semaphore, std::uint64_t amount, bool signals) {
  KernelBody::Dma d;
  d.wait = true;
  d.semaphore = semaphore;
  d.name = "s";
  d.bytes = amount;
  d.signals = signals;
  return d;
}

TEST(Chips, ACopyOverOneLinkTakesWhatItsPartsTake) {
  KernelBody::Dma copy;
  copy.bytes = kBytes;
  copy.semaphore = kTarget;
  copy.source_semaphore = kSource;
  TalkingBody first({copy, wait_for(kSource, kBytes, false)}, true, true);
  TalkingBody second({wait_for(kTarget, kBytes, false)}, false, true);
  const auto r = run_two("{ dma.start } @0\n{ dma.wait } @0\n{ halt } @0\n", first, second);
  ASSERT_TRUE(r) << r.error().str();
  // Issue 10, to the engine 1, 4096 B inside the core in cycles 11..18, to the port 19. A packet of
  // 4224 B on the link: 528 ns, until 547; the sender knows 5 later.
  EXPECT_EQ(r->chips[0].cycles, 547u + 5 + 2);
  // The head needs 100 ns more: 647. To the engine 1, 8 cycles, to the port 656, flag 661.
  EXPECT_EQ(r->chips[1].cycles, 661u + 2);
  EXPECT_EQ(r->chips[1].activity.cycles(Reason::kSyncWaitRemote), 661u - 1);
  EXPECT_EQ(r->cycles, 663u);
  EXPECT_EQ(r->activity.all_cycles(), 2 * r->cycles) << "each chip lives as long as the launch";
}

TEST(Chips, NoByteIsLostOnItsWay) {
  KernelBody::Dma copy;
  copy.bytes = kBytes;
  copy.semaphore = kTarget;
  TalkingBody first({copy}, true, true);
  TalkingBody second({wait_for(kTarget, kBytes, false)}, false, true);
  const auto r = run_two("{ dma.start } @0\n{ dma.wait } @0\n{ halt } @0\n", first, second);
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_EQ(r->chips[0].sent_bytes, kBytes);
  EXPECT_EQ(r->chips[1].received_bytes, kBytes);
  EXPECT_EQ(r->chips[0].remote_copies, 1u);
  EXPECT_EQ(r->hops, 1u);
  std::uint64_t crossed = 0;
  for (const auto& wire : r->wires) crossed += wire.bytes;
  EXPECT_EQ(crossed, kBytes);
}

TEST(Chips, ASignalTakesAPacket) {
  KernelBody::Dma signal;
  signal.signals = true;
  TalkingBody first({signal, wait_for(kTarget, 0, true)}, true, false);
  TalkingBody second({wait_for(kTarget, 1, true)}, false, false);
  const auto r = run_two("{ sync } @0\n{ sync.wait } @0\n{ halt } @0\n", first, second);
  ASSERT_TRUE(r) << r.error().str();
  // Issue 10; 32 B and a header fill two flits: 32 ns; 100 ns; flag 5.
  EXPECT_EQ(r->chips[1].cycles, 10u + 32 + 100 + 5 + 2);
  EXPECT_EQ(r->chips[0].remote_signals, 1u);
  EXPECT_EQ(r->sent_bytes, 0u);
}

TEST(Chips, ASignalThatNeverComesIsNamedWithChipAndLine) {
  TalkingBody first({}, false, false);
  TalkingBody second({wait_for(kTarget, 1, true)}, false, false);
  const auto r = run_two("{ sync } @0\n{ sync.wait } @0\n{ halt } @0\n", first, second);
  ASSERT_FALSE(r);
  const std::string text = r.error().str();
  EXPECT_NE(text.find("tpu[1].core (1 of semaphore s, which holds 0, at k.py:7"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("tpu[0].core"), std::string::npos) << text;
}

}  // namespace
}  // namespace xpusim::tpu
