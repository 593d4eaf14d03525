#pragma once

// The instructions of a TensorCore bundle, by the slot that issues them.

#include <cstdint>
#include <optional>
#include <string_view>

namespace xpusim::tpu {

inline constexpr int kLanes = 128;           ///< 32-bit lanes of a vector register
inline constexpr int kSublanes = 8;          ///< rows of a vector register
inline constexpr int kVregBytes = 4096;      ///< 8 x 128 x 4 bytes
inline constexpr int kVectorRegisters = 64;  ///< facts: 32 on v4, 64 on v5e and later
inline constexpr int kMaskRegisters = 16;    ///< one bit a lane and sublane
inline constexpr int kScalarRegisters = 32;

/// The issue slots of a bundle. How many of each a generation has is a parameter (SlotParams).
enum class Slot : std::uint8_t {
  kScalar,
  kVectorAlu,
  kVectorLoad,
  kVectorStore,
  kEup,        ///< transcendental unit: pow2, reciprocal, rsqrt, log2, tanh
  kXlu,        ///< cross-lane unit: transpose, reduce, broadcast and rotate over lanes
  kMatrix,     ///< to the matrix units: weights and rows
  kMatrixPop,  ///< from the matrix units: results
  kMisc,       ///< DMA, synchronisation and control
  kCount
};
std::string_view name(Slot slot);

/// What an instruction does. Names follow the published LLO listings where there are any.
enum class Opcode : std::uint8_t {
  // scalar
  kSMove,
  kSAdd,
  kSMul,
  kSDivide,
  kSLogic,
  kSCompare,
  kSSelect,
  kSLoad,
  kSStore,
  // vector ALU
  kVMove,
  kVAdd,
  kVSub,
  kVMul,
  kVMax,
  kVMin,
  kVLogic,
  kVShift,
  kVCompare,
  kVMaskLogic,
  kVSelect,
  kVConvert,
  kVPack,
  kVUnpack,
  kVLaneId,
  kVSublaneRotate,
  kVSublaneBroadcast,
  // VMEM
  kVLoad,
  kVStore,
  // EUP
  kVPow2,
  kVReciprocal,
  kVRsqrt,
  kVLog2,
  kVTanh,
  // XLU
  kVReduceLanes,
  kVBroadcastLane,
  kVRotateLanes,
  kVTranspose,
  // matrix units
  kVMatPush,
  kVMatMul,
  kVMatPop,
  // control: the grid, windows and loops
  kLoop,
  kLoopBySite,
  kEndLoop,
  kIf,
  kElse,
  kEndIf,
  kGrid,
  kEndGrid,
  kFetch,
  kWaitIn,
  kWriteBack,
  kWaitOut,
  kDrain,
  kBody,
  kStartDma,
  kWaitDma,
  kSync,
  kWaitSync,
  kHalt,
  kCount
};

struct OpcodeInfo {
  std::string_view name;
  Slot slot;
};
const OpcodeInfo& info(Opcode op);
std::optional<Opcode> opcode_named(std::string_view name);

/// The element type an instruction works on; it decides the unit's rate, not the instruction's
/// slot.
enum class Element : std::uint8_t { kNone, kF32, kBf16, kI32, kI16, kI8, kF8, kCount };
/// A register holds 32 rows of these.
constexpr bool is_8bit(Element e) { return e == Element::kI8 || e == Element::kF8; }
std::string_view name(Element e);
std::optional<Element> element_named(std::string_view name);

}  // namespace xpusim::tpu
