// From TTGIR to a report: what a launch on the whole machine says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/gpu/machine.h"

namespace xpusim::gpu {
namespace {

constexpr std::int64_t kElements = 98432;
constexpr std::int64_t kBlock = 256;

/// A kernel and f32 tensors that it allocates.
struct Kernel {
  explicit Kernel(const std::string& name) : memory(1 << 30) {
    auto read =
        kernel::read_module_file(XPUSIM_SOURCE_DIR "/workloads/triton/ir/" + name + ".ttgir");
    EXPECT_TRUE(read) << read.error().str();
    launch.name = name;
    launch.module = std::make_shared<kernel::Module>(std::move(*read));
    launch.function = launch.module->kernel();
  }
  void tensor(const char* name, std::int64_t elements, exec::Init::Kind kind, std::uint64_t seed) {
    exec::Init init;
    init.kind = kind;
    init.seed = seed;
    exec::Argument a;
    a.kind = exec::Argument::Kind::kPointer;
    a.tensor = name;
    a.bits =
        static_cast<std::int64_t>(*memory.allocate(name, kernel::DType::kF32, {elements}, init));
    launch.args.push_back(a);
  }
  void integer(std::int64_t value) {
    exec::Argument n;
    n.bits = value;
    launch.args.push_back(n);
  }
  exec::DeviceMemory memory;
  exec::Launch launch;
};

/// `n` may say more elements than the tensors have.
struct VectorAdd : Kernel {
  explicit VectorAdd(std::int64_t elements = kElements) : Kernel("vector_add_c76ab505ec") {
    tensor("x", kElements, exec::Init::Kind::kRandn, 1);
    tensor("y", kElements, exec::Init::Kind::kRandn, 2);
    tensor("out", kElements, exec::Init::Kind::kUnwritten, 0);
    integer(elements);
    launch.grid = {(elements + kBlock - 1) / kBlock, 1, 1};
  }
};

GpuParams small() {
  GpuParams p;
  p.sm.count = 8;
  return p;
}

double counter(const run::LaunchReport& r, const std::string& name) {
  for (const auto& [n, v] : r.counters) {
    if (n == name) return v.value_or(-1);
  }
  ADD_FAILURE() << "no counter " << name;
  return -1;
}

TEST(GpuMachine, RunsAVectorAddFromItsTtgir) {
  VectorAdd add;
  Machine machine("test", small(), std::nullopt);
  auto report = machine.launch(add.launch, add.memory, {});
  ASSERT_TRUE(report) << report.error().str();

  const auto x = add.memory.as_doubles(*add.memory.find("x"));
  const auto y = add.memory.as_doubles(*add.memory.find("y"));
  const auto out = add.memory.as_doubles(*add.memory.find("out"));
  for (std::size_t i = 0; i < out.size(); i += 997) {
    EXPECT_EQ(static_cast<float>(out[i]), static_cast<float>(x[i]) + static_cast<float>(y[i]));
  }
  // 24 instructions a warp on the chip (and one less in the warps that exit early).
  const double warps = std::ceil(double{kElements} / kBlock) * 4;
  EXPECT_NEAR(counter(*report, "warp_instructions") / warps, 24, 0.5);
  EXPECT_EQ(counter(*report, "l1_sectors_global_load"), 2.0 * kElements * 4 / 32);
  EXPECT_EQ(counter(*report, "l1_sectors_global_store"), 1.0 * kElements * 4 / 32);
  EXPECT_EQ(report->flops, kElements);
  EXPECT_EQ(counter(*report, "cycles"), static_cast<double>(report->cycles));
}

TEST(GpuMachine, ChargesEveryCycleOfEverySubCore) {
  VectorAdd add;
  Machine machine("test", small(), std::nullopt);
  auto report = machine.launch(add.launch, add.memory, {});
  ASSERT_TRUE(report);
  std::map<std::string, std::uint64_t> sum;
  for (const auto& e : report->ledger) sum[e.unit] += e.cycles;
  EXPECT_EQ(sum["gpu.sm.sub"], report->cycles * 8 * 4);
  std::uint64_t issued_by_line = 0;
  for (const auto& l : report->lines) issued_by_line += l.executed;
  EXPECT_EQ(issued_by_line, report->simulated_instructions);
}

TEST(GpuMachine, TheSameLaunchTakesTheSameTimeTwice) {
  std::set<std::uint64_t> cycles;
  for (int i = 0; i < 2; ++i) {
    VectorAdd add;
    Machine machine("test", small(), std::nullopt);
    cycles.insert(machine.launch(add.launch, add.memory, {})->cycles);
  }
  EXPECT_EQ(cycles.size(), 1u);
}

TEST(GpuMachine, AWarmL2IsFasterThanAColdOne) {
  VectorAdd add;
  Machine machine("test", small(), std::nullopt);
  run::LaunchOptions warm;
  warm.warm_caches = true;
  const auto first = machine.launch(add.launch, add.memory, warm);
  const auto second = machine.launch(add.launch, add.memory, warm);
  const auto cold = machine.launch(add.launch, add.memory, {});
  ASSERT_TRUE(first && second && cold);
  EXPECT_LT(second->cycles, first->cycles);
  EXPECT_EQ(counter(*second, "dram_read_bytes"), 0);
  EXPECT_EQ(cold->cycles, first->cycles);
}

TEST(GpuMachine, BoundsTheTrafficByWhatCachesMayHold) {
  VectorAdd add;
  GpuParams params = small();
  params.memory.l2.capacity_bytes = 96 * 8192;  // a group of four sets a slice
  params.memory.l2.dirty_share = 0.5;           // 32 of its 64 lines
  Machine machine("test", params, std::nullopt);
  run::LaunchOptions warm;
  warm.warm_caches = true;
  const double tensor = 4.0 * kElements;
  const double dirty = params.memory.l2.capacity_bytes * 0.5;
  EXPECT_EQ(machine.launch(add.launch, add.memory, warm)->compulsory_bytes,
            2 * tensor + std::max(0.0, tensor - dirty));
  const auto second = machine.launch(add.launch, add.memory, warm);
  EXPECT_LT(second->compulsory_bytes, 2 * tensor + std::max(0.0, tensor - dirty));
  EXPECT_GE(second->hbm_read_bytes + second->hbm_write_bytes, second->compulsory_bytes);
}

TEST(GpuMachine, SaysWhichPartOfTheWayToMemoryIsTheLimit) {
  VectorAdd add;
  const auto use = [&](const GpuParams& params, const std::string& part) {
    Machine machine("test", params, std::nullopt);
    const auto report = machine.launch(add.launch, add.memory, {});
    for (const auto& p : report->memory) {
      EXPECT_LE(p.mean, p.busiest) << p.part;
      EXPECT_LE(p.busiest, 1.0) << p.part;
      if (p.part == part) return p.busiest;
    }
    ADD_FAILURE() << part;
    return 0.0;
  };
  GpuParams narrow = small();
  narrow.memory.bridge.source_bytes_per_cycle = narrow.memory.bridge.destination_bytes_per_cycle =
      2;
  const std::string bridge = "bridge between the L2 halves";
  EXPECT_GT(use(narrow, bridge), 5 * use(small(), bridge));
}

TEST(GpuMachine, NamesWhatItLeavesOutOfThisLaunch) {
  using testing::Contains;
  using testing::HasSubstr;
  VectorAdd add;
  Machine machine("test", small(), std::nullopt);
  const auto report = machine.launch(add.launch, add.memory, {});
  EXPECT_THAT(report->notes, Contains(HasSubstr("TLB")));
  EXPECT_THAT(report->notes, testing::Not(Contains(HasSubstr("shared-memory"))));
}

TEST(GpuMachine, ASlowerClockTakesTheSameLaunchLongerInTime) {
  VectorAdd add;
  Machine machine("test", small(), std::nullopt);
  run::LaunchOptions slow;
  slow.clock_hz = 990'000'000;
  const auto fast_report = machine.launch(add.launch, add.memory, {});
  const auto slow_report = machine.launch(add.launch, add.memory, slow);
  EXPECT_EQ(slow_report->clock_mhz, 990);
  EXPECT_GT(slow_report->duration_ns, fast_report->duration_ns);
  EXPECT_LT(slow_report->cycles, fast_report->cycles);  // memory is nearer in cycles
}

TEST(GpuMachine, AnErrorOfTheKernelEndsTheRunWithItsLine) {
  VectorAdd add(kElements + 10000);  // reads past its tensors
  Machine machine("test", small(), std::nullopt);
  auto report = machine.launch(add.launch, add.memory, {});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().str(), testing::HasSubstr("kernels.py:11"));
}

TEST(GpuMachine, ABlockThatFitsNoSmIsRefusedWithTheLimits) {
  VectorAdd add;
  GpuParams params = small();
  params.sm.registers = 1024;
  Machine machine("test", params, std::nullopt);
  auto report = machine.launch(add.launch, add.memory, {});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().str(), testing::HasSubstr("does not fit an SM"));
}

