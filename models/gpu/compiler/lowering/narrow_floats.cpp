// Conversions between f32 and the floats of 16 bits.

#include <array>
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
