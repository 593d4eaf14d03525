// tt.fp_to_fp: conversions from and to floats of 8 bits, by the conversion instructions of sm_89
// and later, and roundings other than to nearest. Older chips' sequences of integer instructions
// are not modelled: they get the same instructions.

#include <array>
#include <map>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

int width(const kernel::Type type) { return kernel::bit_width(type->dtype); }

class Conversion {
 public:
  explicit Conversion(Lowering& l) : l_(l), b_(l.builder()) {}

  /// Two elements of a register become two of f16 in one.
  std::vector<Element> unpack(const std::vector<Element>& from) {
    std::map<std::pair<VReg, std::uint32_t>, VReg> done;
    std::vector<Element> result;
    for (const Element& e : from) {
      if (e.is_constant()) {
        result.push_back(e);
        continue;
      }
      const std::uint32_t half = e.shift / 16;
      auto [it, fresh] = done.try_emplace({e.reg, half}, kNoVReg);
      if (fresh) it->second = b_.value(Opcode::kAlu, "F2FP.F16.E4M3.UNPACK_B", {e.reg}, half);
      result.push_back({it->second, 0, e.shift % 16 * 2});
    }
    return result;
  }
  std::vector<Element> widen(const std::vector<Element>& from) {
    std::map<Element, Element> done;
    std::vector<Element> result;
    for (const Element& e : from) {
      auto [it, fresh] = done.try_emplace(e, e);
      if (fresh && !e.is_constant()) {
        it->second = {b_.value(Opcode::kFma, "HADD2.F32", {e.reg}, e.shift)};
      }
      result.push_back(it->second);
    }
    return result;
  }
  /// Two elements of f32 become one register's lower half, or the upper half beside others.
  std::vector<Element> pack(const std::vector<Element>& from, std::string_view mnemonic, int bits) {
    const std::size_t together = 32 / static_cast<std::size_t>(bits);
    std::map<std::vector<Element>, VReg> done;
    std::vector<Element> result;
    for (std::size_t first = 0; first < from.size(); first += together) {
      const std::size_t end = std::min(from.size(), first + together);
      const std::vector<Element> group(from.begin() + static_cast<std::ptrdiff_t>(first),
                                       from.begin() + static_cast<std::ptrdiff_t>(end));
      auto [it, fresh] = done.try_emplace(group, kNoVReg);
      for (std::size_t n = 0; fresh && n < group.size(); n += 2) {
        const Element second = n + 1 < group.size() ? group[n + 1] : Element{};
        it->second = b_.value(Opcode::kAlu, mnemonic,
                              {l_.in_register(group[n]), second.reg, it->second}, second.bits);
      }
      for (std::size_t n = 0; n < group.size(); ++n) {
        result.push_back(
            {it->second, 0, static_cast<std::uint32_t>(n) * static_cast<std::uint32_t>(bits)});
      }
    }
    return result;
  }

 private:
  Lowering& l_;
  Builder& b_;
};

}  // namespace

bool lower_convert_float(Lowering& l, const kernel::Op& op) {
  const kernel::Type from = op.operands[0]->type, to = op.result()->type;
  if (width(from) == 64 || width(to) == 64) {
    return l.error(op, "tt.fp_to_fp of 64 bits is not yet lowered for the GPU");
  }
  if (width(from) == 16 && width(to) == 32) return lower_widen_float(l, op);
  const kernel::LinearLayout* layout = nullptr;
  if (to->kind == kernel::TypeKind::kTensor && !(layout = l.layout(to, op))) return false;
  Conversion c(l);
  std::vector<Element> e = l.elements(*op.operands[0]);
  if (e.empty()) return l.error(op, "an operand has no value in registers");
  const bool bf16 = to->dtype == kernel::DType::kBF16;
  if (width(from) == 8) {
    e = c.unpack(e);
    if (width(to) == 32 || bf16) e = c.widen(e);
    if (bf16) e = c.pack(e, "F2FP.BF16.PACK_AB", 16);
    if (width(to) == 8) e = c.pack(e, "F2FP.SATFINITE.E4M3.F16.PACK_AB_MERGE_C", 8);
  } else if (width(to) == 8) {
    if (from->dtype == kernel::DType::kBF16) e = c.widen(e);
    e = c.pack(e, "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C", 8);
  } else if (width(from) == 32 && width(to) == 16) {
    e = c.pack(e, bf16 ? "F2FP.BF16.PACK_AB" : "F2FP.F16.PACK_AB", 16);
  } else {
    return l.error(op, "this conversion is not yet lowered for the GPU");
  }
  l.set_elements(*op.result(), layout, std::move(e));
  return true;
}

}  // namespace xpusim::gpu
