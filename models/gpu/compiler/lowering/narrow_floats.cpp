// Conversions between f32 and the floats of 16 bits.

#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kHalf = 16;

bool is_16_bits(kernel::DType t) { return t == kernel::DType::kBF16 || t == kernel::DType::kF16; }

/// The conversions that are modelled: f32 from or to a float of 16 bits.
bool check_pair(Lowering& l, const kernel::Op& op, kernel::DType narrow, kernel::DType wide) {
  if (is_16_bits(narrow) && wide == kernel::DType::kF32) return true;
  return l.error(op, std::string(op.name()) + " between " + std::string(kernel::name(narrow)) +
                         " and " + std::string(kernel::name(wide)) +
                         " is not yet lowered for the GPU");
}

/// A constant that loses nothing in 16 bits.
bool fits_16_bits(const kernel::Value& value, kernel::DType to) {
  const auto c = kernel::float_constant(value);
  if (!c) return false;
  constexpr std::uint32_t kBelowBf16 = 0xffff, kBelowF16 = 0x1fff;
  constexpr double kLargestF16 = 65504, kSmallestF16 = 6.103515625e-05;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(*c));
  if (to == kernel::DType::kBF16) return (bits & kBelowBf16) == 0;
  return (bits & kBelowF16) == 0 &&
         (*c == 0 || (std::abs(*c) <= kLargestF16 && std::abs(*c) >= kSmallestF16));
}

}  // namespace

/// bf16 is the upper half of an f32: a shift, after a permute for the upper element of a pair; f16
/// takes one conversion of either half.
bool lower_widen_float(Lowering& l, const kernel::Op& op) {
  if (op.result()->type->dtype == kernel::DType::kF64) return lower_double(l, op);
  const kernel::DType from = op.operands[0]->type->dtype;
  if (!check_pair(l, op, from, op.result()->type->dtype)) return false;
  const kernel::LinearLayout* layout = nullptr;
  if (op.result()->type->kind == kernel::TypeKind::kTensor) {
    layout = l.layout(op.result()->type, op);
    if (!layout) return false;
  }
  std::map<Element, Element> done;
  std::vector<Element> result;
  const std::vector<Element> operands = l.elements(*op.operands[0]);
  for (const Element& e : operands) {
    auto [it, fresh] = done.try_emplace(e);
    if (fresh && e.is_constant()) it->second = e;
    if (fresh && !e.is_constant()) {
      Builder& b = l.builder();
      it->second.reg = from == kernel::DType::kBF16
                           ? b.value(Opcode::kAlu, "SHF.L", {l.whole(e).reg}, kHalf)
                           : b.value(Opcode::kFma, "HADD2.F32", {e.reg}, e.shift);
    }
    result.push_back(it->second);
  }
  l.set_elements(*op.result(), layout, std::move(result));
  return true;
}

/// The sum or product that a conversion to 16 bits rounds, of numbers that had 16 bits: as rounding
/// twice changes nothing there (LLVM, InstCombine), it is computed in 16 bits.
static const kernel::Op* narrow_operation(Lowering& l, const kernel::Op& op) {
  constexpr int kFirstWithBf16Sums = 90;
  const kernel::Value& wide = *op.operands[0];
  if (wide.def == nullptr || l.use_count(wide) != 1) return nullptr;
  if (op.result()->type->dtype == kernel::DType::kBF16 && l.capability() < kFirstWithBf16Sums)
    return nullptr;
  const kernel::Op& made = *wide.def;
  if (made.name() != "arith.addf" && made.name() != "arith.subf" && made.name() != "arith.mulf") {
    return nullptr;
  }
  for (const kernel::Value* v : made.operands) {
    const bool extended = v->def != nullptr && v->def->name() == "arith.extf" &&
                          v->def->operands[0]->type->dtype == op.result()->type->dtype;
    if (!extended && !fits_16_bits(*v, op.result()->type->dtype)) return nullptr;
  }
  return &made;
}

/// Two elements at once, which stand side by side in a register.
static bool lower_narrow_operation(Lowering& l, const kernel::Op& op, const kernel::Op& made,
                                   const kernel::LinearLayout* layout) {
  std::vector<std::vector<Element>> operands;
  for (const kernel::Value* v : made.operands) {
    operands.push_back(kernel::float_constant(*v) ? l.elements(*v)
                                                  : l.elements(*v->def->operands[0]));
  }
  const bool product = made.name() == "arith.mulf";
  const std::uint32_t variant = made.name() == "arith.subf" ? 1 : 0;
  std::map<std::array<VReg, 2>, VReg> done;
  std::vector<Element> result;
  const std::size_t count = layout ? layout->register_count() : 1;
  for (std::size_t r = 0; r < count; r += 2) {
    const bool pair = r + 1 < count;
    std::array<VReg, 2> in{kNoVReg, kNoVReg};
    std::uint32_t constant = variant;
    for (std::size_t n = 0; n < 2; ++n) {
      std::vector<Element>& all = operands[n];
      if (all.size() == 1) all.resize(count, all[0]);
      if (all[r].is_constant()) {
        constant ^= all[r].bits;
      } else {
        in[n] = word_of(l, all, r, pair ? 2 : 1, kHalf);
      }
    }
    auto [it, fresh] = done.try_emplace(in, kNoVReg);
    if (fresh) {
      it->second =
          l.builder().value(Opcode::kFma, product ? "HMUL2" : "HADD2", {in[0], in[1]}, constant);
    }
    result.push_back({it->second});
    if (pair) result.push_back({it->second, 0, kHalf});
  }
  l.set_elements(*op.result(), layout, std::move(result));
  return true;
}

/// One packing conversion makes a register of two neighbouring elements.
bool lower_narrow_float(Lowering& l, const kernel::Op& op) {
  if (op.operands[0]->type->dtype == kernel::DType::kF64) return lower_double(l, op);
  const kernel::DType to = op.result()->type->dtype;
  if (!check_pair(l, op, to, op.operands[0]->type->dtype)) return false;
  const kernel::LinearLayout* layout = nullptr;
  if (op.result()->type->kind == kernel::TypeKind::kTensor) {
    layout = l.layout(op.result()->type, op);
    if (!layout) return false;
  }
  if (const kernel::Op* made = narrow_operation(l, op)) {
    return lower_narrow_operation(l, op, *made, layout);
  }
  const std::string_view mnemonic =
      to == kernel::DType::kBF16 ? "F2FP.BF16.PACK_AB" : "F2FP.F16.PACK_AB";
  std::map<std::array<Element, 2>, VReg> done;
  std::vector<Element> result;
  const std::vector<Element> operands = l.elements(*op.operands[0]);
  for (std::size_t r = 0; r < operands.size(); r += 2) {
    const bool pair = r + 1 < operands.size();
    const std::array<Element, 2> two{operands[r], pair ? operands[r + 1] : Element{}};
    auto [it, fresh] = done.try_emplace(two, kNoVReg);
    if (fresh) {
      const VReg low = l.in_register(two[0]);
      it->second = l.builder().value(Opcode::kAlu, mnemonic, {low, two[1].reg}, two[1].bits);
    }
    result.push_back({it->second});
    if (pair) result.push_back({it->second, 0, kHalf});
  }
  l.set_elements(*op.result(), layout, std::move(result));
  return true;
}

}  // namespace xpusim::gpu
