#pragma once

// What the values of a Triton function are to a TPU: data in registers, or indices and addresses
// that end up in DMA descriptors.

#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::tpu {

/// Two facts about each value of a function. Values around loops are followed until nothing
/// changes.
class TritonValues {
 public:
  explicit TritonValues(const kernel::Function& function);

  /// It depends on what was loaded. Everything else (program numbers, ranges, arguments, loop
  /// counters) is known before the step runs.
  bool is_loaded(const kernel::Value& v) const { return loaded_[v.id]; }
  /// Something that stays on the chip is computed from it: it has to be in registers. Values that
  /// only make addresses and masks of loads and stores do not.
  bool is_needed(const kernel::Value& v) const { return needed_[v.id]; }

 private:
  bool find_loaded(const kernel::Block& block);
  bool mark_loaded(const kernel::Value& v, bool loaded);
  bool find_loaded_for(const kernel::Op& loop);
  void find_roots(const kernel::Block& block);
  void need(const kernel::Value& v);
  void need_op(const kernel::Op& op, const kernel::Value& v);

  std::vector<bool> loaded_, needed_;
};

/// The operands of a block's last op: what an scf region hands on.
std::vector<const kernel::Value*> yielded(const kernel::Block& block);

}  // namespace xpusim::tpu
