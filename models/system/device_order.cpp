#include "models/system/device_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

namespace xpusim::system {
namespace {

/// Chips of a rectangle whose neighbours in the list are neighbours on it.
std::vector<std::uint32_t> snake_over(std::uint32_t x, std::uint32_t y) {
  const bool turned = x % 2 != 0 && y % 2 == 0;  // columns come in pairs, if they can
  const std::uint32_t across = turned ? y : x, down = turned ? x : y;
  const auto chip = [&](std::uint32_t a, std::uint32_t d) {
    return turned ? a * x + d : d * x + a;
  };
  const bool closes = across % 2 == 0 && down >= 2;
  const std::uint32_t first = closes ? 1 : 0;  // the first row is the way back
  std::vector<std::uint32_t> order;
  for (std::uint32_t a = 0; a < across; ++a)
    for (std::uint32_t d = first; d < down; ++d)
      order.push_back(chip(a, a % 2 == 0 ? d : down - 1 - d + first));
  for (std::uint32_t a = across; closes && a-- > 0;) order.push_back(chip(a, 0));
  if (closes) std::rotate(order.begin(), std::prev(order.end()), order.end());  // chip 0 first
  return order;
}

}  // namespace

Expected<void> check_order(const network::Topology& topology, const std::string& order) {
  if (order == "grid") return {};
  if (order != "ring")
    return fail({}, fmt::format("system.order: '{}' is neither grid nor ring", order));
  const auto& axes = topology.axes();
  const bool switched =
      std::any_of(axes.begin(), axes.end(), [](const auto& a) { return a.direct; });
  if (switched || axes.size() < 2 || (axes.size() > 2 && axes[2].size > 1))
    return fail({}, "system.order: a ring is laid over a torus of two dimensions");
  return {};
}

std::vector<std::uint32_t> device_order(const network::Topology& topology,
                                        const std::string& order) {
  if (order == "ring") return snake_over(topology.axes()[0].size, topology.axes()[1].size);
  std::vector<std::uint32_t> grid(topology.chips());
  std::iota(grid.begin(), grid.end(), 0u);
  return grid;
}

}  // namespace xpusim::system
