#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "models/tpu/program/program.h"

namespace xpusim::tpu {
namespace {

/// Reads one line of the text form, token by token.
class LineReader {
 public:
  LineReader(std::string_view text, const std::string& file, int line, Diagnostics& problems)
      : text_(text), file_(file), line_(line), problems_(problems) {}

  bool at_end() {
    skip_space();
    return at_ >= text_.size() || text_[at_] == '#';
  }
  bool failed() const { return failed_; }
  void error(std::string message) {
    if (!failed_) {
      problems_.error({file_, line_, static_cast<int>(at_) + 1}, std::move(message));
    }
    failed_ = true;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(fmt::format("expected '{}'", c));
  }
  /// Letters, digits, dots and underscores.
  std::string_view word() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  bool accept_word(std::string_view wanted) {
    const std::size_t saved = at_;
    if (word() == wanted) return true;
    at_ = saved;
    return false;
  }
  void expect_word(std::string_view wanted) {
    if (!accept_word(wanted)) error(fmt::format("expected '{}'", wanted));
  }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    skip_space();
    std::int64_t v = 0;
    const char* begin = text_.data() + at_;
    auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), v);
    if (code != std::errc{}) {
      error("expected a number");
      return low;
    }
    if (v < low || v > high) {
      error(fmt::format("{} is not in {} .. {}", v, low, high));
      return low;
    }
    at_ += static_cast<std::size_t>(end - begin);
    return v;
  }
  std::string string() {
    std::string s;
    expect('"');
    while (!failed_ && at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      s += text_[at_++];
    }
    expect('"');
    return s;
  }
  /// A register, if one stands here.
  std::optional<Reg> reg() {
    const std::size_t saved = at_;
    const std::string_view w = word();
    int n = 0;
    if (w.size() >= 2) {
      auto [end, code] = std::from_chars(w.data() + 1, w.data() + w.size(), n);
      if (code == std::errc{} && end == w.data() + w.size() && n >= 0) {
        if (w[0] == 'v' && n < kVectorRegisters) return static_cast<Reg>(n);
        if (w[0] == 'm' && n < kMaskRegisters) return static_cast<Reg>(kFirstMask + n);
        if (w[0] == 's' && n < kScalarRegisters) return static_cast<Reg>(kFirstScalar + n);
      }
    }
    at_ = saved;
    return std::nullopt;
  }
  bool looks_at_number() {
    skip_space();
    return at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'));
  }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::string_view text_;
  const std::string& file_;
  int line_;
  Diagnostics& problems_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

constexpr std::int64_t kMaxInt = 0x7fffffff;

std::vector<std::string> opcode_names() {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(Opcode::kCount); ++i) {
    names.emplace_back(info(static_cast<Opcode>(i)).name);
  }
  return names;
}

Address read_address(LineReader& in, std::size_t buffers) {
  Address a;
  if (buffers == 0) {
    in.error("an address, but the program has no buffers");
    return a;
  }
  a.buffer = static_cast<std::uint16_t>(in.integer(0, static_cast<std::int64_t>(buffers) - 1));
  a.offset = static_cast<std::int32_t>(in.integer(-kMaxInt, kMaxInt));
  a.inner_stride = static_cast<std::int32_t>(in.integer(-kMaxInt, kMaxInt));
  a.outer_stride = static_cast<std::int32_t>(in.integer(-kMaxInt, kMaxInt));
  in.expect(']');
  return a;
}

/// "mxu2" of a pop, "mxu2.1" with the set of weights of what goes to a matrix unit.
void read_unit(LineReader& in, Instruction& i) {
  const std::string_view word = in.word();
  const bool pop = i.op == Opcode::kVMatPop;
  const auto digit = [&](std::size_t at, char last) {
    return at < word.size() && word[at] >= '0' && word[at] <= last;
  };
  if (word.size() != (pop ? 4u : 6u) || word.substr(0, 3) != "mxu" || !digit(3, '7') ||
      (!pop && (word[4] != '.' || !digit(5, '1')))) {
    return in.error(pop ? "expected a matrix unit, as 'mxu0'"
                        : "expected a matrix unit and a set of weights, as 'mxu0.1'");
  }
  i.unit = static_cast<std::uint8_t>(word[3] - '0');
  if (!pop) i.set = static_cast<std::uint8_t>(word[5] - '0');
}

