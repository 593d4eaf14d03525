#include "models/network/collectives/region.h"

#include <algorithm>

namespace xpusim::network {

Run shard(const Run& run, std::uint32_t i, std::uint32_t n, std::uint32_t element) {
  const std::uint64_t count = run.row / element, each = count / n, more = count % n;
  const auto begin_of = [&](std::uint64_t k) { return (k * each + std::min(k, more)) * element; };
  // Bytes that are no whole element belong to the last shard.
  const std::uint64_t end = i + 1 == n ? run.row : begin_of(i + 1);
  return {run.begin + begin_of(i), end - begin_of(i), 1, 0};
}

Region blocks(std::span<const GridAxis> axes, std::uint64_t block_bytes, const Run& slice) {
  Region out = {{slice.begin, slice.row, 1, 0}};
  std::uint64_t stride = block_bytes;
  for (const GridAxis& axis : axes) {
    if (!axis.all) {
      for (Run& run : out) run.begin += axis.at * stride;
    } else if (axis.size > 1 && out.size() == 1 && out[0].rows == 1 && out[0].row == stride) {
      out[0].row *= axis.size;
    } else if (axis.size > 1 && out.size() == 1 && out[0].rows == 1) {
      out[0].rows = axis.size;
      out[0].pitch = stride;
    } else if (axis.size > 1 && out.size() == 1 && out[0].rows * out[0].pitch == stride) {
      out[0].rows *= axis.size;
    } else if (axis.size > 1) {
      const Region before = out;
      for (std::uint32_t i = 1; i < axis.size; ++i)
        for (Run run : before) {
          run.begin += i * stride;
          out.push_back(run);
        }
    }
    stride *= axis.size;
  }
  return out;
}

}  // namespace xpusim::network
