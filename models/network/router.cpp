#include "models/network/router.h"

#include <algorithm>

#include "sim/engine/free_list.h"
#include "sim/engine/prefetch.h"

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
    o.timing = state.wires[wire];
    for (Channel& c : o.channels)
      c.room = static_cast<std::uint32_t>(topology.kind_of(wire).buffer);
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
  const Hop hop = state_.hops[state_.parts[part].hop];
  if (ready > state_.scheduler.clock().edge(now)) return post(id, head_of(part, hop), ready);
  Output& o = outputs_[state_.output_of_wire[hop.wire]];
  enqueue(part, o, o.channels[hop.channel]);
  state_.scheduler.wake(id, now);
}

/// Tells the router where a hop begins of a part that takes it.
engine::Message Fabric::Router::head_of(std::uint32_t part, Hop hop) const {
  engine::Message head;
  head.kind = kHead;
  head.tag = part;
  head.from = state_.output_of_wire[hop.wire];
  head.count = hop.channel;
  return head;
}

void Fabric::Router::enqueue(std::uint32_t part, Output& o, Channel& c) {
  Part& p = state_.parts[part];
  Queue& q = c.queues[p.first ? 1 : 0];
  p.next = kNone;
  (q.last == kNone ? q.first : state_.parts[q.last].next) = part;
  q.last = part;
  ++o.waiting;
}

Cycle Fabric::Router::receive(const engine::Message& head, Cycle now) {
  Output& o = outputs_[head.from];
  enqueue(head.tag, o, o.channels[head.count]);
  return now;
}

void Fabric::Router::expect(const engine::Message& head) const {
  const Output& o = outputs_[head.from];
  engine::prefetch(&o);
  engine::prefetch(&o.channels[head.count]);
  engine::prefetch(&state_.parts[head.tag]);
  engine::prefetch(&state_.counters[o.wire]);
}

Cycle Fabric::Router::tick(Cycle now) {
  Cycle next = kNever;
  const Femto edge = state_.scheduler.clock().edge(now);
  for (Output& o : outputs_)
    if (o.waiting > 0) next = std::min(next, serve(o, edge));
  return next;
}

/// Takes the credits that are back by the edge of the cycle; returns when the next one is.
Femto Fabric::Router::settle(Channel& c, Femto edge) {
  while (c.first_credit != kNone) {
    const Credit& credit = state_.credits[c.first_credit];
    if (credit.at > edge) return credit.at;
    c.room += credit.bytes;
    c.credit_at = credit.at;
    state_.free_credits.push_back(c.first_credit);
    c.first_credit = credit.next;
  }
  c.last_credit = kNone;
  return engine::kEndOfTime;
}

/// Sends what can leave by the edge of the cycle; returns when it is to be asked again (of credits
/// that nobody knows of yet it will be told).
Cycle Fabric::Router::serve(Output& o, Femto edge) {
  const engine::Clock& clock = state_.scheduler.clock();
  for (;;) {
    if (o.waiting == 0) return kNever;
    if (o.free > edge) return clock.cycle_at_or_after(o.free);
    Femto credit = engine::kEndOfTime;
    for (Channel& c : o.channels)
      if (c.waits()) credit = std::min(credit, settle(c, edge));
    Channel* chosen = nullptr;
    std::uint32_t kind = 0, turn = 0;
    for (std::uint32_t i = 0; i < 2 * kChannels && !chosen; ++i) {
      kind = i / kChannels;
      turn = (o.turn + i) % kChannels;
      Channel& c = o.channels[turn];
      if (kind > 0 && c.queues[0].first != kNone) continue;  // it waits for room: ahead of ours
      if (has_room(o, c, c.queues[kind])) chosen = &c;
    }
    if (!chosen) return credit == engine::kEndOfTime ? kNever : clock.cycle_at_or_after(credit);
    o.turn = (turn + 1) % kChannels;
    cross(o, *chosen, chosen->queues[kind]);
  }
}

/// Whether a queue's first part, if there is one, has room at the other end.
bool Fabric::Router::has_room(const Output& o, const Channel& c, const Queue& q) const {
  return q.first != kNone && state_.wires[o.wire].wire_bytes(state_.parts[q.first].bytes) <= c.room;
}

/// Takes a queue's first part over the link, from the exact time at which all that it needs
/// was there (which lies within the last cycle).
void Fabric::Router::cross(Output& o, Channel& c, Queue& q) {
  const std::uint32_t number = q.first;
  Part& p = state_.parts[number];
  q.first = p.next;
  if (q.first == kNone) q.last = kNone;
  --o.waiting;
  const WireTiming& wire = o.timing;
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
  c.room -= bytes;
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
    const Hop after = state_.hops[p.hop + 1];
    const WireTiming& then = state_.wires[after.wire];
    const Femto next_span = then.span(then.wire_bytes(p.bytes));
    p.ready = std::max(start, end > next_span ? end - next_span : 0) + wire.latency;
    ++p.hop;
    --p.left;
    p.first = false;
    return post(state_.router_of_target[hop.wire], head_of(number, after), p.ready);
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

/// Tells the router at the begin of a wire, at the latest a cycle before it is to know.
void Fabric::Router::give_credit(std::uint32_t wire, std::uint8_t channel, std::uint32_t bytes,
                                 Femto at) {
  const engine::Scheduler& s = state_.scheduler;
  auto& router = static_cast<Router&>(s.component(state_.router_of_source[wire]));
  router.note_credit(wire, channel, bytes, std::max(at, s.clock().edge(s.now() + 1)));
}

void Fabric::Router::note_credit(std::uint32_t wire, std::uint8_t channel, std::uint32_t bytes,
                                 Femto at) {
  const std::uint32_t number = engine::take_free(state_.credits, state_.free_credits);
  Output& o = outputs_[state_.output_of_wire[wire]];
  Channel& c = o.channels[channel];
  std::uint32_t before = c.last_credit;
  if (before != kNone && state_.credits[before].at > at) {  // another output was faster
    before = kNone;
    for (std::uint32_t i = c.first_credit; state_.credits[i].at <= at; i = state_.credits[i].next)
      before = i;
  }
  std::uint32_t& next = before == kNone ? c.first_credit : state_.credits[before].next;
  state_.credits[number] = {at, bytes, next};
  if (before == c.last_credit) {
    state_.credits[number].next = kNone;
    c.last_credit = number;
  }
  next = number;
  if (c.waits()) state_.scheduler.wake(id, state_.scheduler.clock().cycle_at_or_after(at));
}

void Fabric::Router::post(std::uint32_t to, const engine::Message& message, Femto at) {
  const engine::Scheduler& s = state_.scheduler;
  state_.scheduler.post(message, to, std::max(s.now() + 1, s.clock().cycle_at_or_after(at)));
}

const char* Fabric::Router::waiting_for() const {
  for (const Output& o : outputs_)
    if (o.waiting > 0) return "room behind a link";
  return "";
}

}  // namespace xpusim::network
