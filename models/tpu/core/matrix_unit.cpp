#include "models/tpu/core/matrix_unit.h"

#include <algorithm>

namespace xpusim::tpu {
namespace {

constexpr std::size_t kCompactAt = 1024;  ///< popped results kept at most

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::uint32_t distance(Cycle at, Cycle now) {
  return at > now ? static_cast<std::uint32_t>(at - now) : 0;
}

}  // namespace

std::int64_t register_rows(Element element) { return is_8bit(element) ? 4 * kSublanes : kSublanes; }

MatrixUnit::MatrixUnit(const MatrixParams& params)
    : size_(params.size),
      rows_per_cycle_(params.rows_per_cycle),
      rows_per_cycle_8bit_(std::max<std::int64_t>(1, params.rows_per_cycle_8bit)),
      rows_per_cycle_f8_(std::max<std::int64_t>(1, params.rows_per_cycle_f8)),
      push_rows_per_cycle_(params.push_rows_per_cycle),
      column_registers_(ceil_div(params.size, kLanes)) {}

std::int64_t MatrixUnit::rate(Element element) const {
  if (element == Element::kF8) return rows_per_cycle_f8_;
  return element == Element::kI8 ? rows_per_cycle_8bit_ : rows_per_cycle_;
}

/// Weights of 128 columns come 16 bits wide; four times as many 8-bit ones fit, and transposed ones
/// take twice as long.
Cycle MatrixUnit::push_cycles(Element element, bool transposed) const {
  const std::int64_t rows = std::min<std::int64_t>(register_rows(element), size_);
  const std::int64_t width = is_8bit(element) ? 4 : 1;
  return static_cast<Cycle>(
      ceil_div(rows * column_registers_ * (transposed ? 2 : 1), push_rows_per_cycle_ * width));
}

Cycle MatrixUnit::row_cycles(Element element) const {
  return static_cast<Cycle>(ceil_div(register_rows(element), rate(element)));
}

/// From a row's entry to its results in a register of columns.
Cycle MatrixUnit::column_delay(std::int64_t column_register) const {
  const std::int64_t columns = std::min<std::int64_t>(size_, (column_register + 1) * kLanes);
  return static_cast<Cycle>(size_ + columns - 1);
}

Cycle MatrixUnit::latency(Element element) const {
  return row_cycles(element) - 1 + column_delay(column_registers_ - 1);
}

void MatrixUnit::push(const Instruction& i, Cycle at) {
  push_free_ = at + push_cycles(i.element, i.transposed);
  weights_ready_[i.set] = std::max(weights_ready_[i.set], push_free_);
}

void MatrixUnit::multiply(const Instruction& i, Cycle at) {
  path_free_ = at + row_cycles(i.element);
  set_free_[i.set] = std::max(set_free_[i.set], path_free_);
  if (i.keep) return;
  for (std::int64_t r = kSublanes; r <= register_rows(i.element); r += kSublanes) {
    const Cycle last_row = at + static_cast<Cycle>((r - 1) / rate(i.element));
    for (std::int64_t c = 0; c < column_registers_; ++c) {
      ready_.push_back(last_row + column_delay(c));
    }
  }
}

void MatrixUnit::pop() {
  ++first_;
  if (first_ < kCompactAt && first_ < ready_.size()) return;
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

void MatrixUnit::snapshot(Cycle now, std::vector<std::uint32_t>& out) const {
  for (Cycle c :
       {push_free_, path_free_, set_free_[0], set_free_[1], weights_ready_[0], weights_ready_[1]}) {
    out.push_back(distance(c, now));
  }
  out.push_back(static_cast<std::uint32_t>(results()));
  for (std::size_t k = first_; k < ready_.size(); ++k) out.push_back(distance(ready_[k], now));
}

const std::uint32_t* MatrixUnit::restore(const std::uint32_t* in, Cycle now) {
  for (Cycle* c : {&push_free_, &path_free_, &set_free_[0], &set_free_[1], &weights_ready_[0],
                   &weights_ready_[1]}) {
    *c = now + *in++;
  }
  ready_.resize(*in++);
  first_ = 0;
  for (Cycle& c : ready_) c = now + *in++;
  return in;
}

}  // namespace xpusim::tpu
