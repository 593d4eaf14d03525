#pragma once

#include <cstdint>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/assembler/stalls.h"

namespace xpusim::gpu {

/// What must come before an instruction, and how long before.
struct Edge {
  std::uint32_t to;
  std::int32_t latency;
  bool memory;  // by effects on memory, not by a register
};

struct Node {
  std::vector<Edge> after;            // who waits for this one
  std::vector<std::uint32_t> before;  // whose registers it needs, in the order of its operands
  int predecessors = 0;
};

/// The dependences of one block, by registers and by effects on memory. Global loads count with the
/// latency that is given: nobody knows it when code is put in order.
class DependenceGraph {
 public:
  DependenceGraph(const MachineCode& code, const MachineBlock& block, const CompilerParams& params,
                  std::int64_t load_guess);
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<UnitUse>& unit_uses() const { return unit_uses_; }  ///< [instruction]
  /// Whether the block keeps closer to the program's order: around wgmma, whose registers the
  /// tensor cores still read and write. Nothing fills its stalls, those of busy units are not
  /// looked at, and predicates are guessed late however they are read. (FIT: so the measured
  /// attentions come out; why is open.)
  bool in_program_order() const { return has_async_products_; }

 private:
  static constexpr std::uint32_t kNobody = ~0u;

  std::int64_t guess(const MachineInstruction& i, VReg result) const;
  void add(std::uint32_t from, std::uint32_t to, std::int64_t latency, bool memory = false);
  void read(std::uint32_t at, VReg r, bool guards);
  void order_registers(std::uint32_t at);
  void after_all(const std::vector<std::uint32_t>& earlier, std::uint32_t at);
  void order_effects(std::uint32_t at);

  const MachineCode& code_;
  const MachineBlock& block_;
  const CompilerParams& params_;
  std::int64_t load_guess_;
  bool has_async_products_;
  std::vector<Node> nodes_;
  std::vector<UnitUse> unit_uses_;
  std::vector<std::uint32_t> last_write_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::uint32_t barrier_ = kNobody;
  std::vector<std::uint32_t> global_loads_, global_stores_, shared_loads_, shared_stores_;
};

/// Cycles until the last instruction of this order issues, one a cycle, each when what it needs is
/// there and its unit takes it.
std::int64_t in_order_length(const DependenceGraph& graph, const std::vector<std::uint32_t>& order);

}  // namespace xpusim::gpu
