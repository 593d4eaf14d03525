#include "sim/run/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/run/tool.h"
#include "sim/run/trust.h"

namespace xpusim::run {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "xpusim.report/1";

Json figure(const Figure& f) { return f ? Json(*f) : Json(nullptr); }

/// A configuration node as JSON: each scalar with its value and where it was written.
Json config_json(const config::Node& node) {
  switch (node.kind) {
    case config::Node::Kind::kScalar:
      return Json{{"value", node.scalar}, {"origin", node.origin.str()}};
    case config::Node::Kind::kList: {
      Json list = Json::array();
      for (const auto& item : node.items) list.push_back(config_json(item));
      return list;
    }
    case config::Node::Kind::kMap:
      break;
  }
  Json map = Json::object();
  for (const auto& [key, value] : node.entries) map[key] = config_json(value);
  return map;
}

/// Puts in what nobody wrote: the parameters' defaults.
void add_defaults(Json& config, const std::vector<config::ParamDoc>& parameters) {
  for (const auto& p : parameters) {
    if (!p.origin.file.empty()) continue;
    Json* at = &config;
    for (std::size_t begin = 0; begin < p.path.size() && at->is_object();) {
      const std::size_t end = std::min(p.path.find('.', begin), p.path.size());
      at = &(*at)[p.path.substr(begin, end - begin)];
      begin = end + 1;
      if (at->is_null()) *at = Json::object();
    }
    *at = Json{{"value", p.value}, {"origin", "default"}};
  }
}

Json line_json(const SourcePosition& p) {
  if (p.file.empty() && p.line == 0) return nullptr;
  return fmt::format("{}:{}", p.file, p.line);
}

Json check_json(const Report& report) {
  if (!report.checked) return nullptr;
  Json map = Json::object();
  for (const auto& c : report.checks) {
    map[c.tensor] = {{"right", c.right},
                     {"worst_error", c.worst_error},
                     {"worst_ratio", c.worst_ratio},
                     {"worst_index", c.worst_index}};
    if (c.chip) map[c.tensor]["chip"] = *c.chip;
  }
  return map;
}

Json expected_error_json(const Report& report, const LaunchResult& l) {
  if (!error_of(report, l)) return nullptr;
  const auto& e = *error_of(report, l);
  const auto known = e.kinds.find(l.kind);
  const bool has_kind = known != e.kinds.end();
  const bool is_near = has_kind && outside_times(known->second, l.machine.duration_ns).empty();
  return {{"mean_abs_pct", has_kind ? known->second.mean_abs_pct : e.mean_abs_pct},
          {"worst_abs_pct", has_kind ? known->second.worst_abs_pct : e.worst_abs_pct},
          {"cases", has_kind ? known->second.cases : e.cases},
          {"source", e.source},
          {"kind", l.kind},
          {"kind_compared", e.kinds.empty() ? Json(nullptr) : Json(has_kind)},
          {"time_compared", has_kind ? Json(is_near) : Json(nullptr)},
          {"configuration_compared", e.changes.empty()},
          {"configuration_changes", e.changes},
          {"ops_never_compared", l.never_compared}};
}

Json network_json(const std::optional<NetworkUse>& use) {
  if (!use) return nullptr;
  Json j = {{"algorithm", use->algorithm}, {"reason", use->reason},     {"chips", use->chips},
            {"group", use->group},         {"bytes", use->bytes},       {"sent_bytes", use->sent},
            {"hops", use->hops},           {"bound_ns", use->bound_ns}, {"bound_by", use->bound}};
  j["links"] = Json::array();
  for (const LinkUse& link : use->links)
    j["links"].push_back({{"name", link.name},
                          {"bytes", link.bytes},
                          {"wire_bytes", link.wire_bytes},
                          {"busy", link.busy},
                          {"waited_ns", link.waited_ns},
                          {"energy_uj", link.microjoules}});
  return j;
}

Json chips_json(const std::vector<ChipEntry>& chips) {
  Json list = Json::array();
  for (const ChipEntry& c : chips)
    list.push_back({{"name", c.name},
                    {"cycles", c.cycles},
                    {"exposed_cycles", c.exposed_cycles},
                    {"hbm_bytes", c.hbm_bytes},
                    {"sent_bytes", c.sent_bytes},
                    {"received_bytes", c.received_bytes},
                    {"copies", c.copies},
                    {"signals", c.signals},
                    {"hops", c.hops}});
  return list;
}

Json launch_json(const Report& report, const LaunchResult& l) {
  const LaunchReport& r = l.machine;
  const double seconds = r.duration_ns * 1e-9;
  const double uj = total_energy(r);
  Json j;
  j["name"] = r.name;
  j["cycles"] = r.cycles;
  if (!l.label.empty()) j["label"] = l.label;
  j["start_ns"] = l.start_ns;
  j["duration_ns"] = r.duration_ns;
  j["clock_mhz"] = r.clock_mhz;
  j["clock_reason"] = r.clock_reason.empty() ? Json(nullptr) : Json(r.clock_reason);
  j["flops"] = r.flops;
  j["tflops"] = seconds > 0 ? Json(r.flops / seconds * 1e-12) : Json(nullptr);
  j["peak_tflops"] = peak_flops(r, report.peaks) * 1e-12;
  j["hbm_gbs"] =
      seconds > 0 ? Json((r.hbm_read_bytes + r.hbm_write_bytes) / seconds * 1e-9) : Json(nullptr);
  j["energy_uj"] = r.energy.empty() ? Json(nullptr) : Json(uj);
  j["power_w"] = r.energy.empty() || seconds <= 0 ? Json(nullptr) : Json(uj * 1e-6 / seconds);
  j["counters"] = Json::object();
  for (const auto& [name, value] : r.counters) j["counters"][name] = figure(value);
  j["ledger"] = Json::object();
  for (const auto& e : r.ledger) j["ledger"][e.unit][e.reason] = e.cycles;
  j["memory"] = Json::object();
  for (const auto& p : r.memory) j["memory"][p.part] = {{"mean", p.mean}, {"busiest", p.busiest}};
  if (r.network) j["network"] = network_json(r.network);
  if (!r.chips.empty()) {
    j["chips"] = chips_json(r.chips);
    j["simulated_chips"] = r.simulated_chips ? r.simulated_chips : r.chips.size();
  }
  j["lines"] = Json::array();
  for (const auto& e : r.lines)
    j["lines"].push_back({{"line", line_json(e.line)},
                          {"unit", e.unit},
                          {"reason", e.reason},
                          {"cycles", e.cycles},
                          {"executed", e.executed}});
  j["bottlenecks"] = Json::array();
  for (const auto& b : l.bottlenecks)
    j["bottlenecks"].push_back({{"unit", b.unit},
                                {"reason", b.reason},
                                {"meaning", b.meaning},
                                {"line", line_json(b.line)},
                                {"share", b.share},
                                {"line_share", b.line_share}});
  j["energy"] = Json::object();
  for (const auto& e : r.energy) j["energy"][e.component] = e.microjoules;
  j["bound"] = Json::object();
  for (const auto& [name, ns] : l.bound) j["bound"][name] = ns;
  j["expected_error"] = expected_error_json(report, l);
  j["check"] = check_json(report);
  j["notes"] = r.notes;
  j["host"] = {{"wall_s", l.host.wall_s},
               {"cycles_per_s", l.host.cycles_per_s},
               {"warp_inst_per_s", l.host.instructions_per_s},
               {"peak_rss_mb", l.host.peak_rss_mb}};
  return j;
}

/// A device or a pipe (/dev/null, /dev/stdout): written as it is, never replaced by a file.
bool is_device(const std::string& path) {
  std::error_code ec;
  return fs::exists(path, ec) && !fs::is_regular_file(path, ec);
}

bool is_useful(const std::string& reason) { return reason == "issued" || reason == "busy"; }

}  // namespace

