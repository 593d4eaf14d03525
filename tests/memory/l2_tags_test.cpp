#include "models/memory/l2_tags.h"

#include <gtest/gtest.h>

#include <bit>
#include <list>
#include <map>
#include <random>

namespace xpusim::memory {
namespace {

/// A set of the plainest kind: lines in order of use.
struct PlainLine {
  std::uint32_t block;
  unsigned valid = 0, dirty = 0;
};

TEST(L2Tags, evict_the_least_recently_used_line) {
  L2Tags tags(4 * 2, 2, 1);  // one group of four sets, two ways
  L2Tags::Victims none;
  EXPECT_EQ(tags.read(0, 10, 0xf, none).present, 0);
  EXPECT_EQ(tags.read(0, 11, 0xf, none).present, 0);
  EXPECT_EQ(tags.read(0, 10, 0xf, none).present, 0xf);
  EXPECT_EQ(tags.read(0, 12, 0xf, none).present, 0);  // takes the place of 11
  EXPECT_EQ(tags.read(0, 10, 0xf, none).present, 0xf);
  EXPECT_EQ(tags.read(0, 11, 0xf, none).present, 0);
  EXPECT_EQ(none.begin(), none.end());
}

TEST(L2Tags, hand_out_what_an_evicted_line_had_dirty) {
  L2Tags tags(4, 1, 1);
  L2Tags::Victims victims;
  tags.write(0, 5, 0x00f3, victims);
  ASSERT_EQ(victims.begin(), victims.end());
  tags.read(0, 6, 0xffff, victims);
  ASSERT_EQ(victims.end() - victims.begin(), 1);  // two lines of one block: one write
  EXPECT_EQ(victims.begin()->block, 5u);
  EXPECT_EQ(victims.begin()->sectors, 0x00f3);
}

TEST(L2Tags, clean_what_has_been_dirty_for_longest_when_a_slice_has_too_much) {
  L2Tags tags(4 * 4, 4, 0.125);  // 16 lines, two dirty
  L2Tags::Victims victims;
  tags.write(0, 1, 0x0001, victims);
  tags.write(0, 2, 0x0010, victims);
  tags.write(0, 1, 0x0002, victims);  // no younger for that
  ASSERT_EQ(victims.begin(), victims.end());
  tags.write(0, 3, 0x0100, victims);  // of another set
  ASSERT_EQ(victims.end() - victims.begin(), 1);
  EXPECT_EQ(victims.begin()->block, 1u);
  EXPECT_EQ(victims.begin()->sectors, 0x0003);
  EXPECT_EQ(tags.present(0, 1), 0x0003);  // it stays
  EXPECT_EQ(tags.dirty_sectors(), 2u);
}

TEST(L2Tags, count_no_line_that_left_among_the_dirty) {
  L2Tags tags(4 * 2, 2, 0.25);  // two ways, two dirty lines
  L2Tags::Victims evicted, none;
  tags.write(0, 1, 0x1, none);
  tags.write(0, 2, 0x1, none);
  tags.read(0, 3, 0x1, evicted);  // takes the place of 1
  ASSERT_EQ(evicted.end() - evicted.begin(), 1);
  tags.write(0, 4, 0x10, none);
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_EQ(tags.dirty_sectors(), 2u);
}

TEST(L2Tags, keep_a_clean_copy_of_what_is_written_through) {
  L2Tags tags(4, 1, 1);
  L2Tags::Victims victims;
  tags.write_through(0, 1, 0x0030, victims);
  EXPECT_EQ(tags.present(0, 1), 0x0030);
  EXPECT_EQ(tags.dirty_sectors(), 0u);
  tags.read(0, 2, 0xffff, victims);
  EXPECT_EQ(victims.begin(), victims.end());
}

TEST(L2Tags, keep_whole_atoms_of_what_was_missing) {
  L2Tags tags(1024, 16, 1);
  L2Tags::Victims none;
  tags.read(0, 1, 0b0100, none);
  EXPECT_EQ(tags.present(0, 1), 0b1100);
  EXPECT_EQ(tags.read(0, 1, 0b1010, none).present, 0b1000);
  EXPECT_EQ(tags.present(0, 1), 0b1111);
  tags.write(0, 2, 0b0001, none);
  EXPECT_EQ(tags.read(0, 2, 0b0010, none).filled, 0b0010);  // what was written stays
}

TEST(L2Tags, know_which_lines_the_other_half_holds) {
  L2Tags tags(1024, 16, 1);
  L2Tags::Victims none;
  tags.read(0, 1, 0xff, none);
  tags.mark_copied(0, 1, 0x30);
  EXPECT_EQ(tags.write(0, 1, 0x0f, none), 0);
  EXPECT_EQ(tags.write(0, 1, 0xf0, none), 0xf0);
  EXPECT_EQ(tags.write(0, 1, 0xf0, none), 0);  // the whole line was dropped there
}

TEST(L2Tags, spread_a_slices_blocks_evenly_over_its_sets) {
  L2Tags tags(5120, 16, 1);
  L2Tags::Victims victims;
  const std::uint32_t blocks = 5120 / 4;
  for (std::uint32_t i = 0; i < blocks; ++i) tags.write(i, i, 0xffff, victims);
  EXPECT_EQ(tags.dirty_sectors(), 5120u * 4);  // all fit
}

TEST(L2Tags, begin_each_page_at_a_group_of_its_own) {
  L2Tags tags(4 * 80, 1, 1);  // 80 groups of one way; page 1 begins at 0.618 * 80 = 49.4
  L2Tags::Victims victims;
  tags.read(0, 0, 0xf, victims);
  tags.read(49, 49, 0xf, victims);
  tags.read(0, 4096, 0xf, victims);  // page 1, the first place
  EXPECT_EQ(tags.present(0, 0), 0xf);
  EXPECT_EQ(tags.present(49, 49), 0);
  EXPECT_EQ(tags.present(0, 4096), 0xf);
}

TEST(L2Tags, fill_some_sets_with_scattered_pages_while_others_have_room) {
  L2Tags tags(5120, 16, 1);                          // 80 groups of 16 ways
  for (std::uint32_t page = 0; page < 30; ++page) {  // as many blocks as fit, by 43 of each page
    for (std::uint32_t i = 0; i < 43; ++i) {
      L2Tags::Victims victims;
      tags.write(i, page * 4096 + i, 0xffff, victims);
    }
  }
  const double share = static_cast<double>(tags.dirty_sectors()) / (5120 * 4);
  EXPECT_GT(share, 0.85);
  EXPECT_LT(share, 0.99);
}

TEST(L2Tags, do_what_a_plain_list_does) {
  for (const std::uint32_t ways : {1u, 3u, 16u}) {
    std::mt19937_64 random(ways);
    const std::uint32_t most_dirty = 2 * ways;
    L2Tags tags(4 * ways, ways, 0.5);
    std::list<PlainLine> sets[4];
    std::list<std::pair<unsigned, std::uint32_t>> dirty;  // set and block, in order
    for (int i = 0; i < 20'000; ++i) {
      const auto block = static_cast<std::uint32_t>(random() % (ways * 2 + 1));
      const auto mask = static_cast<std::uint16_t>(random());
      const bool write = random() % 3 == 0;
      L2Tags::Victims victims;
      unsigned hits = 0;
      std::map<std::uint32_t, unsigned> expected;
      for (unsigned line = 0; line < 4; ++line) {
        const unsigned m = mask >> line * 4 & 0xf;
        if (m == 0) continue;
        auto& set = sets[line];
        auto it = std::find_if(set.begin(), set.end(), [&](auto& l) { return l.block == block; });
        PlainLine now{block};
        if (it != set.end()) {
          now = *it;
          set.erase(it);
        } else if (set.size() == ways) {
          if (set.back().dirty != 0) expected[set.back().block] |= set.back().dirty << line * 4;
          dirty.remove({line, set.back().block});
          set.pop_back();
        }
        hits |= (now.valid & m) << line * 4;
        const unsigned missing = m & ~now.valid;
        now.valid |= write ? m : m | (missing & 5) << 1 | (missing & 10) >> 1;
        if (write && now.dirty == 0) dirty.emplace_back(line, block);
        if (write) now.dirty |= m;
        set.push_front(now);
        if (dirty.size() <= most_dirty) continue;
        const auto [of, cleaned] = dirty.front();
        dirty.pop_front();
        auto oldest = std::find_if(sets[of].begin(), sets[of].end(),
                                   [b = cleaned](auto& l) { return l.block == b; });
        expected[oldest->block] |= oldest->dirty << of * 4;
        oldest->dirty = 0;
      }
      if (write) {
        tags.write(0, block, mask, victims);
      } else {
        EXPECT_EQ(tags.read(0, block, mask, victims).present, hits);
      }
      std::map<std::uint32_t, unsigned> got;
      for (const L2Tags::Victim& v : victims) got[v.block] |= v.sectors;
      ASSERT_EQ(got, expected);
    }
  }
}

}  // namespace
}  // namespace xpusim::memory
