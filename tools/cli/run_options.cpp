#include "tools/cli/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "sim/run/report.h"
#include "tools/cli/console.h"

namespace xpusim::cli {

std::string not_empty(const std::string& text) { return text.empty() ? "is empty" : ""; }

void one_value_each(CLI::Option& option) { option.take_all()->allow_extra_args(false); }

int exit_code(const Diagnostics& problems) {
  for (const auto& d : problems.list())
    if (d.where.file.empty()) return kRunFailed;
  return kWrongInput;
}

void RunOptions::add_to(CLI::App& app) {
  app.add_option("workload", workload, "launch file (workloads/**.yaml)")->required();
  one_value_each(
      *app.add_option(
              "--on", machines,
              "machine: a name in configs/ (h200, tpu_v5e) or a file; compare takes several")
           ->required());
  one_value_each(*app.add_option(
      "--set", overrides,
      "override a configuration value: gpu.sm.count=16; may be repeated; compare gives it "
      "to the machines that have that family, or to one: h200:cost.per_hour=..."));
  app.add_option("--values", values,
                 "on (default): compute and check values; off: only what addresses need")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--caches", caches,
                 "before the first launch: cold (default), nothing of this workload; warm, what a "
                 "round of all "
                 "launches leaves, which runs first and is not reported")
      ->check(CLI::IsMember({"cold", "warm"}));
  app.add_option(
      "--clock", clock,
      "core clock: auto (default), the machine's own as far as the launch's work and power "
      "allow; or one such as 1.755GHz");
  app.add_option("--from", from, "kernel form where a machine takes several: ttir, ttgir or mlir")
      ->check(not_empty);
  app.add_option("--num-warps", num_warps,
                 "warps of a block, in place of the launch file's (kernels from ttir)")
      ->check(CLI::Range(1, 32));
  app.add_option("--num-stages", num_stages,
                 "buffers of a pipelined loop, in place of the launch file's (kernels from ttir)")
      ->check(CLI::Range(1, 16));
  app.add_option("--loop", loop,
                 "rounds of all launches (1), back to back; values are checked after the first")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--json", json, "write the report as JSON to this file")->check(not_empty);
}

Expected<run::RunSettings> RunOptions::settings(const std::string& machine) const {
  run::RunSettings s;
  s.machine = machine;
  s.overrides = overrides;
  s.values = values == "on";
  s.warm_caches = caches == "warm";
  s.from = from;
  s.num_warps = num_warps;
  s.num_stages = num_stages;
  s.trace = trace;
  s.loop = loop;
  for (const auto& text : dumps) {
    auto dump = run::parse_dump(text);
    if (!dump) return fail(dump.error());
    s.dumps.push_back(std::move(*dump));
  }
  auto hz = parse_clock(clock);
  if (!hz) return fail(hz.error());
  s.clock_hz = *hz;
  return s;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::weakly_canonical(a, none) == std::filesystem::weakly_canonical(b, none);
}

bool RunOptions::is_workload(const std::string& file) const {
  std::error_code none;
  return std::filesystem::equivalent(file, workload, none);
}

Expected<void> RunOptions::check_outputs() const {
  Diagnostics problems;
  std::vector<std::string> files = {json, html, trace};
  for (const auto& text : dumps) {
    if (auto dump = run::parse_dump(text)) files.push_back(dump->file);
  }
  std::erase(files, "");
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (auto ok = run::check_writable(files[i]); !ok) problems.append(ok.error());
    if (is_workload(files[i])) {
      problems.error({files[i], 0, 0}, "this is the workload, which would be overwritten");
    }
    const auto before = files.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(files.begin(), before, [&](const auto& f) { return same_file(f, files[i]); }))
      problems.error({files[i], 0, 0}, "two things to write cannot be one file");
  }
  if (problems.has_errors()) return fail(problems);
  return {};
}

Expected<std::optional<std::uint64_t>> parse_clock(const std::string& text) {
  if (text == "auto" || text == "case") return std::nullopt;
  auto hz = config::parse_quantity(text, config::Unit::kHertz, {"--clock", 0, 0});
  if (!hz) return fail(hz.error());
  if (!(*hz >= 1e6 && *hz <= 1e11)) return fail({"--clock", 0, 0}, "a clock is 1 MHz to 100 GHz");
  return static_cast<std::uint64_t>(std::llround(*hz));
}

}  // namespace xpusim::cli
