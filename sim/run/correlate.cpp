#include "sim/run/correlate.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

/// What a child sends back for a case.
Json outcome_json(CaseStatus status, const std::string& reason) {
  return {{"status", static_cast<int>(status)}, {"reason", reason}};
}

/// Bytes of a kernel's text that are not UTF-8 are replaced.
std::string text_of(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Why the machine cannot run the workload's kernel, or ""; adds the kinds of ops that it has.
std::string cannot_run(const Workload& w, const LoadedMachine& machine, const std::string& from,
                       std::set<std::string>& kinds) {
  for (const auto& l : w.launches) {
    auto file = kernel_file(w, l, *machine.family, from);
    if (!file) return "";
    auto module = kernel::read_module_file(*file);
    if (!module) return "cannot be read: " + module.error().list().front().str();
    kinds.merge(kinds_of_ops(*module));
    const auto ops = machine.machine->unsupported(*module);
    if (!ops.empty()) return "not supported: " + fmt::format("{}", fmt::join(ops, ", "));
    for (const auto& a : l.args)
      if (a.kind == ArgSpec::Kind::kDescriptor) return "not supported: tensor descriptor arguments";
  }
  return "";
}

/// Runs one case in this (child) process; JSON with status, time and counters.
Expected<std::string> run_case(const Case& c, const CorrelateSettings& settings) {
  auto machine =
      load_machine(settings.machine.empty() ? c.machine : settings.machine, settings.overrides);
  if (!machine) return fail(machine.error());
  RunSettings run;
  run.values = settings.values;
  run.from = settings.from;
  if (settings.case_clock && c.clock_hz)
    run.clock_hz = static_cast<std::uint64_t>(std::llround(*c.clock_hz));
  std::vector<double> times;
  Json out = outcome_json(CaseStatus::kOk, "");
  double instructions = 0, wall = 0;
  std::set<std::string> ops;
  for (const auto& w : c.workloads) {
    if (const auto why = cannot_run(w, *machine, settings.from, ops); !why.empty())
      return text_of(outcome_json(CaseStatus::kSkipped, why));
    auto report = run_workload(w, *machine, run);
    if (!report)
      return text_of(outcome_json(CaseStatus::kFailed, report.error().list().front().str()));
    if (!report->failure.empty())
      return text_of(outcome_json(CaseStatus::kFailed, report->failure.list().front().str()));
    const auto& launch = report->launches.front();
    times.push_back(launch.machine.duration_ns);
    instructions += static_cast<double>(launch.machine.simulated_instructions);
    wall += launch.host.wall_s;
    for (const auto& [name, value] : launch.machine.counters)
      if (value) out["counters"][name] = *value;
  }
  const double ns = c.measure == Measure::kSlope  ? (times[1] - times[0]) / 16
                    : c.measure == Measure::kBest ? *std::min_element(times.begin(), times.end())
                                                  : times[0];
  out["ns"] = ns;
  out["instructions"] = instructions;
  out["wall_s"] = wall;
  out["machine"] = machine->machine->name();
  out["parameters"] = values_of(machine->parameters);
  out["ops"] = ops;
  return text_of(out);
}

CaseResult result_of(const Case& c, const Expected<std::string>& outcome) {
  CaseResult r;
  r.name = c.name;
  r.kernel = c.kernel;
  r.problem = c.problem;
  r.group = c.group;
  r.gate = c.gate;
  r.measured_ns = c.measured_ns;
  if (!outcome) {
    r.reason = outcome.error().list().front().message;
    return r;
  }
  const Json j = Json::parse(*outcome);
  r.status = static_cast<CaseStatus>(j["status"].get<int>());
  r.reason = j["reason"];
  if (r.status != CaseStatus::kOk) return r;
  r.simulated_ns = j["ns"].get<double>();
  r.instructions = j["instructions"];
  r.wall_s = j["wall_s"];
  r.machine = j["machine"];
  r.parameters = j["parameters"].get<ParameterValues>();
  r.ops = j["ops"].get<std::set<std::string>>();
  if (j.contains("counters"))
    for (const auto& [name, value] : j["counters"].items())
      if (auto it = c.counters.find(name); it != c.counters.end())
        r.counters[name] = {it->second, value.get<double>()};
  return r;
}

std::optional<double> mean(const std::vector<double>& v) {
  if (v.empty()) return std::nullopt;
  double s = 0;
  for (double x : v) s += x;
  return s / static_cast<double>(v.size());
}

const char* name(CaseStatus s) {
  return s == CaseStatus::kOk ? "ok" : s == CaseStatus::kSkipped ? "skipped" : "failed";
}

/// Rank agreement and regret over the problems that have several measured alternatives.
void rank(const std::vector<CaseResult>& results, Summary& s) {
  std::map<std::string, std::vector<const CaseResult*>> problems;
  for (const auto& r : results)
    if (r.gate && r.status == CaseStatus::kOk && r.measured_ns) problems[r.problem].push_back(&r);
  std::vector<double> taus, regrets;
  for (const auto& [problem, list] : problems) {
    if (list.size() < 2) continue;
    int agree = 0, pairs = 0;
    const CaseResult *picked = list[0], *best = list[0];
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (*list[i]->simulated_ns < *picked->simulated_ns) picked = list[i];
      if (*list[i]->measured_ns < *best->measured_ns) best = list[i];
      for (std::size_t k = 0; k < i; ++k) {
        const double a = *list[i]->measured_ns, b = *list[k]->measured_ns;
        if (std::abs(a - b) <= 0.03 * std::min(a, b)) continue;
        const double simulated = *list[i]->simulated_ns - *list[k]->simulated_ns;
        agree += simulated == 0 ? 0 : (simulated > 0) == (a > b) ? 1 : -1;
        ++pairs;
      }
    }
    if (pairs) taus.push_back(static_cast<double>(agree) / pairs);
    regrets.push_back(100 * (*picked->measured_ns / *best->measured_ns - 1));
  }
  s.kendall_tau = mean(taus);
  s.regret_pct = mean(regrets);
}

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

