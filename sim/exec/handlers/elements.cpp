#include "sim/exec/handlers/elements.h"

#include <cstring>

#include "sim/exec/dense.h"
#include "sim/exec/memory.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

bool is_real(const Tile& t) { return !t.is_pointer && kernel::is_float(t.dtype); }

template <std::size_t kSize>
void spread_fixed(const std::byte* in, std::int64_t count, std::byte* out, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out + static_cast<std::size_t>(i * step) * kSize,
                in + static_cast<std::size_t>(i) * kSize, kSize);
  }
}

}  // namespace

void read_elements(const Tile& t, std::int64_t start, std::int64_t count, std::byte* out,
                   std::int64_t step) {
  const std::size_t size = element_bytes(t);
  if (t.form == TileForm::kDense && step == 1) {
    std::memcpy(out, t.data->data() + static_cast<std::size_t>(start) * size,
                static_cast<std::size_t>(count) * size);
    return;
  }
  std::uint64_t bits = is_splat(t) ? element_bits(t, 0) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_splat(t)) bits = element_bits(t, start + i * step);
    std::memcpy(out + static_cast<std::size_t>(i) * size, &bits, size);
  }
}

void spread_elements(const std::byte* in, std::int64_t count, std::size_t size, std::byte* out,
                     std::int64_t step) {
  switch (size) {
    case 1:
      return spread_fixed<1>(in, count, out, step);
    case 2:
      return spread_fixed<2>(in, count, out, step);
    case 4:
      return spread_fixed<4>(in, count, out, step);
    default:
      return spread_fixed<8>(in, count, out, step);
  }
}

void set_bits(Tile& t, std::uint64_t bits) {
  if (is_real(t)) {
    set_float(t, decode(t.dtype, bits));
  } else {
    const auto value = static_cast<std::int64_t>(bits);
    set_integer(t, t.is_pointer ? value : wrap(t.dtype, value));
  }
}

std::uint64_t element_bits(const Tile& t, std::int64_t linear) {
  if (t.form == TileForm::kDense) {
    std::uint64_t bits = 0;
    const std::size_t size = element_bytes(t);
    std::memcpy(&bits, t.data->data() + static_cast<std::size_t>(linear) * size, size);
    return bits;
  }
  if (is_real(t)) return encode(t.dtype, t.real);
  std::int64_t value = 0;
  read_integers(t, linear, 1, &value);
  return static_cast<std::uint64_t>(value);
}

}  // namespace xpusim::exec
