#include "sim/kernel/analysis/axis_info.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "sim/kernel/analysis/op_facts.h"

namespace xpusim::kernel {
namespace {

constexpr std::int64_t kMaxDivisor = std::int64_t{1}
                                     << 30;  ///< what divides zero, for our purposes
constexpr std::int64_t kVectorBytes = 16;

std::int64_t power_of_two_divisor(std::int64_t n) {
  return n == 0 ? kMaxDivisor : std::min(n & -n, kMaxDivisor);
}
std::int64_t product(std::int64_t a, std::int64_t b) {
  return a >= kMaxDivisor / b ? kMaxDivisor : a * b;
}

std::vector<std::int64_t> shape_of(const Value& value) {
  return value.type->is_shaped() && !value.type->shape.empty() ? value.type->shape
                                                               : std::vector<std::int64_t>{1};
}

AxisInfo nothing(std::size_t rank) {
  const std::vector<std::int64_t> ones(rank, 1);
  return {ones, ones, ones, std::nullopt};
}

AxisInfo constant(const Value& value, std::int64_t c) {
  const auto shape = shape_of(value);
  AxisInfo info = nothing(shape.size());
  std::fill(info.divisibility.begin(), info.divisibility.end(), power_of_two_divisor(c));
  if (value.type->is_shaped()) info.constancy = shape;
  info.constant = c;
  return info;
}

AxisInfo meet(const AxisInfo& a, const AxisInfo& b) {
  AxisInfo info = a;
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    info.contiguity[d] = std::gcd(a.contiguity[d], b.contiguity[d]);
    info.divisibility[d] = std::gcd(a.divisibility[d], b.divisibility[d]);
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant != b.constant) info.constant.reset();
  return info;
}

/// Runs of one operand go on where the other stays the same. `scale`: bytes that the right one
/// counts.
AxisInfo add(const AxisInfo& a, const AxisInfo& b, bool subtract, std::int64_t scale) {
  AxisInfo info = nothing(a.contiguity.size());
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    info.contiguity[d] = std::gcd(a.contiguity[d], b.constancy[d]);
    if (!subtract) {
      info.contiguity[d] = std::max(info.contiguity[d], std::gcd(a.constancy[d], b.contiguity[d]));
    }
    info.divisibility[d] = std::gcd(a.divisibility[d], product(b.divisibility[d], scale));
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant && b.constant) {
    info.constant = subtract ? *a.constant - *b.constant : *a.constant + *b.constant * scale;
  }
  return info;
}

AxisInfo multiply(const AxisInfo& a, const AxisInfo& b) {
  AxisInfo info = nothing(a.contiguity.size());
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    const bool a_one = a.constant == 1, b_one = b.constant == 1;
    info.contiguity[d] = b_one ? a.contiguity[d] : a_one ? b.contiguity[d] : 1;
    const std::int64_t da = a.contiguity[d] > 1 && !b_one ? 1 : a.divisibility[d];
    const std::int64_t db = b.contiguity[d] > 1 && !a_one ? 1 : b.divisibility[d];
    info.divisibility[d] = product(da, db);
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (a.constant && b.constant) info.constant = *a.constant * *b.constant;
  return info;
}

/// Values of a run of `a` that fall between multiples of all that `b` may be.
std::int64_t within_multiples(const AxisInfo& a, const AxisInfo& b, std::size_t d) {
  const std::int64_t step = std::gcd(a.divisibility[d], b.divisibility[d]);
  return std::gcd(std::gcd(a.contiguity[d], step), b.constancy[d] > 1 ? b.constancy[d] : step);
}

/// Whether two constants have a quotient (not by zero, nor the one that no number holds).
bool divides(const AxisInfo& a, const AxisInfo& b) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  return a.constant && b.constant && *b.constant != 0 &&
         !(*a.constant == kLeast && *b.constant == -1);
}

AxisInfo divide(const AxisInfo& a, const AxisInfo& b) {
  AxisInfo info = nothing(a.contiguity.size());
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
    if (b.constant == 1) {
      info.contiguity[d] = a.contiguity[d];
      info.divisibility[d] = a.divisibility[d];
    } else {
      info.constancy[d] = std::max(info.constancy[d], within_multiples(a, b, d));
      const std::int64_t by = b.constant.value_or(0);
      if (by > 1 && (by & (by - 1)) == 0 && a.contiguity[d] == 1) {
        info.divisibility[d] = std::max<std::int64_t>(1, a.divisibility[d] / by);
      }
    }
  }
  if (divides(a, b)) info.constant = *a.constant / *b.constant;
  return info;
}

