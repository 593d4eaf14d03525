#include "sim/run/npy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace xpusim::run {
namespace {

std::string write(const std::string& descr, const std::string& order, const std::string& shape,
                  const std::string& payload) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_x.npy";
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() & 0xff)
      << static_cast<char>(header.size() >> 8) << header << payload;
  return path;
}

TEST(Npy, ReadsTheElementsAsStored) {
  const float values[] = {1, 2, 3};
  const auto path =
      write("<f4", "False", "(3,)", std::string(reinterpret_cast<const char*>(values), 12));
  auto data = read_npy(path, kernel::DType::kF32, {3}, {});
  ASSERT_TRUE(data) << data.error().str();
  EXPECT_EQ(std::memcmp((*data)->data(), values, 12), 0);
}

TEST(Npy, RefusesWhatDoesNotFit) {
  const std::string payload(12, '\0');
  const auto why = [&](const std::string& path, kernel::DType d, std::vector<std::int64_t> shape) {
    auto r = read_npy(path, d, shape, {"l.yaml", 1, 1});
    return r ? std::string() : r.error().str();
  };
  EXPECT_NE(why(write("<f8", "False", "(3,)", payload), kernel::DType::kF32, {3}).find("not f32"),
            std::string::npos);
  EXPECT_NE(why(write("<f4", "True", "(3,)", payload), kernel::DType::kF32, {3}).find("Fortran"),
            std::string::npos);
  EXPECT_NE(why(write("<f4", "False", "(3,)", payload), kernel::DType::kF32, {4}).find("shape"),
            std::string::npos);
  EXPECT_NE(why(write("<f4", "False", "(3,)", "abc"), kernel::DType::kF32, {3}).find("ends before"),
            std::string::npos);
  EXPECT_NE(why(write("<f4", "False", "(3,)", payload + payload), kernel::DType::kF32, {3})
                .find("holds 24 bytes"),
            std::string::npos);
  const std::int64_t huge = std::int64_t{1} << 40;  // 4 TiB are not asked for before they are there
  EXPECT_NE(why(write("<f4", "False", "(1099511627776,)", payload), kernel::DType::kF32, {huge})
                .find("ends before"),
            std::string::npos);
  EXPECT_NE(why("/tmp", kernel::DType::kF32, {3}).find("cannot read"), std::string::npos);
  EXPECT_NE(why("no/such.npy", kernel::DType::kF32, {3}).find("cannot read"), std::string::npos);
}

/// What is written reads back as it was, whatever the dtype, and begins as the format says.
TEST(Npy, ReadsBackWhatItWrote) {
  using kernel::DType;
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_dump.npy";
  for (const DType d : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3FN,
                        DType::kF8E5M2, DType::kI64, DType::kI32, DType::kI16, DType::kI8}) {
    exec::DeviceMemory memory(1 << 20);
    exec::Init init;
    init.kind = exec::Init::Kind::kArange;
    ASSERT_TRUE(memory.allocate("t", d, {3, 5}, init));
    const exec::Allocation& t = *memory.find("t");
    ASSERT_TRUE(write_npy(path, memory, t));
    auto data = read_npy(path, d, {3, 5}, {});
    ASSERT_TRUE(data) << data.error().str();
    std::vector<std::byte> held(t.bytes);
    memory.read(t.address, held);
    EXPECT_EQ(**data, held);
    std::ifstream in(path, std::ios::binary);
    std::string file((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ((file.size() - held.size()) % 64, 0u) << "the data is aligned";
    EXPECT_EQ(file[file.size() - held.size() - 1], '\n');
  }
}

TEST(Npy, WritesOneDimensionAndNoneAsTuples) {
  const std::string path = testing::TempDir() + std::to_string(::getpid()) + "_dump.npy";
  exec::DeviceMemory memory(1 << 20);
  ASSERT_TRUE(memory.allocate("row", kernel::DType::kF32, {3}, {}));
  ASSERT_TRUE(memory.allocate("one", kernel::DType::kF32, {}, {}));
  for (const auto& [name, shape] : {std::pair{"row", "(3,)"}, std::pair{"one", "()"}}) {
    ASSERT_TRUE(write_npy(path, memory, *memory.find(std::string_view(name))));
    std::ifstream in(path, std::ios::binary);
    std::string file((std::istreambuf_iterator<char>(in)), {});
    EXPECT_NE(file.find("'shape': " + std::string(shape) + ", }"), std::string::npos) << file;
  }
}

TEST(Npy, CannotWriteWhereThereIsNoFolder) {
  exec::DeviceMemory memory(1 << 20);
  ASSERT_TRUE(memory.allocate("t", kernel::DType::kF32, {3}, {}));
  EXPECT_FALSE(write_npy("/no/such/folder/t.npy", memory, *memory.find("t")));
}

}  // namespace
}  // namespace xpusim::run
