#include "models/gpu/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace xpusim::gpu {
namespace {

using Out = std::back_insert_iterator<std::string>;
constexpr std::string_view kNoLine = "(no line)";
constexpr std::size_t kShownMnemonics = 4;

std::string name_of(const SourcePosition& p) {
  if (p.line == 0) return std::string(kNoLine);
  const std::size_t slash = p.file.rfind('/');
  return fmt::format("{}:{}:{}", slash == std::string::npos ? p.file : p.file.substr(slash + 1),
                     p.line, p.column);
}

/// A source line's part of the program and of its run.
struct LineUse {
  std::string name;
  std::uint64_t code = 0, executed = 0, cycles = 0;
  std::map<std::string, std::uint64_t> mnemonics;  ///< without their suffixes
  std::string waited;                              ///< what its warps waited for most ...
  std::uint64_t longest = 0;                       ///< ... and for how many cycles
};

/// By file, line and column.
using Uses = std::map<std::tuple<std::string, int, int>, LineUse>;

LineUse& use_of(Uses& uses, const SourcePosition& p) {
  LineUse& use = uses[{p.file, static_cast<int>(p.line), static_cast<int>(p.column)}];
  if (use.name.empty()) use.name = name_of(p);
  return use;
}

Uses uses_of(const Program& program, const run::LaunchReport& report) {
  Uses uses;
  for (const Instruction& i : program.code) {
    const bool known = i.line < program.lines.size();
    LineUse& use = use_of(uses, known ? program.lines[i.line] : SourcePosition{});
    ++use.code;
    ++use.mnemonics[i.mnemonic.substr(0, i.mnemonic.find('.'))];
  }
  for (const run::LineEntry& e : report.lines) {
    LineUse& use = use_of(uses, e.line);
    use.cycles += e.cycles;
    use.executed += e.executed;
    if (e.executed > 0 || e.cycles <= use.longest) continue;
    use.longest = e.cycles;
    use.waited = e.reason;
  }
  return uses;
}

/// "FFMA 64, LDS 16": the most frequent first.
std::string most_frequent(const LineUse& use) {
  std::vector<std::pair<std::string, std::uint64_t>> all(use.mnemonics.begin(),
                                                         use.mnemonics.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t k = 0; k < std::min(kShownMnemonics, all.size()); ++k) {
    text += fmt::format("{}{} {}", k ? ", " : "", all[k].first, all[k].second);
  }
  return all.size() > kShownMnemonics ? text + ", ..." : text;
}

void list_lines(const Uses& uses, std::size_t width, Out out) {
  fmt::format_to(out, "{:<{}} {:>8} {:>11} {:>12}  {:<40}  waited most for\n", "line", width,
                 "code", "executed", "cycles", "instructions");
  for (const auto& [place, use] : uses) {
    fmt::format_to(out, "{:<{}} {:>8} {:>11} {:>12}  {:<40}  ", use.name, width, use.code,
                   use.executed, use.cycles, most_frequent(use));
    if (use.longest > 0) fmt::format_to(out, "{} {}", use.waited, use.longest);
    fmt::format_to(out, "\n");
  }
}

}  // namespace

std::string list_program(const Program& program, const run::LaunchReport& report, bool all) {
  std::string text;
  Out out(text);
  const Uses uses = uses_of(program, report);
  std::size_t width = 4;
  for (const auto& [place, use] : uses) width = std::max(width, use.name.size());
  fmt::format_to(out,
                 "{}: {} instructions, {} warps a block, {} registers a thread, {} bytes of shared "
                 "memory\n\n",
                 program.name, program.code.size(), program.num_warps, program.registers_per_thread,
                 program.shared_bytes);
  list_lines(uses, width, out);
  if (!all) return text;
  fmt::format_to(out, "\ninstructions\n");
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    const Instruction& i = program.code[n];
    const bool known = i.line < program.lines.size();
    fmt::format_to(out, "{:>6}  {:<{}}  {}\n", n,
                   name_of(known ? program.lines[i.line] : SourcePosition{}), width, brief(i));
  }
  return text;
}

}  // namespace xpusim::gpu
