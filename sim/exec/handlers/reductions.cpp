// tt.reduce and vector.multi_reduction. Elements are combined in a tree, each with the one half the
// length away, as warps and blocks combine theirs; the exact order of a machine's layout is left
// out.

#include <algorithm>

#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/arithmetic.h"
#include "sim/exec/handlers/axis.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// A combination that is one arithmetic op.
struct Combine {
  bool is_float = false;
  std::uint8_t code = 0;
};

template <class T>
void combine_run(const Combine& c, DType d, const T* a, const T* b, std::int64_t count, T* out) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    integer_run(static_cast<IntOp>(c.code), d, a, b, count, out);
    for (std::int64_t i = 0; i < count; ++i) out[i] = wrap(d, out[i]);
  } else {
    float_run(static_cast<FloatOp>(c.code), a, b, nullptr, count, out);
    if constexpr (std::is_same_v<T, float>) round_in_place(d, out, static_cast<std::size_t>(count));
  }
}

/// Combines n runs of `inner` elements into the first; `spare` is as long as `data`. Gives where it
/// lies.
template <class T>
const T* fold(const Combine& c, DType d, T* data, T* spare, std::int64_t n, std::int64_t inner) {
  while (n > 1) {
    const std::int64_t half = n / 2;
    combine_run(c, d, data, data + half * inner, half * inner, spare);
    if (n % 2 != 0) std::copy_n(data + (n - 1) * inner, inner, spare + half * inner);
    std::swap(data, spare);
    n = half + n % 2;
  }
  return data;
}

void read_run(const Tile& t, std::int64_t start, std::int64_t n, std::int64_t* out) {
  read_integers(t, start, n, out);
}
template <class T>
void read_run(const Tile& t, std::int64_t start, std::int64_t n, T* out) {
  read_floats(t, start, n, out);
}
void write_run(Tile& t, std::int64_t start, std::int64_t n, const std::int64_t* in) {
  write_integers(t, start, n, in);
}
template <class T>
void write_run(Tile& t, std::int64_t start, std::int64_t n, const T* in) {
  write_floats(t, start, n, in);
}

template <class T>
void fold_axis(const Combine& c, const Tile& in, std::size_t axis, Tile& out) {
  const Around a = around(in.shape, axis);
  const std::int64_t block = a.n * a.inner;
  std::vector<T> data(static_cast<std::size_t>(block)), spare(data.size());
  const bool scalar = out.shape.empty();
  if (!scalar) dense_storage(out);
  for (std::int64_t o = 0; o < a.outer; ++o) {
    read_run(in, o * block, block, data.data());
    const T* r = fold(c, in.dtype, data.data(), spare.data(), a.n, a.inner);
    if (!scalar) {
      write_run(out, o * a.inner, a.inner, r);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      set_integer(out, *r);
    } else {
      set_float(out, static_cast<double>(*r));
    }
  }
}

/// out = `in` combined along an axis; out has its shape and dtype.
void reduce_axis(const Combine& c, const Tile& in, std::size_t axis, Tile& out) {
  if (is_unknown(in)) {
    out.form = TileForm::kUnknown;
  } else if (!c.is_float) {
    fold_axis<std::int64_t>(c, in, axis, out);
  } else if (in.dtype == DType::kF64) {
    fold_axis<double>(c, in, axis, out);
  } else {
    fold_axis<float>(c, in, axis, out);
  }
}

/// Whether a region combines its two arguments, in order, with one arithmetic op.
bool is_one_op(const RegionCode& r, const Code& code, Combine& c) {
  if (r.instructions.size() != 1 || r.arguments.size() != 2 || r.results.size() != 1) return false;
  const Instruction& in = r.instructions[0];
  if (in.operand_count != 2 || in.result != r.results[0]) return false;
  if (code.operand_slots[in.operands] != r.arguments[0] ||
      code.operand_slots[in.operands + 1] != r.arguments[1]) {
    return false;
  }
  c = {in.run == floating_op, in.code};
  return in.run == floating_op || in.run == integer_op;
}

using Bytes = std::vector<std::byte>;

