#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "models/gpu/compiler/lowering/lowering.h"

namespace xpusim::gpu {

/// Computes an op element by element: `compute` makes one element of the result from the operands'.
/// Elements that several registers share (splats, copies, runs of equal ones) are computed once.
/// `compute` also takes the number of the element's register.
template <class Compute>
bool map_elements_by_register(Lowering& l, const kernel::Op& op, const Compute& compute) {
  const kernel::Type type = op.result()->type;
  const kernel::LinearLayout* layout = nullptr;
  if (type->kind == kernel::TypeKind::kTensor) {
    layout = l.layout(type, op);
    if (!layout) return false;
  }
  const std::uint32_t count = layout ? layout->register_count() : 1;
  std::vector<std::vector<Element>> operands;
  for (const kernel::Value* v : op.operands) operands.push_back(l.elements(*v));
  std::map<std::vector<Element>, Element> done;
  std::vector<Element> result;
  for (std::uint32_t r = 0; r < count; ++r) {
    const std::uint32_t same = layout ? l.same_register(*op.result(), *layout, r) : r;
    if (same < r) {
      result.push_back(result[same]);
      continue;
    }
    std::vector<Element> in;
    for (const auto& o : operands) {
      if (o.empty()) return l.error(op, "an operand has no value in registers");
      in.push_back(l.whole(o[o.size() == 1 ? 0 : r]));
    }
    auto [it, fresh] = done.try_emplace(in);
    if (fresh) it->second = compute(std::span<const Element>(in), r);
    result.push_back(it->second);
  }
  l.set_elements(*op.result(), layout, std::move(result));
  return true;
}

template <class Compute>
bool map_elements(Lowering& l, const kernel::Op& op, const Compute& compute) {
  return map_elements_by_register(
      l, op, [&](std::span<const Element> in, std::uint32_t) { return compute(in); });
}

/// The address that a pointer (or a register of a tile of pointers) stands for.
Address address(Lowering& l, const kernel::Value& pointer, std::uint32_t reg);

/// A word of the elements from `first` on: the register that holds just these, or what permutes put
/// together (each joins two).
VReg word_of(Lowering& l, const std::vector<Element>& elements, std::size_t first,
             std::uint32_t count, std::uint32_t bits);

/// A register that holds the element and may be redefined: its own if the op is the last to read
/// the value, else a copy.
VReg own_copy(Lowering& l, const kernel::Op& op, std::size_t operand, const Element& element);

/// Ends the warp, unless it has just ended.
void end_program(Lowering& l);

/// In a kernel of several groups of warps: the code before the function's own; the whole code of
/// a partition; and what the function's warps tell the others before they end.
void begin_function_warps(Lowering& l);
bool lower_partition(Lowering& l);
void end_other_warps(Lowering& l);

// The lowerings, by kind of op.
bool lower_constant(Lowering& l, const kernel::Op& op);
bool lower_warp_specialize(Lowering& l, const kernel::Op& op);
bool lower_program_id(Lowering& l, const kernel::Op& op);
bool lower_num_programs(Lowering& l, const kernel::Op& op);
bool lower_make_range(Lowering& l, const kernel::Op& op);
bool lower_splat(Lowering& l, const kernel::Op& op);
bool lower_expand_dims(Lowering& l, const kernel::Op& op);
bool lower_broadcast(Lowering& l, const kernel::Op& op);
bool lower_add_int(Lowering& l, const kernel::Op& op);
bool lower_sub_int(Lowering& l, const kernel::Op& op);
bool lower_mul_int(Lowering& l, const kernel::Op& op);
bool lower_bits(Lowering& l, const kernel::Op& op);
/// Of truth values: and, or, exclusive or, and comparisons.
bool lower_predicate_logic(Lowering& l, const kernel::Op& op);
bool lower_shift(Lowering& l, const kernel::Op& op);
bool lower_min_max_int(Lowering& l, const kernel::Op& op);
bool lower_cmp_int(Lowering& l, const kernel::Op& op);
bool lower_resize_int(Lowering& l, const kernel::Op& op);
bool lower_add_pointer(Lowering& l, const kernel::Op& op);

bool lower_float_binary(Lowering& l, const kernel::Op& op);
bool lower_div_float(Lowering& l, const kernel::Op& op);
bool lower_exp(Lowering& l, const kernel::Op& op);
bool lower_special(Lowering& l, const kernel::Op& op);
bool lower_negate(Lowering& l, const kernel::Op& op);
bool lower_cmp_float(Lowering& l, const kernel::Op& op);
bool lower_select(Lowering& l, const kernel::Op& op);
bool lower_int_to_float(Lowering& l, const kernel::Op& op);
bool lower_float_to_int(Lowering& l, const kernel::Op& op);
bool lower_bitcast(Lowering& l, const kernel::Op& op);
bool lower_widen_float(Lowering& l, const kernel::Op& op);
bool lower_narrow_float(Lowering& l, const kernel::Op& op);
bool lower_extern(Lowering& l, const kernel::Op& op);
bool lower_library_function(Lowering& l, const kernel::Op& op);
bool lower_convert_layout(Lowering& l, const kernel::Op& op);
bool lower_for(Lowering& l, const kernel::Op& op);
bool lower_barrier(Lowering& l, const kernel::Op& op);
bool lower_assert(Lowering& l, const kernel::Op& op);
bool lower_multiply_high(Lowering& l, const kernel::Op& op);
bool lower_abs_int(Lowering& l, const kernel::Op& op);
bool lower_fma(Lowering& l, const kernel::Op& op);
bool lower_divide_int(Lowering& l, const kernel::Op& op);

bool lower_local_alloc(Lowering& l, const kernel::Op& op);
bool lower_local_dealloc(Lowering& l, const kernel::Op& op);
bool lower_local_store(Lowering& l, const kernel::Op& op);
bool lower_local_load(Lowering& l, const kernel::Op& op);
bool lower_buffer_index(Lowering& l, const kernel::Op& op);
bool lower_buffer_slice(Lowering& l, const kernel::Op& op);
bool lower_buffer_view(Lowering& l, const kernel::Op& op);
bool lower_async_copy(Lowering& l, const kernel::Op& op);
bool lower_commit_group(Lowering& l, const kernel::Op& op);
bool lower_async_wait(Lowering& l, const kernel::Op& op);
bool lower_init_barrier(Lowering& l, const kernel::Op& op);
bool lower_inval_barrier(Lowering& l, const kernel::Op& op);
bool lower_barrier_expect(Lowering& l, const kernel::Op& op);
bool lower_arrive_barrier(Lowering& l, const kernel::Op& op);
bool lower_wait_barrier(Lowering& l, const kernel::Op& op);
bool lower_tma_load(Lowering& l, const kernel::Op& op);
bool lower_tma_store(Lowering& l, const kernel::Op& op);
bool lower_tma_reduce(Lowering& l, const kernel::Op& op);
bool lower_async_fence(Lowering& l, const kernel::Op& op);
bool lower_tma_store_wait(Lowering& l, const kernel::Op& op);
bool lower_scratch(Lowering& l, const kernel::Op& op);
bool lower_tensormap_create(Lowering& l, const kernel::Op& op);
bool lower_tensormap_acquire(Lowering& l, const kernel::Op& op);
bool lower_reinterpret_descriptor(Lowering& l, const kernel::Op& op);
bool lower_warp_group_dot(Lowering& l, const kernel::Op& op);
bool lower_warp_group_dot_wait(Lowering& l, const kernel::Op& op);
bool lower_dot(Lowering& l, const kernel::Op& op);

bool lower_load(Lowering& l, const kernel::Op& op);
bool lower_store(Lowering& l, const kernel::Op& op);
bool lower_atomic(Lowering& l, const kernel::Op& op);
bool lower_compare_and_swap(Lowering& l, const kernel::Op& op);
bool lower_reduce(Lowering& l, const kernel::Op& op);
bool lower_trans(Lowering& l, const kernel::Op& op);
bool lower_reshape(Lowering& l, const kernel::Op& op);
bool lower_join(Lowering& l, const kernel::Op& op);
bool lower_split(Lowering& l, const kernel::Op& op);
bool lower_cat(Lowering& l, const kernel::Op& op);
bool lower_scan(Lowering& l, const kernel::Op& op);
bool lower_double(Lowering& l, const kernel::Op& op);
bool lower_wide_division(Lowering& l, const kernel::Op& op);
bool lower_convert_float(Lowering& l, const kernel::Op& op);
bool lower_clamp(Lowering& l, const kernel::Op& op);
bool lower_pointer_to_int(Lowering& l, const kernel::Op& op);
bool lower_int_to_pointer(Lowering& l, const kernel::Op& op);
bool lower_inline_assembly(Lowering& l, const kernel::Op& op);
bool lower_call(Lowering& l, const kernel::Op& op);
bool lower_to_nothing(Lowering& l, const kernel::Op& op);
/// A function of several blocks, from its first one on.
bool lower_blocks(Lowering& l, const kernel::Region& body);
bool lower_if(Lowering& l, const kernel::Op& op);
bool lower_while(Lowering& l, const kernel::Op& op);
bool lower_histogram(Lowering& l, const kernel::Op& op);
bool lower_gather(Lowering& l, const kernel::Op& op);
bool lower_return(Lowering& l, const kernel::Op& op);

}  // namespace xpusim::gpu
