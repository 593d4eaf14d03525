#pragma once

// What joins modules. Ports are bound to links at elaboration: an unbound port is SystemC's error
// before the first cycle, and a user's own block can stand in for one of ours.

#include <span>
#include <systemc>

#include "sim/engine/component.h"
#include "sim/engine/scheduler.h"

namespace xpusim::engine {

/// A message and the cycle of the sender's domain at which it is sent.
struct Sending {
  Message message;
  Cycle at;
};

/// Takes messages of a sender's clock domain.
class MessageIf : public virtual sc_core::sc_interface {
 public:
  /// Sends at cycle `now` of the sender's domain: its current cycle, or a later one if it already
  /// knows when the message will leave.
  virtual void send(const Message& message, Cycle now) = 0;
  /// Sends these, one after another. Who has a list at hand can bring what a message will touch
  /// into the host's cache while it sends those before.
  virtual void send_all(std::span<const Sending> list) {
    for (const Sending& s : list) send(s.message, s.at);
  }
  /// An answer to this message may be sent here soon: a place to bring what that will touch into
  /// the host's cache. Must change nothing.
  virtual void expect_answer(const Message&) const {}
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
