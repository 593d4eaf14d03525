// tt.scan: each thread scans the elements that lie side by side in it, lanes hand their sums up by
// shuffles, warps through shared memory, and what came before is combined into every element, as
// Triton's conversion does. A reversed scan turns the elements around before and after.

#include <algorithm>
#include <bit>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

using Elements = std::vector<Element>;  // one an operand of the scan
/// Registers along the axis for one set of other coordinates, in order.
using Line = std::vector<Elements>;

/// Lane or warp bits that move along the axis.
std::uint32_t bits_along(const std::vector<kernel::Basis>& bases, std::size_t axis) {
  std::uint32_t bits = 0;
  for (std::size_t b = 0; b < bases.size(); ++b) {
    if (bases[b][axis] != 0) bits |= 1u << b;
  }
  return bits;
}

class Scan {
 public:
  Scan(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& layout, std::size_t axis)
      : l_(l), b_(l.builder()), op_(op), layout_(layout), axis_(axis) {
    lane_bits_ = bits_along(layout.lanes, axis);
    warp_bits_ = bits_along(layout.warps, axis);
    lanes_ = 1u << std::popcount(lane_bits_);
    warps_ = 1u << std::popcount(warp_bits_);
    stride_ = lane_bits_ == 0 ? 0 : lane_bits_ & (~lane_bits_ + 1);
    find_chunk();
  }

  bool run() {
    gather();
    const bool reverse = op_.int_attr("reverse") != 0;
    if (reverse) turn_around();
    for (auto& [at, line] : lines_) {
      if (!within_threads(line) || !within_warps(line)) return false;
    }
    if (warps_ > 1 ? !across_warps() : !within_one_warp()) return false;
    if (reverse) turn_around();
    return true;
  }

  std::vector<std::vector<Element>> results() const {
    std::vector<std::vector<Element>> columns(op_.operands.size());
    for (std::uint32_t r = 0; r < layout_.register_count(); ++r) {
      const auto [key, position] = place(r & ~layout_.copy_registers());
      const Elements& e = lines_.at(key)[position];
      for (std::size_t n = 0; n < columns.size(); ++n) columns[n].push_back(e[n]);
    }
    return columns;
  }

 private:
  /// Elements side by side in a thread: register bits below the first lane or warp along the axis.
  void find_chunk() {
    std::vector<std::int64_t> steps;
    for (const kernel::Basis& basis : layout_.registers) {
      if (basis[axis_] != 0) steps.push_back(basis[axis_]);
    }
    std::sort(steps.begin(), steps.end());
    for (std::int64_t step : steps) {
      if (step == static_cast<std::int64_t>(chunk_)) chunk_ *= 2;
    }
    for (std::int64_t step : steps)
      positions_[step] = static_cast<std::uint32_t>(positions_.size());
  }

  /// The line of a register and its place in it.
  std::pair<kernel::Basis, std::size_t> place(std::uint32_t r) const {
    kernel::Basis at = layout_.at(r, 0, 0);
    const std::int64_t along = at[axis_];
    at[axis_] = 0;
    std::size_t position = 0;
    for (const auto& [step, bit] : positions_) {
      if ((along & step) != 0) position |= std::size_t{1} << bit;
    }
    return {at, position};
  }

  void gather() {
    for (std::uint32_t r = 0; r < layout_.register_count(); ++r) {
      if ((r & layout_.copy_registers()) != 0) continue;
      const auto [key, position] = place(r);
      Line& line = lines_[key];
      line.resize(std::size_t{1} << positions_.size());
      for (const kernel::Value* v : op_.operands) {
        const auto& all = l_.elements(*v);
        const Element e = l_.whole(all[all.size() == 1 ? 0 : r]);
        line[position].push_back(e.is_constant() ? Element{l_.in_register(e)} : e);
      }
    }
  }

  /// Registers from last to first, and every one through all lanes by five shuffles.
  void turn_around() {
    for (auto& [key, line] : lines_) {
      std::reverse(line.begin(), line.end());
      for (Elements& e : line) {
        for (std::uint32_t distance = kWarpLanes / 2; distance != 0; distance /= 2) {
          e = shuffle("SHFL.BFLY", e, distance);
        }
      }
    }
  }

