// Atomics on global memory.

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/memory_vectors.h"
#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWordBytes = 4;

struct MemoryOrder {
  bool acquire, release;
};

/// What an atomic orders beyond its own thread block.
MemoryOrder memory_order(const kernel::Op& op) {
  enum Semantic { kAcquire = 2, kRelease = 3, kAcquireRelease = 4 };
  constexpr int kBlockScope = 2;
  const auto semantic = op.int_attr("sem");
  if (op.int_attr("scope") == kBlockScope) return {false, false};
  return {semantic == kAcquire || semantic == kAcquireRelease,
          semantic == kRelease || semantic == kAcquireRelease};
}

/// Atomics take one element an instruction, but for sums of floats. What is released waits for a
/// fence before it (MEMBAR and the two barriers for errors that follow one), what is acquired
/// empties the L1 after it; both at the scope of the GPU. Code of several instructions is branched
/// around in idle warps. Relaxed atomics without a use return nothing (RED). Not modelled: loops of
/// compare-and-swap, in which the vendor's compiler adds f16 and bf16.
class Atomic {
 public:
  Atomic(Lowering& l, const kernel::Op& op) : l_(l), b_(l.builder()), op_(op) {
    order_ = memory_order(op);
    used_ = l.use_count(*op.result()) != 0;
  }

  /// `data`: the operands that the instruction takes after the address.
  bool run(std::size_t data, std::size_t count, const kernel::Value* mask) {
    const bool swaps = count == 2;
    if (!cut_access(l_, op_, *op_.operands[0], mask, adds_vectors(swaps) ? kAnyWidth : 1, v_))
      return false;
    const bool scalar = !v_.layout;
    if (scalar) {
      SiteLayout& site = l_.site_layout(l_.site(op_));
      site.lane_zero_only = site.warp_zero_only = true;
    }
    std::vector<std::vector<Element>> operands;
    for (std::size_t n = 0; n < count; ++n)
      operands.push_back(l_.elements(*op_.operands[data + n]));
    for (const auto& o : operands) {
      if (o.empty()) return l_.error(op_, "an operand has no value in registers");
    }
    std::vector<Element> result(v_.layout ? v_.layout->register_count() : 1);
    for (std::uint32_t n = 0; n < v_.first.size(); ++n) {
      const VReg guard = store_guard(l_, v_, mask, v_.first[n], scalar);
      std::vector<VReg> words;
      for (const auto& o : operands) {
        for (VReg w : stored_words(l_, v_, o, v_.first[n])) words.push_back(w);
      }
      result[v_.first[n]] = perform(n, guard, words, swaps);
    }
    if (!used_) return true;
    if (scalar) result = {broadcast(result[0])};
    if (v_.layout) {
      const std::uint32_t copies = v_.layout->copy_registers();
      for (std::uint32_t r = 0; r < result.size(); ++r) result[r] = result[r & ~copies];
    }
    l_.set_elements(*op_.result(), v_.layout, std::move(result));
    return true;
  }

 private:
  /// From sm_90 on, floating-point sums take as many elements at once as a load would.
  bool adds_vectors(bool swaps) const {
    constexpr int kFirst = 90;
    return !swaps && !used_ && l_.capability() >= kFirst && adds_floats() &&
           kernel::bit_width(op_.result()->type->dtype) <= 32;
  }
  bool adds_floats() const {
    constexpr std::int64_t kFloatSum = 5;  // "fadd", as the op numbers its operations
    return op_.int_attr("atomic_rmw_op") == kFloatSum;
  }
  std::string_view mnemonic(bool swaps, bool returns) const {
    if (swaps) return "ATOMG.E.CAS";
    if (adds_floats()) return returns ? "ATOMG.E.ADD.F" : "RED.E.ADD.F";
    return returns ? "ATOMG.E" : "RED.E";
  }

  Element perform(std::uint32_t number, VReg guard, const std::vector<VReg>& words, bool swaps) {
    const Address at = address(l_, *op_.operands[0], v_.first[number]);
    // The last one before the end: idle warps end instead (exit_early).
    const bool last = number + 1 == v_.first.size() && !used_;
    const bool branches = guard != kNoVReg && order_.release && !last;
    if (branches) {
      ordered(Opcode::kNop, "BSSY", kNoVReg);
      ordered(Opcode::kNop, "BRA", guard).guards_early_exit = false;
    }
    if (order_.release) {
      ordered(Opcode::kMembar, "MEMBAR.ALL.GPU", guard);
      ordered(Opcode::kNop, "ERRBAR", guard);
      ordered(Opcode::kNop, "CGAERRBAR", guard);
    }
    const bool returns = used_ || swaps || order_.acquire || order_.release;
    std::vector<VReg> old;
    if (used_) {
      for (std::uint32_t w = 0; w < v_.words; ++w) old.push_back(b_.general());
      if (old.size() > 1) b_.code().tie(old);
    }
    MachineInstruction& i =
        b_.emit(returns ? Opcode::kAtom : Opcode::kRed, mnemonic(swaps, returns), {},
                {at.low, at.high, l_.descriptor()}, static_cast<std::uint32_t>(at.immediate));
    i.defs.assign(old.begin(), old.end());
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.guard = guard;
    i.guards_early_exit = guard != kNoVReg && !used_;
    i.effect = returns ? MemoryEffect::kBarrier : MemoryEffect::kGlobalStore;
    i.site = l_.site(op_);
    i.copy = static_cast<std::uint16_t>(l_.copy.number);
    i.vector = static_cast<std::uint16_t>(number);
    i.width = static_cast<std::uint16_t>(v_.bytes);
    if (order_.acquire) ordered(Opcode::kCctl, "CCTL.IVALL", guard);
    if (branches) ordered(Opcode::kNop, "BSYNC", kNoVReg);
    return used_ ? element_of(old) : Element{};
  }

  /// An instruction without operands that keeps its place among all accesses to memory.
  MachineInstruction& ordered(Opcode op, std::string_view mnemonic, VReg guard) {
    MachineInstruction& i = b_.emit(op, mnemonic, {}, {});
    i.guard = guard;
    i.guards_early_exit = guard != kNoVReg && !used_;
    i.effect = MemoryEffect::kBarrier;
    return i;
  }

  /// One thread has the result of a scalar: it passes through shared memory to all.
  Element broadcast(const Element& result) {
    const std::uint32_t words = v_.words;
    l_.use_shared(std::int64_t{words} * kWordBytes);
    if (l_.take_shared_dirty()) l_.barrier();
    const auto threads = static_cast<std::uint32_t>(l_.num_warps() * kWarpLanes);
    MachineInstruction& i = store_shared(l_, kNoVReg, words_of(l_, result, words > 1), 0);
    i.guard = l_.tid_bits_clear(threads - 1);
    i.active_warps = i.active_lanes = 1;
    barrier_before_loads(l_);
    return element_of(load_shared(l_, kNoVReg, words, 0));
  }

  Lowering& l_;
  Builder& b_;
  const kernel::Op& op_;
  MemoryOrder order_{};
  bool used_ = false;
  Vectors v_;
};

}  // namespace

bool lower_atomic(Lowering& l, const kernel::Op& op) {
  return Atomic(l, op).run(1, 1, mask_of(op, 2));
}

bool lower_compare_and_swap(Lowering& l, const kernel::Op& op) {
  return Atomic(l, op).run(1, 2, nullptr);
}

}  // namespace xpusim::gpu
