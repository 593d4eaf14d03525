#include "sim/run/sweep_range.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/run/file_parts.h"
#include "sim/run/written_number.h"

namespace xpusim::run {
namespace {

using config::Node;

/// Steps that end this close to `to` (a share of a step) reach it, whatever rounding says.
constexpr double kTolerance = 1e-6;

/// Reads a range's four keys and collects what is wrong with them.
class Range {
 public:
  explicit Range(const Node& range) : range_(range) {}

  Expected<std::vector<Node>> expand() {
    check_keys(range_, {"from", "to", "step", "factor"}, "a range", problems_);
    const auto from = number("from"), to = number("to");
    const bool adds = range_.find("step") != nullptr;
    if (adds == (range_.find("factor") != nullptr))
      problems_.error(range_.origin, "a range has either a 'step' or a 'factor'");
    const auto by = adds ? number("step") : number("factor");
    if (problems_.has_errors() || !from || !to || !by) return fail(std::move(problems_));
    const double end = in_unit(*to, from->unit, "to");
    const double stride = adds ? in_unit(*by, from->unit, "step") : factor(*by);
    if (problems_.has_errors()) return fail(std::move(problems_));
    return values(*from, end, stride, adds);
  }

 private:
  std::optional<WrittenNumber> number(std::string_view key) {
    const Node* node = range_.find(key);
    if (!node) {
      if (key == "from" || key == "to")
        problems_.error(range_.origin, fmt::format("a range needs '{}'", key));
      return std::nullopt;
    }
    auto n = node->kind == Node::Kind::kScalar ? parse_number(node->scalar) : std::nullopt;
    if (!n)
      problems_.error(node->origin,
                      fmt::format("'{}' must be a number, such as 16 or 1.6 GHz", key));
    return n;
  }

  double in_unit(const WrittenNumber& n, const std::string& unit, std::string_view key) {
    if (auto v = value_in(n, unit)) return *v;
    const auto named = [](const std::string& u) { return u.empty() ? "no unit" : "'" + u + "'"; };
    problems_.error(range_.find(key)->origin,
                    fmt::format("'{}' has {}, but 'from' has {}", key, named(n.unit), named(unit)));
    return 0;
  }

  double factor(const WrittenNumber& n) {
    if (!n.unit.empty() || n.value <= 1)
      problems_.error(range_.find("factor")->origin, "a factor is a plain number over 1");
    return n.value;
  }

  Expected<std::vector<Node>> values(const WrittenNumber& from, double to, double stride,
                                     bool adds) {
    if (adds && stride <= 0) return fail(range_.find("step")->origin, "a step is over 0");
    if (!adds && from.value <= 0)
      return fail(range_.find("from")->origin, "a range with a factor begins over 0");
    if (to < from.value) return fail(range_.origin, "this range is empty: 'to' is below 'from'");
    const double steps =
        adds ? (to - from.value) / stride : std::log(to / from.value) / std::log(stride);
    if (!(steps < static_cast<double>(kMaxSweepPoints)))
      return fail(range_.origin,
                  fmt::format("this range has more than {} values", kMaxSweepPoints));
    std::vector<Node> out;
    for (int i = 0; i <= std::floor(steps + kTolerance); ++i) {
      const double v = adds ? from.value + i * stride : from.value * std::pow(stride, i);
      Node node;
      node.kind = Node::Kind::kScalar;
      node.scalar = WrittenNumber{v, from.unit}.str();
      node.origin = range_.origin;
      out.push_back(std::move(node));
    }
    return out;
  }

  const Node& range_;
  Diagnostics problems_;
};

}  // namespace

Expected<std::vector<Node>> expand_range(const Node& range) { return Range(range).expand(); }

}  // namespace xpusim::run
