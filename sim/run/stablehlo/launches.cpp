#include "sim/run/stablehlo/launches.h"

#include <fmt/format.h>

#include "sim/run/bind.h"
#include "sim/run/runner.h"
#include "sim/run/stablehlo/triton_text.h"

namespace xpusim::run {
namespace {

using kernel::Value;

/// Binds the kernels of one module.
class Binder {
 public:
  Binder(const LaunchSpec& spec, const kernel::Module& module, const Family& family,
         exec::DeviceMemory& memory)
      : spec_(spec),
        module_(module),
        function_(*module.kernel()),
        family_(family),
        memory_(memory) {}

  Expected<std::vector<exec::Launch>> run() {
    const auto fuse = spec_.constexprs.find("FUSE");
    auto graph = HloGraph::make(function_, fuse == spec_.constexprs.end() || fuse->second != "0",
                                family_.tiles);
    if (!graph) return fail(graph.error());
    if (Expected<void> named = name_tensors(*graph); !named) return fail(named.error());
    std::vector<exec::Launch> launches;
    for (const HloKernel& k : graph->kernels()) {
      auto launch = bind(*graph, k);
      if (!launch) return fail(launch.error());
      launches.push_back(std::move(*launch));
    }
    return launches;
  }

 private:
  /// Arguments and results are the launch's tensors; what else lies in memory is allocated.
  Expected<void> name_tensors(const HloGraph& graph) {
    const auto& args = function_.entry().args;
    const std::size_t count = args.size() + graph.results().size();
    if (spec_.args.size() != count) {
      return fail(spec_.where,
                  fmt::format("'{}' has {} arguments and {} results, {} are given", function_.name,
                              args.size(), graph.results().size(), spec_.args.size()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const ArgSpec& a = spec_.args[i];
      const Value& v = i < args.size() ? *args[i] : *graph.results()[i - args.size()];
      const exec::Allocation* t = memory_.find(std::string_view(a.tensor));
      if (!t) return fail(a.where, fmt::format("'{}' wants a tensor ({})", v.name, v.type->text));
      if (t->dtype != v.type->dtype || t->shape != v.type->shape) {
        return fail(a.where, fmt::format("'{}' is {}, which tensor '{}' is not", v.name,
                                         v.type->text, a.tensor));
      }
      tensors_[&v] = a.tensor;
    }
    for (const HloKernel& k : graph.kernels()) {
      if (tensors_.contains(k.root->result())) continue;
      if (auto made = allocate(*k.root->result(), k.root->result()->type->shape); !made)
        return made;
    }
    return {};
  }

  Expected<void> allocate(const Value& v, const std::vector<std::int64_t>& shape) {
    const std::string name = fmt::format("{}.{}", function_.name, v.name);
    std::string free = name;
    for (int n = 1; memory_.find(std::string_view(free)); ++n) free = fmt::format("{}.{}", name, n);
    auto made = memory_.allocate(free, v.type->dtype, shape, {});
    if (!made) return fail(made.error());
    tensors_[&v] = free;
    return {};
  }

  Expected<exec::Launch> bind(const HloGraph& graph, const HloKernel& k) {
    auto text = triton_text(graph, k, family_.tiles);
    if (!text) return fail(text.error());
    auto read = kernel::read_module(*text, module_.file);
    if (!read) return fail(read.error());
    auto compiled = compile_kernel(std::move(*read), spec_, family_);
    if (!compiled) return fail(compiled.error());
    LaunchSpec own;
    own.where = spec_.where;
    own.grid = {std::to_string(k.programs)};
    const Value& result = *k.root->result();
    if (k.kind == HloKernel::Kind::kFinal) own.args.push_back(argument("p0", parts_));
    for (std::size_t i = 0; i < k.inputs.size(); ++i) {
      own.args.push_back(argument(fmt::format("p{}", i), tensors_[k.inputs[i]]));
    }
    std::string out = tensors_[&result];
    if (k.kind == HloKernel::Kind::kPartial) {
      auto made =
          memory_.allocate(fmt::format("{}.parts", out), result.type->dtype, {k.programs}, {});
      if (!made) return fail(made.error());
      out = parts_ = fmt::format("{}.parts", out);
    }
    own.args.push_back(argument("out", out));
    return bind_launch(own, std::make_shared<const kernel::Module>(std::move(*compiled)), memory_,
                       k.name);
  }

  ArgSpec argument(std::string name, std::string tensor) const {
    ArgSpec a;
    a.kind = ArgSpec::Kind::kTensor;
    a.name = std::move(name);
    a.tensor = std::move(tensor);
    a.where = spec_.where;
    return a;
  }

  const LaunchSpec& spec_;
  const kernel::Module& module_;
  const kernel::Function& function_;
  const Family& family_;
  exec::DeviceMemory& memory_;
  std::map<const Value*, std::string> tensors_;
  std::string parts_;
};

}  // namespace

Expected<std::vector<exec::Launch>> bind_stablehlo(const LaunchSpec& spec,
                                                   const kernel::Module& module,
                                                   const Family& family,
                                                   exec::DeviceMemory& memory) {
  return Binder(spec, module, family, memory).run();
}

}  // namespace xpusim::run
