#include "sim/engine/watchdog.h"

#include <fmt/format.h>

#include "sim/engine/system.h"

namespace xpusim::engine {

Watchdog::Progress Watchdog::progress() const {
  Progress sum;
  for (const Scheduler* domain : domains_) {
    sum.done += domain->messages();
    for (std::uint32_t id = 0; id < domain->component_count(); ++id) {
      const std::uint64_t retired = domain->component(id).retired();
      if (retired == kNever) continue;
      sum.counted = true;
      sum.done += retired;
    }
  }
  return sum;
}

bool Watchdog::stalled(Femto now) {
  if (now - since_ < SystemRunner::kStall) return false;
  const Progress last = last_;
  restart(now);
  return last_.counted && last_.done == last.done;
}

void Watchdog::restart(Femto now) {
  since_ = now;
  last_ = progress();
}

std::string Watchdog::waiting() const {
  constexpr int kNamed = 12;
  std::string list;
  int found = 0;
  for (const Scheduler* domain : domains_) {
    for (std::uint32_t id = 0; id < domain->component_count(); ++id) {
      const std::string_view what = domain->component(id).waiting_for();
      if (what.empty() || ++found > kNamed) continue;
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", domain->name(id), what);
    }
  }
  if (found > kNamed) list += fmt::format(" and {} more", found - kNamed);
  return list.empty() ? "no component says that it waits" : "waiting: " + list;
}

}  // namespace xpusim::engine
