#include "sim/exec/interpreter.h"

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"

namespace xpusim::exec {

void BlockTrace::reset(std::size_t sites) {
  accesses_.resize(sites);
  decisions_.resize(sites);
  for (auto& a : accesses_) a.clear();
  for (auto& d : decisions_) d.clear();
  phase_events_.clear();
}

namespace {

class BlockInterpreter final : public Interpreter {
 public:
  BlockInterpreter(std::shared_ptr<const Code> code, const Launch& launch, DeviceMemory& memory,
                   Options options)
      : frame_(std::move(code), &memory, options.values) {
    frame_.grid = launch.grid;
    const auto& slots = frame_.code->arguments;
    for (std::size_t k = 0; k < slots.size() && k < launch.args.size(); ++k) {
      if (launch.args[k].descriptor && frame_.code->slots[slots[k]].is_descriptor) {
        frame_.descriptors[slots[k]] = *launch.args[k].descriptor;
      } else {
        bind(frame_.slots[slots[k]], launch.args[k]);
      }
    }
    frame_.run_preamble();
  }

  void start(const std::array<std::int64_t, 3>& id) override {
    frame_.id = id;
    frame_.start_block();
  }
  State advance() override { return frame_.advance(); }
  void perform() override { frame_.perform(); }
  const kernel::Op* effect() const override { return frame_.effect(); }
  const BlockTrace& trace() const override { return frame_.trace; }
  BlockTrace& trace() override { return frame_.trace; }
  const ExecError& error() const override { return frame_.error; }
  const WorkCounts& counts() const override { return frame_.counts; }

 private:
  static void bind(Tile& slot, const Argument& a) {
    if (a.kind == Argument::Kind::kFloat) {
      set_float(slot, rounded(slot.dtype, a.real));
    } else {
      set_integer(slot, slot.is_pointer ? a.bits : wrap(slot.dtype, a.bits));
    }
  }
  Frame frame_;
};

}  // namespace

std::unique_ptr<Interpreter> Interpreter::make(std::shared_ptr<const Prepared> prepared,
                                               const Launch& launch, DeviceMemory& memory,
                                               Options options) {
  return std::make_unique<BlockInterpreter>(
      std::static_pointer_cast<const Code>(std::move(prepared)), launch, memory, options);
}

}  // namespace xpusim::exec
