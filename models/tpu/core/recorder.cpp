#include "models/tpu/core/recorder.h"

#include <algorithm>

namespace xpusim::tpu {

void CoreRecorder::begin(Cycle first_bundle) {
  if (!window_.first) window_.first = first_bundle;
  end_ = first() + window_.cycles;
}

void CoreRecorder::span(Cycle from, Cycle until, Reason state, std::uint32_t bundle) {
  from = std::max(from, first());
  until = std::min(until, end_);
  if (from >= until) return;
  if (spans_.size() >= window_.most_spans) {
    end_ = from;
    return;
  }
  spans_.push_back({until, bundle, state});
}

void CoreRecorder::issued(Cycle from, Cycle until, Reason reason, std::uint32_t bundle) {
  span(from, until - 1, reason, bundle);
  span(until - 1, until, Reason::kIssued, bundle);
}

void CoreRecorder::finish(Cycle at) {
  end_ = spans_.empty() ? first() : spans_.back().until;
  events_end_ = std::min(events_end_, at);
}

/// Whether what happens now is kept: before the window the oldest makes way, after it the books are
/// closed.
bool CoreRecorder::keeps(Cycle at) {
  if (events_end_ != ~Cycle{0}) return false;
  const std::size_t most = window_.most_events;
  if (at >= end_ && events() >= most) {
    events_end_ = at;
    return false;
  }
  if (at < first() && events() >= most / 2) {
    const Cycle from = events_from_ + (at - events_from_) / 2;
    while (!dmas_.empty() && dmas_.front().seen.value_or(at) < from) {
      dmas_.pop_front();
      ++dropped_;
    }
    while (!waits_.empty() && waits_.front().until < from) waits_.pop_front();
    while (steps_.size() > 1 && steps_[1].begin <= from) steps_.pop_front();
    forget(copies_, from);
    forget(stream_copies_, from);
    events_from_ = from;
  }
  return true;
}

void CoreRecorder::step_begins(Cycle at, const WindowSet& windows) {
  if (!keeps(at)) return;
  const auto index = windows.grid_index();
  steps_.push_back({at, {}, {}, windows.step(), {index.begin(), index.end()}});
}

void CoreRecorder::body_begins(Cycle at) {
  if (!steps_.empty() && !steps_.back().body) steps_.back().body = at;
}

void CoreRecorder::body_ends(Cycle at) {
  if (!steps_.empty() && steps_.back().body && !steps_.back().body_end) {
    steps_.back().body_end = at;
  }
}

void CoreRecorder::waited(Cycle from, Cycle until, Reason reason, std::uint32_t line) {
  if (from < until && keeps(from)) waits_.push_back({from, until, reason, line});
}

void CoreRecorder::look(Cycle at, const WindowSet& windows) {
  if (events_end_ != ~Cycle{0}) return;
  copies_.resize(windows.size());
  for (std::uint32_t w = 0; w < windows.size(); ++w) {
    copies_[w].resize(windows.copies(w));
    for (std::uint32_t c = 0; c < windows.copies(w); ++c) {
      add(copies_[w][c], at, windows.copy_state(w, c));
    }
  }
}

void CoreRecorder::look_at_stream(Cycle at, const StreamTransfer& t, CopyState::Kind kind) {
  if (events_end_ != ~Cycle{0}) return;
  if (stream_copies_.size() <= t.stream) stream_copies_.resize(t.stream + 1);
  auto& copies = stream_copies_[t.stream];
  copies.resize(t.copies);
  if (kind == CopyState::Kind::kInUse) {
    for (auto& spans : copies) {  // what the trip before used is read
      if (spans.empty() || spans.back().state.kind != kind) continue;
      add(spans, at, {CopyState::Kind::kOld, spans.back().state.block});
    }
  }
  CopyState state{kind, {}};
  if (kind != CopyState::Kind::kEmpty) state.block.push_back(t.transfer);
  add(copies[t.transfer % t.copies], at, std::move(state));
}

void CoreRecorder::add(std::vector<CopySpan>& spans, Cycle at, CopyState state) {
  if (spans.empty()) spans.push_back({0, {}});
  if (spans.back().state == state) return;
  spans.push_back({std::max(at, spans.back().from), std::move(state)});
}

/// Drops what the copies did before, but for what they did at `from`.
void CoreRecorder::forget(Copies& copies, Cycle from) {
  for (auto& window : copies) {
    for (auto& spans : window) {
      const auto later = std::find_if(spans.begin(), spans.end(),
                                      [&](const CopySpan& s) { return s.from > from; });
      if (later - spans.begin() > 1) spans.erase(spans.begin(), later - 1);
    }
  }
}

std::uint32_t CoreRecorder::dma_issued(Cycle at, const Descriptor& d, std::uint32_t engine,
                                       const WindowSet& windows) {
  if (!keeps(at)) return 0;
  Dma kept;
  kept.whom = d.whom;
  kept.number = d.number;
  kept.slot = d.slot;
  kept.engine = engine;
  kept.write = d.is_write();
  kept.bytes = d.inside;
  const std::vector<Run>& runs = d.is_write() ? d.writes : d.reads;
  for (const Run& run : runs) kept.bytes += run.bytes;
  kept.runs = runs.size();
  if (d.whom == Descriptor::For::kWindow) kept.block = windows.copy_state(d.number, d.slot).block;
  kept.issued = at;
  dmas_.push_back(kept);
  return dropped_ + static_cast<std::uint32_t>(dmas_.size());
}

CoreRecorder::Dma* CoreRecorder::dma(std::uint32_t number) {
  return number > dropped_ ? &dmas_[number - dropped_ - 1] : nullptr;
}

void CoreRecorder::dma_taken(std::uint32_t number, Cycle at) {
  if (Dma* d = dma(number)) d->taken = at;
}
void CoreRecorder::dma_begins(std::uint32_t number, Cycle at) {
  if (Dma* d = dma(number)) d->begun = at;
}
void CoreRecorder::dma_sent(std::uint32_t number, Cycle at) {
  if (Dma* d = dma(number)) d->sent = at;
}
void CoreRecorder::dma_done(std::uint32_t number, Cycle at) {
  if (Dma* d = dma(number)) d->done = at;
}
void CoreRecorder::dma_seen(std::uint32_t number, Cycle at) {
  if (Dma* d = dma(number)) d->seen = at;
}

}  // namespace xpusim::tpu
