#pragma once

// A window of a Mosaic kernel: an array in HBM, cut in blocks that the kernel's transform picks.

#include <memory>
#include <vector>

#include "models/tpu/core/window_map.h"
#include "sim/exec/step_interpreter.h"

namespace xpusim::tpu {

/// Blocks of a fixed shape; their index comes from the window's `transform_indices` function.
/// Blocks that stick out of the array are clipped to it. Without a transform the window is the
/// whole array.
class MosaicWindow : public WindowMap {
 public:
  MosaicWindow(exec::DeviceMemory& memory, const exec::Allocation& tensor,
               std::vector<std::int64_t> block, std::unique_ptr<exec::WindowTransform> transform,
               std::vector<exec::Buffer> prefetch, std::int64_t rows_16bit);

  bool block(std::span<const std::int64_t> grid_index, BlockIndex& out) override;
  void runs(const BlockIndex& block, std::vector<Run>& out) const override;
  void read(const BlockIndex& block, std::span<std::byte> buffer) const override;
  void write(const BlockIndex& block, std::span<const std::byte> buffer) const override;

 private:
  BlockIndex low(const BlockIndex& block) const;

  exec::DeviceMemory& memory_;
  TiledArray array_;
  std::vector<std::int64_t> block_;
  std::unique_ptr<exec::WindowTransform> transform_;
  std::vector<exec::Buffer> prefetch_;
};

}  // namespace xpusim::tpu
