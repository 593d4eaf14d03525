// Branches: scf.if, scf.while, and functions of several blocks. Conditions are the same in all
// threads of a block, so that a warp takes one way. Which way is the execution trace's decision at
// the op's site.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/merge.h"
#include "sim/kernel/op_info.h"

namespace xpusim::gpu {
namespace {

MachineInstruction& branch(Lowering& l, const kernel::Op* op, Branch how, std::size_t target,
                           VReg guard = kNoVReg) {
  MachineInstruction& i = l.builder().emit(Opcode::kBra, "BRA", {}, {});
  i.branch = how;
  if (op != nullptr) i.site = l.site(*op);
  i.target = static_cast<std::int32_t>(target);
  i.guard = guard;
  i.effect = MemoryEffect::kEnd;
  return i;
}

std::size_t new_block(Lowering& l) {
  auto& blocks = l.builder().code().blocks;
  blocks.emplace_back();
  return blocks.size() - 1;
}
std::size_t last_block(Lowering& l) { return l.builder().code().blocks.size() - 1; }

/// The predicate of a condition; a constant takes a register all the same.
VReg condition(Lowering& l, const kernel::Value& value) {
  const Element e = l.elements(value)[0];
  if (e.reg != kNoVReg) return e.reg;
  const VReg p = l.builder().predicate();
  l.builder().emit(Opcode::kAlu, "PLOP3", {p}, {}, e.bits);
  return p;
}

/// Lowers the ops of a block but its terminator.
bool lower_body(Lowering& l, const kernel::Block& block) {
  for (std::size_t n = 0; n + 1 < block.ops.size(); ++n) {
    for (const auto& r : block.ops[n]->results) l.state(*r) = {};
    if (!l.lower(*block.ops[n])) return false;
  }
  return true;
}

const kernel::Block* body_of(const kernel::Op& op, std::size_t region) {
  if (op.regions.size() <= region || op.regions[region]->blocks.empty()) return nullptr;
  const kernel::Block& block = *op.regions[region]->blocks[0];
  return block.ops.empty() ? nullptr : &block;
}

/// Ops without an effect and not dear: the compiler computes them on both ways and selects.
constexpr std::int64_t kSpeculated = 4;

bool may_speculate(Lowering& l, const kernel::Op& op) {
  std::int64_t cost = 0;
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& inner : block->ops) {
        if (inner->name() == "scf.yield") continue;
        if (!inner->regions.empty() || inner->results.size() != 1) {
          return false;
        }
        const bool plain = inner->name().starts_with("arith.") || inner->name() == "tt.splat" ||
                           inner->name() == "tt.broadcast" || inner->name() == "tt.expand_dims";
        const kernel::Type type = inner->result()->type;
        const kernel::LinearLayout* layout =
            type->kind == kernel::TypeKind::kTensor ? l.layout(type, *inner) : nullptr;
        if (!plain) return false;
        if (inner->name() != "arith.constant") cost += layout ? layout->register_count() : 1;
      }
    }
  }
  return cost <= kSpeculated;
}

/// One result of both ways, selected by the condition.
bool select(Lowering& l, const kernel::Op& op, VReg which, const kernel::Value& yes,
            const kernel::Value& no, const kernel::Value& result) {
  if (result.type->is_pointer_like()) {
    return l.error(op, "pointers that come from several paths are not yet lowered for the GPU");
  }
  std::vector<Element> left = l.elements(yes), right = l.elements(no);
  const kernel::LinearLayout* layout = nullptr;
  if (result.type->kind == kernel::TypeKind::kTensor && !(layout = l.layout(result.type, op))) {
    return false;
  }
  const std::size_t count = layout ? layout->register_count() : 1;
  left.resize(count, left[0]);
  right.resize(count, right[0]);
  std::vector<Element> chosen;
  Builder& b = l.builder();
  for (std::size_t r = 0; r < count; ++r) {
    if (left[r] == right[r]) {
      chosen.push_back(left[r]);
      continue;
    }
    const Element x = l.whole(left[r]), y = l.whole(right[r]);
    if (result.type->dtype == kernel::DType::kI1) {
      Element p{b.predicate()};
      b.emit(Opcode::kAlu, "PLOP3", {p.reg}, {x.reg, y.reg, which}, x.bits ^ y.bits);
      chosen.push_back(p);
      continue;
    }
    const VReg first = x.is_constant() && y.is_constant() ? l.in_register(x) : x.reg;
    Element e{b.value(Opcode::kAlu, "SEL", {first, y.reg, which}, x.bits ^ y.bits)};
    if (kernel::bit_width(result.type->dtype) > 32) {
      e.high = b.value(Opcode::kAlu, "SEL", {l.high_half(x), l.high_half(y), which});
    }
    chosen.push_back(e);
  }
  l.set_elements(result, layout, std::move(chosen));
  return true;
}

