#include "sim/exec/affine.h"

#include <algorithm>

namespace xpusim::exec {
namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return -floor_divide(-a, b); }

/// Larger strides and bases have no affine form, so that sums of digits cannot overflow.
constexpr std::int64_t kMaxStride = std::int64_t{1} << 36;
constexpr std::int64_t kMaxBase = std::int64_t{1} << 61;

bool in_limits(std::int64_t v, std::int64_t limit) { return v >= -limit && v <= limit; }

/// Adds a digit, joining it with one that reads the same part of the same dimension.
bool push(Affine& a, const Digit& digit) {
  if (digit.stride == 0) return true;
  if (!in_limits(digit.stride, kMaxStride)) return false;
  for (auto it = a.digits.begin(); it != a.digits.end(); ++it) {
    if (it->dim == digit.dim && it->div == digit.div && it->mod == digit.mod) {
      it->stride += digit.stride;
      if (it->stride == 0) {
        a.digits.erase(it);
        return true;
      }
      return in_limits(it->stride, kMaxStride);
    }
  }
  if (a.digits.size() == a.digits.capacity()) return false;
  a.digits.push_back(digit);
  return true;
}

/// Range of one digit (without stride) over indices low .. high.
Range digit_range(const Digit& d, std::int64_t low, std::int64_t high) {
  const std::int64_t first = low / d.div, last = high / d.div;
  if (d.mod == 0) return {first, last};
  if (last - first >= d.mod - 1) return {0, d.mod - 1};
  const std::int64_t a = first % d.mod, b = last % d.mod;
  if (a <= b) return {a, b};
  return {0, d.mod - 1};  // wraps inside: both ends are attained
}

void accumulate(Range& r, const Digit& d, const Range& x) {
  const std::int64_t s = d.stride;
  r.low += s > 0 ? s * x.low : s * x.high;
  r.high += s > 0 ? s * x.high : s * x.low;
}

/// Joins digits b = (.. div d*m) and a = (.. div d) mod m of one dimension when stride(b) =
/// stride(a) * m.
bool join_chain(Affine& a) {
  for (auto& low : a.digits) {
    if (low.mod == 0) continue;
    for (auto it = a.digits.begin(); it != a.digits.end(); ++it) {
      if (it->dim == low.dim && it->div == low.div * low.mod &&
          it->stride == low.stride * low.mod) {
        low.mod = it->mod == 0 ? 0 : low.mod * it->mod;
        a.digits.erase(it);
        return true;
      }
    }
  }
  return false;
}

/// The part of a sum that matters for a division: digits that are no multiples of the divisor.
struct Split {
  Affine multiples, rest;
};

Split split(const Affine& a, std::int64_t divisor) {
  Split s;
  const std::int64_t base = floor_divide(a.base, divisor);
  s.multiples.base = base;
  s.rest.base = a.base - base * divisor;
  for (const Digit& d : a.digits) {
    if (d.stride % divisor == 0) {
      s.multiples.digits.push_back({d.stride / divisor, d.div, d.mod, d.dim});
    } else {
      s.rest.digits.push_back(d);
    }
  }
  return s;
}

/// Whether rest is one rising digit whose steps divide the divisor and whose base lies below one
/// step: then its quotient and remainder are digits of the same index.
bool is_aligned_digit(const Affine& rest, std::int64_t divisor) {
  if (rest.digits.size() != 1) return false;
  const std::int64_t stride = rest.digits[0].stride;
  return stride > 0 && divisor % stride == 0 && rest.base < stride;
}

/// The factors into which two shapes split alike: each belongs to one dimension of either.
struct Factor {
  std::int64_t size;
  std::uint8_t from, to;
  std::int64_t from_weight, to_weight;  ///< product of the inner factors of the same dimension
  bool outermost_in_to;
};
using Factors = boost::container::static_vector<Factor, 2 * kMaxRank>;

bool refine(const Shape& from, const Shape& to, Factors& out) {
  std::ptrdiff_t i = static_cast<std::ptrdiff_t>(from.size()) - 1;
  std::ptrdiff_t j = static_cast<std::ptrdiff_t>(to.size()) - 1;
  std::int64_t from_weight = 1, to_weight = 1;
  while (true) {  // from the innermost outwards
    while (i >= 0 && from_weight == from[static_cast<std::size_t>(i)]) --i, from_weight = 1;
    while (j >= 0 && to_weight == to[static_cast<std::size_t>(j)]) --j, to_weight = 1;
    if (i < 0 || j < 0) return i < 0 && j < 0;
    const std::int64_t a = from[static_cast<std::size_t>(i)] / from_weight;
    const std::int64_t b = to[static_cast<std::size_t>(j)] / to_weight;
    const std::int64_t size = std::min(a, b);
    if (size <= 0 || a % size != 0 || b % size != 0) return false;
    if (out.size() == out.capacity()) return false;
    out.push_back({size, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(j), from_weight,
                   to_weight, b == size});
    from_weight *= size;
    to_weight *= size;
  }
}

