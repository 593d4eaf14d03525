#include "models/tpu/core/systolic_array.h"

#include <algorithm>

namespace xpusim::tpu {

SystolicArray::SystolicArray(std::int64_t size, std::int64_t lanes) : size_(size), lanes_(lanes) {
  for (auto& set : weights_) set.assign(static_cast<std::size_t>(size * size), 0);
  now_.resize(static_cast<std::size_t>(lanes * size * size));
  before_ = now_;
}

void SystolicArray::set_weights(int set, std::int64_t k, std::span<const float> row) {
  std::copy(row.begin(), row.end(), weights_[set].begin() + k * size_);
}

void SystolicArray::enter(std::span<const std::vector<float>> rows, int set) {
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    waiting_.push_back({cycle_, rows_++, static_cast<std::int64_t>(lane), set, rows[lane]});
  }
}

/// What enters row k of the array in this cycle.
SystolicArray::Register SystolicArray::left_of(std::int64_t lane, std::int64_t k) const {
  for (const Waiting& w : waiting_) {
    if (w.lane == lane && w.entered + static_cast<std::uint64_t>(k) == cycle_) {
      return {w.activations[static_cast<std::size_t>(k)], 0, w.row, w.set};
    }
  }
  return {};
}

void SystolicArray::step() {
  before_.swap(now_);
  results_.clear();
  for (std::int64_t lane = 0; lane < lanes_; ++lane) {
    for (std::int64_t k = 0; k < size_; ++k) {
      for (std::int64_t n = 0; n < size_; ++n) {
        Register r = n == 0 ? left_of(lane, k) : before_[at(lane, k, n - 1)];
        r.sum = k == 0 ? 0 : before_[at(lane, k - 1, n)].sum;
        if (r.row >= 0) {
          r.sum += r.activation * weights_[r.set][static_cast<std::size_t>(k * size_ + n)];
          shown_set_ = r.set;
        }
        now_[at(lane, k, n)] = r;
        if (k == size_ - 1 && r.row >= 0) results_.push_back({r.row, n, r.sum, cycle_ + 1});
      }
    }
  }
  ++cycle_;
  std::erase_if(waiting_, [&](const Waiting& w) {
    return w.entered + static_cast<std::uint64_t>(size_) <= cycle_;
  });
}

SystolicArray::Element SystolicArray::element(std::int64_t k, std::int64_t n,
                                              std::int64_t lane) const {
  const Register& r = now_[at(lane, k, n)];
  const int set = r.row >= 0 ? r.set : shown_set_;
  return {weights_[set][static_cast<std::size_t>(k * size_ + n)], r.activation, r.sum, r.row};
}

}  // namespace xpusim::tpu
