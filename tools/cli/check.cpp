#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "sim/run/kernel_text.h"
#include "sim/run/runner.h"
#include "tools/cli/console.h"
#include "tools/cli/run_options.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files, machines;
  bool compiled = false;
  run::Schedule schedule;
};

/// The text of a kernel as the machine's family compiles it, before machine code.
int print_compiled(kernel::Module module, const run::Family& family,
                   const run::Schedule& schedule) {
  if (family.compile) {
    auto compiled = family.compile(std::move(module), schedule);
    if (!compiled) return print(compiled.error()), kWrongInput;
    module = std::move(*compiled);
  }
  print(kernel::print_module(module));
  return kFine;
}

/// The machines to ask: those named, else all of configs/ that run kernels.
Expected<std::vector<run::LoadedMachine>> load_machines(const std::vector<std::string>& named) {
  std::vector<run::LoadedMachine> machines;
  Diagnostics problems;
  for (const auto& name : named.empty() ? run::machine_names() : named) {
    auto machine = run::load_machine(name, {});
    if (machine && named.empty() && machine->family->forms.empty()) continue;
    if (machine) {
      machines.push_back(std::move(*machine));
    } else {
      problems.append(machine.error());
    }
  }
  if (problems.has_errors()) return fail(problems);
  return machines;
}

int check(const CheckOptions& options) {
  auto machines = load_machines(options.machines);
  if (!machines) return print(machines.error()), kWrongInput;
  if (options.compiled && machines->size() != 1) {
    Diagnostics problem;
    problem.error({"--compiled", 0, 0}, "is for one machine: name it with --on");
    return print(problem), kWrongInput;
  }
  int code = kFine;
  for (const auto& file : options.files) {
    if (file.ends_with(".yaml") || file.ends_with(".yml")) {
      Diagnostics problem;
      problem.error({file, 0, 0}, "this is no text of a kernel; `xpusim run` reads launch files");
      print(problem);
      code = kWrongInput;
      continue;
    }
    auto module = kernel::read_module_file(file);
    if (!module) {
      print(module.error());
      code = kWrongInput;
      continue;
    }
    if (options.compiled) {
      const auto& family = machines->front().runs_kernels();
      code = std::max(code, print_compiled(std::move(*module), family, options.schedule));
      continue;
    }
    print(run::describe(*module));
    for (const auto& m : *machines)
      print(run::describe_support(*module, *m.machine, m.runs_kernels()));
  }
  return code;
}

}  // namespace

void add_check(CLI::App& app, Outcome& outcome) {
  auto* verb = app.add_subcommand(
      "check", "read kernel texts: what is in them, and which machine lacks what");
  auto options = std::make_shared<CheckOptions>();
  verb->add_option("files", options->files, "kernel texts (.ttir, .ttgir, .mlir)")->required();
  one_value_each(*verb->add_option("--on", options->machines,
                                   "ask only this machine (default: all of configs/)"));
  verb->add_flag("--compiled", options->compiled,
                 "print each kernel as the machine compiles it (gpu: TTIR to TTGIR)");
  verb->add_option("--num-warps", options->schedule.num_warps,
                   "for --compiled: warps of a block (4)")
      ->check(CLI::Range(1, 32));
  verb->add_option("--num-stages", options->schedule.num_stages,
                   "for --compiled: buffers of a pipelined loop (3)")
      ->check(CLI::Range(1, 16));
  verb->callback([options, &outcome] { outcome.exit_code = check(*options); });
}

}  // namespace xpusim::cli
