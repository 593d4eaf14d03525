// Speed of the SMs: warp instructions a second of a program bound by issue and of one that streams.

#include <benchmark/benchmark.h>

#include "models/gpu/core/chip.h"
#include "models/gpu/core/occupancy.h"
#include "models/gpu/core/report.h"
#include "tests/gpu/core_fakes.h"

namespace xpusim::gpu::test {
namespace {

Instruction memory_op(Opcode code, std::uint32_t site, std::uint8_t scoreboard) {
  Instruction in = op(code);
  in.site = site;
  in.sets = scoreboard;
  in.width = 16;
  return in;
}

/// Blocks of four warps in which each warp moves 512 bytes an instruction.
SiteLayout wide_layout() {
  SiteLayout l;
  l.reg_bases = {{1}, {2}};
  for (std::int64_t stride = 4; stride < 128; stride *= 2) l.lane_bases.push_back({stride});
  l.warp_bases = {{128}, {256}};
  l.shape = {512};
  l.vector_elements = 4;
  return l;
}

struct Outcome {
  std::uint64_t cycles = 0;
  ChipTotals totals;
  memory::MemoryCounters memory;
};

Outcome simulate(const Program& program, std::uint64_t blocks,
                 const std::function<void(BlockRun&)>& trace) {
  GpuParams params;
  auto image = decode(program);
  LaunchProfile profile(*image);
  FakeSource source;
  source.sites = image->site_count;
  source.write = trace;
  engine::fresh_simulation();
  engine::ClockDomain domain("core", engine::Clock(1'980'000'000));
  const Occupancy fit = occupancy(params.sm, program);
  Chip chip("gpu", domain.scheduler(), params,
            {*image, profile, source, blocks, static_cast<std::uint32_t>(fit.blocks),
             params.sm.l1_bytes - fit.carve_out_bytes});
  engine::SystemRunner runner({&domain});
  (void)runner.run([&] { return chip.dispatcher().finished(); });
  chip.finish();
  return {chip.dispatcher().end(), totals(chip), chip.memory().counters()};
}

void report(benchmark::State& state, const Outcome& o) {
  state.counters["cycles"] = static_cast<double>(o.cycles);
  state.counters["dram_MB"] =
      static_cast<double>(o.memory.dram_read_bytes + o.memory.dram_write_bytes) / 1e6;
  state.counters["ns/winst"] = benchmark::Counter(
      static_cast<double>(o.totals.issued) * static_cast<double>(state.iterations()) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetItemsProcessed(static_cast<std::int64_t>(o.totals.issued) * state.iterations());
}

void IssueBound(benchmark::State& state) {
  Program p;
  p.num_warps = 4;
  p.registers_per_thread = 32;
  Instruction entry = op(Opcode::kBra), back = op(Opcode::kBra, 4);
  entry.branch = Branch::kLoopEntry;
  entry.site = back.site = 0;
  p.code.push_back(entry);
  for (int i = 0; i < 64; ++i)
    p.code.push_back(op(i % 3 ? Opcode::kFma : Opcode::kAlu, i % 4 ? 2 : 4));
  back.branch = Branch::kLoopBack;
  back.target = 1;
  p.code.push_back(back);
  p.code[0].target = static_cast<std::int32_t>(p.code.size());
  p.code.push_back(op(Opcode::kExit));
  Outcome o;
  for (auto _ : state) {
    o = simulate(p, 132 * 4, [](BlockRun& run) { run.trace.add_decision(0, 20); });
  }
  report(state, o);
}
BENCHMARK(IssueBound)->Unit(benchmark::kMillisecond);

/// c = a + b over 16-byte vectors; as a compiled vector_add of 512-element blocks looks.
void Streaming(benchmark::State& state) {
  const auto blocks = static_cast<std::uint64_t>(state.range(0));
  Program p;
  p.num_warps = 4;
  p.registers_per_thread = 32;
  Instruction s2r = op(Opcode::kS2r);
  s2r.sets = 0;
  Instruction index = op(Opcode::kAlu, 4);
  index.wait_mask = 1;
  p.code = {s2r, index};
  for (int i = 0; i < 8; ++i) p.code.push_back(op(i % 2 ? Opcode::kFma : Opcode::kAlu, 2));
  p.code.push_back(memory_op(Opcode::kLdg, 0, 1));
  p.code.push_back(memory_op(Opcode::kLdg, 1, 1));
  Instruction add = op(Opcode::kFma, 1);
  add.wait_mask = 2;
  for (int i = 0; i < 4; ++i) p.code.push_back(add);
  p.code.push_back(memory_op(Opcode::kStg, 2, kNoScoreboard));
  p.code.push_back(op(Opcode::kExit));
  p.sites.assign(3, wide_layout());
  const std::int64_t bytes = static_cast<std::int64_t>(blocks) * 2048;
  Outcome o;
  for (auto _ : state) {
    o = simulate(p, blocks, [&](BlockRun& run) {
      for (std::uint32_t s = 0; s < 3; ++s) {
        run.trace.add_access(s) =
            row_access(static_cast<std::uint64_t>(4096 + s * bytes) + run.index * 2048, 512);
      }
    });
  }
  report(state, o);
  state.counters["GB/s"] =
      3.0 * static_cast<double>(bytes) / (static_cast<double>(o.cycles) / 1.98);
}
BENCHMARK(Streaming)->Arg(16384)->Arg(131072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xpusim::gpu::test
