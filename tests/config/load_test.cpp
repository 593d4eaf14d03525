#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/config/tree.h"

namespace xpusim::config {
namespace {

namespace fs = std::filesystem;

/// A folder of configuration files for one test. Messages name it as "D".
class Load : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "config_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  Expected<Node> load_file(const std::string& name, const std::vector<std::string>& sets = {}) {
    return load((folder_ / name).string(), sets);
  }

  std::string shorten(const std::string& text) const {
    const std::string folder = folder_.string();
    std::string out;
    std::size_t begin = 0;
    for (std::size_t at; (at = text.find(folder, begin)) != std::string::npos;) {
      out.append(text, begin, at - begin);
      out.push_back('D');
      begin = at + folder.size();
    }
    return out.append(text, begin);
  }
  std::string yaml(const Expected<Node>& node) const {
    return node ? to_yaml(*node) : shorten(node.error().str());
  }
  std::string problems(const Expected<Node>& node) const {
    return node ? "no problem" : shorten(node.error().str());
  }

  fs::path folder_;
};

TEST_F(Load, MergesMapsAndReplacesAllElse) {
  write("h100.yaml", "name: h100\ngpu:\n  sm: {count: 132, warps: 64}\n  dims: [1, 2]\n");
  write("h200.yaml", "extends: h100\nname: h200\ngpu:\n  sm: {count: 130}\n  dims: [3]\n");
  const auto node = load_file("h200.yaml");
  EXPECT_EQ(yaml(node), "name: h200\ngpu:\n  sm:\n    count: 130\n    warps: 64\n  dims: [3]\n");
  EXPECT_EQ(shorten(node->at_path("gpu.sm.count")->origin.str()), "D/h200.yaml:4:15");
  EXPECT_EQ(shorten(node->at_path("gpu.sm.warps")->origin.str()), "D/h100.yaml:3:27");
}

TEST_F(Load, FollowsChainsAndPathsWithTheLaterWinning) {
  write("memory/hbm.yaml", "a: 1\nb: 1\nc: 1\nd: 1\n");
  write("gpu/base.yaml", "extends: ../memory/hbm.yaml\nb: 2\nc: 2\nd: 2\n");
  write("gpu/extra.yaml", "c: 3\nd: 3\n");
  write("gpu/chip.yaml", "d: 4\nextends: [base, ../gpu/extra]\n");
  EXPECT_EQ(yaml(load_file("gpu/chip.yaml")), "a: 1\nb: 2\nc: 3\nd: 4\n");
}

TEST_F(Load, ExtendsInsideAMapWithoutSchemaAndName) {
  write("memory/hbm3e.yaml", "schema: xpusim.memory/1\nname: hbm3e\nchannels: 192\nrate: 1\n");
  write("gpu/h200.yaml",
        "schema: xpusim.machine/1\nname: h200\ngpu:\n  hbm: {extends: ../memory/hbm3e, rate: 2}\n");
  EXPECT_EQ(yaml(load_file("gpu/h200.yaml")),
            "schema: xpusim.machine/1\nname: h200\ngpu:\n  hbm:\n    channels: 192\n    rate: 2\n");
}

TEST_F(Load, TakesAFileTwiceWithoutCallingItACircle) {
  write("a.yaml", "x: 1\n");
  write("b.yaml", "extends: a\ny: 1\n");
  write("c.yaml", "extends: [a, b]\n");
  EXPECT_EQ(yaml(load_file("c.yaml")), "x: 1\ny: 1\n");
}

TEST_F(Load, NamesTheChainOfACircle) {
  write("a.yaml", "extends: b\n");
  write("b.yaml", "extends: c\n");
  write("c.yaml", "x: 1\nextends: a\n");
  EXPECT_EQ(problems(load_file("a.yaml")),
            "D/c.yaml:2:10: error: 'extends' goes round in a circle: D/a.yaml -> D/b.yaml -> "
            "D/c.yaml -> D/a.yaml\n");
  write("self.yaml", "extends: self\n");
  EXPECT_EQ(problems(load_file("self.yaml")),
            "D/self.yaml:1:10: error: 'extends' goes round in a circle: D/self.yaml -> "
            "D/self.yaml\n");
}

TEST_F(Load, FindsAStemBesideTheFileFirstAndThenInTheStemFolders) {
  write("configs/gpu/h200.yaml", "extends: base\nsms: 132\n");
  write("configs/gpu/base.yaml", "sms: 1\nwarps: 64\n");
  write("mine/half.yaml", "extends: h200\nsms: 66\n");
  write("mine/base.yaml", "sms: 2\n");
  write("mine/based.yaml", "extends: base\n");
  write("mine/h200.yaml", "extends: h200\nwarps: 48\n");  // its own stem means the other file
  const auto in = [&](const std::string& name) {
    auto root = load((folder_ / name).string(), {}, {(folder_ / "configs/gpu").string()});
    return root ? to_yaml(*root) : root.error().str();
  };
  EXPECT_EQ(in("mine/based.yaml"), "sms: 2\n");
  EXPECT_EQ(in("mine/h200.yaml"), "sms: 132\nwarps: 48\n");
  std::filesystem::remove(folder_ / "mine/h200.yaml");
  EXPECT_EQ(in("mine/half.yaml"), "sms: 66\nwarps: 64\n");
  write("mine/odd.yaml", "extends: h20\n");
  EXPECT_NE(in("mine/odd.yaml").find("did you mean 'h200'?"), std::string::npos);
}

