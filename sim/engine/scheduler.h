#pragma once

// The per-cycle scheduler of one clock domain: a wake wheel for components and a wheel of messages.
// A plain class: component tests use it without SystemC.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/component.h"
#include "sim/engine/mailboxes.h"
#include "sim/engine/message_wheel.h"
#include "sim/engine/time.h"
#include "sim/engine/wake_wheel.h"

namespace xpusim::engine {

/// Ticks the components that are due and leaps to the next due cycle. Inside a cycle: messages in
/// the order of sending (a receiver may ask to be ticked in the same cycle), then ticks in id
/// order. Messages from other domains come after the domain's own, domain by domain in the order in
/// which their first links were made; so the order never depends on how far a domain ran ahead.
class Scheduler {
 public:
  enum class Mode : std::uint8_t {
    kSkip,     ///< tick what is due (the product)
    kTickAll,  ///< tick every component in every cycle until nothing is due (the oracle of tests)
  };
  /// A domain that sends to this one, and the least latency of its links, in its cycles.
  struct Source {
    Scheduler* from;
    Cycle latency;
  };
  using Inbox = std::uint32_t;  ///< a source of this domain, numbered in order of its first link

  explicit Scheduler(Clock clock, Mode mode = Mode::kSkip);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Adds a component before the first cycle; ids are dense, in order of adding. The name is for
  /// people: a unit path such as "gpu.sm[3]".
  std::uint32_t add(Component& component, std::string name = {});
  /// The same of a component that works through a window of cycles (up to 256) at its end. It
  /// receives the messages of a window together before it is ticked at the last of its cycles, each
  /// with the cycle at which it came; windows begin at multiples of their length. What it returns
  /// from receive() counts for nothing.
  std::uint32_t add(Component& component, std::string name, Cycle window);

  /// Wakes a component at cycle `at` >= now(); kNever is no wake. One wake a component is pending,
  /// the earliest: a later one changes nothing (ask again when ticked). While components tick, a
  /// wake for the current cycle counts for the next one, so that the order of ticking changes
  /// nothing.
  void wake(std::uint32_t id, Cycle at) {
    if (at < earliest_wake_) [[unlikely]]
      at = late_wake(id, at);
    wakes_.wake(id, at, now_);
  }
  /// Delivers a message to `message.to` at cycle `at` (> now() in a cycle, >= now() outside).
  void post(const Message& message, Cycle at) { post(message, message.to, at); }
  void post(const Message& message, std::uint32_t to, Cycle at) {
    if (at < earliest_post_) [[unlikely]]
      late_post(to, at);
    if (mail_.has(to)) {
      wake(to, mail_.put(message, to, at, now_));
    } else {
      own_.put(message, to, at, now_);
    }
  }
  /// The same from another domain.
  void post_from(Inbox inbox, const Message& message, std::uint32_t to, Cycle at) {
    if (at < earliest_post_) [[unlikely]]
      late_post(to, at);
    foreign_[inbox].put(message, to, at, now_);
  }
  /// Declares a link into this domain; returns the inbox for post_from.
  Inbox open_inbox(Scheduler& from, Cycle latency);

  /// The order in which the messages of a cycle are taken from the other domains. SystemRunner sets
  /// it to the order of its domains; until then it is the order in which their first links were
  /// made.
  void order_sources(const std::vector<Scheduler*>& domains);

  /// The cycle at work; outside of cycles the first one that is not yet over.
  Cycle now() const { return now_; }
  /// The next cycle with something due, or kNever. Nobody ticks in it if all its wakes were
  /// replaced by earlier ones.
  Cycle next() const {
    Cycle first = wakes_.next(now_);
    if (const Cycle c = own_.next(now_); c < first) first = c;
    for (const MessageWheel& wheel : foreign_) {
      if (const Cycle c = wheel.next(now_); c < first) first = c;
    }
    return mode_ == Mode::kTickAll && first != kNever ? now_ : first;
  }
  /// Processes every due cycle before `limit`, so that now() is then `limit` (kNever: the cycle
  /// after the last one). Returns true if it ended early, after a cycle that called pause().
  bool run_until(Cycle limit);
  /// The same, but now() stays at the cycle after the last one that was due.
  bool run_due(Cycle limit);
  /// Ends run_until after the current cycle, so that the runner asks at once whether the run is
  /// over.
  void pause() { pause_ = true; }

  const Clock& clock() const { return clock_; }
  /// Changes the rate from the next edge on; at most fastest_hz(). Messages in flight keep the
  /// cycle of arrival that they were given when sent.
  void set_hz(std::uint64_t hz);
  /// The fastest that this clock may get: what others may assume about when it sends. Set before
  /// the first cycle; at first the clock's own rate.
  void allow_up_to(std::uint64_t hz);
  std::uint64_t fastest_hz() const { return fastest_hz_; }

  std::uint64_t activations() const { return activations_; }  ///< ticks so far
  std::uint64_t messages() const { return messages_; }        ///< messages delivered so far
  Component& component(std::uint32_t id) const { return *components_[id]; }
  const std::string& name(std::uint32_t id) const { return names_[id]; }
  std::uint32_t component_count() const { return static_cast<std::uint32_t>(components_.size()); }
  const std::vector<Source>& sources() const { return sources_; }

 private:
  void enter(Cycle c);
  void run_cycle();
  void deliver(const Message& message);
  void take_mail(std::uint32_t id);
  void tick(std::uint32_t id);
  void tick_all();
  Cycle late_wake(std::uint32_t id, Cycle at) const;
  [[noreturn]] void late_post(std::uint32_t to, Cycle at) const;

  Cycle now_ = 0;
  Cycle earliest_wake_ = 0;  ///< what wake() and post() may still ask for
  Cycle earliest_post_ = 0;
  WakeWheel wakes_;
  MessageWheel own_;
  Mailboxes mail_;
  std::vector<MessageWheel> foreign_;  ///< by inbox
  std::vector<Component*> components_;
  std::uint64_t activations_ = 0, messages_ = 0;
  Clock clock_;
  Mode mode_;
  bool pause_ = false;
  std::uint64_t fastest_hz_;
  std::vector<Source> sources_;  ///< by inbox
  std::vector<Inbox> taken_in_;  ///< inboxes in the order of taking
  std::vector<std::string> names_;
};

}  // namespace xpusim::engine
