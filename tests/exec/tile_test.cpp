// Index, pointer and mask tiles: hand-computed values, and random expressions in compact form
// against the same expressions evaluated element by element.

#include <gtest/gtest.h>

#include <random>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/tile_algebra.h"

namespace xpusim::exec {
namespace {

Tile tile(Shape shape, DType d = DType::kI32) {
  Tile t;
  t.shape = shape;
  t.dtype = d;
  return t;
}

Tile splat(Shape shape, std::int64_t v, DType d = DType::kI32) {
  Tile t = tile(shape, d);
  set_integer(t, v);
  return t;
}

Tile iota(Shape shape, int dim, std::int64_t start = 0) {
  Tile t = tile(shape);
  make_range(start, t, dim);
  return t;
}

Tile binary(IntOp op, const Tile& a, const Tile& b) {
  Tile t = tile(a.shape, a.dtype);
  integer_binary(op, a, b, t);
  return t;
}

Tile compared(Predicate p, const Tile& a, const Tile& b) {
  Tile t = tile(a.shape, DType::kI1);
  compare(p, a, b, t);
  return t;
}

Tile dense(const Tile& t) {
  Tile d = tile(t.shape, t.dtype);
  dense_storage(d);
  const auto v = to_integers(t);
  write_integers(d, 0, d.count(), v.data());
  return d;
}

TEST(Tile, IsAVectorAddsMaskABox) {
  // offs = 3 * 8 + arange(8); offs < 29
  const Tile offs = binary(IntOp::kAdd, splat({8}, 24), iota({8}, 0));
  ASSERT_EQ(offs.form, TileForm::kAffine);
  EXPECT_EQ(offs.affine.base, 24);
  const Tile mask = compared(Predicate::kSlt, offs, splat({8}, 29));
  ASSERT_EQ(mask.form, TileForm::kBox);
  EXPECT_EQ(mask.box.low[0], 0);
  EXPECT_EQ(mask.box.high[0], 5);
  EXPECT_EQ(compared(Predicate::kSlt, offs, splat({8}, 40)).form, TileForm::kSplat);
  EXPECT_EQ(compared(Predicate::kSlt, offs, splat({8}, 24)).bits, 0);
}

TEST(Tile, IsAMatmulsPointerTileAffine) {
  // p = base + (rm[:, None] * 100 + rk[None, :]) * 4
  Tile rm = iota({16}, 0, 32), rk = iota({8}, 0);
  Tile m = tile({16, 1}), k = tile({1, 8}), mb = tile({16, 8}), kb = tile({16, 8});
  expand_dims(rm, 1, m);
  expand_dims(rk, 0, k);
  m = binary(IntOp::kMul, m, splat({16, 1}, 100));
  broadcast(m, mb);
  broadcast(k, kb);
  Tile p = tile({16, 8}, DType::kI64);
  p.is_pointer = true;
  Tile base = p;
  set_integer(base, 4096);
  add_pointer(base, binary(IntOp::kAdd, mb, kb), 4, p);
  ASSERT_EQ(p.form, TileForm::kAffine);
  const std::int64_t at[] = {3, 5};
  EXPECT_EQ(integer_at(p, at), 4096 + ((32 + 3) * 100 + 5) * 4);
}

TEST(Tile, AreQuotientsAndRemaindersOfAnIndexDigits) {
  const Tile i = binary(IntOp::kAdd, iota({64}, 0), splat({64}, 128));
  const Tile q = binary(IntOp::kDivS, i, splat({64}, 16)),
             r = binary(IntOp::kRemS, i, splat({64}, 16));
  EXPECT_EQ(q.form, TileForm::kAffine);
  EXPECT_EQ(r.form, TileForm::kAffine);
  for (std::int64_t k = 0; k < 64; ++k) {
    EXPECT_EQ(integer_at(q, {&k, 1}), (128 + k) / 16);
    EXPECT_EQ(integer_at(r, {&k, 1}), (128 + k) % 16);
  }
  // (i / 16) * 16 + i % 16 is i again, and known to be.
  const Tile again = binary(IntOp::kAdd, binary(IntOp::kMul, q, splat({64}, 16)), r);
  ASSERT_EQ(again.form, TileForm::kAffine);
  EXPECT_EQ(again.affine.digits.size(), 1u);
}

TEST(Tile, DoesWrapAroundPastTheEndStayRight) {
  // (8 * pid + arange(8)) % 13 wraps inside the tile: no compact form, the right values.
  const Tile i = binary(IntOp::kAdd, iota({8}, 0), splat({8}, 8));
  const Tile r = binary(IntOp::kRemS, i, splat({8}, 13));
  EXPECT_EQ(to_integers(r), (std::vector<std::int64_t>{8, 9, 10, 11, 12, 0, 1, 2}));
}

TEST(Tile, DoesI32ArithmeticWrap) {
  const Tile big = binary(IntOp::kAdd, iota({4}, 0), splat({4}, 2147483646));
  EXPECT_EQ(to_integers(big),
            (std::vector<std::int64_t>{2147483646, 2147483647, -2147483648, -2147483647}));
  EXPECT_EQ(binary(IntOp::kMul, splat({}, 65536), splat({}, 65536)).bits, 0);
}

TEST(Tile, WhatDoesTheHardwareGiveForDivisionsByZero) {
  EXPECT_EQ(binary(IntOp::kDivS, splat({}, 7), splat({}, 0)).bits, -1);
  EXPECT_EQ(binary(IntOp::kRemS, splat({}, 7), splat({}, 0)).bits, 7);
  EXPECT_EQ(binary(IntOp::kDivS, splat({}, -2147483648), splat({}, -1)).bits, -2147483648);
}

TEST(Tile, AreSignsRightForTruncatingAndFlooringDivision) {
  EXPECT_EQ(binary(IntOp::kDivS, splat({}, -7), splat({}, 2)).bits, -3);
  EXPECT_EQ(binary(IntOp::kFloorDivS, splat({}, -7), splat({}, 2)).bits, -4);
  EXPECT_EQ(binary(IntOp::kCeilDivS, splat({}, 7), splat({}, 2)).bits, 4);
  EXPECT_EQ(binary(IntOp::kRemS, splat({}, -7), splat({}, 2)).bits, -1);
  EXPECT_EQ(binary(IntOp::kShrU, splat({}, -1), splat({}, 28)).bits, 15);
  EXPECT_EQ(binary(IntOp::kDivU, splat({}, -1), splat({}, 2)).bits, 2147483647);
}

TEST(Tile, DoTwoBoxesMeet) {
  Tile a = compared(Predicate::kSlt, iota({8, 8}, 0), splat({8, 8}, 5));
  Tile b = compared(Predicate::kSge, iota({8, 8}, 1), splat({8, 8}, 2));
  const Tile both = binary(IntOp::kAnd, a, b);
  ASSERT_EQ(both.form, TileForm::kBox);
  EXPECT_EQ(count(both.box), 5 * 6);
  Tile none = tile({8, 8}, DType::kI1);
  integer_binary(IntOp::kXor, a, splat({8, 8}, 1, DType::kI1), none);
  ASSERT_EQ(none.form, TileForm::kBox);
  EXPECT_EQ(count(none.box), 3 * 8);
}

/// A random expression over tiles of one shape, evaluated twice.
class RandomExpression {
 public:
  explicit RandomExpression(unsigned seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  Tile leaf(const Shape& shape) {
    const auto d = static_cast<int>(pick(0, static_cast<std::int64_t>(shape.size()) - 1));
    if (pick(0, 3) == 0) return splat(shape, pick(-100, 100));
    const Tile i = iota(shape, d, pick(0, 3) == 0 ? 0 : pick(0, 64));
    return pick(0, 1) ? i : binary(IntOp::kMul, i, splat(shape, pick(-20, 20)));
  }
  Tile expression(const Shape& shape, int depth) {
    if (depth == 0) return leaf(shape);
    static constexpr IntOp kOps[] = {IntOp::kAdd,  IntOp::kSub,       IntOp::kAdd,  IntOp::kMul,
                                     IntOp::kDivS, IntOp::kRemS,      IntOp::kMinS, IntOp::kMaxS,
                                     IntOp::kAnd,  IntOp::kShl,       IntOp::kShrS, IntOp::kDivU,
                                     IntOp::kRemU, IntOp::kFloorDivS, IntOp::kXor};
    const IntOp op = kOps[pick(0, 14)];
    const Tile a = expression(shape, depth - 1);
    static constexpr std::int64_t kConstants[] = {1, 2, 3, 4, 5, 8, 16, 7, 32, 64, 15, 0, -3};
    const bool by_constant = op != IntOp::kAdd && op != IntOp::kSub && pick(0, 3) != 0;
    const Tile b = by_constant
                       ? splat(shape, op == IntOp::kShl ? pick(0, 3) : kConstants[pick(0, 12)])
                       : expression(shape, depth - 1);
    const Tile compact = binary(op, a, b), plain = binary(op, dense(a), dense(b));
    EXPECT_EQ(to_integers(compact), to_integers(plain)) << "op " << static_cast<int>(op);
    compact_results += compact.form != TileForm::kDense;
    return compact;
  }
  int compact_results = 0;

 private:
  std::mt19937 random_;
};

TEST(Tile, DoRandomExpressionsInCompactFormHaveTheDenseValues) {
  int compact = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomExpression e(seed);
    Shape shape;
    const auto rank = e.pick(1, 3);
    for (std::int64_t d = 0; d < rank; ++d) shape.push_back(e.pick(1, 20));
    const Tile t = e.expression(shape, static_cast<int>(e.pick(1, 4)));
    if (HasFailure()) FAIL() << "seed " << seed;
    compact += e.compact_results;
    (void)t;
  }
  EXPECT_GT(compact, 3000);  // the compact forms were really taken
}

TEST(Tile, DoRandomComparisonsHaveTheDenseValues) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomExpression e(seed);
    const Shape shape{e.pick(1, 24), e.pick(1, 24)};
    const Tile a = e.expression(shape, 2),
               b = e.pick(0, 1) ? e.leaf(shape) : splat(shape, e.pick(-50, 400));
    const auto p = static_cast<Predicate>(e.pick(0, 9));
    const Tile compact = compared(p, a, b), plain = compared(p, dense(a), dense(b));
    ASSERT_EQ(to_integers(compact), to_integers(plain)) << "seed " << seed;
    const Tile other = compared(Predicate::kSlt, e.leaf(shape), splat(shape, e.pick(0, 40)));
    for (const IntOp op : {IntOp::kAnd, IntOp::kOr, IntOp::kXor}) {
      ASSERT_EQ(to_integers(binary(op, compact, other)),
                to_integers(binary(op, plain, dense(other))))
          << "seed " << seed;
    }
  }
}

