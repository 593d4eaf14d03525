#pragma once

#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "models/network/bandwidth_calendar.h"
#include "models/network/crossbar_params.h"
#include "sim/engine/link.h"
#include "sim/engine/scheduler.h"

namespace xpusim::network {

/// A crossbar between `sources` and `destinations`. A message waits for bandwidth at its source's
/// injection port, crosses in a fixed latency, waits for bandwidth at its destination's port, and
/// arrives; all of it is worked out by time stamps when it is sent, so the crossbar is never
/// ticked. Both ports keep calendars (BandwidthCalendar), so a message that is due late does not
/// hold up one that comes in between. A source may date a message back by less than the latency, if
/// its dates do not decrease.
///
/// Not modelled: distance (every pair has the same latency), contention inside the switch,
/// back-pressure (a full port makes its messages late, it stops nobody), what messages without data
/// (requests to read, acknowledgements) take of a port: some hundredths.
class Crossbar : public sc_core::sc_module {
 public:
  Crossbar(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
           const CrossbarParams& params, std::uint32_t sources, std::uint32_t destinations);
  ~Crossbar() override;

  /// Sends from a source: `message.to` is the number of the destination (not a component id).
  void send(std::uint32_t source, const engine::Message& message, engine::Cycle leaves);
  /// The same as a port to bind.
  engine::MessageIf& port(std::uint32_t source);
  /// Sends a further copy of what a source has just sent, to another destination: it takes nothing
  /// of the source's port.
  void multicast(const engine::Message& message, engine::Cycle leaves);
  /// Messages to destination `i` arrive at this component.
  void connect(std::uint32_t destination, std::uint32_t component_id);
  /// The cycle at which a message sent now would arrive, were the ports empty.
  engine::Cycle latency() const { return latency_; }

  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t wait_cycles() const {
    return wait_cycles_;
  }  ///< summed over messages, at both ports

  /// Cycles in which ports moved data, of the side (sources or destinations) whose busiest port
  /// has more.
  struct Busy {
    double mean = 0, most = 0;
  };
  Busy busy() const;

 private:
  class Port;

  engine::Scheduler& scheduler_;
  engine::Cycle latency_;
  std::uint32_t header_bytes_;
  std::vector<BandwidthCalendar> source_, destination_;
  std::vector<std::uint32_t> component_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::uint64_t messages_ = 0, bytes_ = 0, wait_cycles_ = 0;
};

}  // namespace xpusim::network
