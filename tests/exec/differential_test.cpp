// Compact tiles (splats, affine forms, boxes) against dense evaluation of the same programs.

#include <gtest/gtest.h>

#include <random>

#include "tests/exec/random_program.h"

namespace xpusim::exec {
namespace {

TEST(Differential, DoCompactTilesGiveWhatDenseOnesDo) {
  std::mt19937 random(7);
  for (int program = 0; program < 1500; ++program) {
    std::vector<std::uint8_t> bytes(8 + random() % 80);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
    ASSERT_EQ(difference_of_forms(bytes), "") << random_program(bytes, false);
  }
}

}  // namespace
}  // namespace xpusim::exec
