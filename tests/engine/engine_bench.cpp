// What the engine costs: per activation, per message, under SystemC and across clock domains, next
// to what SystemC's own processes cost. Compare ratios within one run, not absolute times.

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "sim/engine/link.h"
#include "sim/engine/system.h"

namespace xpusim::engine {
namespace {

constexpr std::uint64_t kHz = 1'755'000'000;

std::uint32_t xorshift(std::uint32_t& x) {
  x ^= x << 13;
  x ^= x >> 17;
  return x ^= x << 5;
}

/// A number of 0..n-1.
std::uint32_t draw(std::uint32_t& x, std::uint32_t n) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(xorshift(x)) * n) >> 32);
}

/// Works a little, then sleeps a random 1..`span` cycles; stops after `end`.
class Sleeper : public Component {
 public:
  Sleeper(std::uint32_t seed, std::uint32_t span, Cycle end)
      : random_(seed * 2654435761u + 1), span_(span), end_(end) {}
  Cycle tick(Cycle now) override {
    if (now >= end_) return kNever;
    return now + 1 + draw(random_, span_);
  }
  Cycle receive(const Message&, Cycle) override { return kNever; }

 private:
  std::uint32_t random_, span_;
  Cycle end_;
};

/// Answers each message with one to a random partner after a random 1..`span` cycles.
class Echo : public Component {
 public:
  Echo(Scheduler& scheduler, std::uint32_t seed, std::uint32_t span, std::uint32_t partners)
      : scheduler_(scheduler), random_(seed * 2654435761u + 1), span_(span), partners_(partners) {}
  Cycle tick(Cycle) override { return kNever; }
  Cycle receive(const Message& message, Cycle now) override {
    Message answer = message;
    answer.to = draw(random_, partners_);
    scheduler_.post(answer, now + 1 + draw(random_, span_));
    return kNever;
  }

 private:
  Scheduler& scheduler_;
  std::uint32_t random_, span_, partners_;
};

std::vector<std::unique_ptr<Sleeper>> sleepers(Scheduler& scheduler, std::uint32_t count,
                                               std::uint32_t span, Cycle end) {
  std::vector<std::unique_ptr<Sleeper>> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(std::make_unique<Sleeper>(i, span, end));
    scheduler.wake(scheduler.add(*all.back()), 0);
  }
  return all;
}

