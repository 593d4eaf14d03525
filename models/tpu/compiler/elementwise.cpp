// The instructions that compute each element-wise op. Counts follow what the units offer: the EUP
// gives 2^x, 1/x, 1/sqrt(x), log2 and tanh; the rest is vector ALU work.

#include <array>
#include <unordered_map>

#include "models/tpu/compiler/builder.h"

namespace xpusim::tpu {
namespace {

using Operands = std::span<const ValueId>;

template <Opcode kOp>
ValueId unary(TileBuilder& b, Operands x, Element e) {
  return b.compute(kOp, e, {x[0]});
}
template <Opcode kOp>
ValueId binary(TileBuilder& b, Operands x, Element e) {
  return b.compute(kOp, e, {x[0], x[1]});
}

/// The EUP's reciprocal and one Newton step: r' = r (2 - x r).
ValueId reciprocal(TileBuilder& b, ValueId x, Element e) {
  if (b.is_constant(x)) return b.constant(e);
  const ValueId r = b.compute(Opcode::kVReciprocal, e, {x});
  const ValueId xr = b.compute(Opcode::kVMul, e, {x, r});
  const ValueId rest = b.compute(Opcode::kVSub, e, {b.constant(e), xr});
  return b.compute(Opcode::kVMul, e, {r, rest});
}
ValueId divide(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVMul, e, {x[0], reciprocal(b, x[1], e)});
}
/// exp(x) = 2^(x log2 e)
ValueId exponential(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVPow2, e, {b.compute(Opcode::kVMul, e, {x[0], b.constant(e)})});
}
/// log(x) = log2(x) ln 2
ValueId logarithm(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVMul, e, {b.compute(Opcode::kVLog2, e, {x[0]}), b.constant(e)});
}
ValueId square_root(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVMul, e, {x[0], b.compute(Opcode::kVRsqrt, e, {x[0]})});
}
/// x^y = 2^(y log2 x)
ValueId power(TileBuilder& b, Operands x, Element e) {
  const ValueId log = b.compute(Opcode::kVLog2, e, {x[0]});
  return b.compute(Opcode::kVPow2, e, {b.compute(Opcode::kVMul, e, {x[1], log})});
}
ValueId multiply_add(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVAdd, e, {b.compute(Opcode::kVMul, e, {x[0], x[1]}), x[2]});
}
ValueId negate(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVSub, e, {b.constant(e), x[0]});
}
ValueId logic(TileBuilder& b, Operands x, Element e) {
  const bool masks =
      b.value(x[0]).kind == TileValue::Kind::kMask || b.value(x[1]).kind == TileValue::Kind::kMask;
  return masks ? b.compare(Opcode::kVMaskLogic, e, {x[0], x[1]})
               : b.compute(Opcode::kVLogic, e, {x[0], x[1]});
}
ValueId compare(TileBuilder& b, Operands x, Element) {
  return b.compare(Opcode::kVCompare, b.value(x[0]).element, {x[0], x[1]});
}
ValueId select(TileBuilder& b, Operands x, Element e) {
  return b.compute(Opcode::kVSelect, e, {x[0], x[1], x[2]});
}
/// `terms` multiply-adds: what takes a polynomial after `before` instructions that bring the
/// argument into its range. How many of both the TPU's own libraries take is not public.
template <int kBefore, int kTerms>
ValueId polynomial(TileBuilder& b, Operands x, Element e) {
  ValueId t = x[0];
  for (int i = 0; i < kBefore; ++i) t = b.compute(Opcode::kVLogic, e, {t});
  ValueId sum = t;
  for (int i = 0; i < kTerms; ++i) sum = multiply_add(b, std::array{sum, t, b.constant(e)}, e);
  return sum;
}
template <Opcode kOp>
ValueId convert(TileBuilder& b, Operands x, Element e) {
  return b.convert(kOp, b.value(x[0]).element, e, x[0]);
}
ValueId same(TileBuilder&, Operands x, Element) { return x[0]; }

const std::unordered_map<std::string_view, ElementwiseHandler> kHandlers = {
    {"arith.addf", binary<Opcode::kVAdd>},
    {"arith.subf", binary<Opcode::kVSub>},
    {"arith.mulf", binary<Opcode::kVMul>},
    {"arith.divf", divide},
    {"arith.maximumf", binary<Opcode::kVMax>},
    {"arith.minimumf", binary<Opcode::kVMin>},
    {"arith.maxnumf", binary<Opcode::kVMax>},
    {"arith.minnumf", binary<Opcode::kVMin>},
    {"arith.negf", negate},
    {"arith.addi", binary<Opcode::kVAdd>},
    {"arith.subi", binary<Opcode::kVSub>},
    {"arith.muli", binary<Opcode::kVMul>},
    {"arith.maxsi", binary<Opcode::kVMax>},
    {"arith.minsi", binary<Opcode::kVMin>},
    {"arith.maxui", binary<Opcode::kVMax>},
    {"arith.minui", binary<Opcode::kVMin>},
    {"arith.andi", logic},
    {"arith.ori", logic},
    {"arith.xori", logic},
    {"arith.shli", binary<Opcode::kVShift>},
    {"arith.shrsi", binary<Opcode::kVShift>},
    {"arith.shrui", binary<Opcode::kVShift>},
    {"arith.cmpf", compare},
    {"arith.cmpi", compare},
    {"arith.select", select},
    {"arith.extf", convert<Opcode::kVUnpack>},
    {"arith.truncf", convert<Opcode::kVPack>},
    {"arith.sitofp", convert<Opcode::kVConvert>},
    {"arith.uitofp", convert<Opcode::kVConvert>},
    {"arith.fptosi", convert<Opcode::kVConvert>},
    {"arith.fptoui", convert<Opcode::kVConvert>},
    {"arith.extui", convert<Opcode::kVConvert>},
    {"arith.extsi", convert<Opcode::kVConvert>},
    {"arith.trunci", convert<Opcode::kVConvert>},
    {"arith.bitcast", same},
    {"tpu.bitcast", same},
    {"tpu.extf", convert<Opcode::kVUnpack>},
    {"tpu.truncf", convert<Opcode::kVPack>},
    {"tpu.sitofp", convert<Opcode::kVConvert>},
    {"tpu.fptosi", convert<Opcode::kVConvert>},
    {"tpu.reciprocal", unary<Opcode::kVReciprocal>},
    {"math.exp", exponential},
    {"math.exp2", unary<Opcode::kVPow2>},
    {"math.log", logarithm},
    {"math.log2", unary<Opcode::kVLog2>},
    {"math.rsqrt", unary<Opcode::kVRsqrt>},
    {"math.sqrt", square_root},
    {"math.tanh", unary<Opcode::kVTanh>},
    {"math.powf", power},
    {"math.fma", multiply_add},
    {"math.absf", unary<Opcode::kVLogic>},
    {"math.floor", unary<Opcode::kVConvert>},
    {"math.ceil", unary<Opcode::kVConvert>},
    {"math.roundeven", unary<Opcode::kVConvert>},
    {"math.erf", polynomial<4, 10>},
    {"math.sin", polynomial<12, 6>},
    {"math.cos", polynomial<12, 6>},
};

}  // namespace

ElementwiseHandler elementwise_handler(std::string_view op) {
  const auto it = kHandlers.find(op);
  return it == kHandlers.end() ? nullptr : it->second;
}

}  // namespace xpusim::tpu
