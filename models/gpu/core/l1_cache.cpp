#include "models/gpu/core/l1_cache.h"

#include <algorithm>

namespace xpusim::gpu {

namespace {
constexpr std::int64_t kLine = 128;
}

L1Cache::L1Cache(std::int64_t bytes, std::int64_t ways)
    : ways_(static_cast<std::uint32_t>(std::clamp<std::int64_t>(ways, 1, kMaxWays))) {
  const std::int64_t sets = std::max<std::int64_t>(1, bytes / (kLine * ways_));
  Set empty;
  empty.tag.fill(kNoTag);
  empty.used.fill(0);
  empty.request.fill(kNoRequest);
  empty.valid.fill(0);
  empty.pending.fill(0);
  sets_.assign(static_cast<std::size_t>(sets), empty);
}

int L1Cache::find(const Set& set, std::uint64_t tag) const {
  for (std::uint32_t w = 0; w < ways_; ++w) {
    if (set.tag[w] == tag) return static_cast<int>(w);
  }
  return -1;
}

L1Cache::Lookup L1Cache::load(std::uint64_t address, std::uint8_t sectors, std::uint16_t request) {
  const std::uint64_t tag = address / kLine;
  const std::uint32_t index = set_of(tag);
  Set& set = sets_[index];
  int way = find(set, tag);
  if (way < 0) {
    way = 0;
    for (std::uint32_t w = 1; w < ways_; ++w) {
      if (set.used[w] < set.used[static_cast<std::size_t>(way)]) way = static_cast<int>(w);
    }
    set.tag[static_cast<std::size_t>(way)] = tag;
    set.valid[static_cast<std::size_t>(way)] = 0;
    set.pending[static_cast<std::size_t>(way)] = 0;
  }
  const auto w = static_cast<std::size_t>(way);
  set.used[w] = ++clock_;
  Lookup r;
  r.line = index * kMaxWays + static_cast<std::uint32_t>(way);
  r.hit = sectors & set.valid[w];
  r.pending = sectors & set.pending[w];
  r.missing = static_cast<std::uint8_t>(sectors & ~(r.hit | r.pending));
  r.request = set.request[w];
  if (r.missing) {
    set.pending[w] |= r.missing;
    set.request[w] = request;
  }
  return r;
}

void L1Cache::fill(std::uint32_t line, std::uint64_t address, std::uint8_t sectors) {
  Set& set = sets_[line / kMaxWays];
  const std::size_t w = line % kMaxWays;
  if (set.tag[w] != address / kLine) return;
  set.valid[w] |= sectors;
  set.pending[w] &= static_cast<std::uint8_t>(~sectors);
}

void L1Cache::drop(std::uint64_t address) {
  const std::uint64_t tag = address / kLine;
  Set& set = sets_[set_of(tag)];
  if (const int way = find(set, tag); way >= 0) {
    set.tag[static_cast<std::size_t>(way)] = kNoTag;
    set.used[static_cast<std::size_t>(way)] = 0;
  }
}

}  // namespace xpusim::gpu