void per_item(benchmark::State& state, std::uint64_t items) {
  state.counters["ns"] = benchmark::Counter(
      static_cast<double>(items) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Args: components, longest sleep (1: all are active in every cycle).
void activation(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  Scheduler scheduler{Clock(kHz)};
  const auto all =
      sleepers(scheduler, count, static_cast<std::uint32_t>(state.range(1)), kNever - 1000);
  for (auto _ : state) scheduler.run_until(scheduler.now() + 1000);
  per_item(state, scheduler.activations());
}
BENCHMARK(activation)->ArgsProduct({{132, 528}, {1, 100}});

void activation_in_systemc(benchmark::State& state) {
  std::uint64_t ticks = 0;
  for (auto _ : state) {
    fresh_simulation();
    ClockDomain domain("domain", Clock(kHz));
    const auto all = sleepers(domain.scheduler(), static_cast<std::uint32_t>(state.range(0)),
                              static_cast<std::uint32_t>(state.range(1)), 100'000);
    SystemRunner runner({&domain});
    bool over = false;
    if (!runner.run([&] { return over = domain.scheduler().next() == kNever; })) {
      state.SkipWithError("the run failed");
    }
    ticks += domain.scheduler().activations();
  }
  per_item(state, ticks);
}
BENCHMARK(activation_in_systemc)->ArgsProduct({{132, 528}, {1, 100}});

/// Takes its messages a window of cycles at a time, and answers each with one to a random partner.
class Windowed : public Component {
 public:
  static constexpr Cycle kWindow = 60;
  Windowed(Scheduler& scheduler, std::uint32_t seed, std::uint32_t span, std::uint32_t partners)
      : scheduler_(scheduler), random_(seed * 2654435761u + 1), span_(span), partners_(partners) {}
  Cycle tick(Cycle) override { return kNever; }
  Cycle receive(const Message& message, Cycle at) override {
    Message answer = message;
    answer.to = draw(random_, partners_);
    scheduler_.post(answer, at + kWindow + draw(random_, span_));
    return kNever;
  }

 private:
  Scheduler& scheduler_;
  std::uint32_t random_, span_, partners_;
};

/// Args: messages in flight, longest latency beyond the window.
void mail(benchmark::State& state) {
  constexpr std::uint32_t kComponents = 132;
  const auto span = static_cast<std::uint32_t>(state.range(1));
  Scheduler scheduler{Clock(kHz)};
  std::vector<std::unique_ptr<Windowed>> all;
  for (std::uint32_t i = 0; i < kComponents; ++i) {
    all.push_back(std::make_unique<Windowed>(scheduler, i, span, kComponents));
    scheduler.add(*all.back(), {}, Windowed::kWindow);
  }
  for (std::uint32_t i = 0; i < state.range(0); ++i) {
    scheduler.post({.to = i % kComponents}, 1 + i % span);
  }
  for (auto _ : state) scheduler.run_until(scheduler.now() + 1000);
  per_item(state, scheduler.messages());
}
BENCHMARK(mail)->ArgsProduct({{1000, 50'000}, {100, 1000}});

/// Args: messages in flight, longest latency.
void message(benchmark::State& state) {
  constexpr std::uint32_t kComponents = 228;
  const auto span = static_cast<std::uint32_t>(state.range(1));
  Scheduler scheduler{Clock(kHz)};
  std::vector<std::unique_ptr<Echo>> all;
  for (std::uint32_t i = 0; i < kComponents; ++i) {
    all.push_back(std::make_unique<Echo>(scheduler, i, span, kComponents));
    scheduler.add(*all.back());
  }
  for (std::uint32_t i = 0; i < state.range(0); ++i) {
    scheduler.post({.to = i % kComponents}, 1 + i % span);
  }
  for (auto _ : state) scheduler.run_until(scheduler.now() + 1000);
  per_item(state, scheduler.messages());
}
BENCHMARK(message)->ArgsProduct({{32, 1000, 50'000}, {100, 1000}});

/// Sends each message that arrives back to where its port leads.
class Player : public sc_core::sc_module, public Component {
 public:
  Player(const sc_core::sc_module_name& module_name, Scheduler& scheduler)
      : sc_module(module_name), out("out"), id(scheduler.add(*this, name())) {}
  Cycle tick(Cycle now) override {
    for (; to_serve > 0; --to_serve) out->send({}, now);
    return kNever;
  }
  Cycle receive(const Message& m, Cycle now) override {
    if (++received < last) out->send(m, now);
    return kNever;
  }
  OutPort out;
  std::uint32_t id;
  std::uint64_t received = 0, last = 20'000;
  int to_serve = 0;
};

/// Args: the second clock in Hz (0: both in one domain), latency, messages in flight.
void ping_pong(benchmark::State& state) {
  std::uint64_t messages = 0;
  for (auto _ : state) {
    fresh_simulation();
    ClockDomain first("first", Clock(kHz));
    ClockDomain second("second", Clock(state.range(0) ? state.range(0) : kHz));
    Scheduler& one = first.scheduler();
    Scheduler& two = state.range(0) ? second.scheduler() : one;
    Player a("a", one), b("b", two);
    Link ab("ab", one, two, b.id, static_cast<Cycle>(state.range(1)));
    Link ba("ba", two, one, a.id, static_cast<Cycle>(state.range(1)));
    a.out(ab);
    b.out(ba);
    b.last = kNever;
    a.to_serve = static_cast<int>(state.range(2));
    one.wake(a.id, 0);
    SystemRunner runner({&first, &second});
    if (!runner.run([&] { return a.received >= a.last; })) state.SkipWithError("the run failed");
    messages += a.received + b.received;
  }
  per_item(state, messages);
}
BENCHMARK(ping_pong)->ArgsProduct({{0, 1'600'000'000}, {1, 100}, {1, 64}});

/// What our wheel replaces: one self-timed SC_METHOD a component. Arg: longest sleep.
class TimedMethod : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(TimedMethod);
  TimedMethod(const sc_core::sc_module_name& name, std::uint32_t seed, std::uint32_t span)
      : sc_module(name), random_(seed * 2654435761u + 1), span_(span) {
    SC_METHOD(act);
  }
  std::uint64_t acts = 0;

 private:
  void act() {
    ++acts;
    next_trigger(sc_core::sc_time::from_value(569'801ull * (1 + draw(random_, span_))));
  }
  std::uint32_t random_, span_;
};

void systemc_methods(benchmark::State& state) {
  fresh_simulation();
  std::vector<std::unique_ptr<TimedMethod>> all;
  for (std::uint32_t i = 0; i < 132; ++i) {
    all.push_back(std::make_unique<TimedMethod>(sc_core::sc_gen_unique_name("m"), i,
                                                static_cast<std::uint32_t>(state.range(0))));
  }
  for (auto _ : state) sc_core::sc_start(sc_core::sc_time::from_value(569'801'000));
  std::uint64_t acts = 0;
  for (const auto& m : all) acts += m->acts;
  per_item(state, acts);
}
BENCHMARK(systemc_methods)->Arg(1)->Arg(100);

void clock_crossing(benchmark::State& state) {
  const Clock from(kHz), to(1'600'000'000);
  Cycle k = 0;
  for (auto _ : state) benchmark::DoNotOptimize(to.cycle_at_or_after(from.edge(k += 3)));
}
BENCHMARK(clock_crossing);

}  // namespace
}  // namespace xpusim::engine
