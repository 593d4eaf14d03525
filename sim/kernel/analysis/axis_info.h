#pragma once

// What is known of a tile's values along each of its dimensions, without running the kernel. From
// it follow how many elements one memory instruction may move and what addresses have in common.
// The facts and their rules are those of Triton's axis analysis.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/kernel/ir.h"

namespace xpusim::kernel {

/// Facts about one integer, pointer or mask value; scalars have one dimension of size 1.
struct AxisInfo {
  std::vector<std::int64_t> contiguity;  ///< [dim] runs of so many values that go up by one
  std::vector<std::int64_t>
      divisibility;                      ///< [dim] power of two that divides each run's first value
  std::vector<std::int64_t> constancy;   ///< [dim] runs of so many equal values
  std::optional<std::int64_t> constant;  ///< all values are this

  bool operator==(const AxisInfo&) const = default;
};

/// Computes facts on demand and remembers them. Values of ops it has no rule for are taken to be
/// anything. Values carried around a loop start from what enters it and lose what an iteration
/// breaks.
class AxisAnalysis {
 public:
  const AxisInfo& of(const Value& value);

 private:
  AxisInfo compute(const Value& value);
  AxisInfo of_argument(const Value& value);
  AxisInfo of_carried(const Value& value, const Value& init, const Value& next);

  std::unordered_map<const Value*, AxisInfo> known_;
};

/// Elements that one memory instruction may move: contiguous in memory, aligned, in consecutive
/// registers (`contiguous` of them, along `dim`), at most 16 bytes, under one mask bit.
std::uint32_t vector_width(AxisAnalysis& analysis, const Value& pointer, const Value* mask,
                           std::uint32_t contiguous, std::uint32_t dim);

}  // namespace xpusim::kernel
