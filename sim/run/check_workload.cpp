#include "sim/run/check_workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/run/bind.h"
#include "sim/run/constexprs.h"
#include "sim/run/npy.h"
#include "sim/run/stablehlo/launches.h"

namespace xpusim::run {
namespace {

constexpr std::uint64_t kRoom = std::uint64_t{1} << 40;  // more than any machine's memory

/// A kernel as it was written: what machines make of it is theirs.
void check_launch(const Workload& workload, const LaunchSpec& spec, const Family& family,
                  const std::string& from, exec::DeviceMemory& memory, Diagnostics& problems) {
  const auto file = kernel_file_of_any_form(workload, spec, family, from);
  if (!file) return problems.append(file.error());
  if (file->empty()) return;
  auto read = kernel::read_module_file(*file);
  if (!read) return problems.append(read.error());
  if (read->form == kernel::Form::kStableHlo) {
    Family as_written = family;
    as_written.compile = nullptr;
    auto launches = bind_stablehlo(spec, *read, as_written, memory);
    if (!launches) problems.append(launches.error());
    return;
  }
  const auto module = std::make_shared<const kernel::Module>(std::move(*read));
  const kernel::Function* function = module->kernel();
  auto launch = bind_launch(spec, module, memory, function ? function->name : "");
  if (!launch) return problems.append(launch.error());
  check_constexprs(spec, *module, workload.variants, problems);
}

void check_names(const Workload& workload, const Expression& e, Diagnostics& problems) {
  if (e.kind == Expression::Kind::kName && !workload.tensor(e.name)) {
    std::vector<std::string> known;
    for (const auto& t : workload.tensors) known.push_back(t.name);
    problems.error(e.where,
                   fmt::format("no tensor or number '{}'{}", e.name, did_you_mean(e.name, known)));
  }
  for (const auto& arg : e.args) check_names(workload, arg, problems);
}

void check_reference(const Workload& workload, const ExpectSpec& e, Diagnostics& problems) {
  if (e.file.empty()) return check_names(workload, e.reference, problems);
  const TensorSpec& t = *workload.tensor(e.tensor);
  if (auto read = read_npy(e.file, t.dtype, t.shape, e.file_where); !read)
    problems.append(read.error());
}

}  // namespace

Expected<void> check_workload(const Workload& workload, const Family& family,
                              const RunSettings& settings) {
  exec::DeviceMemory memory(kRoom);
  if (auto done = allocate_tensors(workload, memory); !done) return done;
  Diagnostics problems;
  for (LaunchSpec spec : workload.launches) {
    if (settings.num_warps) spec.num_warps = settings.num_warps;
    if (settings.num_stages) spec.num_stages = settings.num_stages;
    check_launch(workload, spec, family, settings.from, memory, problems);
  }
  if (settings.values)
    for (const auto& e : workload.expect) check_reference(workload, e, problems);
  if (problems.has_errors()) return fail(std::move(problems));
  return {};
}

bool is_of_expectation(const Workload& workload, const SourcePosition& where) {
  return where.file == workload.path &&
         std::any_of(workload.expect.begin(), workload.expect.end(), [&](const ExpectSpec& e) {
           return where.line == e.where.line || where.line == e.reference.where.line;
         });
}

}  // namespace xpusim::run
