#pragma once

// A run from start to end: workload + machine -> report. SystemC keeps global state, so each
// simulated system gets a child process; run, compare and correlate share this one runner.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/dump.h"
#include "sim/run/report.h"
#include "sim/run/workload.h"

namespace xpusim::run {

struct RunSettings {
  std::string machine;                 ///< a stem of configs/ ("h200") or a path
  std::vector<std::string> overrides;  ///< --set
  bool values = true;
  bool warm_caches = false;  ///< first an unreported round of all launches, for what it leaves
  std::optional<std::uint64_t> clock_hz;
  std::string from;  ///< "ttir" or "ttgir" where the machine takes both; "" its best
  std::optional<std::int64_t> num_warps, num_stages;  ///< in place of the launches' own
  std::string trace;                                  ///< file, or ""
  std::optional<RecordRequest> record;                ///< of launch `recorded` in the first round
  std::size_t recorded = 0;
  Listing listing = Listing::kNone;  ///< LaunchOptions::listing, of every launch
  std::vector<Dump> dumps;           ///< tensors to write to files after the run
  int loop = 1;                      ///< reported rounds of the whole list, back to back
  bool every_chip = false;           ///< LaunchOptions::every_chip
};

/// A machine made from its configuration.
struct LoadedMachine {
  std::unique_ptr<Machine> machine;
  const Family* family = nullptr;
  config::Node config;
  std::string file;
  std::vector<config::ParamDoc> parameters;  ///< all, with their values

  /// The family of what runs kernels: of a system, that of its chips.
  const Family& runs_kernels() const {
    const LoadedMachine* chip = machine->chip();
    return chip ? *chip->family : *family;
  }
};

/// Finds configs/, traces/ and workloads/: $XPUSIM_HOME, else above the executable, else above the
/// current folder; "" if nowhere.
std::string home_directory();
/// The stems of all machine configurations, sorted.
std::vector<std::string> machine_names();
/// The configuration file of `--on`.
Expected<std::string> find_machine_file(const std::string& on);
/// The resolved configuration of a file. What it extends may be a file beside it, or the stem of
/// any file in the folders of configs/.
Expected<config::Node> load_config(const std::string& file,
                                   const std::vector<std::string>& overrides);
Expected<LoadedMachine> load_machine(const std::string& on,
                                     const std::vector<std::string>& overrides);
/// Makes the machine of a resolved configuration that came from `file`.
Expected<LoadedMachine> make_machine(config::Node config, const std::string& file);
/// The file that holds a launch's kernel for a family of machines; `from` as in RunSettings.
Expected<std::string> kernel_file(const Workload& workload, const LaunchSpec& spec,
                                  const Family& family, const std::string& from);
/// The same in whatever form there is, if none that the machines take; "" where the launch has no
/// kernel for them.
Expected<std::string> kernel_file_of_any_form(const Workload& workload, const LaunchSpec& spec,
                                              const Family& family, const std::string& from);
/// Compiles a kernel as far as the family's machines want it.
Expected<kernel::Module> compile_kernel(kernel::Module module, const LaunchSpec& spec,
                                        const Family& family);
/// Reads the kernel of a launch and compiles it, but for a StableHLO module, which becomes several.
Expected<std::shared_ptr<const kernel::Module>> read_kernel(const Workload& workload,
                                                            const LaunchSpec& spec,
                                                            const Family& family,
                                                            const std::string& from);

/// Runs the launches of a workload in this process. Wrong input is an error before anything runs; a
/// launch that fails (out of bounds, deadlock, ...) ends the run and is Report::failure.
Expected<Report> run_workload(const Workload& workload, const RunSettings& settings);
/// The same on a machine that is there already (settings.machine and overrides are not looked at).
Expected<Report> run_workload(const Workload& workload, const LoadedMachine& machine,
                              const RunSettings& settings);

/// Diagnostics as text between processes.
std::string pack_diagnostics(const Diagnostics& d);
Diagnostics unpack_diagnostics(const std::string& text);

/// Runs `work` in a child process and returns what it returned. A crash, a signal or a stopped
/// child becomes a message; `work`'s diagnostics come back as they are.
Expected<std::string> in_child(const std::function<Expected<std::string>()>& work);

/// Runs `count` pieces of work, at most `jobs` at a time, a child process each; `done` is called in
/// the parent as each ends.
void in_children(std::size_t count, int jobs,
                 const std::function<Expected<std::string>(std::size_t)>& work,
                 const std::function<void(std::size_t, Expected<std::string>)>& done);

}  // namespace xpusim::run