TEST_F(Load, NamesTheChainToAMissingFile) {
  write("h100.yaml", "x: 1\n");
  write("h200.yaml", "extends: h10O\n");
  write("big.yaml", "extends: h200\n");
  EXPECT_EQ(problems(load_file("big.yaml")),
            "D/h200.yaml:1:10: error: cannot find 'D/h10O.yaml', which 'D/big.yaml' -> "
            "'D/h200.yaml' extends; did you mean 'h100'?\n");
  EXPECT_EQ(problems(load_file("none.yaml")), "D/none.yaml: error: cannot open the file\n");
}

TEST_F(Load, ReportsProblemsOfAllFilesAtOnce) {
  write("a.yaml", "x: 010\n");
  write("b.yaml", "y: 1\ny: 2\n");
  write("c.yaml", "extends: [a, b, {c: 1}, '']\n");
  EXPECT_EQ(
      problems(load_file("c.yaml")),
      "D/a.yaml:1:4: error: '010' looks like an octal number; write it without leading zeros, "
      "or quote it if it is a text\n"
      "D/b.yaml:2:1: error: duplicate key 'y'; it was first given at D/b.yaml:1:1\n"
      "D/c.yaml:1:17: error: 'extends' takes a file's stem or path, or a list of them\n"
      "D/c.yaml:1:25: error: 'extends' takes a file's stem or path, or a list of them\n");
}

TEST_F(Load, RefusesToTurnAMapIntoAValue) {
  write("a.yaml", "gpu:\n  sm: {count: 1}\n  l2: 1\n");
  write("b.yaml", "extends: a\ngpu:\n  sm: 4\n  l2: {size: 1}\n");
  EXPECT_EQ(
      problems(load_file("b.yaml")),
      "D/b.yaml:3:7: error: 'gpu.sm' is a map at D/a.yaml:2:7 and cannot become a value here\n"
      "D/b.yaml:4:7: error: 'gpu.l2' is a value at D/a.yaml:3:7 and cannot become a map "
      "here\n");
}

TEST_F(Load, NeedsAMapAtTheTop) {
  write("a.yaml", "- 1\n");
  EXPECT_EQ(problems(load_file("a.yaml")),
            "D/a.yaml:1:1: error: a configuration file holds a map of keys and values\n");
}

TEST_F(Load, SetsValuesListsAndNewKeys) {
  write("a.yaml", "gpu: {sm: {count: 132}, dims: [1]}\n");
  const auto node = load_file(
      "a.yaml", {"gpu.sm.count=16", "gpu.dims=[2, 3]", "gpu.clock.core=1.5 GHz", "name='a=b'"});
  EXPECT_EQ(yaml(node),
            "gpu:\n  sm:\n    count: 16\n  dims: [2, 3]\n  clock:\n    core: 1.5 GHz\n"
            "name: \"a=b\"\n");
  EXPECT_EQ(node->at_path("gpu.sm.count")->origin.str(), "--set");
  EXPECT_EQ(node->at_path("gpu.dims")->items[1].origin.str(), "--set");
}

TEST_F(Load, SaysWhatIsWrongWithAnOverride) {
  write("a.yaml", "gpu: {sm: {count: 132}}\n");
  EXPECT_EQ(problems(load_file("a.yaml", {"gpu.sm.count", "=1", "gpu.sm=4", "gpu.sm.count.x=1",
                                          "gpu..x=1", "gpu.sm.count={a: 1}", "gpu.sm.count=",
                                          "gpu.sm.count=010", "gpu.sm.count=[1", "gpu.sm.=1"})),
            "--set: error: 'gpu.sm.count' is not of the form a.b=value\n"
            "--set: error: '=1' is not of the form a.b=value\n"
            "--set: error: 'gpu.sm=4': this is a map; set one of its entries\n"
            "--set: error: 'gpu.sm.count.x=1': nothing can be set below a single value\n"
            "--set: error: 'gpu..x=1': the path has an empty key\n"
            "--set: error: 'gpu.sm.count={a: 1}': the value must be a single value or a list\n"
            "--set: error: 'gpu.sm.count=': the value must be a single value or a list\n"
            "--set: error: 'gpu.sm.count=010': '010' looks like an octal number; write it without "
            "leading "
            "zeros, or quote it if it is a text\n"
            "--set: error: 'gpu.sm.count=[1': a ',' or the ']' that closes the list is missing\n"
            "--set: error: 'gpu.sm.=1': the path has an empty key\n");
}

}  // namespace
}  // namespace xpusim::config
