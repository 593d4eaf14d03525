#include "models/gpu/program/footprint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <set>

namespace xpusim::gpu {
namespace {

using exec::Access;
using exec::AccessKind;
using exec::TileForm;

/// 1024 f32 over 4 warps, 4 elements a vector: what a 1-D kernel of Triton has.
SiteLayout row_layout() {
  SiteLayout l;
  l.shape = {1024};
  l.vectors = 2;
  l.vector_elements = 4;
  l.reg_bases = {{512}};
  l.lane_bases = {{4}, {8}, {16}, {32}, {64}};
  l.warp_bases = {{128}, {256}};
  return l;
}

Access affine_access(std::int64_t base, std::int64_t stride, AccessKind kind = AccessKind::kLoad) {
  Access a;
  a.kind = kind;
  a.element_bytes = 4;
  a.pointers.shape = {1024};
  a.pointers.is_pointer = true;
  a.pointers.form = TileForm::kAffine;
  a.pointers.affine.base = base;
  a.pointers.affine.digits.push_back({stride, 1, 0, 0});
  return a;
}

void mask_below(Access& a, std::int64_t n) {
  a.masked = true;
  a.mask.shape = a.pointers.shape;
  a.mask.form = TileForm::kBox;
  a.mask.box.low = {0};
  a.mask.box.high = {n};
}

TEST(Footprint, AddressesOfLanesAreThoseOfTheLayout) {
  const Footprint f(row_layout());
  Access access = affine_access(4096, 64);
  mask_below(access, 128 + 8);
  const auto lanes = f.addresses(access, 1, 0);
  EXPECT_EQ(f.lane_bytes(access), 16u);
  EXPECT_EQ(lanes[0], 4096u + 128 * 64);
  EXPECT_EQ(lanes[1], 4096u + 132 * 64);
  EXPECT_EQ(lanes[2], Footprint::kNoAddress);
}

TEST(Footprint, AFullWarpOf16ByteVectorsIsOneRequestOf512Bytes) {
  Footprint f(row_layout());
  WarpFootprint out;
  f.touch(affine_access(4096, 4), 1, 1, out);
  ASSERT_EQ(out.count, 1u);
  EXPECT_EQ(out.requests[0].address, 4096u + (128 + 512) * 4);
  EXPECT_EQ(out.requests[0].sectors, 0xffff);
  EXPECT_EQ(out.sectors, 16u);
  EXPECT_EQ(out.lines, 4u);
  EXPECT_EQ(out.wavefronts, 4u);
  EXPECT_EQ(out.lanes, 32u);
}

/// One f32 a lane, at a distance of so many bytes.
WarpFootprint strided(std::int64_t bytes) {
  SiteLayout l = row_layout();
  l.vectors = 1;
  l.vector_elements = 1;
  l.shape = {128};
  l.reg_bases.clear();
  l.lane_bases = {{1}, {2}, {4}, {8}, {16}};
  l.warp_bases = {{32}, {64}};
  Footprint f(l);
  WarpFootprint first, again;
  f.touch(affine_access(4096, bytes), 0, 0, first);
  f.touch(affine_access(8192, bytes), 0, 0, again);  // the remembered pattern
  EXPECT_EQ(first.wavefronts, again.wavefronts);
  return first;
}

TEST(Footprint, StridesTakeAPassForEachWordOfABank) {
  EXPECT_EQ(strided(4).wavefronts, 1u);
  EXPECT_EQ(strided(8).wavefronts, 2u);   // words 0 and 32 lie in bank 0
  EXPECT_EQ(strided(12).wavefronts, 1u);  // an odd distance meets every bank once
  EXPECT_EQ(strided(12).lines, 3u);
  EXPECT_EQ(strided(516).wavefronts, 1u);  // 129 words: no conflict
  EXPECT_EQ(strided(516).lines, 32u);
}

/// Four f32 a lane; eight lanes lie so many bytes apart, and the others read the same.
std::uint32_t passes_of_repeated_lanes(std::int64_t distance) {
  Footprint f(row_layout());
  Access access = affine_access(4096, 4);
  access.pointers.affine.digits = {{4, 1, 4, 0}, {distance, 4, 8, 0}};
  WarpFootprint out;
  f.touch(access, 0, 0, out);
  return out.wavefronts;
}

TEST(Footprint, EightLanesOf16BytesTakePassesOfTheirOwn) {
  EXPECT_EQ(passes_of_repeated_lanes(16), 4u);
  EXPECT_EQ(passes_of_repeated_lanes(32), 4u * 2);  // two words of a bank
  EXPECT_EQ(passes_of_repeated_lanes(128), 4u * 8);
}

TEST(Footprint, WordsWithGapsLeaveTheirSectorsPartial) {
  EXPECT_EQ(strided(4).requests[0].partial, 0);
  EXPECT_EQ(strided(8).requests[0].partial, strided(8).requests[0].sectors);
  EXPECT_EQ(strided(64).requests[0].sectors, 0x5555);
  EXPECT_EQ(strided(64).requests[0].partial, 0x5555);
  // The ends of a run meet their neighbours', also where a mask cuts it.
  Footprint f(row_layout());
  WarpFootprint out;
  Access cut = affine_access(4096, 4);
  mask_below(cut, 20);
  f.touch(cut, 0, 0, out);
  EXPECT_EQ(out.requests[0].sectors, 0x7);
  EXPECT_EQ(out.requests[0].partial, 0);
}

TEST(Footprint, AMisalignedBaseTouchesOneSectorMore) {
  Footprint f(row_layout());
  WarpFootprint out;
  f.touch(affine_access(4096 + 16, 4), 0, 0, out);
  ASSERT_EQ(out.count, 2u);
  EXPECT_EQ(out.requests[0].sectors, 0xffff);
  EXPECT_EQ(out.requests[1].address, 4096u + 512);
  EXPECT_EQ(out.requests[1].sectors, 1);
  EXPECT_EQ(out.sectors, 17u);
}

TEST(Footprint, AMaskCutsOffWholeWarpsAndTheTailOfOne) {
  Footprint f(row_layout());
  WarpFootprint out;
  Access a = affine_access(0, 4);
  mask_below(a, 140);  // warp 1 begins at element 128: 12 elements = 3 lanes = 48 B = 2 sectors
  f.touch(a, 0, 0, out);
  EXPECT_EQ(out.lanes, 32u);
  f.touch(a, 1, 0, out);
  EXPECT_EQ(out.lanes, 3u);
  EXPECT_EQ(out.sectors, 2u);
  f.touch(a, 2, 0, out);
  EXPECT_EQ(out.count, 0u);
  EXPECT_TRUE(f.any_active(a, 1, 0));
  EXPECT_FALSE(f.any_active(a, 1, 1));
}

TEST(Footprint, AScalarStoreIsOneLaneOfOneWarp) {
  SiteLayout l;
  l.lane_zero_only = l.warp_zero_only = true;
  Footprint f(l);
  Access a;
  a.kind = AccessKind::kStore;
  a.element_bytes = 4;
  a.pointers.form = TileForm::kSplat;
  a.pointers.bits = 1000;
  WarpFootprint out;
  f.touch(a, 0, 0, out);
  EXPECT_EQ(out.count, 1u);
  EXPECT_EQ(out.lanes, 1u);
  EXPECT_EQ(out.sectors, 1u);
  f.touch(a, 1, 0, out);
  EXPECT_EQ(out.count, 0u);
}

TEST(Footprint, AtomicsCountTheLanesThatShareAnAddress) {
  SiteLayout l;
  l.shape = {32};
  l.lane_bases = {{1}, {2}, {4}, {8}, {16}};
  Footprint f(l);
  Access a;
  a.kind = AccessKind::kAtomic;
  a.element_bytes = 4;
  a.pointers.shape = {32};
  a.pointers.form = TileForm::kDense;
  a.pointers.data = std::make_shared<std::vector<std::byte>>(32 * 8);
  for (std::int64_t i = 0; i < 32; ++i) {
    const std::int64_t address = 4096 + (i < 5 ? 0 : i) * 4;  // lanes 0..4 meet
    std::memcpy(a.pointers.data->data() + i * 8, &address, 8);
  }
  WarpFootprint out;
  f.touch(a, 0, 0, out);
  ASSERT_EQ(out.count, 1u);
  EXPECT_EQ(out.requests[0].passes, 5 + 1 + 1 + 1);  // of four sectors
  EXPECT_EQ(out.sectors, 4u);
}

/// Brute force: every element of every active lane, byte by byte.
struct Reference {
  std::map<std::uint64_t, int> sectors;
  std::set<std::uint64_t> lines;
  unsigned lanes = 0;
};

Reference brute_force(const SiteLayout& l, const Access& a, unsigned warp, unsigned vector) {
  Reference r;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (a.kind == AccessKind::kStore &&
        ((lane & l.skip_lanes) != 0 || (warp & l.skip_warps) != 0)) {
      continue;
    }
    std::vector<std::int64_t> c(l.shape.size());
    auto add = [&](const std::vector<std::vector<std::int64_t>>& bases, unsigned n) {
      for (std::size_t b = 0; b < bases.size(); ++b) {
        if ((n >> b) & 1u) {
          for (std::size_t d = 0; d < c.size(); ++d) c[d] ^= bases[b][d];
        }
      }
    };
    add(l.reg_bases, vector);
    add(l.lane_bases, lane);
    add(l.warp_bases, warp);
    bool active = !a.masked;
    std::int64_t first = 0;
    for (std::uint32_t e = 0; e < l.vector_elements; ++e) {
      auto at = c;
      at[l.vector_dim] += e;
      std::int64_t flat = 0;
      bool inside = true;
      for (std::size_t d = 0; d < at.size(); ++d) {
        flat = flat * l.shape[d] + at[d];
        if (a.masked && a.mask.form == TileForm::kBox) {
          inside = inside && at[d] >= a.mask.box.low[d] && at[d] < a.mask.box.high[d];
        }
      }
      if (a.masked && a.mask.form == TileForm::kDense) {
        inside = (*a.mask.data)[static_cast<std::size_t>(flat)] != std::byte{0};
      }
      active = active || (a.masked && inside);
      std::int64_t address = 0;
      if (a.pointers.form == TileForm::kDense) {
        std::memcpy(&address, a.pointers.data->data() + flat * 8, 8);
      } else {
        address = a.pointers.affine.base;
        for (const auto& d : a.pointers.affine.digits) {
          std::int64_t i = at[d.dim] / d.div;
          if (d.mod) i %= d.mod;
          address += d.stride * i;
        }
      }
      if (e == 0) first = address;
    }
    if (!active) continue;
    ++r.lanes;
    const std::uint32_t bytes = l.vector_elements * a.element_bytes;
    for (std::uint32_t b = 0; b < bytes; ++b) {
      const auto address = static_cast<std::uint64_t>(first) + b;
      ++r.sectors[address / 32];
      r.lines.insert(address / 128);
    }
  }
  return r;
}

void expect_same(const SiteLayout& l, const Access& a, Footprint& f) {
  const unsigned warps = 1u << l.warp_bases.size();
  for (unsigned w = 0; w < warps; ++w) {
    for (unsigned v = 0; v < l.vectors; ++v) {
      const Reference r = brute_force(l, a, w, v);
      WarpFootprint out;
      f.touch(a, w, v, out);
      EXPECT_EQ(out.lanes, r.lanes);
      EXPECT_EQ(out.sectors, r.sectors.size());
      EXPECT_EQ(out.lines, r.lines.size());
      EXPECT_EQ(f.any_active(a, w, v), r.lanes != 0);
      std::set<std::uint64_t> got;
      std::uint64_t end = 0;
      for (std::uint32_t i = 0; i < out.count; ++i) {
        const auto& q = out.requests[i];
        EXPECT_EQ(q.address % 128, 0u);
        EXPECT_GE(q.address, end) << "requests overlap or are out of order";
        EXPECT_NE(q.sectors & 0xf, 0) << "a request begins with a line that is not touched";
        end = q.address + 512;
        for (unsigned b = 0; b < 16; ++b) {
          if ((q.sectors >> b) & 1u) got.insert(q.address / 32 + b);
        }
      }
      std::set<std::uint64_t> want;
      for (const auto& [s, n] : r.sectors) want.insert(s);
      EXPECT_EQ(got, want);
    }
  }
}

/// A random layout: the bits of a power-of-two tile dealt out to vectors, lanes and warps.
SiteLayout random_layout(std::mt19937& rng) {
  SiteLayout l;
  const std::size_t rank = 1 + rng() % 2;
  std::vector<std::vector<std::int64_t>> bits;
  for (std::size_t d = 0; d < rank; ++d) l.shape.push_back(1 << (2 + rng() % 6));
  l.vector_dim = static_cast<std::uint32_t>(rng() % rank);
  l.vector_elements = 1u << (rng() % 3);
  for (std::size_t d = 0; d < rank; ++d) {
    for (std::int64_t b = 1; b < l.shape[d]; b *= 2) {
      if (d == l.vector_dim && b < l.vector_elements) continue;
      std::vector<std::int64_t> basis(rank);
      basis[d] = b;
      bits.push_back(basis);
    }
  }
  std::shuffle(bits.begin(), bits.end(), rng);
  auto deal = [&](std::size_t n) {
    std::vector<std::vector<std::int64_t>> out;
    for (std::size_t i = 0; i < n; ++i) {
      if (bits.empty()) {
        out.push_back(std::vector<std::int64_t>(rank));
      } else {
        out.push_back(bits.back());
        bits.pop_back();
      }
    }
    return out;
  };
  l.lane_bases = deal(5);
  l.warp_bases = deal(2);
  l.reg_bases = deal(bits.size());
  l.vectors = 1u << l.reg_bases.size();
  for (std::size_t b = 0; b < 5; ++b) {
    if (l.lane_bases[b] == std::vector<std::int64_t>(rank)) l.skip_lanes |= 1u << b;
  }
  for (std::size_t b = 0; b < 2; ++b) {
    if (l.warp_bases[b] == std::vector<std::int64_t>(rank)) l.skip_warps |= 1u << b;
  }
  return l;
}

Access random_access(std::mt19937& rng, const SiteLayout& l) {
  Access a;
  a.kind = rng() % 2 ? AccessKind::kLoad : AccessKind::kStore;
  a.element_bytes = 1u << (rng() % 4);
  a.pointers.shape.assign(l.shape.begin(), l.shape.end());
  const std::uint32_t bytes = a.element_bytes * l.vector_elements;
  a.pointers.form = TileForm::kAffine;
  a.pointers.affine.base = 1 << 20 | static_cast<std::int64_t>(rng() % 4096 / bytes * bytes);
  for (std::size_t d = 0; d < l.shape.size(); ++d) {
    const auto dim = static_cast<std::uint8_t>(d);
    if (d == l.vector_dim) {
      a.pointers.affine.digits.push_back({a.element_bytes, 1, 0, dim});
    } else if (rng() % 2) {
      a.pointers.affine.digits.push_back(
          {std::int64_t{bytes} * static_cast<int>(rng() % 40), 1, 0, dim});
    } else {
      a.pointers.affine.digits.push_back(
          {std::int64_t{bytes} * static_cast<int>(rng() % 9), 2, 3, dim});
    }
  }
  std::int64_t count = 1;
  for (auto s : l.shape) count *= s;
  if (rng() % 3 == 0) {
    a.masked = true;
    a.mask.form = TileForm::kBox;
    for (auto s : l.shape) {
      a.mask.box.low.push_back(static_cast<std::int64_t>(rng() % 2 ? 0 : rng() % s));
      a.mask.box.high.push_back(static_cast<std::int64_t>(rng() % 2 ? s : rng() % (s + 1)));
    }
  } else if (rng() % 3 == 0) {
    a.masked = true;
    a.mask.form = TileForm::kDense;
    a.mask.data = std::make_shared<std::vector<std::byte>>(count);
    for (auto& b : *a.mask.data) b = std::byte(rng() % 3 == 0);
  }
  return a;
}

TEST(Footprint, AgreesWithBruteForceOverEveryLane) {
  std::mt19937 rng(7);
  for (int round = 0; round < 400 && !::testing::Test::HasFailure(); ++round) {
    const SiteLayout l = random_layout(rng);
    Footprint f(l);
    Access a = random_access(rng, l);
    for (int block = 0; block < 3; ++block) {  // the same pattern at other bases
      expect_same(l, a, f);
      a.pointers.affine.base += 8 * static_cast<std::int64_t>(rng() % 1000);
    }
    expect_same(l, random_access(rng, l), f);  // other digits, other kind
  }
}

}  // namespace
}  // namespace xpusim::gpu
