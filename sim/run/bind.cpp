#include "sim/run/bind.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <set>

namespace xpusim::run {
namespace {

using exec::Argument;
using kernel::DType;
using kernel::Form;
using kernel::TypeKind;
using kernel::Value;

constexpr std::int64_t kMaxGrid = std::int64_t{1} << 31;
constexpr double kMaxPrograms = 0x1p40;  // of all dimensions together: more than can be simulated

/// The dtype of what a parameter points to; kNone for scalars.
DType pointed_dtype(kernel::Type t) {
  if (t->kind == TypeKind::kPointer) return t->element ? t->element->dtype : DType::kNone;
  if (t->kind == TypeKind::kMemRef) return t->dtype;
  return DType::kNone;
}

class Binder {
 public:
  Binder(const LaunchSpec& spec, std::shared_ptr<const kernel::Module> module,
         const exec::DeviceMemory& memory)
      : spec_(spec), module_(std::move(module)), memory_(memory) {}

  Expected<exec::Launch> bind(const std::string& name) {
    out_.name = name;
    out_.module = module_;
    out_.function = module_->kernel();
    if (!out_.function)
      return fail(spec_.where, fmt::format("'{}' holds no kernel function", module_->file));
    if (module_->form == Form::kMosaic)
      by_position();
    else
      by_name();
    constexprs();
    if (!problems_.has_errors()) grid();
    check_warps();
    if (problems_.has_errors()) return fail(problems_);
    return std::move(out_);
  }

 private:
  static std::string parameter_name(const Value& v) {
    return std::string(kernel::parameter_name(v));
  }

  void by_name() {
    const auto& params = out_.function->entry().args;
    std::set<std::string> used;
    std::vector<std::string> names;
    if (!spec_.args.empty() && spec_.args.front().name.empty())
      return problems_.error(spec_.args.front().where,
                             "a Triton kernel's arguments go by name: args: {x_ptr: x, n: 1024}");
    for (const auto& p : params) names.push_back(parameter_name(*p));
    for (std::size_t i = 0; i < params.size(); ++i) {
      const ArgSpec* arg = find(names[i]);
      if (!arg && names[i] != params[i]->name) arg = find(params[i]->name);
      if (!arg) {
        problems_.error(spec_.where,
                        fmt::format("kernel '{}' needs an argument '{}' ({})", out_.function->name,
                                    names[i], params[i]->type->text));
        continue;
      }
      used.insert(arg->name);
      bind_one(*params[i], names[i], *arg, i);
    }
    for (const auto& a : spec_.args) {
      const bool neutral = a.kind == ArgSpec::Kind::kNull ||
                           (a.kind == ArgSpec::Kind::kInteger && a.integer == 1) ||
                           spec_.constexprs.count(a.name) > 0;
      if (!used.count(a.name) && !neutral)
        problems_.error(
            a.where, fmt::format("kernel '{}' has no parameter '{}'{}", out_.function->name, a.name,
                                 did_you_mean(a.name, names)));
    }
  }

  /// Mosaic: the leading i32 arguments are grid indices; then the operands in order; trailing
  /// scratch and semaphores are not passed.
  void by_position() {
    const auto& op = *out_.function->op;
    const auto& params = out_.function->entry().args;
    const auto bounds = op.attr("iteration_bounds");
    const std::size_t rank = bounds ? bounds->int_list().size() : 0;
    const auto scratch = static_cast<std::size_t>(op.int_attr("scratch_operands"));
    if (rank + scratch > params.size())
      return problems_.error(op.text, "iteration_bounds and scratch_operands exceed the arguments");
    const std::size_t operands = params.size() - rank - scratch;
    if (operands != spec_.args.size())
      return problems_.error(spec_.where,
                             fmt::format("kernel '{}' takes {} operands, {} are given",
                                         out_.function->name, operands, spec_.args.size()));
    for (std::size_t i = 0; i < operands; ++i)
      bind_one(*params[rank + i], parameter_name(*params[rank + i]), spec_.args[i], rank + i);
  }

  const ArgSpec* find(const std::string& name) const {
    for (const auto& a : spec_.args)
      if (a.name == name) return &a;
    return nullptr;
  }

