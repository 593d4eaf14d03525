// tt.histogram: a warp counts by ballots. One ballot a bit of the bin's number says which lanes'
// values have it; masks of lanes follow for the bins that a lane keeps, population counts add up.
// The warps' counts meet in shared memory by atomic additions.

#include <algorithm>
#include <bit>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kBanks = 32;

class Histogram {
 public:
  Histogram(Lowering& l, std::uint32_t bins) : l_(l), b_(l.builder()) {
    bits_ = static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(bins)));
    lane_bits_ = std::min(bits_, 5u);
    bins_of_lane_ = 1u << (bits_ - lane_bits_);
    counts_.resize(bins_of_lane_, kNoVReg);
  }

  /// Adds one register's values of the warp. `valid`: the lanes whose value counts, or none.
  void add(VReg value, VReg valid) {
    std::vector<VReg> ballots;
    for (std::uint32_t bit = 0; bit < bits_; ++bit) ballots.push_back(ballot(value, bit));
    VReg mine = valid == kNoVReg ? kNoVReg : vote(valid);
    for (std::uint32_t n = 0; n < lane_bits_; ++n) {
      const VReg of_lane = lane_mask(n);
      mine = b_.value(Opcode::kAlu, "LOP3", {mine, ballots[bits_ - lane_bits_ + n], of_lane}, 0x60);
    }
    for (std::uint32_t bin = 0; bin < bins_of_lane_; ++bin)
      count(bin, lanes_in(bin, mine, ballots));
  }

  const std::vector<VReg>& counts() const { return counts_; }

 private:
  VReg vote(VReg predicate) { return b_.value(Opcode::kAlu, "VOTE.ANY", {predicate}); }
  VReg ballot(VReg value, std::uint32_t bit) {
    const VReg shifted = bit == 0 ? value : b_.value(Opcode::kAlu, "SHF.R.U32.HI", {value}, bit);
    const VReg set = b_.predicate();
    b_.emit(Opcode::kAlu, "LOP3", {set}, {shifted}, 1);
    return vote(set);
  }
  /// All ones where the lane's number has bit n, else zeros.
  VReg lane_mask(std::uint32_t n) {
    const VReg tid = l_.index_math().tid();
    const VReg shifted = n == 0 ? tid : b_.value(Opcode::kAlu, "SHF.R.U32.HI", {tid}, n);
    const VReg bit = b_.value(Opcode::kAlu, n == 0 ? "LOP3" : "SGXT.U32", {shifted}, 1);
    return b_.value(Opcode::kAlu, "IADD3", {bit}, ~0u);
  }
  /// The lanes whose value is the lane's `bin`: two ballots join the mask in one instruction, which
  /// bins that agree in these bits share.
  VReg lanes_in(std::uint32_t bin, VReg mine, const std::vector<VReg>& ballots) {
    VReg mask = mine;
    const std::uint32_t own = bits_ - lane_bits_;
    for (std::uint32_t bit = 0; bit < own; bit += 2) {
      const std::uint32_t way = bin >> bit & 3;
      const VReg second = bit + 1 < own ? ballots[bit + 1] : kNoVReg;
      mask = b_.value(Opcode::kAlu, "LOP3", {ballots[bit], mask, second}, 0x100 | way);
    }
    return mask;
  }
  /// Counts of two registers are added by one instruction.
  void count(std::uint32_t bin, VReg mask) {
    const VReg ones = b_.value(Opcode::kMufu, "POPC", {mask});
    if (pending_.size() <= bin) pending_.resize(bins_of_lane_, kNoVReg);
    if (counts_[bin] == kNoVReg) {
      counts_[bin] = ones;
    } else if (pending_[bin] == kNoVReg) {
      pending_[bin] = ones;
    } else {
      counts_[bin] = b_.value(Opcode::kAlu, "IADD3", {counts_[bin], pending_[bin], ones});
      pending_[bin] = kNoVReg;
    }
  }

 public:
  /// Adds what waits for a partner.
  void finish() {
    for (std::uint32_t bin = 0; bin < pending_.size(); ++bin) {
      if (pending_[bin] == kNoVReg) continue;
      counts_[bin] = b_.value(Opcode::kAlu, "IADD3", {counts_[bin], pending_[bin]});
      pending_[bin] = kNoVReg;
    }
  }
  std::uint32_t bins_of_lane() const { return bins_of_lane_; }

 private:
  Lowering& l_;
  Builder& b_;
  std::uint32_t bits_ = 0, lane_bits_ = 0, bins_of_lane_ = 1;
  std::vector<VReg> counts_, pending_;  // [bin of the lane]
};