/// Elements [begin, begin+length) of the axis, for all outer and inner ones.
void slice(const Bytes& from, const Around& a, std::size_t size, std::int64_t begin,
           std::int64_t length, std::byte* out, std::int64_t out_length) {
  const auto row = static_cast<std::size_t>(a.inner) * size;
  for (std::int64_t o = 0; o < a.outer; ++o) {
    std::memcpy(out + static_cast<std::size_t>(o * out_length) * row,
                from.data() + static_cast<std::size_t>(o * a.n + begin) * row,
                static_cast<std::size_t>(length) * row);
  }
}

/// Runs a region on halves of the operands until one element is left along the axis.
class RegionReduction {
 public:
  RegionReduction(Frame& f, const Instruction& in, const RegionCode& region)
      : f_(f), in_(in), region_(region) {
    around_ = around(f.operand(in, 0).shape, static_cast<std::size_t>(in.immediate));
    for (std::size_t k = 0; k < in.operand_count; ++k) {
      const Tile& t = f.operand(in, k);
      sizes_.push_back(element_bytes(t));
      data_.emplace_back(static_cast<std::size_t>(t.count()) * sizes_.back());
      read_elements(t, 0, t.count(), data_.back().data());
    }
  }

  bool run() {
    while (around_.n > 1) {
      if (!level()) return false;
    }
    for (std::size_t k = 0; k < data_.size(); ++k) {
      Tile& out = f_.result(in_, k);
      if (out.shape.empty()) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, data_[k].data(), sizes_[k]);
        set_bits(out, bits);
      } else {
        std::memcpy(dense_storage(out), data_[k].data(), data_[k].size());
      }
    }
    return true;
  }

 private:
  bool level() {
    const std::int64_t half = around_.n / 2, rest = around_.n % 2, next = half + rest;
    const std::int64_t elements = around_.outer * half * around_.inner;
    for (const std::uint32_t s : region_.slots) f_.slots[s].shape.assign(1, elements);
    for (std::size_t k = 0; k < data_.size(); ++k) {
      Tile& a = f_.slots[region_.arguments[k]];
      Tile& b = f_.slots[region_.arguments[k + data_.size()]];
      slice(data_[k], around_, sizes_[k], 0, half, dense_storage(a), half);
      slice(data_[k], around_, sizes_[k], half, half, dense_storage(b), half);
    }
    for (const Instruction& i : region_.instructions) {
      if (i.run(f_, i) != Step::kNext) return false;
    }
    for (std::size_t k = 0; k < data_.size(); ++k) {
      const Tile& r = f_.slots[region_.results[k]];
      Bytes combined(static_cast<std::size_t>(elements) * sizes_[k]);
      read_elements(r, 0, elements, combined.data());
      Bytes joined(static_cast<std::size_t>(around_.outer * next * around_.inner) * sizes_[k]);
      Around halves = around_;
      halves.n = half;
      slice(combined, halves, sizes_[k], 0, half, joined.data(), next);
      if (rest != 0) {
        slice(data_[k], around_, sizes_[k], around_.n - 1, 1,
              joined.data() + static_cast<std::size_t>(half * around_.inner) * sizes_[k], next);
      }
      data_[k] = std::move(joined);
    }
    around_.n = next;
    return true;
  }

  Frame& f_;
  const Instruction& in_;
  const RegionCode& region_;
  Around around_;
  std::vector<std::size_t> sizes_;
  std::vector<Bytes> data_;
};

void make_unknown(Frame& f, const Instruction& in) {
  for (std::uint32_t k = 0; k < in.result_count; ++k) f.result(in, k).form = TileForm::kUnknown;
}

Step reduce(Frame& f, const Instruction& in) {
  const RegionCode& region = f.code->regions[in.index];
  const Tile& first = f.operand(in, 0);
  const std::int64_t combined = f.live[f.slot(in, 0)] - f.result(in).count();
  f.counts.flops += static_cast<std::uint64_t>(std::max<std::int64_t>(combined, 0)) * region.flops;
  bool known = f.wants(in);
  for (std::size_t k = 0; k < in.operand_count; ++k) known = known && !is_unknown(f.operand(in, k));
  if (!known) {
    make_unknown(f, in);
    return Step::kNext;
  }
  Combine c;
  if (is_one_op(region, *f.code, c)) {
    reduce_axis(c, first, static_cast<std::size_t>(in.immediate), f.result(in));
    return Step::kNext;
  }
  const std::uint64_t flops = f.counts.flops;  // those of the region are counted already
  const bool fine = RegionReduction(f, in, region).run();
  f.counts.flops = flops;
  return fine ? Step::kNext : Step::kFail;
}

