#include "sim/engine/link.h"

#include "sim/engine/check.h"

namespace xpusim::engine {

Link::Link(const char* name, Scheduler& from, Scheduler& to, std::uint32_t to_component,
           Cycle latency)
    : sc_object(name),
      from_(from),
      to_(to),
      to_component_(to_component),
      latency_(latency),
      crosses_(&from != &to),
      inbox_(0) {
  if (latency == 0) broken(sc_object::name(), from.now(), "a link needs a latency of 1 or more");
  if (crosses_) inbox_ = to.open_inbox(from, latency);
}

void Link::send(const Message& message, Cycle now) {
  if (!crosses_) {
    to_.post(message, to_component_, now + latency_);
    return;
  }
  const Femto arrival = from_.clock().edge(now + latency_);
  to_.post_from(inbox_, message, to_component_, to_.clock().cycle_at_or_after(arrival));
}

}  // namespace xpusim::engine
