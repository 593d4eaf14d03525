#include "sim/exec/handlers/constants.h"

#include "sim/exec/dense.h"
#include "sim/exec/memory.h"

namespace xpusim::exec {
namespace {

void set_element(Tile& t, std::int64_t bits) {
  if (kernel::is_float(t.dtype)) {
    set_float(t, decode(t.dtype, static_cast<std::uint64_t>(bits)));
  } else {
    set_integer(t, wrap(t.dtype, bits));
  }
}

}  // namespace

kernel::Attr constant_value(const kernel::Op& op) {
  return op.name() == "arith.constant" ? op.attr("value") : nullptr;
}

Tile make_constant(const kernel::AttrData& value, const SlotInfo& slot) {
  Tile t;
  t.shape = slot.shape;
  t.dtype = slot.dtype;
  if (value.kind == kernel::AttrKind::kFloat) {
    set_float(t, rounded(t.dtype, value.real));
  } else if (value.kind != kernel::AttrKind::kDenseElements) {
    set_element(t, value.integer);
  } else if (value.splat || value.ints.size() == 1) {
    set_element(t, value.ints.empty() ? 0 : value.ints[0]);
  } else {
    std::byte* out = dense_storage(t);
    const std::size_t size = element_bytes(t);
    const std::size_t count = std::min(value.ints.size(), static_cast<std::size_t>(t.count()));
    for (std::size_t i = 0; i < count; ++i) std::memcpy(out + i * size, &value.ints[i], size);
  }
  return t;
}

}  // namespace xpusim::exec