TEST(GpuMachine, OccupancyIsOfTheWarpsThatAnSmHolds) {
  VectorAdd add;
  GpuParams params = small();
  params.sm.warps = 32;
  Machine machine("test", params, std::nullopt);
  const auto report = machine.launch(add.launch, add.memory, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(counter(*report, "theoretical_occupancy_pct"), 100);
}

TEST(GpuMachine, ReportsBankConflictsOnlyWhereItKnowsThem) {
  Machine machine("test", small(), std::nullopt);
  const auto conflicts = [&](Kernel& k) -> std::optional<double> {
    const auto report = machine.launch(k.launch, k.memory, {});
    EXPECT_TRUE(report) << report.error().str();
    for (const auto& [name, value] : report->counters) {
      if (name == "shared_bank_conflicts") return value;
    }
    ADD_FAILURE() << "no such counter";
    return -1;
  };
  VectorAdd without_shared_memory;
  EXPECT_EQ(conflicts(without_shared_memory), 0);
  Kernel sum("reduce_sum_6a4b192bfc");
  sum.tensor("x", 8192, exec::Init::Kind::kOnes, 0);
  sum.tensor("out", 1, exec::Init::Kind::kZeros, 0);
  sum.integer(8192);
  sum.launch.grid = {2, 1, 1};
  EXPECT_EQ(conflicts(sum), std::nullopt);
}

class CountingSink : public trace::Sink {
 public:
  trace::LaneId lane(std::string_view path) override {
    lanes.emplace_back(path);
    return static_cast<trace::LaneId>(lanes.size() - 1);
  }
  trace::NameId name(std::string_view text) override {
    names.emplace_back(text);
    return static_cast<trace::NameId>(names.size() - 1);
  }
  void slice(trace::LaneId lane, trace::NameId, std::uint64_t begin, std::uint64_t end) override {
    EXPECT_LT(begin, end);
    EXPECT_GE(begin, last_end[lane]);  // slices of a lane follow each other
    last_end[lane] = end;
    ++slices;
  }
  void counter(trace::LaneId, std::uint64_t, double) override {}
  Expected<void> finish() override { return {}; }
  std::vector<std::string> lanes, names;
  std::map<trace::LaneId, std::uint64_t> last_end;
  std::uint64_t slices = 0;
};

TEST(GpuMachine, TracesBlocksAndPhasesInOrder) {
  VectorAdd add;
  Machine machine("test", small(), std::nullopt);
  CountingSink sink;
  run::LaunchOptions options;
  options.trace = &sink;
  auto report = machine.launch(add.launch, add.memory, options);
  ASSERT_TRUE(report);
  EXPECT_THAT(sink.lanes, testing::Contains("gpu.sm[3].sub[2]"));
  EXPECT_THAT(sink.names, testing::Contains("long_scoreboard"));
  EXPECT_GT(sink.slices, 100u);
  EXPECT_THAT(report->notes, testing::Contains(testing::HasSubstr("4 are left out")));
}

}  // namespace
}  // namespace xpusim::gpu
