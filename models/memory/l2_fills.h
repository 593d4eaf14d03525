#pragma once

#include <cstdint>
#include <vector>

#include "models/memory/block_index.h"

namespace xpusim::memory {

/// The reads of one L2 slice that are on their way from memory or from a home slice, and the
/// requests that wait for them. A request for sectors that are under way joins those that wait: no
/// second read. There is no limit to their number (a real slice has one).
class L2Fills {
 public:
  /// A request that is answered when the last of its fills has come.
  struct Waiter {
    std::uint32_t tag;
    std::uint16_t from, chip;
    std::uint16_t mask;  ///< sectors of the block
    std::uint8_t line;   ///< the first line that it named
    std::uint8_t kind;
  };

  /// Sectors of a block that are under way.
  std::uint16_t under_way(std::uint32_t block) const;
  /// Lets `waiter` wait for all fills under way that hold some of `joined`, and, unless `wanted` is
  /// empty, for a new fill of `wanted`, whose number is returned (it comes back in close()).
  std::uint32_t wait(std::uint32_t block, const Waiter& waiter, std::uint16_t joined,
                     std::uint16_t wanted);
  /// A fill has come: calls answer(block, const Waiter&) for each request that waited for nothing
  /// else, and before expect(const Waiter&) for those that joined it, to bring what answering will
  /// touch into the host's cache.
  template <class F, class G>
  void close(std::uint32_t fill, F&& answer, G&& expect);
  /// Brings what close(fill) will touch into the host's cache; changes nothing else.
  void prefetch(std::uint32_t block, std::uint32_t fill) const {
    if (fill < records_.size()) engine::prefetch(&records_[fill]);
    open_.prefetch(block);
  }
  /// The same for what wait() will touch.
  void prefetch(std::uint32_t block) const { open_.prefetch(block); }
  /// What they will touch by way of what that has brought.
  void prefetch_others(std::uint32_t fill) const {
    if (fill >= records_.size()) return;
    if (const std::uint32_t i = records_[fill].others; i < links_.size()) {
      engine::prefetch(&links_[i]);
    }
  }
  void prefetch_first(std::uint32_t block) const {
    if (const std::uint32_t i = open_.chain(block); i != kNone) engine::prefetch(&records_[i]);
  }
  /// What waits first for a fill, as far as prefetch() has brought it; nullptr: no such fill.
  const Waiter* first_waiter(std::uint32_t fill) const {
    return fill < records_.size() ? &records_[fill].waiter : nullptr;
  }
  bool empty() const { return open_.empty(); }

 private:
  static constexpr std::uint32_t kNone = ~0u;

  /// A waiting request and the fill that it started, if it did.
  struct alignas(32) Record {
    std::uint32_t block;
    Waiter waiter;
    std::uint16_t fills;   ///< that it still waits for
    std::uint16_t wanted;  ///< sectors of its own fill
    std::uint32_t next;    ///< of its bucket
    std::uint32_t others;  ///< links to requests that joined its fill
  };
  static_assert(sizeof(Record) == 32);
  struct Link {
    std::uint32_t record, next;
  };

  template <class F>
  void finish_one(std::uint32_t record, F&& answer);

  BlockIndex<std::vector<Record>> open_;  ///< fills under way
  std::vector<Record> records_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> closing_;  ///< in close(): records that joined the fill
  std::vector<std::uint32_t> free_records_, free_links_;
};

template <class F>
void L2Fills::finish_one(std::uint32_t record, F&& answer) {
  Record& r = records_[record];
  if (--r.fills > 0) return;
  const std::uint32_t block = r.block;
  const Waiter done = r.waiter;
  free_records_.push_back(record);
  answer(block, done);
}

template <class F, class G>
void L2Fills::close(std::uint32_t fill, F&& answer, G&& expect) {
  open_.remove(records_, fill);
  closing_.clear();
  for (std::uint32_t link = records_[fill].others; link != kNone;) {
    const Link l = links_[link];
    engine::prefetch(&records_[l.record]);
    closing_.push_back(l.record);
    free_links_.push_back(link);
    link = l.next;
  }
  finish_one(fill, answer);
  for (const std::uint32_t record : closing_) expect(records_[record].waiter);
  for (const std::uint32_t record : closing_) finish_one(record, answer);
}

}  // namespace xpusim::memory
