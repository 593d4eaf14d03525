// What can be said of an index at compile time.

#include <numeric>

#include "models/tpu/compiler/mosaic_front.h"

namespace xpusim::tpu {

std::optional<std::int64_t> constant_of(const kernel::Value& v) {
  if (!v.def) return std::nullopt;
  const std::string_view op = v.def->name();
  if (op == "arith.constant") {
    const kernel::Attr value = v.def->attr("value");
    if (!value || value->kind != kernel::AttrKind::kInteger) return std::nullopt;
    return value->integer;
  }
  if (op == "arith.index_cast") return constant_of(*v.def->operands[0]);
  if (v.def->operands.size() != 2) return std::nullopt;
  const auto a = constant_of(*v.def->operands[0]), b = constant_of(*v.def->operands[1]);
  if (!a || !b) return std::nullopt;
  if (op == "arith.addi") return *a + *b;
  if (op == "arith.subi") return *a - *b;
  if (op == "arith.muli") return *a * *b;
  return std::nullopt;
}

std::int64_t divisor_of(const kernel::Value& v) {
  if (const auto c = constant_of(v)) return *c < 0 ? -*c : *c;
  if (!v.def) return 1;
  const std::string_view op = v.def->name();
  const auto of = [&](std::size_t i) { return divisor_of(*v.def->operands[i]); };
  if (op == "arith.index_cast") return of(0);
  if (op == "tpu.assume_multiple") return v.def->int_attr("multiple", 1);
  if (op == "arith.addi" || op == "arith.subi") return std::gcd(of(0), of(1));
  if (op == "arith.muli") return of(0) * of(1);
  return 1;
}

}  // namespace xpusim::tpu
