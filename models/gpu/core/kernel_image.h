#pragma once

// A program in the form in which the SMs read it: 16 bytes an instruction, decoded once a launch.

#include <cstdint>
#include <vector>

#include "models/gpu/core/params.h"
#include "models/gpu/program/footprint.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {

/// Where instructions of a sub-core compete for issue.
enum class Port : std::uint8_t {
  kFma,   ///< either half of the FMA pipe
  kImad,  ///< its half that multiplies integers
  kAlu,
  kFp64,
  kXu,
  kTensor,  ///< HFMA2
  kMatrix,  ///< mma.sync
  kWgmma,
  kUniform,
  kMio,
  kLg,
  kControl,
  kCount
};
inline constexpr std::size_t kPorts = static_cast<std::size_t>(Port::kCount);

/// What the SM does with an instruction, besides taking its port.
enum class Action : std::uint8_t {
  kFixed,     ///< nothing: the stall counts cover its latency
  kXu,        ///< through the special-function unit's queue
  kTimed,     ///< FP64 and uniform special registers: a result at a known time
  kMio,       ///< S2R, SHFL, LDS, STS: through the MIO, a result at a known time
  kConstant,  ///< LDC: as kMio, but the first one of an SM misses
  kLoad,
  kStore,
  kAtomic,
  kReduction,
  kBarrier,
  kMembar,
  kCopy,        ///< LDGSTS that allocates in the L1 (cp.async.ca)
  kCopyBypass,  ///< LDGSTS past the L1 (cp.async.cg)
  kCopyClose,   ///< LDGDEPBAR
  kCopyWait,    ///< DEPBAR.LE
  kMatrix,      ///< mma.sync
  kWgmma,
  kWgArrive,
  kWgWait,        ///< WARPGROUP.DEPBAR.LE
  kFence,         ///< FENCE.VIEW.ASYNC
  kBoxCopy,       ///< UTMALDG, UTMASTG, UTMAREDG
  kBoxWait,       ///< UTMACMDFLUSH and its DEPBAR
  kPhaseArrive,   ///< SYNCS that arrives at an mbarrier (with a site), or does something else to it
  kPhaseWait,     ///< SYNCS that waits for an mbarrier's phase
  kInvalidate,    ///< CCTL.IVALL: the L1 forgets its lines
  kSetRegisters,  ///< USETMAXREG
  kBranch,
  kExit,
};

/// IssueWord::passes of an asynchronous copy through the L1: whether a lane copies 8 bytes, not 4,
/// and in the other bits the wavefronts of its write to shared memory beyond the fewest.
inline constexpr std::uint8_t kWideCopy = 0x80;

/// One instruction as the issue logic sees it.
struct IssueWord {
  Opcode op = Opcode::kNop;
  Port port = Port::kControl;
  Action action = Action::kFixed;
  std::uint8_t stall = 1;
  std::uint8_t wait_mask = 0;
  std::uint8_t sets : 4 = kNoScoreboard, reads : 4 = kNoScoreboard;
  /// kMio: wavefronts of the data stage. kCopyWait, kWgWait, kBoxWait: groups that may be under
  /// way. kCopy, kCopyBypass: bytes a lane. kAtomic, kReduction: 1 if it adds floats, else 0.
  /// kImad (the port): how often it takes the interval.
  std::uint8_t passes = 1;
  Branch branch : 4 = Branch::kAlways;
  bool last_of_site : 1 = false;  ///< the site's occurrence ends with this instruction
  bool by_site : 1 = false;       ///< kExit: only warps without an active lane at (site, vector)
  bool commits : 1 = false;       ///< kWgmma: ends a group
  bool a_in_shared : 1 = false;   ///< kWgmma
  std::uint16_t site = 0xffff;
  /// kMio, kBoxCopy, kPhaseArrive: the number of warps that really act (0: all). kMatrix, kWgmma:
  /// cycles on the core. kBarrier: the number of warps that meet (0: all).
  std::uint16_t vector = 0;
  /// Of a branch; of an access: its copy's number. kWgmma: bytes of shared memory that it reads.
  /// kMatrix: cycles to its result. kBarrier: its number. kSetRegisters: of a thread.
  std::uint16_t target = 0;
  std::uint16_t line = 0;
};
static_assert(sizeof(IssueWord) == 16);

inline constexpr std::uint16_t kNoImageSite = 0xffff;
inline constexpr std::uint32_t kInstructionBytes = 16;
inline constexpr std::uint32_t kInstructionsOfLine = 8;  ///< 128-byte lines of the fetch path

/// A decoded program; shared by all SMs of a launch. Registers are gone: the scoreboards and stall
/// counts that the compiler set are what the hardware obeys.
struct KernelImage {
  std::vector<IssueWord> code;
  std::vector<Footprint> footprints;  ///< by site
  std::vector<std::uint32_t> copies;  ///< by site
  std::uint32_t site_count = 0, line_count = 0;
  std::uint32_t warps_of_block = 0;
  struct WarpPlace {
    std::uint8_t group = 0, number = 0;  ///< of the warp in it
    std::uint16_t begin = 0;             ///< instruction of the group's code
  };
  std::vector<WarpPlace> warps;  ///< by number in the block
  std::uint16_t registers = 0;   ///< that a thread gets at launch
  bool is_async = false;         ///< has asynchronous copies or wgmma: these share the data stage
};

/// Fails when a program does not fit the issue word (65,535 instructions, sites, lines), jumps
/// outside itself, runs past its end, names a site without a layout or a matrix shape that there is
/// not.
Expected<KernelImage> decode(const Program& program, const TensorParams& tensor = {});

/// What all SMs of a launch count together, by instruction and by source line.
struct LaunchProfile {
  explicit LaunchProfile(const KernelImage& image);
  std::vector<std::uint64_t> executed;  ///< [pc] warp instructions
  /// [line * Stall::kCount + reason]; without kIssued, which `executed` tells.
  std::vector<std::uint64_t> line_cycles;
};

}  // namespace xpusim::gpu
