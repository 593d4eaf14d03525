#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/gpu/compiler/compiler.h"
#include "models/gpu/compiler/lowering/builder.h"
#include "models/gpu/compiler/lowering/cache_policies.h"
#include "models/gpu/compiler/lowering/even_tiles.h"
#include "models/gpu/compiler/lowering/float_facts.h"
#include "models/gpu/compiler/lowering/index_math.h"
#include "models/gpu/compiler/lowering/scalars.h"
#include "models/gpu/compiler/lowering/shared_plan.h"
#include "models/gpu/compiler/lowering/uniform_values.h"
#include "models/gpu/compiler/lowering/values.h"
#include "models/gpu/compiler/warp_groups.h"
#include "sim/kernel/analysis/axis_info.h"

namespace xpusim::gpu {

class Lowering;
/// Lowers one op. Returns false after an error, which has been reported then.
using LowerOp = bool (*)(Lowering&, const kernel::Op&);
/// The lowering of an op by name, or null.
LowerOp find_lowering(std::string_view op);
/// Whether an op has a lowering, its own or as part of the op around it (the returns of regions).
bool is_lowered(std::string_view op);

/// Blocks that run only if the branch at the end of block `before` says so.
struct ConditionalBlocks {
  std::size_t before = 0, first = 0, last = 0;
};

/// What the code of all warps of a block refers to.
struct KernelTables {
  std::vector<SiteLayout> sites;
  std::vector<SourcePosition> lines;
  std::vector<SharedLanes> shared_lanes;
  std::int64_t shared_bytes = 0;
};

/// The lowering of what one group of warps runs of a function: the state that the ops' lowerings
/// share. An op's own lowering is a free function in the file of its kind (float_ops.cpp,
/// memory_ops.cpp, ...), listed in op_table.cpp.
class Lowering {
 public:
  /// `group`: of the block's warps, which it lowers the code for; adds to `tables`.
  Lowering(const kernel::Module& module, const kernel::Function& function, const SiteOf& site_of,
           const WarpGroups& groups, std::size_t group, KernelTables& tables);

  Expected<MachineCode> run();

  Builder& builder() { return builder_; }
  ScalarGraph& scalars() { return scalars_; }
  IndexMath& index_math() { return index_math_; }
  kernel::AxisAnalysis& axes() { return axes_; }
  int num_warps() const { return group_.warps; }
  const WarpGroups& groups() const { return groups_; }
  const WarpGroup& group() const { return group_; }
  /// The compute capability that the kernel is compiled for, times ten.
  int capability() const;

  ValueState& state(const kernel::Value& value) { return states_[value.id]; }
  ValueState& operand(const kernel::Op& op, std::size_t i) { return states_[op.operands[i]->id]; }
  /// The layout of a tile's type, remembered; null (and an error reported) if it is not modelled.
  const kernel::LinearLayout* layout(kernel::Type type, const kernel::Op& op);
  /// The elements of a value in registers; closed forms and masks are computed now. None for
  /// pointers.
  const std::vector<Element>& elements(const kernel::Value& value);
  /// The element as a register that it begins: constants are moved into one, upper parts extracted.
  VReg in_register(const Element& element);
  /// The element itself, or its extracted copy if it does not begin its register.
  Element whole(const Element& element);
  /// The upper half of an element of 64 bits: its own register, or the lower half's sign.
  VReg high_half(const Element& element);
  void set_elements(const kernel::Value& value, const kernel::LinearLayout* layout,
                    std::vector<Element> elements);

  /// The predicate of a mask value for one register of its layout; kNoVReg: it holds in all lanes.
  VReg predicate(const kernel::Value& mask, std::uint32_t reg);
  /// Whether a mask is known to hold in no lane for one register of its layout.
  bool never_holds(const kernel::Value& mask, std::uint32_t reg);
  /// The first register of a value's layout that surely holds the same as `reg`: runs of equal
  /// elements, as the axis analysis finds them.
  std::uint32_t same_register(const kernel::Value& value, const kernel::LinearLayout& layout,
                              std::uint32_t reg);
  /// The same of a conjunction of comparisons, and of another predicate.
  VReg predicate(std::span<const Comparison> comparisons, std::uint32_t reg, VReg also = kNoVReg);
  /// Comparisons that hold in the code that is being lowered, which a branch skips otherwise.
  std::vector<Comparison> assumed;
  /// What masks come to under these, which holds no longer than they do.
  std::map<const kernel::Value*, std::vector<Element>> assumed_elements;
  /// A predicate that holds in the lanes of the block of which (tid & bits) == 0; computed once.
  VReg tid_bits_clear(std::uint32_t bits);

