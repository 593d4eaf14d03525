#include "sim/engine/divider.h"

#include <gtest/gtest.h>

namespace xpusim::engine {
namespace {

TEST(Divider, divides_as_the_host_does) {
  for (const std::uint32_t d : {1u, 2u, 3u, 48u, 60u, 80u, 96u, 192u, 65'535u}) {
    const Divider by(d);
    for (std::uint64_t base = 1; base < std::uint64_t{1} << 47; base *= 7) {
      for (const std::uint64_t n : {base - 1, base, base / d * d, base / d * d + d - 1}) {
        EXPECT_EQ(by.quotient(n), n / d) << n << " / " << d;
        EXPECT_EQ(by.remainder(n), n % d) << n << " % " << d;
      }
    }
  }
}

}  // namespace
}  // namespace xpusim::engine