bool if_by_selects(Lowering& l, const kernel::Op& op, VReg p) {
  const kernel::Block *yes = body_of(op, 0), *no = body_of(op, 1);
  if (!lower_body(l, *yes) || (no && !lower_body(l, *no))) return false;
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    const kernel::Value& left = *yes->ops.back()->operands[n];
    const kernel::Value& right = *no->ops.back()->operands[n];
    if (!select(l, op, p, left, right, *op.result(n))) return false;
  }
  return true;
}

bool arrive(Lowering& l, const kernel::Op& terminator, std::size_t skipped,
            std::vector<Merge>& merges, std::size_t first_block) {
  for (std::size_t n = 0; n < merges.size(); ++n) {
    if (!merges[n].arrive(l, terminator, *terminator.operands[n + skipped], first_block)) {
      return false;
    }
  }
  return true;
}

void set_target(Lowering& l, std::size_t block, std::size_t target) {
  l.builder().code().blocks[block].code.back().target = static_cast<std::int32_t>(target);
}

}  // namespace

/// What a condition of closed forms is known to be.
static std::optional<bool> known_condition(Lowering& l, const kernel::Value& value) {
  const ValueState& s = l.state(value);
  if (s.kind != ValueKind::kMask) return std::nullopt;
  for (const Comparison& c : s.comparisons) {
    if (c.left.scalar != kNoScalar || c.right.scalar != kNoScalar) return std::nullopt;
    if (c.left.layout || c.right.layout) return std::nullopt;
    if (!kernel::holds(c.how, c.left.offset, c.right.offset)) return false;
  }
  return true;
}

/// The side that is taken, and nothing of the other.
static bool lower_side(Lowering& l, const kernel::Op& op, const kernel::Block* side) {
  if (side == nullptr) return true;
  for (const auto& inner : side->ops) {
    if (inner->name() == "scf.yield") {
      for (std::size_t n = 0; n < op.results.size(); ++n) {
        l.state(*op.result(n)) = l.operand(*inner, n);
        l.state(*op.result(n)).alias = true;
      }
      continue;
    }
    for (const auto& result : inner->results) l.state(*result) = {};
    if (!l.lower(*inner)) return false;
  }
  return true;
}

/// A number that a condition compares with a constant, and what each side of the branch knows of
/// it: where it can only be one value, it is a constant there.
class Compared {
 public:
  Compared(Lowering& l, const kernel::Value& condition) : l_(l) {
    const kernel::Op* compare = condition.def;
    if (compare == nullptr || compare->name() != "arith.cmpi") return;
    const auto bound = kernel::integer_constant(*compare->operands[1]);
    const kernel::Value& number = *compare->operands[0];
    const ValueState& s = l.state(number);
    if (!bound || s.kind != ValueKind::kIndex || s.index.scalar == kNoScalar || s.index.layout)
      return;
    number_ = &number;
    how_ = kernel::compare_of(*compare);
    bound_ = *bound;
    const auto known = l.ranges.find(number.id);
    const bool block_number = number.def != nullptr && number.def->name() == "tt.get_program_id";
    before_ = known != l.ranges.end() ? known->second
                                      : Lowering::Range{block_number ? 0 : INT32_MIN, INT32_MAX};
  }

