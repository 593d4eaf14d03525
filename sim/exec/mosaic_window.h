#pragma once

// A window of a Mosaic kernel, functionally: which block of its tensor it holds, and when blocks
// come and go.

#include <memory>
#include <span>
#include <vector>

#include "sim/exec/step_interpreter.h"

namespace xpusim::exec {

/// Whether a block, or one inside it, writes to a memref or a part of it.
bool writes_to(const kernel::Block& block, const kernel::Value& memref);

/// A tensor cut in blocks that the window's transform picks; the whole tensor where it has none.
/// Holds one block (`synchronous`) or two. Blocks that stick out of the tensor are clipped to it.
class MosaicWindow {
 public:
  /// `params`: the window's entry in `window_params`, or null.
  static Expected<MosaicWindow> make(std::shared_ptr<const kernel::Module> module,
                                     const kernel::Function& function, std::size_t argument,
                                     kernel::Attr params, DeviceMemory& memory,
                                     const Allocation& tensor);

  /// Makes room for the payload of a block; 0: none is held.
  void hold(std::uint64_t bytes);
  /// The step of these grid indices begins. False: the transform fails, or the block lies outside.
  bool go_to(std::span<const std::int64_t> grid_index, std::span<const Buffer> prefetch,
             Diagnostics& problems);
  /// Finds the next step's block, and reads it if it is a double-buffered input's.
  bool look_ahead(std::span<const std::int64_t> grid_index, bool last,
                  std::span<const Buffer> prefetch, Diagnostics& problems);
  /// The step ends: an output's block is written back if the next step has another.
  void leave(bool last);

  std::size_t argument() const { return argument_; }
  Buffer buffer();  ///< what the current step computes on

  std::uint64_t fetches = 0, skipped_fetches = 0, write_backs = 0;

 private:
  using Block = std::vector<std::int64_t>;
  bool block_at(std::span<const std::int64_t> grid_index, std::span<const Buffer> prefetch,
                Block& out, Diagnostics& problems);
  void fetch(const Block& block, std::vector<std::byte>& payload);
  void write_back();
  template <class F>
  void for_rows(const Block& block, F f) const;

  std::string name_;
  std::size_t argument_ = 0;
  SourcePosition where_;
  DeviceMemory* memory_ = nullptr;
  const Allocation* tensor_ = nullptr;
  Shape shape_;  ///< of a block
  std::shared_ptr<WindowTransform> transform_;
  bool output_ = false, synchronous_ = false;

  std::vector<std::byte> copies_[2];
  std::size_t current_ = 0;
  Block block_, next_;  ///< empty: none yet
  bool next_read_ = false;
};

}  // namespace xpusim::exec
