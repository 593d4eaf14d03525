#pragma once

// What the tests of layouts share: encodings, read from their text, and their linear layouts.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/analysis/linear_layout.h"
#include "tests/kernel/reading.h"

namespace xpusim::kernel::testing {

/// An encoding (`#ttg.blocked<{...}>`) that lives as long as this.
class Encoding {
 public:
  explicit Encoding(const std::string& text)
      : module_(read("#e = " + text + "\nmodule attributes {e = #e} {\n}\n")) {}
  operator Attr() const { return module_.aliases.empty() ? nullptr : module_.aliases[0].second; }

 private:
  Module module_;
};

/// The linear layout of an encoding that has one.
inline LinearLayout layout_of(const std::string& text, const std::vector<std::int64_t>& shape) {
  const Encoding encoding(text);
  auto layout = linear_layout(encoding, shape, {});
  if (layout) return *layout;
  ADD_FAILURE() << layout.error().str();
  return {};
}

inline std::string mma_v2(const std::string& warps, const std::string& shape = "[16, 8]") {
  return "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = " + warps +
         ", instrShape = " + shape + "}>";
}
inline std::string mma_v3(const std::string& warps, const std::string& shape) {
  return "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = " + warps +
         ", instrShape = " + shape + "}>";
}
inline std::string dot_op(int index, const std::string& parent, int width) {
  return "#ttg.dot_op<{opIdx = " + std::to_string(index) + ", parent = " + parent +
         ", kWidth = " + std::to_string(width) + "}>";
}

}  // namespace xpusim::kernel::testing
