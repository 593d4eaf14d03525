#include "models/gpu/core/block_execution.h"

#include <utility>

namespace xpusim::gpu {

BlockExecution::BlockExecution(std::shared_ptr<const exec::Prepared> prepared,
                               const exec::Launch& launch, exec::DeviceMemory& memory,
                               exec::Interpreter::Options options)
    : prepared_(std::move(prepared)), launch_(launch), memory_(memory), options_(options) {}

exec::Interpreter* BlockExecution::take() {
  if (idle_.empty()) {
    interpreters_.push_back(exec::Interpreter::make(prepared_, launch_, memory_, options_));
    return interpreters_.back().get();
  }
  exec::Interpreter* interpreter = idle_.back();
  idle_.pop_back();
  return interpreter;
}

void BlockExecution::begin(std::uint64_t index, BlockRun& run) {
  const auto x = static_cast<std::uint64_t>(launch_.grid[0]);
  const auto y = static_cast<std::uint64_t>(launch_.grid[1]);
  run.index = index;
  run.interpreter = take();
  run.performed.assign(prepared_->site_count(), 0);
  std::swap(run.trace, run.interpreter->trace());
  run.interpreter->trace().reset(prepared_->site_count());
  run.interpreter->start({static_cast<std::int64_t>(index % x),
                          static_cast<std::int64_t>(index / x % y),
                          static_cast<std::int64_t>(index / x / y)});
  run_on(run);
}

bool BlockExecution::advance(BlockRun& run) {
  if (run.interpreter == nullptr || failed()) return false;
  std::swap(run.trace, run.interpreter->trace());
  run.interpreter->perform();
  run_on(run);
  return true;
}

/// Executes on from where the run stands, with its trace in the interpreter.
void BlockExecution::run_on(BlockRun& run) {
  const exec::Interpreter::State state = run.interpreter->advance();
  std::swap(run.trace, run.interpreter->trace());
  run.effect_site = exec::Prepared::kNoSite;
  if (state == exec::Interpreter::State::kAtEffect) {
    run.effect_site = prepared_->site(*run.interpreter->effect());
    if (run.effect_site != exec::Prepared::kNoSite) {
      run.effect_occurrence = run.performed[run.effect_site]++;
    }
    return;
  }
  if (state == exec::Interpreter::State::kFailed && !error_) error_ = run.interpreter->error();
  idle_.push_back(std::exchange(run.interpreter, nullptr));
}

void BlockExecution::end(BlockRun& run) {
  while (advance(run)) {
  }
}

exec::WorkCounts BlockExecution::counts() const {
  exec::WorkCounts sum;
  for (const auto& i : interpreters_) sum.add(i->counts());
  return sum;
}

}  // namespace xpusim::gpu
