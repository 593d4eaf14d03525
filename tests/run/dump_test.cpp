#include "sim/run/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace xpusim::run {
namespace {

using testing::HasSubstr;

TEST(Dump, IsATensorAndAFile) {
  const auto d = parse_dump("out=a=b.npy");
  ASSERT_TRUE(d);
  EXPECT_EQ(d->tensor, "out");
  EXPECT_EQ(d->file, "a=b.npy");
  for (const auto* text : {"out", "=x.npy", "out=", ""})
    EXPECT_THAT(parse_dump(text).error().str(), HasSubstr("is not of the form tensor=file.npy"));
}

TEST(Dump, IsRefusedBeforeTheRunWhereItCannotBe) {
  exec::DeviceMemory memory(1 << 20);
  ASSERT_TRUE(memory.allocate("out", kernel::DType::kF32, {3}, {}));
  ASSERT_TRUE(memory.allocate("count", kernel::DType::kI32, {3}, {}));
  EXPECT_TRUE(check_dumps({{"out", "x"}, {"count", "y"}}, memory, true));
  EXPECT_TRUE(check_dumps({{"count", "y"}}, memory, false));
  EXPECT_THAT(check_dumps({{"outt", "x"}}, memory, true).error().str(),
              HasSubstr("no tensor 'outt' in the workload; did you mean 'out'"));
  EXPECT_THAT(check_dumps({{"out", "x"}}, memory, false).error().str(),
              HasSubstr("'out' is f32: --values off computes no such values"));
}

TEST(Dump, WritesEveryFileAndNamesThoseItCannot) {
  exec::DeviceMemory memory(1 << 20);
  ASSERT_TRUE(memory.allocate("out", kernel::DType::kF32, {3}, {}));
  const std::string file = testing::TempDir() + std::to_string(::getpid()) + "_dump_out.npy";
  std::filesystem::remove(file);
  EXPECT_FALSE(write_dumps({{"out", "/no/such/x.npy"}, {"out", file}}, memory));
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace xpusim::run
