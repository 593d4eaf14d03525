#include "sim/run/constexprs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

namespace xpusim::run {
namespace {
namespace fs = std::filesystem;

constexpr int kFoldersUp = 2;           // a source lies at most so far above a kernel's text
constexpr std::size_t kMostLines = 40;  // of a parameter list

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view leading_name(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_name(text[n])) ++n;
  return text.substr(0, n);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
    text.remove_prefix(1);
  return text;
}

/// The lines of a kernel's Python source, if it is found.
std::vector<std::string> source_lines(const kernel::Module& module, const std::string& file) {
  std::vector<std::string> lines;
  if (file.empty()) return lines;
  std::error_code ec;
  fs::path folder = fs::absolute(module.file, ec).parent_path();
  for (int up = 0; up <= kFoldersUp; ++up, folder = folder.parent_path()) {
    const fs::path path = folder / file;  // an absolute `file` stays as it is
    if (!fs::is_regular_file(path, ec)) continue;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
    break;
  }
  return lines;
}

/// The parameters of the function whose `def` is at or just below line `at` (from 1); none if
/// there is no such function.
std::optional<std::vector<std::string>> source_parameters(const std::vector<std::string>& lines,
                                                          int at, const std::string& function) {
  const std::string head = "def " + function + "(";
  for (std::size_t i = static_cast<std::size_t>(std::max(at, 1)) - 1, n = 0;
       i < lines.size() && n < kMostLines; ++i, ++n) {
    const std::size_t found = lines[i].find(head);
    if (found == std::string::npos) continue;
    std::string list = lines[i].substr(found + head.size());
    for (std::size_t k = i + 1; k < lines.size() && k < i + kMostLines; ++k) list += lines[k] + " ";
    std::vector<std::string> names;
    int depth = 0;
    bool fresh = true;  // at the start of a parameter
    for (std::size_t c = 0; c < list.size() && depth >= 0; ++c) {
      const char ch = list[c];
      if (ch == '(' || ch == '[' || ch == '{') ++depth;
      if (ch == ')' || ch == ']' || ch == '}') --depth;
      if (ch == ',' && depth == 0) fresh = true;
      if (!fresh || !is_name(ch)) continue;
      names.emplace_back(leading_name(std::string_view(list).substr(c)));
      fresh = false;
    }
    return names;
  }
  return std::nullopt;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_name(text[at - 1])) && (end == text.size() || !is_name(text[end])))
      return true;
  }
  return false;
}

bool grid_uses(const LaunchSpec& launch, const std::string& name) {
  return std::any_of(launch.grid.begin(), launch.grid.end(),
                     [&](const std::string& g) { return has_word(g, name); });
}

class Checker {
 public:
  Checker(const LaunchSpec& launch, const kernel::Module& module, Diagnostics& problems)
      : launch_(launch),
        function_(*module.kernel()),
        where_(function_.op->line()),
        lines_(source_lines(module, where_.file)),
        problems_(problems) {}

  void names(const std::set<std::string>& variants) {
    const auto known = source_parameters(lines_, where_.line, function_.name);
    if (!known) return;
    for (const auto& [name, value] : launch_.constexprs) {
      if (std::find(known->begin(), known->end(), name) != known->end()) continue;
      if (variants.count(name) > 0 || grid_uses(launch_, name)) continue;
      problems_.error(launch_.constexpr_place(name),
                      fmt::format("kernel '{}' ({}) has no parameter '{}', and the grid does not "
                                  "use it{}",
                                  function_.name, where_.str(), name, did_you_mean(name, *known)));
    }
  }

  void ranges(const kernel::Region& region) {
    for (const auto& block : region.blocks) {
      for (const auto& op : block->ops) {
        if (op->name() == "tt.make_range") range(*op);
        for (const auto& inner : op->regions) ranges(*inner);
      }
    }
  }

 private:
  void range(const kernel::Op& op) {
    const SourcePosition at = op.line();
    if (at.file != where_.file || at.line < 1 || static_cast<std::size_t>(at.line) > lines_.size())
      return;
    const std::string_view line = lines_[static_cast<std::size_t>(at.line) - 1];
    constexpr std::string_view kHead = "arange(0,";
    const std::size_t found = line.find(kHead);
    if (found == std::string_view::npos || line.find(kHead, found + 1) != std::string_view::npos)
      return;  // which of several ranges this op is cannot be told
    const std::string_view rest = trimmed(line.substr(found + kHead.size()));
    const std::string name(leading_name(rest));
    if (!trimmed(rest.substr(name.size())).starts_with(')')) return;
    const auto given = launch_.constexprs.find(name);
    if (given == launch_.constexprs.end()) return;
    const std::int64_t compiled = op.int_attr("end") - op.int_attr("start");
    std::int64_t value = 0;
    const std::string& text = given->second;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value == compiled)
      return;
    if (!said_.insert(name).second) return;
    problems_.error(launch_.constexpr_place(name),
                    fmt::format("{} is {} here, but this kernel was compiled for {} ({}); its text "
                                "does not change with the launch",
                                name, value, compiled, at.str()));
  }

  const LaunchSpec& launch_;
  const kernel::Function& function_;
  SourcePosition where_;  ///< of the function, in its source
  std::vector<std::string> lines_;
  Diagnostics& problems_;
  std::set<std::string> said_;
};

}  // namespace

void check_constexprs(const LaunchSpec& launch, const kernel::Module& module,
                      const std::set<std::string>& variants, Diagnostics& problems) {
  const bool triton = module.form == kernel::Form::kTtir || module.form == kernel::Form::kTtgir;
  if (!triton || launch.constexprs.empty() || module.kernel() == nullptr) return;
  Checker checker(launch, module, problems);
  checker.names(variants);
  for (const auto& region : module.kernel()->op->regions) checker.ranges(*region);
}

}  // namespace xpusim::run