double elapsed_ns(const Report& report) {
  double end = 0;
  for (const auto& l : report.launches) end = std::max(end, l.start_ns + l.machine.duration_ns);
  return end;
}

Communication communication(const Report& report) {
  Communication c;
  double kernels = 0;  // one at a time, and something always runs
  for (const auto& l : report.launches)
    (is_collective(l.machine) ? c.all_ns : kernels) += l.machine.duration_ns;
  if (c.all_ns > 0) c.exposed_ns = elapsed_ns(report) - kernels;
  return c;
}

bool is_collective(const LaunchReport& report) { return report.network && report.chips.empty(); }

const std::optional<ExpectedError>& error_of(const Report& report, const LaunchResult& launch) {
  return is_collective(launch.machine) ? report.collective_error : report.kernel_error;
}

double total_energy(const LaunchReport& r) {
  double uj = 0;
  for (const auto& e : r.energy) uj += e.microjoules;
  return uj;
}

double peak_flops(const LaunchReport& report, const Peaks& peaks) {
  return report.tensor_flops > 0 ? peaks.tensor_flops_per_s : peaks.flops_per_s;
}

std::vector<Bottleneck> find_bottlenecks(const LaunchReport& report, std::size_t most) {
  std::map<std::string, double> total;
  for (const auto& e : report.ledger) total[e.unit] += static_cast<double>(e.cycles);
  std::vector<Bottleneck> list;
  for (const auto& e : report.ledger) {
    if (is_useful(e.reason) || e.cycles == 0) continue;
    Bottleneck b{e.unit, e.reason, e.meaning, {}, static_cast<double>(e.cycles) / total[e.unit], 0};
    std::uint64_t most_cycles = 0;
    for (const auto& l : report.lines) {
      if (l.unit != e.unit || l.reason != e.reason || l.cycles <= most_cycles) continue;
      most_cycles = l.cycles;
      b.line = l.line;
    }
    b.line_share = static_cast<double>(most_cycles) / total[e.unit];
    list.push_back(std::move(b));
  }
  // The first unit of the ledger is the one that the machine's work is issued from: it explains
  // time.
  const std::string primary = report.ledger.empty() ? "" : report.ledger.front().unit;
  std::stable_sort(list.begin(), list.end(), [&](const Bottleneck& a, const Bottleneck& b) {
    if ((a.unit == primary) != (b.unit == primary)) return a.unit == primary;
    return a.share > b.share;
  });
  if (list.size() > most) list.resize(most);
  return list;
}

