#pragma once

// A Triton program's body and windows on the TPU.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/core/kernel_body.h"
#include "sim/exec/interpreter.h"

namespace xpusim::tpu {

/// Executes a program straight on device memory, when the first of its windows is asked for: a step
/// ahead of its computation. Its stores are visible from then on: programs of a launch may not
/// depend on each other's plain stores, so nothing can tell. Atomics whose result is used, which
/// could, are refused by the compiler.
class TritonBody : public KernelBody {
 public:
  TritonBody(std::unique_ptr<exec::Interpreter> interpreter, std::vector<StreamPlan> streams)
      : interpreter_(std::move(interpreter)), streams_(std::move(streams)) {}

  bool run(WindowSet& windows) override;
  std::uint32_t stream_count(std::uint32_t stream) override;
  void stream_runs(std::uint32_t stream, std::uint32_t n, std::vector<Run>& out) override;
  bool stream_is_output(std::uint32_t stream) const override { return streams_[stream].output; }
  std::uint16_t stream_buffer(std::uint32_t stream) const override {
    return streams_[stream].buffer;
  }
  const exec::BlockTrace& trace() const override { return steps_[current_].trace; }
  const exec::ExecError& error() const override { return interpreter_->error(); }
  const exec::WorkCounts& counts() const override { return interpreter_->counts(); }

  /// What the program of a grid step did; null when it failed.
  const exec::BlockTrace* trace_of(std::span<const std::int64_t> grid_index);

 private:
  using Program = std::array<std::int64_t, 3>;
  struct Step {
    bool valid = false;
    Program program{};
    exec::BlockTrace trace;
  };
  bool execute(const Program& program);

  std::unique_ptr<exec::Interpreter> interpreter_;
  std::vector<StreamPlan> streams_;
  std::array<Step, 2> steps_;  ///< the step that runs, and the next one
  std::size_t current_ = 0, older_ = 0;
};

/// The window of a tensor that stays on the core as a whole. It moves no payload.
class WholeTensor : public WindowMap {
 public:
  WholeTensor(std::uint64_t address, std::uint64_t bytes) : run_{address, bytes} {}

  bool block(std::span<const std::int64_t>, BlockIndex& out) override {
    out = {0};
    return true;
  }
  void runs(const BlockIndex&, std::vector<Run>& out) const override { out = {run_}; }
  void read(const BlockIndex&, std::span<std::byte>) const override {}
  void write(const BlockIndex&, std::span<const std::byte>) const override {}

 private:
  Run run_;
};

/// The window of a load or store outside loops: the runs that its execution touched. It moves no
/// payload.
class TritonWindow : public WindowMap {
 public:
  TritonWindow(TritonBody& body, std::uint32_t site) : body_(body), site_(site) {}

  bool block(std::span<const std::int64_t> grid_index, BlockIndex& out) override;
  void runs(const BlockIndex& block, std::vector<Run>& out) const override;
  void read(const BlockIndex&, std::span<std::byte>) const override {}
  void write(const BlockIndex&, std::span<const std::byte>) const override {}
  bool names_blocks() const override { return false; }

 private:
  TritonBody& body_;
  std::uint32_t site_;
  /// The last blocks that were asked for: their hash is their number.
  struct Known {
    std::int64_t hash = 0;
    std::vector<Run> runs;
  };
  std::array<Known, 4> known_;
  std::size_t turn_ = 0;
};

}  // namespace xpusim::tpu
