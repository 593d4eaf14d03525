#include "models/memory/l2_tags.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/memory/messages.h"
#include "sim/engine/prefetch.h"

namespace xpusim::memory {
namespace {

constexpr std::uint64_t kWaysInOrder = 0xfedcba9876543210;
constexpr std::uint64_t kEachNibble = 0x1111111111111111;

/// Calls f(line, its sectors) for each line of the block that `mask` names sectors of.
template <class F>
void for_each_line_of(std::uint32_t mask, F&& f) {
  constexpr std::uint32_t kSectorsOfLine = kLineBytes / kSectorBytes;
  while (mask != 0) {
    const auto line = static_cast<std::uint32_t>(std::countr_zero(mask)) / kSectorsOfLine;
    const std::uint32_t bits = 0xfu << line * kSectorsOfLine;
    f(line, (mask & bits) >> line * kSectorsOfLine);
    mask &= ~bits;
  }
}

}  // namespace

void L2Tags::Victims::add(std::uint32_t block, std::uint32_t sectors) {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (list_[i].block == block) {
      list_[i].sectors = static_cast<std::uint16_t>(list_[i].sectors | sectors);
      return;
    }
  }
  list_[count_++] = {block, static_cast<std::uint16_t>(sectors)};
}

L2Tags::L2Tags(std::uint64_t lines, std::uint32_t ways, double dirty_share)
    : groups_(static_cast<std::uint32_t>(std::max<std::uint64_t>(
          1, (lines + kLinesPerGroup * ways / 2) / (kLinesPerGroup * ways)))),
      ways_(ways),
      most_dirty_(static_cast<std::uint64_t>(
          std::lround(dirty_share * static_cast<double>(this->lines())))),
      all_(groups_.divisor()),
      dirty_order_(all_.size() * kLinesPerGroup * kMaxWays + 1) {
  clear();
}

void L2Tags::clear() {
  for (Group& group : all_) {
    for (Tags& tags : group.tags) tags.fill(kNoBlock);
    for (Set& set : group.sets) set = {kWaysInOrder, {}, 0};
  }
  forget_dirty();
}

std::size_t L2Tags::number_of_group(std::uint32_t place, std::uint32_t block) const {
  const std::uint64_t hash = block / kPageBlocks * 0x9e3779b9u;
  const std::uint32_t groups = groups_.divisor();
  const std::uint32_t g =
      groups_.remainder(place) + static_cast<std::uint32_t>((hash * groups) >> 32);
  return g >= groups ? g - groups : g;
}

void L2Tags::forget_dirty() {
  dirty_order_.back() = {ends(), ends()};
  dirty_lines_ = 0;
}

/// A line becomes dirty: the last that did.
void L2Tags::add_dirty(std::uint32_t link) {
  const std::uint32_t last = dirty_order_[ends()].before;
  dirty_order_[link] = {last, ends()};
  dirty_order_[last].after = link;
  dirty_order_[ends()].before = link;
  ++dirty_lines_;
}

void L2Tags::remove_dirty(std::uint32_t link) {
  const Link at = dirty_order_[link];
  dirty_order_[at.before].after = at.after;
  dirty_order_[at.after].before = at.before;
  --dirty_lines_;
}

void L2Tags::prefetch(std::uint32_t place, std::uint32_t block, std::uint16_t mask) const {
  const Group& group = group_of(place, block);
  for_each_line_of(mask, [&](std::uint32_t line, std::uint32_t) {
    engine::prefetch(&group.sets[line]);
    engine::prefetch(&group.tags[line]);
  });
}

int L2Tags::find(const Tags& tags, std::uint32_t block) {
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < kMaxWays; ++i) found |= std::uint32_t{tags[i] == block} << i;
  return found == 0 ? kMiss : std::countr_zero(found);
}

/// Makes a way the most recently used one.
void L2Tags::touch(Set& set, std::uint32_t way) {
  const std::uint64_t differ = set.order ^ (kEachNibble * way);
  const std::uint64_t zero = (differ - kEachNibble) & ~differ & (kEachNibble << 3);
  const int at = std::countr_zero(zero) / 4 * 4;  // the position of `way`, in bits
  const std::uint64_t younger = (std::uint64_t{1} << at) - 1;
  const std::uint64_t older = at == 60 ? 0 : ~std::uint64_t{0} << (at + 4);
  set.order = (set.order & older) | (set.order & younger) << 4 | way;
}

/// The way of a line, most recently used from now on; the least recently used one if it was in
/// none.
std::uint32_t L2Tags::use(Group& group, std::uint32_t line, std::uint32_t block, Victims& victims) {
  Tags& tags = group.tags[line];
  Set& set = group.sets[line];
  const int found = find(tags, block);
  if (found != kMiss) {
    touch(set, static_cast<std::uint32_t>(found));
    return static_cast<std::uint32_t>(found);
  }
  const auto way = static_cast<std::uint32_t>(set.order >> (ways_ - 1) * 4 & 0xf);
  if (const std::uint32_t dirty = set.state[way] >> kDirty; dirty != 0) {
    victims.add(tags[way], dirty << line * 4);
    remove_dirty(link_of(group, line, way));
  }
  tags[way] = block;
  set.state[way] = 0;
  set.copied = static_cast<std::uint16_t>(set.copied & ~(1u << way));
  touch(set, way);
  return way;
}

