#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/run/report.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNotModelled = "not modelled";

double number(const Json& j) { return j.is_number() ? j.get<double>() : 0; }

double hbm_bytes(const Json& report) {
  double bytes = 0;
  for (const auto& l : report["launches"]) bytes += number(l["hbm_gbs"]) * number(l["duration_ns"]);
  return bytes;
}

double bound_ns(const Json& report) {
  double sum = 0;
  for (const auto& l : report["launches"]) {
    double worst = 0;
    for (const auto& [name, ns] : l["bound"].items()) worst = std::max(worst, number(ns));
    sum += worst;
  }
  return sum;
}

std::string per_cent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

/// The values of one machine, row by row.
std::vector<std::pair<const char*, std::string>> column(const Json& r) {
  const Json& total = r["total"];
  const double ns = number(total["duration_ns"]);
  const double flops_per_s = number(total["flops"]) / ns * 1e9;
  const double hbm_per_s = hbm_bytes(r) / ns * 1e9;
  double peak = 0;
  for (const auto& l : r["launches"]) peak = std::max(peak, 1e12 * number(l["peak_tflops"]));
  const double bound = bound_ns(r);
  const Json& uj = total["energy_uj"];
  std::string why, check = "not checked";
  for (const auto& l : r["launches"]) {
    if (why.empty() && !l["bottlenecks"].empty()) {
      const Json& b = l["bottlenecks"][0];
      why = fmt::format("{:.0f} % {}", 100 * number(b["share"]), b["reason"].get<std::string>());
    }
    if (!l["check"].is_object()) continue;
    check = "right";
    for (const auto& [tensor, c] : l["check"].items())
      if (!c["right"].get<bool>()) check = "WRONG";
  }
  return {{"", r["machine"].get<std::string>()},
          {"time", si(ns * 1e-9, "s")},
          {"compute", si(flops_per_s, "FLOP/s")},
          {"  of the peak", per_cent(flops_per_s, peak)},
          {"HBM", si(hbm_per_s, "B/s")},
          {"  of the peak", per_cent(hbm_per_s, number(r["peaks"]["hbm_bytes_per_s"]))},
          {"energy", uj.is_number() ? si(number(uj) * 1e-6, "J") : kNotModelled},
          {"mean power", uj.is_number() ? si(number(uj) * 1e3 / ns, "W") : kNotModelled},
          {"cost of a run",
           total["cost_usd"].is_number() ? si(number(total["cost_usd"]), "USD") : "unknown"},
          {"times the bound", bound > 0 ? fmt::format("{:.2f}", ns / bound) : "unknown"},
          {"most cycles lost", why.empty() ? "none" : why},
          {"values", check}};
}

}  // namespace

std::string compare_text(const std::vector<Json>& reports) {
  if (reports.empty()) return "";
  std::vector<std::vector<std::pair<const char*, std::string>>> columns;
  columns.reserve(reports.size());
  for (const auto& r : reports) columns.push_back(column(r));
  std::string out = reports[0]["workload"].get<std::string>() + "\n";
  for (std::size_t row = 0; row < columns[0].size(); ++row) {
    out += fmt::format("  {:<17}", columns[0][row].first);
    for (const auto& c : columns) out += fmt::format(" {:>24}", c[row].second);
    out += "\n";
  }
  const auto ns = [&](std::size_t i) { return number(reports[i]["total"]["duration_ns"]); };
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < reports.size(); ++i)
    if (ns(i) < ns(fastest)) fastest = i;
  for (std::size_t i = 0; i < reports.size(); ++i)
    if (i != fastest)
      out += fmt::format("  {} is {:.2f} times as fast as {}\n",
                         reports[fastest]["machine"].get<std::string>(), ns(i) / ns(fastest),
                         reports[i]["machine"].get<std::string>());
  return out;
}

}  // namespace xpusim::run
