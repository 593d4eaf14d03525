#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "models/gpu/compiler/machine_code.h"

namespace xpusim::gpu {

/// Who makes and who reads the registers of one block.
struct BlockUses {
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  BlockUses(const MachineCode& code, std::size_t block);

  /// An unguarded instruction of one result, whose registers are written once.
  bool is_plain(const MachineInstruction& i) const;
  /// Whether just one instruction reads a register, of this block.
  bool read_once(VReg r) const { return readers[r].size() == 1 && !read_elsewhere[r]; }

  std::vector<int> writes;                        ///< [vreg] in the whole code
  std::vector<std::size_t> maker;                 ///< [vreg] in this block, or kNowhere
  std::vector<std::vector<std::size_t>> readers;  ///< [vreg] in this block
  std::vector<bool> read_elsewhere;               ///< [vreg] in other blocks, or as a guard
};

/// Takes instructions out of a block.
void remove(MachineBlock& block, const std::set<std::size_t>& places);

}  // namespace xpusim::gpu
