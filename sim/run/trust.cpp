#include "sim/run/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/kernel/op_info.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::json;

constexpr double kFarTime = 4;  // so much longer or shorter than all compared is far outside

Json read_json(const std::string& path) {
  std::ifstream in(path);
  return in ? Json::parse(in, nullptr, false) : Json();
}

/// The map at a key, or an empty one.
const Json& map_at(const Json& j, const std::string& key) {
  static const Json none = Json::object();
  const auto found = j.is_object() ? j.find(key) : j.end();
  return found != j.end() && found->is_object() ? *found : none;
}

/// The parameters of the machine that is shipped under this name.
ParameterValues shipped_parameters(const std::string& name) {
  const auto machine = load_machine(name, {});
  return machine ? values_of(machine->parameters) : ParameterValues();
}

void collect(const kernel::Region& region, std::set<std::string>& kinds) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      const bool ends = (op->info->effects & kernel::kTerminator) != 0;
      if (!ends && op->name() != "arith.constant") kinds.emplace(op->name());
      for (const auto& inner : op->regions) collect(*inner, kinds);
    }
  }
}

}  // namespace

ParameterValues values_of(const std::vector<config::ParamDoc>& parameters) {
  ParameterValues values;
  for (const auto& p : parameters)
    if (!p.path.starts_with("cost.")) values[p.path] = p.value;
  return values;
}

std::vector<std::string> changes(const std::vector<config::ParamDoc>& parameters,
                                 const ParameterValues& compared) {
  std::vector<std::string> out;
  for (const auto& p : parameters) {
    if (p.path.starts_with("cost.")) continue;
    const auto known = compared.find(p.path);
    const std::string& was = known == compared.end() ? p.default_value : known->second;
    if (p.value != was) out.push_back(fmt::format("{} is {}, not {}", p.path, p.value, was));
  }
  return out;
}

std::set<std::string> kinds_of_ops(const kernel::Module& module) {
  std::set<std::string> kinds;
  for (const auto& function : module.functions) {
    for (const auto& region : function.op->regions) collect(*region, kinds);
  }
  return kinds;
}

std::string kind_of_kernel(const std::set<std::string>& ops) {
  static const std::set<std::string, std::less<>> kProducts = {
      "dot", "dot_scaled", "warp_group_dot", "matmul", "contract", "dot_general"};
  static const std::set<std::string, std::less<>> kReductions = {
      "reduce", "scan", "histogram", "multi_reduction", "all_reduce", "reduce_index", "sort"};
  const auto any_of = [&](const auto& fits) { return std::any_of(ops.begin(), ops.end(), fits); };
  const auto among = [](const auto& names) {
    return [&names](const std::string& op) { return names.count(op.substr(op.find('.') + 1)) > 0; };
  };
  const auto is_atomic = [](const std::string& op) {
    const kernel::OpInfo* info = kernel::find_op(op);
    return info && info->has(kernel::kAtomic);
  };
  if (any_of(among(kProducts))) return "matrix products";
  if (any_of(is_atomic)) return "atomics";
  return any_of(among(kReductions)) ? "reductions" : "element-wise";
}

std::optional<ExpectedError> expected_error(const LoadedMachine& machine) {
  const std::string& name = machine.machine->name();
  const std::string relative = "traces/correlation/" + name + ".json";
  const Json j = read_json((std::filesystem::path(home_directory()) / relative).string());
  const Json& s = map_at(j, "summary");
  if (s.empty()) return std::nullopt;
  try {
    ExpectedError e;
    e.machine = name;
    e.source = relative;
    e.mean_abs_pct = s.at("mean_abs_error_pct");
    e.worst_abs_pct = s.at("worst_abs_error_pct");
    e.cases = s.at("counted");
    for (const auto& [kind, k] : map_at(s, "by_kind").items())
      e.kinds[kind] = {k.at("mean_abs_error_pct"), k.at("worst_abs_error_pct"), k.at("cases"),
                       k.at("shortest_ns"), k.at("longest_ns")};
    const Json& compared = map_at(map_at(j, "compared"), name);
    e.ops = compared.value("ops", std::set<std::string>());
    e.changes = changes(machine.parameters, compared.contains("parameters")
                                                ? compared.at("parameters").get<ParameterValues>()
                                                : shipped_parameters(name));
    return e;
  } catch (const Json::exception&) {
    return std::nullopt;  // not what correlate writes, or nothing was measured
  }
}

std::optional<ExpectedError> expected_kernel_error(const LoadedMachine& machine) {
  const LoadedMachine* chip = machine.machine->chip();
  return expected_error(chip ? *chip : machine);
}

std::string error_text(const ExpectedError& e, const std::string& kind) {
  const auto k = e.kinds.find(kind);
  const bool known = k != e.kinds.end();
  return fmt::format(
      "{:.1f} % off on the mean, {:.0f} % at worst, over {} measured launches{} ({})",
      known ? k->second.mean_abs_pct : e.mean_abs_pct,
      known ? k->second.worst_abs_pct : e.worst_abs_pct, known ? k->second.cases : e.cases,
      known             ? fmt::format(" of its kind, {}", kind)
      : e.kinds.empty() ? ""
                        : fmt::format(", none of its kind, {}", kind),
      e.source);
}

std::string outside_times(const KindError& kind, double ns) {
  if (ns >= kind.shortest_ns / kFarTime && ns <= kind.longest_ns * kFarTime) return "";
  return fmt::format("its time lies far outside those compared, {} to {}",
                     si(kind.shortest_ns * 1e-9, "s"), si(kind.longest_ns * 1e-9, "s"));
}

std::vector<std::string> never_compared(const kernel::Module& module, const ExpectedError& error) {
  std::vector<std::string> out;
  if (error.ops.empty()) return out;
  const auto kinds = kinds_of_ops(module);
  std::set_difference(kinds.begin(), kinds.end(), error.ops.begin(), error.ops.end(),
                      std::back_inserter(out));
  return out;
}

}  // namespace xpusim::run
