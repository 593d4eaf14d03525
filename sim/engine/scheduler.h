#pragma once

// The per-cycle scheduler of one clock domain: a wake wheel for components and a wheel of messages.
// A plain class: component tests use it without SystemC.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/component.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// Ticks the components that are due and leaps to the next due cycle. Inside a cycle: messages in the
/// order of sending (a receiver may ask to be ticked in the same cycle), then ticks in id order.
class Scheduler {
 public:
  enum class Mode : std::uint8_t {
    kSkip,        ///< tick what is due (the product)
    kTickAll,     ///< tick every component every cycle (the oracle of tests)
  };

  explicit Scheduler(Clock clock, Mode mode = Mode::kSkip);
  ~Scheduler();

  /// Adds a component before the first cycle; ids are dense, in order of adding.
  std::uint32_t add(Component& component);
  /// Wakes a component at cycle `at` (>= now; the current cycle only if it has not ticked yet in it).
  void wake(std::uint32_t id, Cycle at);
  /// Delivers a message at cycle `at` (> now while running).
  void post(const Message& message, Cycle at);

  Cycle now() const;
  Cycle next() const;                 ///< the next cycle with something due, or kNever
  void run_until(Cycle limit);        ///< processes every due cycle before `limit`
  const Clock& clock() const;
  std::uint64_t activations() const;  ///< ticks so far
  std::uint64_t messages() const;     ///< messages delivered so far
  Component& component(std::uint32_t id) const;
  std::uint32_t component_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xpusim::engine
