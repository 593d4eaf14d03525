#include "models/tpu/core/mosaic_body.h"

#include <utility>

namespace xpusim::tpu {

MosaicBody::MosaicBody(std::unique_ptr<exec::StepInterpreter> interpreter,
                       std::vector<BodyArgument> arguments)
    : interpreter_(std::move(interpreter)), arguments_(std::move(arguments)) {
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
  while (true) {
    switch (interpreter_->advance()) {
      case exec::StepInterpreter::State::kDone:
        return true;
      case exec::StepInterpreter::State::kFailed:
        return false;
      case exec::StepInterpreter::State::kAtEffect:
        interpreter_->perform();
        break;
    }
  }
}

}  // namespace xpusim::tpu
