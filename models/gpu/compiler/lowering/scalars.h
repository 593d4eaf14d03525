#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "models/gpu/compiler/lowering/builder.h"
#include "models/gpu/compiler/lowering/values.h"

namespace xpusim::gpu {

enum class ScalarKind : std::uint8_t {
  kConstant,   ///< value
  kParameter,  ///< value: number of the argument; 32 or 64 bits
  kProgramId,  ///< value: axis
  kGridSize,   ///< value: axis
  kRegister,   ///< computed by other instructions
  kMultiply,
  kAdd,
  kSubtract,
  kPointerAdd,  ///< left + right * value bytes
};

/// Integer and pointer scalars of a kernel, which all threads share. Each is computed where it is
/// first needed: on the uniform datapath or in lane registers, as the vendor's assembler chooses (a
/// product with one use and a block number that only addresses use are uniform; measured listings).
class ScalarGraph {
 public:
  explicit ScalarGraph(Builder& builder) : b_(builder) {}

  ScalarId constant(std::int64_t value) { return node(ScalarKind::kConstant, -1, -1, value); }
  ScalarId parameter(std::int64_t number) { return node(ScalarKind::kParameter, -1, -1, number); }
  ScalarId program_id(std::int64_t axis) { return node(ScalarKind::kProgramId, -1, -1, axis); }
  ScalarId grid_size(std::int64_t axis) { return node(ScalarKind::kGridSize, -1, -1, axis); }
  ScalarId in_register(VReg reg);
  /// The same of a register that holds multiples of `multiple` below `below`.
  ScalarId in_register(VReg reg, std::int64_t multiple, std::int64_t below);
  ScalarId in_uniform_register(VReg reg);
  /// A 64-bit pointer that moves on in a loop.
  ScalarId in_register_pair(VReg low, VReg high);
  bool is_moving_pointer(ScalarId id) const;
  /// Says that a counter has an upper half; upper_of(): that of the counter in a sum or product,
  /// or kNoVReg.
  void widen(ScalarId counter, VReg upper) { at(counter).upper = upper; }
  VReg upper_of(ScalarId id) const;
  /// Whether the node is what the register holds, by itself.
  bool is_register(ScalarId id, VReg reg) const {
    const Node& n = nodes_[static_cast<std::size_t>(id)];
    return n.kind == ScalarKind::kRegister && (n.general == reg || n.uniform == reg);
  }
  ScalarId multiply(ScalarId a, ScalarId b);
  ScalarId add(ScalarId a, ScalarId b);
  ScalarId subtract(ScalarId a, ScalarId b);
  ScalarId pointer_add(ScalarId pointer, ScalarId index, std::int64_t bytes) {
    return node(ScalarKind::kPointerAdd, pointer, index, bytes);
  }

  /// Says that the uniform datapath computes this node.
  void prefer_uniform(ScalarId id) { nodes_[static_cast<std::size_t>(id)].uniform_wanted = true; }
  bool is_constant(ScalarId id, std::int64_t* value) const;
  /// log2 of c if the node is x * c with a power of two c; `inner` becomes x.
  int shift_of(ScalarId id, ScalarId* inner) const;
  /// c if the node is x * c; `inner` becomes x.
  std::int64_t factor_of(ScalarId id, ScalarId* inner) const;

  /// A power of two that divides the value.
  std::int64_t multiple_of(ScalarId id) const;
  /// Whether the value is known to be smaller than a bound.
  bool is_below(ScalarId id, std::int64_t bound) const {
    return nodes_[static_cast<std::size_t>(id)].below <= bound;
  }

  /// The largest value that a block's number in the second or third dimension, times constants and
  /// plus them, can have (CUDA: below 65536); -1 for others, which may be negative.
  std::int64_t largest_natural(ScalarId id) const;
  /// Whether the value counts up from zero or more to a known bound.
  bool is_counter(ScalarId id) const {
    return nodes_[static_cast<std::size_t>(id)].below != std::numeric_limits<std::int64_t>::max();
  }

  VReg general(ScalarId id);                   ///< 32 bits in a lane register
  VReg uniform(ScalarId id);                   ///< 32 bits in a uniform register
  VReg operand(ScalarId id);                   ///< in whatever register is cheapest as a source
  std::pair<VReg, VReg> pointer(ScalarId id);  ///< 64 bits in a pair of lane registers

 private:
  struct Node {
    ScalarKind kind;
    ScalarId left, right;
    std::int64_t value;
    bool uniform_wanted = false;
    std::int64_t multiple = 1;  // kRegister: a power of two that divides it
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
    VReg general = kNoVReg, high = kNoVReg;  // high: of pointers
    VReg uniform = kNoVReg;
    VReg upper = kNoVReg;  // of a counter of 64 bits
  };

  ScalarId node(ScalarKind kind, ScalarId left, ScalarId right, std::int64_t value);
  Node& at(ScalarId id) { return nodes_[static_cast<std::size_t>(id)]; }
  const Node& at(ScalarId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  bool is_uniform(ScalarId id) const;
  void compute_general(ScalarId id);
  std::pair<VReg, VReg> pointer_by_uniform(ScalarId base, ScalarId index, std::int64_t bytes);

  Builder& b_;
  std::vector<Node> nodes_;
  std::map<std::tuple<ScalarKind, ScalarId, ScalarId, std::int64_t>, ScalarId> known_;
};

}  // namespace xpusim::gpu