TEST(Tile, DoRandomShapeChangesHaveTheDenseValues) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomExpression e(seed);
    const Shape shape{e.pick(1, 4) * 2, e.pick(1, 4) * 4, e.pick(1, 8)};
    const Tile a = e.pick(0, 2)
                       ? e.expression(shape, 2)
                       : compared(Predicate::kSlt, e.leaf(shape), splat(shape, e.pick(0, 40)));
    const Shape others[] = {{shape[0] * shape[1], shape[2]},
                            {shape[0], shape[1] * shape[2]},
                            {shape[0] / 2, 2 * shape[1], shape[2]},
                            {shape[0], 2, shape[1] / 2, shape[2]},
                            {a.count()},
                            {1, shape[0], shape[1], 1, shape[2]}};
    for (const Shape& other : others) {
      Tile compact = tile(other, a.dtype), plain = compact;
      reshape(a, compact);
      reshape(dense(a), plain);
      ASSERT_EQ(to_integers(compact), to_integers(plain)) << "seed " << seed;
    }
    const std::int64_t order[] = {2, 0, 1};
    Tile compact = tile({shape[2], shape[0], shape[1]}, a.dtype), plain = compact;
    transpose(a, order, compact);
    transpose(dense(a), order, plain);
    ASSERT_EQ(to_integers(compact), to_integers(plain)) << "seed " << seed;
    Tile wide = tile({shape[0], shape[1], shape[2], 1}, a.dtype), wide_plain = wide;
    expand_dims(a, 3, wide);
    expand_dims(dense(a), 3, wide_plain);
    Tile grown = tile({shape[0], shape[1], shape[2], 3}, a.dtype), grown_plain = grown;
    broadcast(wide, grown);
    broadcast(wide_plain, grown_plain);
    ASSERT_EQ(to_integers(grown), to_integers(grown_plain)) << "seed " << seed;
  }
}

