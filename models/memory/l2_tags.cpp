#include "models/memory/l2_tags.h"

#include <algorithm>
#include <bit>

#include "models/memory/messages.h"

namespace xpusim::memory {
namespace {

constexpr std::uint64_t kWaysInOrder = 0xfedcba9876543210;
constexpr std::uint64_t kEachNibble = 0x1111111111111111;

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

L2Tags::L2Tags(std::uint64_t lines, std::uint32_t ways, std::uint32_t dirty_ways)
    : groups_(static_cast<std::uint32_t>(std::max<std::uint64_t>(
          1, (lines + kLinesPerGroup * ways / 2) / (kLinesPerGroup * ways)))),
      ways_(ways),
      dirty_ways_(std::min(ways, dirty_ways)),
      sets_(std::size_t{groups_} * kLinesPerGroup) {
  clear();
}

void L2Tags::clear() {
  for (Set& set : sets_) {
    set.block.fill(kNoBlock);
    set.state.fill(0);
    set.order = kWaysInOrder;
    set.dirty_lines = 0;
  }
}

/// Streams fill the groups evenly; the turn a round keeps strides of a power of two apart.
const L2Tags::Set* L2Tags::group(std::uint32_t place) const {
  const std::uint32_t round = place / groups_;
  const std::uint32_t turn =
      static_cast<std::uint32_t>((std::uint64_t{round * 0x9e3779b9u} * groups_) >> 32);
  std::uint32_t g = place - round * groups_ + turn;
  if (g >= groups_) g -= groups_;
  return &sets_[std::size_t{g} * kLinesPerGroup];
}

L2Tags::Set* L2Tags::group(std::uint32_t place) {
  return const_cast<Set*>(static_cast<const L2Tags*>(this)->group(place));
}

int L2Tags::find(const Set& set, std::uint32_t block) const {
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < kMaxWays; ++i) {
    found |= std::uint32_t{set.block[i] == block} << i;
  }
  return found == 0 ? kMiss : std::countr_zero(found);
}

/// Makes a way the most recently used one.
void L2Tags::touch(Set& set, std::uint32_t way) const {
  const std::uint64_t differ = set.order ^ (kEachNibble * way);
  const std::uint64_t zero = (differ - kEachNibble) & ~differ & (kEachNibble << 3);
  const int at = std::countr_zero(zero) / 4 * 4;  // the position of `way`, in bits
  const std::uint64_t younger = (std::uint64_t{1} << at) - 1;
  const std::uint64_t older = at == 60 ? 0 : ~std::uint64_t{0} << (at + 4);
  set.order = (set.order & older) | (set.order & younger) << 4 | way;
}

/// Takes the least recently used way for a line of `block`.
std::uint32_t L2Tags::allocate(Set& set, std::uint32_t line, std::uint32_t block,
                               Victims& victims) const {
  const auto way = static_cast<std::uint32_t>(set.order >> (ways_ - 1) * 4 & 0xf);
  const std::uint32_t dirty = set.state[way] >> kDirty & kLineSectors;
  if (dirty != 0) {
    victims.add(set.block[way], dirty << line * 4);
    --set.dirty_lines;
  }
  set.block[way] = block;
  set.state[way] = 0;
  return way;
}

/// Sends the least recently used dirty line to memory; it stays, clean.
void L2Tags::clean_oldest(Set& set, std::uint32_t line, std::uint32_t except,
                          Victims& victims) const {
  for (std::uint32_t i = ways_; i-- > 0;) {
    const auto way = static_cast<std::uint32_t>(set.order >> i * 4 & 0xf);
    const std::uint32_t dirty = set.state[way] >> kDirty & kLineSectors;
    if (dirty == 0 || way == except) continue;
    victims.add(set.block[way], dirty << line * 4);
    set.state[way] = static_cast<std::uint16_t>(set.state[way] & ~(kLineSectors << kDirty));
    --set.dirty_lines;
    return;
  }
}

std::uint16_t L2Tags::read(std::uint32_t place, std::uint32_t block, std::uint16_t mask, bool atoms,
                           Victims& victims) {
  Set* sets = group(place);
  std::uint32_t hits = 0;
  for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
    const std::uint32_t wanted = mask >> line * 4 & kLineSectors;
    if (wanted == 0) continue;
    Set& set = sets[line];
    const int found = find(set, block);
    const std::uint32_t way =
        found == kMiss ? allocate(set, line, block, victims) : static_cast<std::uint32_t>(found);
    const std::uint32_t missing = wanted & ~std::uint32_t{set.state[way]};
    hits |= (wanted & ~missing) << line * 4;
    const std::uint32_t kept = atoms ? whole_atoms(missing) : missing;
    set.state[way] = static_cast<std::uint16_t>(set.state[way] | kept);
    touch(set, way);
  }
  return static_cast<std::uint16_t>(hits);
}