Json number(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

}  // namespace

std::optional<double> CaseResult::error_pct() const {
  if (status != CaseStatus::kOk || !measured_ns || !simulated_ns) return std::nullopt;
  return 100 * (*simulated_ns / *measured_ns - 1);
}

Summary summarize(const std::vector<CaseResult>& results) {
  Summary s;
  std::map<std::string, std::vector<double>> groups, kernels;
  std::vector<double> errors;
  double instructions = 0, wall = 0;
  for (const auto& r : results) {
    ++s.total;
    ++(r.status == CaseStatus::kOk        ? s.ok
       : r.status == CaseStatus::kSkipped ? s.skipped
                                          : s.failed);
    instructions += r.instructions;
    wall += r.wall_s;
    const auto e = r.error_pct();
    if (!e || !r.gate) continue;
    const double a = std::abs(*e);
    if (!s.worst_abs_error_pct || a > *s.worst_abs_error_pct) {
      s.worst_abs_error_pct = a;
      s.worst_case = r.name;
    }
    kernels[r.kernel].push_back(a);
    if (r.group.empty())
      errors.push_back(a);
    else
      groups[r.group].push_back(a);
  }
  for (const auto& [group, list] : groups) errors.push_back(*mean(list));
  s.counted = static_cast<int>(errors.size());
  s.mean_abs_error_pct = mean(errors);
  if (!errors.empty()) {
    std::sort(errors.begin(), errors.end());
    const std::size_t n = errors.size();
    s.median_abs_error_pct = n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
  }
  std::vector<double> means;
  means.reserve(kernels.size());
  for (const auto& [kernel, list] : kernels) means.push_back(s.by_kernel[kernel] = *mean(list));
  s.mean_of_kernels_pct = mean(means);
  if (wall > 0) s.instructions_per_s = instructions / wall;
  rank(results, s);
  return s;
}

Expected<std::vector<CaseResult>> correlate(
    const std::string& path, const CorrelateSettings& settings,
    const std::function<void(const CaseResult&, std::size_t, std::size_t)>& progress) {
  auto cases = load_cases(path);
  if (!cases) return fail(cases.error());
  if (!settings.only.empty()) {
    try {
      const std::regex only(settings.only);
      std::erase_if(*cases, [&](const Case& c) { return !std::regex_search(c.name, only); });
    } catch (const std::regex_error& e) {
      return fail({"--only", 0, 0},
                  fmt::format("'{}' is no regular expression: {}", settings.only, e.what()));
    }
  }
  if (cases->empty()) return fail({path, 0, 0}, fmt::format("no case matches '{}'", settings.only));
  for (const auto& c : *cases) {
    const std::string on = settings.machine.empty() ? c.machine : settings.machine;
    if (on.empty())
      return fail({path, 0, 0}, fmt::format("case '{}' names no machine: give --on", c.name));
    if (auto m = load_machine(on, settings.overrides); !m) return fail(m.error());
  }
  std::vector<CaseResult> results(cases->size());
  std::size_t done = 0;
  in_children(
      cases->size(), settings.jobs, [&](std::size_t i) { return run_case((*cases)[i], settings); },
      [&](std::size_t i, const Expected<std::string>& outcome) {
        results[i] = result_of((*cases)[i], outcome);
        if (progress) progress(results[i], ++done, cases->size());
      });
  return results;
}

