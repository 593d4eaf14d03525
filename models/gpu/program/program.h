#pragma once

// Warp programs: what the compiler makes of a kernel and what the SM runs. All warps of a block run the
// same program; what differs between warps (addresses, masks) comes from the block's execution trace.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace xpusim::gpu {

inline constexpr int kWarpLanes = 32;
inline constexpr int kScoreboards = 6;        ///< counters for variable-latency results a warp (as in SASS)
inline constexpr std::uint16_t kNoReg = 0xffff;
inline constexpr std::uint32_t kNoSite = ~0u;

/// The unit that executes an instruction; the counters inst_alu, inst_fma, ... count by it.
enum class Pipe : std::uint8_t { kAlu, kFma, kXu, kLsu, kFp64, kTensor, kUniform, kControl, kCount };

/// The class of an instruction. Names follow the vendor's assembler where it has one.
enum class Opcode : std::uint8_t {
  kAlu,        // ALU pipe, fixed latency: LOP3 IADD3 ISETP SEL FMNMX FSETP MOV SHF LEA CS2R F2FP PRMT
  kFma,        // FMA pipe: FADD FMUL FFMA IMAD
  kFp64,       // DADD DMUL DFMA
  kMufu,       // XU: EX2 RCP RSQ LG2 SIN COS TANH, I2F F2I
  kUniform,    // uniform datapath
  kS2r,        // special register read through the MIO
  kLdc,        // constant load
  kLdg, kStg, kAtom, kRed,
  kLds, kSts,
  kShfl,
  kBar,        // CTA-wide barrier
  kBra, kExit, kNop,
  kCount
};
std::string_view name(Opcode op);
Pipe pipe_of(Opcode op);

/// One warp instruction. Registers are virtual until allocation; the control fields (stall, waits,
/// scoreboards) are set by the assembler model as the vendor's assembler sets its control words.
struct Instruction {
  Opcode op = Opcode::kNop;
  std::string mnemonic;                       ///< "FADD", "LDG.E.128": for people and for the text form
  std::vector<std::uint16_t> dst, src;        ///< 32-bit registers
  std::uint8_t stall = 1;                     ///< cycles until the next instruction of the warp may issue
  std::uint8_t wait_mask = 0;                 ///< scoreboards that must be clear before issue
  std::uint8_t sets = 7;                      ///< scoreboard raised until the result is written (7: none)
  std::uint8_t reads = 7;                     ///< scoreboard raised until the sources are read (7: none)
  std::uint32_t site = kNoSite;               ///< memory and control ops: site in the block's trace
  std::uint16_t vector = 0;                   ///< memory ops: which register group (vector) of the tile
  std::uint16_t width = 0;                    ///< memory ops: bytes a lane
  std::int32_t target = -1;                   ///< kBra: instruction index
  std::uint32_t line = 0;                     ///< index into Program::lines
  std::uint8_t extra_passes = 0;              ///< shared memory: bank-conflict passes beyond the first
};

/// How a tile is spread over lanes and warps for one memory site: element offset = xor of the bases of
/// the set bits of (vector, lane, warp); a linear layout over the flattened tile, in elements.
struct SiteLayout {
  std::vector<std::vector<std::int64_t>> reg_bases, lane_bases, warp_bases;   ///< [bit][dim]
  std::vector<std::int64_t> shape;
  std::uint32_t vector_elements = 1;          ///< elements a lane moves with one instruction
  std::uint32_t vectors = 1;                  ///< instructions a warp needs for the whole tile
  bool lane_zero_only = false;                ///< a scalar access: one lane does it
  bool warp_zero_only = false;                ///< ... of one warp
};

/// A compiled kernel.
struct Program {
  std::string name;
  int num_warps = 4;
  int registers_per_thread = 0;
  std::int64_t shared_bytes = 0;
  std::vector<Instruction> code;
  std::vector<SiteLayout> sites;              ///< by site
  std::vector<SourcePosition> lines;          ///< source lines that instructions refer to
};

/// The text form of a program and its reader: lowering is tested without time, timing without lowering.
std::string print(const Program& program);
Expected<Program> parse_program(std::string_view text, const std::string& file);

}  // namespace xpusim::gpu
