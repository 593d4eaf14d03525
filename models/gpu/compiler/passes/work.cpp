#include "models/gpu/compiler/passes/work.h"

#include <algorithm>

namespace xpusim::gpu::passes {
namespace {

/// Bytes of a tile, with at least so many elements of at least so many bits.
std::int64_t bytes_of(Type type, std::int64_t least_elements, std::int64_t least_bits) {
  const bool pointers = type->is_pointer_like();
  const std::int64_t bits = pointers ? 64 : kernel::bit_width(type->dtype);
  return std::max(type->count(), least_elements) * std::max(bits, least_bits) / 8;
}

bool is_expensive_math(std::string_view name) {
  static constexpr std::string_view kExpensive[] = {
      "arith.divf", "math.exp",   "math.exp2", "math.log", "math.log2",  "math.sin",  "math.cos",
      "math.sqrt",  "math.rsqrt", "math.tanh", "math.erf", "arith.remf", "math.ceil", "math.floor"};
  return std::find(std::begin(kExpensive), std::end(kExpensive), name) != std::end(kExpensive);
}

}  // namespace

bool is_expensive_access(const Op& op, const Target& target) {
  if (!is_tensor(*op.operands[0])) return false;
  const std::int64_t count = op.operands[0]->type->count();
  return count > 1 && count >= target.num_warps * kThreadsPerWarp;
}

bool is_anchor(const Op& op, const Target& target) {
  const std::string_view name = op.name();
  if (name == "tt.load" || name == "tt.store") return is_expensive_access(op, target);
  return name == "tt.dot" || name == "ttng.warp_group_dot" || name == "tt.atomic_rmw" ||
         name == "tt.atomic_cas" || name == "ttg.local_load" || name == "ttng.warp_group_dot_wait";
}

bool may_repeat(const Op& op, const Target& target) {
  const std::string_view name = op.name();
  if (name == "tt.load") return !is_expensive_access(op, target);
  if (op.info->has(kernel::kControl) || name == "tt.dot") return false;
  return is_free_of_effects(op);
}

bool folds_into_conversion(const Op& op, Attr to) {
  const std::string_view name = op.name();
  if (name == "ttg.convert_layout") {
    return !is_mma(to) || op.operands[0]->type->encoding == to;
  }
  if (name == "arith.constant") return op.attr("value")->splat;
  return name == "tt.make_range" || name == "tt.splat";
}

std::int64_t repeat_cost(const Op& op) {
  const std::string_view name = op.name();
  if (name == "arith.constant") return 0;
  std::int64_t bytes = 0;
  for (const auto& result : op.results) bytes += bytes_of(result->type, 1, 1);
  if (name == "tt.load" || name == "ttg.local_load") return 8 * bytes;
  if (name == "tt.reduce") return 8 * bytes_of(op.operands[0]->type, 1, 1);
  if (name.starts_with("arith.") || name.starts_with("math.")) {
    return bytes * (is_expensive_math(name) ? 8 : 1);
  }
  return 0;
}

std::int64_t conversion_cost(Type tile) {
  // A store and a load of shared memory at 8 a byte, and as much again for waiting.
  return 32 * bytes_of(tile, 32, 32);
}

}  // namespace xpusim::gpu::passes
