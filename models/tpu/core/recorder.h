#pragma once

// What one core did, bundle by bundle, and its DMAs, window copies and grid steps: for pictures.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "models/tpu/core/activity.h"
#include "models/tpu/core/dma.h"
#include "models/tpu/core/windows.h"

namespace xpusim::tpu {

/// Keeps a window of a core's cycles: the bundle that each issued, or the reason for which none
/// did. Around it, and over the whole run where there is room for it, it keeps the grid's steps,
/// every DMA from its issue to its sync flag, and what each copy of each window held. It only
/// listens; but what it is to see has to be stepped, so the core asks it before it leaps.
class CoreRecorder {
 public:
  struct Window {
    std::optional<Cycle> first;  ///< absent: the first bundle's
    Cycle cycles = 20'000;
    std::size_t most_spans = 60'000;  ///< then the window ends
    std::size_t most_events = 6'000;  ///< DMAs and steps: older ones make way for the window's
  };
  explicit CoreRecorder(const Window& window) : window_(window), end_(window.cycles) {}

  static constexpr std::uint32_t kNoBundle = ~std::uint32_t{0};

  // What a core tells of its cycles.
  /// The first bundle can issue in this cycle. Comes before anything else is told: where the window
  /// begins depends on it.
  void begin(Cycle first_bundle);
  bool may_leap(Cycle from, Cycle until) const { return until <= first() || from >= end_; }
  Cycle first() const { return window_.first.value_or(0); }
  Cycle end() const { return end_; }
  void span(Cycle from, Cycle until, Reason state, std::uint32_t bundle);
  /// Bundle `bundle` waited from `from` for this reason and issued in cycle `until` - 1.
  void issued(Cycle from, Cycle until, Reason reason, std::uint32_t bundle);
  /// The core is through with its work.
  void finish(Cycle at);

  // What it tells of the grid and of the windows.
  void step_begins(Cycle at, const WindowSet& windows);
  void body_begins(Cycle at);
  void body_ends(Cycle at);
  /// The core has waited for a DMA.
  void waited(Cycle from, Cycle until, Reason reason, std::uint32_t line);
  /// Notes which copies of windows hold or do something else than before.
  void look(Cycle at, const WindowSet& windows);

  /// One of a stream's transfers, and how many copies its buffer has.
  struct StreamTransfer {
    std::uint32_t stream = 0, transfer = 0, copies = 1;
  };
  /// The copy of a stream's buffer that holds this transfer's block now does this.
  void look_at_stream(Cycle at, const StreamTransfer& t, CopyState::Kind kind);

  // What it and the engines tell of a DMA; `number` is what `dma_issued` gave (0: none is kept).
  std::uint32_t dma_issued(Cycle at, const Descriptor& d, std::uint32_t engine,
                           const WindowSet& windows);
  void dma_taken(std::uint32_t number, Cycle at);   ///< the engine has the descriptor
  void dma_begins(std::uint32_t number, Cycle at);  ///< its first request
  void dma_sent(std::uint32_t number, Cycle at);    ///< its last request
  void dma_done(std::uint32_t number, Cycle at);    ///< the last answer has come
  void dma_seen(std::uint32_t number, Cycle at);    ///< the core sees its flag

  struct Span {
    Cycle until = 0;
    std::uint32_t bundle = kNoBundle;
    Reason state = Reason::kIssued;
  };
  struct Step {
    Cycle begin = 0;
    std::optional<Cycle> body, body_end;
    std::uint64_t number = 0;
    std::vector<std::int64_t> index;
  };
  struct Dma {
    Descriptor::For whom = Descriptor::For::kWindow;
    std::uint32_t number = 0, slot = 0, engine = 0;  ///< slot: a window's copy, a stream's transfer
    bool write = false;
    std::uint64_t bytes = 0;
    std::size_t runs = 0;  ///< of contiguous bytes in HBM
    BlockIndex block;      ///< of a window
    std::optional<Cycle> issued, taken, begun, sent, done, seen;
  };
  struct DmaWait {
    Cycle from = 0, until = 0;
    Reason reason = Reason::kSyncWaitInput;
    std::uint32_t line = 0;  ///< of the program
  };
  struct CopySpan {
    Cycle from = 0;
    CopyState state;
  };
  const std::vector<Span>& spans() const { return spans_; }
  bool is_cut() const { return spans_.size() >= window_.most_spans; }
  const std::deque<Step>& steps() const { return steps_; }
  const std::deque<Dma>& dmas() const { return dmas_; }
  const std::deque<DmaWait>& waits() const { return waits_; }
  using Copies = std::vector<std::vector<std::vector<CopySpan>>>;  ///< [window or stream][copy]
  const Copies& copies() const { return copies_; }
  const Copies& stream_copies() const { return stream_copies_; }
  /// The cycles that steps, DMAs and copies are kept of.
  Cycle events_from() const { return events_from_; }
  Cycle events_end() const { return events_end_; }

 private:
  Dma* dma(std::uint32_t number);
  bool keeps(Cycle at);
  static void add(std::vector<CopySpan>& spans, Cycle at, CopyState state);
  static void forget(Copies& copies, Cycle from);
  std::size_t events() const { return steps_.size() + dmas_.size() + waits_.size(); }

  Window window_;
  Cycle end_;
  std::vector<Span> spans_;
  std::deque<Step> steps_;
  std::deque<Dma> dmas_;
  std::deque<DmaWait> waits_;
  std::uint32_t dropped_ = 0;  ///< DMAs before the first kept
  Copies copies_, stream_copies_;
  Cycle events_from_ = 0, events_end_ = ~Cycle{0};
};

}  // namespace xpusim::tpu
