#pragma once

// VLIW bundle programs: what the compiler makes of a kernel and what a TensorCore runs. A bundle
// issues in one cycle; loops keep their body once, with a trip count.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/tpu/program/opcode.h"
#include "sim/config/diagnostics.h"

namespace xpusim::tpu {

/// A register of one of the three files: 0..63 vector, 64..79 mask, 80..111 scalar.
using Reg = std::uint8_t;
inline constexpr Reg kNoReg = 0xff;
inline constexpr Reg kFirstMask = kVectorRegisters;
inline constexpr Reg kFirstScalar = kFirstMask + kMaskRegisters;
inline constexpr int kRegisters = kFirstScalar + kScalarRegisters;
inline constexpr std::uint16_t kNoBuffer = 0xffff;

/// A place in VMEM, in units of the buffer's own vector tiles: offset plus a stride for each step
/// of the innermost and the next outer loop. Dynamic indices count as 0 (they cost scalar
/// instructions).
struct Address {
  std::uint16_t buffer = kNoBuffer;
  std::int32_t offset = 0, inner_stride = 0, outer_stride = 0;
  bool operator==(const Address&) const = default;
};

/// One instruction of a bundle.
struct Instruction {
  Opcode op = Opcode::kHalt;
  Element element = Element::kNone;
  bool masked = false;      ///< vst and vld of a ragged edge
  bool transposed = false;  ///< vmatpush: a row of the register is a column of weights
  bool keep = false;        ///< vmatmul: the sums stay, what goes in next is added to them
  std::uint8_t unit = 0;    ///< vmatpush, vmatmul, vpop: the matrix unit ...
  std::uint8_t set = 0;     ///< ... and which of its two sets of weights
  Reg dst = kNoReg;
  std::array<Reg, 3> src = {kNoReg, kNoReg, kNoReg};
  Address address;         ///< vld, vst
  std::int64_t value = 0;  ///< loop: trips; loop.site, if: site; windows: their number; dma.start,
                           ///< dma.wait: 0 the kernel's own, else the stream's number and 1
  std::int32_t ahead = 0;  ///< dma.fetch: 0 this step's block, 1 the next step's; dma.start of a
                           ///< stream: how many may be under way or unread
  std::int32_t target = -1;  ///< bundle of the matching loop, endloop, else or endif (linked)
  bool operator==(const Instruction&) const = default;
};

/// Instructions that issue together, and the source line that they are charged to.
struct Bundle {
  std::uint32_t first = 0;  ///< into Program::code
  std::uint16_t count = 0;
  std::uint32_t line = 0;  ///< into Program::lines
  bool operator==(const Bundle&) const = default;
};

enum class BufferKind : std::uint8_t { kInput, kOutput, kScratch, kSpill, kCount };
std::string_view name(BufferKind kind);

/// A named piece of VMEM. Windows of double-buffered operands have two copies.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::kScratch;
  std::int64_t bytes = 0;  ///< of one copy, padded to whole tiles
  std::int32_t copies = 1;
  bool operator==(const Buffer&) const = default;
};

/// A compiled kernel.
struct Program {
  std::string name;
  std::vector<Buffer> buffers;  ///< windows come first, in operand order
  std::vector<Instruction> code;
  std::vector<Bundle> bundles;
  std::vector<SourcePosition> lines;

  std::int64_t vmem_bytes() const;  ///< of all copies of all buffers
};

/// Builds programs: bundles in order, source lines once.
class ProgramWriter {
 public:
  explicit ProgramWriter(Program& program) : program_(program) {}
  std::uint32_t line(const SourcePosition& where);
  void bundle(const std::vector<Instruction>& instructions, std::uint32_t line);
  void bundle(const Instruction& instruction, std::uint32_t line) {
    bundle(std::vector<Instruction>{instruction}, line);
  }

 private:
  Program& program_;
};

/// An instruction as the program's text has it.
std::string print(const Instruction& instruction);

/// Joins each loop, if and grid with its end; fails where they do not nest.
Expected<void> link(Program& program, const std::string& file);

/// The text form of a program and its reader: lowering is tested without time, timing without
/// lowering. Reading what was printed gives the same program.
std::string print(const Program& program);
Expected<Program> parse_program(std::string_view text, const std::string& file);

}  // namespace xpusim::tpu
