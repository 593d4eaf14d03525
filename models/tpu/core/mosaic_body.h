#pragma once

// A Mosaic kernel's body, executed grid step after grid step.

#include <memory>
#include <vector>

#include "models/tpu/core/kernel_body.h"
#include "sim/exec/step_interpreter.h"

namespace xpusim::tpu {

/// A window, scratch or SMEM argument of the body.
struct BodyArgument {
  std::size_t argument = 0;  ///< among the function's arguments
  exec::DType dtype = exec::DType::kNone;
  exec::Shape shape;
  std::int32_t window = -1;  ///< -1: `bytes` is its own memory
  std::vector<std::byte> bytes;
  std::uint64_t tensor = 0;  ///< an operand in SMEM: its address in HBM ...
  bool stored = false;       ///< ... to which it goes after the last step
};

/// Binds the windows' current copies to the step interpreter and runs the step up to each DMA that
/// the kernel starts or waits for itself, else to its end. Such a DMA's payload moves when it
/// starts (the executor names a use before the wait), its time is the DMA engine's; what goes to
/// another chip lands there when it arrives. Where other chips run the kernel too (`joined`), it
/// also stops at what they can see or signal. Operands in SMEM are there before the first step and
/// leave after the last one, at no cost of time.
class MosaicBody : public KernelBody {
 public:
  MosaicBody(std::unique_ptr<exec::StepInterpreter> interpreter,
             std::vector<BodyArgument> arguments, exec::DeviceMemory& memory,
             std::int64_t rows_16bit, bool joined);

  bool run(WindowSet& windows) override;
  std::optional<Dma> dma() override;
  bool resume() override;
  std::optional<exec::Outgoing> take_outgoing() override { return interpreter_->take_outgoing(); }
  void arrive(const exec::Outgoing& what) override { interpreter_->arrive(what); }
  bool finish() override;
  void listen(exec::ProductListener* listener) override { interpreter_->listen(listener); }
  const exec::BlockTrace& trace() const override { return interpreter_->trace(); }
  const exec::ExecError& error() const override { return interpreter_->error(); }
  const exec::WorkCounts& counts() const override { return interpreter_->counts(); }

 private:
  bool run_to_dma();
  std::optional<Dma> semaphore(const kernel::Op& op);

  exec::DeviceMemory& memory_;
  std::int64_t rows_16bit_;  ///< of tiles in HBM
  std::unique_ptr<exec::StepInterpreter> interpreter_;
  std::vector<BodyArgument> arguments_;
  bool joined_;
};

}  // namespace xpusim::tpu
