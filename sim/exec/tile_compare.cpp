#include "sim/exec/tile_algebra.h"

#include <algorithm>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

bool holds(Predicate p, DType d, std::int64_t a, std::int64_t b) {
  const std::uint64_t ua = zero_extend(d, a), ub = zero_extend(d, b);
  if (d == DType::kI1) a = -a, b = -b;  // as a signed number, true is -1
  switch (p) {
    case Predicate::kEq:
      return a == b;
    case Predicate::kNe:
      return a != b;
    case Predicate::kSlt:
      return a < b;
    case Predicate::kSle:
      return a <= b;
    case Predicate::kSgt:
      return a > b;
    case Predicate::kSge:
      return a >= b;
    case Predicate::kUlt:
      return ua < ub;
    case Predicate::kUle:
      return ua <= ub;
    case Predicate::kUgt:
      return ua > ub;
    case Predicate::kUge:
      return ua >= ub;
  }
  return false;
}

template <class F>
void compare_all(const Tile& a, const Tile& b, Tile& out, F f) {
  ChunkReader<std::int64_t> ra(a), rb(b);
  std::byte* to = dense_storage(out);
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* x = ra.at(start, n);
    const std::int64_t* y = rb.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) to[start + i] = static_cast<std::byte>(f(x[i], y[i]));
  });
}

void dense_compare(Predicate p, const Tile& a, const Tile& b, Tile& out) {
  using I = std::int64_t;
  const DType d = a.is_pointer ? DType::kI64 : a.dtype;
  if (d == DType::kI1) {
    return compare_all(a, b, out, [p, d](I x, I y) { return holds(p, d, x, y); });
  }
  switch (p) {
    case Predicate::kEq:
      return compare_all(a, b, out, [](I x, I y) { return x == y; });
    case Predicate::kNe:
      return compare_all(a, b, out, [](I x, I y) { return x != y; });
    case Predicate::kSlt:
      return compare_all(a, b, out, [](I x, I y) { return x < y; });
    case Predicate::kSle:
      return compare_all(a, b, out, [](I x, I y) { return x <= y; });
    case Predicate::kSgt:
      return compare_all(a, b, out, [](I x, I y) { return x > y; });
    case Predicate::kSge:
      return compare_all(a, b, out, [](I x, I y) { return x >= y; });
    default:
      return compare_all(a, b, out, [p, d](I x, I y) { return holds(p, d, x, y); });
  }
}

Predicate as_signed(Predicate p) {
  switch (p) {
    case Predicate::kUlt:
      return Predicate::kSlt;
    case Predicate::kUle:
      return Predicate::kSle;
    case Predicate::kUgt:
      return Predicate::kSgt;
    case Predicate::kUge:
      return Predicate::kSge;
    default:
      return p;
  }
}

Where invert(Where w) {
  if (w == Where::kNowhere) return Where::kEverywhere;
  return w == Where::kEverywhere ? Where::kNowhere : Where::kNoForm;
}

/// Where the difference d = a - b satisfies the predicate against 0.
Where locate(Predicate p, const Affine& d, const Shape& shape, Box& box) {
  switch (p) {
    case Predicate::kSlt:
      return less(d, shape, 0, box);
    case Predicate::kSle:
      return less(d, shape, 1, box);
    case Predicate::kSgt:
      return at_least(d, shape, 1, box);
    case Predicate::kSge:
      return at_least(d, shape, 0, box);
    case Predicate::kNe:
      return invert(locate(Predicate::kEq, d, shape, box));
    default:
      break;
  }
  Box below = whole(shape), above = whole(shape);
  const Where not_above = less(d, shape, 1, below), not_below = at_least(d, shape, 0, above);
  if (not_above == Where::kNowhere || not_below == Where::kNowhere) return Where::kNowhere;
  if (not_above == Where::kNoForm || not_below == Where::kNoForm) return Where::kNoForm;
  if (not_above == Where::kEverywhere) below = whole(shape);
  if (not_below == Where::kEverywhere) above = whole(shape);
  box = intersect(below, above);
  if (is_empty(box)) return Where::kNowhere;
  return is_whole(box, shape) ? Where::kEverywhere : Where::kInBox;
}

bool affine_compare(Predicate p, const Tile& a, const Tile& b, Tile& out) {
  Affine sa, sb, difference;
  if (as_signed(p) != p && (may_be_negative(a) || may_be_negative(b))) return false;
  if (!add(affine_of(a, sa), affine_of(b, sb), -1, difference)) return false;
  normalise(difference, out.shape);
  switch (locate(as_signed(p), difference, out.shape, out.box)) {
    case Where::kNoForm:
      return false;
    case Where::kNowhere:
      return set_integer(out, 0), true;
    case Where::kEverywhere:
      return set_integer(out, 1), true;
    case Where::kInBox:
      return out.form = TileForm::kBox, true;
  }
  return false;
}

}  // namespace

void compare(Predicate p, const Tile& a, const Tile& b, Tile& out) {
  if (is_unknown(a) || is_unknown(b)) {
    out.form = TileForm::kUnknown;
    return;
  }
  if (is_splat(a) && is_splat(b)) {
    set_integer(out, holds(p, a.is_pointer ? DType::kI64 : a.dtype, a.bits, b.bits));
    return;
  }
  if (has_affine(a) && has_affine(b) && affine_compare(p, a, b, out)) return;
  dense_compare(p, a, b, out);
}

}  // namespace xpusim::exec
