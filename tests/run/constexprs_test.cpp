#include "sim/run/constexprs.h"

#include "tests/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace xpusim::run {
namespace {
using testing::HasSubstr;

const std::string kSoftmax = XPUSIM_SOURCE_DIR "/workloads/triton/ir/softmax_e63682d193.ttgir";

/// What is said about constexprs of a launch of softmax, compiled for a block of 1024.
std::string said(const std::map<std::string, std::string>& constexprs,
                 const std::vector<std::string>& grid = {"4096"},
                 const std::set<std::string>& variants = {}, const std::string& file = kSoftmax) {
  LaunchSpec launch;
  launch.where = {"launch.yaml", 8, 3};
  launch.constexprs = constexprs;
  launch.grid = grid;
  auto module = kernel::read_module_file(file);
  EXPECT_TRUE(module) << module.error().str();
  Diagnostics problems;
  check_constexprs(launch, *module, variants, problems);
  return problems.str();
}

TEST(Constexprs, ThoseOfTheKernelAreFine) { EXPECT_EQ(said({{"BLOCK", "1024"}}), ""); }

TEST(Constexprs, ANameThatNobodyUsesIsRefused) {
  EXPECT_EQ(said({{"BLOK", "1024"}}),
            "launch.yaml:8:3: error: kernel 'softmax' (kernels.py:47) has no parameter 'BLOK', and "
            "the grid does not use it; did you mean 'BLOCK'?\n");
}

TEST(Constexprs, ANameOfTheGridOrOfVariantsIsUsed) {
  EXPECT_EQ(said({{"ROWS", "4096"}}, {"cdiv(ROWS, 1)"}), "");
  EXPECT_EQ(said({{"WARPS", "4"}}, {"4096"}, {"WARPS"}), "");
  EXPECT_THAT(said({{"ROWS", "4096"}}, {"cdiv(ROWS2, 1)"}), HasSubstr("'ROWS'"));
}

TEST(Constexprs, ABlockThatTheTextContradictsIsRefused) {
  EXPECT_THAT(said({{"BLOCK", "512"}}), HasSubstr("BLOCK is 512 here, but this kernel was compiled "
                                                  "for 1024 (kernels.py:49"));
}

using CopiedKernel = TemporaryFolder;

TEST_F(CopiedKernel, WithoutTheSourceNothingIsKnown) {
  const std::string file = path("softmax.ttgir");
  std::filesystem::copy_file(kSoftmax, file);
  EXPECT_EQ(said({{"BLOK", "3"}, {"BLOCK", "512"}}, {"1"}, {}, file), "");
}

TEST_F(CopiedKernel, ParametersMayHaveTypesDefaultsAndLinesOfTheirOwn) {
  const std::string file = path("softmax.ttgir");
  std::filesystem::copy_file(kSoftmax, file);
  std::ofstream(path("kernels.py"))
      << std::string(46, '\n') << "def softmax(out_ptr,\n    in_ptr: tl.tensor = f(a, b),\n"
      << "    BLOCK: tl.constexpr=1024, *, EVEN: tl.constexpr):\n    pass\n";
  EXPECT_EQ(said({{"BLOCK", "1024"}, {"EVEN", "1"}}, {"1"}, {}, file), "");
  EXPECT_THAT(said({{"b", "1"}}, {"1"}, {}, file), HasSubstr("no parameter 'b'"));
}

}  // namespace
}  // namespace xpusim::run