/// What may follow the mnemonic: "masked", "transposed", "keep", a matrix unit, registers, an
/// address, a number, "ahead N".
void read_operands(LineReader& in, Instruction& i, std::size_t buffers) {
  i.masked = in.accept_word("masked");
  i.transposed = in.accept_word("transposed");
  i.keep = in.accept_word("keep");
  const Slot slot = info(i.op).slot;
  if (slot == Slot::kMatrix || slot == Slot::kMatrixPop) read_unit(in, i);
  std::size_t n = 0;
  while (std::optional<Reg> r = in.reg()) {
    if (n == i.src.size()) return in.error("an instruction reads at most three registers");
    i.src[n++] = *r;
    if (!in.accept(',')) break;
  }
  if (in.accept('[')) i.address = read_address(in, buffers);
  if (in.looks_at_number()) i.value = in.integer(0, std::int64_t{1} << 40);
  if (in.accept_word("ahead")) i.ahead = static_cast<std::int32_t>(in.integer(0, 16));
}

Instruction read_instruction(LineReader& in, std::size_t buffers) {
  Instruction i;
  if (std::optional<Reg> dst = in.reg()) {
    i.dst = *dst;
    in.expect('=');
  }
  const std::string word(in.word());
  const std::optional<Opcode> op = opcode_named(word);
  if (!op) {
    in.error(fmt::format("unknown instruction '{}'{}", word, did_you_mean(word, opcode_names())));
    return i;
  }
  i.op = *op;
  if (in.accept(':')) {
    const std::string type(in.word());
    const std::optional<Element> element = element_named(type);
    if (!element) in.error(fmt::format("unknown element type '{}'", type));
    i.element = element.value_or(Element::kNone);
  }
  read_operands(in, i, buffers);
  if ((i.op == Opcode::kVLoad || i.op == Opcode::kVStore) && i.address.buffer == kNoBuffer) {
    in.error(fmt::format("'{}' needs an address", word));
  }
  return i;
}

/// Builds a program from the lines of its text form.
class Parser {
 public:
  Parser(const std::string& file, Diagnostics& problems) : file_(file), problems_(problems) {}

  void read(std::string_view text, int number) {
    LineReader in(text, file_, number, problems_);
    if (in.at_end()) return;
    if (in.accept('{')) {
      read_bundle(in);
    } else if (in.accept_word("program")) {
      program_.name = in.string();
      named_ = true;
    } else if (in.accept_word("buffer")) {
      read_buffer(in);
    } else if (in.accept_word("line")) {
      SourcePosition p;
      p.file = in.string();
      p.line = static_cast<int>(in.integer(0, kMaxInt));
      p.column = static_cast<int>(in.integer(0, kMaxInt));
      program_.lines.push_back(p);
    } else {
      in.error("expected 'program', 'buffer', 'line' or a bundle in braces");
    }
    if (!in.failed() && !in.at_end()) in.error("something is left over on this line");
  }
  Program finish() {
    if (!named_) problems_.error({file_, 1, 1}, "a bundle program begins with 'program \"name\"'");
    return std::move(program_);
  }

 private:
  void read_buffer(LineReader& in) {
    Buffer b;
    b.name = in.string();
    const std::string_view kind = in.word();
    bool known = false;
    for (int k = 0; k < static_cast<int>(BufferKind::kCount); ++k) {
      if (name(static_cast<BufferKind>(k)) != kind) continue;
      b.kind = static_cast<BufferKind>(k);
      known = true;
    }
    if (!known) in.error("a buffer is 'input', 'output', 'scratch' or 'spill'");
    in.expect_word("bytes");
    b.bytes = in.integer(0, std::int64_t{1} << 40);
    in.expect_word("copies");
    b.copies = static_cast<std::int32_t>(in.integer(1, 16));
    program_.buffers.push_back(b);
  }
  void read_bundle(LineReader& in) {
    std::vector<Instruction> instructions;
    while (!in.failed() && !in.accept('}')) {
      instructions.push_back(read_instruction(in, program_.buffers.size()));
      if (!in.accept(';') && !in.failed()) {
        in.expect('}');
        break;
      }
    }
    in.expect('@');
    const auto line = in.integer(0, kMaxInt);
    if (!in.failed() && line >= static_cast<std::int64_t>(program_.lines.size())) {
      in.error(fmt::format("the program names no line {}", line));
    }
    ProgramWriter(program_).bundle(instructions, static_cast<std::uint32_t>(line));
  }

  const std::string& file_;
  Diagnostics& problems_;
  Program program_;
  bool named_ = false;
};

}  // namespace

Expected<Program> parse_program(std::string_view text, const std::string& file) {
  Diagnostics problems;
  Parser parser(file, problems);
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    parser.read(text.substr(at, end - at), ++number);
    at = end + 1;
  }
  Program program = parser.finish();
  if (problems.has_errors()) return fail(std::move(problems));
  if (Expected<void> linked = link(program, file); !linked) return fail(linked.error());
  return program;
}

}  // namespace xpusim::tpu
