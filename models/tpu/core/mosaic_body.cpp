#include "models/tpu/core/mosaic_body.h"

#include <algorithm>
#include <utility>

namespace xpusim::tpu {
namespace {

/// The runs of a slice of a tensor in HBM. Its dimensions are told by their strides.
void view_runs(const exec::DeviceMemory& memory, const exec::View& view, std::int64_t rows_16bit,
               std::vector<Run>& runs) {
  const exec::Allocation* tensor = memory.find(view.address);
  if (!tensor) return;
  const std::size_t rank = tensor->shape.size();
  std::vector<std::int64_t> low(rank), high(rank);
  std::int64_t rest = view.offset, stride = 1;
  for (std::int64_t extent : tensor->shape) stride *= extent;
  std::size_t k = 0;  // the view's next dimension
  for (std::size_t d = 0; d < rank; ++d) {
    stride /= tensor->shape[d];
    low[d] = rest / stride;
    rest %= stride;
    const bool own = k < view.shape.size() && view.strides[k] == stride;
    high[d] = low[d] + (own ? view.shape[k] : 1);
    if (own) ++k;
  }
  TiledArray(tensor->address, tensor->shape, kernel::byte_size(tensor->dtype), rows_16bit)
      .runs(low, high, runs);
}

std::uint64_t bytes_of(const exec::View& view) {
  std::int64_t n = kernel::byte_size(view.dtype);
  for (const std::int64_t extent : view.shape) n *= extent;
  return static_cast<std::uint64_t>(n);
}

}  // namespace

MosaicBody::MosaicBody(std::unique_ptr<exec::StepInterpreter> interpreter,
                       std::vector<BodyArgument> arguments, exec::DeviceMemory& memory,
                       std::int64_t rows_16bit, bool joined)
    : memory_(memory),
      rows_16bit_(rows_16bit),
      interpreter_(std::move(interpreter)),
      arguments_(std::move(arguments)),
      joined_(joined) {
  for (BodyArgument& a : arguments_) {
    if (a.window < 0) interpreter_->bind(a.argument, {a.bytes, a.dtype, a.shape});
  }
}

bool MosaicBody::run(WindowSet& windows) {
  for (const BodyArgument& a : arguments_) {
    if (a.window < 0) continue;
    const auto window = static_cast<std::uint32_t>(a.window);
    interpreter_->bind(a.argument, {windows.payload(window), a.dtype, a.shape});
  }
  interpreter_->start(windows.grid_index());
  return run_to_dma();
}

bool MosaicBody::resume() {
  interpreter_->perform();
  return run_to_dma();
}

bool MosaicBody::finish() {
  for (const BodyArgument& a : arguments_) {
    if (a.tensor != 0 && a.stored) memory_.write(a.tensor, a.bytes);
  }
  return interpreter_->finish();
}

bool MosaicBody::run_to_dma() {
  while (true) {
    switch (interpreter_->advance()) {
      case exec::StepInterpreter::State::kDone:
        return true;
      case exec::StepInterpreter::State::kFailed:
        return false;
      case exec::StepInterpreter::State::kAtEffect:
        if (dma()) return true;
        interpreter_->perform();
        break;
    }
  }
}

/// The effect at which the interpreter stands, if it is a DMA.
std::optional<KernelBody::Dma> MosaicBody::dma() {
  const kernel::Op* op = interpreter_->effect();
  if (!op) return std::nullopt;
  const bool old_wait = op->name() == "tpu.wait_dma";
  const bool wait = old_wait || op->name() == "tpu.wait_dma2";
  if (!wait && op->name() != "tpu.enqueue_dma") return semaphore(*op);
  Dma d;
  d.wait = wait;
  const kernel::Value& raised = *op->operand_of(wait ? 0 : 3);
  d.semaphore = exec::semaphore_key(interpreter_->view(raised));
  d.name = exec::semaphore_name(raised);
  const exec::View& target = interpreter_->view(*op->operand_of(old_wait ? 1 : 2));
  d.bytes = bytes_of(target);
  if (wait) return d;
  const exec::View& source = interpreter_->view(*op->operand_of(0));
  if (source.address != 0) view_runs(memory_, source, rows_16bit_, d.reads);
  if (target.address != 0) view_runs(memory_, target, rows_16bit_, d.writes);
  if (const kernel::Value* left = op->operand_of(1)) {
    d.source_semaphore = exec::semaphore_key(interpreter_->view(*left));
  }
  return d;
}

/// An operation on a counting semaphore, if others have to do with it.
std::optional<KernelBody::Dma> MosaicBody::semaphore(const kernel::Op& op) {
  const bool wait = op.name() == "tpu.sem_wait", signal = op.name() == "tpu.sem_signal";
  if (!joined_ || !(wait || op.name() == "tpu.sem_read" || (signal && op.operand_of(2)))) {
    return std::nullopt;
  }
  Dma d;
  d.wait = wait;
  d.signals = true;
  const kernel::Value& semaphore = *op.operand_of(0);
  d.semaphore = exec::semaphore_key(interpreter_->view(semaphore));
  d.name = exec::semaphore_name(semaphore);
  d.held =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, interpreter_->semaphore(d.semaphore)));
  if (wait) d.bytes = static_cast<std::uint64_t>(interpreter_->integer(*op.operand_of(1)));
  return d;
}

}  // namespace xpusim::tpu
