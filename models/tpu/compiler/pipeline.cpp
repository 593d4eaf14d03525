// The window pipeline that the Mosaic compiler adds to a kernel: while step i computes, the blocks
// of step i+1 arrive and the results of step i-1 leave. A block that stays is not copied again.
//
//     fetch the blocks of the first step
//     for every step of the grid:
//       start to fetch the next step's blocks, where they differ
//       wait for this step's blocks (and fetch those that only they tell the place of)
//       body
//       start to write back the outputs whose next block differs
//       wait for the write-backs of the step before
//     wait for the last write-backs

#include <utility>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/compiler/lower.h"
#include "models/tpu/compiler/scheduler.h"

namespace xpusim::tpu {
namespace {

class PipelineWriter {
 public:
  PipelineWriter(const KernelPlan& plan, const CoreParams& core, Program& program)
      : plan_(plan), core_(core), program_(program), writer_(program) {}

  Expected<void> run() {
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      if (ahead(w)) fetch(w, 0);
    }
    mark(Opcode::kGrid, 0);
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      const WindowPlan& window = plan_.windows[w];
      if (!window.output && !window.dependent) fetch(w, ahead(w) ? 1 : 0);
    }
    wait_for_inputs(false);
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      if (!plan_.windows[w].output && plan_.windows[w].dependent) fetch(w, 0);
    }
    wait_for_inputs(true);
    mark(Opcode::kBody, 0);
    if (Expected<void> body = lower(plan_.function, core_, program_); !body) return body;
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      if (!plan_.windows[w].output) continue;
      scalar_work(plan_.windows[w]);
      window(Opcode::kWriteBack, w);
    }
    for_outputs(Opcode::kWaitOut);
    mark(Opcode::kEndGrid, 0);
    for_outputs(Opcode::kDrain);
    mark(Opcode::kHalt, 0);
    return link(program_, program_.name);
  }

 private:
  bool ahead(std::size_t w) const {
    return !plan_.windows[w].output && !plan_.windows[w].synchronous;
  }
  void fetch(std::size_t w, std::int32_t ahead) {
    scalar_work(plan_.windows[w]);
    window(Opcode::kFetch, w, ahead);
  }
  void wait_for_inputs(bool dependent) {
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      const WindowPlan& p = plan_.windows[w];
      if (!p.output && p.dependent == dependent) window(Opcode::kWaitIn, w);
    }
  }
  void for_outputs(Opcode op) {
    for (std::size_t w = 0; w < plan_.windows.size(); ++w) {
      if (plan_.windows[w].output) window(op, w);
    }
  }
  void window(Opcode op, std::size_t w, std::int32_t ahead = 0) {
    Instruction i;
    i.op = op;
    i.value = static_cast<std::int64_t>(w);
    i.ahead = ahead;
    writer_.bundle(i, plan_.windows[w].line);
  }
  void mark(Opcode op, std::int64_t value) {
    Instruction i;
    i.op = op;
    i.value = value;
    writer_.bundle(i, writer_.line({}));
  }
  /// The block's index, its address and the descriptor: a chain of scalar instructions, of which
  /// two fit a bundle.
  void scalar_work(const WindowPlan& w) {
    DraftBlock block;
    for (std::int64_t n = 0; n < w.scalar_ops; ++n) {
      Draft d;
      d.op = n % 3 == 2 ? Opcode::kSMul : Opcode::kSAdd;
      d.line = w.line;
      d.dst = block.fresh(RegisterFile::kScalar);
      if (n >= 2) d.src[0] = d.dst - 2;
      block.code.push_back(d);
    }
    const auto bundles = schedule(block, core_);
    if (!bundles) return;
    for (const ScheduledBundle& b : *bundles) writer_.bundle(b.instructions, b.line);
  }

  const KernelPlan& plan_;
  const CoreParams& core_;
  Program& program_;
  ProgramWriter writer_;
};

}  // namespace

Expected<Program> compile(KernelPlan plan, const CoreParams& core) {
  Program program = std::move(plan.program);
  if (Expected<void> done = PipelineWriter(plan, core, program).run(); !done) {
    return fail(done.error());
  }
  return program;
}

Element element_of(kernel::DType dtype) {
  using kernel::DType;
  switch (dtype) {
    case DType::kF32:
      return Element::kF32;
    case DType::kBF16:
      return Element::kBf16;
    case DType::kI32:
    case DType::kI1:
    case DType::kIndex:
      return Element::kI32;
    case DType::kI16:
      return Element::kI16;
    case DType::kI8:
      return Element::kI8;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return Element::kF8;
    default:
      return Element::kNone;
  }
}

}  // namespace xpusim::tpu
