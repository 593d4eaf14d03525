#pragma once

// A Triton program's body and windows on the TPU.

#include <memory>

#include "models/tpu/compiler/affine_form.h"
#include "models/tpu/core/kernel_body.h"
#include "sim/exec/interpreter.h"

namespace xpusim::tpu {

/// Executes a program straight on device memory when its computation begins. Its stores are visible
/// from then on, a little before the DMA that stands for them: programs of a launch may not depend
/// on each other's plain stores, so nothing can tell. Atomics, which could, are refused by the
/// compiler.
class TritonBody : public KernelBody {
 public:
  explicit TritonBody(std::unique_ptr<exec::Interpreter> interpreter)
      : interpreter_(std::move(interpreter)) {}

  bool run(WindowSet& windows) override;
  const exec::BlockTrace& trace() const override { return interpreter_->trace(); }
  const exec::ExecError& error() const override { return interpreter_->error(); }
  const exec::WorkCounts& counts() const override { return interpreter_->counts(); }

 private:
  std::unique_ptr<exec::Interpreter> interpreter_;
};

/// The window of an affine pointer tile: rows of a rectangle, cut by the mask. It moves no payload.
class TritonWindow : public WindowMap {
 public:
  TritonWindow(std::uint64_t address, AffineWindow window)
      : address_(address), window_(std::move(window)) {}

  bool block(std::span<const std::int64_t> grid_index, BlockIndex& out) override;
  void runs(const BlockIndex& block, std::vector<Run>& out) const override;
  void read(const BlockIndex&, std::span<std::byte>) const override {}
  void write(const BlockIndex&, std::span<const std::byte>) const override {}

 private:
  std::uint64_t address_;
  AffineWindow window_;
};

}  // namespace xpusim::tpu
