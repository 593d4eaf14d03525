// The core and its DMA engines on programs written by hand: cycles counted by hand.

#include <gmock/gmock.h>

#include "models/tpu/core/simulate.h"
#include "models/tpu/core/tensor_core.h"
#include "sim/engine/system.h"

namespace xpusim::tpu {
namespace {

using engine::Cycle;
using engine::Message;

/// Answers every request a fixed time after it came, and keeps what it saw.
class FakeMemory : public sc_core::sc_module, public engine::MessageIf {
 public:
  FakeMemory(const sc_core::sc_module_name& name, engine::Scheduler& scheduler, Cycle latency)
      : sc_module(name), scheduler_(scheduler), latency_(latency) {}
  void send(const Message& message, Cycle now) override {
    seen.push_back({message, now});
    Message answer = message;
    answer.to = message.from;
    answer.kind = message.kind == memory::kRead ? memory::kReadDone : memory::kWriteDone;
    scheduler_.post(answer, now + latency_);
  }
  struct Seen {
    Message message;
    Cycle at;
  };
  std::vector<Seen> seen;

 private:
  engine::Scheduler& scheduler_;
  Cycle latency_;
};

/// Blocks of `bytes` contiguous bytes; block number = step / `repeat`.
class FakeWindow : public WindowMap {
 public:
  FakeWindow(std::uint64_t base, std::uint64_t bytes, std::int64_t repeat)
      : base_(base), bytes_(bytes), repeat_(repeat) {}
  bool block(std::span<const std::int64_t> step, BlockIndex& out) override {
    out = {step.empty() ? 0 : step[0] / repeat_};
    return true;
  }
  void runs(const BlockIndex& block, std::vector<Run>& out) const override {
    out = {{base_ + static_cast<std::uint64_t>(block[0]) * bytes_, bytes_}};
  }
  void read(const BlockIndex&, std::span<std::byte>) const override {}
  void write(const BlockIndex&, std::span<const std::byte>) const override {}

 private:
  std::uint64_t base_, bytes_;
  std::int64_t repeat_;
};

constexpr Cycle kIssue = 10, kAnswer = 100, kCompletion = 5;

/// A core with one engine and a memory that answers after 100 cycles.
struct Bench {
  explicit Bench(const std::string& bundles, std::vector<WindowSpec> specs = {},
                 std::int64_t steps = 1, bool leap = true,
                 engine::Scheduler::Mode mode = engine::Scheduler::Mode::kSkip,
                 KernelBody* body = nullptr) {
    auto parsed = parse_program(header() + bundles, "test");
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().str());
    program = std::move(*parsed);
    windows = std::make_unique<WindowSet>(std::move(specs), GridBox({steps}));
    engine::fresh_simulation();
    domain = std::make_unique<engine::ClockDomain>("clock", engine::Clock(1'000'000'000), mode);
    engine::Scheduler& s = domain->scheduler();
    memory = std::make_unique<FakeMemory>("memory", s, kAnswer);
    core = std::make_unique<TensorCore>("core", params, 1, leap);
    DmaParams dma_params;
    dma_params.bytes_per_cycle = 512;
    dma_params.outstanding = 4;
    dma = std::make_unique<DmaEngine>("dma", dma_params, table);
    const auto core_id = s.add(*core, "core");
    const auto dma_id = s.add(*dma, "dma");
    dma->set_id(dma_id);
    start = std::make_unique<engine::Link>("start", s, s, dma_id, kIssue);
    done = std::make_unique<engine::Link>("done", s, s, core_id, kCompletion);
    dma->memory(*memory);
    dma->core(*done);
    core->dma[0](*start);
    core->start({&program, windows.get(), body, &table, 0});
    s.wake(core_id, 0);
    engine::SystemRunner runner({domain.get()});
    auto ran = runner.run([&] { return core->halted(); });
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().str());
    EXPECT_EQ(core->activity().all_cycles(), core->cycles());
  }
  static std::string header() {
    return "program \"p\"\nbuffer \"x\" input bytes 4096 copies 2\n"
           "buffer \"o\" output bytes 4096 copies 2\nline \"k.py\" 1 1\n";
  }
  std::uint64_t waited(Reason r) const { return core->activity().cycles(r); }