/// The part of a digit that lies in one factor, as a digit of the new shape.
bool project(const Digit& d, const Factor& f, std::int64_t extent, Affine& out) {
  const std::int64_t top = d.mod == 0 ? std::max(extent, d.div) : d.div * d.mod;
  const std::int64_t low = std::max(d.div, f.from_weight);
  const std::int64_t end = f.from_weight * f.size;
  const std::int64_t high = std::min(top, end);
  if (low >= high) return true;  // reads nothing of this factor
  if (low % d.div != 0 || low % f.from_weight != 0 || high % low != 0 || end % high != 0 ||
      top % high != 0) {
    return false;
  }
  const std::int64_t div = low / f.from_weight;
  const bool all = high == end && f.outermost_in_to;
  return push(out, {d.stride * (low / d.div), f.to_weight * div, all ? 0 : high / low, f.to});
}

}  // namespace

std::int64_t value_at(const Affine& a, std::span<const std::int64_t> index) {
  std::int64_t v = a.base;
  for (const Digit& d : a.digits) v += d.stride * digit_value(d, index[d.dim]);
  return v;
}

Range range(const Affine& a, const Shape& shape) {
  Range r{a.base, a.base};
  for (const Digit& d : a.digits) accumulate(r, d, digit_range(d, 0, shape[d.dim] - 1));
  return r;
}

Range range(const Affine& a, const Box& box, bool& exact) {
  Range r{a.base, a.base};
  exact = true;
  unsigned seen = 0;
  for (const Digit& d : a.digits) {
    exact = exact && !(seen >> d.dim & 1);
    seen |= 1u << d.dim;
    accumulate(r, d, digit_range(d, box.low[d.dim], box.high[d.dim] - 1));
  }
  return r;
}

void normalise(Affine& a, const Shape& shape) {
  for (auto it = a.digits.begin(); it != a.digits.end();) {
    const std::int64_t last = (shape[it->dim] - 1) / it->div;
    if (it->stride == 0 || last <= 0 || it->mod == 1) {
      it = a.digits.erase(it);
      continue;
    }
    if (last < it->mod) it->mod = 0;
    ++it;
  }
  while (join_chain(a)) {
  }
}

bool add(const Affine& a, const Affine& b, std::int64_t sign, Affine& out) {
  out = a;
  std::int64_t base;
  if (__builtin_mul_overflow(b.base, sign, &base) ||
      __builtin_add_overflow(out.base, base, &out.base) || !in_limits(out.base, kMaxBase)) {
    return false;
  }
  for (const Digit& d : b.digits) {
    if (!push(out, {d.stride * sign, d.div, d.mod, d.dim})) return false;
  }
  return true;
}

bool scale(const Affine& a, std::int64_t factor, Affine& out) {
  out.digits.clear();
  if (__builtin_mul_overflow(a.base, factor, &out.base) || !in_limits(out.base, kMaxBase)) {
    return false;
  }
  for (const Digit& d : a.digits) {
    std::int64_t stride;
    if (__builtin_mul_overflow(d.stride, factor, &stride) || !in_limits(stride, kMaxStride)) {
      return false;
    }
    if (stride != 0) out.digits.push_back({stride, d.div, d.mod, d.dim});
  }
  return true;
}

bool divide(const Affine& a, const Shape& shape, std::int64_t divisor, Affine& out) {
  auto [q, rest] = split(a, divisor);
  const Range r = range(rest, shape);
  const std::int64_t low = floor_divide(r.low, divisor);
  if (low == floor_divide(r.high, divisor)) {
    out = q;
    out.base += low;
    return true;
  }
  if (!is_aligned_digit(rest, divisor)) return false;
  Digit d = rest.digits[0];
  const std::int64_t steps = divisor / d.stride;
  if (d.mod % steps != 0) return false;
  out = q;
  return push(out, {1, d.div * steps, d.mod / steps, d.dim});
}