std::uint16_t L2Tags::write(std::uint32_t place, std::uint32_t block, std::uint16_t mask,
                            Victims& victims) {
  Set* sets = group(place);
  std::uint32_t copied = 0;
  for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
    const std::uint32_t written = mask >> line * 4 & kLineSectors;
    if (written == 0) continue;
    Set& set = sets[line];
    const int found = find(set, block);
    const std::uint32_t way =
        found == kMiss ? allocate(set, line, block, victims) : static_cast<std::uint32_t>(found);
    std::uint32_t state = set.state[way];
    const bool was_dirty = (state >> kDirty & kLineSectors) != 0;
    copied |= (state >> kCopied & written) << line * 4;
    state = (state | written | written << kDirty) & ~(written << kCopied);
    set.state[way] = static_cast<std::uint16_t>(state);
    touch(set, way);
    if (!was_dirty && ++set.dirty_lines > dirty_ways_) clean_oldest(set, line, way, victims);
  }
  return static_cast<std::uint16_t>(copied);
}

void L2Tags::mark_copied(std::uint32_t place, std::uint32_t block, std::uint16_t mask) {
  Set* sets = group(place);
  for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
    const std::uint32_t sectors = mask >> line * 4 & kLineSectors;
    if (sectors == 0) continue;
    const int way = find(sets[line], block);
    if (way == kMiss) continue;
    std::uint16_t& state = sets[line].state[static_cast<std::size_t>(way)];
    state = static_cast<std::uint16_t>(state | sectors << kCopied);
  }
}

void L2Tags::invalidate(std::uint32_t place, std::uint32_t block, std::uint16_t mask) {
  Set* sets = group(place);
  for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
    const std::uint32_t sectors = mask >> line * 4 & kLineSectors;
    if (sectors == 0) continue;
    const int way = find(sets[line], block);
    if (way == kMiss) continue;
    std::uint16_t& state = sets[line].state[static_cast<std::size_t>(way)];
    state = static_cast<std::uint16_t>(state & ~sectors);
  }
}

std::uint16_t L2Tags::present(std::uint32_t place, std::uint32_t block) const {
  const Set* sets = group(place);
  std::uint32_t mask = 0;
  for (std::uint32_t line = 0; line < kLinesPerGroup; ++line) {
    const int way = find(sets[line], block);
    if (way == kMiss) continue;
    mask |= (sets[line].state[static_cast<std::size_t>(way)] & std::uint32_t{kLineSectors})
            << line * 4;
  }
  return static_cast<std::uint16_t>(mask);
}

std::uint64_t L2Tags::dirty_sectors() const {
  std::uint64_t n = 0;
  for (const Set& set : sets_) {
    for (const std::uint16_t state : set.state) {
      n += static_cast<std::uint64_t>(std::popcount(state >> kDirty & std::uint32_t{kLineSectors}));
    }
  }
  return n;
}

}  // namespace xpusim::memory
