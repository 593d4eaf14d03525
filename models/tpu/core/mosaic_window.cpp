#include "models/tpu/core/mosaic_window.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {

MosaicWindow::MosaicWindow(exec::DeviceMemory& memory, const exec::Allocation& tensor,
                           std::vector<std::int64_t> block,
                           std::unique_ptr<exec::WindowTransform> transform,
                           std::vector<exec::Buffer> prefetch, std::int64_t rows_16bit)
    : memory_(memory),
      array_(tensor.address, tensor.shape, kernel::byte_size(tensor.dtype), rows_16bit),
      block_(std::move(block)),
      transform_(std::move(transform)),
      prefetch_(std::move(prefetch)) {}

bool MosaicWindow::block(std::span<const std::int64_t> grid_index, BlockIndex& out) {
  if (!transform_) {
    out.assign(block_.size(), 0);
    return true;
  }
  const std::span<const std::int64_t> index = transform_->evaluate(grid_index, prefetch_);
  if (index.size() != block_.size()) {
    error_ = index.empty() ? transform_->error().message
                           : fmt::format("its transform gives {} indices for {} dimensions",
                                         index.size(), block_.size());
    return false;
  }
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] >= 0 && index[d] * block_[d] < array_.shape()[d]) continue;
    error_ = fmt::format("block {} of dimension {} lies outside the array", index[d], d);
    return false;
  }
  out.assign(index.begin(), index.end());
  return true;
}

BlockIndex MosaicWindow::low(const BlockIndex& block) const {
  BlockIndex at = block;
  for (std::size_t d = 0; d < at.size(); ++d) at[d] *= block_[d];
  return at;
}

void MosaicWindow::runs(const BlockIndex& block, std::vector<Run>& out) const {
  const BlockIndex from = low(block);
  BlockIndex to = from;
  for (std::size_t d = 0; d < to.size(); ++d) {
    to[d] = std::min(to[d] + block_[d], array_.shape()[d]);
  }
  array_.runs({from.data(), from.size()}, {to.data(), to.size()}, out);
}

void MosaicWindow::read(const BlockIndex& block, std::span<std::byte> buffer) const {
  const BlockIndex from = low(block);
  read_box(memory_, array_, {from.data(), from.size()}, block_, buffer);
}

void MosaicWindow::write(const BlockIndex& block, std::span<const std::byte> buffer) const {
  const BlockIndex from = low(block);
  write_box(memory_, array_, {from.data(), from.size()}, block_, buffer);
}

}  // namespace xpusim::tpu
