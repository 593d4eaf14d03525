#pragma once

// The engine of an SM that copies boxes of tensors to and from shared memory.

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "models/gpu/core/lsu.h"
#include "sim/exec/interpreter.h"

namespace xpusim::gpu {

/// Messages of the TMA engine carry its own tags.
inline constexpr std::uint32_t kTmaTag = 1u << 31;
inline bool is_of_tma(const engine::Message& m) { return (m.tag & kTmaTag) != 0; }

/// What a copy has come to.
struct TmaEvent {
  enum Kind : std::uint8_t {
    kArrived,    ///< a box lies in shared memory from `at` on
    kRead,       ///< a box has been read from shared memory, at `at`
    kPerformed,  ///< a box has been written to memory
  };
  Kind kind = kArrived;
  WarpRef who;  ///< kRead: `scoreboard` is the number of the copy's group
  std::int64_t phase = exec::kNoPhase;
  std::uint32_t at = 0;
};

/// Boxes one after another in the order of their instructions, each as requests of the lines that
/// its rows touch: a line every `line_interval` cycles, as far as there is room for lines under
/// way. What comes is written to shared memory through the data stage. What of a box lies outside
/// its tensor asks for nothing. Requests are dated ahead, so that nothing has to happen between
/// two responses. Left out: swizzles and bank conflicts, multicast, a limit on boxes that wait,
/// the bandwidth from the L2 that loads use at the same time but what the network itself limits,
/// which descriptor a copy uses (the SM's first copy waits for one from memory, no other does).
class Tma {
 public:
  Tma(const TmaParams& p, Lsu& lsu) : params_(p), lsu_(lsu) {}
  /// Requests go into `outbox`, to be sent in their order.
  void connect(std::vector<engine::Sending>& outbox, std::uint32_t component_id) {
    outbox_ = &outbox;
    component_ = component_id;
  }

  /// Begins a copy at `now`. Returns whether memory will answer with kPerformed.
  bool begin(const exec::Access& access, const WarpRef& who, std::uint32_t now);
  void receive(const engine::Message& message, std::uint32_t now);
  /// What has come of copies since it was last asked.
  const std::vector<TmaEvent>& take_events() {
    std::swap(events_, taken_);
    events_.clear();
    return taken_;
  }

  /// Messages sent, and sectors in them and their responses.
  std::uint64_t messages() const { return messages_; }
  std::uint64_t sectors_requested() const { return sectors_requested_; }
  std::uint64_t sectors_done() const { return sectors_done_; }
  std::uint32_t lines_under_way() const { return lines_; }

 private:
  struct Request {
    std::uint64_t address;
    std::uint32_t sectors, bytes;
  };
  struct Box {
    std::vector<Request> requests;
    std::uint32_t next = 0;   // request to be sent
    std::uint32_t left = 0;   // responses that have to come
    std::uint32_t start = 0;  // earliest first request
    std::uint32_t ready = 0;  // end of what has come, or has been read
    std::uint16_t kind = 0;   // of its messages
    std::int64_t phase = exec::kNoPhase;
    WarpRef who;
  };

  void cut(const exec::Access& access, Box& box);
  void add_row(std::uint64_t address, std::uint64_t bytes, Box& box);
  void send(std::uint32_t now);
  bool send_box(std::uint32_t id, std::uint32_t now);
  void end(std::uint32_t id, TmaEvent::Kind kind, std::uint32_t at);

  const TmaParams& params_;
  Lsu& lsu_;
  std::vector<engine::Sending>* outbox_ = nullptr;
  std::uint32_t component_ = 0;
  std::uint32_t free_ = 0;                     // when the engine can send the next request
  std::uint32_t descriptor_ready_ = kBlocked;  // kBlocked: none was asked for
  std::uint32_t lines_ = 0;                    // under way
  std::vector<Box> boxes_;
  std::vector<std::uint32_t> free_boxes_;
  std::deque<std::uint32_t> waiting_;  // boxes that are not wholly sent
  std::vector<TmaEvent> events_, taken_;
  std::uint64_t messages_ = 0, sectors_requested_ = 0, sectors_done_ = 0;
};

}  // namespace xpusim::gpu
