#pragma once

// Warp programs: what the compiler makes of a kernel and what the SM runs. All warps of a block
// begin at the same instruction; they part where a branch goes by the warp's number. What else
// differs between warps (addresses, masks) comes from the block's execution trace.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/diagnostics.h"

namespace xpusim::gpu {

inline constexpr int kWarpLanes = 32;
inline constexpr int kWarpsOfWarpgroup = 4;
inline constexpr int kRegisterUnit = 8;  ///< registers of a thread are given out in these units
inline constexpr int kScoreboards =
    6;  ///< counters for variable-latency results a warp (as in SASS)
inline constexpr int kBarriersOfBlock = 16;   ///< named barriers (PTX ISA, bar)
inline constexpr int kPredicates = 7;         ///< P0..P6 a thread; number 7 is the constant true
inline constexpr int kUniformRegisters = 63;  ///< UR0..UR62 a warp
inline constexpr std::uint8_t kNoScoreboard = 7;
inline constexpr std::uint8_t kNoGuard = 7;
inline constexpr std::uint16_t kNoReg = 0xffff;
inline constexpr std::uint32_t kNoSite = ~0u;
inline constexpr std::uint32_t kNoLanes = ~0u;

/// The unit that executes an instruction; the counters inst_alu, inst_fma, ... count by it.
enum class Pipe : std::uint8_t {
  kAlu,
  kFma,
  kXu,
  kLsu,
  kFp64,
  kTensor,
  kUniform,
  kControl,
  kCount
};

/// The class of an instruction. Names follow the vendor's assembler where it has one.
enum class Opcode : std::uint8_t {
  kAlu,      // ALU pipe, fixed latency: LOP3 IADD3 ISETP SEL FMNMX FSETP MOV SHF LEA CS2R F2FP PRMT
  kFma,      // FMA pipe: FADD FMUL FFMA IMAD
  kFp64,     // DADD DMUL DFMA
  kMufu,     // XU: EX2 RCP RSQ LG2 SIN COS TANH, I2F F2I
  kUniform,  // uniform datapath
  kS2r,      // special register read through the MIO
  kLdc,      // constant load
  kLdg,
  kStg,
  kAtom,
  kRed,
  kLds,
  kSts,
  kShfl,
  kBar,  // a named barrier, of all warps of the block or of some
  kBra,
  kExit,
  kNop,
  kS2ur,       // special register read that is not counted on the LSU pipe (S2UR, S2R of CTAID)
  kHfma2,      // HFMA2.MMA, with which the assembler also materialises constants; tensor pipe
  kMembar,     // memory fence: until the warp's earlier accesses are performed
  kCctl,       // CCTL.IVALL: invalidates the L1, so that later loads see what was acquired
  kLdgsts,     // LDGSTS: asynchronous copy, global to shared memory, past the registers
  kLdgdepbar,  // LDGDEPBAR: the warp's copies since the last one become a group
  kDepbar,     // DEPBAR.LE SB0: until at most `pending` of the warp's groups are under way
  kLdsm,       // LDSM: 8x8 matrices from shared memory
  kStsm,       // STSM: 8x8 matrices to shared memory
  kMma,        // HMMA, IMMA, DMMA, QMMA: mma.sync, operands in registers
  kWgmma,      // HGMMA, IGMMA, QGMMA: wgmma.mma_async of four warps
  kWgArrive,   // WARPGROUP.ARRIVE: the four warps meet; their registers are seen by what follows
  kWgDepbar,   // WARPGROUP.DEPBAR.LE: until at most `pending` of the warp's groups are under way
  kUtma,       // UTMALDG, UTMASTG, UTMAREDG: one lane gives the TMA engine a box to copy
  kSyncs,      // SYNCS: mbarrier initialise, expect, arrive
  kSyncsWait,  // SYNCS.PHASECHK...TRYWAIT and the loop around it
  kFence,      // FENCE.VIEW.ASYNC: what was written to shared memory is seen by the async proxy
  kUtmaWait,   // UTMACMDFLUSH and its DEPBAR: until all but `pending` of the warp's copies by TMA
               // from shared memory have read it
  kSetMaxReg,  // USETMAXREG: from now on a thread has `width` registers (setmaxnreg)
  kCount
};
std::string_view name(Opcode op);
Pipe pipe_of(Opcode op);
std::string_view name(Pipe pipe);

/// How a kBra decides, from the decisions of the block's trace at its `site`.
enum class Branch : std::uint8_t {
  kAlways,     ///< taken
  kLoopEntry,  ///< before a loop: begins the site's next occurrence; taken (past the loop) if its
               ///< trip count is 0
  kLoopBack,   ///< after a loop's body: taken (to its begin) while iterations remain of the trip
               ///< count
  kIfZero,     ///< begins the site's next occurrence; taken if its decision is 0
  kIfSet,      ///< begins the site's next occurrence; taken if its decision is not 0
  kToGroup,    ///< taken by warps of other groups than the first, to where their code begins
  kCount
};
std::string_view name(Branch branch);

/// The shape of a matrix instruction: m x n x k, factors of `bits` bits. wgmma: the whole of it is
/// the work of the four warps of a warpgroup, each m / 4 rows.
struct MmaShape {
  std::uint16_t m = 0, n = 0, k = 0;
  std::uint8_t bits = 0;     ///< of one element of the factors (tf32: 32)
  bool a_in_shared = false;  ///< wgmma: the left factor too is read from shared memory
  bool commits = false;      ///< wgmma: the last one of a group that kWgDepbar counts ("gsb0")

