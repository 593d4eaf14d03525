// tt.gather: where the source's axis lies within a warp, lanes fetch by shuffles; else the source
// goes to shared memory, and each element is loaded from its index there.

#include <algorithm>
#include <bit>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

bool moves(const kernel::Basis& basis, std::size_t axis) { return basis[axis] != 0; }

/// Whether a warp that needs an element holds it: the warps' bits are the same off the axis, and
/// none moves along it; lanes and registers agree off the axis.
bool within_warps(const kernel::LinearLayout& source, const kernel::LinearLayout& index,
                  std::size_t axis) {
  if (source.warps != index.warps) return false;
  for (const kernel::Basis& basis : source.warps) {
    if (moves(basis, axis)) return false;
  }
  for (std::size_t b = 0; b < source.lanes.size(); ++b) {
    const bool along = moves(source.lanes[b], axis) || moves(index.lanes[b], axis);
    if (!along && source.lanes[b] != index.lanes[b]) return false;
  }
  return true;
}

/// A shuffle for each register of the source that may hold the element, then selections by the bits
/// of the index that name the register.
Element by_shuffles(Lowering& l, const std::vector<Element>& column, const Element& index,
                    bool wide) {
  Builder& b = l.builder();
  const VReg from = l.in_register(index);
  const VReg lane = b.value(Opcode::kAlu, "LOP3", {from}, kWarpLanes - 1);
  std::vector<Element> got;
  for (const Element& e : column) {
    std::vector<VReg> words = words_of(l, e, wide);
    for (auto& w : words) w = b.value(Opcode::kShfl, "SHFL.IDX", {w, lane});
    got.push_back(element_of(words));
  }
  for (std::uint32_t bit = 1; got.size() > 1; bit *= 2) {
    const VReg second = b.predicate();
    b.emit(Opcode::kAlu, "LOP3", {second}, {from}, 0x100 | bit);
    std::vector<Element> left;
    for (std::size_t n = 0; n < got.size(); n += 2) {
      Element e{b.value(Opcode::kAlu, "SEL", {got[n].reg, got[n + 1].reg, second})};
      if (wide) e.high = b.value(Opcode::kAlu, "SEL", {got[n].high, got[n + 1].high, second});
      left.push_back(e);
    }
    got = std::move(left);
  }
  return got[0];
}

/// Puts the whole source into shared memory, row-major.
void spill_source(Lowering& l, const std::vector<Element>& source,
                  const kernel::LinearLayout& layout, std::uint32_t bytes) {
  Builder& b = l.builder();
  std::int64_t count = 1;
  for (auto extent : layout.shape) count *= extent;
  l.use_shared(count * bytes);
  if (l.take_shared_dirty()) l.barrier();
  const std::uint32_t words_each = std::max(1u, bytes / 4);
  const std::uint32_t together =
      std::min(layout.contiguous(static_cast<std::uint32_t>(layout.shape.size() - 1)),
               std::max(1u, 4 / words_each));
  IndexForm form;
  form.layout = &layout;
  std::int64_t stride = 1;
  form.factors.resize(layout.shape.size());
  for (std::size_t d = layout.shape.size(); d-- > 0; stride *= layout.shape[d]) {
    form.factors[d] = stride;
  }
  const VReg first = l.index_math().index(form, 0);
  const VReg at = b.value(Opcode::kAlu, "LEA", {first, l.shared_base()}, bytes);
  const std::uint32_t idle = layout.copy_lanes() | layout.copy_warps() << 5;
  const VReg guard = idle == 0 ? kNoVReg : l.tid_bits_clear(idle);
  const std::uint32_t step = bytes >= 4 ? together : 1;
  for (std::uint32_t r = 0; r < layout.register_count(); r += step) {
    if ((r & layout.copy_registers()) != 0) continue;
    std::vector<VReg> words;
    for (std::uint32_t n = 0; n < step; ++n) {
      for (VReg w : words_of(l, source[source.size() == 1 ? 0 : r + n], bytes > 4)) {
        words.push_back(w);
      }
    }
    store_shared(l, at, std::move(words), r, bytes < 4 ? bytes : 0).guard = guard;
  }
  barrier_before_loads(l);
}

}  // namespace

bool lower_gather(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* source = l.layout(op.operands[0]->type, op);
  const kernel::LinearLayout* index = l.layout(op.operands[1]->type, op);
  const kernel::LinearLayout* to = l.layout(op.result()->type, op);
  if (!source || !index || !to) return false;
  const auto axis = static_cast<std::size_t>(op.int_attr("axis"));
  const auto bits = static_cast<std::uint32_t>(kernel::bit_width(op.result()->type->dtype));
  const std::uint32_t bytes = std::max(1u, bits / 8);
  std::vector<Element> values = l.elements(*op.operands[0]);
  const std::vector<Element> indices = l.elements(*op.operands[1]);
  if (axis >= source->shape.size() || values.empty() || indices.empty()) {
    return l.error(op, "tt.gather needs an axis of the tile, and numbers");
  }
  if (values.size() == 1) values.resize(source->register_count(), values[0]);
  const bool shuffles = within_warps(*source, *index, axis);
  if (!shuffles) spill_source(l, values, *source, bytes);
  std::vector<Element> result;
  for (std::uint32_t r = 0; r < to->register_count(); ++r) {
    const Element e = l.whole(indices[indices.size() == 1 ? 0 : r]);
    if ((r & to->copy_registers()) != 0) {
      result.push_back(result[r & ~to->copy_registers()]);
    } else if (shuffles) {
      std::vector<Element> column;  // registers that differ from the result's along the axis only
      kernel::Basis at = index->at(r, 0, 0);
      at[axis] = 0;
      for (std::uint32_t s = 0; s < source->register_count(); ++s) {
        kernel::Basis from = source->at(s, 0, 0);
        from[axis] = 0;
        if ((s & source->copy_registers()) == 0 && from == at) column.push_back(values[s]);
      }
      if (column.empty()) return l.error(op, "the layouts do not hold the same rows");
      result.push_back(by_shuffles(l, column, e, bits > 32));
    } else {
      const VReg at = l.builder().value(Opcode::kAlu, "LEA", {l.in_register(e), l.shared_base()},
                                        0x1000 | bytes);
      result.push_back(element_of(load_shared(l, at, std::max(1u, bytes / 4), 0, bytes)));
    }
  }
  l.set_elements(*op.result(), to, std::move(result));
  return true;
}

}  // namespace xpusim::gpu
