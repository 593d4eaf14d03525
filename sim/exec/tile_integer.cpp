#include "sim/exec/tile_algebra.h"

#include <algorithm>
#include <limits>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

Range limits(const Tile& t) {
  const int width = t.is_pointer ? 64 : kernel::bit_width(t.dtype);
  if (width >= 64) {
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
  if (width == 1) return {0, 1};
  return {-(std::int64_t{1} << (width - 1)), (std::int64_t{1} << (width - 1)) - 1};
}

/// Gives `out` the affine form, unless some element may leave the dtype's range (then it would
/// wrap).
bool settle(Tile& out) {
  if (out.affine.digits.empty()) {
    const std::int64_t v = out.affine.base;
    set_integer(out, out.is_pointer ? v : wrap(out.dtype, v));
    return true;
  }
  const Range r = range(out.affine, out.shape), l = limits(out);
  if (r.low < l.low || r.high > l.high) return false;
  out.form = TileForm::kAffine;
  return true;
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

/// Signed division without traps: by zero all ones, the least value by -1 wraps.
std::int64_t divide_signed(std::int64_t a, std::int64_t b) {
  if (b == 0) return -1;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  return a / b;
}
std::int64_t remainder_signed(std::int64_t a, std::int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}

template <class F>
void for_each(const std::int64_t* a, const std::int64_t* b, std::int64_t n, std::int64_t* out,
              F f) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

std::int64_t shift(IntOp op, DType d, std::int64_t a, std::int64_t b) {
  const std::uint64_t by = zero_extend(d, b);
  const auto width = static_cast<std::uint64_t>(d == DType::kNone ? 64 : kernel::bit_width(d));
  if (by >= width) return op == IntOp::kShrS && a < 0 ? -1 : 0;
  if (op == IntOp::kShl) return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << by);
  if (op == IntOp::kShrS) return a >> by;
  return static_cast<std::int64_t>(zero_extend(d, a) >> by);
}

std::int64_t multiply_high(DType d, std::int64_t a, std::int64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(zero_extend(d, a)) * zero_extend(d, b);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> kernel::bit_width(d)));
}

/// out[i] = a[i] op b[i] in 64 bits; the caller cuts to the dtype's width.
void evaluate(IntOp op, DType d, const std::int64_t* a, const std::int64_t* b, std::int64_t n,
              std::int64_t* out) {
  using I = std::int64_t;
  using U = std::uint64_t;
  const auto u = [d](I v) { return zero_extend(d, v); };
  switch (op) {
    case IntOp::kAdd:
      return for_each(a, b, n, out, [](I x, I y) { return static_cast<I>(U(x) + U(y)); });
    case IntOp::kSub:
      return for_each(a, b, n, out, [](I x, I y) { return static_cast<I>(U(x) - U(y)); });
    case IntOp::kMul:
      return for_each(a, b, n, out, [](I x, I y) { return static_cast<I>(U(x) * U(y)); });
    case IntOp::kDivS:
      return for_each(a, b, n, out, divide_signed);
    case IntOp::kRemS:
      return for_each(a, b, n, out, remainder_signed);
    case IntOp::kDivU:
      return for_each(a, b, n, out,
                      [u](I x, I y) { return u(y) ? static_cast<I>(u(x) / u(y)) : -1; });
    case IntOp::kRemU:
      return for_each(a, b, n, out,
                      [u](I x, I y) { return u(y) ? static_cast<I>(u(x) % u(y)) : x; });
    case IntOp::kFloorDivS:
      return for_each(a, b, n, out, [](I x, I y) {
        return y == 0 || y == -1 ? divide_signed(x, y) : floor_divide(x, y);
      });
    case IntOp::kCeilDivS:
      return for_each(a, b, n, out, [](I x, I y) {
        return y == 0 || y == -1 ? divide_signed(x, y) : -floor_divide(-x, y);
      });
    case IntOp::kAnd:
      return for_each(a, b, n, out, [](I x, I y) { return x & y; });
    case IntOp::kOr:
      return for_each(a, b, n, out, [](I x, I y) { return x | y; });
    case IntOp::kXor:
      return for_each(a, b, n, out, [](I x, I y) { return x ^ y; });
    case IntOp::kShl:
    case IntOp::kShrS:
    case IntOp::kShrU:
      return for_each(a, b, n, out, [op, d](I x, I y) { return shift(op, d, x, y); });
    case IntOp::kMinS:
      return for_each(a, b, n, out, [](I x, I y) { return std::min(x, y); });
    case IntOp::kMaxS:
      return for_each(a, b, n, out, [](I x, I y) { return std::max(x, y); });
    case IntOp::kMinU:
      return for_each(a, b, n, out, [u](I x, I y) { return u(x) < u(y) ? x : y; });
    case IntOp::kMaxU:
      return for_each(a, b, n, out, [u](I x, I y) { return u(x) > u(y) ? x : y; });
    case IntOp::kMulHighU:
      return for_each(a, b, n, out, [d](I x, I y) { return multiply_high(d, x, y); });
  }
}

