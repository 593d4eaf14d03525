#include <fmt/format.h>

#include <algorithm>

#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/core/mosaic_body.h"
#include "models/tpu/core/mosaic_window.h"
#include "models/tpu/launch.h"
#include "sim/config/quantity.h"
#include "sim/exec/mosaic_window.h"

namespace xpusim::tpu {
namespace {

using kernel::Value;

std::string_view space_of(const Value& memref) {
  return memref.type->memory_space ? std::string_view(memref.type->memory_space->text) : "";
}
bool in_space(const Value& memref, std::string_view space) {
  return space_of(memref).find(space) != std::string_view::npos;
}

std::string quantity(std::int64_t bytes) {
  return config::format_quantity(static_cast<double>(bytes), config::Unit::kBytes);
}

/// The dimensions of the grid whose steps may run on different cores.
std::vector<std::size_t> parallel_dimensions(const exec::Launch& launch) {
  std::vector<std::size_t> out;
  const kernel::Attr semantics = launch.function->op->attr("dimension_semantics");
  for (std::size_t d = 0; semantics && d < semantics->elements.size(); ++d) {
    if (semantics->elements[d]->text.find("parallel") != std::string_view::npos) out.push_back(d);
  }
  return out;
}

/// Binds the operands of one Mosaic launch to one core.
class MosaicBinder {
 public:
  MosaicBinder(const exec::Launch& launch, exec::DeviceMemory& memory, const KernelPlan& plan,
               const TpuParams& params, bool values, std::uint32_t device, std::uint32_t devices)
      : launch_(launch),
        memory_(memory),
        plan_(plan),
        params_(params),
        values_(values),
        device_(device),
        devices_(devices) {}

  Expected<PreparedLaunch::Core> run(std::shared_ptr<const exec::Prepared> prepared, GridBox box) {
    prefetch();
    std::vector<WindowSpec> windows;
    for (const WindowPlan& w : plan_.windows) windows.push_back(window(w));
    scalars();
    scratch();
    check_smem();
    if (problems_.has_errors()) return fail(std::move(problems_));
    auto interpreter = exec::StepInterpreter::make(std::move(prepared), {values_});
    interpreter->set_bounds(plan_.grid);
    interpreter->set_device(device_, devices_);
    bind_hbm(*interpreter);
    if (problems_.has_errors()) return fail(std::move(problems_));
    PreparedLaunch::Core out;
    out.windows = std::make_unique<WindowSet>(std::move(windows), std::move(box));
    out.body = std::make_unique<MosaicBody>(std::move(interpreter), std::move(arguments_), memory_,
                                            params_.core.rows_16bit, devices_ > 1);
    out.device = device_;
    return out;
  }

 private:
  const Value& argument(std::size_t a) const { return *launch_.function->entry().args[a]; }
  SourcePosition where() const { return launch_.function->op->line(); }

  /// The tensor that an operand is; problems name the operand.
  const exec::Allocation* tensor(std::size_t operand, const Value& memref) {
    const std::string name(kernel::loc_name(memref.loc));
    if (operand >= launch_.args.size()) {
      problems_.error(where(), fmt::format("operand {} ('{}') has no argument", operand, name));
      return nullptr;
    }
    const exec::Argument& a = launch_.args[operand];
    const exec::Allocation* t = a.kind == exec::Argument::Kind::kPointer
                                    ? memory_.find(static_cast<std::uint64_t>(a.bits))
                                    : nullptr;
    if (!t) {
      problems_.error(where(), fmt::format("operand '{}' must be a tensor", name));
      return nullptr;
    }
    if (t->dtype != memref.type->dtype) {
      problems_.error(
          where(), fmt::format("operand '{}' is {}, but tensor '{}' is {}", name,
                               kernel::name(memref.type->dtype), t->name, kernel::name(t->dtype)));
    }
    return t;
  }

