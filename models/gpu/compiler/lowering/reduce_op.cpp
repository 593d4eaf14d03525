// tt.reduce: each thread combines its own registers, lanes exchange by butterfly shuffles, warps
// through shared memory, as Triton's conversion does.

#include <algorithm>
#include <bit>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/partial_results.h"

namespace xpusim::gpu {
namespace {

using Elements = std::vector<Element>;  // one an operand of the reduction

/// Bits whose basis moves along the axis.
std::uint32_t bits_along(const std::vector<kernel::Basis>& bases, std::size_t axis) {
  std::uint32_t bits = 0;
  for (std::size_t b = 0; b < bases.size(); ++b) {
    if (bases[b][axis] != 0) bits |= 1u << b;
  }
  return bits;
}

/// The same of one operand's partial results: where an instruction's lanes go.
struct Place {
  std::uint32_t lanes = kNoLanes, bytes = 4;
  std::uint8_t extra_passes = 0;
};

class Reduction {
 public:
  Reduction(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& layout, std::size_t axis)
      : l_(l), b_(l.builder()), op_(op), layout_(layout), axis_(axis), partials_(layout, axis) {}

  bool within_threads();
  bool within_warps();
  bool across_warps();
  /// The result in each register of the layout without the axis.
  bool results(const kernel::LinearLayout* to, std::vector<Elements>& out) const;

 private:
  bool combine(Elements& left, const Elements& right);
  bool shuffle(Elements& e, std::uint32_t distance);
  /// What threads of some warps (0: all) do with shared memory, `word` words on.
  struct Access {
    VReg address, guard;
    unsigned warps, lanes;
    std::vector<Place> places;  ///< [operand]
    std::uint32_t word = 0;

    void describe(MachineInstruction& i, std::size_t operand) const;
  };
  void store(const Elements& e, const Access& access);
  Elements load(const Access& access);
  template <class F>
  std::vector<Place> places(F&& of_operand);
  void barrier();
  VReg first_threads(std::uint32_t count, VReg masked_tid);

  Lowering& l_;
  Builder& b_;
  const kernel::Op& op_;
  const kernel::LinearLayout& layout_;
  std::size_t axis_;
  PartialResults partials_;
  std::map<kernel::Basis, Elements> sums_;  // by coordinates without the axis (lane 0 of warp 0)
};

bool Reduction::combine(Elements& left, const Elements& right) {
  Elements result;
  if (!l_.combine(op_, left, right, result)) return false;
  left = std::move(result);
  return true;
}

bool Reduction::within_threads() {
  for (std::uint32_t r = 0; r < layout_.register_count(); ++r) {
    if ((r & layout_.copy_registers()) != 0) continue;
    kernel::Basis at = layout_.at(r, 0, 0);
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis_));
    Elements mine;
    for (const kernel::Value* v : op_.operands) mine.push_back(l_.whole(l_.elements(*v)[r]));
    auto [it, fresh] = sums_.try_emplace(at, mine);
    if (!fresh && !combine(it->second, mine)) return false;
  }
  return true;
}

bool Reduction::shuffle(Elements& e, std::uint32_t distance) {
  Elements other;
  for (const Element& mine : e) {
    if (mine.is_constant() && mine.high == kNoVReg) {  // in all lanes
      other.push_back(mine);
      continue;
    }
    const VReg from = l_.in_register(mine);
    Element got{b_.value(Opcode::kShfl, "SHFL.BFLY", {from}, distance)};
    if (mine.high != kNoVReg) {
      got.high = b_.value(Opcode::kShfl, "SHFL.BFLY", {mine.high}, distance);
    }
    other.push_back(got);
  }
  return combine(e, other);
}

bool Reduction::within_warps() {
  const std::uint32_t lanes = bits_along(layout_.lanes, axis_);
  for (auto& [at, e] : sums_) {
    for (std::uint32_t distance = kWarpLanes / 2; distance != 0; distance /= 2) {
      if ((lanes & distance) != 0 && !shuffle(e, distance)) return false;
    }
  }
  return true;
}

void Reduction::barrier() { l_.meet(); }

