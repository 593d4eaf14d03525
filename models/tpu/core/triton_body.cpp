#include "models/tpu/core/triton_body.h"

#include <algorithm>

#include "models/tpu/core/access_runs.h"

namespace xpusim::tpu {
namespace {

/// The grid runs z, y, x with x fastest; a program's number is x, y, z.
std::array<std::int64_t, 3> program_number(std::span<const std::int64_t> grid_index) {
  return {grid_index[2], grid_index[1], grid_index[0]};
}

}  // namespace

bool TritonBody::run(WindowSet& windows) {
  if (!trace_of(windows.grid_index())) return false;
  const auto program = program_number(windows.grid_index());
  current_ = steps_[0].valid && steps_[0].program == program ? 0 : 1;
  return true;
}

const exec::BlockTrace* TritonBody::trace_of(std::span<const std::int64_t> grid_index) {
  const Program program = program_number(grid_index);
  for (Step& s : steps_) {
    if (s.valid && s.program == program) return &s.trace;
  }
  if (!execute(program)) return nullptr;
  Step& s = steps_[older_];  // steps are asked for in order
  older_ = 1 - older_;
  s.valid = true;
  s.program = program;
  std::swap(s.trace, interpreter_->trace());
  return &s.trace;
}

bool TritonBody::execute(const Program& program) {
  interpreter_->start(program);
  while (true) {
    switch (interpreter_->advance()) {
      case exec::Interpreter::State::kDone:
        return true;
      case exec::Interpreter::State::kFailed:
        return false;
      case exec::Interpreter::State::kAtEffect:
        interpreter_->perform();
        break;
    }
  }
}

std::uint32_t TritonBody::stream_count(std::uint32_t stream) {
  return static_cast<std::uint32_t>(trace().access_count(streams_[stream].site));
}

void TritonBody::stream_runs(std::uint32_t stream, std::uint32_t n, std::vector<Run>& out) {
  access_runs(trace().access(streams_[stream].site, n), out);
}

bool TritonWindow::block(std::span<const std::int64_t> grid_index, BlockIndex& out) {
  const exec::BlockTrace* trace = body_.trace_of(grid_index);
  if (!trace) {
    error_ = body_.error().message;
    return false;
  }
  Known& k = known_[turn_++ % known_.size()];
  k.runs.clear();
  if (trace->access_count(site_) > 0) access_runs(trace->access(site_, 0), k.runs);
  std::uint64_t hash = 14695981039346656037u;
  for (const Run& run : k.runs) {
    for (const std::uint64_t part : {run.address, run.bytes}) hash = (hash ^ part) * 1099511628211u;
  }
  k.hash = static_cast<std::int64_t>(hash);
  out = {k.hash};
  return true;
}

void TritonWindow::runs(const BlockIndex& block, std::vector<Run>& out) const {
  const auto at = std::find_if(known_.begin(), known_.end(),
                               [&](const Known& k) { return k.hash == block[0]; });
  out = at == known_.end() ? std::vector<Run>() : at->runs;
}

}  // namespace xpusim::tpu