TEST(Tile, AreBoundsOverABoxRightAndExactWhereTheySayso) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomExpression e(seed);
    const Shape shape{e.pick(1, 12), e.pick(1, 12)};
    const Tile a = e.expression(shape, 3);
    if (a.form != TileForm::kAffine) continue;
    Box box;
    for (const std::int64_t n : shape) {
      const std::int64_t low = e.pick(0, n - 1);
      box.low.push_back(low);
      box.high.push_back(e.pick(low + 1, n));
    }
    bool exact = false;
    const Range r = range(a.affine, box, exact);
    std::int64_t low = INT64_MAX, high = INT64_MIN;
    for (std::int64_t i = box.low[0]; i < box.high[0]; ++i) {
      for (std::int64_t j = box.low[1]; j < box.high[1]; ++j) {
        const std::int64_t at[] = {i, j};
        low = std::min(low, integer_at(a, at));
        high = std::max(high, integer_at(a, at));
      }
    }
    ASSERT_LE(r.low, low) << seed;
    ASSERT_GE(r.high, high) << seed;
    if (exact) {
      ASSERT_TRUE(r.low == low && r.high == high) << seed;
    }
  }
}

TEST(Tile, DoConversionsKeepOrCutValues) {
  Tile wide = tile({4}, DType::kI64), narrow8 = tile({4}, DType::kI8);
  convert_integer(iota({4}, 0), false, wide);
  EXPECT_EQ(wide.form, TileForm::kAffine);
  const Tile big = binary(IntOp::kAdd, iota({4}, 0), splat({4}, 126));
  convert_integer(big, false, narrow8);
  EXPECT_EQ(to_integers(narrow8), (std::vector<std::int64_t>{126, 127, -128, -127}));
  Tile from_mask = tile({}, DType::kI32);
  convert_integer(splat({}, 1, DType::kI1), false, from_mask);
  EXPECT_EQ(from_mask.bits, -1);
  convert_integer(splat({}, 1, DType::kI1), true, from_mask);
  EXPECT_EQ(from_mask.bits, 1);
}

}  // namespace
}  // namespace xpusim::exec
