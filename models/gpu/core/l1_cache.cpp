#include "models/gpu/core/l1_cache.h"

#include <algorithm>

namespace xpusim::gpu {

namespace {
constexpr std::int64_t kLineBytes = 128;
constexpr std::uint8_t kAllSectors = 0xf;
}  // namespace

L1Cache::L1Cache(std::int64_t bytes, std::int64_t ways)
    : ways_(static_cast<std::uint32_t>(std::clamp<std::int64_t>(ways, 1, kMaxWays))) {
  const std::int64_t lines = std::min<std::int64_t>(bytes / kLineBytes, 0xffff / kMaxWays * ways_);
  Set empty;
  empty.tag.fill(kNoTag);
  empty.request.fill(kNoRequest);
  empty.sectors.fill(0);
  for (std::uint32_t w = 0; w < kMaxWays; ++w) empty.order[w] = static_cast<std::uint8_t>(w);
  sets_.assign(static_cast<std::size_t>(std::max<std::int64_t>(1, lines / ways_)), empty);
}

std::uint32_t L1Cache::find(const Set& set, std::uint32_t tag) const {
  std::uint32_t w = 0;
  while (w < ways_ && set.tag[w] != tag) ++w;
  return w;
}

void L1Cache::touch(Set& set, std::uint32_t way) {
  std::uint32_t at = 0;
  while (set.order[at] != way) ++at;
  for (; at > 0; --at) set.order[at] = set.order[at - 1];
  set.order[0] = static_cast<std::uint8_t>(way);
}

/// The way of the line, which is the last used one now; the oldest makes room for a new one.
std::uint32_t L1Cache::take(Set& set, std::uint32_t tag) {
  std::uint32_t w = find(set, tag);
  if (w == ways_) {
    w = set.order[ways_ - 1];
    set.tag[w] = tag;
    set.sectors[w] = 0;
  }
  touch(set, w);
  return w;
}

L1Cache::Lookup L1Cache::load(std::uint64_t address, std::uint8_t sectors, std::uint16_t request) {
  const std::uint32_t tag = tag_of(address);
  Set& set = set_of(tag);
  const std::uint32_t w = take(set, tag);
  Lookup r;
  r.line = static_cast<Line>((&set - sets_.data()) * kMaxWays + w);
  r.hit = sectors & set.sectors[w] & kAllSectors;
  r.pending = static_cast<std::uint8_t>(sectors & set.sectors[w] >> 4);
  r.missing = static_cast<std::uint8_t>(sectors & ~(r.hit | r.pending));
  r.request = set.request[w];
  if (r.missing) {
    set.sectors[w] = static_cast<std::uint8_t>(set.sectors[w] | r.missing << 4);
    set.request[w] = request;
  }
  return r;
}

void L1Cache::store(std::uint64_t address, std::uint8_t sectors) {
  const std::uint32_t tag = tag_of(address);
  Set& set = set_of(tag);
  const std::uint32_t w = take(set, tag);
  set.sectors[w] = static_cast<std::uint8_t>((set.sectors[w] & ~(sectors << 4)) | sectors);
}

void L1Cache::fill(Line line, std::uint64_t address, std::uint8_t sectors) {
  Set& set = sets_[line / kMaxWays];
  const std::size_t w = line % kMaxWays;
  if (set.tag[w] != tag_of(address)) return;
  const auto on_their_way = static_cast<std::uint8_t>(set.sectors[w] & ~(sectors << 4));
  set.sectors[w] = static_cast<std::uint8_t>(on_their_way | sectors);
}

void L1Cache::clear() {
  for (Set& set : sets_) set.tag.fill(kNoTag);
}

void L1Cache::drop(std::uint64_t address) {
  const std::uint32_t tag = tag_of(address);
  Set& set = set_of(tag);
  const std::uint32_t w = find(set, tag);
  if (w < ways_) set.tag[w] = kNoTag;
}

}  // namespace xpusim::gpu
