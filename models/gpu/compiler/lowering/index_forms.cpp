#include "models/gpu/compiler/lowering/index_forms.h"

#include <algorithm>

namespace xpusim::gpu {

std::optional<std::int64_t> constant_of(Lowering& l, const IndexForm& f) {
  for (auto factor : f.factors) {
    if (factor != 0) return std::nullopt;
  }
  if (f.scalar == kNoScalar) return f.offset;
  std::int64_t value;
  if (l.scalars().is_constant(f.scalar, &value)) return value + f.offset;
  return std::nullopt;
}

bool is_scalar_form(const IndexForm& f) {
  return std::all_of(f.factors.begin(), f.factors.end(), [](auto x) { return x == 0; });
}

ScalarId whole_scalar(Lowering& l, const IndexForm& f) {
  const ScalarId offset = l.scalars().constant(f.offset);
  return f.scalar == kNoScalar ? offset : l.scalars().add(f.scalar, offset);
}

IndexForm add_forms(Lowering& l, const IndexForm& a, const IndexForm& b) {
  IndexForm sum = a.layout ? a : b;
  const IndexForm& other = a.layout ? b : a;
  sum.offset += other.offset;
  for (std::size_t d = 0; d < other.factors.size(); ++d) sum.factors[d] += other.factors[d];
  if (sum.scalar == kNoScalar) {
    sum.scalar = other.scalar;
  } else if (other.scalar != kNoScalar) {
    sum.scalar = l.scalars().add(sum.scalar, other.scalar);
  }
  return sum;
}

IndexForm scale_form(Lowering& l, IndexForm f, std::int64_t by) {
  f.offset *= by;
  for (auto& factor : f.factors) factor *= by;
  if (f.scalar != kNoScalar) f.scalar = l.scalars().multiply(f.scalar, l.scalars().constant(by));
  return f;
}

}  // namespace xpusim::gpu
