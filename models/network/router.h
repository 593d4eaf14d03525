#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/network/fabric.h"
#include "models/network/fabric_state.h"
#include "sim/engine/component.h"

namespace xpusim::network {

/// A node's router: a queue for each virtual channel of each link that leaves it. It wakes for
/// heads that arrive, credits that return, and links that become free while somebody waits.
class Fabric::Router final : public engine::Component {
 public:
  Router(FabricState& state, const Topology& topology, const std::vector<std::uint32_t>& leaving);

  /// A part that begins its way here.
  void inject(std::uint32_t part);

  engine::Cycle tick(engine::Cycle now) override;
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  const char* waiting_for() const override;

  std::uint32_t id = 0;  ///< its component

 private:
  static constexpr std::uint32_t kNone = ~0u;

  struct Channel {
    std::uint32_t first = kNone, last = kNone;  ///< parts that wait
    std::uint32_t credits = 0;                  ///< bytes of room at the other end
    engine::Femto credit_at = 0;                ///< when the last of them came back
  };
  struct Output {
    std::uint32_t wire = 0;
    std::uint32_t waiting = 0;  ///< parts in its queues
    std::uint32_t turn = 0;     ///< the channel that is asked first
    engine::Femto free = 0;     ///< the link carries nothing from here on
    std::array<Channel, kChannels> channels;
  };

  void enqueue(std::uint32_t part);
  engine::Cycle serve(Output& output, engine::Cycle now);
  void cross(Output& output, Channel& channel);
  void pass_on(std::uint32_t part, engine::Femto start, engine::Femto end);
  void give_credit(std::uint32_t wire, std::uint8_t channel, std::uint32_t bytes, engine::Femto at);
  void post(std::uint32_t to, engine::Message message, engine::Femto at);

  FabricState& state_;
  std::vector<Output> outputs_;
};

}  // namespace xpusim::network