std::string_view prepare_reduce(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("axis");
  const auto rank = static_cast<std::int64_t>(op.operands[0]->type->shape.size());
  return in.immediate >= 0 && in.immediate < rank ? "" : "no such axis";
}

struct Kind {
  std::string_view name;
  FloatOp real;
  IntOp integer;
};
constexpr Kind kKinds[] = {
    {"add", FloatOp::kAdd, IntOp::kAdd},           {"mul", FloatOp::kMul, IntOp::kMul},
    {"maximumf", FloatOp::kMaximum, IntOp::kMaxS}, {"minimumf", FloatOp::kMinimum, IntOp::kMinS},
    {"maxnumf", FloatOp::kMaxNum, IntOp::kMaxS},   {"minnumf", FloatOp::kMinNum, IntOp::kMinS},
    {"maxsi", FloatOp::kMaximum, IntOp::kMaxS},    {"minsi", FloatOp::kMinimum, IntOp::kMinS},
    {"maxui", FloatOp::kMaximum, IntOp::kMaxU},    {"minui", FloatOp::kMinimum, IntOp::kMinU},
    {"and", FloatOp::kAdd, IntOp::kAnd},           {"or", FloatOp::kAdd, IntOp::kOr},
    {"xor", FloatOp::kAdd, IntOp::kXor},
};

/// #vector.kind<add>: the name stands in the attribute's body.
std::string_view prepare_multi_reduction(const kernel::Op& op, Instruction& in) {
  const kernel::Attr kind = op.attr("kind"), dims = op.attr("reduction_dims");
  if (!kind || !dims) return "no kind or no dimensions";
  const bool real = kernel::is_float(op.operands[0]->type->dtype);
  const auto rank = static_cast<std::int64_t>(op.operands[0]->type->shape.size());
  in.immediate = 0;  // a bit a dimension
  for (const std::int64_t d : dims->int_list()) {
    if (d < 0 || d >= rank) return "no such dimension";
    in.immediate |= std::int64_t{1} << d;
  }
  for (const Kind& k : kKinds) {
    if (kind->body != k.name && kind->string != k.name) continue;
    in.code = real ? static_cast<std::uint8_t>(k.real) : static_cast<std::uint8_t>(k.integer);
    return "";
  }
  return "no such kind of reduction";
}

Step multi_reduction(Frame& f, const Instruction& in) {
  const Tile& source = f.operand(in, 0);
  const Tile& start = f.operand(in, 1);
  Tile& out = f.result(in);
  const Combine c{kernel::is_float(source.dtype), in.code};
  if (c.is_float) f.counts.flops += static_cast<std::uint64_t>(f.live[f.slot(in, 0)]);
  if (!f.wants(in) || is_unknown(source) || is_unknown(start)) {
    out.form = TileForm::kUnknown;
    return Step::kNext;
  }
  Tile reduced;
  const Tile* from = &source;
  for (std::size_t d = source.shape.size(); d-- > 0;) {
    if ((in.immediate >> d & 1) == 0) continue;
    Tile next;
    next.shape = from->shape;
    next.shape.erase(next.shape.begin() + static_cast<std::ptrdiff_t>(d));
    next.dtype = source.dtype;
    reduce_axis(c, *from, d, next);
    reduced = std::move(next);
    from = &reduced;
  }
  const Tile* operands[] = {from, &start};
  if (c.is_float) {
    float_op(static_cast<FloatOp>(c.code), operands, out);
  } else {
    integer_binary(static_cast<IntOp>(c.code), *from, start, out);
  }
  return Step::kNext;
}

}  // namespace

void add_reductions(OpTable& table) {
  table.add({.name = "tt.reduce", .run = reduce, .pure = false, .prepare = prepare_reduce});
  table.add({.name = "vector.multi_reduction",
             .run = multi_reduction,
             .pure = false,
             .prepare = prepare_multi_reduction});
}

}  // namespace xpusim::exec
