#include "models/tpu/core/product_capture.h"

#include <algorithm>

#include "sim/exec/rounding.h"

namespace xpusim::tpu {
namespace {

constexpr std::int64_t kMostValues = 524'288;  ///< partial sums, over all rows

}  // namespace

std::int64_t ProductCapture::most_rows(const MatrixParams& mxu) {
  return std::clamp<std::int64_t>(kMostValues / (mxu.size * mxu.size), 1, 64);
}

void ProductCapture::step_begins() {
  const auto& steps = recorder_.steps();
  listening_ = !has_product() && !steps.empty() && steps.back().body >= recorder_.first() &&
               steps.back().body < recorder_.end();
  has_step_ = has_step_ || listening_;
}

void ProductCapture::product(const kernel::Op& op, const exec::Tile& lhs, const exec::Tile& rhs,
                             const exec::ProductOptions& options) {
  if (!listening_) return;
  listening_ = false;
  step_ = recorder_.steps().back().number;
  line_ = op.line();
  const std::size_t rank = lhs.shape.size();
  row_count_ = lhs.shape[rank - (options.lhs_transposed ? 1 : 2)];
  depth_ = lhs.shape[rank - (options.lhs_transposed ? 2 : 1)];
  columns_ = rhs.shape[rank - (options.rhs_transposed ? 2 : 1)];
  rows_ = exec::operand_corner(lhs, options.lhs_transposed, most_rows(mxu_), mxu_.size);
  weights_ = exec::operand_corner(rhs, options.rhs_transposed, mxu_.size, mxu_.size);
  if (lhs.dtype == exec::DType::kF32)
    exec::round_in_place(exec::DType::kBF16, rows_.data(), rows_.size());
  if (rhs.dtype == exec::DType::kF32)
    exec::round_in_place(exec::DType::kBF16, weights_.data(), weights_.size());
}

}  // namespace xpusim::tpu
