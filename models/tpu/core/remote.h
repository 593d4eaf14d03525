#pragma once

// What is on its way from one chip to another.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/tpu/core/dma.h"
#include "sim/exec/step_interpreter.h"

namespace xpusim::tpu {

/// A copy to another chip, or a signal. Chips run the same program on the same core, so core and
/// semaphores mean the same at both ends.
struct RemoteTransfer {
  std::uint32_t from = 0;  ///< device
  std::uint32_t core = 0;
  exec::Outgoing what;             ///< and where to
  std::vector<Run> reads, writes;  ///< in the sender's HBM and the receiver's
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> source_semaphore;  ///< the sender's own number of it

  // Its ports keep the books: in chunks of the network.
  std::uint32_t chunks = 1, begun = 0, left = 0, landed = 0;
  Cycle begin = 0;           ///< when its port took it
  std::uint8_t pending = 1;  ///< messages to cores that are still to come; then it is over
};

/// The transfers of all chips, by number: what messages between chips refer to.
class RemoteTable {
 public:
  std::uint32_t add(RemoteTransfer transfer) {
    if (free_.empty()) {
      table_.push_back(std::move(transfer));
      return static_cast<std::uint32_t>(table_.size() - 1);
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    table_[id] = std::move(transfer);
    return id;
  }
  RemoteTransfer& at(std::uint32_t id) { return table_[id]; }
  /// A core has taken note of it.
  void noted(std::uint32_t id) {
    if (--table_[id].pending > 0) return;
    table_[id] = {};
    free_.push_back(id);
  }
  bool empty() const { return free_.size() == table_.size(); }

 private:
  std::deque<RemoteTransfer> table_;
  std::vector<std::uint32_t> free_;
};

/// Message::kind between a core and its chip's port; `tag` is the transfer's number.
enum RemoteKind : std::uint16_t {
  kStartRemote = 0x110,  ///< to the port
  kRemoteLeft,           ///< to the sender's core: its source may be used again
  kRemoteArrived,        ///< to the receiver's core
};

}  // namespace xpusim::tpu
