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

std::vector<std::string> never_compared(const kernel::Module& module, const ExpectedError& error) {
  std::vector<std::string> out;
  if (error.ops.empty()) return out;
  const auto kinds = kinds_of_ops(module);
  std::set_difference(kinds.begin(), kinds.end(), error.ops.begin(), error.ops.end(),
                      std::back_inserter(out));
  return out;
}

}  // namespace xpusim::run
