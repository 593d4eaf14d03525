#pragma once

// What joins modules. Ports are bound to links at elaboration: an unbound port is SystemC's error
// before the first cycle, and a user's own block can stand in for one of ours.

#include <systemc>

#include "sim/engine/component.h"
#include "sim/engine/scheduler.h"

namespace xpusim::engine {

/// Takes messages of a sender's clock domain.
class MessageIf : public virtual sc_core::sc_interface {
 public:
  /// Sends at cycle `now` of the sender's domain: its current cycle, or a later one if it already
  /// knows when the message will leave.
  virtual void send(const Message& message, Cycle now) = 0;
};

using OutPort = sc_core::sc_port<MessageIf>;

/// A wire with a latency >= 1 in cycles of the sender. Within a domain a message of cycle k arrives
/// in k + latency; across domains at the receiver's first edge at or after that time. It does not
/// model bandwidth: a sender or a crossbar does.
class Link : public sc_core::sc_object, public MessageIf {
 public:
  Link(const char* name, Scheduler& from, Scheduler& to, std::uint32_t to_component, Cycle latency);
  void send(const Message& message, Cycle now) override;
  const char* kind() const override { return "xpusim_link"; }

 private:
  Scheduler& from_;
  Scheduler& to_;
  std::uint32_t to_component_;
  Cycle latency_;
  bool crosses_;            ///< the two ends are on different clocks
  Scheduler::Inbox inbox_;  ///< only if it crosses
};

}  // namespace xpusim::engine