  /// Scalar-prefetch operands are in SMEM before the first step.
  void prefetch() {
    const auto count = static_cast<std::size_t>(launch_.function->op->int_attr("scalar_prefetch"));
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t a = plan_.grid.size() + p;
      const exec::Allocation* t = tensor(p, argument(a));
      if (!t) continue;
      BodyArgument& own = add(a, true);
      memory_.read(t->address,
                   std::span(own.bytes).first(std::min<std::size_t>(own.bytes.size(), t->bytes)));
    }
    prefetch_count_ = arguments_.size();
  }

  /// Operands in SMEM that are not prefetched.
  void scalars() {
    const std::size_t grid = plan_.grid.size();
    const auto first = static_cast<std::size_t>(launch_.function->op->int_attr("scalar_prefetch"));
    for (std::size_t o = first; o < launch_.args.size(); ++o) {
      if (grid + o >= launch_.function->arg_count()) break;
      const Value& memref = argument(grid + o);
      if (!in_space(memref, "smem")) continue;
      const exec::Allocation* t = tensor(o, memref);
      if (!t) continue;
      BodyArgument& own = add(grid + o, true);
      if (t->bytes != own.bytes.size()) {
        problems_.error(where(), fmt::format("operand '{}': blocks of a tensor in SMEM are not "
                                             "modelled, only whole ones",
                                             kernel::loc_name(memref.loc)));
        continue;
      }
      memory_.read(t->address, own.bytes);
      own.tensor = t->address;
      own.stored = exec::writes_to(launch_.function->entry(), memref);
    }
  }

  WindowSpec window(const WindowPlan& w) {
    WindowSpec spec;
    const Value& memref = argument(w.argument);
    spec.name = plan_.program.buffers[w.buffer].name;
    spec.output = w.output;
    spec.copies = static_cast<std::uint32_t>(plan_.program.buffers[w.buffer].copies);
    spec.bytes = plan_.program.buffers[w.buffer].bytes;
    const exec::Allocation* t = tensor(w.operand, memref);
    if (!t) return spec;
    spec.tensor = t->address;
    spec.tensor_bytes = t->bytes;
    if (t->shape.size() != w.block.size()) {
      problems_.error(where(), fmt::format("operand '{}' has {} dimensions, its window {}",
                                           spec.name, t->shape.size(), w.block.size()));
      return spec;
    }
    std::unique_ptr<exec::WindowTransform> transform;
    if (w.transform) {
      auto made = exec::WindowTransform::make(launch_.module, *w.transform);
      if (!made) {
        problems_.append(made.error());
        return spec;
      }
      transform = std::move(*made);
    }
    BodyArgument& own = add(w.argument, false);
    own.window = window_number_++;
    spec.payload_bytes = holds_payload(memref) ? bytes_of(memref) : 0;
    spec.map = std::make_unique<MosaicWindow>(memory_, *t, w.block, std::move(transform),
                                              prefetch_buffers(), params_.core.rows_16bit);
    return spec;
  }

  void scratch() {
    const auto count = static_cast<std::size_t>(launch_.function->op->int_attr("scratch_operands"));
    const std::size_t all = launch_.function->arg_count();
    for (std::size_t a = all - count; a < all; ++a) {
      const Value& memref = argument(a);
      if (in_space(memref, "semaphore")) continue;
      add(a, holds_payload(memref));
    }
  }

  /// What the kernel keeps in SMEM has to fit; descriptors of DMAs are not counted.
  void check_smem() {
    std::int64_t bytes = 0;
    for (const BodyArgument& a : arguments_) {
      const Value& memref = argument(a.argument);
      if (in_space(memref, "smem")) bytes += static_cast<std::int64_t>(bytes_of(memref));
    }
    if (bytes <= params_.smem.bytes) return;
    problems_.error(where(), fmt::format("its operands need {} of SMEM, the core has {}",
                                         quantity(bytes), quantity(params_.smem.bytes)));
  }

