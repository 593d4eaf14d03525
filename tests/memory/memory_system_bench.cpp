#include <benchmark/benchmark.h>

#include <random>

#include "tests/memory/traffic.h"

namespace xpusim::memory {
namespace {

constexpr std::uint32_t kSms = 132;
constexpr std::uint64_t kSpace = std::uint64_t{1} << 28;

/// 132 processors share out `blocks` blocks of 512 B in turn; every third one is written where
/// `writes`.
Bench::Next stream(std::uint32_t sm, std::uint64_t blocks, bool writes) {
  return [=, block = std::uint64_t{sm}, part = 0](Access& a) mutable {
    if (block >= blocks) return false;
    a.address = block * kBlockBytes + static_cast<std::uint64_t>(part) * kSpace;
    a.kind = part == 2 ? kWrite : kRead;
    if (!writes || ++part == 3) {
      part = 0;
      block += kSms;
    }
    return true;
  };
}

Bench::Next scattered(std::uint32_t sm, std::uint64_t count) {
  return [=, random = std::mt19937_64(sm), left = count](Access& a) mutable {
    if (left == 0) return false;
    --left;
    a.address = random() % (std::uint64_t{1} << 32) / kLineBytes * kLineBytes;
    a.mask = 0xf;
    return true;
  };
}

void report(benchmark::State& state, Bench& bench, engine::Cycle cycles) {
  const MemoryCounters c = bench.memory().counters();
  const double seconds = static_cast<double>(cycles) / 1.98e9;
  std::uint64_t requests = 0, latency = 0;
  for (std::uint32_t i = 0; i < kSms; ++i) {
    requests += bench.sm(i).requests;
    latency += bench.sm(i).latency_sum;
  }
  const auto n = static_cast<double>(requests);
  state.counters["ns_per_request"] = benchmark::Counter(
      n / 1e9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["dram_tb_s"] =
      static_cast<double>(c.dram_read_bytes + c.dram_write_bytes) / seconds / 1e12;
  state.counters["messages"] = static_cast<double>(bench.scheduler().messages()) / n;
  state.counters["ticks"] = static_cast<double>(bench.scheduler().activations()) / n;
  state.counters["latency"] = static_cast<double>(latency) / n;
}

void streaming_reads(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    {
      Bench bench({}, kSms, static_cast<std::uint32_t>(state.range(0)),
                  [&](std::uint32_t i) { return stream(i, 400'000, false); });
      state.ResumeTiming();
      const engine::Cycle cycles = bench.run();
      state.PauseTiming();
      report(state, bench, cycles);
    }
    state.ResumeTiming();
  }
}
BENCHMARK(streaming_reads)->Arg(16)->Arg(48)->Arg(128)->Unit(benchmark::kMillisecond);

void two_reads_one_write(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    {
      Bench bench({}, kSms, static_cast<std::uint32_t>(state.range(0)),
                  [&](std::uint32_t i) { return stream(i, 300'000, true); });
      state.ResumeTiming();
      const engine::Cycle cycles = bench.run();
      state.PauseTiming();
      report(state, bench, cycles);
    }
    state.ResumeTiming();
  }
}
BENCHMARK(two_reads_one_write)->Arg(48)->Arg(128)->Unit(benchmark::kMillisecond);

void random_lines(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    {
      Bench bench({}, kSms, static_cast<std::uint32_t>(state.range(0)),
                  [&](std::uint32_t i) { return scattered(i, 3'000); });
      state.ResumeTiming();
      const engine::Cycle cycles = bench.run();
      state.PauseTiming();
      report(state, bench, cycles);
    }
    state.ResumeTiming();
  }
}
BENCHMARK(random_lines)->Arg(128)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xpusim::memory
