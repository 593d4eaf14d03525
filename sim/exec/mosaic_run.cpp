#include "sim/exec/mosaic_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/exec/handlers/views.h"
#include "sim/exec/mosaic_window.h"
#include "sim/exec/step_interpreter.h"

namespace xpusim::exec {
namespace {

using kernel::Op;
using kernel::Value;

std::uint64_t bytes_of(const kernel::Type memref) {
  return static_cast<std::uint64_t>(memref->count() * kernel::byte_size(memref->dtype));
}

class MosaicRun {
 public:
  MosaicRun(const Launch& launch, DeviceMemory& memory, Interpreter::Options options)
      : launch_(launch), memory_(memory), options_(options), function_(*launch.function) {}

  Expected<MosaicResult> run() {
    if (auto ready = prepare(); !ready) return fail(ready.error());
    std::uint64_t steps = 1;
    for (const std::int64_t extent : grid_) steps *= static_cast<std::uint64_t>(extent);
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (!begin_step(step, steps) || !run_body() || !end_step(step + 1 == steps))
        return fail(problems_);
      ++result_.steps;
    }
    if (!interpreter_->finish())
      return fail(interpreter_->error().line, interpreter_->error().message);
    result_.counts = interpreter_->counts();
    for (const MosaicWindow& w : windows_) {
      result_.fetches += w.fetches;
      result_.skipped_fetches += w.skipped_fetches;
      result_.write_backs += w.write_backs;
    }
    return result_;
  }

 private:
  Expected<void> prepare() {
    grid();
    const Op& f = *function_.op;
    const auto prefetch = static_cast<std::size_t>(f.int_attr("scalar_prefetch"));
    const auto scratch = static_cast<std::size_t>(f.int_attr("scratch_operands"));
    const std::size_t count = function_.arg_count(), first = grid_.size() + prefetch;
    if (first + scratch > count || launch_.args.size() < count - scratch - grid_.size()) {
      problem(f.line(),
              fmt::format("{} arguments for {} grid dimensions, {} scalar-prefetch and {} "
                          "scratch operands, and {} operands given",
                          count, grid_.size(), prefetch, scratch, launch_.args.size()));
    }
    if (problems_.has_errors()) return fail(problems_);
    auto prepared = Prepared::make(launch_.module, function_);
    if (!prepared) return fail(prepared.error());
    interpreter_ = StepInterpreter::make(std::move(*prepared), {options_.values});
    interpreter_->set_bounds(grid_);
    storage_.reserve(count);
    for (std::size_t a = grid_.size(); a < first; ++a) prefetch_operand(a);
    for (std::size_t a = first; a < count - scratch; ++a) operand(a, a - first);
    for (std::size_t a = count - scratch; a < count; ++a) scratch_operand(a);
    if (problems_.has_errors()) return fail(problems_);
    return {};
  }

  void problem(const SourcePosition& where, std::string message) {
    problems_.error(where, std::move(message));
  }
  const Value& argument(std::size_t a) const { return *function_.entry().args[a]; }
  bool in_space(const Value& v, std::string_view space) const {
    const kernel::Attr attr = v.type->memory_space;
    return attr && attr->text.find(space) != std::string::npos;
  }

  void grid() {
    const Op& f = *function_.op;
    if (const kernel::Attr bounds = f.attr("iteration_bounds")) grid_ = bounds->int_list();
    for (std::size_t d = 0; d < grid_.size(); ++d) {
      if (grid_[d] < 0 && d < launch_.grid.size()) grid_[d] = launch_.grid[d];
      if (grid_[d] < 0)
        problem(f.line(), fmt::format("the extent of grid dimension {} is not given", d));
    }
  }

  const Allocation* tensor(std::size_t a) {
    const Value& v = argument(a);
    const Argument& given = launch_.args[a - grid_.size()];
    const Allocation* t = given.kind == Argument::Kind::kPointer
                              ? memory_.find(static_cast<std::uint64_t>(given.bits))
                              : nullptr;
    if (!t || v.type->kind != kernel::TypeKind::kMemRef || t->dtype != v.type->dtype) {
      problem(function_.op->line(), fmt::format("operand {} ('{}') needs a tensor of its type, {}",
                                                a - grid_.size(), name(v), v.type->text));
      return nullptr;
    }
    return t;
  }
  static std::string name(const Value& v) {
    const std::string_view named = kernel::loc_name(v.loc);
    return std::string(named.empty() ? std::string_view(v.name) : named);
  }

