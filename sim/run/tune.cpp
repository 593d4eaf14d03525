#include "sim/run/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/run/trust.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "xpusim.tuning/1";

bool is_schedule(const std::string& path) { return path.starts_with("variants"); }

/// "BLOCK=256" of variants.BLOCK, "n=4096" of args.n, and a choice by its name.
void add_setting(std::string& text, const std::string& path, const std::string& value) {
  if (!text.empty()) text += " ";
  if (path == "variants" || path == "sizes") {
    text += value;
    return;
  }
  const bool is_short = path.starts_with("args.") || path.starts_with("variants.");
  text += fmt::format("{}={}", is_short ? path.substr(path.find('.') + 1) : path, value);
}

Figure time_of(const TunedSchedule& s) {
  const bool ran = s.row->outcome.status == PointStatus::kOk;
  return ran ? s.row->outcome.figures.time_ns : std::nullopt;
}

void sort(TuneTable& table) {
  std::stable_sort(table.schedules.begin(), table.schedules.end(),
                   [](const TunedSchedule& a, const TunedSchedule& b) {
                     return time_of(a).value_or(INFINITY) < time_of(b).value_or(INFINITY);
                   });
  const Figure best = time_of(table.schedules.front());
  for (auto& s : table.schedules)
    if (const Figure ns = time_of(s); ns && best && *best > 0) s.ratio = *ns / *best;
}

/// "HBM 83 %": the share of the peak that the time needs.
std::string hbm_text(const RowFigures& f) {
  if (!f.hbm_gbs || !f.hbm_peak_gbs || *f.hbm_peak_gbs <= 0) return "-";
  return fmt::format("{:.0f} %", 100 * *f.hbm_gbs / *f.hbm_peak_gbs);
}

std::string reason_text(const PointOutcome& o) {
  if (o.stalls.empty()) return "-";
  const Stall& s = o.stalls.front();
  std::string text = fmt::format("{:.0f} % {}{}", 100 * s.share, s.reason,
                                 s.meaning.empty() ? "" : " (" + s.meaning + ")");
  if (o.stalls.size() > 1)
    text += fmt::format(", {:.0f} % {}", 100 * o.stalls[1].share, o.stalls[1].reason);
  return text;
}

std::string table_text(const TuneTable& table) {
  const std::string workload = table.schedules.front().row->workload;
  std::string out = fmt::format("{} on {}{}{}\n", workload, table.machine,
                                table.size.empty() ? "" : ", ", table.size);
  std::size_t width = 8;
  for (const auto& s : table.schedules) width = std::max(width, s.name.size());
  out += fmt::format("  {:<{}} {:>9} {:>7} {:>6} {:>13}  {}\n", "schedule", width, "time", "x best",
                     "HBM", "compute", "most cycles lost to");
  for (const auto& s : table.schedules) {
    const PointOutcome& o = s.row->outcome;
    const Figure ns = time_of(s);
    if (!ns) {
      out += fmt::format("  {:<{}} {:>9} {}\n", s.name, width, name(o.status), o.reason);
      continue;
    }
    out += fmt::format("  {:<{}} {:>9} {:>7.2f} {:>6} {:>13}  {}\n", s.name, width,
                       si(*ns * 1e-9, "s"), s.ratio, hbm_text(o.figures),
                       o.figures.tflops ? si(*o.figures.tflops * 1e12, "FLOP/s") : "-",
                       reason_text(o));
  }
  return out;
}

std::vector<std::string> machines_of(const Tuning& tuning) {
  std::vector<std::string> names;
  for (const auto& t : tuning.tables)
    if (names.empty() || names.back() != t.machine) names.push_back(t.machine);
  return names;
}

std::size_t sizes_of(const Tuning& tuning, const std::string& machine) {
  return static_cast<std::size_t>(
      std::count_if(tuning.tables.begin(), tuning.tables.end(),
                    [&](const TuneTable& t) { return t.machine == machine; }));
}

/// What to take if one schedule has to do for all sizes.
std::string over_sizes_text(const Tuning& tuning, const std::string& machine) {
  const auto list = over_sizes(tuning, machine);
  if (sizes_of(tuning, machine) < 2 || list.empty()) return "";
  const auto& one = list.front();
  std::string out = fmt::format("one schedule for all sizes on {}: {}, ", machine, one.name);
  if (one.worst_ratio <= 1) return out + "the fastest at each\n";
  return out + fmt::format("{:.1f} % slower than each size's fastest on the mean, {:.1f} % at {}\n",
                           100 * (one.mean_ratio - 1), 100 * (one.worst_ratio - 1), one.worst_size);
}

std::set<std::string> kinds_of_kernels(const SweepPlan::Ready& ready, const std::string& from) {
  std::set<std::string> kinds;
  for (const auto& launch : ready.workload.launches) {
    const auto file = kernel_file(ready.workload, launch, ready.machine.runs_kernels(), from);
    if (!file) continue;
    const auto module = kernel::read_module_file(*file);
    if (module) kinds.insert(kind_of_kernel(kinds_of_ops(*module)));
  }
  return kinds;
}

Json figure(const Figure& f) { return f ? Json(*f) : Json(nullptr); }

