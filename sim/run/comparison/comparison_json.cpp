#include <nlohmann/json.hpp>

#include "sim/run/comparison/comparison.h"
#include "sim/run/tool.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "xpusim.comparison_set_results/1";

Json figure_json(const Figure& f) { return f ? Json(*f) : Json(nullptr); }
Json inverse(const Figure& f, double unit) {
  return f && *f > 0 ? Json(1 / (*f * unit)) : Json(nullptr);
}

Json limit_json(const Limit& limit) {
  switch (limit.kind) {
    case Limit::Kind::kNone:
      return nullptr;
    case Limit::Kind::kBound:
      return {{"kind", "bound"}, {"what", limit.what}, {"share", limit.share}};
    case Limit::Kind::kPart:
      return {{"kind", "part"}, {"what", limit.what}, {"share", limit.share}};
    case Limit::Kind::kIssue:
      return {{"kind", "issue"}, {"what", limit.what}, {"share", limit.share}};
    case Limit::Kind::kStall:
      return {{"kind", "stall"}, {"what", limit.what}, {"share", limit.share}};
  }
  return nullptr;
}

Json trust_json(const std::optional<Trust>& t) {
  if (!t) return nullptr;
  return {{"mean_abs_pct", t->mean_pct},
          {"worst_abs_pct", t->worst_pct},
          {"cases", t->cases},
          {"kind", t->kind},
          {"kind_compared", t->same_kind},
          {"applies", t->applies}};
}

Json run_json(const std::string& machine, const ComparedRun& r) {
  Json j = {{"machine", machine}, {"status", name(r.status)}};
  j["reason"] = r.reason.empty() ? Json(nullptr) : Json(r.reason);
  if (!r.ok()) return j;
  j["check"] = r.check.empty() ? Json(nullptr) : Json(r.check);
  j["time_ns"] = r.time_ns;
  j["flops"] = r.flops;
  j["hbm_bytes"] = r.hbm_bytes;
  j["bound_ns"] = r.bound_ns > 0 ? Json(r.bound_ns) : Json(nullptr);
  j["bound_by"] = r.bound_by.empty() ? Json(nullptr) : Json(r.bound_by);
  j["energy_uj"] = figure_json(r.energy_uj);
  j["power_w"] = r.energy_uj ? Json(r.power_w()) : Json(nullptr);
  j["cost_usd"] = figure_json(r.cost_usd);
  j["runs_per_joule"] = inverse(r.energy_uj, 1e-6);
  j["runs_per_usd"] = inverse(r.cost_usd, 1);
  j["limit"] = limit_json(r.limit);
  j["stall"] = limit_json(r.stall);
  j["issued_share"] = r.issued_share;
  j["expected_error"] = trust_json(r.trust);
  return j;
}

Json machine_json(const ComparedMachine& m) {
  return {{"name", m.name},
          {"family", m.family},
          {"tensor_flops_per_s", m.peaks.tensor_flops_per_s},
          {"flops_per_s", m.peaks.flops_per_s},
          {"hbm_bytes_per_s", m.peaks.hbm_bytes_per_s},
          {"usd_per_hour", figure_json(m.peaks.dollars_per_hour)}};
}

/// Null if nobody knows.
Json within_errors(const Choice& choice) {
  if (!choice.next || choice.margin == Margin::kUnknown) return nullptr;
  return choice.margin == Margin::kClose;
}

Json choice_json(const Comparison& c, const Choice& choice) {
  const auto machine = [&](const std::optional<std::size_t>& m) {
    return m ? Json(c.machines[*m].name) : Json(nullptr);
  };
  return {{"machine", machine(choice.machine)},
          {"next", machine(choice.next)},
          {"ratio", choice.next ? Json(choice.ratio) : Json(nullptr)},
          {"within_errors", within_errors(choice)},
          {"why", choice.why}};
}

/// By the first machine.
Json relative_json(const Comparison& c, const ComparedKind& kind) {
  Json list = Json::array();
  for (std::size_t m = 0; m < c.machines.size(); ++m) {
    const auto ratio = [&](Aim aim) { return figure_json(advantage(kind, aim, m, 0)); };
    list.push_back({{"machine", c.machines[m].name},
                    {"speed", ratio(Aim::kTime)},
                    {"per_watt", ratio(Aim::kEnergy)},
                    {"per_dollar", ratio(Aim::kCost)}});
  }
  return list;
}

Json kind_json(const Comparison& c, const ComparedKind& kind) {
  Json j = {{"name", kind.name}, {"workloads", Json::array()}};
  for (const auto& row : kind.rows) {
    Json w = {{"name", row.workload}, {"runs", Json::array()}};
    for (std::size_t m = 0; m < row.runs.size(); ++m)
      w["runs"].push_back(run_json(c.machines[m].name, row.runs[m]));
    j["workloads"].push_back(std::move(w));
  }
  j["relative"] = relative_json(c, kind);
  j["choices"] = Json::object();
  for (const Aim aim : kAims) j["choices"][name(aim)] = choice_json(c, choose(c, kind, aim));
  return j;
}

}  // namespace

Json to_json(const Comparison& c) {
  Json j = {{"schema", kSchema}, {"tool", kTool}, {"name", c.name}};
  j["values"] = c.values ? "on" : "off";
  j["caches"] = c.warm_caches ? "warm" : "cold";
  j["machines"] = Json::array();
  for (const auto& m : c.machines) j["machines"].push_back(machine_json(m));
  j["kinds"] = Json::array();
  double wall = 0;
  for (const auto& kind : c.kinds) {
    j["kinds"].push_back(kind_json(c, kind));
    for (const auto& row : kind.rows)
      for (const auto& run : row.runs) wall += run.wall_s;
  }
  j["host"] = {{"wall_s", wall}};
  return j;
}

}  // namespace xpusim::run