  void bind_hbm(exec::StepInterpreter& interpreter) {
    for (std::size_t a = plan_.grid.size(); a < launch_.function->arg_count(); ++a) {
      const Value& memref = argument(a);
      if (!in_space(memref, "any") && !in_space(memref, "hbm")) continue;
      if (const exec::Allocation* t = tensor(a - plan_.grid.size(), memref)) {
        interpreter.bind(a, memory_, *t);
      }
    }
  }

  BodyArgument& add(std::size_t a, bool own_memory) {
    const Value& memref = argument(a);
    BodyArgument b;
    b.argument = a;
    b.dtype = memref.type->dtype;
    b.shape.assign(memref.type->shape.begin(), memref.type->shape.end());
    if (own_memory) b.bytes.resize(bytes_of(memref));
    arguments_.push_back(std::move(b));
    return arguments_.back();
  }

  std::vector<exec::Buffer> prefetch_buffers() {
    std::vector<exec::Buffer> buffers;
    for (std::size_t i = 0; i < prefetch_count_; ++i) {
      buffers.push_back({arguments_[i].bytes, arguments_[i].dtype, arguments_[i].shape});
    }
    return buffers;
  }

  bool holds_payload(const Value& memref) const {
    return values_ || kernel::is_integer(memref.type->dtype);
  }
  static std::uint64_t bytes_of(const Value& memref) {
    return static_cast<std::uint64_t>(memref.type->count() * kernel::byte_size(memref.type->dtype));
  }

  const exec::Launch& launch_;
  exec::DeviceMemory& memory_;
  const KernelPlan& plan_;
  const TpuParams& params_;
  bool values_;
  std::uint32_t device_, devices_;
  std::vector<BodyArgument> arguments_;
  std::size_t prefetch_count_ = 0;
  std::int32_t window_number_ = 0;
  Diagnostics problems_;
};

}  // namespace

Expected<PreparedLaunch> prepare_mosaic(const exec::Launch& launch,
                                        std::span<exec::DeviceMemory* const> memories,
                                        const TpuParams& params, bool values) {
  auto prepared = exec::Prepared::make(launch.module, *launch.function);
  if (!prepared) return fail(prepared.error());
  const auto devices = static_cast<std::uint32_t>(memories.size());
  Expected<KernelPlan> plan = plan_mosaic(launch, **prepared, params.core, devices > 1);
  if (!plan) return fail(plan.error());
  PreparedLaunch out;
  const std::vector<GridBox> boxes =
      share_grid(plan->grid, parallel_dimensions(launch), params.core.count);
  for (std::uint32_t d = 0; d < devices; ++d) {
    for (const GridBox& box : boxes) {
      MosaicBinder binder(launch, *memories[d], *plan, params, values, d, devices);
      auto core = binder.run(*prepared, box);
      if (!core) return fail(core.error());
      out.cores.push_back(std::move(*core));
    }
  }
  Expected<Program> program = compile(std::move(*plan), params.core);
  if (!program) return fail(program.error());
  out.program = std::move(*program);
  if (auto fits = check_vmem(out.program, params, launch.function->op->line()); !fits) {
    return fail(fits.error());
  }
  return out;
}

Expected<void> check_vmem(const Program& program, const TpuParams& params,
                          const SourcePosition& where) {
  if (program.vmem_bytes() <= params.vmem.bytes) return {};
  std::vector<const Buffer*> buffers;
  for (const Buffer& b : program.buffers) buffers.push_back(&b);
  std::stable_sort(buffers.begin(), buffers.end(), [](const Buffer* a, const Buffer* b) {
    return a->bytes * a->copies > b->bytes * b->copies;
  });
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(buffers.size(), 4); ++i) {
    list += fmt::format("{}{} {} x {}", i ? ", " : "", buffers[i]->name, buffers[i]->copies,
                        quantity(buffers[i]->bytes));
  }
  return fail(where,
              fmt::format("its buffers need {} of VMEM, the core has {}; the largest: {}",
                          quantity(program.vmem_bytes()), quantity(params.vmem.bytes), list));
}

}  // namespace xpusim::tpu
