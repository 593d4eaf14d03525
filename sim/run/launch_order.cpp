#include "sim/run/launch_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/run/file_parts.h"

namespace xpusim::run {
namespace {

using config::Node;

std::size_t number_of(const std::string& label, const std::vector<LaunchSpec>& launches) {
  const auto found = std::find_if(launches.begin(), launches.end(),
                                  [&](const LaunchSpec& l) { return l.label == label; });
  return static_cast<std::size_t>(found - launches.begin());
}

void comes_after(const Node& name, const std::vector<LaunchSpec>& earlier, LaunchSpec& out,
                 Diagnostics& problems) {
  const std::size_t n = is_text(name) ? number_of(name.scalar, earlier) : earlier.size();
  if (n < earlier.size()) return out.after->push_back(n);
  std::vector<std::string> known;
  for (const LaunchSpec& l : earlier)
    if (!l.label.empty()) known.push_back(l.label);
  problems.error(name.origin, fmt::format("no launch before this one has the name '{}'{}",
                                          name.scalar, did_you_mean(name.scalar, known)));
}

/// What a launch cannot begin before: those it says, and the last one on the same cores or network.
std::vector<std::size_t> waits_for(const std::vector<LaunchSpec>& launches, std::size_t n) {
  std::vector<std::size_t> out;
  if (launches[n].after)
    out = *launches[n].after;
  else if (n > 0)
    out = {n - 1};
  for (std::size_t k = n; k-- > 0;)
    if (launches[k].collective.has_value() == launches[n].collective.has_value()) {
      out.push_back(k);
      break;
    }
  return out;
}

bool has(const LaunchSpec& kernel, const std::string& tensor) {
  return std::any_of(kernel.args.begin(), kernel.args.end(),
                     [&](const ArgSpec& a) { return a.tensor == tensor; });
}

std::string title(const std::vector<LaunchSpec>& launches, std::size_t n) {
  return launches[n].label.empty() ? fmt::format("launch {}", n + 1)
                                   : fmt::format("'{}'", launches[n].label);
}

}  // namespace

void read_order(const Node& node, const std::vector<LaunchSpec>& earlier, LaunchSpec& out,
                Diagnostics& problems) {
  if (const Node* name = node.find("name")) {
    if (!is_text(*name)) problems.error(name->origin, "a name is a text");
    out.label = name->scalar;
    if (!out.label.empty() && number_of(out.label, earlier) < earlier.size())
      problems.error(name->origin,
                     fmt::format("a launch before this one has the name '{}' too", out.label));
  }
  const Node* after = node.find("after");
  if (!after) return;
  out.after.emplace();
  if (after->kind == Node::Kind::kMap)
    return problems.error(after->origin, "'after' is the name of a launch, or a list of names");
  if (after->kind == Node::Kind::kScalar) return comes_after(*after, earlier, out, problems);
  for (const Node& item : after->items) comes_after(item, earlier, out, problems);
}

void check_order(const std::vector<LaunchSpec>& launches, Diagnostics& problems) {
  std::vector<std::vector<bool>> before(launches.size());  // [launch][earlier one]
  for (std::size_t n = 0; n < launches.size(); ++n) {
    before[n].resize(n);
    for (const std::size_t w : waits_for(launches, n)) {
      before[n][w] = true;
      for (std::size_t k = 0; k < w; ++k)
        if (before[w][k]) before[n][k] = true;
    }
    for (std::size_t k = 0; k < n; ++k) {
      if (before[n][k]) continue;  // else one of them is a collective, the other a kernel
      const bool first = launches[k].collective.has_value();
      const std::string& written = launches[first ? k : n].collective->output;
      if (!has(launches[first ? n : k], written)) continue;
      problems.error(launches[n].where,
                     fmt::format("nothing says that this comes after {}, but both have '{}', which "
                                 "the collective writes",
                                 title(launches, k), written));
    }
  }
}

Timeline::Timeline(const std::vector<LaunchSpec>& launches)
    : launches_(launches), ends_(launches.size()) {}

double Timeline::begin(std::size_t launch) const {
  const LaunchSpec& l = launches_[launch];
  double at = std::max(ends_[launch], l.collective ? network_ : cores_);
  if (l.after) {
    for (const std::size_t k : *l.after) at = std::max(at, ends_[k]);
  } else if (launch > 0) {
    at = std::max(at, ends_[launch - 1]);
  }
  return at;
}

void Timeline::end(std::size_t launch, double ns) { ends_[launch] = free_of(launch) = ns; }

void Timeline::next_round() {
  const double all = std::max(cores_, network_);
  cores_ = network_ = all;
  std::fill(ends_.begin(), ends_.end(), all);
}

}  // namespace xpusim::run
