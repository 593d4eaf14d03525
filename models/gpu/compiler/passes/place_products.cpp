#include <algorithm>
#include <unordered_set>

#include "models/gpu/compiler/passes/kernel_form.h"

namespace xpusim::gpu::passes {
namespace {

using kernel::DType;

constexpr std::int64_t kWarpGroup = 4;   // warps that start a wgmma together
constexpr std::int64_t kWgmmaRows = 64;  // of a warp group; a warp holds 16 of them
constexpr std::int64_t kMmaRows = 16, kMmaColumns = 8;
constexpr std::int64_t kMostColumns = 256;
constexpr std::int64_t kTf32 = 0, kIeee = 2;  // inputPrecision of tt.dot

bool is_half(DType d) { return d == DType::kF16 || d == DType::kBF16; }
bool is_byte(DType d) { return d == DType::kF8E4M3FN || d == DType::kF8E5M2 || d == DType::kI8; }

Value* before_conversions(Value* value) {
  while (value->def && value->def->name() == "ttg.convert_layout") value = value->def->operands[0];
  return value;
}

bool is_loaded(const Value& value) { return !value.def || value.def->name() == "tt.load"; }

/// All ops that use a value, what they make, and so on; those inside regions too, but not what a
/// region hands on.
void follow(const Value& value, const Users& users, std::unordered_set<const Op*>& found) {
  const auto it = users.find(&value);
  if (it == users.end()) return;
  for (Op* user : it->second) {
    if (!found.insert(user).second) continue;
    for (const auto& result : user->results) follow(*result, users, found);
    for (const auto& region : user->regions) {
      for (const auto& block : region->blocks) {
        for (const auto& arg : block->args) follow(*arg, users, found);
      }
    }
  }
}

class Products {
 public:
  explicit Products(Kernel& kernel) : kernel_(kernel), context_(kernel.context) {}

  void run() {
    for (Op* dot : ops_named(kernel_.function, "tt.dot")) {
      if (takes_wgmma(*dot)) {
        place_wgmma(*dot);
      } else if (takes_mma(*dot)) {
        place_mma(*dot);
      }
    }
  }

 private:
  static DType factor(const Op& dot) { return dot.operands[0]->type->dtype; }
  static bool rounds_to_tf32(const Op& dot) {
    return factor(dot) == DType::kF32 && dot.int_attr("inputPrecision", kIeee) == kTf32;
  }

  bool takes_wgmma(const Op& dot) const {
    const Shape& tile = dot.result()->type->shape;
    const bool kind = is_half(factor(dot)) || is_byte(factor(dot)) || rounds_to_tf32(dot);
    return kernel_.target.capability == 90 && kind && tile.size() == 2 &&
           dot.operands[1]->type->dtype == factor(dot) &&
           kernel_.target.num_warps % kWarpGroup == 0 && tile[0] % kWgmmaRows == 0 &&
           tile[1] % kMmaColumns == 0;
  }

  static bool takes_mma(const Op& dot) {
    const Shape& tile = dot.result()->type->shape;
    const DType d = factor(dot);
    const bool kind = is_half(d) || is_byte(d) || d == DType::kF64 || rounds_to_tf32(dot);
    return kind && tile.size() == 2 && tile[0] >= kMmaRows && tile[1] >= kMmaColumns &&
           dot.operands[1]->type->dtype == d;
  }

  bool feeds_another(const Op& dot) {
    std::unordered_set<const Op*> found;
    follow(*dot.result(), users_of(kernel_.function), found);
    return std::any_of(found.begin(), found.end(), [](const Op* op) {
      return op->name() == "tt.dot" || op->name() == "ttng.warp_group_dot";
    });
  }

  Shape wgmma_instruction(const Op& dot) const {
    const Shape& tile = dot.result()->type->shape;
    const std::int64_t down = std::max<std::int64_t>(tile[0] / kMmaRows, 1);
    const std::int64_t across = std::max<std::int64_t>(kernel_.target.num_warps / down, 1);
    const std::int64_t most = std::max(tile[1] / across, kMmaColumns);
    const bool bytes_only = factor(dot) == DType::kI8;
    std::int64_t columns = kMmaColumns;
    for (std::int64_t n = kMmaColumns; n <= std::min(most, kMostColumns); n += kMmaColumns) {
      if (bytes_only && n > 32 && n % 16 != 0) continue;  // integers come in steps of 16
      if (tile[1] % n == 0) columns = n;
    }
    return {kMmaRows, columns, 256 / kernel::bit_width(factor(dot))};
  }

  Shape wgmma_warps(const Op& dot, const Shape& instruction) {
    if (feeds_another(dot)) return {kernel_.target.num_warps, 1};
    Shape warps{kWarpGroup, 1};
    while (warps[0] * warps[1] < kernel_.target.num_warps) {
      const bool down = dot.result()->type->shape[0] > instruction[0] * warps[0];
      warps[down ? 0 : 1] *= 2;
    }
    return warps;
  }