  bool operator==(const MmaShape&) const = default;
};

/// One warp instruction. Registers are virtual until allocation; the control fields (stall, waits,
/// scoreboards) are set by the assembler model as the vendor's assembler sets its control words.
struct Instruction {
  Opcode op = Opcode::kNop;
  std::string mnemonic;                 ///< "FADD", "LDG.E.128": for people and for the text form
  std::vector<std::uint16_t> dst, src;  ///< 32-bit registers
  std::uint8_t stall = 1;               ///< cycles until the next instruction of the warp may issue
  std::uint8_t wait_mask = 0;           ///< scoreboards that must be clear before issue
  std::uint8_t sets = 7;                ///< scoreboard raised until the result is written (7: none)
  std::uint8_t reads = 7;               ///< scoreboard raised until the sources are read (7: none)
  std::uint32_t site = kNoSite;         ///< memory and control ops: site in the block's trace
  std::uint16_t vector = 0;             ///< memory ops: which register group (vector) of the tile
  std::uint16_t width = 0;              ///< memory ops: bytes a lane; LDS of 0: switched off.
                                        ///< kSetMaxReg: registers
  std::uint16_t copy = 0;               ///< memory ops: which of its site's copies (unrolled loops)
  std::int32_t target = -1;             ///< kBra: instruction index
  std::uint32_t line = 0;               ///< index into Program::lines
  std::uint8_t extra_passes = 0;        ///< shared memory: bank-conflict passes beyond the first
  std::uint8_t barrier = 0, meeting = 0;  ///< kBar: its number; warps that meet (0: all that the
                                          ///< block has left)
  std::uint8_t pending = 0;  ///< kDepbar, kWgDepbar, kUtmaWait: groups that may be under way still
  MmaShape mma;              ///< kMma, kWgmma
  Branch branch = Branch::kAlways;  ///< kBra: how it decides
  /// Predicate register that guards the instruction (kNoGuard: none). Memory ops take their lanes
  /// from the trace, not from here. A guarded kExit with a site ends the warps of which no lane is
  /// active at (site, vector), as the assembler ends a kernel whose last store is masked off.
  std::uint8_t guard = kNoGuard;
  bool guard_negated = false;
  /// Shared memory and the like: only the first `active_warps` warps have an active lane, and in
  /// these only `active_lanes` lanes (0: all). The others issue it without effect.
  std::uint8_t active_warps = 0;
  std::uint8_t active_lanes = 0;
  /// Shared memory, where the addresses are known: index into Program::shared_lanes, and what is
  /// joined to all lanes' offsets by exclusive or. Takes no part in timing.
  std::uint32_t shared_lanes = kNoLanes, shared_offset = 0;
  std::vector<std::uint16_t> udst, usrc;  ///< uniform registers
  std::vector<std::uint8_t> pdst, psrc;   ///< predicate registers, but for the guard

