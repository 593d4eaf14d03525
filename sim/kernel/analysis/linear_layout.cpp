#include "sim/kernel/analysis/linear_layout.h"

#include <fmt/format.h>

#include <bit>
#include <cstdlib>
#include <utility>

namespace xpusim::kernel {
namespace {

bool power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

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

/// Bases that step through `counts[d]` positions of dimension d, `steps[d]` elements apart, in
/// `order`; moves `steps` on to what follows.
std::vector<Basis> span(const std::vector<std::int64_t>& counts,
                        const std::vector<std::int64_t>& order, std::vector<std::int64_t>& steps) {
  std::vector<Basis> bases;
  for (auto d : order) {
    const auto dim = static_cast<std::size_t>(d);
    for (std::int64_t n = 1; n < counts[dim]; n *= 2) {
      Basis basis(steps.size());
      basis[dim] = steps[dim];
      bases.push_back(std::move(basis));
      steps[dim] *= 2;
    }
  }
  return bases;
}

/// Bits that would step out of the tile make copies instead.
void clip(std::vector<Basis>& bases, const std::vector<std::int64_t>& shape) {
  for (auto& basis : bases) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (basis[d] >= shape[d]) basis[d] = 0;
    }
  }
}

/// Fits a layout that covers `covered` elements a dimension to the tile: clips it, then adds
/// registers.
LinearLayout fit(LinearLayout layout, std::vector<std::int64_t> covered,
                 const std::vector<std::int64_t>& order) {
  clip(layout.registers, layout.shape);
  clip(layout.lanes, layout.shape);
  clip(layout.warps, layout.shape);
  std::vector<std::int64_t> repeats;
  for (std::size_t d = 0; d < covered.size(); ++d) {
    repeats.push_back(covered[d] < layout.shape[d] ? layout.shape[d] / covered[d] : 1);
  }
  for (auto& basis : span(repeats, order, covered)) layout.registers.push_back(std::move(basis));
  return layout;
}

std::string check_lists(Attr encoding, std::size_t rank) {
  for (const char* key : {"sizePerThread", "threadsPerWarp", "warpsPerCTA", "order"}) {
    const Attr list = encoding->get(key);
    if (!list || list->int_list().size() != rank) {
      return fmt::format("{} of {} needs {} entries, as the tile has dimensions", key,
                         encoding->text, rank);
    }
    if (std::string_view(key) == "order") {
      std::uint64_t seen = 0;
      for (auto d : list->int_list()) {
        if (d >= 0 && d < 32) seen |= 1ull << d;
      }
      if (seen + 1 != (1ull << rank)) return "order of " + encoding->text + " is no permutation";
      continue;
    }
    for (auto n : list->int_list()) {
      if (!power_of_two(n)) {
        return fmt::format("{} of {} is no power of two", key, encoding->text);
      }
    }
  }
  for (const char* key : {"CTAsPerCGA", "CTASplitNum"}) {
    const Attr list = encoding->get(key);
    for (auto n : list ? list->int_list() : std::vector<std::int64_t>{}) {
      if (n != 1) return "layouts over a cluster of blocks are not modelled: " + encoding->text;
    }
  }
  return "";
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
  if (const Attr block = encoding->get("block"); block && !block->elements.empty()) {
    return fail(where, "layouts over a cluster of blocks are not modelled: " + encoding->text);
  }
  std::vector<std::int64_t> order;
  for (std::size_t d = shape.size(); d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  return fit(std::move(layout), std::move(covered), order);
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
  return fail(where, "the layout #" + encoding->string + " is not modelled yet");
}

}  // namespace xpusim::kernel
