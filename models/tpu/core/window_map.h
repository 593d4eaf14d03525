#pragma once

// Where a window's block of each grid step lies in HBM, and the copy of its payload.

#include <boost/container/static_vector.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/tpu/core/dma.h"
#include "models/tpu/program/opcode.h"
#include "sim/exec/memory.h"

namespace xpusim::tpu {

/// The number of a block in each dimension; equal numbers are the same block.
using BlockIndex = boost::container::static_vector<std::int64_t, 8>;

/// A window's blocks over the grid.
class WindowMap {
 public:
  virtual ~WindowMap() = default;
  /// The block of a grid step; false when it cannot be found (`error` says why).
  virtual bool block(std::span<const std::int64_t> grid_index, BlockIndex& out) = 0;
  /// The runs of HBM that the block takes.
  virtual void runs(const BlockIndex& block, std::vector<Run>& out) const = 0;
  /// Moves the payload between HBM and the window's buffer (row-major).
  virtual void read(const BlockIndex& block, std::span<std::byte> buffer) const = 0;
  virtual void write(const BlockIndex& block, std::span<const std::byte> buffer) const = 0;
  /// Whether a BlockIndex is a place that means something to people.
  virtual bool names_blocks() const { return true; }
  const std::string& error() const { return error_; }

 protected:
  std::string error_;
};

/// An array in HBM as XLA lays it out: tiles of (8,128) elements (of fewer rows where the array has
/// fewer, of 32 for 8-bit elements, of `rows_16bit` for 16-bit ones), each contiguous, row of tiles
/// after row of tiles. Arrays of one dimension are linear. Only the time of a transfer follows this
/// layout; the simulator's own memory holds arrays row-major.
class TiledArray {
 public:
  TiledArray(std::uint64_t address, std::vector<std::int64_t> shape, std::int64_t element_bytes,
             std::int64_t rows_16bit = kSublanes);

  /// The runs of the box [low, high) of elements, merged where they touch.
  void runs(std::span<const std::int64_t> low, std::span<const std::int64_t> high,
            std::vector<Run>& out) const;
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t element_bytes() const { return element_bytes_; }
  std::uint64_t address() const { return address_; }

 private:
  std::uint64_t address_;
  std::vector<std::int64_t> shape_;
  std::int64_t element_bytes_;
  std::int64_t tile_rows_ = 1, tile_cols_ = kLanes, tiles_across_ = 1, tiles_down_ = 1;
};

/// The payload of a box of a row-major array, to or from a row-major buffer of shape `block`.
/// Elements beyond the array are not touched.
void read_box(const exec::DeviceMemory& memory, const TiledArray& array,
              std::span<const std::int64_t> low, std::span<const std::int64_t> block,
              std::span<std::byte> buffer);
void write_box(exec::DeviceMemory& memory, const TiledArray& array,
               std::span<const std::int64_t> low, std::span<const std::int64_t> block,
               std::span<const std::byte> buffer);

}  // namespace xpusim::tpu
