#include "sim/run/collective_reader.h"

#include <fmt/format.h>

#include <charconv>

#include "sim/run/file_parts.h"

namespace xpusim::run {
namespace {

using config::Node;

/// A word at a key; "" if it is not there.
std::string word(const Node& launch, const char* key, Diagnostics& problems) {
  const Node* n = launch.find(key);
  if (!n) return "";
  if (n->kind != Node::Kind::kScalar || n->scalar.empty())
    problems.error(n->origin, fmt::format("'{}' of a collective is a word", key));
  return n->scalar;
}

void integer(const Node& launch, const char* key, std::int64_t& out, Diagnostics& problems) {
  const Node* n = launch.find(key);
  if (!n) return;
  const char* const end = n->scalar.data() + n->scalar.size();
  const auto [at, ec] = std::from_chars(n->scalar.data(), end, out);
  if (ec != std::errc() || at != end)
    problems.error(n->origin, fmt::format("'{}' of a collective is a whole number", key));
}

}  // namespace

CollectiveSpec read_collective(const Node& launch, Diagnostics& problems) {
  static const std::vector<std::string> kKeys = {
      "collective", "tensor", "output", "axis", "algorithm", "root", "shift", "name", "after"};
  check_keys(launch, kKeys, "a collective", problems);
  CollectiveSpec spec;
  spec.where = launch.find("collective")->origin;
  spec.axes_where = spec.algorithm_where = spec.where;
  spec.op = word(launch, "collective", problems);
  if (!is_collective(spec.op))
    problems.error(spec.where, fmt::format("no collective '{}'{}", spec.op,
                                           did_you_mean(spec.op, collective_names())));
  spec.tensor = word(launch, "tensor", problems);
  if (!launch.find("tensor")) problems.error(spec.where, "a collective needs a 'tensor'");
  spec.output = word(launch, "output", problems);
  if (spec.output.empty()) spec.output = spec.tensor;
  if (const Node* axis = launch.find("axis")) {
    spec.axes_where = axis->origin;
    if (axis->kind == Node::Kind::kScalar) spec.axes.push_back(axis->scalar);
    for (const Node& item : axis->items) spec.axes.push_back(item.scalar);
  }
  if (const std::string algorithm = word(launch, "algorithm", problems); !algorithm.empty()) {
    spec.algorithm = algorithm;
    spec.algorithm_where = launch.find("algorithm")->origin;
  }
  integer(launch, "root", spec.root, problems);
  integer(launch, "shift", spec.shift, problems);
  if (spec.root < 0) problems.error(spec.where, "the root of a broadcast is a position from 0 on");
  return spec;
}

}  // namespace xpusim::run
