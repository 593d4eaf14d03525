#pragma once

// A systolic array, element by element.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace xpusim::tpu {

/// A weight-stationary array of size x size multiply-accumulate elements, stepped a cycle at a
/// time. Element (k, n) holds weight w[k][n]. In each cycle it takes an activation from its left
/// neighbour, a sum from the one above, and passes the activation on to the right and sum +
/// activation * weight downwards; row r's activation k enters element (k, 0) k cycles after its
/// first one did (the skew). `lanes` rows enter at once where a unit takes several a cycle: each
/// element then has that many multipliers with one weight. Weights are pushed into the set that is
/// not in use; a row carries the number of the set that it is multiplied with, so that a new set
/// follows the last row of the old one like a wave, without a gap. Values are f32 sums of the
/// operands given (rounded by the caller), as in the matrix units; integers up to 2^24 are exact.
/// Left out: the order of additions inside an element's adder (real units add several products at
/// once), and results beyond the array's edge.
class SystolicArray {
 public:
  SystolicArray(std::int64_t size, std::int64_t lanes);

  /// Writes one row of weights into a set.
  void set_weights(int set, std::int64_t k, std::span<const float> row);
  /// Rows that enter in this cycle: up to `lanes` of them, each of `size` activations.
  void enter(std::span<const std::vector<float>> rows, int set);
  /// One cycle passes.
  void step();

  /// A finished element of the product.
  struct Result {
    std::int64_t row = 0, column = 0;
    float value = 0;
    std::uint64_t cycle = 0;  ///< the first in which it can be read
  };
  /// What left the array's last row in the step before.
  std::span<const Result> results() const { return results_; }

  /// What an element holds after the last step.
  struct Element {
    float weight = 0, activation = 0, sum = 0;
    std::int64_t row = -1;  ///< whose activation it is; -1: none, a bubble
  };
  Element element(std::int64_t k, std::int64_t n, std::int64_t lane = 0) const;
  std::uint64_t cycle() const { return cycle_; }
  std::int64_t size() const { return size_; }

 private:
  struct Register {
    float activation = 0, sum = 0;
    std::int64_t row = -1;
    int set = 0;
  };
  struct Waiting {
    std::uint64_t entered;
    std::int64_t row;
    std::int64_t lane;
    int set;
    std::vector<float> activations;
  };
  std::size_t at(std::int64_t lane, std::int64_t k, std::int64_t n) const {
    return static_cast<std::size_t>((lane * size_ + k) * size_ + n);
  }
  Register left_of(std::int64_t lane, std::int64_t k) const;

  std::int64_t size_, lanes_;
  std::vector<float> weights_[2];
  std::vector<Register> now_, before_;
  std::vector<Waiting> waiting_;  ///< rows that are not wholly inside yet
  std::vector<Result> results_;
  std::int64_t rows_ = 0;
  std::uint64_t cycle_ = 0;
  int shown_set_ = 0;
};

}  // namespace xpusim::tpu
