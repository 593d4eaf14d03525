#pragma once

#include <cstdint>
#include <vector>

#include "models/tpu/core/recorder.h"
#include "models/tpu/params.h"
#include "sim/exec/product.h"

namespace xpusim::tpu {

/// Keeps the operands of the first matrix product of the first grid step whose body begins in a
/// recorder's window: as much of them as the first weights of matrix unit 0 and the rows that go
/// over these are made of. f32 operands are rounded to bf16, the first of the parts that are
/// multiplied. Later tiles of the product, and later products, are not kept.
class ProductCapture : public exec::ProductListener {
 public:
  ProductCapture(const CoreRecorder& recorder, const MatrixParams& mxu)
      : recorder_(recorder), mxu_(mxu) {}

  void step_begins() override;
  void product(const kernel::Op& op, const exec::Tile& lhs, const exec::Tile& rhs,
               const exec::ProductOptions& options) override;

  /// Rows whose way through an array is kept at most: each is as much as the array has elements.
  static std::int64_t most_rows(const MatrixParams& mxu);

  bool has_step() const { return has_step_; }  ///< a body began in the window
  std::uint64_t step() const { return step_; }
  bool has_product() const { return depth_ > 0; }
  bool has_values() const { return !rows_.empty() && !weights_.empty(); }
  const std::vector<float>& rows() const { return rows_; }        ///< [most_rows, size]
  const std::vector<float>& weights() const { return weights_; }  ///< [size, size]
  std::int64_t row_count() const { return row_count_; }           ///< of the whole first operand
  std::int64_t depth() const { return depth_; }                   ///< over which the product sums
  std::int64_t columns() const { return columns_; }               ///< of the whole second operand
  SourcePosition line() const { return line_; }

 private:
  const CoreRecorder& recorder_;
  MatrixParams mxu_;
  bool listening_ = false, has_step_ = false;
  std::uint64_t step_ = 0;
  std::vector<float> rows_, weights_;
  std::int64_t row_count_ = 0, depth_ = 0, columns_ = 0;
  SourcePosition line_;
};

}  // namespace xpusim::tpu
