// How long the simulation of collectives on thousands of chips takes.

#include <benchmark/benchmark.h>

#include "models/network/collectives/plan.h"
#include "models/network/collectives/schedule_run.h"
#include "sim/engine/system.h"

namespace xpusim::network {
namespace {

/// 4096 chips of a TPU v4 pod, megabytes a chip.
void pod(benchmark::State& state, Collective op) {
  NetworkParams p;
  p.torus = {16, 16, 16, 16, 16, 16, 4, {50e9, 1, 500, 128, 1152, 128, 512 << 10, 5}};
  CollectiveRequest r;
  r.op = op;
  r.algorithm = "torus";
  r.bytes = static_cast<std::uint64_t>(state.range(0)) << 20;
  std::uint64_t messages = 0;
  for (auto _ : state) {
    engine::fresh_simulation();
    engine::Scheduler scheduler{engine::Clock(1'000'000'000)};
    const auto topology = make_topology(p);
    const auto plan = plan_collective(**topology, r);
    Fabric fabric("network", scheduler, **topology, p);
    ScheduleRun schedule(fabric, scheduler, plan->schedule, DmaTiming::from(p.endpoint, 1.2e12),
                         nullptr);
    schedule.start();
    scheduler.run_until(engine::Cycle{1} << 40);
    messages += scheduler.messages();
    state.counters["simulated_ms"] = static_cast<double>(schedule.end()) * 1e-6;
  }
  state.counters["messages_per_s"] =
      benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsRate);
}

void all_reduce(benchmark::State& state) { pod(state, Collective::kAllReduce); }
void all_gather(benchmark::State& state) { pod(state, Collective::kAllGather); }
void all_to_all(benchmark::State& state) { pod(state, Collective::kAllToAll); }

BENCHMARK(all_reduce)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(all_gather)->Arg(64)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(all_to_all)->Arg(64)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace xpusim::network