  void bind_one(const Value& param, const std::string& name, const ArgSpec& arg,
                std::size_t index) {
    const bool wants_pointer =
        param.type->kind == TypeKind::kPointer || param.type->kind == TypeKind::kMemRef;
    Argument a;
    if (arg.kind == ArgSpec::Kind::kDescriptor) {
      if (!bind_descriptor(param, name, arg, a)) return;
    } else if (arg.kind == ArgSpec::Kind::kTensor || arg.kind == ArgSpec::Kind::kNull) {
      a.kind = Argument::Kind::kPointer;
      if (!wants_pointer && arg.kind == ArgSpec::Kind::kNull)
        problems_.error(arg.where, fmt::format("'{}' is a number ({}), but null is given", name,
                                               param.type->text));
      else if (!wants_pointer)
        problems_.error(arg.where,
                        fmt::format("'{}' is a number ({}), not a tensor", name, param.type->text));
      else if (arg.kind == ArgSpec::Kind::kTensor)
        bind_tensor(param, name, arg, a);
    } else if (wants_pointer) {
      problems_.error(
          arg.where, fmt::format("'{}' wants a tensor ({}), not a number", name, param.type->text));
    } else if (kernel::is_float(param.type->dtype)) {
      a.kind = Argument::Kind::kFloat;
      a.real = arg.real;
    } else if (arg.kind == ArgSpec::Kind::kReal) {
      problems_.error(arg.where, fmt::format("'{}' is {}: {} is no whole number", name,
                                             param.type->text, arg.real));
    } else {
      a.bits = arg.integer;
      if (!check_range(param, name, arg)) return;
    }
    check_divisibility(index, name, arg, a);
    out_.args.push_back(std::move(a));
  }

  /// A descriptor fills the parameters of its name: the handle, sizes (i32), strides (i64).
  bool bind_descriptor(const Value& param, const std::string& name, const ArgSpec& arg,
                       Argument& a) {
    const auto wrong = [&](std::string message) {
      problems_.error(arg.where, std::move(message));
      return false;
    };
    const exec::Allocation* t = memory_.find(std::string_view(arg.tensor));
    if (!t) return wrong(fmt::format("no tensor '{}'", arg.tensor));
    const std::size_t rank = t->shape.size();
    std::vector<std::int64_t> strides = arg.strides;
    if (strides.empty()) {
      strides.assign(rank, 1);
      for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * t->shape[d];
    }
    if (strides.size() != rank || strides.back() != 1)
      return wrong("a descriptor has a stride for each dimension, the last of them 1");
    if (param.type->kind != TypeKind::kTensorDesc) {
      const std::size_t k = numbers_[arg.name]++;
      if (k >= 2 * rank || !kernel::is_integer(param.type->dtype))
        return wrong(
            fmt::format("'{}' is {}, which a descriptor does not fill", name, param.type->text));
      a.bits = k < rank ? t->shape[k] : strides[k - rank];
      return true;
    }
    const kernel::Type block = param.type->element;
    if (arg.block != block->shape || rank != block->shape.size() || t->dtype != block->dtype)
      return wrong(fmt::format("'{}' is compiled for blocks {} of {}, but {} of {} are given", name,
                               fmt::join(block->shape, "x"), kernel::name(block->dtype),
                               fmt::join(arg.block, "x"), kernel::name(t->dtype)));
    auto d = std::make_shared<exec::TensorDescriptor>();
    d->address = t->address;
    d->dtype = t->dtype;
    d->shape.assign(t->shape.begin(), t->shape.end());
    d->strides.assign(strides.begin(), strides.end());
    d->block.assign(arg.block.begin(), arg.block.end());
    d->pads_with_nan = arg.nan_padding;
    a.kind = Argument::Kind::kDescriptor;
    a.tensor = t->name;
    a.descriptor = std::move(d);
    return true;
  }

  bool check_range(const Value& param, const std::string& name, const ArgSpec& arg) {
    const int bits = kernel::bit_width(param.type->dtype);
    if (bits >= 64) return true;
    const std::int64_t low = -(std::int64_t{1} << (bits - 1)), high = std::int64_t{1} << bits;
    if (arg.integer >= low && arg.integer < high) return true;
    problems_.error(
        arg.where, fmt::format("'{}' is {}: {} does not fit", name, param.type->text, arg.integer));
    return false;
  }

  void bind_tensor(const Value& param, const std::string& name, const ArgSpec& arg, Argument& a) {
    const exec::Allocation* t = memory_.find(std::string_view(arg.tensor));
    if (!t) return problems_.error(arg.where, fmt::format("no tensor '{}'", arg.tensor));
    const DType want = pointed_dtype(param.type);
    if (want != DType::kNone && want != t->dtype)
      problems_.error(arg.where,
                      fmt::format("'{}' wants {}, tensor '{}' is {}", name, kernel::name(want),
                                  arg.tensor, kernel::name(t->dtype)));
    a.bits = static_cast<std::int64_t>(t->address);
    a.tensor = t->name;
  }

  void check_divisibility(std::size_t index, const std::string& name, const ArgSpec& arg,
                          const Argument& a) {
    const kernel::Attr all = out_.function->op->attr("arg_attrs");
    if (!all || index >= all->elements.size() || a.kind == Argument::Kind::kFloat) return;
    const kernel::Attr d = all->elements[index]->get("tt.divisibility");
    if (d && d->integer > 1 && a.bits % d->integer != 0)
      problems_.error(arg.where, fmt::format("'{}' is compiled as divisible by {}, but {} is not",
                                             name, d->integer, a.bits));
  }