  void place_wgmma(Op& dot) {
    const Shape instruction = wgmma_instruction(dot);
    const Attr result = mma(context_, 3, wgmma_warps(dot, instruction), instruction);
    Value* a = before_conversions(dot.operands[0]);
    Value* b = before_conversions(dot.operands[1]);
    Builder builder(context_, before(dot), dot);
    Value* c = builder.convert(dot.operands[2], result);
    if (is_loaded(*a)) {
      a = share(*a, dot, 0);
    } else {
      const std::int64_t width = 32 / kernel::bit_width(a->type->dtype);
      a = Builder(context_, before(dot), dot).convert(a, dot_operand(context_, 0, result, width));
    }
    b = share(*b, dot, 1);
    Attrs attrs{{"inputPrecision", context_.integer(dot.int_attr("inputPrecision", kIeee),
                                                    context_.scalar(DType::kI32))}};
    if (const std::int64_t most = dot.int_attr("maxNumImpreciseAcc"); most != 0)
      attrs.emplace_back("maxNumImpreciseAcc",
                         context_.integer(most, context_.scalar(DType::kI32)));
    Builder last(context_, before(dot), dot);
    Value* made = last.make("ttng.warp_group_dot", {a, b, c},
                            with_encoding(context_, dot.result()->type, result), std::move(attrs),
                            {1, 1, 1, 0});
    finish(dot, *made);
  }

  /// A factor in shared memory. Only 16-bit elements may lie either way round.
  Value* share(Value& factor, const Op& dot, std::int64_t index) {
    const Type type = factor.type;
    const std::int64_t bits = kernel::bit_width(type->dtype);
    const bool transposed = is_half(type->dtype) ? order_of(type->encoding, 2)[0] == 0 : index == 1;
    const Attr encoding = wgmma_shared(context_, type->shape, bits, transposed);
    const Op& model = factor.def ? *factor.def : dot;
    Builder builder(context_, factor.def ? after(factor) : before(dot), model);
    return builder.make("ttg.local_alloc", {&factor},
                        memdesc(context_, type->shape, type->element, encoding, false), {}, {1});
  }

  /// Warps balance the rows and columns that each holds; with products that feed one another, all
  /// go along the longer side.
  Shape mma_warps(const Op& dot) {
    const Shape& tile = dot.result()->type->shape;
    const std::int64_t count = kernel_.target.num_warps;
    if (is_chained(dot)) return tile[0] >= tile[1] ? Shape{count, 1} : Shape{1, count};
    Shape warps{1, 1};
    std::int64_t down = (tile[0] + kMmaRows - 1) / kMmaRows;
    std::int64_t across = (tile[1] + kMmaColumns - 1) / kMmaColumns;
    while (warps[0] * warps[1] < count) {
      if (down >= across) {
        warps[0] *= 2;
        down = std::max<std::int64_t>(down / 2, 1);
      } else {
        warps[1] *= 2;
        across /= 2;
      }
    }
    return warps;
  }

  bool is_chained(const Op& dot) {
    if (feeds_another(dot)) return true;
    for (Op* other : ops_named(kernel_.function, "tt.dot")) {
      if (other == &dot || other->parent != dot.parent) continue;
      std::unordered_set<const Op*> found;
      follow(*other->result(), users_of(kernel_.function), found);
      if (found.contains(&dot)) return true;
    }
    return false;
  }

  void place_mma(Op& dot) {
    const Attr result = mma(context_, 2, mma_warps(dot), {kMmaRows, kMmaColumns});
    const std::int64_t width = std::max<std::int64_t>(1, 32 / kernel::bit_width(factor(dot)));
    Builder builder(context_, before(dot), dot);
    std::vector<Value*> operands;
    for (std::int64_t i = 0; i < 2; ++i) {
      Value* value = before_conversions(dot.operands[static_cast<std::size_t>(i)]);
      operands.push_back(builder.convert(value, dot_operand(context_, i, result, width)));
    }
    operands.push_back(builder.convert(dot.operands[2], result));
    Value* made =
        builder.make("tt.dot", operands, with_encoding(context_, dot.result()->type, result),
                     dot.attrs, dot.segments);
    finish(dot, *made);
  }

  void finish(Op& dot, Value& made) {
    Builder builder(context_, before(dot), dot);
    Value* plain = builder.convert(&made, dot.result()->type->encoding);
    replace(kernel_.function, *dot.result(), *plain, nullptr);
    detach(dot);
  }

  Kernel& kernel_;
  Context& context_;
};

}  // namespace

void place_products(Kernel& kernel) { Products(kernel).run(); }

}  // namespace xpusim::gpu::passes
