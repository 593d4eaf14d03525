#pragma once

// What the wheel wakes: an SM, an L2 slice, an HBM channel, a TPU core, a router.

#include <cstdint>

#include "sim/engine/alone.h"
#include "sim/engine/time.h"

namespace xpusim::engine {

/// A message between components: plain data, 32 bytes, pooled by the scheduler. What the fields
/// mean is the protocol of the two ends (see models/memory/messages.h for the memory system's).
struct Message {
  std::uint32_t to = 0;       ///< component id in the receiving domain (filled by the link)
  std::uint32_t from = 0;     ///< protocol-defined: who to answer
  std::uint64_t address = 0;  ///< bits 63..48: chip id
  std::uint64_t data = 0;
  std::uint32_t tag = 0;
  std::uint16_t kind = 0;
  std::uint16_t count = 0;
};
static_assert(sizeof(Message) == 32);

/// Copies a message that may just have been written, field by field.
inline void copy_fields(const Message& from, Message& to) {
  to.to = alone(from.to);
  to.from = alone(from.from);
  to.address = alone(from.address);
  to.data = alone(from.data);
  to.tag = alone(from.tag);
  to.kind = alone(from.kind);
  to.count = alone(from.count);
}

/// A hardware block on one clock. It acts only when its scheduler calls it: for a message that has
/// arrived, or because it asked to be woken. Inside a cycle all messages come before all ticks, and
/// ticks go in id order; what is sent in cycle k arrives in k+1 or later, so order does not matter
/// but where senders share what they use at once (a network's bandwidth): there it is by id.
/// A tick in a cycle that was not asked for (Scheduler::Mode::kTickAll) must change nothing.
class Component {
 public:
  virtual ~Component() = default;
  /// Does the work of cycle `now`; returns the next cycle at which it can act by itself (> now), or
  /// kNever to sleep until a message.
  virtual Cycle tick(Cycle now) = 0;
  /// A message has arrived; returns the cycle at which to tick (now: in this same cycle), or
  /// kNever.
  virtual Cycle receive(const Message& message, Cycle now) = 0;
  /// The message will be received in this cycle, after a few others: a place to bring what it will
  /// touch into the host's cache. Must change nothing.
  virtual void expect(const Message&) const {}
  /// The same, a few messages later: what it will touch by way of what expect() has brought.
  virtual void expect_soon(const Message&) const {}
  /// It will be ticked in this cycle, after another one: the same of what tick() will touch.
  virtual void expect_tick() const {}
  /// For the watchdog: what it waits for, or "" when it has nothing to do.
  virtual const char* waiting_for() const { return ""; }
  /// For the watchdog: how much work it has completed (instructions, bundles), or kNever if it is
  /// not a worker. A system in which a worker counts is ended when neither a message arrives nor a
  /// worker completes anything for SystemRunner::kStallCycles.
  virtual std::uint64_t retired() const { return kNever; }
};

}  // namespace xpusim::engine
