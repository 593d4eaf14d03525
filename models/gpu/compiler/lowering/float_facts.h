#pragma once

// What the compiler knows of 32-bit floats in registers: bounds, signs of zeros, whether they are
// numbers, and selects of which the two ways may be told apart later.

#include <map>
#include <optional>
#include <string_view>

#include "models/gpu/compiler/lowering/values.h"
#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Bounds of a float if it is a number, and what it may be besides; anything unless something is
/// known.
struct FloatFact {
  float low, high;
  bool minus_zero = true;  ///< may be -0
  bool nan = true;         ///< may be no number

  static FloatFact anything();
  static FloatFact of(float value);
  bool is_finite() const;
};

/// A select that one instruction reads: the choice between two elements.
struct Choice {
  Element condition, yes, no;
};

/// What is known of floats, and what follows from it. Rounding moves no bound that matters here.
class FloatFacts {
 public:
  FloatFact of(const Element& e) const;
  void set(VReg reg, const FloatFact& fact);
  /// Notes what an arith op makes of two elements.
  void note(std::string_view op, VReg result, const Element& x, const Element& y);
  /// Notes that a register holds either of two elements.
  void note_either(VReg result, const Element& x, const Element& y);
  /// What needs no instruction: ops on constants, and what adds nothing.
  std::optional<Element> fold(std::string_view op, const Element& x, const Element& y) const;
  /// A comparison (the number of its MLIR predicate) whose result is known.
  std::optional<bool> compare(std::int64_t predicate, const Element& x, const Element& y) const;

  void set_choice(VReg reg, const Choice& choice) { choices_[reg] = choice; }
  const Choice* choice(const Element& e) const;

 private:
  std::map<VReg, FloatFact> facts_;
  std::map<VReg, Choice> choices_;
};

/// A comparison of x with a constant that also holds where x is a NaN (x > c or x != x): one
/// instruction.
struct UnorderedCompare {
  const kernel::Op* compare = nullptr;  ///< x > c
};
/// Finds it in an `arith.ori`.
std::optional<UnorderedCompare> unordered_compare(const kernel::Op& ori);

/// A selection that is the larger or the smaller of x and a constant, unless x is a NaN.
struct Extremum {
  bool minimum = false;
};
std::optional<Extremum> extremum_of(const kernel::Op& select);

}  // namespace xpusim::gpu
