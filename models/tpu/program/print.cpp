#include <fmt/format.h>

#include <iterator>

#include "models/tpu/program/program.h"

namespace xpusim::tpu {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string quoted(std::string_view text) {
  std::string q = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') q += '\\';
    q += c;
  }
  return q + "\"";
}

std::string reg_name(Reg r) {
  if (r < kFirstMask) return fmt::format("v{}", r);
  if (r < kFirstScalar) return fmt::format("m{}", r - kFirstMask);
  return fmt::format("s{}", r - kFirstScalar);
}

bool has_value(Opcode op) {
  switch (op) {
    case Opcode::kLoop:
    case Opcode::kLoopBySite:
    case Opcode::kIf:
    case Opcode::kFetch:
    case Opcode::kWaitIn:
    case Opcode::kWriteBack:
    case Opcode::kWaitOut:
    case Opcode::kDrain:
    case Opcode::kStartDma:
    case Opcode::kWaitDma:
      return true;
    default:
      return false;
  }
}

void print_instruction(const Instruction& i, Out out) {
  if (i.dst != kNoReg) fmt::format_to(out, "{} = ", reg_name(i.dst));
  fmt::format_to(out, "{}", info(i.op).name);
  if (i.element != Element::kNone) fmt::format_to(out, ":{}", name(i.element));
  if (i.masked) fmt::format_to(out, " masked");
  if (i.transposed) fmt::format_to(out, " transposed");
  if (i.keep) fmt::format_to(out, " keep");
  if (i.op == Opcode::kVMatPop) fmt::format_to(out, " mxu{}", i.unit);
  if (info(i.op).slot == Slot::kMatrix) fmt::format_to(out, " mxu{}.{}", i.unit, i.set);
  bool first = true;
  for (Reg r : i.src) {
    if (r == kNoReg) continue;
    fmt::format_to(out, "{} {}", first ? "" : ",", reg_name(r));
    first = false;
  }
  if (i.address.buffer != kNoBuffer) {
    fmt::format_to(out, " [{} {} {} {}]", i.address.buffer, i.address.offset,
                   i.address.inner_stride, i.address.outer_stride);
  }
  if (has_value(i.op)) fmt::format_to(out, " {}", i.value);
  if (i.ahead != 0) fmt::format_to(out, " ahead {}", i.ahead);
}

}  // namespace

std::string print(const Instruction& instruction) {
  std::string text;
  print_instruction(instruction, Out(text));
  return text;
}

std::string print(const Program& program) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "program {}\n", quoted(program.name));
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    fmt::format_to(out, "buffer {} {} bytes {} copies {}\n", quoted(buffer.name), name(buffer.kind),
                   buffer.bytes, buffer.copies);
  }
  for (const SourcePosition& p : program.lines) {
    fmt::format_to(out, "line {} {} {}\n", quoted(p.file), p.line, p.column);
  }
  for (const Bundle& bundle : program.bundles) {
    fmt::format_to(out, "{{");
    for (std::uint32_t k = 0; k < bundle.count; ++k) {
      fmt::format_to(out, "{}", k ? "; " : " ");
      print_instruction(program.code[bundle.first + k], out);
    }
    fmt::format_to(out, " }} @{}\n", bundle.line);
  }
  return text;
}

}  // namespace xpusim::tpu