  /// Memory of an argument's own, for the whole launch.
  std::span<std::byte> own_memory(std::size_t a, bool held) {
    const kernel::Type type = argument(a).type;
    storage_.emplace_back(held ? bytes_of(type) : 0, kUnwrittenByte);
    Buffer buffer{storage_.back(), type->dtype, {}};
    buffer.shape.assign(type->shape.begin(), type->shape.end());
    interpreter_->bind(a, buffer);
    return storage_.back();
  }
  bool holds(const kernel::Type memref) const {
    return options_.values || kernel::is_integer(memref->dtype);
  }

  /// Scalar-prefetch operands are in SMEM before the first step.
  void prefetch_operand(std::size_t a) {
    const Allocation* t = tensor(a);
    if (!t) return;
    if (t->bytes != bytes_of(argument(a).type)) {
      return problem(
          function_.op->line(),
          fmt::format("operand '{}' has another size than its tensor", name(argument(a))));
    }
    const std::span<std::byte> bytes = own_memory(a, true);
    memory_.read(t->address, bytes);
    Buffer buffer{bytes, t->dtype, {}};
    buffer.shape.assign(t->shape.begin(), t->shape.end());
    prefetch_.push_back(std::move(buffer));
  }

  void operand(std::size_t a, std::size_t number) {
    const Value& v = argument(a);
    const Allocation* t = tensor(a);
    if (!t) return;
    if (in_space(v, "any") || in_space(v, "hbm")) return interpreter_->bind(a, memory_, *t);
    const kernel::Attr all = function_.op->attr("window_params");
    const kernel::Attr own = all && number < all->elements.size() ? all->elements[number] : nullptr;
    auto window = MosaicWindow::make(launch_.module, function_, a, own, memory_, *t);
    if (!window) return problems_.append(window.error());
    window->hold(holds(v.type) ? bytes_of(v.type) : 0);
    windows_.push_back(std::move(*window));
  }

  void scratch_operand(std::size_t a) {
    const Value& v = argument(a);
    if (v.type->kind != kernel::TypeKind::kMemRef)
      return problem(function_.op->line(), "a scratch operand is no memref");
    if (v.type->dtype != DType::kNone) own_memory(a, holds(v.type));
  }

  std::vector<std::int64_t> index_at(std::uint64_t step) const {
    std::vector<std::int64_t> index(grid_.size());
    for (std::size_t d = grid_.size(); d-- > 0;) {
      index[d] = static_cast<std::int64_t>(step % static_cast<std::uint64_t>(grid_[d]));
      step /= static_cast<std::uint64_t>(grid_[d]);
    }
    return index;
  }

  /// Brings each window to this step's block, and begins to fetch the next step's.
  bool begin_step(std::uint64_t step, std::uint64_t steps) {
    const std::vector<std::int64_t> index = index_at(step);
    for (MosaicWindow& w : windows_) {
      if (!w.go_to(index, prefetch_, problems_)) return false;
    }
    const bool last = step + 1 == steps;
    const std::vector<std::int64_t> next = last ? index : index_at(step + 1);
    for (MosaicWindow& w : windows_) {
      if (!w.look_ahead(next, last, prefetch_, problems_)) return false;
      interpreter_->bind(w.argument(), w.buffer());
    }
    interpreter_->start(index);
    return true;
  }

  bool run_body() {
    while (true) {
      switch (interpreter_->advance()) {
        case StepInterpreter::State::kDone:
          return true;
        case StepInterpreter::State::kFailed:
          problem(interpreter_->error().line, interpreter_->error().message);
          return false;
        case StepInterpreter::State::kAtEffect:
          interpreter_->perform();
          break;
      }
    }
  }

  bool end_step(bool last) {
    for (MosaicWindow& w : windows_) w.leave(last);
    return true;
  }

  const Launch& launch_;
  DeviceMemory& memory_;
  Interpreter::Options options_;
  const kernel::Function& function_;
  std::vector<std::int64_t> grid_;
  std::unique_ptr<StepInterpreter> interpreter_;
  std::vector<std::vector<std::byte>> storage_;
  std::vector<Buffer> prefetch_;
  std::vector<MosaicWindow> windows_;
  MosaicResult result_;
  Diagnostics problems_;
};

}  // namespace

Expected<MosaicResult> run_mosaic(const Launch& launch, DeviceMemory& memory,
                                  Interpreter::Options options) {
  return MosaicRun(launch, memory, options).run();
}

}  // namespace xpusim::exec
