// tt.elementwise_inline_asm: one PTX instruction that takes and gives whole elements. Any other
// inline assembly is refused by name.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

enum class Family : std::uint8_t { kInteger, kFloat, kMove, kToTf32 };

struct PtxInstruction {
  std::string_view name;
  Family family;
  std::uint8_t op;
  int operands;
  DType dtype;  ///< of operands and result; kNone: any, by its bits
};

constexpr std::uint8_t of(IntOp op) { return static_cast<std::uint8_t>(op); }
constexpr std::uint8_t of(FloatOp op) { return static_cast<std::uint8_t>(op); }

constexpr PtxInstruction kInstructions[] = {
    {"add.s32", Family::kInteger, of(IntOp::kAdd), 2, DType::kI32},
    {"add.u32", Family::kInteger, of(IntOp::kAdd), 2, DType::kI32},
    {"sub.s32", Family::kInteger, of(IntOp::kSub), 2, DType::kI32},
    {"sub.u32", Family::kInteger, of(IntOp::kSub), 2, DType::kI32},
    {"mul.lo.s32", Family::kInteger, of(IntOp::kMul), 2, DType::kI32},
    {"mul.lo.u32", Family::kInteger, of(IntOp::kMul), 2, DType::kI32},
    {"mul.hi.u32", Family::kInteger, of(IntOp::kMulHighU), 2, DType::kI32},
    {"min.s32", Family::kInteger, of(IntOp::kMinS), 2, DType::kI32},
    {"min.u32", Family::kInteger, of(IntOp::kMinU), 2, DType::kI32},
    {"max.s32", Family::kInteger, of(IntOp::kMaxS), 2, DType::kI32},
    {"max.u32", Family::kInteger, of(IntOp::kMaxU), 2, DType::kI32},
    {"and.b32", Family::kInteger, of(IntOp::kAnd), 2, DType::kI32},
    {"or.b32", Family::kInteger, of(IntOp::kOr), 2, DType::kI32},
    {"xor.b32", Family::kInteger, of(IntOp::kXor), 2, DType::kI32},
    {"add.f32", Family::kFloat, of(FloatOp::kAdd), 2, DType::kF32},
    {"sub.f32", Family::kFloat, of(FloatOp::kSub), 2, DType::kF32},
    {"mul.f32", Family::kFloat, of(FloatOp::kMul), 2, DType::kF32},
    {"fma.rn.f32", Family::kFloat, of(FloatOp::kFma), 3, DType::kF32},
    {"min.f32", Family::kFloat, of(FloatOp::kMinNum), 2, DType::kF32},
    {"max.f32", Family::kFloat, of(FloatOp::kMaxNum), 2, DType::kF32},
    {"ex2.approx.f32", Family::kFloat, of(FloatOp::kExp2), 1, DType::kF32},
    {"lg2.approx.f32", Family::kFloat, of(FloatOp::kLog2), 1, DType::kF32},
    {"sqrt.approx.f32", Family::kFloat, of(FloatOp::kSqrt), 1, DType::kF32},
    {"rsqrt.approx.f32", Family::kFloat, of(FloatOp::kRsqrt), 1, DType::kF32},
    {"sin.approx.f32", Family::kFloat, of(FloatOp::kSin), 1, DType::kF32},
    {"cos.approx.f32", Family::kFloat, of(FloatOp::kCos), 1, DType::kF32},
    {"tanh.approx.f32", Family::kFloat, of(FloatOp::kTanh), 1, DType::kF32},
    {"neg.f32", Family::kFloat, of(FloatOp::kNeg), 1, DType::kF32},
    {"abs.f32", Family::kFloat, of(FloatOp::kAbs), 1, DType::kF32},
    {"mov.b32", Family::kMove, 0, 1, DType::kNone},
    {"cvt.rna.tf32.f32", Family::kToTf32, 0, 1, DType::kF32},
};

/// "add.s32 $0, $1, $2;": the instruction's name, and which operands of the op it takes.
struct Statement {
  std::string_view name;
  std::vector<std::size_t> operands;
};

bool read_statement(std::string_view text, Statement& s) {
  const auto skip = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  };
  skip();
  const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  s.name = text.substr(0, end);
  text.remove_prefix(end);
  for (bool first = true;; first = false) {
    skip();
    if (text.size() < 2 || text[0] != '$' || text[1] < '0' || text[1] > '9') return false;
    const auto number = static_cast<std::size_t>(text[1] - '0');
    if (first != (number == 0)) return false;  // $0 is the result, and nothing else
    if (!first) s.operands.push_back(number - 1);
    text.remove_prefix(2);
    skip();
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  if (text.starts_with(';')) text.remove_prefix(1);
  skip();
  return text.empty();
}

const PtxInstruction* instruction_of(const kernel::Op& op, Statement& s) {
  if (!read_statement(op.str_attr("asm_string"), s)) return nullptr;
  const auto* it = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                [&](const PtxInstruction& p) { return p.name == s.name; });
  return it == std::end(kInstructions) ? nullptr : it;
}

std::string_view prepare(const kernel::Op& op, Instruction& in) {
  constexpr std::string_view kRefused = "inline assembly is not executed";
  Statement s;
  const PtxInstruction* p = instruction_of(op, s);
  if (!p || op.int_attr("packed_element", 1) != 1 || op.results.size() != 1 ||
      static_cast<int>(s.operands.size()) != p->operands) {
    return kRefused;
  }
  const auto fits = [&](const kernel::Value& v) {
    return p->dtype == DType::kNone ? kernel::bit_width(v.type->dtype) == 32
                                    : v.type->dtype == p->dtype;
  };
  for (const std::size_t k : s.operands) {
    if (k >= op.operands.size() || !fits(*op.operands[k])) return kRefused;
  }
  if (!fits(*op.results[0])) return kRefused;
  in.immediate = p - kInstructions;
  in.flops = p->family != Family::kFloat ? 0 : static_cast<FloatOp>(p->op) == FloatOp::kFma ? 2 : 1;
  return "";
}

/// To nearest, ties away from zero.
float to_tf32(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  if ((bits & 0x7f800000u) == 0x7f800000u) return v;
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

void round_to_tf32(const Tile& a, Tile& out) {
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
    return;
  }
  ChunkReader<float> reader(a);
  dense_storage(out);
  float result[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    std::transform(reader.at(start, n), reader.at(start, n) + n, result, to_tf32);
    write_floats(out, start, n, result);
  });
}

Step run(Frame& f, const Instruction& in) {
  Statement s;
  const PtxInstruction& p = *instruction_of(*in.op, s);
  const Tile* operands[3] = {};
  for (std::size_t k = 0; k < s.operands.size(); ++k) operands[k] = &f.operand(in, s.operands[k]);
  Tile& out = f.result(in);
  switch (p.family) {
    case Family::kInteger:
      integer_binary(static_cast<IntOp>(p.op), *operands[0], *operands[1], out);
      break;
    case Family::kFloat:
      float_op(static_cast<FloatOp>(p.op), {operands, s.operands.size()}, out);
      count_elementwise(f, in);
      break;
    case Family::kMove:
      bitcast(*operands[0], out);
      break;
    case Family::kToTf32:
      round_to_tf32(*operands[0], out);
      break;
  }
  return Step::kNext;
}

}  // namespace

void add_inline_assembly(OpTable& table) {
  table.add({.name = "tt.elementwise_inline_asm", .run = run, .prepare = prepare});
}

}  // namespace xpusim::exec
