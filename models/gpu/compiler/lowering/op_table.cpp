#include <unordered_map>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {

LowerOp find_lowering(std::string_view op) {
  static const std::unordered_map<std::string_view, LowerOp> table = {
      {"arith.constant", lower_constant},
      {"tt.get_program_id", lower_program_id},
      {"tt.get_num_programs", lower_num_programs},
      {"tt.make_range", lower_make_range},
      {"tt.splat", lower_splat},
      {"tt.expand_dims", lower_expand_dims},
      {"tt.broadcast", lower_broadcast},
      {"tt.addptr", lower_add_pointer},
      {"arith.addi", lower_add_int},
      {"arith.subi", lower_sub_int},
      {"arith.muli", lower_mul_int},
      {"arith.andi", lower_bits},
      {"arith.ori", lower_bits},
      {"arith.xori", lower_bits},
      {"arith.shli", lower_shift},
      {"arith.shrsi", lower_shift},
      {"arith.shrui", lower_shift},
      {"arith.minsi", lower_min_max_int},
      {"arith.maxsi", lower_min_max_int},
      {"arith.minui", lower_min_max_int},
      {"arith.maxui", lower_min_max_int},
      {"arith.cmpi", lower_cmp_int},
      {"arith.extsi", lower_resize_int},
      {"arith.extui", lower_resize_int},
      {"arith.trunci", lower_resize_int},
      {"arith.addf", lower_float_binary},
      {"arith.subf", lower_float_binary},
      {"arith.mulf", lower_float_binary},
      {"arith.maxnumf", lower_float_binary},
      {"arith.minnumf", lower_float_binary},
      {"arith.maximumf", lower_float_binary},
      {"arith.minimumf", lower_float_binary},
      {"arith.divf", lower_div_float},
      {"arith.negf", lower_negate},
      {"math.absf", lower_negate},
      {"math.exp", lower_exp},
      {"math.exp2", lower_special},
      {"math.log2", lower_special},
      {"math.sqrt", lower_special},
      {"math.rsqrt", lower_special},
      {"math.sin", lower_special},
      {"math.cos", lower_special},
      {"arith.cmpf", lower_cmp_float},
      {"arith.select", lower_select},
      {"arith.sitofp", lower_int_to_float},
      {"arith.uitofp", lower_int_to_float},
      {"arith.fptosi", lower_float_to_int},
      {"arith.fptoui", lower_float_to_int},
      {"arith.bitcast", lower_bitcast},
      {"tt.bitcast", lower_bitcast},
      {"tt.load", lower_load},
      {"tt.store", lower_store},
      {"tt.atomic_rmw", lower_atomic},
      {"tt.reduce", lower_reduce},
      {"tt.return", lower_return},
  };
  const auto it = table.find(op);
  return it == table.end() ? nullptr : it->second;
}

bool is_lowered(std::string_view op) {
  return op == "tt.reduce.return" || find_lowering(op) != nullptr;
}

}  // namespace xpusim::gpu
