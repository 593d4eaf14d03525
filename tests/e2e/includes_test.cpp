// Includes point one way: tools -> models -> sim; inside sim: run -> exec -> kernel, on the base
// folders; models/gpu and models/tpu never include each other.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace xpusim::e2e {
namespace {
namespace fs = std::filesystem;

/// The folder that a source belongs to: "sim/exec", "models/gpu", "tools", "tests".
std::string folder_of(const std::string& path) {
  const auto first = path.find('/');
  const std::string top = path.substr(0, first);
  if (top != "sim" && top != "models") return top;
  return path.substr(0, path.find('/', first + 1));
}

const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::set<std::string> kModelBase = {"sim/config", "sim/stats", "sim/trace",
                                                   "sim/engine"};
  static const auto with = [](std::set<std::string> base, std::set<std::string> more) {
    base.merge(more);
    return base;
  };
  static const std::set<std::string> kMachine = with(
      kModelBase,
      {"sim/kernel", "sim/exec", "sim/run", "models/memory", "models/network", "models/energy"});
  static const std::map<std::string, std::set<std::string>> kAllowed = {
      {"sim/config", {}},
      {"sim/stats", {"sim/config"}},
      {"sim/trace", {"sim/config"}},
      {"sim/engine", {"sim/config", "sim/stats", "sim/trace"}},
      {"sim/kernel", {"sim/config"}},
      {"sim/exec", {"sim/kernel", "sim/config", "sim/stats"}},
      {"sim/run", {"sim/exec", "sim/kernel", "sim/engine", "sim/config", "sim/stats", "sim/trace"}},
      {"models/memory", with(kModelBase, {"models/network"})},
      {"models/network", with(kModelBase, {"models/memory"})},
      {"models/energy", {"sim/config", "sim/stats"}},
      {"models/gpu", kMachine},
      {"models/tpu", kMachine},
      {"models/roofline", kMachine},
      {"models/system", kMachine}};
  return kAllowed;
}

TEST(Includes, PointOneWay) {
  int checked = 0;
  for (const char* top : {"sim", "models"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(XPUSIM_SOURCE_DIR) / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp") continue;
      const std::string path = fs::relative(entry.path(), XPUSIM_SOURCE_DIR).string();
      const std::string from = folder_of(path);
      ASSERT_TRUE(allowed().count(from))
          << "unknown folder " << from << ": say what it may include";
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.rfind("#include \"", 0) != 0) continue;
        const std::string to = folder_of(line.substr(10));
        ++checked;
        EXPECT_TRUE(to == from || allowed().at(from).count(to))
            << path << " includes " << line.substr(9);
      }
    }
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace xpusim::e2e
