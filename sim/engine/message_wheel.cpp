#include "sim/engine/message_wheel.h"

#include <algorithm>
#include <numeric>

namespace xpusim::engine {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.at != b.at ? a.at > b.at : a.order > b.order;
};

}  // namespace

MessageWheel::MessageWheel() : queues_(kBuckets) {}

void MessageWheel::grow() {
  constexpr std::uint32_t kStep = 256;
  const auto first = static_cast<std::uint32_t>(next_.size());
  next_.resize(first + kStep);
  pool_.resize(next_.size() * kChunk);
  std::iota(next_.begin() + first, next_.end(), first + 1);
  next_.back() = kNone;
  free_ = first;
}

void MessageWheel::put_far(const Message& message, std::uint32_t to, Cycle at) {
  far_.push_back({at, far_order_++, message});
  far_.back().message.to = to;
  std::push_heap(far_.begin(), far_.end(), kLater);
  far_first_ = far_.front().at;
}

void MessageWheel::move_first_far() {
  const Far first = far_.front();
  std::pop_heap(far_.begin(), far_.end(), kLater);
  far_.pop_back();
  far_first_ = far_.empty() ? kNever : far_.front().at;
  put_near(first.message, first.message.to, first.at);
}

}  // namespace xpusim::engine
