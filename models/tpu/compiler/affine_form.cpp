#include "models/tpu/compiler/affine_form.h"

#include <algorithm>

namespace xpusim::tpu {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a > 0 ? (a + b - 1) / b : -((-a) / b);
}

}  // namespace

bool AffineForm::is_constant() const {
  const auto zero = [](std::int64_t v) { return v == 0; };
  return pointer < 0 && std::all_of(program.begin(), program.end(), zero) &&
         std::all_of(element.begin(), element.end(), zero);
}

std::int64_t AffineForm::at_program(const std::array<std::int64_t, 3>& id) const {
  std::int64_t v = base;
  for (std::size_t k = 0; k < id.size(); ++k) v += program[k] * id[k];
  return v;
}

std::optional<AffineForm> add(const AffineForm& a, const AffineForm& b, std::int64_t sign) {
  if (b.pointer >= 0 && (a.pointer >= 0 || sign < 0)) return std::nullopt;
  AffineForm r = a;
  if (r.element.size() < b.element.size()) r.element.resize(b.element.size(), 0);
  r.base += sign * b.base;
  for (std::size_t k = 0; k < r.program.size(); ++k) r.program[k] += sign * b.program[k];
  for (std::size_t d = 0; d < b.element.size(); ++d) r.element[d] += sign * b.element[d];
  if (b.pointer >= 0) r.pointer = b.pointer;
  return r;
}

std::optional<AffineForm> multiply(const AffineForm& a, const AffineForm& b) {
  if (a.pointer >= 0 || b.pointer >= 0) return std::nullopt;
  if (!a.is_constant() && !b.is_constant()) return std::nullopt;
  const AffineForm& scale = a.is_constant() ? a : b;
  AffineForm r = a.is_constant() ? b : a;
  if (r.element.size() < scale.element.size()) r.element.resize(scale.element.size(), 0);
  r.base *= scale.base;
  for (std::int64_t& c : r.program) c *= scale.base;
  for (std::int64_t& c : r.element) c *= scale.base;
  return r;
}

AffineWindow::Place AffineWindow::place(const std::array<std::int64_t, 3>& id) const {
  Place p;
  p.first = pointer.at_program(id);
  p.low.assign(shape.size(), 0);
  p.high.assign(shape.begin(), shape.end());
  for (const AffineForm& f : mask.below) {
    const std::int64_t rest = -f.at_program(id);  // sum of element[d] * i_d must stay below it
    bool any = false;
    for (std::size_t d = 0; d < f.element.size() && d < shape.size(); ++d) {
      const std::int64_t s = f.element[d];
      if (s == 0) continue;
      any = true;
      if (s > 0) p.high[d] = std::min(p.high[d], ceil_div(rest, s));
      if (s < 0) p.low[d] = std::max(p.low[d], -rest / -s + (-rest >= 0 ? 1 : 0));
    }
    if (!any && rest <= 0) p.high.assign(shape.size(), 0);
  }
  for (std::size_t d = 0; d < shape.size(); ++d) p.high[d] = std::max(p.high[d], p.low[d]);
  return p;
}

}  // namespace xpusim::tpu