  bool operator==(const Instruction&) const = default;
};

/// How a tile is spread over lanes and warps for one memory site: element offset = xor of the bases
/// of the set bits of (vector, lane, warp); a linear layout over the tile, in coordinates. The
/// elements of one vector follow one another along `vector_dim`.
struct SiteLayout {
  std::vector<std::vector<std::int64_t>> reg_bases, lane_bases, warp_bases;  ///< [bit][dim]
  std::vector<std::int64_t> shape;
  std::uint32_t vector_elements = 1;  ///< elements a lane moves with one instruction
  std::uint32_t vectors = 1;          ///< instructions a warp needs for the whole tile
  /// How often the code names the site where the kernel's text does once: a loop that is unrolled.
  /// One pass through the code performs so many accesses, in the order of their copies' numbers.
  std::uint32_t copies = 1;
  bool lane_zero_only = false;   ///< a scalar access: one lane does it
  bool warp_zero_only = false;   ///< ... of one warp
  std::uint32_t vector_dim = 0;  ///< along which dimension the elements of a vector lie
  /// Lanes and warps whose number has one of these bits set hold copies only and do nothing here
  /// (stores and atomics of a tile that is smaller than its layout).
  std::uint32_t skip_lanes = 0, skip_warps = 0;

  bool operator==(const SiteLayout&) const = default;
};

/// Where a warp's lanes go in shared memory: the byte offset of a lane is the exclusive or of its
/// own, of those of the set bits of the warp's number and of Instruction::shared_offset; then come
/// the paddings and `base`. Relative to the buffer, where that is picked at run time.
struct SharedLanes {
  static constexpr std::int32_t kOff = -1;
  std::uint32_t bytes = 4;                          ///< that a lane moves
  std::int64_t base = 0;                            ///< of the buffer
  std::vector<std::int64_t> lanes;                  ///< [lane], or kOff: the lane does nothing
  std::vector<std::int64_t> warps;                  ///< [bit of the warp's number]
  std::vector<std::vector<std::int64_t>> paddings;  ///< {every, bytes}: as kernel::SharedLayout

  /// [lane] of a warp: byte offsets, or kOff.
  std::vector<std::int64_t> at(std::uint32_t offset, std::uint32_t warp) const;
  bool operator==(const SharedLanes&) const = default;
};

/// Warps of a block that share code: in it, and in layouts, their numbers begin at 0.
struct WarpRange {
  int first = 0, warps = 0;
  int registers = 0;  ///< a thread, at most
  int begin = 0;      ///< instruction

  bool operator==(const WarpRange&) const = default;
};

/// A compiled kernel.
struct Program {
  std::string name;
  int num_warps = 4;
  int registers_per_thread = 0;
  std::int64_t shared_bytes = 0;
  std::vector<Instruction> code;
  std::vector<SiteLayout> sites;      ///< by site; may end after the last one used
  std::vector<SourcePosition> lines;  ///< source lines that instructions refer to
  std::vector<SharedLanes> shared_lanes;
  std::vector<WarpRange> groups;  ///< by number of their warps; empty: the block is one
};

/// Instructions that one warp issues on each pipe when it runs the code once from start to end,
/// with every loop body once: the static counts that correspond to inst_alu, inst_fma, ...
struct PipeCounts {
  int total = 0;
  int by_pipe[static_cast<int>(Pipe::kCount)] = {};
  int operator[](Pipe p) const { return by_pipe[static_cast<int>(p)]; }
};
PipeCounts count_pipes(const Program& program);

/// One instruction for people, without its control word: "@!P0 LDG.E.128 R4..R7 <- R2, R3, UR4".
std::string brief(const Instruction& instruction);

/// The text form of a program and its reader: lowering is tested without time, timing without
/// lowering.
std::string print(const Program& program);
Expected<Program> parse_program(std::string_view text, const std::string& file);

}  // namespace xpusim::gpu
