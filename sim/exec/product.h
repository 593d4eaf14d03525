#pragma once

#include <cstdint>
#include <vector>

#include "sim/exec/tile.h"

namespace xpusim::exec {

/// How the operands of a matrix product lie, and how they are rounded first.
struct ProductOptions {
  bool lhs_transposed = false;  ///< [K, M] instead of [M, K]
  bool rhs_transposed = false;  ///< [N, K] instead of [K, N]
  bool tf32 = false;            ///< f32 operands lose their last 13 bits, as in the tensor cores
};

/// out = lhs * rhs + acc over the last two dimensions; leading ones are batches. Floats accumulate
/// in f32 (f64 in f64) and round once to the result's dtype; integers are exact and wrap. Leaves
/// out the tensor cores' order of summation and their narrower accumulators for f8.
void product(const Tile& lhs, const Tile& rhs, const Tile& acc, const ProductOptions& options,
             Tile& out);

/// Rows and columns from the first on of the matrix [M, K] or [K, N] that an operand stands for
/// (`transposed`: it lies the other way round), zero beyond it; of the first of a batch, in f32.
/// Empty where the values are not known.
std::vector<float> operand_corner(const Tile& operand, bool transposed, std::int64_t rows,
                                  std::int64_t columns);

/// Is told of the matrix products that a block or grid step computes: for pictures.
class ProductListener {
 public:
  virtual ~ProductListener() = default;
  virtual void step_begins() = 0;
  virtual void product(const kernel::Op& op, const Tile& lhs, const Tile& rhs,
                       const ProductOptions& options) = 0;
};

}  // namespace xpusim::exec