  CoreParams params;
  Program program;
  DescriptorTable table;
  std::unique_ptr<WindowSet> windows;
  std::unique_ptr<engine::ClockDomain> domain;
  std::unique_ptr<FakeMemory> memory;
  std::unique_ptr<TensorCore> core;
  std::unique_ptr<DmaEngine> dma;
  std::unique_ptr<engine::Link> start, done;
};

std::vector<WindowSpec> one_input(std::uint64_t bytes, std::int64_t repeat = 1) {
  std::vector<WindowSpec> specs(1);
  specs[0].name = "x";
  specs[0].map = std::make_unique<FakeWindow>(1 << 20, bytes, repeat);
  return specs;
}

TEST(TensorCore, IssuesOneBundleACycle) {
  EXPECT_EQ(Bench("{ v0 = vadd v1, v2 } @0\n{ v3 = vadd v4, v5 } @0\n{ halt } @0\n").core->cycles(),
            3u);
}

TEST(TensorCore, WaitsForEachUnitsResultByName) {
  // vld (4) -> vadd (2) -> vpow2 (14) -> vreduce (40) -> vst: each bundle waits latency - 1 cycles.
  const Bench b(
      "{ v0 = vld [0 0 0 0] } @0\n{ v1 = vadd v0 } @0\n{ v2 = vpow2 v1 } @0\n"
      "{ v3 = vreduce.lane v2 } @0\n{ vst v3 [1 0 0 0] } @0\n{ halt } @0\n");
  const LatencyParams& l = b.params.latency;
  EXPECT_EQ(b.waited(Reason::kVectorDelayWait),
            static_cast<std::uint64_t>(l.vector_load - 1 + l.vector_alu - 1));
  EXPECT_EQ(b.waited(Reason::kErfResultWait), static_cast<std::uint64_t>(l.eup - 1));
  EXPECT_EQ(b.waited(Reason::kTrfResultWait), static_cast<std::uint64_t>(l.xlu - 1));
  EXPECT_EQ(b.waited(Reason::kIssued), 6u);
}

TEST(TensorCore, WaitsForABusyUnitByName) {
  // Two XLUs that take an instruction every 4 cycles: the third waits 2 cycles after two bundles.
  const Bench b(
      "{ v0 = vreduce.lane v9 } @0\n{ v1 = vreduce.lane v9 } @0\n{ v2 = vreduce.lane v9 } @0\n"
      "{ halt } @0\n");
  EXPECT_EQ(b.waited(Reason::kXluPathReserved), 2u);
}

TEST(TensorCore, ALoopCostsItsBodyAndABranchATrip) {
  // loop; 10 trips of 2 bundles, 9 back edges of 1 cycle; halt.
  const Bench b("{ loop 10 } @0\n{ v0 = vadd v1 } @0\n{ v2 = vadd v3; endloop } @0\n{ halt } @0\n");
  EXPECT_EQ(b.core->cycles(), 1u + 10 * 2 + 9 + 1);
  EXPECT_EQ(b.waited(Reason::kTakenBranch), 9u);
  EXPECT_LT(b.core->stepped_bundles(), 12u);  // and most trips are added, not stepped
}

TEST(TensorCore, ALoopOfNoTripsIsSkipped) {
  EXPECT_EQ(
      Bench("{ loop 0 } @0\n{ v0 = vadd v1 } @0\n{ endloop } @0\n{ halt } @0\n").core->cycles(),
      2u);
}

TEST(TensorCore, LeapingEqualsStepping) {
  const std::string text =
      "{ loop 7 } @0\n{ v0 = vld [0 0 1 0]; v1 = vld [0 9 1 0] } @0\n{ v2 = vpow2 v0 } @0\n"
      "{ loop 50 } @0\n{ v3 = vpow2 v1; v4 = vadd v2, v3 } @0\n{ v1 = vreduce.lane v4; endloop } "
      "@0\n"
      "{ vst v1 [1 0 1 0]; endloop } @0\n{ halt } @0\n";
  const Bench leapt(text), stepped(text, {}, 1, false);
  EXPECT_EQ(leapt.core->cycles(), stepped.core->cycles());
  EXPECT_EQ(leapt.core->activity(), stepped.core->activity());
  EXPECT_LT(leapt.core->stepped_bundles() * 10, stepped.core->stepped_bundles());
}

TEST(Dma, AFetchTakesIssueTransferAnswerAndCompletion) {
  // dma.fetch issues in cycle 0; its 4 requests of 512 B leave in 10..13, the last answer comes in
  // 113, the flag is up in 118: the wait's bundle goes then.
  const Bench b("{ dma.fetch 0 } @0\n{ wait.in 0 } @0\n{ halt } @0\n", one_input(2048));
  EXPECT_EQ(b.waited(Reason::kSyncWaitInput), kIssue + 3 + kAnswer + kCompletion - 1);
  EXPECT_EQ(b.core->cycles(), kIssue + 3 + kAnswer + kCompletion + 2);
  ASSERT_EQ(b.memory->seen.size(), 4u);
  EXPECT_EQ(b.memory->seen[3].at, kIssue + 3);
  EXPECT_EQ(b.memory->seen[3].message.address, (1u << 20) + 3 * 512);
  EXPECT_EQ(b.memory->seen[3].message.data, 0xffffu);
}

TEST(Dma, NoMoreRequestsAreOutThanItsLimit) {
  // A limit of 4: requests 4..7 leave when the answers to 0..3 come, 100 cycles later.
  const Bench b("{ dma.fetch 0 } @0\n{ wait.in 0 } @0\n{ halt } @0\n", one_input(4096));
  ASSERT_EQ(b.memory->seen.size(), 8u);
  EXPECT_EQ(b.memory->seen[4].at, kIssue + kAnswer);
  EXPECT_EQ(b.memory->seen[7].at, kIssue + kAnswer + 3);
}

TEST(Dma, RequestsNeverLeaveTheirBlockOf512Bytes) {
  std::vector<WindowSpec> specs(1);
  specs[0].name = "x";
  specs[0].map = std::make_unique<FakeWindow>((1 << 20) + 480, 1024, 1);
  const Bench b("{ dma.fetch 0 } @0\n{ wait.in 0 } @0\n{ halt } @0\n", std::move(specs));
  ASSERT_EQ(b.memory->seen.size(), 3u);  // 32, 512 and 480 bytes
  EXPECT_EQ(b.memory->seen[0].message.data, 0b1000u);
  EXPECT_EQ(b.memory->seen[1].message.address, (1u << 20) + 512);
  EXPECT_EQ(b.memory->seen[2].message.data, 0x7fffu);
}

/// A body that stands at one DMA after another.
class DmaBody : public KernelBody {
 public:
  explicit DmaBody(std::vector<Dma> dmas) : dmas_(std::move(dmas)) {}
  bool run(WindowSet&) override { return true; }
  std::optional<Dma> dma() override {
    return at_ < dmas_.size() ? std::optional(dmas_[at_]) : std::nullopt;
  }
  bool resume() override { return ++at_, true; }
  const exec::BlockTrace& trace() const override { return trace_; }
  const exec::ExecError& error() const override { return error_; }
  const exec::WorkCounts& counts() const override { return counts_; }

