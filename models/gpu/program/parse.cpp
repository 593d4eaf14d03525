#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <type_traits>

#include "models/gpu/program/program.h"

namespace xpusim::gpu {
namespace {

constexpr std::int64_t kMaxRegister = 4096;  // virtual registers have no limit of the hardware
constexpr std::int64_t kMaxStall = 63;       // beyond 15: with idle instructions (control.cpp)
constexpr std::int64_t kMostWarps = 64;      // of a block
constexpr std::int64_t kMaxListed = 1 << 16;

/// One line of the text and a place in it.
class Cursor {
 public:
  Cursor(std::string_view text, const std::string& file, int line, Diagnostics& problems)
      : text_(text), file_(file), line_(line), problems_(problems) {
    skip();
  }

  bool at_end() const { return at_ == text_.size(); }
  bool ok() const { return ok_; }
  bool fail(const std::string& message) {
    if (ok_) problems_.error({file_, line_, static_cast<int>(at_) + 1}, message);
    return ok_ = false;
  }
  bool accept(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    skip();
    return true;
  }
  bool expect(std::string_view word) {
    return accept(word) || fail(fmt::format("expected '{}'", word));
  }
  /// Up to a blank or one of `stop`.
  std::string_view word(std::string_view stop = "") {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && stop.find(text_[at_]) == stop.npos) ++at_;
    const auto result = text_.substr(begin, at_ - begin);
    skip();
    return result;
  }
  std::int64_t integer(std::int64_t low, std::int64_t high, const char* what) {
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < low || value > high) {
      fail(fmt::format("expected {}, a number from {} to {}", what, low, high));
      return low;
    }
    at_ += static_cast<std::size_t>(end - begin);
    skip();
    return value;
  }
  std::string quoted() {
    std::string value;
    if (at_ == text_.size() || text_[at_] != '"') {
      fail("expected a quoted text");
      return value;
    }
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        value += text_[at_] == 'n' ? '\n' : text_[at_];
      } else {
        value += text_[at_];
      }
    }
    if (at_ == text_.size()) {
      fail("the quoted text does not end");
    } else {
      ++at_;
      skip();
    }
    return value;
  }
  std::vector<std::int64_t> ints(std::int64_t lowest = 0) {
    std::vector<std::int64_t> list;
    if (!expect("[") || accept("]")) return list;
    do {
      list.push_back(integer(lowest, std::int64_t{1} << 40, "a coordinate"));
    } while (ok_ && accept(","));
    expect("]");
    return list;
  }
  std::vector<std::vector<std::int64_t>> bases() {
    std::vector<std::vector<std::int64_t>> list;
    if (!expect("[") || accept("]")) return list;
    do {
      list.push_back(ints());
    } while (ok_ && accept(","));
    expect("]");
    return list;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  const std::string& file_;
  int line_;
  Diagnostics& problems_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

template <class Enum, class Count>
std::optional<Enum> by_name(std::string_view word, Count count) {
  for (int n = 0; n < static_cast<int>(count); ++n) {
    if (name(static_cast<Enum>(n)) == word) return static_cast<Enum>(n);
  }
  return std::nullopt;
}

/// "0" to "5", or "-" for none.
std::uint8_t scoreboard(Cursor& c, std::uint8_t none) {
  if (c.accept("-")) return none;
  return static_cast<std::uint8_t>(c.integer(0, kScoreboards - 1, "a scoreboard"));
}

void parse_control(Cursor& c, Instruction& i) {
  if (!c.expect("[B")) return;
  for (int s = 0; s < kScoreboards; ++s) {
    if (c.accept(std::string(1, static_cast<char>('0' + s)))) {
      i.wait_mask |= static_cast<std::uint8_t>(1u << s);
    } else if (!c.expect("-")) {
      return;
    }
  }
  c.expect(":R");
  i.reads = scoreboard(c, kNoScoreboard);
  c.expect(":W");
  i.sets = scoreboard(c, kNoScoreboard);
  c.expect(":S");
  i.stall = static_cast<std::uint8_t>(c.integer(0, kMaxStall, "a stall count"));
  c.expect("]");
}

bool at_operand(std::string_view word) {
  const std::size_t digits = word.find_first_of("0123456789");
  const std::string_view file = word.substr(0, std::min(digits, word.size()));
  return digits != word.npos && (file == "R" || file == "UR" || file == "P");
}

void parse_operands(Cursor& c, std::vector<std::uint16_t>& general,
                    std::vector<std::uint16_t>& uniform, std::vector<std::uint8_t>& predicate) {
  do {
    if (c.accept("UR")) {
      uniform.push_back(static_cast<std::uint16_t>(c.integer(0, kMaxRegister, "a register")));
    } else if (c.accept("R")) {
      general.push_back(static_cast<std::uint16_t>(c.integer(0, kMaxRegister, "a register")));
    } else if (c.accept("P")) {
      predicate.push_back(static_cast<std::uint8_t>(c.integer(0, kPredicates - 1, "a predicate")));
    } else {
      c.fail("expected a register (R, UR or P and a number)");
    }
  } while (c.ok() && c.accept(","));
}

/// A number of an instruction that is written as name=value.
struct NumberField {
  std::string_view name;
  std::int64_t highest;
  void (*set)(Instruction&, std::int64_t);
};

template <auto Member>
void set_member(Instruction& i, std::int64_t n) {
  i.*Member = static_cast<std::remove_reference_t<decltype(i.*Member)>>(n);
}
template <auto Member>
void set_mma(Instruction& i, std::int64_t n) {
  i.mma.*Member = static_cast<std::remove_reference_t<decltype(i.mma.*Member)>>(n);
}

constexpr std::int64_t kMaxIndex = 1 << 24;
constexpr std::array<NumberField, 20> kFields = {{
    {"target", kMaxIndex, set_member<&Instruction::target>},
    {"site", kMaxIndex, set_member<&Instruction::site>},
    {"line", kMaxIndex, set_member<&Instruction::line>},
    {"vector", 0xffff, set_member<&Instruction::vector>},
    {"copy", 0xffff, set_member<&Instruction::copy>},
    {"width", 0xffff, set_member<&Instruction::width>},
    {"warps", 255, set_member<&Instruction::active_warps>},
    {"lanes", 255, set_member<&Instruction::active_lanes>},
    {"passes", 255, set_member<&Instruction::extra_passes>},
    {"barrier", kBarriersOfBlock - 1, set_member<&Instruction::barrier>},
    {"meeting", kMostWarps, set_member<&Instruction::meeting>},
    {"pending", 255, set_member<&Instruction::pending>},
    {"at", kMaxIndex, set_member<&Instruction::shared_lanes>},
    {"offset", kMaxIndex, set_member<&Instruction::shared_offset>},
    {"m", 0xffff, set_mma<&MmaShape::m>},
    {"n", 0xffff, set_mma<&MmaShape::n>},
    {"k", 0xffff, set_mma<&MmaShape::k>},
    {"bits", 255, set_mma<&MmaShape::bits>},
    {"a_in_shared", 1, set_mma<&MmaShape::a_in_shared>},
    {"commits", 1, set_mma<&MmaShape::commits>},
}};

void parse_attribute(Cursor& c, Instruction& i) {
  const std::string_view key = c.word("=");
  if (!c.expect("=")) return;
  if (key == "branch") {
    const auto branch = by_name<Branch>(c.word(), Branch::kCount);
    if (!branch) c.fail("expected always, loop_entry, loop_back, if_zero, if_set or to_group");
    i.branch = branch.value_or(Branch::kAlways);
    return;
  }
  const auto field = std::find_if(kFields.begin(), kFields.end(),
                                  [&](const NumberField& f) { return f.name == key; });
  if (field != kFields.end()) {
    field->set(i, c.integer(0, field->highest, "a value"));
    return;
  }
  std::vector<std::string> names{"branch"};
  for (const auto& f : kFields) names.emplace_back(f.name);
  c.fail(fmt::format("unknown key '{}'{}", key, did_you_mean(key, names)));
}

Instruction parse_instruction(Cursor& c) {
  Instruction i;
  parse_control(c, i);
  if (c.accept("@")) {
    i.guard_negated = c.accept("!");
    c.expect("P");
    i.guard = static_cast<std::uint8_t>(c.integer(0, kPredicates - 1, "a predicate"));
  }
  if (!c.ok()) return i;
  const std::string_view kind = c.word();
  const auto op = by_name<Opcode>(kind, Opcode::kCount);
  if (!op) {
    std::vector<std::string> kinds;
    for (int n = 0; n < static_cast<int>(Opcode::kCount); ++n) {
      kinds.emplace_back(name(static_cast<Opcode>(n)));
    }
    c.fail(fmt::format("unknown kind of instruction '{}'{}", kind, did_you_mean(kind, kinds)));
    return i;
  }
  i.op = *op;
  i.mnemonic = c.word();
  Cursor ahead = c;
  if (at_operand(ahead.word("=,"))) parse_operands(c, i.dst, i.udst, i.pdst);
  if (c.ok() && c.accept("<-")) parse_operands(c, i.src, i.usrc, i.psrc);
  while (c.ok() && !c.at_end()) parse_attribute(c, i);
  return i;
}

bool same_rank(const std::vector<std::vector<std::int64_t>>& bases, std::size_t rank) {
  for (const auto& b : bases) {
    if (b.size() != rank) return false;
  }
  return true;
}

SiteLayout parse_site(Cursor& c) {
  SiteLayout s;
  c.expect("shape=");
  s.shape = c.ints();
  c.expect("vectors=");
  s.vectors = static_cast<std::uint32_t>(c.integer(1, kMaxListed, "a count"));
  c.expect("elements=");
  s.vector_elements = static_cast<std::uint32_t>(c.integer(1, 256, "a count"));
  c.expect("dim=");
  s.vector_dim = static_cast<std::uint32_t>(c.integer(0, 8, "a dimension"));
  c.expect("registers=");
  s.reg_bases = c.bases();
  c.expect("lanes=");
  s.lane_bases = c.bases();
  c.expect("warps=");
  s.warp_bases = c.bases();
  c.expect("skip_lanes=");
  s.skip_lanes = static_cast<std::uint32_t>(c.integer(0, kWarpLanes - 1, "bits of the lane"));
  c.expect("skip_warps=");
  s.skip_warps = static_cast<std::uint32_t>(c.integer(0, 63, "bits of the warp"));
  c.expect("lane_zero=");
  s.lane_zero_only = c.integer(0, 1, "0 or 1") != 0;
  c.expect("warp_zero=");
  s.warp_zero_only = c.integer(0, 1, "0 or 1") != 0;
  c.expect("copies=");
  s.copies = static_cast<std::uint32_t>(c.integer(1, 0xffff, "a count"));
  const std::size_t rank = s.shape.size();
  if (!same_rank(s.reg_bases, rank) || !same_rank(s.lane_bases, rank) ||
      !same_rank(s.warp_bases, rank) || s.lane_bases.size() > 5 || s.warp_bases.size() > 6) {
    c.fail("the bases do not fit the shape");
  }
  return s;
}

SharedLanes parse_shared_lanes(Cursor& c) {
  SharedLanes s;
  c.expect("bytes=");
  s.bytes = static_cast<std::uint32_t>(c.integer(1, 16, "bytes of a lane"));
  c.expect("base=");
  s.base = c.integer(0, kMaxIndex, "an offset");
  c.expect("lanes=");
  s.lanes = c.ints(SharedLanes::kOff);
  c.expect("warps=");
  s.warps = c.ints();
  c.expect("paddings=");
  s.paddings = c.bases();
  const bool has_paddings = std::all_of(s.paddings.begin(), s.paddings.end(),
                                        [](const auto& p) { return p.size() == 2 && p[0] > 0; });
  if (s.lanes.size() != kWarpLanes || s.warps.size() > 6 || !has_paddings) {
    c.fail("expected 32 lanes, at most 6 bits of the warp, and paddings of two numbers");
  }
  return s;
}

SourcePosition parse_line(Cursor& c) {
  SourcePosition at;
  at.file = c.quoted();
  c.expect(":");
  at.line = static_cast<int>(c.integer(0, 1 << 30, "a line"));
  c.expect(":");
  at.column = static_cast<int>(c.integer(0, 1 << 30, "a column"));
  return at;
}

WarpRange parse_group(Cursor& c) {
  WarpRange g;
  c.expect("first=");
  g.first = static_cast<int>(c.integer(0, kMostWarps - 1, "a warp"));
  c.expect("warps=");
  g.warps = static_cast<int>(c.integer(1, kMostWarps, "a count"));
  c.expect("registers=");
  g.registers = static_cast<int>(c.integer(0, kMaxRegister, "a count"));
  c.expect("begin=");
  g.begin = static_cast<int>(c.integer(0, kMaxIndex, "an instruction"));
  return g;
}

enum class Section { kHead, kGroups, kLines, kSites, kSharedLanes, kCode };

/// Reads line by line; an indented line is an entry of the current section.
class ProgramParser {
 public:
  ProgramParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Expected<Program> run() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++number_;
      if (line.find_first_not_of(' ') != line.npos) one_line(line);
    }
    if (!has_schema_ && problems_.empty()) {
      problems_.error({file_, 1, 1}, "expected 'schema: xpusim.warp_program/1'");
    }
    check();
    if (problems_.has_errors()) return xpusim::fail(std::move(problems_));
    return std::move(program_);
  }

 private:
  void one_line(std::string_view line) {
    Cursor c(line, file_, number_, problems_);
    if (line[0] == ' ') {
      entry(c);
    } else {
      head(c);
    }
    if (c.ok() && !c.at_end()) c.fail("expected the end of the line");
  }
  void head(Cursor& c) {
    if (c.accept("schema:")) {
      has_schema_ = c.expect("xpusim.warp_program/1");
    } else if (c.accept("name:")) {
      program_.name = c.quoted();
    } else if (c.accept("warps:")) {
      program_.num_warps = static_cast<int>(c.integer(1, kMostWarps, "the warps of a block"));
    } else if (c.accept("registers:")) {
      program_.registers_per_thread = static_cast<int>(c.integer(0, kMaxRegister, "a count"));
    } else if (c.accept("shared_lanes:")) {
      section_ = Section::kSharedLanes;
    } else if (c.accept("shared:")) {
      program_.shared_bytes = c.integer(0, 1 << 24, "bytes");
    } else if (c.accept("groups:")) {
      section_ = Section::kGroups;
    } else if (c.accept("lines:")) {
      section_ = Section::kLines;
    } else if (c.accept("sites:")) {
      section_ = Section::kSites;
    } else if (c.accept("code:")) {
      section_ = Section::kCode;
    } else {
      const auto key = c.word(":");
      c.fail(fmt::format("unknown key '{}'{}", key,
                         did_you_mean(key, {"schema", "name", "warps", "registers", "shared",
                                            "groups", "lines", "sites", "shared_lanes", "code"})));
    }
  }
  template <class T>
  void next(Cursor& c, std::vector<T>& list, T value, std::int64_t number) {
    if (c.ok() && number != static_cast<std::int64_t>(list.size())) {
      c.fail(fmt::format("expected entry number {}", list.size()));
    }
    list.push_back(std::move(value));
  }
  void entry(Cursor& c) {
    if (section_ == Section::kHead) {
      c.fail("an entry before 'lines:', 'sites:' or 'code:'");
      return;
    }
    const std::int64_t number = c.integer(0, 1 << 24, "the entry's number");
    if (!c.expect(":")) return;
    if (section_ == Section::kGroups) next(c, program_.groups, parse_group(c), number);
    if (section_ == Section::kLines) next(c, program_.lines, parse_line(c), number);
    if (section_ == Section::kSites) next(c, program_.sites, parse_site(c), number);
    if (section_ == Section::kSharedLanes) {
      next(c, program_.shared_lanes, parse_shared_lanes(c), number);
    }
    if (section_ == Section::kCode) {
      next(c, program_.code, parse_instruction(c), number);
      places_.push_back(number_);
    }
  }
  /// Groups follow one another and are all the warps; what instructions refer to must be there.
  void check() {
    int next = 0;
    for (const WarpRange& g : program_.groups) {
      next = g.first == next ? next + g.warps : -1;
      if (g.begin >= static_cast<int>(program_.code.size()))
        problems_.error({file_, 1, 1}, fmt::format("there is no instruction {}", g.begin));
    }
    if (!program_.groups.empty() && next != program_.num_warps)
      problems_.error({file_, 1, 1}, "the groups are not the block's warps, one after another");
    for (std::size_t n = 0; n < program_.code.size(); ++n) {
      const Instruction& i = program_.code[n];
      const SourcePosition at{file_, places_[n], 1};
      if (i.site != kNoSite && i.op != Opcode::kBra) {
        if (i.site >= program_.sites.size()) {
          problems_.error(at, fmt::format("there is no site {}", i.site));
        } else if (i.vector >= program_.sites[i.site].vectors) {
          problems_.error(at, fmt::format("site {} has no vector {}", i.site, i.vector));
        }
      }
      if (i.op == Opcode::kBra && i.branch != Branch::kToGroup &&
          (i.target < 0 || i.target >= static_cast<std::int32_t>(program_.code.size()))) {
        problems_.error(at, "a branch to nowhere");
      }
      if (i.shared_lanes != kNoLanes && i.shared_lanes >= program_.shared_lanes.size()) {
        problems_.error(at, fmt::format("there are no shared_lanes {}", i.shared_lanes));
      }
      if (i.line >= program_.lines.size() && !(i.line == 0 && program_.lines.empty())) {
        problems_.error(at, fmt::format("there is no line {}", i.line));
      }
    }
  }

  std::string_view text_;
  const std::string& file_;
  int number_ = 0;
  bool has_schema_ = false;
  Section section_ = Section::kHead;
  Diagnostics problems_;
  Program program_;
  std::vector<int> places_;  // [instruction] its line in the text
};

}  // namespace

Expected<Program> parse_program(std::string_view text, const std::string& file) {
  return ProgramParser(text, file).run();
}

}  // namespace xpusim::gpu
