#include "sim/stats/counters.h"

#include <algorithm>

namespace xpusim::stats {
namespace {

template <class Entries>
auto find(Entries& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const CounterSet::Entry& entry) { return entry.first == name; });
}

}  // namespace

void CounterSet::set(std::string_view name, std::optional<double> value) {
  if (const auto at = find(entries_, name); at != entries_.end()) {
    at->second = value;
  } else {
    entries_.emplace_back(name, value);
  }
}

void CounterSet::ratio(std::string_view name, double part, double whole, double scale) {
  set(name, whole == 0 ? std::nullopt : std::optional<double>(scale * part / whole));
}

std::optional<double> CounterSet::value(std::string_view name) const {
  const auto at = find(entries_, name);
  return at == entries_.end() ? std::nullopt : at->second;
}

bool CounterSet::has(std::string_view name) const { return find(entries_, name) != entries_.end(); }

}  // namespace xpusim::stats
