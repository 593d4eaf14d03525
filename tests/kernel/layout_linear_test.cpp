#include <gtest/gtest.h>

#include <map>
#include <random>

#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::kernel {
namespace {

using Ints = std::vector<std::int64_t>;

Attr list(Context& context, const Ints& values) {
  AttrData data;
  data.kind = AttrKind::kArray;
  data.text = "[";
  for (auto v : values) {
    AttrData element;
    element.kind = AttrKind::kInteger;
    element.integer = v;
    element.text = std::to_string(v);
    data.elements.push_back(context.attr(element));
    data.text += std::to_string(v) + ",";
  }
  data.text += "]";
  return context.attr(data);
}

Attr blocked(Context& context, const Ints& size, const Ints& threads, const Ints& warps,
             const Ints& order) {
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = "ttg.blocked";
  data.fields = {{"sizePerThread", list(context, size)},
                 {"threadsPerWarp", list(context, threads)},
                 {"warpsPerCTA", list(context, warps)},
                 {"order", list(context, order)}};
  data.text = "#ttg.blocked<" + data.fields[0].second->text + data.fields[1].second->text +
              data.fields[2].second->text + data.fields[3].second->text + ">";
  return context.attr(data);
}

Attr slice(Context& context, std::int64_t dim, Attr parent) {
  AttrData number;
  number.kind = AttrKind::kInteger;
  number.integer = dim;
  number.text = std::to_string(dim);
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = "ttg.slice";
  data.fields = {{"dim", context.attr(number)}, {"parent", parent}};
  data.text = "#ttg.slice<" + number.text + parent->text + ">";
  return context.attr(data);
}

TEST(LinearLayout, AOneDimensionalBlockedTileGoesRegisterLaneWarpRegister) {
  Context c;
  const auto l = linear_layout(blocked(c, {4}, {32}, {4}, {0}), {1024}, {});
  ASSERT_TRUE(l);
  EXPECT_EQ(l->registers, (std::vector<Basis>{{1}, {2}, {512}}));
  EXPECT_EQ(l->lanes, (std::vector<Basis>{{4}, {8}, {16}, {32}, {64}}));
  EXPECT_EQ(l->warps, (std::vector<Basis>{{128}, {256}}));
  EXPECT_EQ(l->contiguous(l->fastest_dim()), 4u);
  EXPECT_EQ(l->flat(5, 3, 2), 512 + 1 + 12 + 256);
}

TEST(LinearLayout, ASmallTileIsHeldInCopies) {
  Context c;
  const auto l = linear_layout(blocked(c, {4}, {32}, {4}, {0}), {64}, {});
  ASSERT_TRUE(l);
  EXPECT_EQ(l->register_count(), 4u);
  EXPECT_EQ(l->copy_lanes(), 0b10000u);  // lanes 16..31 repeat lanes 0..15
  EXPECT_EQ(l->copy_warps(), 0b11u);
  EXPECT_EQ(l->copy_registers(), 0u);
}

TEST(LinearLayout, ASliceOverTheFastDimensionCopiesOverItsLanes) {
  Context c;
  const Attr parent = blocked(c, {1, 8}, {8, 4}, {4, 1}, {1, 0});
  const auto l = linear_layout(slice(c, 1, parent), {128}, {});
  ASSERT_TRUE(l);
  EXPECT_EQ(l->registers, (std::vector<Basis>{{32}, {64}}));
  EXPECT_EQ(l->lanes, (std::vector<Basis>{{0}, {0}, {1}, {2}, {4}}));
  EXPECT_EQ(l->warps, (std::vector<Basis>{{8}, {16}}));
}

TEST(LinearLayout, WhatIsNotModelledIsNamed) {
  Context c;
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = "ttg.moebius";
  data.text = "#ttg.moebius<>";
  auto l = linear_layout(c.attr(data), {64}, {"k.ttgir", 3, 1});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().list()[0].str(),
            "k.ttgir:3:1: error: the layout #ttg.moebius is not modelled yet");
  l = linear_layout(blocked(c, {3}, {32}, {4}, {0}), {1024}, {});
  ASSERT_FALSE(l);
  l = linear_layout(blocked(c, {4}, {32}, {4}, {0}), {1000}, {});
  ASSERT_FALSE(l);
  l = linear_layout(blocked(c, {4}, {32}, {4}, {0}), {32, 32}, {});
  ASSERT_FALSE(l);
  l = linear_layout(blocked(c, {1, 4}, {8, 4}, {4, 1}, {1, 1}), {32, 32}, {});
  ASSERT_FALSE(l);
}

