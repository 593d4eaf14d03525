#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/kernel/analysis/linear_layout.h"
#include "sim/kernel/analysis/shared_layout.h"
#include "tests/kernel/reading.h"

namespace xpusim::kernel {
namespace {

/// The shaped types with an encoding of all values below an op, by their text.
void collect(const Op& op, std::map<std::string, Type>& tiles,
             std::map<std::string, Type>& allocations) {
  const auto note = [&](Type type) {
    if (type->kind == TypeKind::kTensor && type->encoding) tiles.emplace(type->text, type);
    if (type->kind == TypeKind::kMemDesc) allocations.emplace(type->text, type);
  };
  for (const auto& result : op.results) note(result->type);
  for (const auto& region : op.regions) {
    for (const auto& block : region->blocks) {
      for (const auto& arg : block->args) note(arg->type);
      for (const auto& inner : block->ops) collect(*inner, tiles, allocations);
    }
  }
}

/// Every element has a home, and threads hold the same element only where their numbers differ in
/// bits that stand for copies.
void check_tile(Type type, const SourcePosition& where) {
  const auto l = linear_layout(type->encoding, type->shape, where);
  ASSERT_TRUE(l) << l.error().str();
  const auto elements = static_cast<std::size_t>(type->count());
  std::vector<bool> held(elements);
  std::size_t homes = 0;
  for (std::uint32_t w = 0; w < l->warp_count(); ++w) {
    if ((w & l->copy_warps()) != 0) continue;
    for (std::uint32_t lane = 0; lane < l->lane_count(); ++lane) {
      if ((lane & l->copy_lanes()) != 0) continue;
      for (std::uint32_t r = 0; r < l->register_count(); ++r) {
        if ((r & l->copy_registers()) != 0) continue;
        const auto element = static_cast<std::size_t>(l->flat(r, lane, w));
        ASSERT_LT(element, elements);
        ASSERT_FALSE(held[element]) << "element " << element << " of " << type->text;
        held[element] = true;
        ++homes;
      }
    }
  }
  EXPECT_EQ(homes, elements) << type->text;
}

/// No two elements share a byte, and all lie in the allocation.
void check_allocation(Type type, const SourcePosition& where) {
  const auto l = shared_layout(type, where);
  ASSERT_TRUE(l) << l.error().str();
  std::vector<bool> taken(static_cast<std::size_t>(l->bytes / l->element_bytes));
  Basis at(l->shape.size());
  std::int64_t count = 1;
  for (auto s : l->shape) count *= s;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    for (std::size_t d = at.size(); d-- > 0; rest /= l->shape[d]) at[d] = rest % l->shape[d];
    const std::int64_t offset = l->offset(at);
    ASSERT_EQ(offset % l->element_bytes, 0);
    ASSERT_LE(offset + l->element_bytes, l->bytes);
    const auto place = static_cast<std::size_t>(offset / l->element_bytes);
    ASSERT_FALSE(taken[place]) << "offset " << offset << " of " << type->text;
    taken[place] = true;
  }
  if (l->is_linear()) {
    EXPECT_EQ(l->bytes, count * l->element_bytes);
  }
}

TEST(WorkloadLayouts, EveryTileIsCoveredAndEveryAllocationHoldsEachElementOnce) {
  std::set<std::string> tiles_seen, allocations_seen;
  for (const std::string& file : testing::kernel_files(".ttgir")) {
    const auto module = read_module_file(file);
    ASSERT_TRUE(module) << module.error().str();
    std::map<std::string, Type> tiles, allocations;
    collect(*module->op, tiles, allocations);
    for (const auto& [text, type] : tiles) {
      if (tiles_seen.insert(type->encoding->text + text).second) check_tile(type, {file, 0, 0});
    }
    for (const auto& [text, type] : allocations) {
      if (allocations_seen.insert(type->encoding->text + text).second) {
        check_allocation(type, {file, 0, 0});
      }
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(tiles_seen.size(), 300u);
  EXPECT_GT(allocations_seen.size(), 50u);
}

}  // namespace
}  // namespace xpusim::kernel