  Elements shuffle(std::string_view how, const Elements& e, std::uint32_t distance) {
    Elements got;
    for (const Element& one : e) {
      Element other{b_.value(Opcode::kShfl, how, {one.reg}, distance)};
      if (one.high != kNoVReg) other.high = b_.value(Opcode::kShfl, how, {one.high}, distance);
      got.push_back(other);
    }
    return got;
  }

  bool combine(const Elements& left, const Elements& right, Elements& result) {
    return l_.combine(op_, left, right, result);
  }
  Elements select(const Elements& yes, const Elements& no, VReg which, std::string_view mnemonic) {
    Elements chosen;
    for (std::size_t n = 0; n < yes.size(); ++n) {
      Element e{b_.value(Opcode::kAlu, mnemonic, {yes[n].reg, no[n].reg, which})};
      if (yes[n].high != kNoVReg) {
        e.high =
            b_.value(Opcode::kAlu, mnemonic, {l_.high_half(yes[n]), l_.high_half(no[n]), which});
      }
      chosen.push_back(e);
    }
    return chosen;
  }
  /// right = left combined with right where the predicate holds: a combination of one instruction
  /// is guarded, a longer one is selected.
  bool combine_where(VReg holds, const Elements& left, Elements& right) {
    auto& code = b_.code().blocks.back().code;
    const std::size_t before = code.size(), block = b_.code().blocks.size();
    Elements result;
    if (!combine(left, right, result)) return false;
    const bool one = b_.code().blocks.size() == block && code.size() == before + 1 &&
                     right.size() == 1 && code.back().defs.size() == 1 &&
                     code.back().defs[0] == result[0].reg && code.back().guard == kNoVReg;
    if (!one) {
      right = select(result, right, holds, "SEL");
      return true;
    }
    MachineInstruction& i = code.back();
    const VReg own = right[0].reg;
    i.defs[0] = own;
    i.guard = holds;
    if (std::find(i.uses.begin(), i.uses.end(), own) == i.uses.end()) i.uses.push_back(own);
    return true;
  }

  VReg predicate(std::string_view mnemonic, VReg value, std::uint32_t bound) {
    const VReg p = b_.predicate();
    b_.emit(Opcode::kAlu, mnemonic, {p}, {value}, bound);
    return p;
  }
  /// The lane's number along the axis (times the stride).
  VReg lane() { return b_.value(Opcode::kAlu, "LOP3", {l_.index_math().tid()}, lane_bits_); }
  VReg warp() {
    const VReg number = b_.value(Opcode::kAlu, "SHF.R", {l_.index_math().tid()}, 5);
    return b_.value(Opcode::kAlu, "SGXT.U32", {number}, warp_bits_);
  }

  bool within_threads(Line& line) {
    for (std::size_t first = 0; first < line.size(); first += chunk_) {
      for (std::size_t n = 1; n < chunk_; ++n) {
        Elements sum;
        if (!combine(line[first + n - 1], line[first + n], sum)) return false;
        line[first + n] = sum;
      }
    }
    return true;
  }

  bool within_warps(Line& line) {
    if (lanes_ == 1) return true;
    for (std::size_t last = chunk_ - 1; last < line.size(); last += chunk_) {
      for (Element& e : line[last]) {  // a copy: guarded combinations overwrite it
        e.reg = b_.move(e.reg);
        if (e.high != kNoVReg) e.high = b_.move(e.high);
      }
    }
    for (std::uint32_t step = 1; step < lanes_; step *= 2) {
      const VReg takes = predicate("ISETP", lane(), step * stride_);
      for (std::size_t last = chunk_ - 1; last < line.size(); last += chunk_) {
        const Elements below = shuffle("SHFL.UP", line[last], step * stride_);
        if (!combine_where(takes, below, line[last])) return false;
      }
    }
    return true;
  }

