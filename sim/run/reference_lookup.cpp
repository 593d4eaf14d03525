#include "sim/run/reference_lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace xpusim::run {
namespace {

constexpr double kMostBins = 1u << 30;

/// Says the first of `index` that is no integer from 0 to below `end`.
Expected<void> check_indices(const Expression& e, const Array& index, double end) {
  const auto it = std::find_if(index.values.begin(), index.values.end(), [&](double v) {
    return !(v >= 0 && v < end) || v != std::floor(v);
  });
  if (it == index.values.end()) return {};
  return fail(e.where, fmt::format("'{}' of index {}: it has 0 to {}", e.name, *it, end - 1));
}

}  // namespace

Expected<Array> take(const Expression& e, const Array& table, const Array& index) {
  if (table.shape.empty()) return fail(e.where, "'take' wants a table of one dimension or more");
  if (auto ok = check_indices(e, index, static_cast<double>(table.shape[0])); !ok)
    return fail(ok.error());
  Array out{index.shape, {}};
  out.shape.insert(out.shape.end(), table.shape.begin() + 1, table.shape.end());
  std::size_t row = 1;
  for (std::size_t d = 1; d < table.shape.size(); ++d)
    row *= static_cast<std::size_t>(table.shape[d]);
  out.values.reserve(index.values.size() * row);
  for (const double i : index.values) {
    const auto first =
        table.values.begin() + static_cast<std::ptrdiff_t>(i) * static_cast<std::ptrdiff_t>(row);
    out.values.insert(out.values.end(), first, first + static_cast<std::ptrdiff_t>(row));
  }
  return out;
}

Expected<Array> bincount(const Expression& e, const Array& index) {
  const auto it = e.keywords.find("bins");
  if (it == e.keywords.end() || !(it->second >= 1 && it->second <= kMostBins))
    return fail(e.where, "'bincount' wants bins=, 1 or more");
  const auto bins = static_cast<std::int64_t>(it->second);
  if (auto ok = check_indices(e, index, static_cast<double>(bins)); !ok) return fail(ok.error());
  Array out{{bins}, std::vector<double>(static_cast<std::size_t>(bins))};
  for (const double i : index.values) ++out.values[static_cast<std::size_t>(i)];
  return out;
}

}  // namespace xpusim::run
