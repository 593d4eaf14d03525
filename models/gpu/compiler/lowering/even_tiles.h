#pragma once

#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::gpu {

/// Which values of a kernel hold one number in all their elements, through loops and branches too:
/// the vendor's compiler finds that a thread's copies of it are equal and keeps one. Masks that
/// hold everywhere by the bounds of ranges and loops count as constants.
class EvenTiles {
 public:
  explicit EvenTiles(const kernel::Function& function);
  bool contains(const kernel::Value& value) const { return !uneven_[value.id]; }

 private:
  bool visit(const kernel::Region& region);
  bool visit(const kernel::Op& op);
  bool mark(const kernel::Value& value, bool even);
  bool is_even(const kernel::Op& op) const;

  std::vector<bool> uneven_;  // [value id]
};

}  // namespace xpusim::gpu
