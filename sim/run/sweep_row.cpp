#include "sim/run/sweep_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

Figure ratio(double a, double b) { return b > 0 ? Figure(a / b) : std::nullopt; }

/// The launches' cycles by unit and reason, as if they were one launch.
LaunchReport merged_ledger(const Report& report) {
  LaunchReport all;
  for (const auto& l : report.launches) {
    for (const auto& e : l.machine.ledger) {
      auto it = std::find_if(all.ledger.begin(), all.ledger.end(), [&](const LedgerEntry& known) {
        return known.unit == e.unit && known.reason == e.reason;
      });
      if (it == all.ledger.end())
        all.ledger.push_back(e);
      else
        it->cycles += e.cycles;
    }
  }
  return all;
}

/// The clock of all launches; none if they differ.
Figure one_clock(const Report& report) {
  Figure mhz;
  for (const auto& l : report.launches) {
    if (mhz && *mhz != l.machine.clock_mhz) return std::nullopt;
    mhz = l.machine.clock_mhz;
  }
  return mhz;
}

RowFigures figures_of(const Report& report) {
  const double ns = elapsed_ns(report);
  double cycles = 0, flops = 0, bytes = 0, uj = 0, bound = 0;
  bool has_energy = true, has_bound = true;
  for (const auto& l : report.launches) {
    cycles += static_cast<double>(l.machine.cycles);
    flops += l.machine.flops;
    bytes += l.machine.hbm_read_bytes + l.machine.hbm_write_bytes;
    for (const auto& e : l.machine.energy) uj += e.microjoules;
    has_energy &= !l.machine.energy.empty();
    double launch_bound = 0;
    for (const auto& [name, value] : l.bound) launch_bound = std::max(launch_bound, value);
    has_bound &= !l.bound.empty();
    bound += launch_bound;
  }
  RowFigures f;
  f.time_ns = ns;
  f.cycles = cycles;
  f.clock_mhz = one_clock(report);
  f.hbm_gbs = ratio(bytes, ns);
  f.hbm_peak_gbs = report.peaks.hbm_bytes_per_s * 1e-9;
  f.tflops = ratio(flops * 1e-3, ns);
  if (has_energy) {
    f.energy_uj = uj;
    f.power_w = ratio(uj * 1e3, ns);
  }
  if (has_bound) {
    f.bound_ns = bound;
    f.bound_ratio = ratio(ns, bound);
  }
  return f;
}

/// The first problem as one line.
std::string first_line(const Diagnostics& problems) {
  const Diagnostic& d = problems.list().front();
  const std::string where = d.where.str();
  return where.empty() ? d.message : where + ": " + d.message;
}

Json figure(const Figure& f) { return f && std::isfinite(*f) ? Json(*f) : Json(nullptr); }

}  // namespace

const std::vector<FigureColumn>& figure_columns() {
  using F = RowFigures;
  static const std::vector<FigureColumn> kColumns = {
      {"time_ns", "time", "s", 1e-9, &F::time_ns},
      {"cycles", "cycles", "", 1, &F::cycles},
      {"clock_mhz", "core clock", "Hz", 1e6, &F::clock_mhz},
      {"hbm_gbs", "HBM bandwidth reached", "B/s", 1e9, &F::hbm_gbs},
      {"hbm_peak_gbs", "HBM peak bandwidth", "B/s", 1e9, &F::hbm_peak_gbs},
      {"tflops", "compute rate", "FLOP/s", 1e12, &F::tflops},
      {"energy_uj", "energy", "J", 1e-6, &F::energy_uj},
      {"power_w", "mean power", "W", 1, &F::power_w},
      {"bound_ns", "least time by the peaks", "s", 1e-9, &F::bound_ns},
      {"bound_ratio", "time as a multiple of the bound", "", 1, &F::bound_ratio},
  };
  return kColumns;
}

const char* name(PointStatus status) {
  switch (status) {
    case PointStatus::kPending:
      return "pending";
    case PointStatus::kOk:
      return "ok";
    case PointStatus::kFailed:
      return "failed";
    case PointStatus::kLost:
      return "lost";
  }
  return "";
}

PointOutcome outcome_of(const Report& report) {
  PointOutcome out;
  for (const auto& l : report.launches) {
    out.wall_s += l.host.wall_s;
    out.peak_rss_mb = std::max(out.peak_rss_mb, l.host.peak_rss_mb);
  }
  if (report.failure.has_errors()) {
    out.status = PointStatus::kFailed;
    out.reason = first_line(report.failure);
    return out;
  }
  if (report.checked) out.check = "right";
  for (const auto& c : report.checks) {
    if (c.right) continue;
    out.status = PointStatus::kFailed;
    out.check = "wrong";
    out.reason = fmt::format("wrong values in '{}': {:.3g} times the tolerance at worst", c.tensor,
                             c.worst_ratio);
    return out;
  }
  out.status = PointStatus::kOk;
  out.figures = figures_of(report);
  const LaunchReport all = merged_ledger(report);
  for (const auto& b : find_bottlenecks(all, kRowStalls))
    if (b.unit == all.ledger.front().unit)
      out.stalls.push_back({b.unit, b.reason, b.share, b.meaning});
  return out;
}

Json to_json(const PointOutcome& o) {
  Json j = {{"status", static_cast<int>(o.status)}, {"reason", o.reason}, {"check", o.check}};
  j["figures"] = Json::array();
  for (const auto& c : figure_columns()) j["figures"].push_back(figure(o.figures.*c.member));
  j["stalls"] = Json::array();
  for (const auto& s : o.stalls) j["stalls"].push_back({s.unit, s.reason, s.share, s.meaning});
  j["wall_s"] = o.wall_s;
  j["peak_rss_mb"] = o.peak_rss_mb;
  return j;
}

PointOutcome outcome_from(const Json& j) {
  PointOutcome o;
  o.status = static_cast<PointStatus>(j["status"].get<int>());
  o.reason = j["reason"];
  o.check = j["check"];
  const auto& columns = figure_columns();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!j["figures"][i].is_null()) o.figures.*columns[i].member = j["figures"][i].get<double>();
  for (const auto& s : j["stalls"]) o.stalls.push_back({s[0], s[1], s[2], s[3]});
  o.wall_s = j["wall_s"];
  o.peak_rss_mb = j["peak_rss_mb"];
  return o;
}

}  // namespace xpusim::run