AxisInfo remainder(const AxisInfo& a, const AxisInfo& b) {
  AxisInfo info = nothing(a.contiguity.size());
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    info.contiguity[d] = within_multiples(a, b, d);
    info.divisibility[d] = std::gcd(a.divisibility[d], b.divisibility[d]);
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  if (divides(a, b)) info.constant = *a.constant % *b.constant;
  return info;
}

/// A comparison of a run with a constant changes only at multiples of what divides both.
AxisInfo compare(const AxisInfo& a, const AxisInfo& b, Compare how) {
  AxisInfo info = nothing(a.contiguity.size());
  const bool below =
      how == Compare::kSlt || how == Compare::kSge || how == Compare::kUlt || how == Compare::kUge;
  const bool above =
      how == Compare::kSgt || how == Compare::kSle || how == Compare::kUgt || how == Compare::kUle;
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    const std::int64_t step = std::gcd(a.divisibility[d], b.divisibility[d]);
    info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
    if (below) {
      info.constancy[d] =
          std::max(info.constancy[d], std::gcd(std::gcd(a.contiguity[d], b.constancy[d]), step));
    } else if (above) {
      info.constancy[d] =
          std::max(info.constancy[d], std::gcd(std::gcd(b.contiguity[d], a.constancy[d]), step));
    }
  }
  return info;
}

AxisInfo expand_dims(AxisInfo info, std::size_t dim) {
  const auto at = static_cast<std::ptrdiff_t>(dim);
  std::int64_t divisor = kMaxDivisor;
  for (std::size_t d = 0; d < info.contiguity.size(); ++d) {
    divisor = std::min(divisor, info.contiguity[d] == 1 ? info.divisibility[d] : 1);
  }
  if (info.constant) divisor = power_of_two_divisor(*info.constant);
  info.contiguity.insert(info.contiguity.begin() + at, 1);
  info.divisibility.insert(info.divisibility.begin() + at, divisor);
  info.constancy.insert(info.constancy.begin() + at, 1);
  return info;
}

AxisInfo broadcast(AxisInfo info, const Value& from, const Value& to) {
  const auto shape = shape_of(to);
  const auto old = shape_of(from);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (old[d] == shape[d]) continue;
    info.contiguity[d] = 1;
    info.constancy[d] = shape[d];
  }
  return info;
}

AxisInfo splat(const AxisInfo& scalar, const Value& to) {
  const auto shape = shape_of(to);
  AxisInfo info = nothing(shape.size());
  std::fill(info.divisibility.begin(), info.divisibility.end(), scalar.divisibility[0]);
  info.constancy = shape;
  info.constant = scalar.constant;
  return info;
}

bool passes_through(std::string_view op) {
  return op == "arith.extsi" || op == "arith.extui" || op == "arith.trunci" ||
         op == "arith.index_cast" || op == "tt.bitcast" || op == "ttg.convert_layout" ||
         op == "tt.int_to_ptr" || op == "tt.ptr_to_int";
}

}  // namespace

const AxisInfo& AxisAnalysis::of(const Value& value) {
  if (auto it = known_.find(&value); it != known_.end()) return it->second;
  return known_[&value] = value.def ? compute(value) : of_argument(value);
}