/// The definition of a blocked layout, without bits: which thread holds an element.
struct Place {
  std::int64_t lane, warp;
};
Place place_of(const Ints& at, const Ints& size, const Ints& threads, const Ints& warps,
               const Ints& order) {
  Place p{0, 0};
  std::int64_t lane_step = 1, warp_step = 1;
  for (auto d : order) {
    const auto i = static_cast<std::size_t>(d);
    p.lane += at[i] / size[i] % threads[i] * lane_step;
    p.warp += at[i] / (size[i] * threads[i]) % warps[i] * warp_step;
    lane_step *= threads[i];
    warp_step *= warps[i];
  }
  return p;
}

TEST(LinearLayout, BlockedLayoutsAgreeWithTheirDefinitionForEveryThread) {
  std::mt19937 rng(3);
  for (int round = 0; round < 200; ++round) {
    Context c;
    const std::size_t rank = 1 + rng() % 3;
    Ints size(rank, 1), threads(rank, 1), warps(rank, 1), shape, order;
    for (std::size_t d = 0; d < rank; ++d) {
      size[d] = 1 << (rng() % 3);
      shape.push_back(1 << (rng() % 7));
      order.push_back(static_cast<std::int64_t>(d));
    }
    for (int i = 0; i < 5; ++i) threads[rng() % rank] *= 2;
    for (int i = 0; i < 2; ++i) warps[rng() % rank] *= 2;
    std::shuffle(order.begin(), order.end(), rng);
    const auto l = linear_layout(blocked(c, size, threads, warps, order), shape, {});
    ASSERT_TRUE(l);
    std::int64_t count = 1;
    for (auto s : shape) count *= s;
    std::map<std::int64_t, int> seen;
    for (std::uint32_t w = 0; w < l->warp_count(); ++w) {
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const bool copy = (lane & l->copy_lanes()) != 0 || (w & l->copy_warps()) != 0;
        for (std::uint32_t r = 0; r < l->register_count(); ++r) {
          if (copy || (r & l->copy_registers()) != 0) continue;
          const Basis at = l->at(r, lane, w);
          const Place p = place_of(at, size, threads, warps, order);
          EXPECT_EQ(p.lane, lane);
          EXPECT_EQ(p.warp, w);
          ++seen[l->flat(r, lane, w)];
        }
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), count) << "every element has a home";
    for (const auto& [element, n] : seen) EXPECT_EQ(n, 1) << "home of " << element;
  }
}

TEST(LinearLayout, ASliceHoldsWhatItsParentHoldsInThatThread) {
  std::mt19937 rng(5);
  for (int round = 0; round < 100; ++round) {
    Context c;
    Ints size{1 << (rng() % 3), 1 << (rng() % 3)}, threads{1, 1}, warps{1, 1};
    for (int i = 0; i < 5; ++i) threads[rng() % 2] *= 2;
    for (int i = 0; i < 2; ++i) warps[rng() % 2] *= 2;
    const Attr parent = blocked(c, size, threads, warps, rng() % 2 ? Ints{0, 1} : Ints{1, 0});
    const std::size_t dim = rng() % 2;
    Ints shape{1 << (rng() % 7), 1 << (rng() % 7)};
    const auto p = linear_layout(parent, shape, {});
    const auto s =
        linear_layout(slice(c, static_cast<std::int64_t>(dim), parent), {shape[1 - dim]}, {});
    ASSERT_TRUE(p && s);
    for (std::uint32_t w = 0; w < 4; ++w) {
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        std::map<std::int64_t, int> want, got;
        for (std::uint32_t r = 0; r < p->register_count(); ++r)
          want[p->at(r, lane, w)[1 - dim]] = 1;
        for (std::uint32_t r = 0; r < s->register_count(); ++r) got[s->at(r, lane, w)[0]] = 1;
        EXPECT_EQ(got, want);
      }
    }
  }
}

