// Why one machine is better than another for a kind of work, in a sentence. A time is a bound over
// the share of it that the run comes to, so the ratio of two times is that of the bounds times that
// of the shares; an energy is a power, and a cost a price, times a time.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/run/comparison/comparison.h"
#include "sim/run/report.h"

namespace xpusim::run {
namespace {

constexpr double kAlike = 0.05;       // ratios within it of 1 are no reason
constexpr double kWorthSaying = 0.1;  // a smaller share of the cycles explains little

using Rows = std::vector<const ComparedRow*>;

template <class Value>
double geometric_mean(const Rows& rows, const Value& value) {
  double sum = 0;
  for (const auto* row : rows) sum += std::log(value(*row));
  return std::exp(sum / static_cast<double>(rows.size()));
}

double bound_share(const Rows& rows, std::size_t machine) {
  return geometric_mean(rows, [&](const auto& row) { return row.runs[machine].bound_share(); });
}

/// How long `a` takes over how long `b` does.
double time_ratio(const Rows& rows, std::size_t a, std::size_t b) {
  return geometric_mean(rows,
                        [&](const auto& row) { return row.runs[a].time_ns / row.runs[b].time_ns; });
}

double mean_power(const Rows& rows, std::size_t machine) {
  return geometric_mean(rows, [&](const auto& row) { return row.runs[machine].power_w(); });
}

/// The peak that bounds all rows on a machine, or "".
std::string bounded_by(const Rows& rows, std::size_t machine) {
  const std::string& first = rows.front()->runs[machine].bound_by;
  for (const auto* row : rows)
    if (row->runs[machine].bound_by != first) return "";
  return first;
}

/// The peak of a bound by its name, as the roofline calls it.
std::string peak_text(const Peaks& peaks, const std::string& bound) {
  if (bound == "HBM bandwidth") return si(peaks.hbm_bytes_per_s, "B/s");
  if (bound == "matrix flops") return si(peaks.tensor_flops_per_s, "FLOP/s");
  if (bound == "vector flops") return si(peaks.flops_per_s, "FLOP/s");
  return "";
}

/// " (HBM bandwidth: 4.83 TB/s against 1.64 TB/s)", where one peak bounds both.
std::string peaks_text(const Comparison& c, const Rows& rows, std::size_t a, std::size_t b) {
  const std::string of_a = bounded_by(rows, a), of_b = bounded_by(rows, b);
  if (of_a.empty() || of_b.empty()) return "";
  if (of_a != of_b)
    return fmt::format(" (by {}; that of {} is by {})", of_a, c.machines[b].name, of_b);
  const std::string peak = peak_text(c.machines[a].peaks, of_a);
  if (peak.empty()) return fmt::format(" (both by {})", of_a);
  return fmt::format(" ({}: {} against {})", of_a, peak, peak_text(c.machines[b].peaks, of_b));
}

/// "; tpu_v6e loses 36 % of its cycles: waits for ...": the reason that costs a machine most over
/// the rows, if it stays far below its bound.
std::string loss_text(const Comparison& c, const Rows& rows, std::size_t machine) {
  if (bound_share(rows, machine) >= kNearBound) return "";
  double issued = 0;
  for (const auto* row : rows) issued += row->runs[machine].issued_share;
  issued /= static_cast<double>(rows.size());
  if (issued >= kMostIssue)
    return fmt::format(
        "; {} issues instructions in {:.0f} % of its cycles, whose number takes the "
        "time",
        c.machines[machine].name, 100 * issued);
  std::map<std::string, double> lost;
  for (const auto* row : rows) {
    const Limit& stall = row->runs[machine].stall;
    if (stall.kind != Limit::Kind::kNone) lost[stall.what] += stall.share;
  }
  std::string most;
  for (const auto& [what, share] : lost)
    if (most.empty() || share > lost[most]) most = what;
  if (most.empty()) return "";
  const double share = lost[most] / static_cast<double>(rows.size());
  if (share < kWorthSaying) return "";
  return fmt::format("; {} loses {:.0f} % of its cycles{}: {}", c.machines[machine].name,
                     100 * share, rows.size() > 1 ? " on the mean" : "", most);
}

std::string why_faster(const Comparison& c, const Rows& rows, std::size_t a, std::size_t b) {
  const double share_a = bound_share(rows, a), share_b = bound_share(rows, b);
  if (share_a <= 0 || share_b <= 0) return "";
  const double bounds = share_b / (share_a * time_ratio(rows, a, b));  // of b over that of a
  const double shares = share_a / share_b;
  const bool lower = bounds > 1 + kAlike, higher = bounds < 1 - kAlike;
  const bool nearer = shares > 1 + kAlike, farther = shares < 1 - kAlike;
  std::string out = lower    ? fmt::format("its bound is {} times lower", ratio_text(bounds))
                    : higher ? fmt::format("its bound is {} times higher", ratio_text(1 / bounds))
                             : "the bounds are alike";
  out += peaks_text(c, rows, a, b);
  out += higher && nearer ? ", but" : lower && farther ? ", although" : " and";
  out += fmt::format(" it comes to {:.0f} %{}, {} to {:.0f} %{}", 100 * share_a,
                     lower || higher ? " of it" : "", c.machines[b].name, 100 * share_b,
                     lower || higher ? " of its own" : "");
  return out + loss_text(c, rows, nearer ? b : a);
}

/// ", for 1.9 times as long", " and is done 2.5 times sooner".
std::string duration_text(double ratio) {
  if (ratio > 1 + kAlike) return fmt::format(", for {} times as long", ratio_text(ratio));
  if (ratio < 1 - kAlike) return fmt::format(" and is done {} times sooner", ratio_text(1 / ratio));
  return ", for about as long";
}

/// "; 40 % of the energy of h200 is idle": the component that takes most of it over the rows.
std::string energy_text(const Comparison& c, const Rows& rows, std::size_t machine) {
  std::map<std::string, double> sums;
  for (const auto* row : rows)
    for (const auto& [component, share] : row->runs[machine].energy_shares)
      sums[component] += share;
  const auto most = std::max_element(
      sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == sums.end()) return "";
  return fmt::format("; {:.0f} % of the energy of {} is {}",
                     100 * most->second / static_cast<double>(rows.size()),
                     c.machines[machine].name, most->first);
}

std::string why_less_energy(const Comparison& c, const Rows& rows, std::size_t a, std::size_t b) {
  return fmt::format("it draws {:.0f} W against {:.0f} W{}", mean_power(rows, a),
                     mean_power(rows, b), duration_text(time_ratio(rows, a, b))) +
         energy_text(c, rows, b);
}

std::string why_cheaper(const Comparison& c, const Rows& rows, std::size_t a, std::size_t b) {
  return fmt::format("it costs {:.2f} USD an hour against {:.2f}{}",
                     c.machines[a].peaks.dollars_per_hour.value_or(0),
                     c.machines[b].peaks.dollars_per_hour.value_or(0),
                     duration_text(time_ratio(rows, a, b)));
}

}  // namespace

std::string why(const Comparison& c, const Rows& rows, Aim aim, std::size_t best,
                std::size_t next) {
  switch (aim) {
    case Aim::kTime:
      return why_faster(c, rows, best, next);
    case Aim::kEnergy:
      return why_less_energy(c, rows, best, next);
    case Aim::kCost:
      return why_cheaper(c, rows, best, next);
  }
  return "";
}

}  // namespace xpusim::run