  void enter(bool holds) {
    if (number_ == nullptr) return;
    Lowering::Range range = before_;
    const bool less = how_ == kernel::Compare::kSlt || how_ == kernel::Compare::kSle;
    const bool greater = how_ == kernel::Compare::kSgt || how_ == kernel::Compare::kSge;
    const std::int64_t past =
        how_ == kernel::Compare::kSlt || how_ == kernel::Compare::kSge ? 0 : 1;
    if (less || greater) {  // below bound + past, or from there on
      if (less == holds) {
        range.most = std::min(range.most, bound_ + past - 1);
      } else {
        range.least = std::max(range.least, bound_ + past);
      }
    } else if ((how_ == kernel::Compare::kEq && holds) ||
               (how_ == kernel::Compare::kNe && !holds)) {
      range.least = range.most = bound_;
    }
    l_.ranges[number_->id] = range;
    if (range.least != range.most) return;
    saved_ = l_.state(*number_);
    ValueState constant;
    constant.kind = ValueKind::kIndex;
    constant.index.offset = range.least;
    l_.state(*number_) = constant;
  }

  void leave() {
    if (number_ == nullptr) return;
    l_.ranges[number_->id] = before_;
    if (saved_) l_.state(*number_) = *saved_;
    saved_.reset();
  }

 private:
  Lowering& l_;
  const kernel::Value* number_ = nullptr;
  kernel::Compare how_ = kernel::Compare::kUnknown;
  std::int64_t bound_ = 0;
  Lowering::Range before_;
  std::optional<ValueState> saved_;
};

/// Whether nothing of the function comes after an op: its ways need not meet again.
static bool ends_function(const Lowering& l, const kernel::Op& op) {
  if (l.groups().specialize) return false;  // other warps are told first
  for (const kernel::Op* at = &op;; at = at->parent->parent->parent) {
    const auto& ops = at->parent->ops;
    if (ops.size() < 2 || ops[ops.size() - 2].get() != at) return false;
    const kernel::Op& last = *ops.back();
    if (last.name() == "tt.return") return l.is_entry(*at->parent);
    if (last.name() != "scf.yield" || !last.operands.empty()) return false;
    if (at->parent->parent->parent->name() != "scf.if") return false;
  }
}

/// Taken ways that meet again stand between BSSY and BSYNC, which the assembler places where it
/// does not know that the condition is the same in all lanes.
bool lower_if(Lowering& l, const kernel::Op& op) {
  const kernel::Block *yes = body_of(op, 0), *no = body_of(op, 1);
  if (!yes || (!no && !op.results.empty())) return l.error(op, "scf.if without a side it needs");
  if (l.copy.of > 1) {  // in the copies of a loop's body the variable is a number
    if (const auto known = known_condition(l, *op.operands[0])) {
      return lower_side(l, op, *known ? yes : no);
    }
  }
  const VReg p = condition(l, *op.operands[0]);
  if (!op.results.empty() && may_speculate(l, op)) return if_by_selects(l, op, p);
  std::vector<Merge> merges;
  for (const auto& result : op.results) {
    auto merge = Merge::make(l, op, *result);
    if (!merge) return false;
    merges.push_back(std::move(*merge));
  }
  const bool last = ends_function(l, op);
  Compared compared(l, *op.operands[0]);
  if (!last) l.builder().emit(Opcode::kNop, "BSSY", {}, {});
  const std::size_t before = last_block(l);
  branch(l, &op, Branch::kIfZero, 0, p);
  const auto side = [&](const kernel::Block& block, bool holds) {
    const std::size_t first = new_block(l);
    compared.enter(holds);
    const bool fine = lower_body(l, block) && arrive(l, *block.ops.back(), 0, merges, first);
    compared.leave();
    if (fine && last) end_program(l);
    l.conditional_blocks.push_back({before, first, last_block(l)});
    return fine;
  };
  if (!side(*yes, true)) return false;
  const std::size_t yes_end = last_block(l);
  if (no) {
    if (!last) branch(l, nullptr, Branch::kAlways, 0);
    set_target(l, before, yes_end + 1);
    if (!side(*no, false)) return false;
    if (last) return true;
  }
  const std::size_t join = new_block(l);
  set_target(l, no ? yes_end : before, join);
  if (!last) l.builder().emit(Opcode::kNop, "BSYNC", {}, {});
  for (std::size_t n = 0; n < merges.size(); ++n) merges[n].set(l, *op.result(n));
  return true;
}

