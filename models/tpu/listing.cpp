#include "models/tpu/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace xpusim::tpu {
namespace {

using Out = std::back_insert_iterator<std::string>;
constexpr std::string_view kNoLine = "(grid and windows)";

/// A source line's part of the program.
struct LineUse {
  std::uint64_t bundles = 0;
  std::array<std::uint64_t, kSlots> instructions{};
};

std::string name_of(const SourcePosition& p) {
  if (p.line == 0) return std::string(kNoLine);
  const std::size_t slash = p.file.rfind('/');
  return fmt::format("{}:{}:{}", slash == std::string::npos ? p.file : p.file.substr(slash + 1),
                     p.line, p.column);
}

std::vector<LineUse> uses_of(const Program& program) {
  std::vector<LineUse> uses(program.lines.size());
  for (const Bundle& b : program.bundles) {
    LineUse& use = uses[b.line];
    ++use.bundles;
    for (std::uint32_t k = 0; k < b.count; ++k) {
      ++use.instructions[static_cast<std::size_t>(info(program.code[b.first + k].op).slot)];
    }
  }
  return uses;
}

/// "mrb_result_wait 512": what a line waited for most.
std::string most_waited(const Activity& activity, std::uint32_t line) {
  Reason most = Reason::kIssued;
  std::uint64_t cycles = 0;
  for (std::size_t r = 0; r < kReasons; ++r) {
    const auto reason = static_cast<Reason>(r);
    if (reason == Reason::kIssued || activity.cycles(line, reason) <= cycles) continue;
    most = reason;
    cycles = activity.cycles(line, reason);
  }
  return cycles == 0 ? "" : fmt::format("{} {}", name(most), cycles);
}

void list_lines(const Program& program, const SlotParams& slots, const Activity& activity,
                std::size_t width, Out out) {
  const std::vector<LineUse> uses = uses_of(program);
  fmt::format_to(out, "{:<{}} {:>8} {:>11} {:>11}", "line", width, "bundles", "issued", "cycles");
  for (std::size_t s = 0; s < kSlots; ++s) {
    const auto slot = static_cast<Slot>(s);
    fmt::format_to(out, " {:>12}", fmt::format("{} x{}", name(slot), slot_count(slots, slot)));
  }
  fmt::format_to(out, "  waited most for\n");
  for (std::uint32_t line = 0; line < uses.size(); ++line) {
    if (uses[line].bundles == 0) continue;
    std::uint64_t cycles = 0;
    for (std::size_t r = 0; r < kReasons; ++r) {
      cycles += activity.cycles(line, static_cast<Reason>(r));
    }
    fmt::format_to(out, "{:<{}} {:>8} {:>11} {:>11}", name_of(program.lines[line]), width,
                   uses[line].bundles, activity.bundles(line), cycles);
    for (std::size_t s = 0; s < kSlots; ++s) {
      const double room = static_cast<double>(uses[line].bundles) *
                          static_cast<double>(slot_count(slots, static_cast<Slot>(s)));
      fmt::format_to(out, " {:>10.1f} %",
                     100 * static_cast<double>(uses[line].instructions[s]) / room);
    }
    fmt::format_to(out, "  {}\n", most_waited(activity, line));
  }
}

}  // namespace

std::string list_bundles(const Program& program, const SlotParams& slots, const Activity& activity,
                         bool all) {
  std::string text;
  Out out(text);
  std::size_t width = 4;
  for (const SourcePosition& p : program.lines) width = std::max(width, name_of(p).size());
  fmt::format_to(out, "{}: {} bundles\n\n", program.name, program.bundles.size());
  list_lines(program, slots, activity, width, out);
  fmt::format_to(out, "\nbuffers\n");
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    fmt::format_to(out, "{:>4}  {} {} x {} bytes  {}\n", b, name(buffer.kind), buffer.copies,
                   buffer.bytes, buffer.name);
  }
  if (!all) return text;
  fmt::format_to(out, "\nbundles\n");
  for (std::size_t b = 0; b < program.bundles.size(); ++b) {
    const Bundle& bundle = program.bundles[b];
    fmt::format_to(out, "{:>6}  {:<{}}  ", b, name_of(program.lines[bundle.line]), width);
    for (std::uint32_t k = 0; k < bundle.count; ++k) {
      fmt::format_to(out, "{}{}", k ? "; " : "", print(program.code[bundle.first + k]));
    }
    text += '\n';
  }
  return text;
}

}  // namespace xpusim::tpu
