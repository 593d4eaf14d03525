#pragma once

// A kernel in all the forms that workloads/ has it in: each checked, and compared with the others.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {

/// Whether two runs left the same behind. Floats may differ by what another order of additions
/// makes of them: `tolerance` of the largest value.
inline void expect_agreement(const std::vector<std::vector<double>>& a,
                             const std::vector<std::vector<double>>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    ASSERT_EQ(a[t].size(), b[t].size());
    double largest = 0;
    for (const double v : a[t])
      largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
    for (std::size_t i = 0; i < a[t].size(); ++i) {
      if (a[t][i] == b[t][i] || (std::isnan(a[t][i]) && std::isnan(b[t][i]))) continue;
      ASSERT_NEAR(a[t][i], b[t][i], tolerance * largest) << "tensor " << t << ", element " << i;
    }
  }
}

/// Runs `check` for every file of a kernel in workloads/triton/ir; forms of one compilation (TTIR
/// and TTGIR of one name) have to leave the same tensors behind.
inline void for_forms(const std::string& kernel,
                      const std::function<void(std::shared_ptr<const kernel::Module>)>& check,
                      double tolerance = 1e-6) {
  int pairs = 0;
  for (const auto& path : kernel_files("triton/ir", kernel, ".ttir")) {
    SCOPED_TRACE(path.filename().string());
    std::vector<std::vector<double>> left[2];
    for (std::size_t form = 0; form < 2; ++form) {
      std::filesystem::path file = path;
      if (form == 1) file.replace_extension(".ttgir");
      SCOPED_TRACE(file.extension().string());
      const auto module = read_kernel(file);
      ASSERT_TRUE(module);
      KernelRun::log = &left[form];
      check(module);
      KernelRun::log = nullptr;
      if (testing::Test::HasFatalFailure()) return;
    }
    expect_agreement(left[0], left[1], tolerance);
    ++pairs;
  }
  EXPECT_GE(pairs, 1);
}

}  // namespace xpusim::exec
