#include "sim/run/correlate.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "sim/run/report.h"

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

Json ledger_json(const std::vector<LedgerEntry>& ledger) {
  Json list = Json::array();
  for (const auto& e : ledger) list.push_back({e.unit, e.reason, e.cycles, e.meaning});
  return list;
}

/// Why the machine cannot run the workload's kernel, or ""; adds the kinds of ops that it has.
std::string cannot_run(const Workload& w, const LoadedMachine& machine, const std::string& from,
                       std::set<std::string>& kinds) {
  for (const auto& l : w.launches) {
    if (l.collective) continue;
    if (!kernel_file(w, l, machine.runs_kernels(), from)) return "";
    auto module = read_kernel(w, l, machine.runs_kernels(), from);
    if (!module) return "cannot be read: " + module.error().list().front().str();
    kinds.merge(kinds_of_ops(**module));
    const auto ops = machine.machine->unsupported(**module);
    if (!ops.empty()) return "not supported: " + fmt::format("{}", fmt::join(ops, ", "));
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
  run.warm_caches = c.steady_loop;
  if (settings.case_clock && c.clock_hz)
    run.clock_hz = static_cast<std::uint64_t>(std::llround(*c.clock_hz));
  std::vector<double> times;
  std::vector<std::vector<LedgerEntry>> ledgers;
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
    ledgers.push_back(launch.machine.ledger);
    instructions += static_cast<double>(launch.machine.simulated_instructions);
    wall += launch.host.wall_s;
    for (const auto& [name, value] : launch.machine.counters)
      if (value) out["counters"][name] = *value;
    if (!run.clock_hz) out["counters"]["clock_mhz"] = launch.machine.clock_mhz;
    if (!launch.machine.energy.empty()) out["counters"]["energy_uj"] = total_energy(launch.machine);
  }
  const double ns = c.measure == Measure::kSlope  ? (times[1] - times[0]) / 16
                    : c.measure == Measure::kBest ? *std::min_element(times.begin(), times.end())
                                                  : times[0];
  out["ns"] = ns + c.host_ns;
  // The longer of a slope's two, the fastest of several schedules.
  const auto fastest = std::min_element(times.begin(), times.end()) - times.begin();
  out["ledger"] = ledger_json(
      c.measure == Measure::kBest ? ledgers[static_cast<std::size_t>(fastest)] : ledgers.back());
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
  if (const auto& what = c.workloads.front().launches.front().collective) r.collective = what->op;
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
  for (const auto& e : j["ledger"]) r.ledger.push_back({e[0], e[1], e[2], e[3]});
  if (j.contains("counters"))
    for (const auto& [name, value] : j["counters"].items())
      if (auto it = c.counters.find(name); it != c.counters.end())
        r.counters[name] = {it->second, value.get<double>()};
  return r;
}

}  // namespace

const char* name(CaseStatus s) {
  return s == CaseStatus::kOk ? "ok" : s == CaseStatus::kSkipped ? "skipped" : "failed";
}

std::string CaseResult::kind() const {
  if (!collective.empty()) return collective;
  return ops.empty() ? "" : kind_of_kernel(ops);
}

std::optional<double> CaseResult::error_pct() const {
  if (status != CaseStatus::kOk || !measured_ns || !simulated_ns) return std::nullopt;
  return 100 * (*simulated_ns / *measured_ns - 1);
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

}  // namespace xpusim::run