 private:
  std::vector<Dma> dmas_;
  std::size_t at_ = 0;
  exec::BlockTrace trace_;
  exec::ExecError error_;
  exec::WorkCounts counts_;
};

KernelBody::Dma copy(std::uint64_t bytes, std::vector<Run> reads, std::vector<Run> writes) {
  KernelBody::Dma d;
  d.bytes = bytes;
  d.reads = std::move(reads);
  d.writes = std::move(writes);
  return d;
}

KernelBody::Dma wait_for(std::uint64_t bytes) {
  KernelBody::Dma d;
  d.wait = true;
  d.bytes = bytes;
  return d;
}

TEST(Dma, ACopyWithinHbmWritesWhatHasCome) {
  // dma.start issues in 0; its 4 reads of 512 B leave in 10..13 and are answered in 110..113; the
  // writes leave in those cycles, the last one is answered in 213, the flag is up in 218.
  DmaBody body({copy(2048, {{1 << 20, 2048}}, {{1 << 24, 2048}}), wait_for(2048)});
  const Bench b("{ dma.start } @0\n{ dma.wait } @0\n{ halt } @0\n", {}, 1, true,
                engine::Scheduler::Mode::kSkip, &body);
  ASSERT_EQ(b.memory->seen.size(), 8u);
  EXPECT_EQ(b.memory->seen[4].at, kIssue + kAnswer);
  EXPECT_EQ(b.memory->seen[4].message.kind, memory::kWrite);
  EXPECT_EQ(b.memory->seen[7].message.address, (1u << 24) + 3 * 512);
  EXPECT_EQ(b.core->cycles(), kIssue + 3 + 2 * kAnswer + kCompletion + 2);
  EXPECT_EQ(b.waited(Reason::kSyncWaitSemaphore), b.core->cycles() - 3);
}

TEST(Dma, ACopyWithinTheCoreTakesItsBytesAtTheEnginesRate) {
  // 2048 B at 512 B a cycle: 4 cycles from the issue, then the flag.
  DmaBody body({copy(2048, {}, {}), wait_for(2048)});
  const Bench b("{ dma.start } @0\n{ dma.wait } @0\n{ halt } @0\n", {}, 1, true,
                engine::Scheduler::Mode::kSkip, &body);
  EXPECT_EQ(b.memory->seen.size(), 0u);
  EXPECT_EQ(b.core->cycles(), kIssue + 3 + kCompletion + 2);
}

TEST(Dma, AWaitCountsTheBytesOfAllCopiesOnItsSemaphore) {
  // The second copy begins behind the first: its 2 reads leave in 12 and 13.
  DmaBody body(
      {copy(1024, {{1 << 20, 1024}}, {}), copy(1024, {{1 << 21, 1024}}, {}), wait_for(2048)});
  const Bench b("{ dma.start } @0\n{ dma.start } @0\n{ dma.wait } @0\n{ halt } @0\n", {}, 1, true,
                engine::Scheduler::Mode::kSkip, &body);
  EXPECT_EQ(b.core->cycles(), kIssue + 3 + kAnswer + kCompletion + 2);
}

constexpr const char* kPipeline =
    "{ dma.fetch 0 } @0\n{ grid } @0\n{ dma.fetch 0 ahead 1 } @0\n{ wait.in 0 } @0\n{ body } @0\n"
    "{ loop 300 } @0\n{ v0 = vadd v1; endloop } @0\n{ dma.writeback 1 } @0\n{ wait.out 1 } @0\n"
    "{ endgrid } @0\n{ drain 1 } @0\n{ halt } @0\n";

std::vector<WindowSpec> in_and_out(std::int64_t repeat_in, std::int64_t repeat_out) {
  std::vector<WindowSpec> specs = one_input(2048, repeat_in);
  specs.emplace_back();
  specs[1].name = "o";
  specs[1].output = true;
  specs[1].map = std::make_unique<FakeWindow>(1 << 24, 1024, repeat_out);
  return specs;
}

TEST(Grid, CoresShareTheFirstParallelDimensionThatIsLongEnough) {
  const std::size_t parallel[] = {0, 1};
  const auto boxes = share_grid({1, 5, 7}, parallel, 2);
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].steps(), 14u);
  EXPECT_EQ(boxes[1].steps(), 21u);
  std::vector<std::int64_t> at;
  boxes[1].at(8, at);
  EXPECT_THAT(at, ::testing::ElementsAre(0, 3, 1));
  EXPECT_EQ(share_grid({4, 4}, {}, 2).size(), 1u);
  EXPECT_EQ(share_grid({1, 1}, parallel, 2).size(), 1u);
  EXPECT_EQ(share_grid({}, {}, 2).at(0).steps(), 1u);
}

