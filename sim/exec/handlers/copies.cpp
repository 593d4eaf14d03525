#include "sim/exec/handlers/copies.h"

#include <algorithm>

#include "sim/exec/handlers/views.h"

namespace xpusim::exec {

bool holds_payload(const Frame& f, const View& v) {
  return v.address != 0 ? f.values && f.memory != nullptr : !v.bytes.empty();
}

std::vector<std::byte> read_view(const Frame& f, const View& v) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(v.dtype));
  std::size_t count = 1;
  for (const std::int64_t n : v.shape) count *= static_cast<std::size_t>(n);
  std::vector<std::byte> out(count * size);
  for_view_runs(v, all_of(v), [&](std::int64_t at, std::int64_t element, std::int64_t n) {
    const std::span<std::byte> to(out.data() + static_cast<std::size_t>(element) * size,
                                  static_cast<std::size_t>(n) * size);
    const std::size_t from = static_cast<std::size_t>(at) * size;
    if (v.address != 0) return f.memory->read(v.address + from, to);
    std::copy_n(v.bytes.begin() + static_cast<std::ptrdiff_t>(from), to.size(), to.begin());
  });
  return out;
}

void write_view(const Frame& f, const View& v, const std::vector<std::byte>& in) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(v.dtype));
  for_view_runs(v, all_of(v), [&](std::int64_t at, std::int64_t element, std::int64_t n) {
    const std::span<const std::byte> from(in.data() + static_cast<std::size_t>(element) * size,
                                          static_cast<std::size_t>(n) * size);
    const std::size_t to = static_cast<std::size_t>(at) * size;
    if (v.address != 0) return f.memory->write(v.address + to, from);
    std::copy_n(from.begin(), from.size(), v.bytes.begin() + static_cast<std::ptrdiff_t>(to));
  });
}

}  // namespace xpusim::exec