void dense_binary(IntOp op, const Tile& a, const Tile& b, Tile& out) {
  ChunkReader<std::int64_t> ra(a), rb(b);
  dense_storage(out);
  std::int64_t result[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    evaluate(op, out.dtype, ra.at(start, n), rb.at(start, n), n, result);
    write_integers(out, start, n, result);
  });
}

bool is_power_of_two(std::int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

/// Affine (not splat) `a` op splat `c`, for the ops that are divisions in some guise.
bool divide_form(IntOp op, const Tile& a, std::int64_t c, Tile& out) {
  const Range r = range(a.affine, a.shape);
  const bool natural = r.low >= 0;
  switch (op) {
    case IntOp::kDivS:
    case IntOp::kDivU:
      return c > 0 && natural && divide(a.affine, a.shape, c, out.affine);
    case IntOp::kFloorDivS:
      return c > 0 && divide(a.affine, a.shape, c, out.affine);
    case IntOp::kRemS:
    case IntOp::kRemU:
      return c > 0 && natural && modulo(a.affine, a.shape, c, out.affine);
    case IntOp::kAnd:
      return is_power_of_two(c + 1) && modulo(a.affine, a.shape, c + 1, out.affine);
    case IntOp::kShrS:
    case IntOp::kShrU:
      return c >= 0 && c < 62 && (op == IntOp::kShrS || natural) &&
             divide(a.affine, a.shape, std::int64_t{1} << c, out.affine);
    case IntOp::kShl:
      return c >= 0 && c < 62 && scale(a.affine, std::int64_t{1} << c, out.affine);
    default:
      return false;
  }
}

/// min or max where the ranges of the operands do not overlap: one of them.
bool extreme_form(IntOp op, const Tile& a, const Tile& b, Tile& out) {
  Affine sa, sb;
  const Range ra = range(affine_of(a, sa), a.shape), rb = range(affine_of(b, sb), b.shape);
  const bool is_signed = op == IntOp::kMinS || op == IntOp::kMaxS;
  if (!is_signed && (ra.low < 0 || rb.low < 0)) return false;
  const bool a_below = ra.high <= rb.low, b_below = rb.high <= ra.low;
  if (!a_below && !b_below) return false;
  const bool wants_min = op == IntOp::kMinS || op == IntOp::kMinU;
  const Tile& chosen = a_below == wants_min ? a : b;
  out.affine = affine_of(chosen, chosen.form == TileForm::kSplat ? sa : sb);
  return true;
}

bool affine_binary(IntOp op, const Tile& a, const Tile& b, Tile& out) {
  Affine sa, sb;
  switch (op) {
    case IntOp::kAdd:
      return add(affine_of(a, sa), affine_of(b, sb), 1, out.affine);
    case IntOp::kSub:
      return add(affine_of(a, sa), affine_of(b, sb), -1, out.affine);
    case IntOp::kMul:
      if (is_splat(b)) return scale(a.affine, b.bits, out.affine);
      return is_splat(a) && scale(b.affine, a.bits, out.affine);
    case IntOp::kMinS:
    case IntOp::kMaxS:
    case IntOp::kMinU:
    case IntOp::kMaxU:
      return extreme_form(op, a, b, out);
    default:
      return is_splat(b) && divide_form(op, a, b.bits, out);
  }
}

/// Gives a mask its simplest form.
void settle_mask(Tile& out) {
  if (is_empty(out.box)) {
    set_integer(out, 0);
  } else if (is_whole(out.box, out.shape)) {
    set_integer(out, 1);
  } else {
    out.form = TileForm::kBox;
  }
}

/// The complement of a box that bounds one dimension on one side only.
bool complement(const Box& box, const Shape& shape, Box& out) {
  out = whole(shape);
  int sides = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (box.low[d] > 0) ++sides, out.high[d] = box.low[d];
    if (box.high[d] < shape[d]) ++sides, out.low[d] = box.high[d];
  }
  return sides == 1;
}

