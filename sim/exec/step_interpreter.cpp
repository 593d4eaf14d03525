#include "sim/exec/step_interpreter.h"

#include <algorithm>
#include <utility>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/remote.h"
#include "sim/exec/handlers/semaphores.h"
#include "sim/exec/handlers/views.h"
#include "sim/exec/product.h"

namespace xpusim::exec {
namespace {

void bind_buffer(Frame& f, std::size_t argument, const Buffer& buffer) {
  View& view = f.views[f.code->arguments[argument]];
  view = {};
  view.argument = static_cast<std::uint32_t>(argument);
  view.bytes = buffer.bytes;
  view.dtype = buffer.dtype;
  view.shape = buffer.shape;
  view.strides = row_major_strides(buffer.shape);
}

/// Gives all memref arguments the shape of their type; what nobody binds (semaphores) has no bytes.
void bind_types(Frame& f) {
  for (std::size_t k = 0; k < f.code->arguments.size(); ++k) {
    const SlotInfo& info = f.code->slots[f.code->arguments[k]];
    if (info.is_view) bind_buffer(f, k, {{}, info.dtype, info.shape});
  }
}

/// The scalar arguments that come before the first memref take the grid indices.
void set_grid_index(Frame& f, std::span<const std::int64_t> grid_index) {
  const auto& slots = f.code->arguments;
  const std::size_t n = std::min(slots.size(), grid_index.size());
  for (std::size_t k = 0; k < n && !f.code->slots[slots[k]].is_view; ++k) {
    set_integer(f.slots[slots[k]], grid_index[k]);
  }
}

class BufferStepInterpreter final : public StepInterpreter {
 public:
  BufferStepInterpreter(std::shared_ptr<const Code> code, Options options)
      : frame_(std::move(code), nullptr, options.values) {
    bind_types(frame_);
    if (const kernel::Attr bounds = frame_.code->entry->op->attr("iteration_bounds"))
      frame_.bounds = bounds->int_list();
    frame_.run_preamble();
  }

  void set_bounds(std::span<const std::int64_t> bounds) override {
    frame_.bounds.assign(bounds.begin(), bounds.end());
  }
  void bind(std::size_t argument, const Buffer& buffer) override {
    bind_buffer(frame_, argument, buffer);
  }
  void bind(std::size_t argument, DeviceMemory& memory, const Allocation& tensor) override {
    Buffer buffer;
    buffer.dtype = tensor.dtype;
    buffer.shape.assign(tensor.shape.begin(), tensor.shape.end());
    bind_buffer(frame_, argument, buffer);
    frame_.views[frame_.code->arguments[argument]].address = tensor.address;
    frame_.memory = &memory;
  }
  void listen(ProductListener* listener) override { frame_.products = listener; }
  void set_device(std::uint32_t device, std::uint32_t devices) override {
    frame_.device = device;
    frame_.devices = devices;
  }
  std::optional<Outgoing> take_outgoing() override {
    return std::exchange(frame_.outgoing, std::nullopt);
  }
  void arrive(const Outgoing& what) override { receive(frame_, what); }
  std::int64_t semaphore(std::int64_t key) override { return semaphore_count(frame_, key); }
  std::int64_t integer(const kernel::Value& scalar) const override {
    return frame_.slots[frame_.code->slot_of.at(&scalar)].bits;
  }
  void start(std::span<const std::int64_t> grid_index) override {
    set_grid_index(frame_, grid_index);
    if (frame_.products) frame_.products->step_begins();
    frame_.start();
  }
  State advance() override { return frame_.advance(); }
  void perform() override { frame_.perform(); }
  const kernel::Op* effect() const override { return frame_.effect(); }
  const View& view(const kernel::Value& memref) const override {
    return frame_.views[frame_.code->slot_of.at(&memref)];
  }
  const BlockTrace& trace() const override { return frame_.trace; }
  BlockTrace& trace() override { return frame_.trace; }
  bool finish() override {
    if (!frame_.copies.empty()) {
      const kernel::Op& op = *frame_.copies.front().op;
      frame_.error = {"the kernel ends before it has waited for this copy", op.line()};
    }
    return frame_.copies.empty();
  }
  const ExecError& error() const override { return frame_.error; }
  const WorkCounts& counts() const override { return frame_.counts; }

 private:
  Frame frame_;
};

class PreparedTransform final : public WindowTransform {
 public:
  explicit PreparedTransform(std::shared_ptr<const Code> code)
      : frame_(std::move(code), nullptr, true) {
    bind_types(frame_);
    frame_.run_preamble();
  }

  std::span<const std::int64_t> evaluate(std::span<const std::int64_t> grid_index,
                                         std::span<const Buffer> prefetch) override {
    const auto& slots = frame_.code->arguments;
    set_grid_index(frame_, grid_index);
    std::size_t next = 0;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      if (frame_.code->slots[slots[k]].is_view && next < prefetch.size()) {
        bind_buffer(frame_, k, prefetch[next++]);
      }
    }
    frame_.start();
    if (frame_.advance() != Interpreter::State::kDone) return {};
    const Instruction& end = frame_.body[frame_.pc];
    index_.clear();
    for (std::size_t k = 0; k < end.operand_count; ++k) {
      index_.push_back(frame_.operand(end, k).bits);
    }
    return index_;
  }
  const ExecError& error() const override { return frame_.error; }

 private:
  Frame frame_;
  std::vector<std::int64_t> index_;
};

}  // namespace

std::unique_ptr<StepInterpreter> StepInterpreter::make(std::shared_ptr<const Prepared> prepared,
                                                       Options options) {
  return std::make_unique<BufferStepInterpreter>(
      std::static_pointer_cast<const Code>(std::move(prepared)), options);
}

Expected<std::unique_ptr<WindowTransform>> WindowTransform::make(
    std::shared_ptr<const kernel::Module> module, const kernel::Function& function) {
  auto prepared = Prepared::make(std::move(module), function);
  if (!prepared) return fail(std::move(prepared.error()));
  return std::unique_ptr<WindowTransform>(std::make_unique<PreparedTransform>(
      std::static_pointer_cast<const Code>(std::move(*prepared))));
}

std::vector<std::int64_t> evaluate_transform(WindowTransform& transform,
                                             std::span<const std::int64_t> grid_index,
                                             std::span<const Buffer> prefetch) {
  const auto index = transform.evaluate(grid_index, prefetch);
  return {index.begin(), index.end()};
}

}  // namespace xpusim::exec
