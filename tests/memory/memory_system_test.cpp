#include "models/memory/memory_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/memory/traffic.h"

namespace xpusim::memory {
namespace {

using engine::Cycle;

/// On this clock a cycle is a CK, so that latencies come out whole.
constexpr std::uint64_t kCkClock = 1'600'000'000;
constexpr std::uint32_t kOneSector = 1;

MemoryParams params() {
  MemoryParams p;
  p.hbm.refresh = "none";
  p.hbm.request_ns = 40 * 0.625;  // 40 CK
  p.hbm.reply_ns = 60 * 0.625;
  return p;
}

/// An address whose home slice lies in this half.
std::uint64_t address_in_half(std::uint32_t half, std::uint64_t from = 0) {
  const AddressMap map(params().hbm, 96);
  std::uint64_t address = from;
  while (map.slice_block(address).slice / 48 != half) address += kBlockBytes;
  return address;
}

/// Runs two processors, one a half, one after the other: what each sends, one at a time.
class TwoSms : public Bench {
 public:
  TwoSms(std::vector<Access> first, std::vector<Access> second, const MemoryParams& p = params())
      : Bench(
            p, 2, 1, [=](std::uint32_t i) { return list(i == 0 ? first : second); }, kCkClock) {
    run();
  }
};

Cycle base(const MemoryParams& p) {
  return static_cast<Cycle>(p.requests.latency_cycles + p.replies.latency_cycles);
}
Cycle near_hit(const MemoryParams& p) { return base(p) + static_cast<Cycle>(p.l2.hit_cycles); }
/// From the slice to HBM and back: a cycle of the link, the pipeline, an activate, the atom's
/// second column ccd_l after the first, its data, and the pipeline back.
Cycle dram() { return 1 + 40 + 31 + 4 + 20 + 2 + 60; }
Cycle near_miss(const MemoryParams& p) {
  return base(p) + static_cast<Cycle>(p.l2.miss_cycles + p.l2.fill_cycles) + dram();
}
/// There, a look-up at home, and back with an atom: 64 B and a header take a cycle more than one.
Cycle bridge_twice(const MemoryParams& p) {
  return static_cast<Cycle>(2 * p.bridge.latency_cycles + p.l2.miss_cycles + p.l2.fill_cycles) + 1;
}

// ---- latencies, by hand

TEST(MemorySystem, answers_a_near_hit_after_networks_and_look_up) {
  const std::uint64_t near = address_in_half(0);
  TwoSms b({{near, kOneSector}, {near, kOneSector}}, {});
  EXPECT_EQ(b.error, "");
  EXPECT_EQ(b.sm(0).latency, near_hit(params()));
}

TEST(MemorySystem, answers_a_near_miss_after_the_way_to_dram_and_back) {
  TwoSms b({{address_in_half(0), kOneSector}}, {});
  EXPECT_EQ(b.sm(0).latency, near_miss(params()));
}

TEST(MemorySystem, adds_the_bridge_both_ways_to_a_far_miss) {
  TwoSms b({{address_in_half(1), kOneSector}}, {});
  EXPECT_EQ(b.sm(0).latency, near_miss(params()) + bridge_twice(params()));
}

TEST(MemorySystem, reads_a_far_line_from_its_own_copy_the_second_time) {
  const std::uint64_t far = address_in_half(1);
  TwoSms b({{far, kOneSector}, {far, kOneSector}}, {});
  EXPECT_EQ(b.sm(0).latency, near_hit(params()));
}

TEST(MemorySystem, reads_a_far_line_from_its_home_if_only_that_has_it) {
  const std::uint64_t far = address_in_half(1);
  Bench b(
      params(), 4, 1,  // two pairs, each on a half
      [&](std::uint32_t i) {
        // The near SM asks first; by its 20th read of another line the far SM's sector is at home.
        std::vector<Access> a(20, Access{address_in_half(0, 1 << 20), kOneSector});
        a.push_back({far, kOneSector});
        if (i == 2) a = {{far, kOneSector}};
        if (i % 2 != 0) a.clear();
        return list(a);
      },
      kCkClock);
  b.run();
  EXPECT_EQ(b.sm(0).latency, near_hit(params()) + bridge_twice(params()));
}

TEST(MemorySystem, answers_a_write_from_its_home) {
  const MemoryParams p = params();
  TwoSms near({{address_in_half(0), kOneSector, kWrite}}, {});
  EXPECT_EQ(near.sm(0).latency, near_hit(p));
  TwoSms far({{address_in_half(1), kOneSector, kWrite}}, {});
  EXPECT_EQ(far.sm(0).latency, near_hit(p) + static_cast<Cycle>(p.l2.miss_cycles) +
                                   2 * static_cast<Cycle>(p.bridge.latency_cycles));
}

TEST(MemorySystem, takes_longer_to_return_512_bytes_than_one_sector) {
  const std::uint64_t near = address_in_half(0);
  TwoSms b({{near, 0xffff}, {near, 0xffff}}, {});
  EXPECT_EQ(b.sm(0).latency, near_hit(params()) + (512 + 8 - 1) / 64);
}

// ---- what a response says

TEST(MemorySystem, returns_tag_address_and_mask_as_asked) {
  const std::uint64_t address = address_in_half(1) + kLineBytes;
  TwoSms b({{address_in_half(0), 1}, {address, 0x5a}}, {});
  EXPECT_EQ(b.sm(0).answer.kind, kReadDone);
  EXPECT_EQ(b.sm(0).answer.tag, 0u);
  EXPECT_EQ(b.sm(0).answer.address, address);
  EXPECT_EQ(b.sm(0).answer.data, 0x5au);
}

TEST(MemorySystem, says_which_sm_sent_a_request_across_two_blocks) {
  TwoSms b({{address_in_half(0) + 384, 0xff}}, {});
  EXPECT_THAT(b.error, testing::HasSubstr("SM 0"));
  EXPECT_THAT(b.error, testing::HasSubstr("leaves its block"));
}

// ---- counters

TEST(MemorySystem, looks_up_far_reads_twice_and_reads_memory_once) {
  const std::uint64_t near = address_in_half(0), far = address_in_half(1);
  TwoSms b({{near}, {far}}, {});
  const MemoryCounters c = b.memory().counters();
  EXPECT_EQ(c.l2_sectors_read, 16u * 3);
  EXPECT_EQ(c.l2_sectors_miss, 16u * 3);
  EXPECT_EQ(c.l2_sectors_hit, 0u);
  EXPECT_EQ(c.dram_read_bytes, 2u * 512);
}

TEST(MemorySystem, fetches_whole_atoms_of_64_bytes) {
  std::vector<Access> strided;
  for (std::uint64_t i = 0; i < 64; ++i) strided.push_back({i * kLineBytes, kOneSector});
  TwoSms b(strided, {});
  const MemoryCounters c = b.memory().counters();
  EXPECT_EQ(c.dram_read_bytes, 64u * kDramAtomBytes);
  // near: 1 sector looked up, 2 come; far: 1 at the copy point, its atom of 2 at home, 2 come to
  // each
  const AddressMap map(params().hbm, 96);
  std::uint64_t far = 0;
  for (const Access& a : strided) far += map.slice_block(a.address).slice / 48;
  EXPECT_EQ(c.l2_sectors_read, 64 + 2 * far);
  EXPECT_EQ(c.l2_sectors_miss, 2 * 64 + 2 * far);
}

TEST(MemorySystem, keeps_the_other_sector_of_an_atom) {
  const std::uint64_t near = address_in_half(0);
  TwoSms b({{near, 1}, {near, 2}}, {});
  EXPECT_EQ(b.sm(0).latency, near_hit(params()));
  EXPECT_EQ(b.memory().counters().dram_read_bytes, std::uint64_t{kDramAtomBytes});
}

TEST(MemorySystem, reads_memory_once_for_requests_that_overlap_in_time) {
  Bench b(params(), 4, 4, [](std::uint32_t) { return list({{0}, {512}, {0}, {512}}); });
  b.run();
  EXPECT_EQ(b.memory().counters().dram_read_bytes, 1024u);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(b.sm(i).responses, 4u);
}

TEST(MemorySystem, writes_allocate_without_a_fetch_and_hit) {
  const std::uint64_t near = address_in_half(0);
  TwoSms b({{near, 0xffff, kWrite}, {near, 0xffff}}, {});
  const MemoryCounters c = b.memory().counters();
  EXPECT_EQ(c.dram_read_bytes, 0u);
  EXPECT_EQ(c.dram_write_bytes, 0u);  // dirty data stays in the L2
  EXPECT_EQ(c.l2_sectors_miss, 0u);
  EXPECT_EQ(c.l2_sectors_hit, 32u);
}

TEST(MemorySystem, drops_the_other_halfs_copy_when_a_line_is_written_at_home) {
  const std::uint64_t far = address_in_half(1);
  const std::vector<Access> wait(20, Access{address_in_half(0, 1 << 20), kOneSector});
  std::vector<Access> reader{{far}};
  reader.insert(reader.end(), wait.begin(), wait.end());
  reader.push_back({far});
  std::vector<Access> writer(4, Access{address_in_half(1, 1 << 21), kOneSector});
  writer.push_back({far, 0xffff, kWrite});
  Bench b(
      params(), 4, 1,  // two pairs, each on a half
      [&](std::uint32_t i) {
        return list(i == 0 ? reader : i == 2 ? writer : std::vector<Access>{});
      },
      kCkClock);
  b.run();
  EXPECT_GT(b.sm(0).latency, near_hit(params()) + 16);  // it had to ask the home again
  EXPECT_EQ(b.memory().counters().dram_read_bytes, 512u + 2 * kDramAtomBytes);
}

TEST(MemorySystem, reads_what_it_wrote_to_the_other_half_from_a_copy_in_its_own) {
  const std::uint64_t far = address_in_half(1);
  const std::vector<Access> wait(20, Access{address_in_half(0, 1 << 20), kOneSector});
  std::vector<Access> accesses{{far, 0xffff, kWrite}};
  accesses.insert(accesses.end(), wait.begin(), wait.end());
  accesses.push_back({far, kOneSector});
  TwoSms b(accesses, {});
  EXPECT_EQ(b.sm(0).latency, near_hit(params()));
}

TEST(MemorySystem, counts_a_stream_as_the_chip_does) {
  Bench b(params(), 8, 32, [](std::uint32_t sm) {
    return [sm, i = 0u](Access& a) mutable {
      if (i == 3000) return false;
      a.address = (i / 3 * 8ull + sm) * kBlockBytes + (i % 3) * (1ull << 28);
      a.kind = i % 3 == 2 ? kWrite : kRead;
      ++i;
      return true;
    };
  });
  b.run();
  const MemoryCounters c = b.memory().counters();
  const double blocks = 8 * 1000 * 16;
  EXPECT_NEAR(static_cast<double>(c.l2_sectors_read), 1.5 * 2 * blocks, 0.03 * blocks);
  EXPECT_NEAR(static_cast<double>(c.l2_sectors_write), 1.5 * blocks, 0.03 * blocks);
  EXPECT_EQ(c.l2_sectors_hit + c.l2_sectors_miss, c.l2_sectors_read + c.l2_sectors_write);
  EXPECT_EQ(c.dram_read_bytes, 2u * 8 * 1000 * 512);
  EXPECT_NEAR(static_cast<double>(c.l2_sectors_miss * 32) / static_cast<double>(c.dram_read_bytes),
              1.5, 0.02);
}

// ---- the coalescer

/// Sectors that the L2 looks up when `sms` processors read the same block at the same time.
std::uint64_t looked_up(std::uint32_t sms, std::int64_t groups) {
  MemoryParams p = params();
  p.coalescer.groups = groups;
  p.coalescer.readers = 255;
  Bench b(p, sms, 1, [](std::uint32_t) { return list({{address_in_half(0)}}); });
  b.run();
  for (std::uint32_t i = 0; i < sms; ++i) {
    EXPECT_EQ(b.sm(i).responses, 1u);
    EXPECT_EQ(b.sm(i).answer.data, 0xffffu);
  }
  const MemoryCounters c = b.memory().counters();
  EXPECT_EQ(c.dram_read_bytes, 512u);
  return c.l2_sectors_read;
}

TEST(MemorySystem, shows_the_l2_one_read_of_a_group_that_reads_the_same) {
  // 8 SMs a half: look-ups near, at the copy point, and the one that the copy point asks the home
  // for
  EXPECT_EQ(looked_up(16, 0), 8u * 16 + 8u * 16 + 16);
  EXPECT_EQ(looked_up(16, 2), 16u + 32u);  // one group a half
  EXPECT_EQ(looked_up(16, 8), 4u * 16 + 4u * 16 + 16);
}

TEST(MemorySystem, shows_the_l2_as_many_reads_as_their_most_readers_leave) {
  MemoryParams p = params();
  p.coalescer = {1, 40, 600, 3};
  p.l2.halves = 1;
  Bench b(p, 16, 1, [](std::uint32_t) { return list({{address_in_half(0)}}); });
  b.run();
  EXPECT_EQ(b.memory().counters().l2_sectors_read, 6u * 16);
  EXPECT_EQ(b.memory().counters().coalesced_sectors, 10u * 16);
}

TEST(MemorySystem, puts_neighbours_into_one_group_and_the_groups_into_the_halves_in_turn) {
  MemoryParams p = params();
  p.coalescer = {4, 40, 600, 255};
  // SMs 0 to 3 in one group: one look-up near, or one and that at home
  Bench b(p, 16, 1, [](std::uint32_t) { return list({{address_in_half(0)}}); });
  b.run();
  EXPECT_EQ(b.memory().counters().l2_sectors_read, 2u * 16 + 2u * 16 + 16);
}

TEST(MemorySystem, answers_all_of_a_group_when_the_one_read_is_answered) {
  MemoryParams p = params();
  p.coalescer.groups = 2;
  p.coalescer.readers = 8;
  Bench b(
      p, 16, 1,
      [](std::uint32_t) {
        return list({{address_in_half(0), kOneSector}});
      },
      kCkClock);
  b.run();
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(b.sm(i).latency, near_miss(p));
}

TEST(MemorySystem, keeps_the_rates_of_the_l2_when_the_clock_of_the_sms_falls) {
  MemoryParams p = params();
  p.coalescer.bytes_per_cycle = 540;
  const MemoryParams slow = at_clock(p, 1.98e9, 1.65e9);  // 1.2 of its cycles in one of theirs
  EXPECT_EQ(slow.coalescer.bytes_per_cycle, 648);
  EXPECT_DOUBLE_EQ(slow.l2.sectors_per_cycle, p.l2.sectors_per_cycle * 1.2);
  EXPECT_DOUBLE_EQ(slow.l2.filled_per_cycle, p.l2.filled_per_cycle * 1.2);
  EXPECT_DOUBLE_EQ(slow.l2.atomic_cycles, p.l2.atomic_cycles / 1.2);
  EXPECT_EQ(slow.replies.destination_bytes_per_cycle, p.replies.destination_bytes_per_cycle);
  EXPECT_EQ(slow.requests.latency_cycles, p.requests.latency_cycles);
}

// ---- capacity

MemoryParams small_l2(double dirty_share) {
  MemoryParams p = params();
  p.l2.capacity_bytes = 96 * 16 * 4 * 128 * 8;  // 6.3 MB
  p.l2.dirty_share = dirty_share;
  return p;
}

/// Dirty bytes left after `reads` streams are read and one is written, as a share of the capacity.
double left_dirty(std::uint32_t reads, double dirty_share) {
  const MemoryParams p = small_l2(dirty_share);
  Bench b(p, 8, 64, [reads](std::uint32_t sm) {
    return [=, i = 0u](Access& a) mutable {
      if (i == 6000 * (reads + 1)) return false;
      a.address = (i / (reads + 1) * 8ull + sm) * kBlockBytes + (i % (reads + 1)) * (1ull << 30);
      a.kind = i % (reads + 1) == reads ? kWrite : kRead;
      ++i;
      return true;
    };
  });
  b.run();
  std::uint64_t dirty = 0;
  for (std::uint32_t i = 0; i < 96; ++i) dirty += b.memory().slice(i).tags().dirty_sectors() * 32;
  const MemoryCounters c = b.memory().counters();
  EXPECT_EQ(c.dram_write_bytes + dirty, 8u * 6000 * 512);  // nothing is lost
  return static_cast<double>(dirty) / static_cast<double>(p.l2.capacity_bytes);
}

TEST(MemorySystem, leaves_dirty_what_lru_with_copies_leaves) {
  EXPECT_NEAR(left_dirty(1, 1), 1 / 3.0, 0.02);  // what is read or written takes 1.5 lines
  EXPECT_NEAR(left_dirty(2, 1), 1 / 4.5, 0.02);
  EXPECT_NEAR(left_dirty(3, 1), 1 / 6.0, 0.02);
}

TEST(MemorySystem, holds_no_more_dirty_lines_than_it_may) {
  EXPECT_NEAR(left_dirty(0, 0.4), 0.4, 0.001);
}

/// Bytes that go to memory when `lines` lines of each of the 512 sets of small_l2 are read from
/// cold caches.
std::uint64_t displaced(std::int64_t left, std::uint32_t lines) {
  MemoryParams p = small_l2(0.4);
  p.l2.left_dirty_bytes = left;
  Bench b(p, 1, 64, [lines](std::uint32_t) {
    return [=, i = 0u](Access& a) mutable {
      if (i == 96 * 8 * lines) return false;
      a.address = i++ * kBlockBytes;
      return true;
    };
  });
  b.memory().cold_caches();
  b.run();
  return b.memory().counters().dram_write_bytes;
}

TEST(MemorySystem, writes_back_what_others_left_dirty_when_its_lines_are_taken) {
  EXPECT_EQ(displaced(0, 64), 0u);
  EXPECT_EQ(displaced(256 * 1024, 0), 0u);
  EXPECT_EQ(displaced(256 * 1024, 4), 0u);  // there is room for both
  EXPECT_EQ(displaced(256 * 1024, 64), 256u * 1024);
}

TEST(MemorySystem, flushes_every_dirty_sector_once) {
  const std::uint64_t near = address_in_half(0);
  const MemoryParams p = params();
  Bench b(p, 1, 1, [&](std::uint32_t) {
    return list({{near, 0xffff, kWrite}, {near, 0xffff, kFlush}, {near, 0xffff, kFlush}});
  });
  b.run();
  EXPECT_EQ(b.memory().counters().dram_write_bytes, 512u);
}

TEST(MemorySystem, hands_warm_caches_to_the_next_system) {
  const std::uint64_t near = address_in_half(0);
  CacheContents warm;
  {
    TwoSms b({{near, kOneSector}}, {});
    warm = b.memory().caches();
  }
  Bench b(
      params(), 2, 1,
      [&](std::uint32_t i) {
        return list(i == 0 ? std::vector<Access>{{near, kOneSector}} : std::vector<Access>{});
      },
      kCkClock);
  b.memory().set_caches(warm);
  b.run();
  EXPECT_EQ(b.sm(0).latency, near_hit(params()));
  EXPECT_EQ(b.memory().counters().dram_read_bytes, 0u);
}

TEST(MemorySystem, says_how_busy_its_parts_were) {
  const std::uint64_t far = address_in_half(1);
  TwoSms b({{far, 0xffff}}, {});
  const auto use = b.memory().use(1000);
  ASSERT_EQ(use.size(), 5u);
  EXPECT_EQ(use[1].name, "L2 slices");
  EXPECT_NEAR(use[1].busiest, 16 / 1.75 / 1000, 1e-4);
  EXPECT_EQ(use[2].name, "bridge between the L2 halves");
  EXPECT_DOUBLE_EQ(use[2].busiest, 520 / 64.0 / 1000);
  EXPECT_DOUBLE_EQ(use[2].mean, 520 / 64.0 / 1000 / 96);
  EXPECT_EQ(use[4].name, "reply network");
  EXPECT_GE(use[4].busiest, 520 / 64.0 / 1000);
}

TEST(MemorySystem, bounds_what_stays_dirty) {
  const MemoryParams p = params();
  TwoSms b({}, {});
  EXPECT_NEAR(static_cast<double>(b.memory().most_dirty_bytes()),
              p.l2.dirty_share * static_cast<double>(p.l2.capacity_bytes), 0.01 * 62'914'560);
}

TEST(MemorySystem, knows_what_its_caches_hold) {
  const std::uint64_t far = address_in_half(1);  // here a copy is kept too
  TwoSms b({{far, kOneSector}}, {});
  const auto cached = b.memory().cached_bytes({{far, 512}, {far + 512, 512}});
  EXPECT_EQ(cached, (std::vector<std::uint64_t>{64, 0}));  // a whole atom, once
}

// ---- atomics

TEST(MemorySystem, serialises_atomics_on_one_address_at_its_slice) {
  const std::uint64_t near = address_in_half(0);
  Bench b(params(), 1, 64, [&](std::uint32_t) {
    return list(std::vector<Access>(1000, Access{near, kOneSector, kAtomic, 4}));
  });
  const Cycle end = b.run();
  const MemoryCounters c = b.memory().counters();
  EXPECT_EQ(c.l2_sectors_atom, 4000u);
  EXPECT_EQ(c.l2_sectors_miss, 2u);  // an atom
  EXPECT_EQ(c.l2_sectors_hit, 3999u);
  EXPECT_NEAR(static_cast<double>(end), 1000 * 4 * 1.4 + 500, 300);
}

TEST(MemorySystem, lets_sums_of_floats_over_one_sector_wait_for_one_another) {
  const std::uint64_t near = address_in_half(0);
  MemoryParams p = params();
  const auto cycles = [&](std::uint16_t mask, std::uint16_t count) {
    Bench b(p, 1, 1000, [&](std::uint32_t) {
      return list(std::vector<Access>(1000, Access{near, mask, kReduce, count}));
    });
    return static_cast<double>(b.run());
  };
  EXPECT_NEAR(cycles(0b1, 2), 1000 * 2 * 1.4 + 500, 300);
  EXPECT_NEAR(cycles(0b1, kFloatPasses | 2), 1000 * 2 * 3.5 + 500, 300);
  EXPECT_NEAR(cycles(0b11, kFloatPasses | 2), 1000 * 3.5 + 500, 300);    // two chains at once
  EXPECT_NEAR(cycles(0b1111, kFloatPasses | 4), 1000 * 5.6 + 500, 300);  // the unit is the limit
  p.l2.atomic_units = 1;
  EXPECT_NEAR(cycles(0x0101, kFloatPasses | 2), 1000 * 3.5 + 500, 300);  // 256 B apart: two chains
}

/// Cycles for 1000 atomics of two sectors, 1.4 cycles a sector, the second `apart` sectors away.
double two_sectors(unsigned apart) {
  const std::uint64_t near = address_in_half(0);
  const auto mask = static_cast<std::uint16_t>(1u | 1u << apart);
  Bench b(params(), 1, 1000, [&](std::uint32_t) {
    return list(std::vector<Access>(1000, Access{near, mask, kAtomic, 0}));
  });
  return static_cast<double>(b.run());
}

TEST(MemorySystem, performs_atomics_on_different_256_bytes_at_once) {
  EXPECT_NEAR(two_sectors(7), 1000 * 2 * 1.4 + 500, 300);
  EXPECT_NEAR(two_sectors(8), 1000 * 1.4 + 500, 300);
}

TEST(MemorySystem, performs_the_passes_that_a_request_names_over_all_its_sectors) {
  TwoSms b({{address_in_half(0), 0b11, kAtomic, 5}}, {});
  EXPECT_EQ(b.memory().counters().l2_sectors_atom, 5u);
  TwoSms at_least_one_a_sector({{address_in_half(0), 0b111, kAtomic, 1}}, {});
  EXPECT_EQ(at_least_one_a_sector.memory().counters().l2_sectors_atom, 3u);
}

TEST(MemorySystem, looks_up_far_atomics_twice) {
  TwoSms b({{address_in_half(1), kOneSector, kReduce, 1}}, {});
  EXPECT_EQ(b.memory().counters().l2_sectors_red, 2u);
  EXPECT_EQ(b.sm(0).answer.kind, kAtomicDone);
}

// ---- rates

TEST(MemorySystem, returns_at_most_its_bandwidth_to_one_sm) {
  const MemoryParams p = params();
  std::vector<Access> reads;
  for (int round = 0; round < 50; ++round) {
    for (std::uint64_t i = 0; i < 96; ++i) reads.push_back({i * kBlockBytes});
  }
  Bench b(p, 1, 256, [&](std::uint32_t) { return list(reads); });
  const Cycle end = b.run();
  const auto bytes = static_cast<double>(reads.size()) * (512 + 8);
  EXPECT_LE(bytes / static_cast<double>(end), 64.0);
  EXPECT_GE(bytes / static_cast<double>(end), 60.0);
}

TEST(MemorySystem, hits_at_most_at_the_slices_look_up_rate) {
  const MemoryParams p = params();
  Bench b(p, 132, 64, [](std::uint32_t sm) {
    return [sm, i = 0u](Access& a) mutable {
      if (i == 4000) return false;
      a.address = (i++ * 61ull + sm * 17) % 16384 * kBlockBytes;  // 8 MB, read over and over
      return true;
    };
  });
  const Cycle end = b.run();
  const MemoryCounters c = b.memory().counters();
  const double per_cycle = static_cast<double>(c.l2_sectors_read) / static_cast<double>(end);
  EXPECT_LE(per_cycle, 96 * p.l2.sectors_per_cycle);
  EXPECT_GE(per_cycle, 96 * p.l2.sectors_per_cycle * 0.7);
}

TEST(MemorySystem, takes_in_what_is_written_at_the_rate_of_the_slices_data) {
  const auto cycles = [](double rate) {
    MemoryParams p = params();
    p.l2.filled_per_cycle = rate;
    const std::vector<Access> writes(100, Access{address_in_half(0), kOneSector, kWrite});
    Bench b(p, 1, 100, [&](std::uint32_t) { return list(writes); });
    return b.run();
  };
  const Cycle fast = cycles(64), slow = cycles(0.25);
  EXPECT_GE(slow, 99 * 4u);
  EXPECT_LT(fast, slow - 200);
}

// ---- determinism

TEST(MemorySystem, does_the_same_whether_idle_cycles_are_skipped_or_not) {
  std::vector<std::uint64_t> checksums;
  for (const auto mode : {engine::Scheduler::Mode::kSkip, engine::Scheduler::Mode::kTickAll}) {
    MemoryParams p = small_l2(0.4);
    p.hbm.refresh = "per_bank";
    Bench b(
        p, 12, 16,
        [](std::uint32_t sm) {
          return [random = std::mt19937_64(sm), i = 0](Access& a) mutable {
            if (i++ == 300) return false;
            const std::uint64_t r = random();
            a.address = r % (1 << 24) / kLineBytes * kLineBytes;
            const unsigned lines = 4 - a.address / kLineBytes % 4;
            a.mask = std::max<std::uint32_t>(1, (r >> 32) & ((1u << lines * 4) - 1));
            const unsigned pick = r >> 60;
            a.kind = pick < 4 ? kWrite : pick == 4 ? kAtomic : pick == 5 ? kReduce : kRead;
            a.count = 2;
            return true;
          };
        },
        1'755'000'000, mode);
    b.run();
    EXPECT_EQ(b.error, "");
    for (std::uint32_t i = 0; i < 12; ++i) EXPECT_EQ(b.sm(i).responses, 300u);
    checksums.push_back(b.checksum());
  }
  EXPECT_EQ(checksums[0], checksums[1]);
}

// ---- wrong parameters

TEST(MemoryParams, says_what_does_not_fit_together) {
  MemoryParams p;
  p.l2.slices = 80;
  p.coalescer.groups = 3;
  p.coalescer.latency_cycles = 160;
  p.hbm.interleave_bytes = 768;
  p.hbm.refresh = "perbank";
  p.hbm.write_low = 0.8;
  p.hbm.timing.ccd_l = 1;
  Diagnostics problems;
  check(p, "gpu.memory", problems);
  const std::string text = problems.str();
  EXPECT_THAT(text, testing::HasSubstr("gpu.memory.l2.slices: 80 is neither a divisor"));
  EXPECT_THAT(text, testing::HasSubstr("gpu.memory.hbm.interleave: 768 is not a power of two"));
  EXPECT_THAT(text, testing::HasSubstr("did you mean 'per_bank'"));
  EXPECT_THAT(text, testing::HasSubstr("write_low (0.8) must be below write_high"));
  EXPECT_THAT(text, testing::HasSubstr("burst <= ccd_s <= ccd_l does not hold"));
  EXPECT_THAT(text, testing::HasSubstr("coalescer.groups: 3 groups do not share out 2 halves"));
  EXPECT_THAT(text,
              testing::HasSubstr("coalescer.latency: after 160 cycles a hit has left the L2"));
  EXPECT_EQ(problems.list().size(), 7u);
}

TEST(MemoryParams, are_sound_by_default) {
  Diagnostics problems;
  check(MemoryParams{}, "gpu.memory", problems);
  EXPECT_EQ(problems.str(), "");
}

}  // namespace
}  // namespace xpusim::memory
