#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sim/run/tool.h"
#include "tools/viewer/page.h"

namespace xpusim::viewer {
namespace {
namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

constexpr int kMostLines = 2000;  // of a file's text in the page

std::optional<Lines> read_lines(const fs::path& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  Lines lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

bool defines(const Lines& lines, const std::string& kernel) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find("def " + kernel + "(") != std::string::npos;
  });
}

/// The source file that a kernel names, as it is named or in a folder around the kernel's own.
std::optional<Lines> find_source(const std::string& file, const fs::path& kernel_file,
                                 const std::string& kernel) {
  constexpr int kFoldersUp = 3;
  std::error_code ec;
  std::vector<fs::path> places;
  if (fs::path(file).is_absolute()) places.emplace_back(file);
  fs::path folder = fs::absolute(kernel_file, ec).parent_path();
  for (int up = 0; up < kFoldersUp; ++up, folder = folder.parent_path())
    places.push_back(folder / fs::path(file).filename());
  for (const auto& place : places) {
    if (!fs::is_regular_file(place, ec)) continue;
    auto lines = read_lines(place);
    if (lines && defines(*lines, kernel)) return lines;
  }
  return std::nullopt;
}

/// {"12": "text", ...} of these lines that there are.
Json text_of(const Lines& lines, const std::set<int>& wanted) {
  Json text = Json::object();
  for (const int n : wanted) {
    if (n >= 1 && static_cast<std::size_t>(n) <= lines.size() &&
        text.size() < static_cast<std::size_t>(kMostLines))
      text[std::to_string(n)] = lines[static_cast<std::size_t>(n) - 1];
  }
  return text;
}

/// The lines named, and those between the first and the last of them.
std::set<int> filled(const std::set<int>& named) {
  std::set<int> all = named;
  if (named.empty() || *named.rbegin() - *named.begin() > kMostLines) return all;
  for (int n = *named.begin(); n < *named.rbegin(); ++n) all.insert(n);
  return all;
}

Json sources(const Json& recording) {
  const std::string kernel_file = recording.value("kernel_file", "");
  const std::string kernel = recording.value("kernel", "");
  std::map<std::string, std::set<int>> named;
  for (const auto& line : recording["lines"]) {
    const std::string file = line["file"];
    if (!file.empty()) named[file].insert(line["line"].get<int>());
  }
  Json out = Json::object();
  for (const auto& [file, lines] : named) {
    const auto text = fs::path(file) == fs::path(kernel_file)
                          ? read_lines(kernel_file)
                          : find_source(file, kernel_file, kernel);
    if (text) out[file] = text_of(*text, filled(lines));
  }
  return out;
}

Json kernel_text(const Json& recording) {
  std::set<int> named;
  for (const auto& line : recording["lines"]) {
    for (const auto& n : line["ir"]) named.insert(n.get<int>());
  }
  const auto lines = read_lines(recording.value("kernel_file", ""));
  return lines ? text_of(*lines, named) : Json::object();
}

}  // namespace

Json view_data(const run::Report& report, std::size_t launch, std::size_t launches) {
  const run::LaunchReport& machine = report.launches[launch].machine;
  Json all = run::to_json(report);
  Json recording = Json::parse(machine.recording);
  Json data;
  data["schema"] = "xpusim.view/1";
  data["tool"] = run::kTool;
  data["workload"] = report.workload;
  data["machine"] = report.machine;
  data["launch"] = {{"number", launch + 1}, {"of", launches}};
  data["report"] = std::move(all["launches"][launch]);
  data["report"].erase("host");  // the same run gives the same page
  Json meanings = Json::object();
  for (const auto& e : machine.ledger) meanings[e.reason] = e.meaning;
  data["meanings"] = std::move(meanings);
  data["sources"] = sources(recording);
  data["kernel_text"] = kernel_text(recording);
  recording["kernel_file"] = fs::path(recording.value("kernel_file", "")).filename().string();
  data["recording"] = std::move(recording);
  return data;
}

}  // namespace xpusim::viewer