  /// Lowers the body of a combining region (tt.reduce) on single elements.
  bool combine(const kernel::Op& op, std::span<const Element> left, std::span<const Element> right,
               std::vector<Element>& result);

  std::uint32_t site(const kernel::Op& op) const { return site_of_(op); }
  SiteLayout& site_layout(std::uint32_t site);
  /// Which copy of the code around it is being lowered, of how many: loops that are unrolled.
  struct Copy {
    std::uint32_t number = 0, of = 1;
  };
  Copy copy;
  /// The memory descriptor that every access to global memory names; loaded once.
  VReg descriptor();
  CachePolicies& cache_policies() { return cache_policies_; }
  /// The base of shared memory in a uniform register; computed once.
  VReg shared_base();
  /// The warp's number in its block in a uniform register; computed once.
  VReg warp_number();
  /// Whether all elements of a value are one number.
  bool is_even(const kernel::Value& value) const { return even_.contains(value); }
  const SharedPlan& shared_plan() const { return shared_plan_; }
  /// Notes where lanes go in shared memory; its number is for MachineInstruction::shared_lanes.
  std::uint32_t add_shared_lanes(SharedLanes lanes);
  /// Bytes that an op needs for itself, beyond the buffers that are alive.
  void use_shared(std::int64_t bytes);
  /// Places a barrier before shared memory is used again.
  bool take_shared_dirty();
  /// All threads of the group meet; with barrier() shared memory is known to be free then.
  void meet();
  void barrier() {
    meet();
    shared_dirty_ = false;
  }
  /// A named barrier of so many warps (0: all of the block).
  void meet_at(int number, int warps);
  /// Whether no asynchronous copy has been lowered yet; there is one from now on.
  bool take_first_copy() { return !std::exchange(copies_, true); }
  /// Whether the uniform datapath computes an integer.
  bool is_uniform(const kernel::Value& value) const { return uniform_.contains(value); }
  /// A closed form without coordinates in a uniform register.
  VReg uniform(const IndexForm& form);

  /// Whether a block is the function's own.
  bool is_entry(const kernel::Block& block) const { return &block == &function_.entry(); }
  /// Whether a value is an argument of the function.
  bool is_parameter(const kernel::Value& value) const {
    return value.def == nullptr && value.owner == &function_.entry();
  }
  const kernel::Function& function() const { return function_; }
  std::int64_t parameter_count() const {
    return static_cast<std::int64_t>(function_.entry().args.size());
  }

  std::size_t use_count(const kernel::Value& value) const { return uses_[value.id].size(); }
  const std::vector<const kernel::Op*>& users(const kernel::Value& value) const {
    return uses_[value.id];
  }
  /// Whether no op after this one reads the value.
  bool is_last_use(const kernel::Value& value, const kernel::Op& op) const;
  bool lower(const kernel::Op& op);
  /// Lowers a call of another function.
  bool call(const kernel::Op& op);
  bool error(const kernel::Op& op, std::string message);