namespace {

/// Accesses to memory and control flow leave records: such code may stand in a program only once.
bool leaves_records(const kernel::Op& op) {
  constexpr std::uint32_t kPlain = kernel::kPure | kernel::kElementwise | kernel::kTerminator;
  return (op.info->effects & ~kPlain) != 0;
}

bool has_sites(const kernel::Block& block) {
  return std::any_of(block.ops.begin(), block.ops.end(),
                     [&](const auto& op) { return leaves_records(*op); });
}

std::optional<std::vector<Merge>> merges_of(Lowering& l, const kernel::Op& op,
                                            const kernel::Block& block) {
  std::vector<Merge> merges;
  for (const auto& arg : block.args) {
    auto merge = Merge::make(l, op, *arg);
    if (!merge) return std::nullopt;
    merges.push_back(std::move(*merge));
  }
  return merges;
}

/// The end of a loop that began with block `first`: back if the condition holds. Returns the block
/// after it.
std::size_t repeat(Lowering& l, const kernel::Op& op, std::size_t first, VReg more) {
  branch(l, &op, Branch::kIfSet, first, more);
  l.builder().code().blocks.back().loop_begin = static_cast<int>(first);
  return new_block(l);
}

/// The results are what the condition passes on when it ends the loop.
void finish(Lowering& l, const kernel::Op& op, const kernel::Op& condition) {
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    l.state(*op.result(n)) = l.state(*condition.operands[n + 1]);
    l.state(*op.result(n)).alias = true;
  }
}

/// The condition is tested before the loop and again at the end of each iteration.
bool rotated_while(Lowering& l, const kernel::Op& op, const kernel::Block& test,
                   const kernel::Block& body) {
  for (std::size_t n = 0; n < test.args.size(); ++n) {
    l.state(*test.args[n]) = l.operand(op, n);
    l.state(*test.args[n]).alias = true;
  }
  const kernel::Op& decides = *test.ops.back();
  if (!lower_body(l, test)) return false;
  auto merges = merges_of(l, op, body);
  if (!merges || !arrive(l, decides, 1, *merges, last_block(l) + 1)) return false;
  const std::size_t before = last_block(l);
  branch(l, &op, Branch::kIfZero, 0, condition(l, *decides.operands[0]));
  const std::size_t first = new_block(l);
  for (std::size_t n = 0; n < merges->size(); ++n) (*merges)[n].set(l, *body.args[n]);
  if (!lower_body(l, body)) return false;
  const kernel::Op& yield = *body.ops.back();
  for (std::size_t n = 0; n < test.args.size(); ++n) {
    l.state(*test.args[n]) = l.operand(yield, n);
    l.state(*test.args[n]).alias = true;
  }
  if (!lower_body(l, test)) return false;
  const VReg more = condition(l, *decides.operands[0]);
  if (!arrive(l, decides, 1, *merges, first)) return false;
  const std::size_t end = repeat(l, op, first, more);
  l.conditional_blocks.push_back({before, first, end - 1});
  set_target(l, before, end);
  for (std::size_t n = 0; n < op.results.size(); ++n) (*merges)[n].set(l, *op.result(n));
  return true;
}

/// The test has effects of its own, so that it stands in the code once: at the loop's begin.
bool while_with_test_first(Lowering& l, const kernel::Op& op, const kernel::Block& test,
                           const kernel::Block& body) {
  auto merges = merges_of(l, op, test);
  if (!merges) return false;
  for (std::size_t n = 0; n < merges->size(); ++n) {
    if (!(*merges)[n].arrive(l, op, *op.operands[n], last_block(l) + 1)) return false;
  }
  const std::size_t first = new_block(l);
  l.take_shared_dirty();  // by the iteration before
  for (std::size_t n = 0; n < merges->size(); ++n) (*merges)[n].set(l, *test.args[n]);
  const kernel::Op& decides = *test.ops.back();
  if (!lower_body(l, test)) return false;
  const VReg more = condition(l, *decides.operands[0]);
  for (std::size_t n = 0; n < body.args.size(); ++n) {
    l.state(*body.args[n]) = l.state(*decides.operands[n + 1]);
    l.state(*body.args[n]).alias = true;
  }
  const bool empty = body.ops.size() == 1;
  const std::size_t decided = last_block(l);
  if (!empty) {
    branch(l, &op, Branch::kIfZero, 0, more);
    const std::size_t second = new_block(l);
    if (!lower_body(l, body)) return false;
    if (!arrive(l, *body.ops.back(), 0, *merges, first)) return false;
    branch(l, nullptr, Branch::kAlways, first);
    l.builder().code().blocks.back().loop_begin = static_cast<int>(first);
    l.conditional_blocks.push_back({decided, second, last_block(l)});
    set_target(l, decided, new_block(l));
  } else {
    if (!arrive(l, *body.ops.back(), 0, *merges, first)) return false;
    repeat(l, op, first, more);
  }
  finish(l, op, decides);
  return true;
}

}  // namespace

