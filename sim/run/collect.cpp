#include "sim/run/collect.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/run/results.h"

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

/// RFC 4180: quoted where it holds a comma, a quote or a line's end; quotes are doubled.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i ? "," : "") + csv_field(fields[i]);
  return line + "\r\n";
}

std::vector<std::string> header(const SweepResults& results) {
  std::vector<std::string> names = {"workload", "machine"};
  names.insert(names.end(), results.parameters.begin(), results.parameters.end());
  names.push_back("status");
  for (const auto& c : figure_columns()) names.push_back(c.name);
  for (std::size_t i = 1; i <= kRowStalls; ++i) {
    names.push_back(fmt::format("stall_{}", i));
    names.push_back(fmt::format("stall_{}_share", i));
  }
  names.push_back("check");
  names.push_back("reason");
  return names;
}

std::vector<std::string> fields(const SweepRow& row) {
  const PointOutcome& o = row.outcome;
  std::vector<std::string> out = {row.workload, row.machine};
  out.insert(out.end(), row.values.begin(), row.values.end());
  out.push_back(name(o.status));
  for (const auto& c : figure_columns()) {
    const Figure& f = o.figures.*c.member;
    out.push_back(f ? fmt::format("{}", *f) : "");
  }
  for (std::size_t i = 0; i < kRowStalls; ++i) {
    const bool there = i < o.stalls.size();
    out.push_back(there ? o.stalls[i].reason : "");
    out.push_back(there ? fmt::format("{}", o.stalls[i].share) : "");
  }
  out.push_back(o.check);
  out.push_back(o.reason);
  return out;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json row_json(const SweepResults& results, const SweepRow& row) {
  const PointOutcome& o = row.outcome;
  Json j = {{"id", row.id}, {"workload", row.workload}, {"machine", row.machine}};
  j["parameters"] = Json::object();
  for (std::size_t i = 0; i < row.values.size(); ++i)
    j["parameters"][results.parameters[i]] = row.values[i];
  j["status"] = name(o.status);
  j["reason"] = text_or_null(o.reason);
  for (const auto& c : figure_columns()) {
    const Figure& f = o.figures.*c.member;
    j[c.name] = f ? Json(*f) : Json(nullptr);
  }
  j["stalls"] = Json::array();
  for (const auto& s : o.stalls)
    j["stalls"].push_back({{"unit", s.unit}, {"reason", s.reason}, {"share", s.share}});
  j["check"] = text_or_null(o.check);
  return j;
}

/// The text of a row for people: parameters, then a few figures with their units.
std::vector<std::string> cells(const SweepRow& row) {
  const PointOutcome& o = row.outcome;
  const auto value = [](const Figure& f, double scale, const char* unit) {
    return f ? si(*f * scale, unit) : std::string("-");
  };
  std::vector<std::string> out = {row.workload, row.machine};
  out.insert(out.end(), row.values.begin(), row.values.end());
  if (o.status != PointStatus::kOk) {
    out.push_back(o.reason.empty() ? name(o.status)
                                   : fmt::format("{}: {}", name(o.status), o.reason));
    return out;
  }
  out.push_back(value(o.figures.time_ns, 1e-9, "s"));
  out.push_back(value(o.figures.hbm_gbs, 1e9, "B/s"));
  out.push_back(value(o.figures.tflops, 1e12, "FLOP/s"));
  out.push_back(value(o.figures.energy_uj, 1e-6, "J"));
  out.push_back(value(o.figures.power_w, 1, "W"));
  out.push_back(o.figures.bound_ratio ? fmt::format("{:.2f}", *o.figures.bound_ratio) : "-");
  out.push_back(o.check.empty() ? "-" : o.check);
  out.push_back(o.stalls.empty()
                    ? "-"
                    : fmt::format("{} {:.0f} %", o.stalls[0].reason, 100 * o.stalls[0].share));
  return out;
}

}  // namespace

std::string to_csv(const SweepResults& results) {
  std::string out = csv_line(header(results));
  for (const auto& row : results.rows) out += csv_line(fields(row));
  return out;
}

Json to_json(const SweepResults& results) {
  Json j = {{"schema", kResultsSchema}, {"tool", results.tool}, {"name", results.name}};
  j["parameters"] = results.parameters;
  j["rows"] = Json::array();
  j["host"] = Json::object();
  for (const auto& row : results.rows) {
    j["rows"].push_back(row_json(results, row));
    j["host"][row.id] = {{"wall_s", row.outcome.wall_s}, {"peak_rss_mb", row.outcome.peak_rss_mb}};
  }
  return j;
}

std::string to_text(const SweepResults& results) {
  std::vector<std::vector<std::string>> table(1, {"workload", "machine"});
  table[0].insert(table[0].end(), results.parameters.begin(), results.parameters.end());
  for (const char* name :
       {"time", "HBM", "compute", "energy", "power", "x bound", "check", "top stall"})
    table[0].push_back(name);
  for (const auto& row : results.rows) table.push_back(cells(row));
  std::vector<std::size_t> widths(table[0].size());
  for (const auto& line : table)
    for (std::size_t i = 0; i + 1 < line.size(); ++i)  // the last cell of a line needs no width
      widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto& line : table) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i)
      out += fmt::format("{:<{}}  ", line[i], widths[i]);
    out += line.back() + "\n";
  }
  return out;
}

}  // namespace xpusim::run