/// Sends the line that has been dirty for longest to memory; it stays, clean.
void L2Tags::clean_oldest(Victims& victims) {
  const std::uint32_t link = dirty_order_[ends()].after;
  const std::uint32_t way = link % kMaxWays, line = link / kMaxWays % kLinesPerGroup;
  Group& group = all_[link / kMaxWays / kLinesPerGroup];
  std::uint8_t& state = group.sets[line].state[way];
  victims.add(group.tags[line][way], std::uint32_t{state} >> kDirty << line * 4);
  state &= kLineSectors;
  remove_dirty(link);
}

L2Tags::Read L2Tags::read(std::uint32_t place, std::uint32_t block, std::uint16_t mask,
                          Victims& victims) {
  Group& group = group_of(place, block);
  std::uint32_t present = 0, filled = 0;
  for_each_line_of(mask, [&](std::uint32_t line, std::uint32_t wanted) {
    std::uint8_t& state = group.sets[line].state[use(group, line, block, victims)];
    const std::uint32_t had = state & kLineSectors;
    const std::uint32_t fills = whole_atoms(wanted & ~had) & ~had;
    present |= (wanted & had) << line * 4;
    filled |= fills << line * 4;
    state = static_cast<std::uint8_t>(state | fills);
  });
  return {static_cast<std::uint16_t>(present), static_cast<std::uint16_t>(filled)};
}

std::uint16_t L2Tags::write(std::uint32_t place, std::uint32_t block, std::uint16_t mask,
                            Victims& victims) {
  Group& group = group_of(place, block);
  std::uint32_t copied = 0;
  for_each_line_of(mask, [&](std::uint32_t line, std::uint32_t written) {
    Set& set = group.sets[line];
    const std::uint32_t way = use(group, line, block, victims);
    const std::uint32_t bit = 1u << way;
    if ((set.copied & bit) != 0) {
      copied |= written << line * 4;
      if (written == kLineSectors) set.copied = static_cast<std::uint16_t>(set.copied & ~bit);
    }
    std::uint8_t& state = set.state[way];
    const bool was_dirty = state >> kDirty != 0;
    state = static_cast<std::uint8_t>(state | written | written << kDirty);
    if (was_dirty) return;
    add_dirty(link_of(group, line, way));
    if (dirty_lines_ > most_dirty_) clean_oldest(victims);
  });
  return static_cast<std::uint16_t>(copied);
}

void L2Tags::write_through(std::uint32_t place, std::uint32_t block, std::uint16_t mask,
                           Victims& victims) {
  Group& group = group_of(place, block);
  for_each_line_of(mask, [&](std::uint32_t line, std::uint32_t written) {
    std::uint8_t& state = group.sets[line].state[use(group, line, block, victims)];
    state = static_cast<std::uint8_t>(state | written);
  });
}

void L2Tags::mark_copied(std::uint32_t place, std::uint32_t block, std::uint16_t mask) {
  Group& group = group_of(place, block);
  for_each_line_of(mask, [&](std::uint32_t line, std::uint32_t) {
    const int way = find(group.tags[line], block);
    if (way == kMiss) return;
    Set& set = group.sets[line];
    set.copied = static_cast<std::uint16_t>(set.copied | 1u << way);
  });
}

void L2Tags::invalidate(std::uint32_t place, std::uint32_t block, std::uint16_t mask) {
  Group& group = group_of(place, block);
  for_each_line_of(mask, [&](std::uint32_t line, std::uint32_t sectors) {
    const int way = find(group.tags[line], block);
    if (way == kMiss) return;
    std::uint8_t& state = group.sets[line].state[static_cast<std::size_t>(way)];
    state = static_cast<std::uint8_t>(state & ~sectors);
  });
}

std::uint16_t L2Tags::present(std::uint32_t place, std::uint32_t block) const {
  const Group& group = group_of(place, block);
  std::uint32_t mask = 0;
  for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
    const int way = find(group.tags[line], block);
    if (way == kMiss) continue;
    mask |= (group.sets[line].state[static_cast<std::size_t>(way)] & kLineSectors) << line * 4;
  }
  return static_cast<std::uint16_t>(mask);
}

std::uint64_t L2Tags::dirty_sectors() const {
  std::uint64_t n = 0;
  for (const Group& group : all_) {
    for (const Set& set : group.sets) {
      for (const std::uint8_t state : set.state) {
        n += static_cast<std::uint64_t>(std::popcount(std::uint32_t{state} >> kDirty));
      }
    }
  }
  return n;
}

}  // namespace xpusim::memory