  void constexprs() {
    for (const auto& [key, text] : spec_.constexprs) {
      std::int64_t v = 0;
      auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
      if (ec == std::errc() && end == text.data() + text.size()) out_.constexprs[key] = v;
    }
  }

  /// Mosaic texts carry their grid, but for extents that they leave open: those the launch gives.
  void mosaic_grid() {
    const auto bounds = out_.function->op->attr("iteration_bounds");
    const auto list = bounds ? bounds->int_list() : std::vector<std::int64_t>{};
    if (!spec_.grid.empty() && spec_.grid.size() != list.size())
      return problems_.error(spec_.grid_place(0),
                             fmt::format("kernel '{}' has a grid of {} dimensions, {} are given",
                                         out_.function->name, list.size(), spec_.grid.size()));
    for (std::size_t i = 0; i < list.size() && i < out_.grid.size(); ++i) {
      const bool open = list[i] < 0;
      if (open && spec_.grid.empty()) {
        problems_.error(spec_.where,
                        fmt::format("kernel '{}' leaves the extent of grid dimension {} open: a "
                                    "launch of it needs a 'grid'",
                                    out_.function->name, i));
        return;
      }
      if (!open) out_.grid[i] = list[i];
      if (spec_.grid.empty()) continue;
      const auto v = extent(i);
      if (!v) continue;
      if (open)
        out_.grid[i] = *v;
      else if (*v != list[i])
        problems_.error(
            spec_.grid_place(i),
            fmt::format("grid dimension '{}' is {}, but kernel '{}' was compiled for {}",
                        spec_.grid[i], *v, out_.function->name, list[i]));
    }
  }

  /// The extent of a grid dimension as the launch gives it; none if that is a problem.
  std::optional<std::int64_t> extent(std::size_t i) {
    std::map<std::string, std::int64_t> names = out_.constexprs;
    for (const auto& a : spec_.args)
      if (a.kind == ArgSpec::Kind::kInteger && !a.name.empty()) names[a.name] = a.integer;
    auto e = parse_expression(spec_.grid[i], spec_.grid_place(i));
    if (!e) {
      problems_.append(e.error());
      return std::nullopt;
    }
    auto v = evaluate_integer(*e, names);
    if (!v) {
      problems_.append(v.error());
      return std::nullopt;
    }
    if (*v >= 1 && *v < kMaxGrid) return *v;
    problems_.error(
        spec_.grid_place(i),
        fmt::format("grid dimension '{}' is {}: 1 to 2^31 - 1 programs", spec_.grid[i], *v));
    return std::nullopt;
  }

  void grid() {
    if (module_->form == Form::kMosaic) return mosaic_grid();
    if (spec_.grid.empty())
      return problems_.error(spec_.where, "a launch of a Triton kernel needs a 'grid'");
    double programs = 1;
    for (std::size_t i = 0; i < spec_.grid.size(); ++i) {
      const auto v = extent(i);
      if (v) programs *= static_cast<double>(out_.grid[i] = *v);
    }
    if (programs > kMaxPrograms)
      problems_.error(spec_.grid_place(0),
                      fmt::format("a grid of {:.3g} programs: at most 2^40", programs));
  }

  void check_warps() {
    if (!spec_.num_warps) return;
    const kernel::Attr warps = module_->op->attr("ttg.num-warps");
    if (warps && warps->integer != *spec_.num_warps)
      problems_.error(spec_.where,
                      fmt::format("the launch says num_warps {}, the kernel was compiled for {}",
                                  *spec_.num_warps, warps->integer));
  }

  const LaunchSpec& spec_;
  std::shared_ptr<const kernel::Module> module_;
  const exec::DeviceMemory& memory_;
  exec::Launch out_;
  std::map<std::string, std::size_t> numbers_;  ///< of each descriptor: sizes and strides so far
  Diagnostics problems_;
};

}  // namespace

Expected<void> allocate_tensors(const Workload& workload, exec::DeviceMemory& memory,
                                const Place& place) {
  Diagnostics problems;
  for (const auto& t : workload.tensors) {
    auto own = on_device(t, place);
    if (!own) {
      problems.append(own.error());
      continue;
    }
    auto address = memory.allocate(t.name, t.dtype, std::move(own->shape), std::move(own->init));
    if (address) continue;
    for (auto d : address.error().list()) {
      d.where = t.where;
      problems.add(std::move(d));
    }
  }
  if (problems.has_errors()) return fail(problems);
  return {};
}

Expected<exec::Launch> bind_launch(const LaunchSpec& spec,
                                   std::shared_ptr<const kernel::Module> module,
                                   const exec::DeviceMemory& memory,
                                   const std::string& workload_name) {
  return Binder(spec, std::move(module), memory).bind(workload_name);
}

}  // namespace xpusim::run
