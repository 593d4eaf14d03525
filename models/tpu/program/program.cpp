#include "models/tpu/program/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {
namespace {

bool opens(Opcode op) {
  return op == Opcode::kLoop || op == Opcode::kLoopBySite || op == Opcode::kGrid ||
         op == Opcode::kIf;
}

Opcode closer_of(Opcode op) {
  if (op == Opcode::kGrid) return Opcode::kEndGrid;
  return op == Opcode::kIf || op == Opcode::kElse ? Opcode::kEndIf : Opcode::kEndLoop;
}

/// An opened loop, grid or if that waits for its end.
struct Open {
  Instruction* instruction;
  std::int32_t bundle;
};

/// Joins one control instruction; returns what is wrong, or "".
std::string join(Instruction& i, std::int32_t at, std::vector<Open>& open) {
  if (opens(i.op)) {
    open.push_back({&i, at});
    return "";
  }
  if (i.op != Opcode::kElse && i.op != Opcode::kEndIf && i.op != Opcode::kEndLoop &&
      i.op != Opcode::kEndGrid) {
    return "";
  }
  const Opcode wants = open.empty() ? Opcode::kCount : closer_of(open.back().instruction->op);
  const Opcode closes = i.op == Opcode::kElse ? Opcode::kEndIf : i.op;
  if (wants != closes) return fmt::format("'{}' closes nothing", info(i.op).name);
  open.back().instruction->target = at;
  i.target = open.back().bundle;
  open.pop_back();
  if (i.op == Opcode::kElse) open.push_back({&i, at});
  return "";
}

}  // namespace

std::string_view name(BufferKind kind) {
  static constexpr std::array<std::string_view, 4> kNames = {"input", "output", "scratch", "spill"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t Program::vmem_bytes() const {
  std::int64_t total = 0;
  for (const Buffer& b : buffers) total += b.bytes * b.copies;
  return total;
}

std::uint32_t ProgramWriter::line(const SourcePosition& where) {
  auto same = [&](const SourcePosition& p) {
    return p.line == where.line && p.column == where.column && p.file == where.file;
  };
  auto it = std::find_if(program_.lines.begin(), program_.lines.end(), same);
  if (it == program_.lines.end()) it = program_.lines.insert(it, where);
  return static_cast<std::uint32_t>(it - program_.lines.begin());
}

void ProgramWriter::bundle(const std::vector<Instruction>& instructions, std::uint32_t line) {
  program_.bundles.push_back({static_cast<std::uint32_t>(program_.code.size()),
                              static_cast<std::uint16_t>(instructions.size()), line});
  program_.code.insert(program_.code.end(), instructions.begin(), instructions.end());
}

Expected<void> link(Program& program, const std::string& file) {
  Diagnostics problems;
  std::vector<Open> open;
  for (std::size_t b = 0; b < program.bundles.size(); ++b) {
    const Bundle& bundle = program.bundles[b];
    for (std::uint32_t k = 0; k < bundle.count; ++k) {
      Instruction& i = program.code[bundle.first + k];
      std::string wrong = join(i, static_cast<std::int32_t>(b), open);
      if (!wrong.empty()) problems.error({file, 0, 0}, fmt::format("bundle {}: {}", b, wrong));
    }
  }
  for (const Open& o : open) {
    problems.error({file, 0, 0}, fmt::format("bundle {}: '{}' has no end", o.bundle,
                                             info(o.instruction->op).name));
  }
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

}  // namespace xpusim::tpu
