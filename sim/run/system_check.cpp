#include "sim/run/system_check.h"

#include <fmt/format.h>

#include <map>
#include <numeric>

namespace xpusim::run {
namespace {

using Arrays = std::vector<Array>;  ///< [chip]
using Memories = std::span<exec::DeviceMemory* const>;

/// Evaluates references on the tensors of all chips.
class Evaluator {
 public:
  Evaluator(const Workload& workload, const Machine& machine, Memories memories)
      : workload_(workload), machine_(machine), memories_(memories) {}

  Expected<Arrays> all(const Expression& e) {
    if (e.kind == Expression::Kind::kCall && is_collective(e.name)) return together(e);
    if (e.kind == Expression::Kind::kName) return tensor(e);
    std::vector<Arrays> args;
    Expression apart = e;
    for (std::size_t i = 0; i < e.args.size(); ++i) {
      auto arg = all(e.args[i]);
      if (!arg) return arg;
      args.push_back(std::move(*arg));
      apart.args[i] = Expression{};
      apart.args[i].kind = Expression::Kind::kName;
      apart.args[i].name = std::to_string(i);
      apart.args[i].where = e.args[i].where;
    }
    Arrays out;
    for (std::size_t chip = 0; chip < memories_.size(); ++chip) {
      auto value = evaluate(apart, [&](const std::string& name) {
        return &args[static_cast<std::size_t>(std::stoul(name))][chip];
      });
      if (!value) return fail(value.error());
      out.push_back(std::move(*value));
    }
    return out;
  }

 private:
  Expected<Arrays> tensor(const Expression& e) {
    Arrays out;
    for (const exec::DeviceMemory* memory : memories_) {
      const exec::Allocation* t = memory->find(std::string_view(e.name));
      if (!t && e.name == "device") {
        out.push_back({{}, {static_cast<double>(out.size())}});
        continue;
      }
      if (!t) return fail(e.where, fmt::format("no tensor or number '{}'", e.name));
      out.push_back({t->shape, memory->as_doubles(*t)});
    }
    return out;
  }

  /// The collectives of this name in the workload: their axes, root and shift, which have to be the
  /// same. None: kernels do it themselves.
  Expected<const CollectiveSpec*> spec_of(const Expression& e) const {
    const CollectiveSpec* found = nullptr;
    for (const LaunchSpec& l : workload_.launches) {
      if (!l.collective || l.collective->op != e.name) continue;
      const CollectiveSpec& c = *l.collective;
      if (found && (c.axes != found->axes || c.root != found->root || c.shift != found->shift))
        return fail(e.where,
                    fmt::format("which {}? The launches have several that differ", e.name));
      found = &c;
    }
    return found;
  }

  /// Of a collective its groups; of kernels all devices in the order of their ids.
  std::vector<std::vector<std::uint32_t>> groups_of(const CollectiveSpec* launched) const {
    if (launched) return machine_.groups(launched->axes);
    std::vector<std::uint32_t> all(memories_.size());
    std::iota(all.begin(), all.end(), 0u);
    return {all};
  }

  Expected<Arrays> together(const Expression& e) {
    if (e.args.size() != 1) return fail(e.where, fmt::format("'{}' takes one tensor", e.name));
    auto in = all(e.args[0]);
    if (!in) return in;
    const auto launched = spec_of(e);
    if (!launched) return fail(launched.error());
    CollectiveSpec spec;
    spec.op = e.name;
    if (*launched) spec = **launched;
    Arrays out(in->size());
    const bool sums = spec.op == "all_reduce" || spec.op == "reduce_scatter";
    for (const auto& group : groups_of(*launched)) {
      const Array sum = sums ? sum_of(*in, group) : Array{};
      for (std::size_t p = 0; p < group.size(); ++p)
        out[group[p]] = sums ? part_of(spec.op, sum, group.size(), p) : member(spec, *in, group, p);
    }
    return out;
  }

