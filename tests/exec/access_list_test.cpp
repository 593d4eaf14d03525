#include <gtest/gtest.h>

#include "sim/exec/interpreter.h"

namespace xpusim::exec {
namespace {

Access load(std::int64_t base, std::int64_t stride, std::int64_t phase = kNoPhase) {
  Access access;
  access.pointers.form = TileForm::kAffine;
  access.pointers.shape = {32};
  access.pointers.affine.base = base;
  access.pointers.affine.digits.push_back({stride, 1, 0, 0});
  access.phase = phase;
  return access;
}

TEST(AccessList, gives_back_each_access_in_any_order) {
  AccessList list;
  list.add() = load(100, 4);
  list.add() = load(200, 4, 7);
  list.add() = load(300, 8);
  list.add() = load(400, 8);
  list.add() = load(500, 4);
  list.last().phase = 9;
  ASSERT_EQ(list.size(), 5u);
  for (const std::size_t n : {4u, 0u, 3u, 1u, 2u, 0u, 4u}) {
    const Access& a = list.at(n);
    EXPECT_EQ(a.pointers.affine.base, static_cast<std::int64_t>(100 * (n + 1)));
    EXPECT_EQ(a.pointers.affine.digits[0].stride, n == 2 || n == 3 ? 8 : 4);
    EXPECT_EQ(a.phase, n == 1 ? 7 : n == 4 ? 9 : kNoPhase);
  }
}

TEST(AccessList, tells_masks_apart) {
  AccessList list;
  for (const std::int64_t high : {32, 32, 5}) {
    Access access = load(0, 4);
    access.masked = true;
    access.mask.form = TileForm::kBox;
    access.mask.shape = {32};
    access.mask.box.low = {0};
    access.mask.box.high = {high};
    list.add() = access;
  }
  EXPECT_EQ(list.at(0).mask.box.high[0], 32);
  EXPECT_EQ(list.at(1).mask.box.high[0], 32);
  EXPECT_EQ(list.at(2).mask.box.high[0], 5);
}

}  // namespace
}  // namespace xpusim::exec
