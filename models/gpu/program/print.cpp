#include <fmt/format.h>

#include "models/gpu/program/program.h"

namespace xpusim::gpu {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// The control word as disassemblers write it: waits, read scoreboard, write scoreboard, stall.
std::string control(const Instruction& i) {
  std::string text = "[B";
  for (int s = 0; s < kScoreboards; ++s) {
    text += ((i.wait_mask >> s) & 1) != 0 ? static_cast<char>('0' + s) : '-';
  }
  text += ":R";
  text += i.reads < kScoreboards ? static_cast<char>('0' + i.reads) : '-';
  text += ":W";
  text += i.sets < kScoreboards ? static_cast<char>('0' + i.sets) : '-';
  return text + fmt::format(":S{:02}]", i.stall);
}

template <class General, class Uniform, class Predicate>
std::string operands(const General& general, const Uniform& uniform, const Predicate& predicate) {
  std::string text;
  auto add = [&](const char* file, unsigned number) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", file, number);
  };
  for (auto r : general) add("R", r);
  for (auto r : uniform) add("UR", r);
  for (auto r : predicate) add("P", r);
  return text;
}

std::string mma(const MmaShape& s) {
  return fmt::format(" m={} n={} k={} bits={}{}{}", s.m, s.n, s.k, s.bits,
                     s.a_in_shared ? " a_in_shared=1" : "", s.commits ? " commits=1" : "");
}

std::string instruction(const Instruction& i) {
  std::string text = control(i);
  if (i.guard != kNoGuard) text += fmt::format(" @{}P{}", i.guard_negated ? "!" : "", i.guard);
  text += fmt::format(" {} {}", name(i.op), i.mnemonic);
  const std::string to = operands(i.dst, i.udst, i.pdst);
  const std::string from = operands(i.src, i.usrc, i.psrc);
  if (!to.empty()) text += " " + to;
  if (!from.empty()) text += " <- " + from;
  if (i.op == Opcode::kBra && i.target >= 0) text += fmt::format(" target={}", i.target);
  if (i.op == Opcode::kBra) text += fmt::format(" branch={}", name(i.branch));
  if (i.site != kNoSite) text += fmt::format(" site={} vector={}", i.site, i.vector);
  if (i.copy != 0) text += fmt::format(" copy={}", i.copy);
  if (i.width != 0) text += fmt::format(" width={}", i.width);
  if (i.active_warps != 0) text += fmt::format(" warps={}", i.active_warps);
  if (i.active_lanes != 0) text += fmt::format(" lanes={}", i.active_lanes);
  if (i.barrier != 0) text += fmt::format(" barrier={}", i.barrier);
  if (i.meeting != 0) text += fmt::format(" meeting={}", i.meeting);
  if (i.pending != 0) text += fmt::format(" pending={}", i.pending);
  if (i.mma != MmaShape{}) text += mma(i.mma);
  if (i.extra_passes != 0) text += fmt::format(" passes={}", i.extra_passes);
  if (i.shared_lanes != kNoLanes)
    text += fmt::format(" at={} offset={}", i.shared_lanes, i.shared_offset);
  return text + fmt::format(" line={}", i.line);
}

std::string ints(const std::vector<std::int64_t>& list) {
  return fmt::format("[{}]", fmt::join(list, ","));
}

std::string bases(const std::vector<std::vector<std::int64_t>>& list) {
  std::string text = "[";
  for (const auto& b : list) text += (text.size() > 1 ? "," : "") + ints(b);
  return text + "]";
}

std::string site(const SiteLayout& s) {
  return fmt::format(
      "shape={} vectors={} elements={} dim={} registers={} lanes={} warps={} skip_lanes={} "
      "skip_warps={} lane_zero={} warp_zero={} copies={}",
      ints(s.shape), s.vectors, s.vector_elements, s.vector_dim, bases(s.reg_bases),
      bases(s.lane_bases), bases(s.warp_bases), s.skip_lanes, s.skip_warps, s.lane_zero_only + 0,
      s.warp_zero_only + 0, s.copies);
}

std::string shared_lanes(const SharedLanes& s) {
  return fmt::format("bytes={} base={} lanes={} warps={} paddings={}", s.bytes, s.base,
                     ints(s.lanes), ints(s.warps), bases(s.paddings));
}

/// "R4..R7, R2": registers of a tuple as one.
template <class Registers>
void add_runs(std::string& text, const char* file, const Registers& registers) {
  for (std::size_t n = 0; n < registers.size();) {
    std::size_t end = n + 1;
    while (end < registers.size() && registers[end] == registers[end - 1] + 1) ++end;
    if (end - n < 3) end = n + 1;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", file, registers[n]);
    if (end - n > 1) text += fmt::format("..{}{}", file, registers[end - 1]);
    n = end;
  }
}

std::string brief_operands(const std::vector<std::uint16_t>& general,
                           const std::vector<std::uint16_t>& uniform,
                           const std::vector<std::uint8_t>& predicate) {
  std::string text;
  add_runs(text, "R", general);
  add_runs(text, "UR", uniform);
  add_runs(text, "P", predicate);
  return text;
}

}  // namespace

std::string brief(const Instruction& i) {
  std::string text;
  if (i.guard != kNoGuard) text = fmt::format("@{}P{} ", i.guard_negated ? "!" : "", i.guard);
  text += i.mnemonic;
  const std::string to = brief_operands(i.dst, i.udst, i.pdst);
  const std::string from = brief_operands(i.src, i.usrc, i.psrc);
  if (!to.empty()) text += " " + to;
  if (!from.empty()) text += " <- " + from;
  if (i.op == Opcode::kBra && i.target >= 0) text += fmt::format(" {}", i.target);
  return text;
}

std::string print(const Program& program) {
  std::string text = "schema: xpusim.warp_program/1\n";
  text += fmt::format("name: {}\nwarps: {}\nregisters: {}\nshared: {}\n", quoted(program.name),
                      program.num_warps, program.registers_per_thread, program.shared_bytes);
  if (!program.groups.empty()) text += "groups:\n";
  for (std::size_t n = 0; n < program.groups.size(); ++n) {
    const WarpRange& g = program.groups[n];
    text += fmt::format("  {}: first={} warps={} registers={} begin={}\n", n, g.first, g.warps,
                        g.registers, g.begin);
  }
  text += "lines:\n";
  for (std::size_t n = 0; n < program.lines.size(); ++n) {
    const auto& at = program.lines[n];
    text += fmt::format("  {}: {}:{}:{}\n", n, quoted(at.file), at.line, at.column);
  }
  text += "sites:\n";
  for (std::size_t n = 0; n < program.sites.size(); ++n) {
    text += fmt::format("  {}: {}\n", n, site(program.sites[n]));
  }
  if (!program.shared_lanes.empty()) text += "shared_lanes:\n";
  for (std::size_t n = 0; n < program.shared_lanes.size(); ++n) {
    text += fmt::format("  {}: {}\n", n, shared_lanes(program.shared_lanes[n]));
  }
  text += "code:\n";
  for (std::size_t n = 0; n < program.code.size(); ++n) {
    text += fmt::format("  {}: {}\n", n, instruction(program.code[n]));
  }
  return text;
}

}  // namespace xpusim::gpu
