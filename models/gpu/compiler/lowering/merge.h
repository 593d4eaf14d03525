#pragma once

#include <optional>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// Registers in which a value arrives over several paths: from the sides of a branch, from before a
/// loop and from its end.
class Merge {
 public:
  /// Fresh registers for a value; none after an error (pointers are not modelled).
  static std::optional<Merge> make(Lowering& l, const kernel::Op& op, const kernel::Value& value);

  /// At the end of a path that began with block `first_block`: the registers become what `value`
  /// holds. Where an instruction of this path alone makes it, that one writes the register itself.
  bool arrive(Lowering& l, const kernel::Op& op, const kernel::Value& value,
              std::size_t first_block);
  /// The value that has arrived.
  void set(Lowering& l, const kernel::Value& value) const;

 private:
  std::vector<Element> elements_;
  const kernel::LinearLayout* layout_ = nullptr;
};

/// Values that are computed once, where they are first needed, and used outside the conditional
/// blocks too: moves them before the branch, with what they are made of. Regions in the order in
/// which they were closed.
void lift_shared_values(MachineCode& code, const std::vector<ConditionalBlocks>& regions);

}  // namespace xpusim::gpu
