#pragma once

// The windows of a running kernel: which block lies in which copy of each, what is on its way, and
// what has to leave.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/tpu/core/grid.h"
#include "models/tpu/core/window_map.h"
#include "sim/trace/sink.h"

namespace xpusim::tpu {

/// What a copy of a window does.
struct CopyState {
  enum class Kind : std::uint8_t {
    kEmpty,    ///< it has held nothing, or what it held has been taken away
    kFilling,  ///< a DMA brings a block
    kReady,    ///< a later step's block is there
    kInUse,    ///< the current step's block
    kOld,      ///< a block that no step needs any more
    kLeaving,  ///< a DMA takes its block away
    kCount
  } kind = Kind::kEmpty;
  BlockIndex block;  ///< kEmpty: none
  bool operator==(const CopyState&) const = default;
};
std::string_view name(CopyState::Kind kind);
std::string_view meaning(CopyState::Kind kind);

/// What a window set is made of.
struct WindowSpec {
  std::string name;
  std::unique_ptr<WindowMap> map;
  bool output = false;
  std::uint32_t copies = 2;
  std::int64_t bytes = 0;                      ///< of one copy in VMEM
  std::uint64_t payload_bytes = 0;             ///< of one copy, row-major; 0: no payload is kept
  std::uint64_t tensor = 0, tensor_bytes = 0;  ///< the whole operand in HBM
};

/// Keeps the books of a core's double buffers. The core asks it what to transfer; a transfer's
/// payload moves when its completion is noted.
class WindowSet {
 public:
  WindowSet(std::vector<WindowSpec> windows, GridBox grid);

  std::uint64_t steps() const { return steps_; }
  std::uint64_t step() const { return step_; }
  std::span<const std::int64_t> grid_index() const { return index_; }
  std::size_t size() const { return windows_.size(); }
  const std::string& name(std::size_t w) const { return windows_[w].spec.name; }

  /// The transfer that brings the block of the current step (ahead 0) or of the next one (1); none
  /// where it is there already, or where there is no next step.
  std::optional<Descriptor> fetch(std::uint32_t w, int ahead);
  bool input_ready(std::uint32_t w) const { return windows_[w].arriving == 0; }
  /// The transfer that takes the current block away; none where the next step keeps it.
  std::optional<Descriptor> write_back(std::uint32_t w);
  /// Whether the copy that the next step writes is free.
  bool output_ready(std::uint32_t w) const;
  bool drained(std::uint32_t w) const;
  void complete(const Descriptor& transfer);
  /// Goes to the next step; false after the last one.
  bool advance();

  std::uint32_t copies(std::uint32_t w) const { return windows_[w].spec.copies; }
  CopyState copy_state(std::uint32_t w, std::uint32_t copy) const;
  const WindowSpec& spec(std::uint32_t w) const { return windows_[w].spec; }

  /// The copy that the current step computes on.
  std::span<std::byte> payload(std::uint32_t w);
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  std::uint64_t fetches() const { return fetches_; }
  std::uint64_t skipped_fetches() const { return skipped_; }
  std::uint64_t write_backs() const { return write_backs_; }
  /// What was moved of each tensor, fetched and written apart, and how large it is.
  struct Traffic {
    std::uint64_t moved = 0, size = 0;
  };
  using TensorTraffic = std::map<std::pair<std::uint64_t, bool>, Traffic>;
  void add_traffic(TensorTraffic& tensors) const;

 private:
  struct Copy {
    BlockIndex block;  ///< what it holds, or what is on its way
    bool leaving = false;
    std::vector<std::byte> payload;
  };
  struct Window {
    WindowSpec spec;
    std::vector<Copy> copies;
    std::uint32_t current = 0;
    bool loaded = false;                ///< the current copy's block is known
    std::optional<std::uint32_t> next;  ///< the copy that takes the next step's block
    std::uint32_t arriving = 0;         ///< fetches under way into the current copy
    std::uint32_t next_arriving = 0;
    std::uint64_t moved_bytes = 0;
  };
  bool block_at(Window& w, std::uint64_t step, BlockIndex& out);
  Descriptor transfer(std::uint32_t w, std::uint32_t copy, bool write);

  std::vector<Window> windows_;
  GridBox grid_;
  std::vector<std::int64_t> index_, scratch_;
  std::uint64_t steps_ = 1, step_ = 0;
  std::uint64_t fetches_ = 0, skipped_ = 0, write_backs_ = 0;
  std::string error_;
};

/// Bytes that a launch had to move at least: of each tensor what was fetched and what was written,
/// each capped by its size.
std::uint64_t compulsory_bytes(const WindowSet::TensorTraffic& tensors);

}  // namespace xpusim::tpu