  /// Reciprocals of divisors, which divisions share (see float_ops.cpp).
  struct Reciprocal {
    VReg large, normal, value;  // predicates: |d| > 2^126, |d| >= 2^-126; kNoVReg: not, surely
  };
  std::map<VReg, Reciprocal> reciprocals;
  FloatFacts float_facts;
  /// What copies by TMA share (see tma_ops.cpp).
  struct TmaRegisters {
    std::pair<VReg, VReg> parameters{kNoVReg, kNoVReg};          // address of the parameters
    std::pair<VReg, VReg> uniform_parameters{kNoVReg, kNoVReg};  // ... on the uniform datapath
    VReg warp = kNoVReg;                                         // number of the warp, uniform
    std::map<std::uint32_t, VReg> part_numbers;                  // by the warps that share a box
    std::set<VReg> placed;     // coordinates that a copy has taken
    std::int64_t scratch = 0;  // bytes of a block's scratch memory
  };
  TmaRegisters tma;
  /// What is known of scalars on the way that is being lowered: [value id] least and most.
  struct Range {
    std::int64_t least = 0, most = 0;
  };
  std::map<std::uint32_t, Range> ranges;
  /// Code that runs on a condition, in the order in which it was closed.
  std::vector<ConditionalBlocks> conditional_blocks;
  /// Results of max(x, 0): x.
  std::map<VReg, VReg> raised_to_zero;
  /// Registers that are another one plus a constant; powers of two that divide registers.
  struct ConstantSum {
    VReg rest = kNoVReg;
    std::uint32_t constant = 0;
  };
  std::map<VReg, ConstantSum> constant_sums;
  std::map<VReg, std::uint32_t> multiples;
  /// First steps of library functions: [mnemonic, sources, number] their results.
  std::map<std::tuple<std::string_view, VReg, VReg, std::uint32_t>, VReg> function_steps;
  /// Operands of exclusive ors, which another one may undo; predicates that became numbers.
  std::map<VReg, std::pair<Element, Element>> exclusive_ors;
  std::map<VReg, Element> was_predicate;
  /// In `bits` of an element in a predicate register: it holds where the predicate does not.
  static constexpr std::uint32_t kNegated = 1u << 31;

 private:
  void count_uses(const kernel::Region& body);
  /// A comparison with a constant for one register, if it is the same in all lanes: it holds
  /// (kHolds, kFails), or it is one of uniform numbers, which `simpler` becomes.
  enum class Known : std::uint8_t { kNothing, kHolds, kFails, kUniform };
  Known simplify(const Comparison& c, std::uint32_t reg, Comparison& simpler) const;
  void bind_arguments();
  void lower_function();
  bool refuse_unknown_ops(const kernel::Region& body);
  /// The op itself, or the first one that depends on it, whose place in the source is known. Null:
  /// none.
  const kernel::Op* first_located(const kernel::Op& op);
  /// The source line that an op's instructions count for: where its own is unknown (constants that
  /// a compiler pass made), that of its first user; else the function's; in kernels that name no
  /// source at all, the op's place in the IR.
  std::uint32_t line_of(const kernel::Op& op);
  std::uint32_t line_number(const SourcePosition& at);

  const kernel::Module& module_;
  const kernel::Function& function_;
  const SiteOf& site_of_;
  const WarpGroups& groups_;
  const WarpGroup& group_;
  KernelTables& out_;
  MachineCode code_;
  Builder builder_;
  ScalarGraph scalars_;
  IndexMath index_math_;
  CachePolicies cache_policies_;
  kernel::AxisAnalysis axes_;
  SharedPlan shared_plan_;
  UniformValues uniform_;
  EvenTiles even_;
  const kernel::Op* current_ = nullptr;  // that is being lowered
  Diagnostics diagnostics_;
  std::vector<Element> no_elements_;
  std::vector<ValueState> states_;                                    // [value id]
  std::vector<std::vector<const kernel::Op*>> uses_;                  // [value id]
  std::unordered_map<const kernel::Op*, const kernel::Op*> located_;  // answers of first_located
  std::map<std::pair<kernel::Attr, std::vector<std::int64_t>>,
           std::unique_ptr<kernel::LinearLayout>>
      layouts_;
  void compare_uppers(const Comparison& c, VReg left, VReg right, VReg& predicate);
  VReg upper(const IndexForm& form, VReg low, VReg of_counter);

  std::map<std::tuple<VReg, VReg, VReg, kernel::Compare, std::int64_t>, VReg> comparisons_;
  std::map<VReg, VReg> uppers_;  ///< of what is compared with counters of 64 bits, by lower halves
  std::map<std::uint32_t, VReg> tid_predicates_;
  std::map<Element, VReg> extracted_;
  VReg descriptor_ = kNoVReg, shared_base_ = kNoVReg, warp_number_ = kNoVReg;
  std::int64_t shared_bytes_ = 0;
  bool shared_dirty_ = false, copies_ = false;
};

}  // namespace xpusim::gpu
