#pragma once

// The report of a run (schema xpusim.report/1): what JSON holds and what the text is made of.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/run/machine.h"
#include "sim/run/reference.h"

namespace xpusim::run {

/// One of the reasons why a launch takes as long as it does.
struct Bottleneck {
  std::string unit, reason, meaning;
  SourcePosition line;    ///< where most of them were lost
  double share = 0;       ///< of the unit's cycles
  double line_share = 0;  ///< those of `line`
};

/// Cost of the simulation itself, on the host.
struct HostStats {
  double wall_s = 0;
  double cycles_per_s = 0;
  double instructions_per_s = 0;  ///< warp instructions or bundles
  double peak_rss_mb = 0;
};

/// What the last `correlate` measured for one kind of kernel.
struct KindError {
  double mean_abs_pct = 0, worst_abs_pct = 0;
  int cases = 0;
  double shortest_ns = 0, longest_ns = 0;  ///< measured times of these cases
};

/// What the last `correlate` measured for a machine; absent: never calibrated.
struct ExpectedError {
  std::string machine;  ///< its name
  double mean_abs_pct = 0, worst_abs_pct = 0;
  int cases = 0;
  std::map<std::string, KindError> kinds;  ///< by kind of kernel; empty: not known
  std::string source;                      ///< the file that says so
  std::vector<std::string> changes;  ///< what the run's parameters differ in from those compared
  std::set<std::string> ops;         ///< that the compared kernels have; empty: not known
};

struct LaunchResult {
  LaunchReport machine;
  std::string label;                        ///< its name in the launch file; "": none
  double start_ns = 0;                      ///< when it began; the first at 0
  std::map<std::string, double> bound;      ///< name -> ns; empty without a bound machine
  std::vector<Bottleneck> bottlenecks;      ///< the top three
  std::vector<std::string> never_compared;  ///< ops of the kernel that no compared kernel has
  std::string kind;                         ///< of kernel, as ExpectedError::kinds
  HostStats host;
};

struct Report {
  std::string workload, machine, machine_file;
  config::Node config;
  std::vector<config::ParamDoc> parameters;  ///< all, with their values
  Peaks peaks;
  std::vector<LaunchResult> launches;
  std::optional<ExpectedError> kernel_error;      ///< of a system, that of its chips
  std::optional<ExpectedError> collective_error;  ///< of a system
  std::vector<CheckResult> checks;                ///< empty without `expect` or with --values off
  bool checked = false;
  Diagnostics
      failure;  ///< why a launch did not end (the kernel's own error, a deadlock); empty if fine
  bool refused = false;  ///< `failure`: the machine had no code or no room for that launch
};

/// Whether a launch was a collective, and not a kernel.
bool is_collective(const LaunchReport& report);
/// What is known of the errors of launches of its sort.
const std::optional<ExpectedError>& error_of(const Report& report, const LaunchResult& launch);

/// In microjoules; 0 if the machine has no energy model.
double total_energy(const LaunchReport& report);
/// From the begin of the first launch to the end of the last.
double elapsed_ns(const Report& report);
/// Of that, the time of collectives, and that in which nothing but them ran.
struct Communication {
  double all_ns = 0, exposed_ns = 0;
};
Communication communication(const Report& report);

/// The FLOP/s that this launch could reach: of the matrix units if it has dots, else of the vector
/// units.
double peak_flops(const LaunchReport& report, const Peaks& peaks);

/// The reasons that took most of a unit's cycles, but for useful work; the issuing unit's first.
std::vector<Bottleneck> find_bottlenecks(const LaunchReport& report, std::size_t most);

nlohmann::ordered_json to_json(const Report& report);
/// For people: ten seconds to read.
std::string to_text(const Report& report);

/// 27.4 us, 4.02 TB/s: three significant digits and an SI prefix.
std::string si(double value, const char* unit);

/// Whether `write_atomically` can work, to be said before a long run and not after it.
Expected<void> check_writable(const std::string& path);
/// Writes a file whole or not at all.
Expected<void> write_atomically(const std::string& path, const std::string& content);

}  // namespace xpusim::run
