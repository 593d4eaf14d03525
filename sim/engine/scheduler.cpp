#include "sim/engine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/engine/check.h"

namespace xpusim::engine {

Scheduler::Scheduler(Clock clock, Mode mode)
    : clock_(clock), mode_(mode), fastest_hz_(clock.hz()) {}

std::uint32_t Scheduler::add(Component& component, std::string name) {
  const std::uint32_t id = component_count();
  components_.push_back(&component);
  names_.push_back(name.empty() ? fmt::format("component {}", id) : std::move(name));
  wakes_.resize(component_count());
  return id;
}

std::uint32_t Scheduler::add(Component& component, std::string name, Cycle window) {
  const std::uint32_t id = add(component, std::move(name));
  if (window > 1) mail_.open(id, window);
  return id;
}

Scheduler::Inbox Scheduler::open_inbox(Scheduler& from, Cycle latency) {
  for (Inbox i = 0; i < sources_.size(); ++i) {
    if (sources_[i].from != &from) continue;
    sources_[i].latency = std::min(sources_[i].latency, latency);
    return i;
  }
  sources_.push_back({&from, latency});
  foreign_.emplace_back();
  taken_in_.push_back(static_cast<Inbox>(sources_.size() - 1));
  return taken_in_.back();
}

void Scheduler::order_sources(const std::vector<Scheduler*>& domains) {
  const auto rank = [&](Inbox i) {
    return std::find(domains.begin(), domains.end(), sources_[i].from) - domains.begin();
  };
  std::sort(taken_in_.begin(), taken_in_.end(),
            [&](Inbox a, Inbox b) { return rank(a) < rank(b); });
}

bool Scheduler::run_due(Cycle limit) {
  for (Cycle c = next(); c < limit; c = next()) {
    if (c != now_) enter(c);
    run_cycle();
    enter(c + 1);
    if (pause_) [[unlikely]] {
      pause_ = false;
      return true;
    }
  }
  return false;
}

bool Scheduler::run_until(Cycle limit) {
  if (run_due(limit)) return true;
  if (limit != kNever && limit > now_) enter(limit);
  return false;
}

void Scheduler::enter(Cycle c) {
  now_ = earliest_wake_ = earliest_post_ = c;
  wakes_.advance(c);
  own_.advance(c);
  for (MessageWheel& wheel : foreign_) wheel.advance(c);
}

void Scheduler::run_cycle() {
  earliest_post_ = now_ + 1;
  const auto receive = [this](const Message& message) { deliver(message); };
  const auto expect = [this](const Message& m) { components_[m.to]->expect(m); };
  const auto expect_soon = [this](const Message& m) { components_[m.to]->expect_soon(m); };
  own_.take(now_, receive, expect, expect_soon);
  for (const Inbox i : taken_in_) foreign_[i].take(now_, receive, expect, expect_soon);
  earliest_wake_ = now_ + 1;
  if (mode_ == Mode::kTickAll) {
    tick_all();
  } else {
    wakes_.take(
        now_, [this](std::uint32_t id) { tick(id); },
        [this](std::uint32_t id) {
          if (mail_.has(id)) mail_.prefetch(id, now_);
          components_[id]->expect_tick();
        });
  }
}

inline void Scheduler::deliver(const Message& message) {
  if (mail_.has(message.to)) [[unlikely]] {  // from another domain: after the domain's own
    wake(message.to, mail_.put(message, message.to, now_, now_));
    return;
  }
  ++messages_;
  wake(message.to, components_[message.to]->receive(message, now_));
}

inline void Scheduler::take_mail(std::uint32_t id) {
  if (mail_.end_of_window(id, now_) != now_) {
    wake(id, mail_.next(id, now_));
    return;
  }
  mail_.take(id, now_, [this, id](const Message& mail, Cycle at) {
    Message message = mail;
    message.to = id;
    ++messages_;
    components_[id]->receive(message, at);
  });
  wake(id, mail_.next(id, now_ + 1));
}

inline void Scheduler::tick(std::uint32_t id) {
  ++activations_;
  if (mail_.has(id)) take_mail(id);
  wake(id, components_[id]->tick(now_));
}

void Scheduler::tick_all() {
  wakes_.take(now_, [](std::uint32_t) {});
  for (std::uint32_t id = 0; id < component_count(); ++id) tick(id);
}

Cycle Scheduler::late_wake(std::uint32_t id, Cycle at) const {
  if (at < now_) broken(names_[id], now_, fmt::format("is woken for the past, cycle {}", at));
  return earliest_wake_;
}

void Scheduler::late_post(std::uint32_t to, Cycle at) const {
  broken(names_[to], now_, fmt::format("is sent a message for cycle {}, which is over", at));
}

void Scheduler::set_hz(std::uint64_t hz) {
  if (hz == 0 || hz > fastest_hz_) {
    broken("clock", now_, fmt::format("{} Hz is not in 1..{} Hz", hz, fastest_hz_));
  }
  clock_ = clock_.changed_at(earliest_post_, hz);
  pause();  // a limit that was counted in cycles of the old rate no longer holds
}

void Scheduler::allow_up_to(std::uint64_t hz) { fastest_hz_ = std::max(hz, clock_.hz()); }

}  // namespace xpusim::engine
