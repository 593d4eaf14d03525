// A correlation as JSON (schema xpusim.correlation/1) and as text.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/run/correlate_summary.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

/// By machine: its parameters, and the kinds of ops that the counted cases have.
Json compared_json(const std::vector<CaseResult>& results) {
  std::map<std::string, std::pair<ParameterValues, std::set<std::string>>> machines;
  for (const auto& r : results) {
    if (!r.gate || !r.error_pct()) continue;
    auto& [parameters, ops] = machines[r.machine];
    parameters = r.parameters;
    ops.insert(r.ops.begin(), r.ops.end());
  }
  Json j = Json::object();
  for (const auto& [name, of] : machines) j[name] = {{"parameters", of.first}, {"ops", of.second}};
  return j;
}

Json case_json(const CaseResult& r) {
  Json c = {{"name", r.name}, {"kernel", r.kernel}};
  const std::string kind = r.kind();
  c["kind"] = kind.empty() ? Json(nullptr) : Json(kind);
  c["status"] = name(r.status);
  c["reason"] = r.reason;
  c["measured_ns"] = number(r.measured_ns);
  c["simulated_ns"] = number(r.simulated_ns);
  c["error_pct"] = number(r.error_pct());
  c["counters"] = Json::object();
  for (const auto& [key, pair] : r.counters) c["counters"][key] = {pair.first, pair.second};
  c["ledger"] = Json::object();
  for (const auto& e : r.ledger) c["ledger"][e.unit][e.reason] = e.cycles;
  c["wall_s"] = r.wall_s;
  return c;
}

Json errors_json(const std::map<std::string, ErrorSummary>& errors, bool of_times) {
  Json j = Json::object();
  for (const auto& [key, e] : errors) {
    j[key] = {{"cases", e.cases},
              {"mean_abs_error_pct", e.mean},
              {"median_abs_error_pct", e.median},
              {"worst_abs_error_pct", e.worst},
              {"worst_case", e.worst_case}};
    if (!of_times) continue;
    j[key]["shortest_ns"] = e.shortest_ns;
    j[key]["longest_ns"] = e.longest_ns;
  }
  return j;
}

Json problems_json(const std::vector<ProblemRank>& problems) {
  Json list = Json::array();
  for (const auto& p : problems)
    list.push_back({{"kernel", p.kernel},
                    {"cases", p.cases},
                    {"pairs", p.pairs},
                    {"kendall_tau", number(p.tau)},
                    {"regret_pct", p.regret_pct},
                    {"picked", p.picked},
                    {"fastest", p.fastest}});
  return list;
}

Json summary_json(const Summary& s) {
  Json o = {{"total", s.total},
            {"ok", s.ok},
            {"skipped", s.skipped},
            {"failed", s.failed},
            {"counted", s.counted}};
  o["mean_abs_error_pct"] = number(s.mean_abs_error_pct);
  o["median_abs_error_pct"] = number(s.median_abs_error_pct);
  o["worst_abs_error_pct"] = number(s.worst_abs_error_pct);
  o["worst_case"] = s.worst_case;
  o["mean_by_kernel_pct"] = Json::object();
  for (const auto& [kernel, e] : s.by_kernel) o["mean_by_kernel_pct"][kernel] = e.mean;
  o["mean_of_kernel_means_pct"] = number(s.mean_of_kernels_pct);
  o["kendall_tau"] = number(s.kendall_tau);
  o["regret_pct"] = number(s.regret_pct);
  o["by_kernel"] = errors_json(s.by_kernel, true);
  o["by_kind"] = errors_json(s.by_kind, true);
  o["by_counter"] = errors_json(s.by_counter, false);
  o["by_problem"] = problems_json(s.problems);
  return o;
}

std::string cases_text(const std::vector<CaseResult>& results) {
  std::string out = fmt::format("{:<44} {:>12} {:>12} {:>8} {:>8}\n", "case", "measured us",
                                "simulated us", "error", "wall s");
  for (const auto& r : results) {
    const std::string measured = r.measured_ns ? fmt::format("{:.2f}", *r.measured_ns / 1e3) : "-";
    if (r.status != CaseStatus::kOk) {
      out += fmt::format("{:<44} {:>12} {:>12} {}\n", r.name, measured, name(r.status), r.reason);
      continue;
    }
    const auto e = r.error_pct();
    out += fmt::format("{:<44} {:>12} {:>12.2f} {:>8} {:>8.2f}{}\n", r.name, measured,
                       *r.simulated_ns / 1e3, e ? fmt::format("{:+.1f} %", *e) : "-", r.wall_s,
                       r.gate ? "" : "  (not counted)");
  }
  return out;
}

std::string errors_text(const char* what, const std::map<std::string, ErrorSummary>& errors) {
  if (errors.empty()) return "";
  std::string out =
      fmt::format("{:<36} {:>6} {:>9} {:>9} {:>9}\n", what, "cases", "mean", "median", "worst");
  for (const auto& [key, e] : errors)
    out += fmt::format("  {:<34} {:>6} {:>7.1f} % {:>7.1f} % {:>7.1f} %\n", key, e.cases, e.mean,
                       e.median, e.worst);
  return out;
}

std::string rank_text(const Summary& s) {
  std::string out;
  if (s.kendall_tau)
    out += fmt::format("Kendall tau {:.2f} (pairs that differ by over 3 %)", *s.kendall_tau);
  if (s.regret_pct)
    out += fmt::format("{}regret of the picked schedule {:.1f} %", out.empty() ? "" : ", ",
                       *s.regret_pct);
  if (out.empty()) return "";
  return out + fmt::format(": means over {} problems\n", s.problems.size());
}

}  // namespace

Json to_json(const std::vector<CaseResult>& results, const Summary& s) {
  Json j;
  j["schema"] = "xpusim.correlation/1";
  j["compared"] = compared_json(results);
  j["cases"] = Json::array();
  for (const auto& r : results) j["cases"].push_back(case_json(r));
  j["summary"] = summary_json(s);
  j["host"] = {{"warp_inst_per_s", s.instructions_per_s}};
  return j;
}

std::string to_text(const std::vector<CaseResult>& results, const Summary& s) {
  std::string out = cases_text(results);
  out +=
      fmt::format("\n{} cases: {} ok, {} skipped, {} failed\n", s.total, s.ok, s.skipped, s.failed);
  if (!s.mean_abs_error_pct) return out;
  out += fmt::format(
      "absolute error: mean {:.1f} %, median {:.1f} %, worst {:.1f} % ({}), over {} counted\n",
      *s.mean_abs_error_pct, *s.median_abs_error_pct, *s.worst_abs_error_pct, s.worst_case,
      s.counted);
  out += errors_text("absolute error by kernel", s.by_kernel);
  out += fmt::format("mean of the kernels' means {:.1f} %\n", *s.mean_of_kernels_pct);
  if (s.by_kind.size() > 1) out += errors_text("by kind of kernel", s.by_kind);
  out += rank_text(s);
  out += errors_text("counters (cases that measured over 0)", s.by_counter);
  if (s.instructions_per_s > 0)
    out += fmt::format("{:.3g} simulated instructions/s\n", s.instructions_per_s);
  return out;
}

}  // namespace xpusim::run
