#include "sim/kernel/analysis/linear_layout.h"

#include <fmt/format.h>

#include <utility>

#include "sim/kernel/analysis/layout_bases.h"
#include "sim/kernel/analysis/mma_layout.h"

namespace xpusim::kernel {
namespace {

bool is_zero(const Basis& basis) {
  for (auto c : basis) {
    if (c != 0) return false;
  }
  return true;
}

Basis add(const std::vector<Basis>& bases, std::uint32_t number, Basis sum) {
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    if (((number >> bit) & 1u) == 0) continue;
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] ^= bases[bit][d];
  }
  return sum;
}

std::uint32_t copies(const std::vector<Basis>& bases) {
  std::uint32_t bits = 0;
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    if (is_zero(bases[bit])) bits |= 1u << bit;
  }
  return bits;
}

std::string check_lists(Attr encoding, std::size_t rank) {
  for (const char* key : {"sizePerThread", "threadsPerWarp", "warpsPerCTA"}) {
    if (auto problem = check_powers(encoding, key, rank); !problem.empty()) return problem;
  }
  const Attr order = encoding->get("order");
  const auto dims = order ? order->int_list() : std::vector<std::int64_t>{};
  std::uint64_t seen = 0;
  for (auto d : dims) {
    if (d >= 0 && d < 32) seen |= 1ull << d;
  }
  if (dims.size() != rank || seen + 1 != (1ull << rank)) {
    return "order of " + encoding->text + " is no permutation of the tile's dimensions";
  }
  return check_cluster(encoding);
}

Expected<LinearLayout> blocked(Attr encoding, const std::vector<std::int64_t>& shape,
                               const SourcePosition& where) {
  if (auto problem = check_lists(encoding, shape.size()); !problem.empty()) {
    return fail(where, problem);
  }
  const auto order = encoding->get("order")->int_list();
  std::vector<std::int64_t> covered(shape.size(), 1);
  LinearLayout layout;
  layout.shape = shape;
  layout.registers = span(encoding->get("sizePerThread")->int_list(), order, covered);
  layout.lanes = span(encoding->get("threadsPerWarp")->int_list(), order, covered);
  layout.warps = span(encoding->get("warpsPerCTA")->int_list(), order, covered);
  return fit(std::move(layout), std::move(covered), order);
}

/// The parent's layout without one dimension; registers that then hold only copies fall away.
Expected<LinearLayout> slice(Attr encoding, const std::vector<std::int64_t>& shape,
                             const SourcePosition& where) {
  const Attr dim_attr = encoding->get("dim");
  const Attr parent = encoding->get("parent");
  if (!dim_attr || !parent || dim_attr->integer < 0 ||
      dim_attr->integer > static_cast<std::int64_t>(shape.size())) {
    return fail(where, "a slice needs a dimension of its parent and the parent: " + encoding->text);
  }
  const auto dim = static_cast<std::ptrdiff_t>(dim_attr->integer);
  auto parent_shape = shape;
  parent_shape.insert(parent_shape.begin() + dim, 1);
  auto layout = linear_layout(parent, parent_shape, where);
  if (!layout) return layout;
  for (auto* bases : {&layout->registers, &layout->lanes, &layout->warps}) {
    for (auto& basis : *bases) basis.erase(basis.begin() + dim);
  }
  std::erase_if(layout->registers, is_zero);
  layout->shape = shape;
  return layout;
}

Expected<LinearLayout> linear(Attr encoding, const std::vector<std::int64_t>& shape,
                              const SourcePosition& where) {
  LinearLayout layout;
  layout.shape = shape;
  std::vector<std::int64_t> covered(shape.size(), 1);
  const std::pair<const char*, std::vector<Basis>*> parts[] = {
      {"register", &layout.registers}, {"lane", &layout.lanes}, {"warp", &layout.warps}};
  for (const auto& [key, bases] : parts) {
    const Attr list = encoding->get(key);
    if (!list) return fail(where, fmt::format("{} lacks '{}'", encoding->text, key));
    for (Attr entry : list->elements) {
      bases->push_back(entry->int_list());
      if (bases->back().size() != shape.size()) {
        return fail(where, fmt::format("the bases of {} need {} coordinates, as the tile has "
                                       "dimensions",
                                       encoding->text, shape.size()));
      }
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t c = bases->back()[d];
        if (c < 0 || c > (std::int64_t{1} << 40)) {
          return fail(where, "a basis of " + encoding->text + " is out of range");
        }
        while (covered[d] <= c) covered[d] *= 2;
      }
    }
  }
  if (auto problem = check_cluster(encoding); !problem.empty()) return fail(where, problem);
  return fit(std::move(layout), std::move(covered), row_major(shape.size()));
}

}  // namespace

Basis LinearLayout::at(std::uint32_t reg, std::uint32_t lane, std::uint32_t warp) const {
  return add(warps, warp, add(lanes, lane, add(registers, reg, Basis(shape.size()))));
}

std::int64_t LinearLayout::flat(std::uint32_t reg, std::uint32_t lane, std::uint32_t warp) const {
  const Basis c = at(reg, lane, warp);
  std::int64_t index = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + c[d];
  return index;
}

std::uint32_t LinearLayout::fastest_dim() const {
  for (const auto* bases : {&registers, &lanes}) {
    for (const auto& basis : *bases) {
      for (std::size_t d = 0; d < basis.size(); ++d) {
        if (basis[d] == 1) return static_cast<std::uint32_t>(d);
      }
    }
  }
  return shape.empty() ? 0 : static_cast<std::uint32_t>(shape.size() - 1);
}

std::uint32_t LinearLayout::contiguous(std::uint32_t dim) const {
  std::uint32_t elements = 1;
  for (const auto& basis : registers) {
    for (std::size_t d = 0; d < basis.size(); ++d) {
      if (basis[d] != (d == dim ? elements : 0)) return elements;
    }
    elements *= 2;
  }
  return elements;
}

std::uint32_t LinearLayout::copy_registers() const { return copies(registers); }
std::uint32_t LinearLayout::copy_lanes() const { return copies(lanes); }
std::uint32_t LinearLayout::copy_warps() const { return copies(warps); }

Expected<LinearLayout> linear_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                     const SourcePosition& where) {
  if (!encoding) return fail(where, "the tile has no layout; the text is not in TTGIR form");
  for (auto n : shape) {
    if (!power_of_two(n)) {
      return fail(where, fmt::format("a tile's dimensions are powers of two, not {}", n));
    }
  }
  if (encoding->string == "ttg.blocked") return blocked(encoding, shape, where);
  if (encoding->string == "ttg.slice") return slice(encoding, shape, where);
  if (encoding->string == "ttg.linear") return linear(encoding, shape, where);
  if (encoding->string == "ttg.nvidia_mma") return mma_layout(encoding, shape, where);
  if (encoding->string == "ttg.dot_op") return dot_operand_layout(encoding, shape, where);
  return fail(where, "the layout #" + encoding->string + " is not modelled yet");
}

}  // namespace xpusim::kernel