  /// Combines what came before a chunk into its elements but the last, which has it already.
  bool spread(Line& line, std::size_t first, const Elements& before, VReg not_first) {
    for (std::size_t n = 0; n + 1 < chunk_; ++n) {
      if (not_first != kNoVReg) {
        for (Element& e : line[first + n]) {
          e.reg = b_.move(e.reg);
          if (e.high != kNoVReg) e.high = b_.move(e.high);
        }
        if (!combine_where(not_first, before, line[first + n])) return false;
        continue;
      }
      Elements sum;
      if (!combine(before, line[first + n], sum)) return false;
      line[first + n] = sum;
    }
    return true;
  }

  bool within_one_warp() {
    for (auto& [key, line] : lines_) {
      Elements total;
      for (std::size_t first = 0; first < line.size(); first += chunk_) {
        Elements& last = line[first + chunk_ - 1];
        if (!total.empty()) {
          Elements sum;
          if (!combine(total, last, sum)) return false;
          last = sum;
        }
        if (lanes_ == 1) {
          if (!total.empty() && !spread(line, first, total, kNoVReg)) return false;
          total = last;
          continue;
        }
        const bool more = first + chunk_ < line.size();
        const Elements up = shuffle("SHFL.UP", last, stride_);
        const Elements next = more ? shuffle("SHFL.IDX", last, lane_bits_) : Elements{};
        const VReg not_first = predicate("ISETP.NE", lane(), 0);
        const Elements before = total.empty() ? up : select(up, total, not_first, "SEL");
        if (!spread(line, first, before, total.empty() ? not_first : kNoVReg)) return false;
        total = next;
      }
    }
    return true;
  }

  // Shared memory holds the last sums of all chunks: [line and chunk][warp][lane off the axis].
  std::uint32_t off_lanes() const {
    return static_cast<std::uint32_t>(kWarpLanes) >>
           std::popcount(lane_bits_ | layout_.copy_lanes());
  }
  std::uint32_t off_warps() const {
    return layout_.warp_count() >> std::popcount(warp_bits_ | layout_.copy_warps());
  }

  void store(const Element& e, VReg at, VReg guard, std::uint32_t slot) {
    MachineInstruction& i = store_shared(l_, at, words_of(l_, e, e.high != kNoVReg), slot);
    i.guard = guard;
    i.active_lanes = static_cast<std::uint8_t>(off_lanes());
  }

  void store_sums() {
    const VReg at = b_.value(Opcode::kAlu, "LEA", {warp(), l_.shared_base()}, 2);
    const VReg lane_number = lane();
    const VReg last = predicate("ISETP.EQ", lane_number, lane_bits_);
    std::uint32_t slot = 0;
    const bool branches = lines_.size() * lines_.begin()->second.size() / chunk_ > 1;
    if (branches) {
      b_.emit(Opcode::kNop, "BSSY", {}, {});
      b_.emit(Opcode::kNop, "BRA", {}, {}).guard = last;
    }
    for (auto& [key, line] : lines_) {
      for (std::size_t n = chunk_ - 1; n < line.size(); n += chunk_) {
        for (const Element& e : line[n]) store(e, at, last, slot++);
      }
    }
    if (branches) b_.emit(Opcode::kNop, "BSYNC", {}, {});
  }

  /// The sums of all warps for one chunk and operand, as wide as they lie side by side.
  std::vector<Element> load_sums(std::uint32_t slot, bool both, VReg at) {
    const std::uint32_t words_each = both ? 2 : 1;
    const std::uint32_t together = off_lanes() == 1 ? std::min(warps_, 4 / words_each) : 1;
    std::vector<Element> sums;
    for (std::uint32_t first = 0; first < warps_; first += together) {
      const auto words = load_shared(l_, at, together * words_each, slot * warps_ + first);
      for (std::uint32_t n = 0; n < together; ++n) {
        sums.push_back({words[std::size_t{n} * words_each], 0, 0,
                        both ? words[std::size_t{n} * words_each + 1] : kNoVReg});
      }
    }
    return sums;
  }