AxisInfo AxisAnalysis::compute(const Value& value) {
  const Op& op = *value.def;
  const std::string_view name = op.name();
  const std::size_t rank = shape_of(value).size();
  auto in = [&](std::size_t i) -> AxisInfo { return of(*op.operands[i]); };
  if (const auto c = integer_constant(value)) return constant(value, *c);
  if (name == "tt.make_range") {
    const std::int64_t start = op.int_attr("start"), end = op.int_attr("end");
    return {{end - start}, {power_of_two_divisor(start)}, {1}, std::nullopt};
  }
  if (name == "tt.splat") return splat(in(0), value);
  if (name == "tt.expand_dims") {
    return expand_dims(in(0), static_cast<std::size_t>(op.int_attr("axis")));
  }
  if (name == "tt.broadcast") return broadcast(in(0), *op.operands[0], value);
  if (name == "arith.addi") return add(in(0), in(1), false, 1);
  if (name == "arith.subi") return add(in(0), in(1), true, 1);
  if (name == "tt.addptr") return add(in(0), in(1), false, pointee_bytes(value.type));
  if (name == "arith.muli") return multiply(in(0), in(1));
  if (name == "arith.divsi" || name == "arith.divui") return divide(in(0), in(1));
  if (name == "arith.remsi" || name == "arith.remui") return remainder(in(0), in(1));
  if (name == "arith.cmpi") return compare(in(0), in(1), compare_of(op));
  if (name == "arith.andi" || name == "arith.ori" || name == "arith.xori") {
    AxisInfo info = nothing(rank);
    const AxisInfo a = in(0), b = in(1);
    for (std::size_t d = 0; d < rank; ++d)
      info.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
    return info;
  }
  if (name == "arith.minsi" || name == "arith.maxsi" || name == "arith.minui" ||
      name == "arith.maxui") {
    AxisInfo info = meet(in(0), in(1));
    std::fill(info.contiguity.begin(), info.contiguity.end(), 1);
    return info;
  }
  if (name == "arith.select") {
    const AxisInfo condition = in(0);
    AxisInfo info = meet(in(1), in(2));
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t c =
          condition.constancy.size() == rank ? condition.constancy[d] : shape_of(value)[d];
      info.contiguity[d] = std::gcd(info.contiguity[d], c);
      info.constancy[d] = std::gcd(info.constancy[d], c);
    }
    return info;
  }
  if (passes_through(name)) return in(0);
  if (name == "scf.for") {
    const std::size_t i = value.index;
    const Block& body = *op.regions[0]->blocks[0];
    if (3 + i < op.operands.size() && 1 + i < body.args.size()) return of(*body.args[1 + i]);
  }
  return nothing(rank);
}

AxisInfo AxisAnalysis::of_argument(const Value& value) {
  AxisInfo info = nothing(shape_of(value).size());
  const Op* parent = value.owner && value.owner->parent ? value.owner->parent->parent : nullptr;
  if (!parent) return info;
  if (parent->name() == "tt.func") {
    info.divisibility[0] =
        power_of_two_divisor(argument_attr(*parent, value.index, "tt.divisibility", 1));
    return info;
  }
  if (parent->name() == "ttg.warp_specialize") return of(source_of(value));
  if (parent->name() == "scf.for" && value.index == 0) {  // the induction variable
    info.divisibility[0] = std::gcd(of(*parent->operands[0]).divisibility[0],
                                    of(*parent->operands[2]).divisibility[0]);
    return info;
  }
  const auto& ops = value.owner->ops;
  if (parent->name() == "scf.for" && !ops.empty() && value.index > 0 &&
      value.index + 2 < parent->operands.size() && value.index - 1 < ops.back()->operands.size()) {
    return of_carried(value, *parent->operands[value.index + 2],
                      *ops.back()->operands[value.index - 1]);
  }
  return info;
}

AxisInfo AxisAnalysis::of_carried(const Value& value, const Value& init, const Value& next) {
  AxisInfo info = of(init);
  while (true) {  // each round lowers a fact, so this ends
    AxisAnalysis trial;
    trial.known_ = known_;
    trial.known_[&value] = info;
    AxisInfo met = meet(info, trial.of(next));
    if (met == info) return info;
    info = std::move(met);
  }
}

std::uint32_t vector_width(AxisAnalysis& analysis, const Value& pointer, const Value* mask,
                           std::uint32_t contiguous, std::uint32_t dim) {
  const std::int64_t bytes = pointee_bytes(pointer.type);
  const AxisInfo& info = analysis.of(pointer);
  if (bytes == 0 || dim >= info.contiguity.size()) return 1;
  std::int64_t width =
      std::min<std::int64_t>(contiguous, std::max<std::int64_t>(1, kVectorBytes / bytes));
  width = std::min(width, info.contiguity[dim]);
  width = std::min(width, std::max<std::int64_t>(1, info.divisibility[dim] / bytes));
  if (mask) width = std::min(width, analysis.of(*mask).constancy[dim]);
  return static_cast<std::uint32_t>(power_of_two_divisor(width));
}

}  // namespace xpusim::kernel
