#include "sim/run/shard.h"

#include <gtest/gtest.h>

namespace xpusim::run {
namespace {

TensorSpec arange(std::vector<std::int64_t> shape) {
  TensorSpec t;
  t.name = "x";
  t.shape = std::move(shape);
  t.init.kind = exec::Init::Kind::kArange;
  return t;
}

std::vector<double> values(const TensorSpec& t, const Place& place) {
  auto own = on_device(t, place);
  EXPECT_TRUE(own) << (own ? "" : own.error().str());
  exec::DeviceMemory memory(1 << 20);
  EXPECT_TRUE(memory.allocate("x", t.dtype, own->shape, own->init));
  return memory.as_doubles(*memory.find(std::string_view("x")));
}

TEST(Shard, EachDeviceHasItsPartOfADimension) {
  TensorSpec t = arange({4, 4});
  t.shard = 0;
  EXPECT_EQ(values(t, {1, 2}), (std::vector<double>{8, 9, 10, 11, 12, 13, 14, 15}));
  t.shard = 1;
  EXPECT_EQ(values(t, {1, 2}), (std::vector<double>{2, 3, 6, 7, 10, 11, 14, 15}));
  EXPECT_EQ(values(t, {0, 1}).size(), 16u) << "one device has all of it";
}

TEST(Shard, DevicesHaveValuesOfTheirOwnUnlessTheTensorIsReplicated) {
  TensorSpec t = arange({8});
  t.init.kind = exec::Init::Kind::kRandn;
  EXPECT_NE(values(t, {0, 2}), values(t, {1, 2}));
  t.replicated = true;
  EXPECT_EQ(values(t, {0, 2}), values(t, {1, 2}));
}

TEST(Shard, ADimensionThatCannotBeSharedIsNamed) {
  TensorSpec t = arange({6, 4});
  t.shard = 0;
  const auto own = on_device(t, {0, 4});
  ASSERT_FALSE(own);
  EXPECT_NE(own.error().str().find("4 chips cannot share its dimension 0 of 6"), std::string::npos);
}

}  // namespace
}  // namespace xpusim::run
