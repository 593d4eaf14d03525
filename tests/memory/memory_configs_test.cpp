#include <gtest/gtest.h>

#include <string>

#include "models/memory/l2_params.h"
#include "sim/config/tree.h"

namespace xpusim::memory {
namespace {

/// Binds a file of configs/memory; every problem fails the test.
template <class Params>
Params bound(const std::string& name) {
  const std::string path = std::string(XPUSIM_SOURCE_DIR) + "/configs/memory/" + name + ".yaml";
  auto tree = config::load(path);
  Params params;
  if (!tree) {
    ADD_FAILURE() << tree.error().str();
    return params;
  }
  EXPECT_EQ(tree->find("schema")->scalar, "xpusim.memory/1");
  EXPECT_EQ(tree->find("name")->scalar, name);
  std::erase_if(tree->entries,
                [](const auto& e) { return e.first == "schema" || e.first == "name"; });
  Diagnostics problems;
  config::bind(&*tree, name, params, problems);
  check(params, name, problems);
  EXPECT_EQ(problems.str(), "");
  return params;
}

TEST(MemoryConfigs, give_an_h200_its_4_8_terabytes_a_second) {
  const auto p = bound<HbmParams>("hbm3e_h200");
  EXPECT_EQ(p.total_pseudo_channels(), 192);
  EXPECT_NEAR(p.bytes_per_second(), 4.8e12, 0.03e12);
  EXPECT_EQ(p.capacity_bytes, 141'000'000'000);
}

TEST(MemoryConfigs, give_an_h100_its_3_35_terabytes_a_second_and_50_mib_of_l2) {
  const auto p = bound<MemoryParams>("h100");
  EXPECT_EQ(p.hbm.total_pseudo_channels(), 160);
  EXPECT_NEAR(p.hbm.bytes_per_second(), 3.35e12, 0.01e12);
  EXPECT_EQ(p.hbm.capacity_bytes, 80'000'000'000);
  EXPECT_EQ(p.l2.capacity_bytes, 52'428'800);
}

TEST(MemoryConfigs, give_an_a100_its_2_04_terabytes_a_second_and_40_mib_of_l2) {
  const auto p = bound<MemoryParams>("a100");
  EXPECT_EQ(p.hbm.total_pseudo_channels(), 80);
  EXPECT_NEAR(p.hbm.bytes_per_second(), 2.039e12, 0.005e12);
  EXPECT_EQ(p.hbm.capacity_bytes, 80'000'000'000);
  EXPECT_EQ(p.l2.capacity_bytes, 41'943'040);
}

TEST(MemoryConfigs, give_a_v5e_its_820_gigabytes_a_second) {
  const auto p = bound<HbmParams>("hbm2e_v5e");
  EXPECT_EQ(p.total_pseudo_channels(), 32);
  EXPECT_NEAR(p.bytes_per_second(), 820e9, 2e9);
}

TEST(MemoryConfigs, give_a_v6e_its_1640_gigabytes_a_second) {
  const auto p = bound<HbmParams>("hbm3_v6e");
  EXPECT_EQ(p.total_pseudo_channels(), 64);
  EXPECT_NEAR(p.bytes_per_second(), 1640e9, 3e9);
}

TEST(MemoryConfigs, give_the_other_tpus_their_bandwidth_and_capacity) {
  struct {
    const char* file;
    std::int64_t pseudo_channels;
    double bytes_per_second, capacity;
  } const all[] = {{"hbm2_v3", 32, 450e9, 17.2e9},  // half a chip
                   {"hbm2_v4", 64, 1230e9, 34.4e9},
                   {"hbm2e_v5p", 96, 2765e9, 103e9},
                   {"hbm3e_v7x", 128, 3690e9, 103e9}};  // half a chip
  for (const auto& hbm : all) {
    const auto p = bound<HbmParams>(hbm.file);
    EXPECT_EQ(p.total_pseudo_channels(), hbm.pseudo_channels) << hbm.file;
    EXPECT_NEAR(p.bytes_per_second() / hbm.bytes_per_second, 1, 0.005) << hbm.file;
    EXPECT_NEAR(static_cast<double>(p.capacity_bytes) / hbm.capacity, 1, 0.01) << hbm.file;
  }
}

TEST(MemoryConfigs, give_an_h200_its_l2) {
  const auto p = bound<MemoryParams>("h200");
  EXPECT_EQ(p.hbm.total_pseudo_channels(), 192);
  EXPECT_EQ(p.l2.capacity_bytes, 62'914'560);
  EXPECT_EQ(p.l2.slices, 96);
}

TEST(MemoryConfigs, take_an_override_and_name_what_is_unknown) {
  const std::string path = std::string(XPUSIM_SOURCE_DIR) + "/configs/memory/hbm3_v6e.yaml";
  auto tree = config::load(path, {"stacks=4", "timing.clok=1 GHz"});
  ASSERT_TRUE(tree);
  std::erase_if(tree->entries,
                [](const auto& e) { return e.first == "schema" || e.first == "name"; });
  HbmParams params;
  Diagnostics problems;
  config::bind(&*tree, "hbm", params, problems);
  EXPECT_EQ(params.total_pseudo_channels(), 128);
  EXPECT_NE(problems.str().find("clok"), std::string::npos);
  EXPECT_NE(problems.str().find("did you mean 'clock'"), std::string::npos);
}

}  // namespace
}  // namespace xpusim::memory
