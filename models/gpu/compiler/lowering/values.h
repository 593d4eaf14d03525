#pragma once

// What the lowering knows of an SSA value of the kernel: registers of one thread, or a form from
// which they follow.

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/gpu/compiler/machine_code.h"
#include "sim/kernel/analysis/linear_layout.h"
#include "sim/kernel/analysis/op_facts.h"
#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// One element in one thread: a register, or a constant that instructions take as an immediate.
/// Elements of 8 and 16 bits that were loaded together share registers.
struct Element {
  VReg reg = kNoVReg;
  std::uint32_t bits = 0;   ///< without a register: the constant's 32 bits
  std::uint32_t shift = 0;  ///< the bit of the register at which the element begins
  VReg high = kNoVReg;      ///< the upper 32 bits of an element of 64, where they are not the sign
  bool is_constant() const { return reg == kNoVReg; }
  auto operator<=>(const Element&) const = default;
};

/// Number of a node in ScalarGraph; kNoScalar: none.
using ScalarId = std::int32_t;
inline constexpr ScalarId kNoScalar = -1;

/// An integer tile in closed form: scalar + offset + sum over dimensions of factor * coordinate.
struct IndexForm {
  ScalarId scalar = kNoScalar;
  std::int64_t offset = 0;
  std::vector<std::int64_t> factors;             ///< [dim]; empty for scalars
  const kernel::LinearLayout* layout = nullptr;  ///< null for scalars

  bool operator==(const IndexForm&) const = default;
};

/// One comparison of a mask.
struct Comparison {
  kernel::Compare how = kernel::Compare::kUnknown;
  IndexForm left, right;

  bool operator==(const Comparison&) const = default;
};

enum class ValueKind : std::uint8_t {
  kNone,
  kIndex,     ///< integers in closed form
  kPointer,   ///< base pointer (scalar) + index * bytes
  kMask,      ///< conjunction of comparisons of closed forms, evaluated where it is used
  kElements,  ///< registers (predicates for i1)
  kBuffer,    ///< a view of shared memory
};

/// A view of a buffer in shared memory: its bytes begin at `offset` from `address`, a uniform
/// register (kNoVReg: from the beginning of the block's shared memory).
struct BufferView {
  VReg address = kNoVReg;
  std::int64_t offset = 0;
};

struct ValueState {
  ValueKind kind = ValueKind::kNone;
  IndexForm index;                      ///< kIndex; kPointer: offset in elements of `bytes`
  ScalarId base = kNoScalar;            ///< kPointer
  std::int64_t bytes = 0;               ///< kPointer
  std::vector<Comparison> comparisons;  ///< kMask
  std::vector<Element> elements;  ///< kElements: a register of the layout each; one for scalars
  const kernel::LinearLayout* layout = nullptr;  ///< null for scalars
  BufferView buffer;                             ///< kBuffer
  bool alias = false;  ///< kElements: the registers are another value's too
};

}  // namespace xpusim::gpu
