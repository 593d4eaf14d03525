// Ops that only say anew where elements are: transposes, reshapes, joins, splits, concatenations.
// No instruction: the layouts of operand and result agree on the threads, and registers are
// renamed, as Triton's conversion does.

#include <algorithm>
#include <functional>

#include "models/gpu/compiler/lowering/elementwise.h"

namespace xpusim::gpu {
namespace {

/// Row-major index of coordinates, and back.
std::int64_t flat_of(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& at) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
  return flat;
}
std::vector<std::int64_t> coordinates_of(const std::vector<std::int64_t>& shape,
                                         std::int64_t flat) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; flat /= shape[d]) at[d] = flat % shape[d];
  return at;
}

/// New factors of a closed form from its old ones; none if there is no such form.
using Refactor =
    std::function<std::optional<std::vector<std::int64_t>>(const std::vector<std::int64_t>&)>;

bool rewrite(IndexForm& form, const Refactor& refactor, const kernel::LinearLayout* layout) {
  if (!form.layout) return true;
  auto factors = refactor(form.factors);
  if (!factors) return false;
  form.factors = std::move(*factors);
  form.layout = layout;
  return true;
}

/// The result is the operand under other coordinates: closed forms get new factors where that goes,
/// registers keep their order.
bool rename(Lowering& l, const kernel::Op& op, const Refactor& refactor) {
  const kernel::LinearLayout* layout = l.layout(op.result()->type, op);
  if (!layout) return false;
  const ValueState from = l.operand(op, 0);
  ValueState to = from;
  to.layout = layout;
  to.alias = true;
  bool closed = from.kind != ValueKind::kElements && rewrite(to.index, refactor, layout);
  for (Comparison& c : to.comparisons) {
    closed = closed && rewrite(c.left, refactor, layout) && rewrite(c.right, refactor, layout);
  }
  if (closed && (from.kind != ValueKind::kPointer || from.elements.empty())) {
    to.elements.clear();
    l.state(*op.result()) = std::move(to);
    return true;
  }
  if (from.kind == ValueKind::kPointer) {
    if (from.elements.empty()) {
      return l.error(op, "pointers that are not in closed form are not yet lowered here");
    }
    to.index.layout = layout;
    l.state(*op.result()) = std::move(to);
    return true;
  }
  std::vector<Element> elements = l.elements(*op.operands[0]);
  if (elements.size() != layout->register_count()) {
    return l.error(op, "the layouts do not hold the same elements");
  }
  l.set_elements(*op.result(), layout, std::move(elements));
  l.state(*op.result()).alias = true;
  return true;
}

/// Which register of a layout holds an element in the first thread.
std::optional<std::uint32_t> register_of(const kernel::LinearLayout& layout,
                                         const kernel::Basis& at) {
  for (std::uint32_t r = 0; r < layout.register_count(); ++r) {
    if (layout.at(r, 0, 0) == at) return r;
  }
  return std::nullopt;
}

/// Elements of an operand, or an error where it has none (pointers).
bool elements_of(Lowering& l, const kernel::Op& op, std::size_t n, std::vector<Element>& out) {
  out = l.elements(*op.operands[n]);
  return !out.empty() || l.error(op, "an operand has no value in registers");
}

}  // namespace

bool lower_trans(Lowering& l, const kernel::Op& op) {
  const kernel::Attr attr = op.attr("order");
  const std::vector<std::int64_t> order = attr ? attr->int_list() : std::vector<std::int64_t>{};
  if (order.size() != op.result()->type->shape.size()) {
    return l.error(op, "tt.trans needs an order of all dimensions");
  }
  return rename(l, op, [&](const std::vector<std::int64_t>& old) {
    std::vector<std::int64_t> factors;
    for (std::int64_t d : order) factors.push_back(old[static_cast<std::size_t>(d)]);
    return std::optional(factors);
  });
}

/// A closed form stays one if its values in the new shape are still linear in each coordinate.
bool lower_reshape(Lowering& l, const kernel::Op& op) {
  const auto& old_shape = op.operands[0]->type->shape;
  const auto& shape = op.result()->type->shape;
  return rename(
      l, op, [&](const std::vector<std::int64_t>& old) -> std::optional<std::vector<std::int64_t>> {
        std::vector<std::int64_t> factors(shape.size());
        for (std::size_t d = 0; d < shape.size(); ++d) {
          for (std::int64_t step = 1; step < shape[d]; step *= 2) {
            std::vector<std::int64_t> at(shape.size());
            at[d] = step;
            const auto from = coordinates_of(old_shape, flat_of(shape, at));
            std::int64_t value = 0;
            for (std::size_t o = 0; o < old.size(); ++o) value += old[o] * from[o];
            if (step == 1) factors[d] = value;
            if (value != factors[d] * step) return std::nullopt;
          }
        }
        return factors;
      });
}

/// Two tiles side by side along a new last dimension.
bool lower_join(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* from = l.layout(op.operands[0]->type, op);
  const kernel::LinearLayout* to = l.layout(op.result()->type, op);
  std::vector<Element> sides[2];
  if (!from || !to || !elements_of(l, op, 0, sides[0]) || !elements_of(l, op, 1, sides[1])) {
    return false;
  }
  std::vector<Element> joined;
  for (std::uint32_t r = 0; r < to->register_count(); ++r) {
    kernel::Basis at = to->at(r, 0, 0);
    const auto& side = sides[at.back()];
    at.pop_back();
    const auto source = register_of(*from, at);
    if (!source) return l.error(op, "the layouts do not hold the same elements");
    joined.push_back(side[side.size() == 1 ? 0 : *source]);
  }
  l.set_elements(*op.result(), to, std::move(joined));
  l.state(*op.result()).alias = true;
  return true;
}

/// The two halves of the last dimension.
bool lower_split(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* from = l.layout(op.operands[0]->type, op);
  const kernel::LinearLayout* to = l.layout(op.result()->type, op);
  std::vector<Element> whole;
  if (!from || !to || !elements_of(l, op, 0, whole)) return false;
  for (std::size_t side = 0; side < op.results.size(); ++side) {
    std::vector<Element> half;
    for (std::uint32_t r = 0; r < to->register_count(); ++r) {
      kernel::Basis at = to->at(r, 0, 0);
      at.push_back(static_cast<std::int64_t>(side));
      const auto source = register_of(*from, at);
      if (!source) return l.error(op, "the layouts do not hold the same elements");
      half.push_back(whole[whole.size() == 1 ? 0 : *source]);
    }
    l.set_elements(*op.result(side), to, std::move(half));
    l.state(*op.result(side)).alias = true;
  }
  return true;
}

/// The registers of one tile after those of the other: the order of elements is left open.
bool lower_cat(Lowering& l, const kernel::Op& op) {
  const kernel::LinearLayout* to = l.layout(op.result()->type, op);
  if (!to) return false;
  std::vector<Element> all;
  for (std::size_t n = 0; n < op.operands.size(); ++n) {
    const kernel::LinearLayout* from = l.layout(op.operands[n]->type, op);
    std::vector<Element> part;
    if (!from || !elements_of(l, op, n, part)) return false;
    if (part.size() == 1) part.resize(from->register_count(), part[0]);
    all.insert(all.end(), part.begin(), part.end());
  }
  if (all.size() != to->register_count()) {
    return l.error(op, "the layouts do not hold the same elements");
  }
  l.set_elements(*op.result(), to, std::move(all));
  l.state(*op.result()).alias = true;
  return true;
}

}  // namespace xpusim::gpu
