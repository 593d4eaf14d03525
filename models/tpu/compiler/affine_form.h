#pragma once

// What a Triton kernel's index, pointer and mask tiles are, as far as they are affine in the
// program's number and the element's coordinates.

#include <array>
#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace xpusim::tpu {

/// base + sum of program[k] * id_k + sum of element[d] * i_d; a pointer counts elements from the
/// argument's address.
struct AffineForm {
  std::int64_t base = 0;
  std::array<std::int64_t, 3> program{};
  boost::container::static_vector<std::int64_t, 4> element;  ///< by tensor dimension
  std::int32_t pointer = -1;  ///< the argument that it points into; -1: an integer

  bool operator==(const AffineForm&) const = default;
  bool is_constant() const;
  std::int64_t at_program(const std::array<std::int64_t, 3>& id) const;
};

/// Sums where both are defined: at most one of them is a pointer, and tensors have equal rank.
std::optional<AffineForm> add(const AffineForm& a, const AffineForm& b, std::int64_t sign = 1);
/// Products of a form and a constant.
std::optional<AffineForm> multiply(const AffineForm& a, const AffineForm& b);

/// True where every one of its forms is below zero.
struct AffineMask {
  std::vector<AffineForm> below;
  bool operator==(const AffineMask&) const = default;
};

/// A rectangle of memory that depends on the program: what a load or store of pointer tiles
/// touches.
struct AffineWindow {
  AffineForm pointer;
  std::vector<std::int64_t> shape;
  std::int64_t element_bytes = 4;
  AffineMask mask;

  /// Where the elements of one program lie: the first element, and the box that the mask leaves.
  struct Place {
    std::int64_t first = 0;
    boost::container::static_vector<std::int64_t, 4> low, high;
  };
  Place place(const std::array<std::int64_t, 3>& id) const;
};

}  // namespace xpusim::tpu
