#include "models/network/router.h"

#include <algorithm>

#include "sim/engine/check.h"

namespace xpusim::network {

using engine::Cycle;
using engine::Femto;
using engine::kNever;

Fabric::Router::Router(FabricState& state, const Topology& topology,
                       const std::vector<std::uint32_t>& leaving)
    : state_(state) {
  for (const std::uint32_t wire : leaving) {
    Output o;
    o.wire = wire;
    for (Channel& c : o.channels)
      c.credits = static_cast<std::uint32_t>(topology.kind_of(wire).buffer);
    outputs_.push_back(o);
  }
  std::sort(outputs_.begin(), outputs_.end(),
            [](const Output& a, const Output& b) { return a.wire < b.wire; });
  state_.output_of_wire.resize(state_.wires.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    state_.output_of_wire[outputs_[i].wire] = static_cast<std::uint16_t>(i);
}

void Fabric::Router::inject(std::uint32_t part) {
  const Femto ready = state_.parts[part].ready;
  const Cycle now = state_.scheduler.now();
  if (ready > state_.scheduler.clock().edge(now)) {
    engine::Message head;
    head.kind = kHead;
    head.tag = part;
    return post(id, head, ready);
  }
  enqueue(part);
  state_.scheduler.wake(id, now);
}

void Fabric::Router::enqueue(std::uint32_t part) {
  Part& p = state_.parts[part];
  const Hop hop = state_.hops[p.hop];
  Output& o = outputs_[state_.output_of_wire[hop.wire]];
  Channel& c = o.channels[hop.channel];
  p.next = kNone;
  (c.last == kNone ? c.first : state_.parts[c.last].next) = part;
  c.last = part;
  ++o.waiting;
}

Cycle Fabric::Router::receive(const engine::Message& message, Cycle now) {
  if (message.kind == kHead) {
    enqueue(message.tag);
    return now;
  }
  Output& o = outputs_[state_.output_of_wire[message.from]];
  Channel& c = o.channels[message.count];
  c.credits += message.tag;
  c.credit_at = message.data;
  return o.waiting > 0 ? now : kNever;
}

Cycle Fabric::Router::tick(Cycle now) {
  Cycle next = kNever;
  for (Output& o : outputs_)
    if (o.waiting > 0) next = std::min(next, serve(o, now));
  return next;
}

/// Sends what can leave by the edge of `now`; returns when it is to be asked again (a credit wakes
/// it by itself).
Cycle Fabric::Router::serve(Output& o, Cycle now) {
  const engine::Clock& clock = state_.scheduler.clock();
  for (;;) {
    if (o.waiting == 0) return kNever;
    if (o.free > clock.edge(now)) return clock.cycle_at_or_after(o.free);
    std::uint32_t asked = 0;
    for (; asked < kChannels; ++asked) {
      const Channel& c = o.channels[(o.turn + asked) % kChannels];
      if (c.first == kNone) continue;
      if (state_.wires[o.wire].wire_bytes(state_.parts[c.first].bytes) <= c.credits) break;
    }
    if (asked == kChannels) return kNever;
    const std::uint32_t channel = (o.turn + asked) % kChannels;
    o.turn = (channel + 1) % kChannels;
    cross(o, o.channels[channel]);
  }
}

/// Takes the first part of a channel over the link, from the exact time at which all that it needs
/// was there (which lies within the last cycle).
void Fabric::Router::cross(Output& o, Channel& c) {
  const std::uint32_t number = c.first;
  Part& p = state_.parts[number];
  c.first = p.next;
  if (c.first == kNone) c.last = kNone;
  --o.waiting;
  const WireTiming& wire = state_.wires[o.wire];
  const std::uint32_t bytes = wire.wire_bytes(p.bytes);
  const Femto room = std::max(p.ready, o.free);
  const Femto start = std::max(room, c.credit_at);
  const Femto end = start + wire.span(bytes);
  WireCounters& count = state_.counters[o.wire];
  count.bytes += p.bytes;
  count.wire_bytes += bytes;
  ++count.packets;
  count.busy += end - start;
  count.waited += start - p.ready;
  count.credit_wait += start - room;
  count.last = end;
  o.free = end;
  c.credits -= bytes;
  if (state_.observer) state_.observer->crossed(o.wire, state_.parcels[p.parcel].tag, start, end);
  if (p.first) {
    Parcel& parcel = state_.parcels[p.parcel];
    parcel.left = std::max(parcel.left, end);
    if (--parcel.to_leave == 0) {
      const Connection& way = state_.connections[parcel.connection];
      post(state_.endpoint[way.from], {0, way.to, parcel.bytes, parcel.tag, 0, kSent, 0},
           parcel.left);
    }
  } else {
    const Hop before = state_.hops[p.hop - 1];
    const WireTiming& back = state_.wires[before.wire];
    give_credit(before.wire, before.channel, back.wire_bytes(p.bytes), end + back.latency);
  }
  pass_on(number, start, end);
}

/// The part goes on to the next router, or to the chip at the end of its way.
void Fabric::Router::pass_on(std::uint32_t number, Femto start, Femto end) {
  Part& p = state_.parts[number];
  const Hop hop = state_.hops[p.hop];
  const WireTiming& wire = state_.wires[hop.wire];
  if (p.left > 0) {
    // Behind a slower link the head waits until its tail can follow without a gap.
    const WireTiming& then = state_.wires[state_.hops[p.hop + 1].wire];
    const Femto next_span = then.span(then.wire_bytes(p.bytes));
    p.ready = std::max(start, end > next_span ? end - next_span : 0) + wire.latency;
    ++p.hop;
    --p.left;
    p.first = false;
    engine::Message head;
    head.kind = kHead;
    head.tag = number;
    post(state_.router_of_target[hop.wire], head, p.ready);
    return;
  }
  const Femto arrived = end + wire.latency;
  give_credit(hop.wire, hop.channel, wire.wire_bytes(p.bytes), arrived + wire.latency);
  Parcel& parcel = state_.parcels[p.parcel];
  parcel.arrived = std::max(parcel.arrived, arrived);
  state_.free_parts.push_back(number);
  if (--parcel.to_arrive > 0) return;
  const Connection& way = state_.connections[parcel.connection];
  post(state_.endpoint[way.to], {0, way.from, parcel.bytes, parcel.tag, 0, kArrived, 0},
       parcel.arrived);
  state_.free_parcels.push_back(p.parcel);
  --state_.in_flight;
}

void Fabric::Router::give_credit(std::uint32_t wire, std::uint8_t channel, std::uint32_t bytes,
                                 Femto at) {
  engine::Message credit;
  credit.kind = kCredit;
  credit.from = wire;
  credit.tag = bytes;
  credit.count = channel;
  credit.data = at;
  post(state_.router_of_source[wire], credit, at);
}

void Fabric::Router::post(std::uint32_t to, engine::Message message, Femto at) {
  const engine::Scheduler& s = state_.scheduler;
  state_.scheduler.post(message, to, std::max(s.now() + 1, s.clock().cycle_at_or_after(at)));
}

const char* Fabric::Router::waiting_for() const {
  for (const Output& o : outputs_)
    if (o.waiting > 0) return "room behind a link";
  return "";
}

}  // namespace xpusim::network
