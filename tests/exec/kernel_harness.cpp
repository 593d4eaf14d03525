#include "tests/exec/kernel_harness.h"

#include <algorithm>
#include <iostream>

namespace xpusim::exec {

std::vector<std::filesystem::path> kernel_files(const std::string& folder,
                                                const std::string& kernel,
                                                const std::string& extension) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(XPUSIM_SOURCE_DIR) +
                                                               "/workloads/" + folder)) {
    const std::string stem = entry.path().stem().string();
    const bool hashed = stem.size() == kernel.size() + 11 && stem[kernel.size()] == '_';
    if (entry.path().extension() == extension && stem.starts_with(kernel) &&
        (stem == kernel || hashed)) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::shared_ptr<const kernel::Module> read_kernel(const std::filesystem::path& path) {
  auto module = kernel::read_module_file(path.string());
  if (!module) {
    std::cerr << module.error().str() << "\n";
    return nullptr;
  }
  return std::make_shared<kernel::Module>(std::move(*module));
}

std::shared_ptr<const kernel::Module> read_kernel_text(std::string_view text) {
  auto module = kernel::read_module(text, "test.mlir");
  if (!module) {
    std::cerr << module.error().str() << "\n";
    return nullptr;
  }
  return std::make_shared<kernel::Module>(std::move(*module));
}

std::int64_t block_size(const kernel::Module& module) {
  for (const auto& op : module.kernel()->entry().ops) {
    if (op->name() == "tt.make_range") return op->int_attr("end");
  }
  return 0;
}

void KernelRun::tensor(const std::string& parameter, DType dtype, std::vector<std::int64_t> shape,
                       Init init) {
  const auto address = memory.allocate(parameter, dtype, std::move(shape), std::move(init));
  if (!address) {
    std::cerr << address.error().str() << "\n";
    return;
  }
  args_[parameter] = {Argument::Kind::kPointer, static_cast<std::int64_t>(*address), 0, parameter};
}

void KernelRun::descriptor(const std::string& parameter, const std::string& tensor,
                           bool pads_with_nan) {
  const Allocation& t = *memory.find(std::string_view(tensor));
  auto d = std::make_shared<TensorDescriptor>();
  d->address = t.address;
  d->dtype = t.dtype;
  d->shape.assign(t.shape.begin(), t.shape.end());
  d->strides.assign(t.shape.size(), 1);
  for (std::size_t k = t.shape.size(); k-- > 1;) d->strides[k - 1] = d->strides[k] * t.shape[k];
  d->pads_with_nan = pads_with_nan;
  std::size_t next = 0;  // of the sizes and strides that follow the handle
  for (const auto& arg : module_->kernel()->entry().args) {
    if (kernel::parameter_name(*arg) != parameter) continue;
    if (arg->type->kind == kernel::TypeKind::kTensorDesc) {
      d->block.assign(arg->type->element->shape.begin(), arg->type->element->shape.end());
      args_[arg->name] = {Argument::Kind::kDescriptor, 0, 0, tensor, d};
    } else {
      const std::size_t rank = t.shape.size();
      integer(arg->name, next < rank ? d->shape[next] : d->strides[next - rank]);
      ++next;
    }
  }
}

void KernelRun::integer(const std::string& parameter, std::int64_t value) {
  args_[parameter] = {Argument::Kind::kInteger, value, 0, ""};
}

void KernelRun::real(const std::string& parameter, double value) {
  args_[parameter] = {Argument::Kind::kFloat, 0, value, ""};
}

Launch KernelRun::launch(std::array<std::int64_t, 3> grid) const {
  Launch l;
  l.module = module_;
  l.function = module_->kernel();
  l.grid = grid;
  for (const auto& arg : l.function->entry().args) {
    auto it = args_.find(arg->name);
    if (it == args_.end()) it = args_.find(std::string(kernel::parameter_name(*arg)));
    if (it == args_.end()) std::cerr << "no argument for " << arg->name << "\n";
    l.args.push_back(it == args_.end() ? Argument{} : it->second);
  }
  return l;
}

std::shared_ptr<const Prepared> KernelRun::prepared() {
  if (!prepared_) {
    auto p = Prepared::make(module_, *module_->kernel());
    if (!p) {
      std::cerr << p.error().str() << "\n";
      return nullptr;
    }
    prepared_ = *p;
  }
  return prepared_;
}

bool KernelRun::run(std::array<std::int64_t, 3> grid, bool values) {
  if (!prepared()) return false;
  const auto interpreter = Interpreter::make(prepared_, launch(grid), memory, {.values = values});
  std::array<std::int64_t, 3> id{};
  for (id[2] = 0; id[2] < grid[2]; ++id[2]) {
    for (id[1] = 0; id[1] < grid[1]; ++id[1]) {
      for (id[0] = 0; id[0] < grid[0]; ++id[0]) {
        interpreter->start(id);
        Interpreter::State state;
        while ((state = interpreter->advance()) == Interpreter::State::kAtEffect) {
          interpreter->perform();
          ++effects;
        }
        if (state == Interpreter::State::kFailed) {
          error = interpreter->error();
          return false;
        }
      }
    }
  }
  counts = interpreter->counts();
  if (log && values) {
    for (const Allocation& a : memory.allocations()) log->push_back(memory.as_doubles(a));
  }
  return true;
}

std::vector<double> KernelRun::values(const std::string& tensor) const {
  return memory.as_doubles(*memory.find(tensor));
}

Init randn(std::uint64_t seed) {
  Init i;
  i.kind = Init::Kind::kRandn;
  i.seed = seed;
  return i;
}

Init zeros() { return {}; }

}  // namespace xpusim::exec