  static Array sum_of(const Arrays& in, const std::vector<std::uint32_t>& group) {
    Array sum = in[group[0]];
    for (std::size_t k = 1; k < group.size(); ++k)
      for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += in[group[k]].values[i];
    return sum;
  }

  /// Of the sum, what member `p` gets.
  static Array part_of(const std::string& op, const Array& sum, std::size_t n, std::size_t p) {
    if (op == "all_reduce") return sum;
    const std::size_t size = sum.values.size() / n;
    const auto begin = sum.values.begin() + static_cast<std::ptrdiff_t>(p * size);
    return {shape_of(op, sum, n), {begin, begin + static_cast<std::ptrdiff_t>(size)}};
  }

  static Array member(const CollectiveSpec& spec, const Arrays& in,
                      const std::vector<std::uint32_t>& group, std::size_t p) {
    const std::size_t n = group.size(), count = in[group[p]].values.size();
    if (spec.op == "broadcast") return in[group[static_cast<std::size_t>(spec.root) % n]];
    if (spec.op == "permute") {
      const auto m = static_cast<std::int64_t>(n);
      const std::int64_t from = ((static_cast<std::int64_t>(p) - spec.shift) % m + m) % m;
      return in[group[static_cast<std::size_t>(from)]];
    }
    Array out;
    const bool blocks = spec.op == "all_to_all";
    const std::size_t first = blocks ? p * (count / n) : 0, size = blocks ? count / n : count;
    for (const std::uint32_t giver : group) {
      const auto begin = in[giver].values.begin() + static_cast<std::ptrdiff_t>(first);
      out.values.insert(out.values.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    }
    out.shape = shape_of(spec.op, in[group[p]], n);
    return out;
  }

  /// Members' parts lie one after another along the first dimension; where that does not divide,
  /// all elements make one dimension.
  static std::vector<std::int64_t> shape_of(const std::string& op, const Array& in, std::size_t n) {
    std::vector<std::int64_t> shape = in.shape;
    const auto members = static_cast<std::int64_t>(n);
    const auto count = static_cast<std::int64_t>(in.values.size());
    if (op == "all_gather") {
      if (shape.empty()) return {count * members};
      shape[0] *= members;
    } else if (op == "reduce_scatter") {
      if (shape.empty() || shape[0] % members != 0) return {count / members};
      shape[0] /= members;
    }
    return shape;
  }

  const Workload& workload_;
  const Machine& machine_;
  Memories memories_;
};

}  // namespace

Expected<void> SystemChecker::prepare(const Workload& workload, const Machine& machine,
                                      Memories memories) {
  for (const auto& spec : workload.expect) {
    if (!spec.file.empty())
      return fail(spec.file_where, "a system's tensors are compared with expressions only");
    auto want = Evaluator(workload, machine, memories).all(spec.reference);
    if (!want) return fail(want.error());
    std::size_t count = 1;  // on a chip: it may have a part only
    for (auto d : memories.front()->find(std::string_view(spec.tensor))->shape)
      count *= static_cast<std::size_t>(d);
    for (const Array& a : *want)
      if (a.values.size() != count && a.values.size() != 1)
        return fail(spec.where, fmt::format("the reference of '{}' has {} elements, the tensor {}",
                                            spec.tensor, a.values.size(), count));
    references_.push_back({spec, std::move(*want)});
  }
  return {};
}

std::vector<CheckResult> SystemChecker::compare(Memories memories) const {
  std::vector<CheckResult> out;
  for (const auto& r : references_) {
    CheckResult worst;
    for (std::size_t chip = 0; chip < memories.size(); ++chip) {
      CheckResult here = run::compare(r.spec, r.want[chip], *memories[chip]);
      here.chip = static_cast<std::uint32_t>(chip);
      if (chip == 0 || !(here.worst_ratio <= worst.worst_ratio)) worst = std::move(here);
    }
    out.push_back(std::move(worst));
  }
  return out;
}

}  // namespace xpusim::run
