#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "models/network/topology.h"
#include "sim/config/tree.h"

namespace xpusim::network {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(XPUSIM_SOURCE_DIR) / "configs" / "network";

/// Binds a file of configs/network; every problem fails the test.
NetworkParams bound(const std::string& name) {
  NetworkParams params;
  auto tree = config::load((kFolder / (name + ".yaml")).string());
  if (!tree) {
    ADD_FAILURE() << tree.error().str();
    return params;
  }
  EXPECT_EQ(tree->find("schema")->scalar, "xpusim.network/1");
  EXPECT_EQ(tree->find("name")->scalar, name);
  std::erase_if(tree->entries,
                [](const auto& e) { return e.first == "schema" || e.first == "name"; });
  Diagnostics problems;
  config::bind(&*tree, name, params, problems);
  EXPECT_EQ(problems.str(), "") << name;
  return params;
}

TEST(NetworkConfigs, all_bind_and_make_a_network) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const auto made = make_topology(bound(entry.path().stem().string()));
    EXPECT_TRUE(made) << entry.path() << ": " << made.error().str();
    ++files;
  }
  EXPECT_GE(files, 6);
}

TEST(NetworkConfigs, give_a_v5e_four_links_of_50_gigabytes_a_second) {
  const auto made = make_topology(bound("ici_v5e"));
  ASSERT_TRUE(made);
  int links = 0;
  for (std::uint32_t w = 0; w < (*made)->wires().size(); ++w) {
    if ((*made)->wires()[w].from != 0) continue;
    ++links;
    EXPECT_NEAR((*made)->bandwidth(w), 50e9, 1e6);
  }
  EXPECT_EQ(links, 4);
}

TEST(NetworkConfigs, give_an_h200_450_gigabytes_a_second_to_its_switches) {
  const auto made = make_topology(bound("nvlink_h200"));
  ASSERT_TRUE(made);
  double leaving = 0;
  for (std::uint32_t w = 0; w < (*made)->wires().size(); ++w)
    if ((*made)->wires()[w].from == 0) leaving += (*made)->bandwidth(w);
  EXPECT_NEAR(leaving, 450e9, 1e6);
}

}  // namespace
}  // namespace xpusim::network
