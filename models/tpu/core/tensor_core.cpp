#include "models/tpu/core/tensor_core.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/tpu/core/dma.h"
#include "models/tpu/core/recorder.h"

namespace xpusim::tpu {

using engine::kNever;

TensorCore::TensorCore(const sc_core::sc_module_name& name, const CoreParams& params,
                       std::uint32_t engines, bool leap)
    : sc_module(name),
      dma("dma", engines),
      ici("ici"),
      params_(params),
      leap_(leap),
      state_(params) {}

void TensorCore::start(const CoreJob& job) {
  job_ = job;
  const auto& lines = job.program->lines;
  activity_ = Activity(std::max<std::size_t>(1, lines.size()));
  const auto none =
      std::find_if(lines.begin(), lines.end(), [](const SourcePosition& p) { return p.line == 0; });
  no_line_ = none == lines.end() ? 0 : static_cast<std::uint32_t>(none - lines.begin());
  find_pure_loops();
}

/// Which loops do the same every time: those without a branch or a loop whose course the step's
/// execution decides.
void TensorCore::find_pure_loops() {
  const Program& program = *job_.program;
  std::vector<std::uint32_t> decisions(program.bundles.size() + 1, 0);  // before bundle b
  const auto is_decision = [](const Instruction& i) {
    return i.op == Opcode::kIf || i.op == Opcode::kLoopBySite || is_own(i.op);
  };
  for (std::size_t b = 0; b < program.bundles.size(); ++b) {
    const auto first = program.code.begin() + program.bundles[b].first;
    decisions[b + 1] = decisions[b] + static_cast<std::uint32_t>(std::count_if(
                                          first, first + program.bundles[b].count, is_decision));
  }
  repeats_ = true;
  sites_.clear();
  for (const Instruction& i : program.code) {
    if (is_own(i.op)) repeats_ = false;
    if (i.op == Opcode::kIf || i.op == Opcode::kLoopBySite) {
      sites_.push_back(static_cast<std::uint32_t>(i.value));
    }
  }
  pure_.assign(program.bundles.size(), false);
  for (std::size_t b = 0; b < program.bundles.size(); ++b) {
    const Instruction& i = program.code[program.bundles[b].first + program.bundles[b].count - 1];
    if (i.op != Opcode::kLoop && i.op != Opcode::kLoopBySite) continue;
    pure_[b] = decisions[static_cast<std::size_t>(i.target)] == decisions[b + 1];
  }
}

void TensorCore::set_trace(trace::Sink* sink, const engine::Clock& clock, std::string_view path,
                           std::uint64_t offset_fs) {
  sink_ = sink;
  clock_ = clock;
  offset_fs_ = offset_fs;
  path_ = path;
  if (!sink_) return;
  lane_ = sink_->lane(fmt::format("{}.issue", path));
  for (std::size_t w = 0; w < job_.windows->size(); ++w) {
    for (int copy = 0; copy < 2; ++copy) {
      window_lanes_.push_back(
          sink_->lane(fmt::format("{}.window.{}[{}]", path, job_.windows->name(w), copy)));
      window_begin_.push_back(0);
    }
  }
}

void TensorCore::slice(std::string_view what, Cycle begin, Cycle end) {
  if (!sink_ || end <= begin) return;
  sink_->slice(lane_, sink_->name(what), offset_fs_ + clock_.edge(begin),
               offset_fs_ + clock_.edge(end));
}

/// Whether the kernel itself asks for it.
bool TensorCore::is_own(Opcode op) {
  return op == Opcode::kStartDma || op == Opcode::kWaitDma || op == Opcode::kSync ||
         op == Opcode::kWaitSync;
}

/// Whether the outside takes part, so that it has to happen in its own cycle.
bool TensorCore::is_external(Opcode op) {
  switch (op) {
    case Opcode::kFetch:
    case Opcode::kWriteBack:
    case Opcode::kWaitIn:
    case Opcode::kWaitOut:
    case Opcode::kDrain:
    case Opcode::kBody:
    case Opcode::kStartDma:
    case Opcode::kWaitDma:
    case Opcode::kSync:
    case Opcode::kWaitSync:
    case Opcode::kHalt:
      return true;
    default:
      return false;
  }
}

bool TensorCore::is_wait(Opcode op) {
  return op == Opcode::kWaitIn || op == Opcode::kWaitOut || op == Opcode::kDrain ||
         op == Opcode::kWaitDma || op == Opcode::kWaitSync;
}

Cycle TensorCore::tick(Cycle now) {
  if (halted_ || !waiting_.empty()) return kNever;
  if (!started_) {
    started_ = true;
    if (recorder_) recorder_->begin(job_.launch_cycles);
    lose(Reason::kLaunch, job_.launch_cycles, CoreRecorder::kNoBundle);
  }
  const Program& program = *job_.program;
  while (true) {
    const Bundle& bundle = program.bundles[pc_];
    const Instruction& last = program.code[bundle.first + bundle.count - 1];
    const bool external = is_external(last.op);
    if (external && at_ > now) return at_;
    if (external) end_memo();
    if (is_wait(last.op) && !may_pass(last, now)) return kNever;
    const Cycle before = at_;
    at_ = state_.issue(program, bundle, at_, activity_);
    if (recorder_) recorder_->issued(before, at_, state_.last_wait(), pc_);
    ++stepped_;
    ++pc_;
    if (info(last.op).slot != Slot::kMisc) continue;
    if (control(last) == Next::kStop) return kNever;
    if (last.op == Opcode::kBody) begin_memo();
  }
}

/// The effect of a control instruction, once its bundle has issued.
TensorCore::Next TensorCore::control(const Instruction& i) {
  const auto window = static_cast<std::uint32_t>(i.value);
  WindowSet& windows = *job_.windows;
  switch (i.op) {
    case Opcode::kLoop:
      return enter_loop(static_cast<std::uint64_t>(i.value), i);
    case Opcode::kLoopBySite:
      return enter_loop(static_cast<std::uint64_t>(std::max<std::int64_t>(0, decision(window))), i);
    case Opcode::kEndLoop:
      end_loop(i);
      return Next::kGoOn;
    case Opcode::kIf:
      if (decision(window) == 0) jump(i.target);
      return Next::kGoOn;
    case Opcode::kElse:
      jump(i.target);
      return Next::kGoOn;
    case Opcode::kGrid:
      if (windows.steps() == 0) jump(i.target);
      if (recorder_ && windows.steps() > 0) recorder_->step_begins(at_, windows);
      return Next::kGoOn;
    case Opcode::kEndGrid:
      return end_grid(i);
    case Opcode::kFetch:
      return transfer(windows.fetch(window, i.ahead));
    case Opcode::kWriteBack:
      if (recorder_) recorder_->body_ends(at_);
      return transfer(windows.write_back(window));
    case Opcode::kBody:
      return run_body();
    case Opcode::kStartDma:
    case Opcode::kSync:
      return start_dma(i);
    case Opcode::kWaitDma:
    case Opcode::kWaitSync:
      return pass_dma(i);
    case Opcode::kHalt:
      halted_ = true;
      return Next::kStop;
    default:
      return Next::kGoOn;
  }
}

TensorCore::Next TensorCore::enter_loop(std::uint64_t trips, const Instruction& i) {
  if (trips == 0) {
    jump(i.target);
    return Next::kGoOn;
  }
  Frame f;
  f.begin = pc_ - 1;
  f.left = trips - 1;
  frames_.push_back(std::move(f));
  return Next::kGoOn;
}

/// Goes back to the loop's start while trips are left. Once two back edges find the core in the
/// same state, and the body asks nothing of the outside, every further trip is the same: they are
/// added.
void TensorCore::end_loop(const Instruction& i) {
  Frame& f = frames_.back();
  if (f.left == 0) {
    frames_.pop_back();
    return;
  }
  lose(Reason::kTakenBranch, at_ + static_cast<Cycle>(params_.latency.taken_branch), pc_ - 1);
  if (leap_ && pure_[f.begin] && f.left > 1) {
    IssueState::Snapshot state = state_.snapshot(at_);
    if (const std::uint64_t trips = f.seen && state == f.state ? trips_to_leap(f) : 0) {
      activity_.add(activity_.since(f.activity), trips);
      at_ += trips * (at_ - f.at);
      state_.restore(state, at_);
      f.left -= trips;
      f.seen = false;
    } else {
      f.seen = true;
      f.at = at_;
      f.state = std::move(state);
      f.activity = activity_;
    }
  }
  --f.left;
  jump(i.target);
}

/// How many of the trips that are left may be added at once: all but the last, as far as a recorder
/// need not see them.
std::uint64_t TensorCore::trips_to_leap(const Frame& f) const {
  const std::uint64_t all = f.left - 1;
  if (!recorder_ || recorder_->may_leap(at_, at_ + all * (at_ - f.at))) return all;
  return at_ < recorder_->first() ? (recorder_->first() - at_) / (at_ - f.at) : 0;
}

/// Charges the cycles until then to a reason, and to the line of a bundle.
void TensorCore::lose(Reason reason, Cycle until, std::uint32_t bundle) {
  const bool none = bundle == CoreRecorder::kNoBundle;
  activity_.charge(none ? no_line_ : job_.program->bundles[bundle].line, reason, until - at_);
  if (recorder_) recorder_->span(at_, until, reason, bundle);
  at_ = until;
}

void TensorCore::idle_until(Cycle end) {
  if (end <= at_) return;
  lose(Reason::kNoStep, end, CoreRecorder::kNoBundle);
}

TensorCore::Next TensorCore::run_body() {
  body_begin_ = at_ - 1;
  if (recorder_) recorder_->body_begins(at_);
  std::fill(occurrence_.begin(), occurrence_.end(), 0);
  streams_.begin_step();
  if (!job_.body || job_.body->run(*job_.windows)) return Next::kGoOn;
  halted_ = true;
  return Next::kStop;
}

TensorCore::Next TensorCore::end_grid(const Instruction& i) {
  const bool goes_on = job_.windows->advance();
  if (recorder_) {
    recorder_->body_ends(at_);
    if (goes_on) recorder_->step_begins(at_, *job_.windows);
    recorder_->look(at_, *job_.windows);
  }
  if (goes_on) {
    lose(Reason::kTakenBranch, at_ + static_cast<Cycle>(params_.latency.taken_branch), pc_ - 1);
    jump(i.target);
  }
  return Next::kGoOn;
}

std::int64_t TensorCore::decision(std::uint32_t site) {
  if (!job_.body) return 0;
  if (site >= occurrence_.size()) occurrence_.resize(site + 1, 0);
  const exec::BlockTrace& trace = job_.body->trace();
  const std::uint32_t n = occurrence_[site]++;
  return n < trace.decision_count(site) ? trace.decision(site, n) : 0;
}

}  // namespace xpusim::tpu