bool mask_binary(IntOp op, const Tile& a, const Tile& b, Tile& out) {
  if (is_splat(b) && !is_splat(a)) return mask_binary(op, b, a, out);
  if (is_splat(a)) {  // the other is a box
    const bool keeps = op == IntOp::kAnd ? a.bits != 0 : a.bits == 0;
    if (keeps) return assign(out, b), true;
    if (op != IntOp::kXor) return set_integer(out, a.bits), true;
    if (!complement(b.box, out.shape, out.box)) return false;
    return settle_mask(out), true;
  }
  if (op == IntOp::kAnd) {
    out.box = intersect(a.box, b.box);
    return settle_mask(out), true;
  }
  if (op == IntOp::kOr && (contains(a.box, b.box) || contains(b.box, a.box))) {
    return assign(out, contains(a.box, b.box) ? a : b), true;
  }
  return false;
}

bool is_mask_op(IntOp op) { return op == IntOp::kAnd || op == IntOp::kOr || op == IntOp::kXor; }

}  // namespace

void integer_run(IntOp op, DType d, const std::int64_t* a, const std::int64_t* b,
                 std::int64_t count, std::int64_t* out) {
  evaluate(op, d, a, b, count, out);
}

std::int64_t integer_scalar(IntOp op, DType d, std::int64_t a, std::int64_t b) {
  std::int64_t r;
  evaluate(op, d, &a, &b, 1, &r);
  return wrap(d, r);
}

void integer_binary(IntOp op, const Tile& a, const Tile& b, Tile& out) {
  if (is_unknown(a) || is_unknown(b)) {
    out.form = TileForm::kUnknown;
    return;
  }
  if (is_splat(a) && is_splat(b)) {
    set_integer(out, integer_scalar(op, out.dtype, a.bits, b.bits));
    return;
  }
  if (out.dtype == DType::kI1) {
    if (has_box(a) && has_box(b) && is_mask_op(op) && mask_binary(op, a, b, out)) return;
  } else if (has_affine(a) && has_affine(b) && affine_binary(op, a, b, out)) {
    normalise(out.affine, out.shape);
    if (settle(out)) return;
  }
  dense_binary(op, a, b, out);
}

void convert_integer(const Tile& a, bool is_unsigned, Tile& out) {
  const auto value = [&](std::int64_t v) {
    if (is_unsigned) return wrap(out.dtype, static_cast<std::int64_t>(zero_extend(a.dtype, v)));
    return wrap(out.dtype, a.dtype == DType::kI1 ? -v : v);
  };
  if (is_unknown(a)) {
    out.form = TileForm::kUnknown;
    return;
  }
  if (is_splat(a)) {
    set_integer(out, value(a.bits));
    return;
  }
  if (a.form == TileForm::kAffine && !(is_unsigned && may_be_negative(a))) {
    out.affine = a.affine;
    if (settle(out)) return;
  }
  ChunkReader<std::int64_t> ra(a);
  dense_storage(out);
  std::int64_t result[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* x = ra.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) result[i] = value(x[i]);
    write_integers(out, start, n, result);
  });
}

void add_pointer(const Tile& pointer, const Tile& offset, std::int64_t element_size, Tile& out) {
  if (is_unknown(pointer) || is_unknown(offset)) {
    out.form = TileForm::kUnknown;
    return;
  }
  if (has_affine(pointer) && has_affine(offset)) {
    Affine sp, so, bytes;
    if (scale(affine_of(offset, so), element_size, bytes) &&
        add(affine_of(pointer, sp), bytes, 1, out.affine)) {
      normalise(out.affine, out.shape);
      if (settle(out)) return;
    }
  }
  ChunkReader<std::int64_t> rp(pointer), ro(offset);
  dense_storage(out);
  std::int64_t result[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* p = rp.at(start, n);
    const std::int64_t* o = ro.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) {
      result[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(p[i]) +
                                            static_cast<std::uint64_t>(o[i]) *
                                                static_cast<std::uint64_t>(element_size));
    }
    write_integers(out, start, n, result);
  });
}

}  // namespace xpusim::exec
