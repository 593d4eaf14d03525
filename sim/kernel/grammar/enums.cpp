#include "sim/kernel/grammar/enums.h"

namespace xpusim::kernel {
namespace {

constexpr EnumCase kCmpI[] = {{"eq", 0},  {"ne", 1},  {"slt", 2}, {"sle", 3}, {"sgt", 4},
                              {"sge", 5}, {"ult", 6}, {"ule", 7}, {"ugt", 8}, {"uge", 9}};
constexpr EnumCase kCmpF[] = {{"false", 0}, {"oeq", 1},  {"ogt", 2},  {"oge", 3},
                              {"olt", 4},   {"ole", 5},  {"one", 6},  {"ord", 7},
                              {"ueq", 8},   {"ugt", 9},  {"uge", 10}, {"ult", 11},
                              {"ule", 12},  {"une", 13}, {"uno", 14}, {"true", 15}};
constexpr EnumCase kRoundingMode[] = {{"to_nearest_even", 0},
                                      {"downward", 1},
                                      {"upward", 2},
                                      {"toward_zero", 3},
                                      {"to_nearest_away", 4}};
constexpr EnumCase kProgramDim[] = {{"x", 0}, {"y", 1}, {"z", 2}};
constexpr EnumCase kRmwOp[] = {{"and", 1}, {"or", 2},  {"xor", 3},  {"add", 4},  {"fadd", 5},
                               {"max", 6}, {"min", 7}, {"umax", 8}, {"umin", 9}, {"exch", 10}};
constexpr EnumCase kMemSemantic[] = {
    {"relaxed", 1}, {"acquire", 2}, {"release", 3}, {"acq_rel", 4}};
constexpr EnumCase kMemScope[] = {{"gpu", 1}, {"cta", 2}, {"sys", 3}};
constexpr EnumCase kCacheModifier[] = {{"none", 1}, {"ca", 2}, {"cg", 3}, {"wb", 4},
                                       {"cs", 5},   {"wt", 6}, {"cv", 7}};
constexpr EnumCase kEvictionPolicy[] = {{"evict_normal", 1}, {"evict_first", 2}, {"evict_last", 3}};
constexpr EnumCase kInputPrecision[] = {
    {"tf32", 0}, {"tf32x3", 1}, {"ieee", 2}, {"bf16x3", 3}, {"bf16x6", 4}};
constexpr EnumCase kScaleDotElem[] = {{"e4m3", 0}, {"e5m2", 1}, {"e2m3", 2}, {"e3m2", 3},
                                      {"e2m1", 4}, {"bf16", 5}, {"fp16", 6}};
constexpr EnumCase kPropagateNan[] = {{"none", 0}, {"all", 65535}};
constexpr EnumCase kFpRounding[] = {{"rtz", 0}, {"rtne", 1}};
constexpr EnumCase kDescriptorReduce[] = {{"none", 0}, {"add", 1}, {"min", 2},
                                          {"max", 3},  {"inc", 4}, {"dec", 5},
                                          {"and", 6},  {"or", 7},  {"xor", 8}};
constexpr EnumCase kReduceKind[] = {{"sum", 0},     {"max", 1},     {"min", 2},
                                    {"arg_max", 3}, {"arg_min", 4}, {"find_first_set", 5}};

constexpr EnumCase kStableHloReducer[] = {{"stablehlo.add", 0},     {"stablehlo.multiply", 1},
                                          {"stablehlo.maximum", 2}, {"stablehlo.minimum", 3},
                                          {"stablehlo.and", 4},     {"stablehlo.or", 5}};

constexpr EnumTable kTables[] = {
    {"cmpi_predicate", DType::kI64, kCmpI},
    {"cmpf_predicate", DType::kI64, kCmpF},
    {"rounding_mode", DType::kI32, kRoundingMode},
    {"program_dim", DType::kI32, kProgramDim},
    {"rmw_op", DType::kI32, kRmwOp},
    {"mem_semantic", DType::kI32, kMemSemantic},
    {"mem_scope", DType::kI32, kMemScope},
    {"cache_modifier", DType::kI32, kCacheModifier},
    {"eviction_policy", DType::kI32, kEvictionPolicy},
    {"input_precision", DType::kI32, kInputPrecision},
    {"scale_dot_elem", DType::kI32, kScaleDotElem},
    {"propagate_nan", DType::kI32, kPropagateNan},
    {"fp_rounding", DType::kI32, kFpRounding},
    {"descriptor_reduce", DType::kI32, kDescriptorReduce},
    {"reduce_kind", DType::kI32, kReduceKind},
    {"stablehlo_reducer", DType::kI32, kStableHloReducer},
};

}  // namespace

const EnumTable* find_enum(std::string_view name) {
  for (const EnumTable& table : kTables) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

}  // namespace xpusim::kernel
