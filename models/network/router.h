#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/network/fabric.h"
#include "models/network/fabric_state.h"
#include "sim/engine/component.h"

namespace xpusim::network {

/// A node's router: for each virtual channel of each link that leaves it a queue of parts that pass
/// through and one of those that begin here. What passes through goes first: were it to take turns
/// with all that a chip has to send, it would fill the buffers of the links before, and loaded
/// rings would stand still most of the time. It wakes for heads that arrive, and while somebody
/// waits for links that become free and credits that return: these are noted with their time by the
/// router behind, and looked at when they could matter.
class Fabric::Router final : public engine::Component {
 public:
  Router(FabricState& state, const Topology& topology, const std::vector<std::uint32_t>& leaving);

  /// A part that begins its way here.
  void inject(std::uint32_t part);

  engine::Cycle tick(engine::Cycle now) override;
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  void expect(const engine::Message& message) const override;
  const char* waiting_for() const override;

  std::uint32_t id = 0;  ///< its component

 private:
  static constexpr std::uint32_t kNone = ~0u;

  struct Queue {
    std::uint32_t first = kNone, last = kNone;  ///< parts that wait
  };
  struct Channel {
    std::array<Queue, 2> queues;  ///< of parts that pass through, of those that begin here
    std::uint32_t room = 0;       ///< bytes, at the other end
    engine::Femto credit_at = 0;  ///< when the last of it came back
    std::uint32_t first_credit = kNone, last_credit = kNone;  ///< still on their way, by time

    bool waits() const { return queues[0].first != kNone || queues[1].first != kNone; }
  };
  struct Output {
    std::uint32_t wire = 0;
    std::uint32_t waiting = 0;  ///< parts in its queues
    std::uint32_t turn = 0;     ///< the channel that is asked first
    engine::Femto free = 0;     ///< the link carries nothing from here on
    WireTiming timing;
    std::array<Channel, kChannels> channels;
  };

  void enqueue(std::uint32_t part, Output& output, Channel& channel);
  engine::Cycle serve(Output& output, engine::Femto edge);
  engine::Femto settle(Channel& channel, engine::Femto edge);
  void note_credit(std::uint32_t wire, std::uint8_t channel, std::uint32_t bytes, engine::Femto at);
  bool has_room(const Output& output, const Channel& channel, const Queue& queue) const;
  void cross(Output& output, Channel& channel, Queue& queue);
  void pass_on(std::uint32_t part, engine::Femto start, engine::Femto end);
  void give_credit(std::uint32_t wire, std::uint8_t channel, std::uint32_t bytes, engine::Femto at);
  engine::Message head_of(std::uint32_t part, Hop hop) const;
  void post(std::uint32_t to, const engine::Message& message, engine::Femto at);

  FabricState& state_;
  std::vector<Output> outputs_;
};

}  // namespace xpusim::network
