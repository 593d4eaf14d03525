// Matrix products: wgmma of four warps (ttng.warp_group_dot), mma.sync of one warp and products by
// fused multiply-adds (tt.dot).

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/wgmma_descriptors.h"

namespace xpusim::gpu {
namespace {

constexpr int kWarpsOfGroup = 4;
/// Elements of k that one mma.sync takes: 32 bytes, but of f64 128.
std::int64_t depth_of_mma(std::uint32_t bits) { return bits == 64 ? 16 : 256 / bits; }

using Registers = std::vector<VReg>;
using Place = WgmmaDescriptors::Place;

std::uint8_t factor_bits(const kernel::Type type) {
  return static_cast<std::uint8_t>(kernel::bit_width(type->dtype));
}

std::vector<std::int64_t> instruction_shape(const kernel::Type result) {
  const kernel::Attr shape = result->encoding ? result->encoding->get("instrShape") : nullptr;
  return shape ? shape->int_list() : std::vector<std::int64_t>{};
}

/// The registers of a layout by the instruction tile in which their elements lie, seen from the
/// first lane of the first warp.
std::map<Place, std::vector<std::uint32_t>> by_tile(const kernel::LinearLayout& layout,
                                                    std::int64_t rows, std::int64_t columns) {
  std::map<Place, std::vector<std::uint32_t>> tiles;
  for (std::uint32_t r = 0; r < layout.register_count(); ++r) {
    if ((r & layout.copy_registers()) != 0) continue;
    const kernel::Basis at = layout.at(r, 0, 0);
    tiles[{at[0] / rows, at[1] / columns}].push_back(r);
  }
  return tiles;
}

/// Registers that the product may overwrite, with what is added to it: the addend's own where
/// nobody else reads it; zeros two at a time.
std::vector<Element> accumulators(Lowering& l, const kernel::Op& op, std::size_t operand) {
  Builder& b = l.builder();
  const std::vector<Element> from = l.elements(*op.operands[operand]);
  const bool wide = kernel::bit_width(op.operands[operand]->type->dtype) > 32;
  std::set<VReg> taken;
  std::vector<Element> result;
  for (std::size_t n = 0; n < from.size(); ++n) {
    if (!from[n].is_constant()) {
      Element e{own_copy(l, op, operand, l.whole(from[n]))};
      if (wide) e.high = l.high_half(from[n]);
      if (!taken.insert(e.reg).second) e.reg = b.move(e.reg);
      result.push_back(e);
      continue;
    }
    const bool pair = !wide && n + 1 < from.size() && from[n].bits == 0 &&
                      from[n + 1].is_constant() && from[n + 1].bits == 0;
    if (!pair && !wide) {
      result.push_back({b.constant(from[n].bits)});
      continue;
    }
    const VReg low = b.general(), high = b.general();
    b.emit(Opcode::kAlu, "CS2R", {low, high}, {});
    if (wide) {
      result.push_back({low, 0, 0, high});
    } else {
      result.push_back({low});
      result.push_back({high});
      ++n;
    }
  }
  return result;
}

/// Words of factors in registers: elements of less than 32 bits go by pairs or fours.
Registers words_of(Lowering& l, const std::vector<Element>& elements,
                   const std::vector<std::uint32_t>& registers, std::uint32_t bits) {
  std::vector<Element> wanted;
  for (std::uint32_t r : registers) wanted.push_back(elements[elements.size() == 1 ? 0 : r]);
  Registers words;
  const std::uint32_t a_word = std::max(1u, 32 / bits);
  for (std::size_t n = 0; n < wanted.size(); n += a_word) {
    words.push_back(word_of(l, wanted, n, a_word, bits));
    if (bits > 32) words.push_back(l.high_half(wanted[n]));
  }
  return words;
}

void keep_together(Lowering& l, Registers& registers) {
  if (registers.size() < 2 || l.builder().code().tie(registers)) return;
  for (VReg& r : registers) r = l.builder().move(r);
  l.builder().code().tie(registers);
}

std::string_view wgmma_mnemonic(const kernel::Type factor) {
  switch (factor->dtype) {
    case kernel::DType::kBF16:
      return "HGMMA.F32.BF16";
    case kernel::DType::kF16:
      return "HGMMA.F32";
    case kernel::DType::kF32:
      return "HGMMA.F32.TF32";
    case kernel::DType::kI8:
      return "IGMMA.S8.S8";
    default:
      return "QGMMA.F32.E4M3.E4M3";
  }
}

MachineInstruction& ordered(Lowering& l, Opcode op, std::string_view mnemonic) {
  MachineInstruction& i = l.builder().emit(op, mnemonic, {}, {});
  i.effect = MemoryEffect::kBarrier;
  return i;
}

/// Until at most `pending` groups are under way. What the products wrote may be read only then.
void wait_for_groups(Lowering& l, const std::vector<VReg>& results, std::int64_t pending) {
  MachineInstruction& i = ordered(l, Opcode::kWgDepbar, "WARPGROUP.DEPBAR.LE");
  i.pending = static_cast<std::uint8_t>(std::clamp<std::int64_t>(pending, 0, 255));
  i.defs.assign(results.begin(), results.end());
  i.uses.assign(results.begin(), results.end());
}

std::vector<VReg> registers_of(const std::vector<Element>& elements) {
  std::vector<VReg> all;
  for (const Element& e : elements) {
    if (e.is_constant()) continue;
    all.push_back(e.reg);
    if (e.high != kNoVReg) all.push_back(e.high);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// The products of one warpgroup: instruction by instruction, k innermost.
class WarpGroupDot {
 public:
  WarpGroupDot(Lowering& l, const kernel::Op& op) : l_(l), op_(op), a_(op.operands[0]->type) {}

  bool run() {
    const auto shape = instruction_shape(op_.result()->type);
    const kernel::LinearLayout* layout = l_.layout(op_.result()->type, op_);
    if (!layout) return false;
    if (shape.size() != 3) return l_.error(op_, "the result of wgmma needs an instruction shape");
    rows_ = shape[0] * kWarpsOfGroup;
    n_ = shape[1];
    k_ = shape[2];
    place_barrier();
    if (kernel::bit_width(op_.result()->type->dtype) != 32) {
      return l_.error(op_, "wgmma into f16 is not yet lowered for the GPU");
    }
    // Nothing is added to the first product of a chain: its sum need not be read, nor set to zero.
    const auto addends = l_.elements(*op_.operands[2]);
    fresh_ = std::all_of(addends.begin(), addends.end(),
                         [](const Element& e) { return e.is_constant() && e.bits == 0; });
    std::vector<Element> sums;
    if (fresh_) {
      for (std::uint32_t r = 0; r < layout->register_count(); ++r) {
        sums.push_back({l_.builder().general()});
      }
    } else {
      sums = accumulators(l_, op_, 2);
    }
    const auto tiles = by_tile(*layout, shape[0], n_);
    sums.resize(layout->register_count(), sums[0]);
    std::map<Place, Registers> sum_registers;
    for (const auto& [place, registers] : tiles) {
      Registers tile;
      for (std::uint32_t r : registers) tile.push_back(sums[r].reg);
      keep_together(l_, tile);
      for (std::size_t n = 0; n < tile.size(); ++n) sums[registers[n]] = {tile[n]};
      sum_registers[place] = std::move(tile);
    }
    if (!place_factors(*layout, sum_registers)) return false;
    ordered(l_, Opcode::kWgArrive, "WARPGROUP.ARRIVE");
    for (const auto& [place, tile] : sum_registers) multiply(place, tile);
    l_.builder().code().blocks.back().code.back().mma.commits = true;
    if (op_.int_attr("isAsync") == 0) wait_for_groups(l_, registers_of(sums), 0);
    l_.set_elements(*op_.result(), layout, std::move(sums));
    return true;
  }

 private:
  void place_barrier() {
    if (l_.shared_plan().barrier_before(op_)) l_.barrier();
  }
  /// How the tiles of a factor in shared memory lie. `dim`: that of the result which it spans.
  FactorTiles tiles_of(std::size_t operand, std::size_t dim, const kernel::LinearLayout& layout,
                       const std::map<Place, Registers>& sums) const {
    const kernel::Type type = op_.operands[operand]->type;
    std::set<std::int64_t> along;
    for (const auto& [place, tile] : sums) along.insert(place[dim]);
    // Warp bits from here on tell warpgroups apart.
    constexpr std::size_t group_bit = std::countr_zero(std::uint32_t{kWarpsOfGroup});
    FactorTiles t;
    t.parts = static_cast<std::int64_t>(along.size()) * (a_->shape.back() / k_);
    for (std::size_t bit = group_bit; bit < layout.warps.size(); ++bit) {
      t.of_warpgroup = t.of_warpgroup || layout.warps[bit][dim] != 0;
    }
    // Rows along k lie in one atom of the swizzle; across k, in one for each of its width.
    const std::int64_t extent = dim == 0 ? rows_ : n_;
    const kernel::Attr across = type->encoding ? type->encoding->get("transposed") : nullptr;
    const kernel::Attr width = type->encoding ? type->encoding->get("swizzlingByteWidth") : nullptr;
    const bool k_inside = across && (across->integer != 0) == (dim == 1);
    t.several_atoms = !k_inside && width && width->integer > 0 &&
                      extent * kernel::bit_width(type->dtype) / 8 > width->integer;
    return t;
  }
  bool place_factors(const kernel::LinearLayout& layout, const std::map<Place, Registers>& sums) {
    const FactorTiles right = tiles_of(1, 1, layout, sums);
    if (a_->kind == kernel::TypeKind::kMemDesc) {
      const FactorTiles left = tiles_of(0, 0, layout, sums);
      const bool both_short = left.parts == 2 && right.parts == 2;
      left_.emplace(l_, l_.operand(op_, 0).buffer, left, both_short, false);
      right_.emplace(l_, l_.operand(op_, 1).buffer, right, both_short, left_->is_fixed());
      return true;
    }
    right_.emplace(l_, l_.operand(op_, 1).buffer, right, false, false);
    const kernel::LinearLayout* own = l_.layout(a_, op_);
    if (!own) return false;
    const auto elements = l_.elements(*op_.operands[0]);
    for (const auto& [place, registers] : by_tile(*own, rows_ / kWarpsOfGroup, k_)) {
      Registers words = words_of(l_, elements, registers, factor_bits(a_));
      keep_together(l_, words);
      left_registers_[place] = std::move(words);
    }
    return true;
  }
  void multiply(const Place& place, const Registers& tile) {
    const std::int64_t steps = a_->shape.back() / k_;
    for (std::int64_t k = 0; k < steps; ++k) {
      Registers uses = fresh_ && k == 0 ? Registers{} : tile;
      auto add = [&](const Registers& more) { uses.insert(uses.end(), more.begin(), more.end()); };
      if (left_) {
        add(left_->part({place[0], k}));
      } else {
        add(left_registers_.at({place[0], k}));
      }
      add(right_->part({place[1], k}));
      MachineInstruction& i = ordered(l_, Opcode::kWgmma, wgmma_mnemonic(a_));
      i.defs.assign(tile.begin(), tile.end());
      i.uses.assign(uses.begin(), uses.end());
      i.mma = {static_cast<std::uint16_t>(rows_),
               static_cast<std::uint16_t>(n_),
               static_cast<std::uint16_t>(k_),
               factor_bits(a_),
               left_.has_value(),
               false};
    }
  }

  Lowering& l_;
  const kernel::Op& op_;
  const kernel::Type a_;
  std::int64_t rows_ = 0, n_ = 0, k_ = 0;
  bool fresh_ = false;
  std::optional<WgmmaDescriptors> left_, right_;
  std::map<Place, Registers> left_registers_;
};

std::string_view mma_mnemonic(const kernel::Type factor) {
  switch (factor->dtype) {
    case kernel::DType::kF64:
      return "DMMA.16x8x16";
    case kernel::DType::kF32:
      return "HMMA.1688.F32.TF32";
    case kernel::DType::kI8:
      return "IMMA.16832.S8.S8";
    case kernel::DType::kBF16:
      return "HMMA.16816.F32.BF16";
    case kernel::DType::kF16:
      return "HMMA.16816.F32";
    default:
      return "QMMA.16832.F32.E4M3.E4M3";
  }
}

/// One warp's products by mma.sync: for each part of k, all tiles of the result.
bool multiply_by_warps(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& layout) {
  const kernel::Type left = op.operands[0]->type, right = op.operands[1]->type;
  const std::uint32_t bits = factor_bits(left);
  auto shape = instruction_shape(op.result()->type);
  if (shape.size() < 2) return l.error(op, "the result of mma.sync needs an instruction shape");
  const std::int64_t m = shape[shape.size() - 2], n = shape.back();
  const std::int64_t k = depth_of_mma(bits);
  const kernel::LinearLayout *a = l.layout(left, op), *b = l.layout(right, op);
  if (!a || !b) return false;
  if (layout.shape.size() != 2) return l.error(op, "batches of products are not yet lowered");
  std::vector<Element> sums = accumulators(l, op, 2);
  sums.resize(layout.register_count(), sums[0]);
  const auto tiles = by_tile(layout, m, n);
  std::map<Place, Registers> lefts, rights;
  const auto a_elements = l.elements(*op.operands[0]), b_elements = l.elements(*op.operands[1]);
  if (a_elements.empty() || b_elements.empty()) return l.error(op, "a factor has no registers");
  for (const auto& [place, r] : by_tile(*a, m, k)) lefts[place] = words_of(l, a_elements, r, bits);
  for (const auto& [place, r] : by_tile(*b, k, n)) rights[place] = words_of(l, b_elements, r, bits);
  std::map<Place, Registers> sum_registers;
  for (const auto& [place, registers] : tiles) {
    Registers tile;
    for (std::uint32_t r : registers) {
      tile.push_back(l.in_register(sums[r]));
      if (sums[r].high != kNoVReg) tile.push_back(sums[r].high);
    }
    keep_together(l, tile);
    for (std::size_t n_reg = 0, w = 0; n_reg < registers.size(); ++n_reg) {
      Element& e = sums[registers[n_reg]];
      e.reg = tile[w++];
      if (e.high != kNoVReg) e.high = tile[w++];
    }
    sum_registers[place] = std::move(tile);
  }
  for (std::int64_t step = 0; step < left->shape.back() / k; ++step) {
    for (const auto& [place, tile] : sum_registers) {
      const auto x = lefts.find({place[0], step}), y = rights.find({step, place[1]});
      if (x == lefts.end() || y == rights.end()) {
        return l.error(op, "the factors' layouts do not fit the result's");
      }
      MachineInstruction& i = l.builder().emit(Opcode::kMma, mma_mnemonic(left), {}, {});
      i.defs.assign(tile.begin(), tile.end());
      for (const Registers* r : {&std::as_const(x->second), &std::as_const(y->second), &tile}) {
        i.uses.insert(i.uses.end(), r->begin(), r->end());
      }
      i.mma = {static_cast<std::uint16_t>(m),
               static_cast<std::uint16_t>(n),
               static_cast<std::uint16_t>(k),
               static_cast<std::uint8_t>(bits),
               false,
               false};
    }
  }
  l.set_elements(*op.result(), &layout, std::move(sums));
  return true;
}

/// Products without matrix units: each thread adds up its elements, k by k.
bool multiply_by_threads(Lowering& l, const kernel::Op& op, const kernel::LinearLayout& layout) {
  const kernel::LinearLayout* a = l.layout(op.operands[0]->type, op);
  const kernel::LinearLayout* b = l.layout(op.operands[1]->type, op);
  if (!a || !b) return false;
  if (kernel::bit_width(op.result()->type->dtype) != 32) {
    return l.error(op, "products of such elements by threads are not yet lowered for the GPU");
  }
  const auto left = l.elements(*op.operands[0]), right = l.elements(*op.operands[1]);
  std::map<kernel::Basis, std::uint32_t> left_at, right_at;
  for (std::uint32_t r = 0; r < a->register_count(); ++r) left_at.try_emplace(a->at(r, 0, 0), r);
  for (std::uint32_t r = 0; r < b->register_count(); ++r) right_at.try_emplace(b->at(r, 0, 0), r);
  std::vector<Element> sums = l.elements(*op.operands[2]);
  sums.resize(layout.register_count(), sums[0]);
  const std::int64_t depth = op.operands[0]->type->shape.back();
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::uint32_t r = 0; r < layout.register_count(); ++r) {
      const kernel::Basis at = layout.at(r, 0, 0);
      const auto x = left_at.find({at[0], k}), y = right_at.find({k, at[1]});
      if (x == left_at.end() || y == right_at.end()) {
        return l.error(op, "the factors' layouts do not fit the result's");
      }
      const Element e = left[x->second], f = right[y->second], sum = sums[r];
      sums[r] = {l.builder().value(Opcode::kFma, "FFMA",
                                   {l.in_register(e), l.in_register(f), sum.reg}, sum.bits)};
    }
  }
  l.set_elements(*op.result(), &layout, std::move(sums));
  return true;
}

}  // namespace

bool lower_warp_group_dot(Lowering& l, const kernel::Op& op) { return WarpGroupDot(l, op).run(); }

bool lower_warp_group_dot_wait(Lowering& l, const kernel::Op& op) {
  std::vector<VReg> results;
  for (std::size_t n = 0; n < op.operands.size(); ++n) {
    l.state(*op.result(n)) = l.operand(op, n);
    if (l.operand(op, n).kind != ValueKind::kElements) continue;
    const auto registers = registers_of(l.elements(*op.operands[n]));
    results.insert(results.end(), registers.begin(), registers.end());
  }
  wait_for_groups(l, results, op.int_attr("pendings"));
  return true;
}

bool lower_dot(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* layout = l.layout(op.result()->type, op);
  if (!layout) return false;
  return instruction_shape(op.result()->type).empty() ? multiply_by_threads(l, op, *layout)
                                                      : multiply_by_warps(l, op, *layout);
}

}  // namespace xpusim::gpu
