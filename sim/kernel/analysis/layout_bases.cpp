#include "sim/kernel/analysis/layout_bases.h"

#include <fmt/format.h>

#include <utility>

namespace xpusim::kernel {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 20;  ///< registers, lanes or warps of a layout

void clip(std::vector<Basis>& bases, const std::vector<std::int64_t>& shape) {
  for (auto& basis : bases) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (basis[d] >= shape[d]) basis[d] = 0;
    }
  }
}

}  // namespace

bool power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

void extend(std::vector<Basis>& bases, std::size_t dim, std::int64_t count,
            std::vector<std::int64_t>& covered) {
  for (std::int64_t n = 1; n < count; n *= 2) {
    Basis basis(covered.size());
    basis[dim] = covered[dim];
    bases.push_back(std::move(basis));
    covered[dim] *= 2;
  }
}

void extend_copies(std::vector<Basis>& bases, std::int64_t count, std::size_t rank) {
  for (std::int64_t n = 1; n < count; n *= 2) bases.emplace_back(rank);
}

std::vector<Basis> span(const std::vector<std::int64_t>& counts,
                        const std::vector<std::int64_t>& order, std::vector<std::int64_t>& covered,
                        std::size_t copied) {
  std::vector<Basis> bases;
  for (auto d : order) {
    const auto dim = static_cast<std::size_t>(d);
    if (dim == copied) {
      extend_copies(bases, counts[dim], covered.size());
    } else {
      extend(bases, dim, counts[dim], covered);
    }
  }
  return bases;
}

LinearLayout fit(LinearLayout layout, std::vector<std::int64_t> covered,
                 const std::vector<std::int64_t>& order) {
  clip(layout.registers, layout.shape);
  clip(layout.lanes, layout.shape);
  clip(layout.warps, layout.shape);
  for (auto d : order) {
    const auto dim = static_cast<std::size_t>(d);
    if (covered[dim] >= layout.shape[dim]) continue;
    extend(layout.registers, dim, layout.shape[dim] / covered[dim], covered);
  }
  return layout;
}

std::vector<std::int64_t> row_major(std::size_t rank) {
  std::vector<std::int64_t> order;
  for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  return order;
}

std::string check_powers(Attr encoding, const char* key, std::size_t count) {
  const Attr list = encoding->get(key);
  const auto values = list ? list->int_list() : std::vector<std::int64_t>{};
  if (values.size() != count) {
    return fmt::format("{} of {} needs {} entries", key, encoding->text, count);
  }
  std::int64_t all = 1;
  for (auto n : values) {
    if (!power_of_two(n)) return fmt::format("{} of {} is no power of two", key, encoding->text);
    if (n > kMost / all) return fmt::format("{} of {} is too large", key, encoding->text);
    all *= n;
  }
  return "";
}

std::string check_cluster(Attr encoding) {
  bool several = false;
  for (const char* key : {"CTAsPerCGA", "CTASplitNum"}) {
    const Attr list = encoding->get(key);
    for (auto n : list ? list->int_list() : std::vector<std::int64_t>{}) several |= n != 1;
  }
  for (const char* key : {"CGALayout", "block"}) {
    const Attr bases = encoding->get(key);
    several |= bases && !bases->elements.empty();
  }
  return several ? "layouts over a cluster of blocks are not modelled: " + encoding->text : "";
}

}  // namespace xpusim::kernel
