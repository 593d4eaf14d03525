// Grid steps that do what one before did: they are added instead of being stepped.

#include "models/tpu/core/recorder.h"
#include "models/tpu/core/tensor_core.h"

namespace xpusim::tpu {

/// What this step's execution decided; false if that is too much to compare.
bool TensorCore::decisions(std::vector<std::int64_t>& out) const {
  constexpr std::size_t kMost = 64;
  if (sites_.empty()) return true;
  if (!job_.body) return false;
  const exec::BlockTrace& trace = job_.body->trace();
  for (std::uint32_t site : sites_) {
    const std::size_t count = trace.decision_count(site);
    if (out.size() + count > kMost) return false;
    out.push_back(static_cast<std::int64_t>(count));
    for (std::uint32_t n = 0; n < count; ++n) out.push_back(trace.decision(site, n));
  }
  return true;
}

/// A body that begins in the state of one before and decides the same does the same again.
void TensorCore::begin_memo() {
  recording_.decisions.clear();
  if (!leap_ || !repeats_ || !decisions(recording_.decisions)) return;
  recording_.before = state_.snapshot(at_);
  for (const BodyMemo& m : memos_) {
    if (m.decisions != recording_.decisions || m.before != recording_.before) continue;
    if (recorder_ && !recorder_->may_leap(at_, at_ + m.cycles)) return;
    activity_.add(m.activity, 1);
    at_ += m.cycles;
    state_.restore(m.after, at_);
    pc_ = m.end;
    return;
  }
  recording_now_ = true;
  recording_.activity = activity_;
  recording_.cycles = at_;
}

void TensorCore::end_memo() {
  if (body_begin_ != 0 || recording_now_) slice("body", body_begin_, at_);
  body_begin_ = 0;
  if (!recording_now_) return;
  recording_now_ = false;
  constexpr std::size_t kKept = 8;
  if (memos_.size() == kKept) memos_.erase(memos_.begin());
  BodyMemo memo = recording_;
  memo.after = state_.snapshot(at_);
  memo.cycles = at_ - recording_.cycles;
  memo.activity = activity_.since(recording_.activity);
  memo.end = pc_;
  memos_.push_back(std::move(memo));
}

}  // namespace xpusim::tpu