bool modulo(const Affine& a, const Shape& shape, std::int64_t divisor, Affine& out) {
  const Affine rest = split(a, divisor).rest;
  const Range r = range(rest, shape);
  const std::int64_t low = floor_divide(r.low, divisor);
  if (low == floor_divide(r.high, divisor)) {
    out = rest;
    out.base -= low * divisor;
    return true;
  }
  if (!is_aligned_digit(rest, divisor)) return false;
  const Digit d = rest.digits[0];
  const std::int64_t steps = divisor / d.stride;
  std::int64_t mod = steps;
  if (d.mod != 0) {
    if (steps % d.mod != 0 && d.mod % steps != 0) return false;
    mod = std::min(steps, d.mod);
  }
  out = {};
  out.base = rest.base;
  out.digits.push_back({d.stride, d.div, mod, d.dim});
  return true;
}

void insert_dimension(Affine& a, int axis) {
  for (Digit& d : a.digits) d.dim = static_cast<std::uint8_t>(d.dim + (d.dim >= axis ? 1 : 0));
}

void permute(Affine& a, std::span<const std::int64_t> order) {
  for (Digit& d : a.digits) {
    const auto* at = std::find(order.data(), order.data() + order.size(), d.dim);
    d.dim = static_cast<std::uint8_t>(at - order.data());
  }
}

bool reshape(const Affine& a, const Shape& from, const Shape& to, Affine& out) {
  Factors factors;
  if (!refine(from, to, factors)) return false;
  out = {};
  out.base = a.base;
  for (const Digit& d : a.digits) {
    for (const Factor& f : factors) {
      if (f.from == d.dim && !project(d, f, from[d.dim], out)) return false;
    }
  }
  normalise(out, to);
  return true;
}

namespace {

/// Where the one digit of `a` is below (or at least) what brings the sum to `bound`.
Where split_at(const Affine& a, const Shape& shape, std::int64_t bound, bool below, Box& out) {
  const Range r = range(a, shape);
  if (r.high < bound) return below ? Where::kEverywhere : Where::kNowhere;
  if (r.low >= bound) return below ? Where::kNowhere : Where::kEverywhere;
  if (a.digits.size() != 1 || a.digits[0].mod != 0) return Where::kNoForm;
  const Digit& d = a.digits[0];
  const std::int64_t extent = shape[d.dim];
  // Rising: a < bound where i < cut. Falling: a < bound where i >= cut.
  const bool rising = d.stride > 0;
  const std::int64_t digit =
      rising ? ceil_divide(bound - a.base, d.stride) : floor_divide(a.base - bound, -d.stride) + 1;
  const std::int64_t cut = std::clamp<std::int64_t>(
      digit > extent ? extent : std::max<std::int64_t>(digit, 0) * d.div, 0, extent);
  out = whole(shape);
  (rising == below ? out.high : out.low)[d.dim] = cut;
  if (is_empty(out)) return Where::kNowhere;
  return is_whole(out, shape) ? Where::kEverywhere : Where::kInBox;
}

}  // namespace

Where less(const Affine& a, const Shape& shape, std::int64_t bound, Box& out) {
  return split_at(a, shape, bound, true, out);
}

Where at_least(const Affine& a, const Shape& shape, std::int64_t bound, Box& out) {
  return split_at(a, shape, bound, false, out);
}

Box whole(const Shape& shape) {
  Box b;
  b.low.resize(shape.size(), 0);
  b.high.assign(shape.begin(), shape.end());
  return b;
}

bool is_empty(const Box& box) {
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    if (box.low[d] >= box.high[d]) return true;
  }
  return false;
}

bool is_whole(const Box& box, const Shape& shape) {
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    if (box.low[d] > 0 || box.high[d] < shape[d]) return false;
  }
  return true;
}

std::int64_t count(const Box& box) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < box.low.size(); ++d) {
    n *= std::max<std::int64_t>(box.high[d] - box.low[d], 0);
  }
  return n;
}

Box intersect(const Box& a, const Box& b) {
  Box r = a;
  for (std::size_t d = 0; d < r.low.size(); ++d) {
    r.low[d] = std::max(a.low[d], b.low[d]);
    r.high[d] = std::min(a.high[d], b.high[d]);
  }
  return r;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t d = 0; d < outer.low.size(); ++d) {
    if (inner.low[d] < outer.low[d] || inner.high[d] > outer.high[d]) return false;
  }
  return true;
}

}  // namespace xpusim::exec
