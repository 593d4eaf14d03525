#include "models/network/crossbar.h"

#include <algorithm>

#include "models/memory/messages.h"

namespace xpusim::network {

/// One source's way in.
class Crossbar::Port : public engine::MessageIf {
 public:
  Port(Crossbar& crossbar, std::uint32_t source) : crossbar_(crossbar), source_(source) {}
  void send(const engine::Message& message, engine::Cycle now) override {
    crossbar_.send(source_, message, now);
  }

 private:
  Crossbar& crossbar_;
  std::uint32_t source_;
};

Crossbar::Crossbar(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
                   const CrossbarParams& params, std::uint32_t sources, std::uint32_t destinations)
    : sc_module(name),
      scheduler_(scheduler),
      latency_(static_cast<engine::Cycle>(params.latency_cycles)),
      header_bytes_(static_cast<std::uint32_t>(params.header_bytes)),
      source_(sources,
              BandwidthCalendar(static_cast<std::uint32_t>(params.source_bytes_per_cycle))),
      destination_(
          destinations,
          BandwidthCalendar(static_cast<std::uint32_t>(params.destination_bytes_per_cycle))),
      component_(destinations, 0) {
  ports_.reserve(sources);
  for (std::uint32_t i = 0; i < sources; ++i) ports_.push_back(std::make_unique<Port>(*this, i));
}

Crossbar::~Crossbar() = default;

engine::MessageIf& Crossbar::port(std::uint32_t source) { return *ports_[source]; }

void Crossbar::connect(std::uint32_t destination, std::uint32_t component_id) {
  component_[destination] = component_id;
}

namespace {

Crossbar::Busy busy_ports(const std::vector<BandwidthCalendar>& ports) {
  Crossbar::Busy busy;
  for (const auto& port : ports) {
    busy.mean += port.busy_cycles() / static_cast<double>(ports.size());
    busy.most = std::max(busy.most, port.busy_cycles());
  }
  return busy;
}

}  // namespace

Crossbar::Busy Crossbar::busy() const {
  const Busy source = busy_ports(source_), destination = busy_ports(destination_);
  return source.most > destination.most ? source : destination;
}

void Crossbar::send(std::uint32_t source, const engine::Message& message, engine::Cycle leaves) {
  const std::uint32_t payload = memory::payload_bytes(message);
  const std::uint32_t bytes = header_bytes_ + payload;
  ++messages_;
  bytes_ += bytes;
  engine::Cycle arrived = leaves + latency_;
  if (payload > 0) {
    const engine::Cycle now = scheduler_.now();
    const std::uint32_t booked = bytes + memory::held_up_bytes(message);
    const engine::Cycle last_byte = source_[source].book(std::min(now, leaves), leaves, booked);
    const engine::Cycle first_byte = last_byte - source_[source].span(booked);
    arrived = destination_[message.to].book(now, first_byte + latency_, booked);
    wait_cycles_ += arrived - latency_ - leaves;
  }
  scheduler_.post(message, component_[message.to], arrived);
}

void Crossbar::multicast(const engine::Message& message, engine::Cycle leaves) {
  const std::uint32_t bytes = header_bytes_ + memory::payload_bytes(message);
  ++messages_;
  bytes_ += bytes;
  const engine::Cycle arrived =
      destination_[message.to].book(scheduler_.now(), leaves + latency_, bytes);
  wait_cycles_ += arrived - latency_ - leaves;
  scheduler_.post(message, component_[message.to], arrived);
}

}  // namespace xpusim::network