/// of_operand(bytes, base) of each operand; their partial results lie one behind the other.
template <class F>
std::vector<Place> Reduction::places(F&& of_operand) {
  std::int64_t results = partials_.warps();
  for (std::size_t d = 0; d < layout_.shape.size(); ++d) {
    if (d != axis_) results *= layout_.shape[d];
  }
  std::vector<Place> list;
  std::int64_t base = 0;
  for (const kernel::Value* v : op_.operands) {
    const std::uint32_t bytes = kernel::bit_width(v->type->dtype) > 32 ? 8 : 4;
    SharedPlace at = of_operand(bytes, base);
    list.push_back({l_.add_shared_lanes(std::move(at.lanes)), bytes, at.extra_passes});
    base += results * bytes;
  }
  return list;
}

void Reduction::Access::describe(MachineInstruction& i, std::size_t operand) const {
  const Place& place = places[operand];
  i.guard = guard;
  i.width = static_cast<std::uint8_t>(place.bytes);
  i.active_warps = static_cast<std::uint8_t>(warps);
  i.active_lanes = static_cast<std::uint8_t>(lanes);
  i.shared_lanes = place.lanes;
  i.shared_offset = word * place.bytes;
  i.extra_passes = place.extra_passes;
}

void Reduction::store(const Elements& e, const Access& access) {
  for (std::size_t n = 0; n < e.size(); ++n) {
    const bool both = e[n].high != kNoVReg;
    std::vector<VReg> words{l_.in_register(e[n])};
    if (both) words.push_back(e[n].high);
    if (both && !b_.code().tie(words)) {
      for (auto& w : words) w = b_.move(w);
      b_.code().tie(words);
    }
    MachineInstruction& i =
        b_.emit(Opcode::kSts, both ? "STS.64" : "STS", {}, {access.address, l_.shared_base()});
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    access.describe(i, n);
    i.effect = MemoryEffect::kSharedStore;
  }
}

Elements Reduction::load(const Access& access) {
  Elements e;
  for (std::size_t n = 0; n < op_.operands.size(); ++n) {
    const bool both = access.places[n].bytes > 4;
    std::vector<VReg> words{b_.general()};
    if (both) {
      words.push_back(b_.general());
      b_.code().tie(words);
    }
    MachineInstruction& i =
        b_.emit(Opcode::kLds, both ? "LDS.64" : "LDS", {}, {access.address, l_.shared_base()},
                static_cast<std::uint32_t>(n));
    i.defs.assign(words.begin(), words.end());
    access.describe(i, n);
    i.effect = MemoryEffect::kSharedLoad;
    e.push_back({words[0], 0, 0, both ? words[1] : kNoVReg});
  }
  return e;
}

/// The predicate of the threads that fetch the warps' partial results.
VReg Reduction::first_threads(std::uint32_t count, VReg masked_tid) {
  const VReg p = b_.predicate();
  b_.emit(Opcode::kAlu, "ISETP", {p}, {masked_tid}, count);
  return p;
}