TEST(Grid, TwoCoresTakeHalfTheTime) {
  const auto run = [](std::int64_t cores) {
    auto program = parse_program(Bench::header() + kPipeline, "test");
    std::vector<std::unique_ptr<WindowSet>> windows;
    std::vector<CoreWork> work;
    for (GridBox& box : share_grid({16}, std::array<std::size_t, 1>{0}, cores)) {
      windows.push_back(std::make_unique<WindowSet>(in_and_out(1, 1), std::move(box)));
      work.push_back({windows.back().get(), nullptr});
    }
    TpuParams params;
    params.core.count = cores;
    auto result = simulate(params, *program, work, {});
    EXPECT_TRUE(result) << (result ? "" : result.error().str());
    EXPECT_EQ(result->activity.all_cycles(), static_cast<std::uint64_t>(cores) * result->cycles);
    EXPECT_EQ(result->dma_read_bytes, 16u * 2048);
    return result->cycles;
  };
  const std::uint64_t one = run(1), two = run(2);
  // Eight steps of the body's 300 trips of 2 cycles fewer.
  EXPECT_NEAR(static_cast<double>(one - two), 8 * 600, 8 * 20);
}

TEST(Windows, TheNextBlockComesWhileThisOneIsComputedOn) {
  const Bench b(kPipeline, in_and_out(1, 1), 4);
  // A body of 300 trips of 2 cycles hides every fetch but the first.
  EXPECT_LT(b.waited(Reason::kSyncWaitInput), kIssue + kAnswer + kCompletion + 5);
  EXPECT_EQ(b.windows->fetches(), 4u);
  EXPECT_EQ(b.windows->write_backs(), 4u);
  std::vector<std::uint64_t> order;
  for (const auto& s : b.memory->seen) {
    if (s.message.address % 1024 == 0) order.push_back(s.message.address);
  }
  const std::uint64_t in = 1 << 20, out = 1 << 24;
  EXPECT_THAT(order,
              ::testing::ElementsAre(in, in + 1024, in + 2048, in + 3072, out, in + 4096, in + 5120,
                                     out + 1024, in + 6144, in + 7168, out + 2048, out + 3072));
}

