// Do our passes make of real kernels what Triton makes of them?

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tests/gpu/passes_text.h"

namespace xpusim::gpu {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kSource = XPUSIM_SOURCE_DIR;

struct Compilation {
  std::string stem;  ///< without its ending
  passes::Target target;
};

/// Every kernel text of a cases file with the warps and stages that Triton compiled it for.
std::vector<Compilation> compilations(const std::string& cases) {
  const fs::path file = kSource / cases;
  std::ifstream in(file);
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> seen;
  std::vector<Compilation> list;
  for (const auto& c : Json::parse(in)) {
    const std::string stem = (file.parent_path() / c["ir"].get<std::string>()).lexically_normal();
    const std::int64_t warps = c["num_warps"], stages = c.value("num_stages", 3);
    if (seen.emplace(stem, warps, stages).second) list.push_back({stem, {warps, stages}});
  }
  return list;
}

/// The ops that one of two modules has more of, each behind its sign.
std::string difference(const kernel::Module& ours, const kernel::Module& theirs) {
  auto counts = test::ops_of(ours);
  for (const auto& [op, n] : test::ops_of(theirs)) counts[op] -= n;
  std::string out;
  for (const auto& [op, n] : counts) {
    if (n != 0) out += (n > 0 ? "+ " : "- ") + op + "\n";
  }
  return out;
}

bool has_descriptors(const kernel::Module& module) {
  return test::count_ops(module, "tt.descriptor_load") > 0;
}

class PassesOnKernels : public testing::TestWithParam<const char*> {};

TEST_P(PassesOnKernels, MakeTheOpsAndLayoutsThatTritonMakes) {
  for (const Compilation& c : compilations(GetParam())) {
    SCOPED_TRACE(c.stem);
    const auto from = kernel::read_module_file(c.stem + ".ttir");
    const auto theirs = kernel::read_module_file(c.stem + ".ttgir");
    ASSERT_TRUE(from && theirs);
    if (has_descriptors(*from)) continue;
    const auto ours = passes::to_ttgir(*from, c.target);
    ASSERT_TRUE(ours) << ours.error().str();
    EXPECT_EQ(difference(*ours, *theirs), "");
  }
}

TEST_P(PassesOnKernels, MakeTextThatReadsBack) {
  for (const Compilation& c : compilations(GetParam())) {
    SCOPED_TRACE(c.stem);
    const auto from = kernel::read_module_file(c.stem + ".ttir");
    ASSERT_TRUE(from);
    if (has_descriptors(*from)) continue;
    const auto ours = passes::to_ttgir(*from, c.target);
    ASSERT_TRUE(ours) << ours.error().str();
    const std::string text = kernel::print_module(*ours);
    const auto again = kernel::read_module(text, "again.ttgir");
    ASSERT_TRUE(again) << again.error().str();
    EXPECT_EQ(again->form, kernel::Form::kTtgir);
    EXPECT_EQ(kernel::print_module(*again), text);
  }
}

INSTANTIATE_TEST_SUITE_P(, PassesOnKernels,
                         testing::Values("traces/h200/cases.json", "traces/h200/ops_cases.json"),
                         [](const auto& file) { return file.index == 0 ? "cases" : "ops"; });

/// The text of a kernel says neither warps nor stages: any that fit can be asked for.
TEST(PassesOnAnyTarget, TakeAnyNumberOfWarpsAndStages) {
  for (const Compilation& c : compilations("traces/h200/cases.json")) {
    SCOPED_TRACE(c.stem);
    const auto from = kernel::read_module_file(c.stem + ".ttir");
    ASSERT_TRUE(from);
    for (const std::int64_t warps : {1, 2, 16}) {
      for (const std::int64_t stages : {1, 2, 5}) {
        const auto ours = passes::to_ttgir(*from, {warps, stages});
        ASSERT_TRUE(ours) << warps << " warps: " << ours.error().str();
        const auto again = kernel::read_module(kernel::print_module(*ours), "again.ttgir");
        EXPECT_TRUE(again) << warps << " warps, " << stages << " stages: " << again.error().str();
      }
    }
  }
}

}  // namespace
}  // namespace xpusim::gpu