/// Zeroes the bins in shared memory, adds every warp's counts, and waits for all.
void add_up(Lowering& l, const Histogram& histogram, std::uint32_t bins, std::uint32_t idle_warps) {
  Builder& b = l.builder();
  const auto threads = static_cast<std::uint32_t>(l.num_warps() * kWarpLanes);
  l.use_shared(std::int64_t{bins} * 4);
  if (l.take_shared_dirty()) l.barrier();
  const VReg tid = l.index_math().tid();
  const VReg mine = b.value(Opcode::kAlu, "LOP3", {tid}, std::min(bins, threads) - 1);
  const VReg at = b.value(Opcode::kAlu, "LEA", {mine, l.shared_base()}, 2);
  const VReg zero = b.value(Opcode::kAlu, "CS2R.32", {});
  for (std::uint32_t first = 0; first < bins; first += threads) {
    store_shared(l, at, {zero}, first);
  }
  barrier_before_loads(l);
  const VReg lane = b.value(Opcode::kAlu, "LOP3", {tid}, kWarpLanes - 1);
  const VReg to = b.value(Opcode::kAlu, "LEA", {lane, l.shared_base()}, histogram.bins_of_lane());
  const VReg guard = idle_warps == 0 ? kNoVReg : l.tid_bits_clear(idle_warps << 5);
  const std::uint32_t conflicts = std::min(histogram.bins_of_lane(), kBanks) - 1;
  for (std::uint32_t bin = 0; bin < histogram.counts().size(); ++bin) {
    MachineInstruction& i = store_shared(l, to, {histogram.counts()[bin]}, bin);
    i.mnemonic = "ATOMS.ADD";
    i.guard = guard;
    i.extra_passes = static_cast<std::uint8_t>(conflicts);
  }
  barrier_before_loads(l);
}

}  // namespace

bool lower_histogram(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* from = l.layout(op.operands[0]->type, op);
  const kernel::LinearLayout* to = l.layout(op.result()->type, op);
  if (!from || !to) return false;
  const auto bins = static_cast<std::uint32_t>(to->shape[0]);
  Histogram histogram(l, bins);
  const std::vector<Element> values = l.elements(*op.operands[0]);
  if (values.empty()) return l.error(op, "an operand has no value in registers");
  for (std::uint32_t r = 0; r < from->register_count(); ++r) {
    if ((r & from->copy_registers()) != 0) continue;
    const VReg valid = op.operands.size() > 1 ? l.predicate(*op.operands[1], r) : kNoVReg;
    histogram.add(l.in_register(values[values.size() == 1 ? 0 : r]), valid);
  }
  histogram.finish();
  add_up(l, histogram, bins, from->copy_warps());
  // Each thread fetches the bins that it holds: as many at once as lie side by side.
  const VReg tid = l.index_math().tid();
  const std::uint32_t together = std::min(4u, to->contiguous(0));
  const VReg at = l.builder().value(Opcode::kAlu, "LEA", {tid, l.shared_base()}, 0x100 | together);
  std::vector<Element> result(to->register_count());
  for (std::uint32_t r = 0; r < to->register_count(); r += together) {
    if ((r & to->copy_registers()) != 0) continue;
    const auto words = load_shared(l, at, together, r);
    for (std::uint32_t n = 0; n < together; ++n) result[r + n] = {words[n]};
  }
  for (std::uint32_t r = 0; r < result.size(); ++r) result[r] = result[r & ~to->copy_registers()];
  l.set_elements(*op.result(), to, std::move(result));
  return true;
}

}  // namespace xpusim::gpu