Attr list_of(Context& context, const std::vector<Attr>& elements) {
  AttrData data;
  data.kind = AttrKind::kArray;
  data.elements = elements;
  data.text = "[";
  for (const Attr e : elements) data.text += e->text + ",";
  data.text += "]";
  return context.attr(data);
}

Attr linear(Context& context, const std::vector<Basis>& registers, const std::vector<Basis>& lanes,
            const std::vector<Basis>& warps) {
  const auto bases = [&](const std::vector<Basis>& all) {
    std::vector<Attr> lists;
    for (const Basis& b : all) lists.push_back(list(context, b));
    return list_of(context, lists);
  };
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = "ttg.linear";
  data.fields = {{"register", bases(registers)},
                 {"lane", bases(lanes)},
                 {"warp", bases(warps)},
                 {"block", list_of(context, {})}};
  data.text = "#ttg.linear<";
  for (const auto& [key, value] : data.fields) data.text += key + value->text;
  data.text += ">";
  return context.attr(data);
}

/// Bits of the coordinates dealt out to registers, lanes and warps at random, then mixed (each
/// basis may take others of lower rank on: what swizzles do): still every element has one home, and
/// what `at` gives is the exclusive or of the bases, by the definition.
TEST(LinearLayout, LinearLayoutsAgreeWithTheirDefinitionForEveryThread) {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    Context c;
    const std::size_t rank = 1 + rng() % 3;
    Ints shape(rank, 1);
    std::vector<Basis> all;
    for (std::size_t bit = 0; bit < 7 + rng() % 4; ++bit) {
      const std::size_t d = rng() % rank;
      Basis basis(rank, 0);
      basis[d] = shape[d];
      shape[d] *= 2;
      all.push_back(basis);
    }
    for (std::size_t i = 1; i < all.size(); ++i) {
      const Basis& other = all[rng() % i];
      if (rng() % 2 == 0) continue;
      for (std::size_t d = 0; d < rank; ++d) all[i][d] ^= other[d];
    }
    std::shuffle(all.begin(), all.end(), rng);
    const std::vector<Basis> lanes(all.begin(), all.begin() + 5),
        warps(all.begin() + 5, all.begin() + 7);
    const std::vector<Basis> registers(all.begin() + 7, all.end());
    const auto l = linear_layout(linear(c, registers, lanes, warps), shape, {});
    ASSERT_TRUE(l) << l.error().str();
    std::map<std::int64_t, int> seen;
    for (std::uint32_t w = 0; w < 4; ++w) {
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t r = 0; r < (1u << registers.size()); ++r) {
          Basis expected(rank, 0);
          const auto mix = [&](const std::vector<Basis>& bases, std::uint32_t bits) {
            for (std::size_t b = 0; b < bases.size(); ++b) {
              for (std::size_t d = 0; d < rank && (bits >> b & 1) != 0; ++d)
                expected[d] ^= bases[b][d];
            }
          };
          mix(registers, r);
          mix(lanes, lane);
          mix(warps, w);
          ASSERT_EQ(l->at(r, lane, w), expected);
          ++seen[l->flat(r, lane, w)];
        }
      }
    }
    EXPECT_EQ(seen.size(), std::size_t{1} << all.size()) << "every element has one home";
  }
}

}  // namespace
}  // namespace xpusim::kernel