TEST(Windows, ABlockThatStaysIsNotCopiedAgain) {
  const Bench b(kPipeline, in_and_out(4, 2), 8);
  EXPECT_EQ(b.windows->fetches(), 2u);
  EXPECT_EQ(b.windows->skipped_fetches(), 6u);
  EXPECT_EQ(b.windows->write_backs(), 4u);
}

TEST(Windows, AnEmptyGridDoesNothing) {
  const Bench b(kPipeline, in_and_out(1, 1), 0);
  EXPECT_EQ(b.memory->seen.size(), 0u);
}

TEST(Engine, TickAllEqualsSkipping) {
  const Bench skip(kPipeline, in_and_out(1, 2), 9);
  const Bench all(kPipeline, in_and_out(1, 2), 9, true, engine::Scheduler::Mode::kTickAll);
  const Bench stepped(kPipeline, in_and_out(1, 2), 9, false, engine::Scheduler::Mode::kTickAll);
  EXPECT_EQ(skip.core->cycles(), all.core->cycles());
  EXPECT_EQ(skip.core->activity(), all.core->activity());
  EXPECT_EQ(skip.core->activity(), stepped.core->activity());
  EXPECT_EQ(skip.memory->seen.size(), all.memory->seen.size());
}

TEST(Engine, TickAllEqualsSkippingWithARealHbm) {
  const auto run = [](engine::Scheduler::Mode mode, bool leap) {
    auto program = parse_program(Bench::header() + kPipeline, "test");
    WindowSet windows(in_and_out(1, 2), GridBox({12}));
    const CoreWork work[] = {{&windows, nullptr}};
    SimulationOptions options;
    options.mode = mode;
    options.leap = leap;
    auto result = simulate(TpuParams{}, *program, work, options);
    EXPECT_TRUE(result) << (result ? "" : result.error().str());
    return *result;
  };
  const auto skip = run(engine::Scheduler::Mode::kSkip, true);
  const auto all = run(engine::Scheduler::Mode::kTickAll, false);
  EXPECT_EQ(skip.cycles, all.cycles);
  EXPECT_EQ(skip.activity, all.activity);
  EXPECT_EQ(skip.hbm_cycles, all.hbm_cycles);
  EXPECT_EQ(skip.dma_read_bytes, 12u * 2048);
  EXPECT_EQ(skip.hbm.write_bytes, 6u * 1024);
}

}  // namespace
}  // namespace xpusim::tpu