  bool across_warps() {
    std::int64_t bytes = 0;
    for (const kernel::Value* v : op_.operands) {
      bytes += std::max(8, kernel::bit_width(v->type->dtype)) / 8;
    }
    const auto chunks = lines_.size() * lines_.begin()->second.size() / chunk_;
    l_.use_shared(static_cast<std::int64_t>(chunks) * warps_ * off_lanes() * off_warps() * bytes);
    if (l_.take_shared_dirty()) l_.barrier();
    store_sums();
    barrier_before_loads(l_);
    const VReg at = off_lanes() == 1 && off_warps() == 1
                        ? kNoVReg
                        : b_.value(Opcode::kAlu, "LEA", {lane(), l_.shared_base()}, 3);
    std::uint32_t slot = 0;
    for (auto& [key, line] : lines_) {
      Elements total, before;
      for (std::size_t first = 0; first < line.size(); first += chunk_) {
        std::vector<std::vector<Element>> sums;  // [operand][warp]
        for (std::size_t n = 0; n < op_.operands.size(); ++n) {
          sums.push_back(load_sums(slot++, line[first][n].high != kNoVReg, at));
        }
        if (!add_sums(sums, total, before) || !join_chunk(line, first, before)) return false;
      }
    }
    return true;
  }

  /// `total`: all warps' sums so far; `before`: those of this thread's predecessors.
  bool add_sums(const std::vector<std::vector<Element>>& sums, Elements& total, Elements& before) {
    for (std::uint32_t w = 0; w < warps_; ++w) {
      Elements partial;
      for (const auto& column : sums) partial.push_back(column[w]);
      if (total.empty()) {
        total = before = partial;
        continue;
      }
      Elements sum;
      if (!combine(total, partial, sum)) return false;
      total = sum;
      if (w + 1 == warps_) continue;  // no warp comes after it
      before = select(before, total, predicate("ISETP", warp(), w + 1), "SEL");
    }
    return true;
  }

  /// Combines into a chunk what came before it: nothing in the first thread of all.
  bool join_chunk(Line& line, std::size_t first, const Elements& before) {
    Elements& last = line[first + chunk_ - 1];
    if (first == 0) {
      if (!combine_where(predicate("ISETP.NE", warp(), 0), before, last)) return false;
    } else {
      Elements sum;
      if (!combine(before, last, sum)) return false;
      last = sum;
    }
    if (chunk_ == 1) return true;
    Elements below = before;
    if (lanes_ > 1) {
      const VReg not_first = predicate("ISETP.NE", lane(), 0);
      below = select(shuffle("SHFL.UP", last, stride_), before, not_first, "SEL");
    }
    VReg not_first_thread = kNoVReg;
    if (first == 0) {
      not_first_thread = predicate("LOP3", l_.index_math().tid(), lane_bits_ | warp_bits_ << 5);
    }
    return spread(line, first, below, not_first_thread);
  }

  Lowering& l_;
  Builder& b_;
  const kernel::Op& op_;
  const kernel::LinearLayout& layout_;
  std::size_t axis_;
  std::uint32_t lane_bits_ = 0, warp_bits_ = 0, lanes_ = 1, warps_ = 1, stride_ = 0;
  std::size_t chunk_ = 1;                            // elements side by side in a thread
  std::map<std::int64_t, std::uint32_t> positions_;  // step along the axis -> bit of the position
  std::map<kernel::Basis, Line> lines_;              // by coordinates off the axis
};

}  // namespace

bool lower_scan(Lowering& l, const kernel::Op& op) {
  const kernel::Type type = op.operands[0]->type;
  const kernel::LinearLayout* layout = l.layout(type, op);
  const auto axis = op.int_attr("axis");
  if (!layout) return false;
  if (axis < 0 || axis >= static_cast<std::int64_t>(type->shape.size())) {
    return l.error(op, "tt.scan along an axis that the tile lacks");
  }
  for (const kernel::Value* v : op.operands) {
    if (l.elements(*v).empty()) return l.error(op, "an operand has no value in registers");
  }
  Scan scan(l, op, *layout, static_cast<std::size_t>(axis));
  if (!scan.run()) return false;
  auto columns = scan.results();
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    const kernel::LinearLayout* to = l.layout(op.result(n)->type, op);
    if (!to) return false;
    l.set_elements(*op.result(n), to, std::move(columns[n]));
  }
  return true;
}

}  // namespace xpusim::gpu