Json schedule_json(const TunedSchedule& s) {
  const PointOutcome& o = s.row->outcome;
  Json j = {{"schedule", s.name}, {"id", s.row->id}, {"status", name(o.status)}};
  j["reason"] = o.reason.empty() ? Json(nullptr) : Json(o.reason);
  j["ratio"] = s.ratio > 0 ? Json(s.ratio) : Json(nullptr);
  for (const auto& c : figure_columns()) j[c.name] = figure(o.figures.*c.member);
  j["lost"] = Json::array();
  for (const auto& stall : o.stalls)
    j["lost"].push_back({{"unit", stall.unit},
                         {"reason", stall.reason},
                         {"meaning", stall.meaning},
                         {"share", stall.share}});
  return j;
}

}  // namespace

const TunedSchedule* TuneTable::fastest() const {
  return !schedules.empty() && time_of(schedules.front()) ? &schedules.front() : nullptr;
}

std::string trust_text(const SweepPlan& plan) {
  std::string out;
  std::set<std::string> said;
  for (std::size_t i = 0; i < plan.points().size(); ++i) {
    if (!said.insert(plan.points()[i].machine).second) continue;
    const auto ready = plan.ready(i);
    if (!ready) continue;
    const std::string& machine = plan.points()[i].machine;
    const auto error = expected_kernel_error(ready->machine);
    if (!error) {
      out += fmt::format("{} was never compared with a real one\n", machine);
      continue;
    }
    for (const auto& kind : kinds_of_kernels(*ready, plan.settings().from)) {
      out += error->changes.empty()
                 ? fmt::format("times on {} were ", machine)
                 : fmt::format("this {} was never compared, the unmodified one was ", machine);
      out += error_text(*error, kind) + "\n";
    }
  }
  return out;
}

Tuning tuning_of(const SweepResults& results) {
  Tuning tuning;
  tuning.results = &results;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const auto& row : results.rows) {
    std::string size, schedule;
    for (std::size_t i = 0; i < row.values.size(); ++i)
      add_setting(is_schedule(results.parameters[i]) ? schedule : size, results.parameters[i],
                  row.values[i]);
    const auto [it, is_new] = known.emplace(std::pair(row.machine, size), tuning.tables.size());
    if (is_new) tuning.tables.push_back({row.machine, size, {}});
    tuning.tables[it->second].schedules.push_back({schedule, &row});
  }
  for (auto& table : tuning.tables) sort(table);
  return tuning;
}

std::vector<ScheduleOverSizes> over_sizes(const Tuning& tuning, const std::string& machine) {
  std::map<std::string, std::pair<std::size_t, ScheduleOverSizes>> all;  // with sizes it ran at
  for (const auto& table : tuning.tables) {
    if (table.machine != machine) continue;
    for (const auto& s : table.schedules) {
      if (s.ratio <= 0) continue;
      auto& [count, o] = all[s.name];
      ++count;
      o.name = s.name;
      o.mean_ratio += std::log(s.ratio);
      if (s.ratio <= o.worst_ratio) continue;
      o.worst_ratio = s.ratio;
      o.worst_size = table.size;
    }
  }
  const std::size_t sizes = sizes_of(tuning, machine);
  std::vector<ScheduleOverSizes> list;
  for (auto& [name, entry] : all) {
    auto& [count, o] = entry;
    if (count != sizes) continue;
    o.mean_ratio = std::exp(o.mean_ratio / static_cast<double>(count));
    list.push_back(o);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.mean_ratio < b.mean_ratio; });
  return list;
}

Json to_json(const Tuning& tuning) {
  const SweepResults& results = *tuning.results;
  Json j = {{"schema", kSchema}, {"tool", results.tool}, {"workload", results.name}};
  j["tables"] = Json::array();
  for (const auto& table : tuning.tables) {
    const TunedSchedule* best = table.fastest();
    Json t = {{"machine", table.machine}, {"size", table.size}};
    t["fastest"] = best ? Json(best->name) : Json(nullptr);
    t["schedules"] = Json::array();
    for (const auto& s : table.schedules) t["schedules"].push_back(schedule_json(s));
    j["tables"].push_back(std::move(t));
  }
  j["over_sizes"] = Json::object();
  for (const auto& machine : machines_of(tuning)) {
    j["over_sizes"][machine] = Json::array();
    for (const auto& o : over_sizes(tuning, machine))
      j["over_sizes"][machine].push_back({{"schedule", o.name},
                                          {"mean_ratio", o.mean_ratio},
                                          {"worst_ratio", o.worst_ratio},
                                          {"worst_size", o.worst_size}});
  }
  j["host"] = Json::object();
  for (const auto& row : results.rows)
    j["host"][row.id] = {{"wall_s", row.outcome.wall_s}, {"peak_rss_mb", row.outcome.peak_rss_mb}};
  return j;
}

std::string to_text(const Tuning& tuning) {
  std::string out;
  for (const auto& table : tuning.tables) out += (out.empty() ? "" : "\n") + table_text(table);
  std::string all;
  for (const auto& machine : machines_of(tuning)) all += over_sizes_text(tuning, machine);
  return out + (all.empty() ? "" : "\n" + all);
}

}  // namespace xpusim::run
