#include "sim/run/comparison/compared_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBusy = 0.85;  // so much of the time a part is busy, which then is the limit

double number(const Json& j) { return j.is_number() ? j.get<double>() : 0; }
Figure figure(const Json& j) { return j.is_number() ? Figure(j.get<double>()) : std::nullopt; }

using Sums = std::map<std::string, double>;

std::pair<std::string, double> largest(const Sums& sums) {
  std::pair<std::string, double> out;
  for (const auto& [name, value] : sums)
    if (value > out.second) out = {name, value};
  return out;
}

/// The bound of each launch is the longest of its bounds; together they are the run's.
void add_bounds(const Json& launches, ComparedRun& run) {
  Sums by;
  for (const auto& l : launches) {
    std::string worst;
    double ns = 0;
    for (const auto& [name, value] : l["bound"].items()) {
      if (number(value) <= ns) continue;
      ns = number(value);
      worst = name;
    }
    run.bound_ns += ns;
    if (ns > 0) by[worst] += ns;
  }
  run.bound_by = largest(by).first;
}

/// The part of the way to memory that is busiest over the launches, by its busiest port.
Limit busiest_part(const Json& launches, double time_ns) {
  Sums busy;
  for (const auto& l : launches)
    for (const auto& [part, use] : l["memory"].items())
      busy[part] += number(use["busiest"]) * number(l["duration_ns"]);
  const auto [part, ns] = largest(busy);
  if (part.empty() || time_ns <= 0) return {};
  return {Limit::Kind::kPart, part, ns / time_ns};
}

/// The reason that most cycles of the unit which work is issued from were lost to.
Limit worst_stall(const Json& launches) {
  Sums lost;
  std::map<std::string, std::string> meanings;
  double all = 0;
  for (const auto& l : launches) {
    const double cycles = number(l["cycles"]);
    all += cycles;
    if (l["bottlenecks"].empty()) continue;
    const std::string unit = l["bottlenecks"][0]["unit"];
    for (const auto& b : l["bottlenecks"]) {
      if (b["unit"] != unit) continue;
      const std::string reason = b["reason"];
      lost[reason] += cycles * number(b["share"]);
      meanings[reason] = b["meaning"];
    }
  }
  const auto [reason, cycles] = largest(lost);
  if (reason.empty() || all <= 0) return {};
  const std::string& meaning = meanings[reason];
  return {Limit::Kind::kStall, meaning.empty() ? reason : meaning, cycles / all};
}

/// How often the unit that work is issued from, the first of the ledger, does issue.
double issued_share(const Json& launches) {
  double all = 0, issued = 0;
  for (const auto& l : launches) {
    all += number(l["cycles"]);
    if (l["ledger"].empty()) continue;
    double cycles = 0, useful = 0;
    for (const auto& [reason, n] : l["ledger"].front().items()) {
      cycles += number(n);
      if (reason == "issued" || reason == "busy") useful += number(n);
    }
    if (cycles > 0) issued += number(l["cycles"]) * useful / cycles;
  }
  return all > 0 ? issued / all : 0;
}

Limit limit_of(const Json& launches, const ComparedRun& run) {
  if (run.bound_share() >= kNearBound)
    return {Limit::Kind::kBound, run.bound_by, run.bound_share()};
  const Limit part = busiest_part(launches, run.time_ns);
  if (part.share >= kBusy) return part;
  if (run.issued_share >= kMostIssue)
    return {Limit::Kind::kIssue, "instructions", run.issued_share};
  return run.stall;
}

/// The error of the launch that takes longest.
std::optional<Trust> trust_of(const Json& launches) {
  const Json* longest = nullptr;
  for (const auto& l : launches)
    if (!longest || number(l["duration_ns"]) > number((*longest)["duration_ns"])) longest = &l;
  if (!longest || !(*longest)["expected_error"].is_object()) return std::nullopt;
  const Json& e = (*longest)["expected_error"];
  const auto holds = [&](const char* key) { return e[key].is_boolean() && e[key].get<bool>(); };
  Trust t;
  t.mean_pct = number(e["mean_abs_pct"]);
  t.worst_pct = number(e["worst_abs_pct"]);
  t.cases = static_cast<int>(number(e["cases"]));
  t.kind = e["kind"];
  t.same_kind = holds("kind_compared");
  t.applies = t.same_kind && holds("time_compared") && holds("configuration_compared") &&
              e["ops_never_compared"].empty();
  return t;
}

std::string check_of(const Json& launches) {
  std::string check;
  for (const auto& l : launches) {
    if (!l["check"].is_object()) continue;
    if (check.empty()) check = "right";
    for (const auto& [tensor, c] : l["check"].items())
      if (!c["right"].get<bool>()) check = kWrong;
  }
  return check;
}

}  // namespace

std::string to_text(const Limit& limit) {
  switch (limit.kind) {
    case Limit::Kind::kNone:
      return "-";
    case Limit::Kind::kBound:
      return fmt::format("{}: {:.0f} % of its bound", limit.what, 100 * limit.share);
    case Limit::Kind::kPart:
      return fmt::format("{}: {:.0f} % busy", limit.what, 100 * limit.share);
    case Limit::Kind::kIssue:
      return fmt::format("{}: {:.0f} % of cycles issue", limit.what, 100 * limit.share);
    case Limit::Kind::kStall:
      return fmt::format("{:.0f} % of cycles: {}", 100 * limit.share, limit.what);
  }
  return "";
}

const char* name(ComparedRun::Status status) {
  switch (status) {
    case ComparedRun::Status::kOk:
      return "ok";
    case ComparedRun::Status::kRefused:
      return "refused";
    case ComparedRun::Status::kFailed:
      return "failed";
  }
  return "";
}

ComparedRun compared_run(const Json& report) {
  const Json &launches = report["launches"], &total = report["total"];
  ComparedRun run;
  run.time_ns = number(total["duration_ns"]);
  run.flops = number(total["flops"]);
  run.energy_uj = figure(total["energy_uj"]);
  run.cost_usd = figure(total["cost_usd"]);
  run.wall_s = number(total["wall_s"]);
  Sums energy;
  for (const auto& l : launches) {
    run.hbm_bytes += number(l["hbm_gbs"]) * number(l["duration_ns"]);
    for (const auto& [component, uj] : l["energy"].items()) energy[component] += number(uj);
  }
  if (run.energy_uj && *run.energy_uj > 0)
    for (const auto& [component, uj] : energy) run.energy_shares[component] = uj / *run.energy_uj;
  add_bounds(launches, run);
  run.stall = worst_stall(launches);
  run.issued_share = issued_share(launches);
  run.limit = limit_of(launches, run);
  run.trust = trust_of(launches);
  run.check = check_of(launches);
  return run;
}

}  // namespace xpusim::run