Json to_json(const Report& report) {
  Json j;
  j["schema"] = kSchema;
  j["tool"] = kTool;
  j["workload"] = report.workload;
  j["machine"] = report.machine;
  j["peaks"] = {{"flops_per_s", report.peaks.flops_per_s},
                {"tensor_flops_per_s", report.peaks.tensor_flops_per_s},
                {"hbm_bytes_per_s", report.peaks.hbm_bytes_per_s}};
  j["config"] = config_json(report.config);
  add_defaults(j["config"], report.parameters);
  j["launches"] = Json::array();
  const double ns = elapsed_ns(report);
  double cycles = 0, flops = 0, uj = 0, wall = 0;
  bool has_energy = !report.launches.empty();
  for (const auto& l : report.launches) {
    j["launches"].push_back(launch_json(report, l));
    cycles += static_cast<double>(l.machine.cycles);
    flops += l.machine.flops;
    uj += total_energy(l.machine);
    wall += l.host.wall_s;
    has_energy &= !l.machine.energy.empty();
  }
  Json total = {{"cycles", cycles}, {"duration_ns", ns}, {"flops", flops}};
  total["energy_uj"] = has_energy ? Json(uj) : Json(nullptr);
  total["cost_usd"] = report.peaks.dollars_per_hour
                          ? Json(*report.peaks.dollars_per_hour / 3600 * ns * 1e-9)
                          : Json(nullptr);
  if (const Communication c = communication(report); c.all_ns > 0)
    total["communication"] = {{"duration_ns", c.all_ns}, {"exposed_ns", c.exposed_ns}};
  total["wall_s"] = wall;
  j["total"] = std::move(total);
  return j;
}

Expected<void> check_writable(const std::string& path) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return fail({path, 0, 0}, "cannot write: this is a folder");
  constexpr std::array<std::string_view, 5> kRead{".yaml", ".yml", ".ttir", ".ttgir", ".mlir"};
  const std::string kind = fs::path(path).extension().string();
  if (fs::exists(path, ec) && std::find(kRead.begin(), kRead.end(), kind) != kRead.end())
    return fail({path, 0, 0},
                fmt::format("cannot write: this is a {} file, which runs read", kind));
  const fs::path folder = fs::path(path).parent_path();
  const std::string in = folder.empty() ? "." : folder.string();
  if (!fs::is_directory(in, ec))
    return fail({path, 0, 0}, fmt::format("cannot write: there is no folder '{}'", in));
  if (::access(in.c_str(), W_OK) != 0 && !is_device(path))
    return fail({path, 0, 0}, fmt::format("cannot write in the folder '{}'", in));
  return {};
}

Expected<void> write_atomically(const std::string& path, const std::string& content) {
  const bool direct = is_device(path);
  const std::string temporary = direct ? path : path + ".part";
  {
    std::ofstream out(temporary, std::ios::binary);
    out << content;
    out.flush();
    if (!out) {
      if (!direct) std::remove(temporary.c_str());
      return fail({path, 0, 0}, "cannot write this file");
    }
  }
  if (!direct && std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return fail({path, 0, 0}, "cannot write this file");
  }
  return {};
}

}  // namespace xpusim::run
