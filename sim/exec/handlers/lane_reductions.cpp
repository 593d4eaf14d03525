// tpu.reduce_index, all_reduce and scan: along one dimension, element after element.

#include <cmath>
#include <limits>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/axis.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

enum Kind : std::uint8_t { kSum, kMax, kMin, kArgMax, kArgMin, kNoKind };

Kind kind_of(const kernel::Op& op) {
  constexpr std::string_view kNames[] = {"sum", "max", "min", "arg_max", "arg_min"};
  const kernel::Attr attr = op.attr("kind");
  for (std::uint8_t k = 0; attr && k < kNoKind; ++k) {
    if (attr->body == kNames[k] || attr->string == kNames[k]) return static_cast<Kind>(k);
  }
  return kNoKind;
}

bool skips(Frame& f, const Instruction& in) {
  bool unknown = !f.wants(in);
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    unknown = unknown || (f.has(in, k) && is_unknown(f.operand(in, k)));
  }
  if (unknown) f.result(in).form = TileForm::kUnknown;
  return unknown;
}

std::vector<double> read_all(const Tile& t) {
  std::vector<double> values(static_cast<std::size_t>(t.count()));
  for (std::int64_t i = 0; i < t.count(); ++i) {
    values[static_cast<std::size_t>(i)] =
        kernel::is_float(t.dtype)
            ? decode(t.dtype, element_bits(t, i))
            : static_cast<double>(wrap(t.dtype, static_cast<std::int64_t>(element_bits(t, i))));
  }
  return values;
}

/// a combined with b, in the arithmetic of a dtype.
double combine(Kind kind, DType d, double a, double b) {
  switch (kind) {
    case kSum:
      return kernel::is_float(d) ? rounded(d, a + b)
                                 : static_cast<double>(wrap(d, static_cast<std::int64_t>(a + b)));
    case kMax:
      return std::isnan(a) || a > b ? a : b;
    default:
      return std::isnan(a) || a < b ? a : b;
  }
}

/// The first of the greatest (smallest) elements; a NaN is found before all others.
Step reduce_index(Frame& f, const Instruction& in) {
  const Tile& from = f.operand(in, 0);
  if (kernel::is_float(from.dtype))
    f.counts.flops += static_cast<std::uint64_t>(f.live[f.slot(in, 0)]);
  if (skips(f, in)) return Step::kNext;
  const Around a = around(from.shape, static_cast<std::size_t>(in.immediate));
  const std::vector<double> values = read_all(from);
  std::vector<std::int64_t> found(static_cast<std::size_t>(a.outer * a.inner), 0);
  for (std::int64_t o = 0; o < a.outer; ++o) {
    for (std::int64_t i = 0; i < a.inner; ++i) {
      std::int64_t& best = found[static_cast<std::size_t>(o * a.inner + i)];
      const auto at = [&](std::int64_t k) {
        return values[static_cast<std::size_t>((o * a.n + k) * a.inner + i)];
      };
      for (std::int64_t k = 1; k < a.n && !std::isnan(at(best)); ++k) {
        const bool better = in.code == kArgMax ? at(k) > at(best) : at(k) < at(best);
        if (better || std::isnan(at(k))) best = k;
      }
    }
  }
  Tile& out = f.result(in);
  dense_storage(out);
  write_integers(out, 0, out.count(), found.data());
  return Step::kNext;
}

std::string_view take_kind(const kernel::Op& op, Instruction& in, bool index) {
  const Kind kind = kind_of(op);
  in.code = kind;
  const bool fits = index ? kind == kArgMax || kind == kArgMin : kind <= kMin;
  return fits ? "" : "this kind of reduction is not supported";
}

std::string_view prepare_reduce_index(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("axis", -1);
  auto shape = op.operands[0]->type->shape;
  if (in.immediate < 0 || in.immediate >= static_cast<std::int64_t>(shape.size()))
    return "no such axis";
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(in.immediate));
  if (op.result()->type->shape != shape || shape.empty()) return "its result has another shape";
  return take_kind(op, in, true);
}

void write_element(Tile& out, std::int64_t at, double value) {
  if (kernel::is_float(out.dtype)) return write_floats(out, at, 1, &value);
  const auto integer = static_cast<std::int64_t>(value);
  write_integers(out, at, 1, &integer);
}

/// tpu.all_reduce: each element becomes the whole dimension's sum, maximum or minimum.
/// tpu.scan: that of all up to it, where a mask (if any) is true.
template <bool kRunning>
Step reduce_all(Frame& f, const Instruction& in) {
  const Tile& from = f.operand(in, 0);
  if (kernel::is_float(from.dtype))
    f.counts.flops += static_cast<std::uint64_t>(f.live[f.slot(in, 0)]);
  if (skips(f, in)) return Step::kNext;
  const Tile* mask = f.has(in, 1) ? &f.operand(in, 1) : nullptr;
  const auto kind = static_cast<Kind>(in.code);
  const Around a = around(from.shape, static_cast<std::size_t>(in.immediate));
  const std::vector<double> values = read_all(from);
  const double none = kind == kSum   ? 0
                      : kind == kMax ? -std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::infinity();
  Tile& out = f.result(in);
  dense_storage(out);
  for (std::int64_t o = 0; o < a.outer * a.inner; ++o) {
    const auto at = [&](std::int64_t k) { return (o / a.inner * a.n + k) * a.inner + o % a.inner; };
    double sum = none;
    for (std::int64_t k = 0; k < a.n; ++k) {
      if (!mask || element_bits(*mask, at(k)) != 0)
        sum = combine(kind, from.dtype, sum, values[static_cast<std::size_t>(at(k))]);
      if (kRunning) write_element(out, at(k), sum);
    }
    for (std::int64_t k = 0; !kRunning && k < a.n; ++k) write_element(out, at(k), sum);
  }
  return Step::kNext;
}

template <bool kRunning>
std::string_view prepare_reduce_all(const kernel::Op& op, Instruction& in) {
  const auto& shape = op.operands[0]->type->shape;
  in.immediate = kRunning ? static_cast<std::int64_t>(shape.size()) - 1 : op.int_attr("dim", -1);
  if (in.immediate < 0 || in.immediate >= static_cast<std::int64_t>(shape.size()))
    return "no such dimension";
  if (op.result()->type->shape != shape) return "its result has another shape";
  if (op.operands[0]->type->dtype == DType::kI1 || op.operands[0]->type->dtype == DType::kI64 ||
      op.operands[0]->type->dtype != op.result()->type->dtype) {
    return "its element type is not supported";
  }
  return take_kind(op, in, false);
}

}  // namespace

void add_lane_reductions(OpTable& table) {
  table.add({.name = "tpu.reduce_index",
             .run = reduce_index,
             .pure = false,
             .prepare = prepare_reduce_index});
  table.add({.name = "tpu.all_reduce",
             .run = reduce_all<false>,
             .pure = false,
             .prepare = prepare_reduce_all<false>});
  table.add({.name = "tpu.scan",
             .run = reduce_all<true>,
             .pure = false,
             .prepare = prepare_reduce_all<true>});
}

}  // namespace xpusim::exec
