#include "sim/engine/wake_wheel.h"

#include <algorithm>

namespace xpusim::engine {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) { return a.at > b.at; };

}  // namespace

void WakeWheel::resize(std::uint32_t count) {
  pending_.resize(count, kNever);
  const std::uint32_t words = (count + 63) / 64;
  if (words <= words_) return;
  std::vector<std::uint64_t> wider(std::size_t{kBuckets} * words, 0);
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    std::copy_n(bits_.begin() + bucket * words_, words_, wider.begin() + bucket * words);
  }
  bits_ = std::move(wider);
  words_ = words;
}

void WakeWheel::insert_far(std::uint32_t id, Cycle at) {
  far_.push_back({at, id});
  std::push_heap(far_.begin(), far_.end(), kLater);
  far_first_ = far_.front().at;
}

void WakeWheel::move_first_far() {
  const Far first = far_.front();
  std::pop_heap(far_.begin(), far_.end(), kLater);
  far_.pop_back();
  far_first_ = far_.empty() ? kNever : far_.front().at;
  if (pending_[first.id] == first.at) insert(first.id, first.at);
}

}  // namespace xpusim::engine