bool lower_while(Lowering& l, const kernel::Op& op) {
  const kernel::Block *test = body_of(op, 0), *body = body_of(op, 1);
  if (!test || !body || test->ops.back()->name() != "scf.condition") {
    return l.error(op, "scf.while needs a condition and a body");
  }
  return has_sites(*test) ? while_with_test_first(l, op, *test, *body)
                          : rotated_while(l, op, *test, *body);
}

namespace {

/// Blocks of a function and where their code begins; what they are passed arrives in registers.
class Blocks {
 public:
  Blocks(Lowering& l, const kernel::Region& body) : l_(l), body_(body) {}

  bool run() {
    for (const auto& block : body_.blocks) {
      if (block == body_.blocks[0] || block->args.empty()) continue;
      for (const auto& arg : block->args) {
        auto merge = Merge::make(l_, *block->ops[0], *arg);
        if (!merge) return false;
        arrivals_[block.get()].push_back(std::move(*merge));
      }
    }
    for (const auto& block : body_.blocks) {
      const std::size_t first = block == body_.blocks[0] ? 0 : new_block(l_);
      begins_[block.get()] = first;
      for (std::size_t n = 0; n < block->args.size() && first != 0; ++n) {
        arrivals_[block.get()][n].set(l_, *block->args[n]);
      }
      const std::size_t before = first == 0 ? 0 : first - 1;
      if (!lower_body(l_, *block) || !leave(*block->ops.back(), first)) return false;
      if (first != 0) l_.conditional_blocks.push_back({before, first, last_block(l_)});
    }
    for (const auto& [at, target] : jumps_) set_target(l_, at, begins_.at(target));
    return true;
  }

 private:
  bool leave(const kernel::Op& op, std::size_t first) {
    if (op.name() == "cf.br") {
      if (!pass(op, *op.successors[0], 0, first)) return false;
      jump(nullptr, Branch::kAlways, kNoVReg, op.successors[0]);
      return true;
    }
    if (op.name() != "cf.cond_br") return l_.lower(op);
    const kernel::Block *yes = op.successors[0], *no = op.successors[1];
    const VReg p = condition(l_, *op.operands[0]);
    // What either way is passed is put in place before the branch.
    if (!pass(op, *yes, 1, first) || !pass(op, *no, 1 + yes->args.size(), first)) return false;
    jump(&op, Branch::kIfZero, p, no);
    new_block(l_);
    jump(nullptr, Branch::kAlways, kNoVReg, yes);
    return true;
  }
  bool pass(const kernel::Op& op, const kernel::Block& to, std::size_t operand, std::size_t first) {
    for (std::size_t n = 0; n < to.args.size(); ++n) {
      if (!arrivals_.at(&to)[n].arrive(l_, op, *op.operands[operand + n], first)) return false;
    }
    return true;
  }
  void jump(const kernel::Op* op, Branch how, VReg guard, const kernel::Block* to) {
    branch(l_, op, how, 0, guard);
    jumps_.emplace_back(last_block(l_), to);
  }

  Lowering& l_;
  const kernel::Region& body_;
  std::map<const kernel::Block*, std::vector<Merge>> arrivals_;
  std::map<const kernel::Block*, std::size_t> begins_;
  std::vector<std::pair<std::size_t, const kernel::Block*>> jumps_;
};

}  // namespace

bool lower_blocks(Lowering& l, const kernel::Region& body) { return Blocks(l, body).run(); }

}  // namespace xpusim::gpu