Json to_json(const std::vector<CaseResult>& results, const Summary& s) {
  Json j;
  j["schema"] = "xpusim.correlation/1";
  j["compared"] = compared_json(results);
  j["cases"] = Json::array();
  for (const auto& r : results) {
    Json c = {{"name", r.name}, {"status", name(r.status)}, {"reason", r.reason}};
    c["measured_ns"] = number(r.measured_ns);
    c["simulated_ns"] = number(r.simulated_ns);
    c["error_pct"] = number(r.error_pct());
    c["counters"] = Json::object();
    for (const auto& [key, pair] : r.counters) c["counters"][key] = {pair.first, pair.second};
    c["wall_s"] = r.wall_s;
    j["cases"].push_back(std::move(c));
  }
  Json& o = j["summary"];
  o = {{"total", s.total},
       {"ok", s.ok},
       {"skipped", s.skipped},
       {"failed", s.failed},
       {"counted", s.counted}};
  o["mean_abs_error_pct"] = number(s.mean_abs_error_pct);
  o["median_abs_error_pct"] = number(s.median_abs_error_pct);
  o["worst_abs_error_pct"] = number(s.worst_abs_error_pct);
  o["worst_case"] = s.worst_case;
  o["mean_by_kernel_pct"] = s.by_kernel;
  o["mean_of_kernel_means_pct"] = number(s.mean_of_kernels_pct);
  o["kendall_tau"] = number(s.kendall_tau);
  o["regret_pct"] = number(s.regret_pct);
  o["warp_inst_per_s"] = s.instructions_per_s;
  return j;
}

std::string to_text(const std::vector<CaseResult>& results, const Summary& s) {
  std::string out = fmt::format("{:<44} {:>12} {:>12} {:>8} {:>8}\n", "case", "measured us",
                                "simulated us", "error", "wall s");
  std::vector<double> dram;
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
  out +=
      fmt::format("\n{} cases: {} ok, {} skipped, {} failed\n", s.total, s.ok, s.skipped, s.failed);
  if (!s.mean_abs_error_pct) return out;
  out += fmt::format(
      "absolute error: mean {:.1f} %, median {:.1f} %, worst {:.1f} % ({}), over {} counted\n",
      *s.mean_abs_error_pct, *s.median_abs_error_pct, *s.worst_abs_error_pct, s.worst_case,
      s.counted);
  for (const auto& [kernel, pct] : s.by_kernel)
    out += fmt::format("  {:<42} {:>6.1f} %\n", kernel, pct);
  out += fmt::format("mean of the kernels' means {:.1f} %\n", *s.mean_of_kernels_pct);
  if (s.kendall_tau)
    out += fmt::format("Kendall tau {:.2f} (pairs that differ by over 3 %)", *s.kendall_tau);
  if (s.regret_pct)
    out += fmt::format("{}regret of the picked schedule {:.1f} %", s.kendall_tau ? ", " : "",
                       *s.regret_pct);
  if (s.kendall_tau || s.regret_pct) out += "\n";
  std::map<std::string, std::vector<double>> counters;
  for (const auto& r : results)
    for (const auto& [key, pair] : r.counters)
      if (pair.first != 0) counters[key].push_back(100 * std::abs(pair.second / pair.first - 1));
  if (!counters.empty())
    out += "counters, median absolute error (cases that measured more than 0):\n";
  for (auto& [key, list] : counters) {
    std::sort(list.begin(), list.end());
    out += fmt::format("  {:<32} {:>7.1f} %  ({})\n", key, list[list.size() / 2], list.size());
  }
  out += fmt::format("{:.3g} simulated instructions/s\n", s.instructions_per_s);
  return out;
}

}  // namespace xpusim::run