/// Partial results go to shared memory (PartialResults); as many threads as there are partial
/// results fetch one each and combine them by shuffles; the results go back and all threads fetch
/// theirs.
bool Reduction::across_warps() {
  const std::uint32_t warps = partials_.warps();
  if (warps == 1) return true;
  const auto all_lanes = bits_along(layout_.lanes, axis_) | layout_.copy_lanes();
  const auto holders = static_cast<std::uint32_t>(kWarpLanes) >> std::popcount(all_lanes);
  const auto other_warps = layout_.warp_count() / warps >> std::popcount(layout_.copy_warps());
  const auto partials = static_cast<std::uint32_t>(sums_.size()) * holders * other_warps * warps;
  const auto threads = static_cast<std::uint32_t>(l_.num_warps() * kWarpLanes);
  const std::uint32_t fetchers = std::min(partials, threads);
  const unsigned fetching_warps = (fetchers + kWarpLanes - 1) / kWarpLanes;
  const unsigned fetching_lanes = std::min<unsigned>(fetchers, kWarpLanes);
  std::int64_t bytes_of_result = 0;
  for (const kernel::Value* v : op_.operands) {
    bytes_of_result += (kernel::bit_width(v->type->dtype) + 7) / 8;
  }
  l_.use_shared(partials * bytes_of_result);
  if (l_.take_shared_dirty()) barrier();

  const VReg tid = l_.index_math().tid();
  const VReg lane_zero = l_.tid_bits_clear(all_lanes);
  const VReg by_warp = b_.value(Opcode::kAlu, "SHF.R", {tid}, kWarpLanes / 4 / holders);
  const VReg slot = b_.value(Opcode::kAlu, "LOP3", {by_warp}, (warps - 1) * 4);
  Access partial{slot, lane_zero, 0, holders, places([&](std::uint32_t bytes, std::int64_t base) {
                   return partials_.written(bytes, base);
                 })};
  for (auto& [at, e] : sums_) {
    partial.word = partials_.words_before(at);
    store(e, partial);
  }
  barrier();

  const VReg masked_tid = b_.value(Opcode::kAlu, "LOP3", {tid}, threads - 1);
  const VReg my_slot = b_.value(Opcode::kAlu, "LEA", {masked_tid, l_.shared_base()}, 2);
  const bool all = fetchers == threads;
  const VReg fetches = all ? kNoVReg : first_threads(fetchers, masked_tid);
  Access fetched{my_slot, fetches, fetching_warps, fetching_lanes,
                 places([&](std::uint32_t bytes, std::int64_t base) {
                   return partials_.in_order(bytes, base, fetching_lanes, 1);
                 })};
  Access combined{my_slot, kNoVReg, fetching_warps, std::max(1u, fetching_lanes / warps),
                  places([&](std::uint32_t bytes, std::int64_t base) {
                    return partials_.in_order(bytes, base, fetching_lanes, warps);
                  })};
  for (std::uint32_t round = 0; round < partials / fetchers; ++round) {
    Elements e = load(fetched);
    for (std::uint32_t distance = warps / 2; distance != 0; distance /= 2) {
      if (!shuffle(e, distance)) return false;
    }
    combined.guard = l_.tid_bits_clear(warps - 1);
    if (fetches != kNoVReg) {
      const VReg both = b_.predicate();
      b_.emit(Opcode::kAlu, "ISETP", {both}, {masked_tid, combined.guard}, fetchers);
      combined.guard = both;
    }
    store(e, combined);
    fetched.word += threads;
    combined.word += threads;
  }
  barrier();
  Access result{kNoVReg, kNoVReg, 0, 0, places([&](std::uint32_t bytes, std::int64_t base) {
                  return partials_.read(bytes, base);
                })};
  for (auto& [at, e] : sums_) {
    result.word = partials_.words_before(at);
    e = load(result);
  }
  return true;
}

bool Reduction::results(const kernel::LinearLayout* to, std::vector<Elements>& out) const {
  const std::uint32_t count = to ? to->register_count() : 1;
  for (std::uint32_t r = 0; r < count; ++r) {
    const kernel::Basis at = to ? to->at(r, 0, 0) : kernel::Basis{};
    const auto it = sums_.find(at);
    if (it == sums_.end())
      return l_.error(op_, "the result's layout does not follow the operand's");
    out.push_back(it->second);
  }
  return true;
}

}  // namespace

bool lower_reduce(Lowering& l, const kernel::Op& op) {
  const kernel::Type type = op.operands[0]->type;
  const kernel::LinearLayout* layout = l.layout(type, op);
  const auto axis = op.int_attr("axis");
  if (!layout) return false;
  if (axis < 0 || axis >= static_cast<std::int64_t>(type->shape.size())) {
    return l.error(op, "tt.reduce along an axis that the tile lacks");
  }
  Reduction reduction(l, op, *layout, static_cast<std::size_t>(axis));
  if (!reduction.within_threads() || !reduction.within_warps() || !reduction.across_warps()) {
    return false;
  }
  const kernel::LinearLayout* to = nullptr;
  if (op.result()->type->kind == kernel::TypeKind::kTensor) {
    to = l.layout(op.result()->type, op);
    if (!to) return false;
  }
  std::vector<Elements> results;
  if (!reduction.results(to, results)) return false;
  for (std::size_t n = 0; n < op.results.size(); ++n) {
    std::vector<Element> column;
    column.reserve(results.size());
    for (const Elements& e : results) column.push_back(e[n]);
    l.set_elements(*op.result(n), to, std::move(column));
  }
  return true;
}

}  // namespace xpusim::gpu
