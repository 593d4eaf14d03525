#pragma once

// What a comparison of machines came to, kind of work by kind of work, and which machine to choose.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/child_run.h"
#include "sim/run/comparison/compared_run.h"
#include "sim/run/comparison/comparison_set.h"

namespace xpusim::run {

/// A machine as its peaks and its price say how big it is.
struct ComparedMachine {
  std::string name, family;
  Peaks peaks;
};

/// A workload on each of the machines, in their order.
struct ComparedRow {
  std::string workload;
  std::vector<ComparedRun> runs;
};

struct ComparedKind {
  std::string name;
  std::vector<ComparedRow> rows;
};

struct Comparison {
  std::string name;
  bool values = true, warm_caches = false;
  std::vector<ComparedMachine> machines;
  std::vector<ComparedKind> kinds;

  bool any_failed() const;  ///< a run failed, or computed wrong values; refusals are none
};

/// The machines of these settings, with their overrides; says all that is wrong with them.
Expected<std::vector<ComparedMachine>> compared_machines(const std::vector<RunSettings>& on);

/// Reads and binds all that would run: says what is wrong with the files whatever machines can run.
Expected<void> check_forms(const ComparisonSet& set, const std::vector<ComparedMachine>& machines,
                           const std::vector<RunSettings>& on);

/// Runs every workload, whose forms are checked, on every machine, a child process each and at most
/// `jobs` at a time. A machine that cannot run a workload, by its ops or for want of room, is a
/// refusal of that cell, and the rest goes on. `done` is called as each ends, with how many have.
Comparison run_comparison(const ComparisonSet& set, std::vector<ComparedMachine> machines,
                          const std::vector<RunSettings>& on, int jobs,
                          const std::function<void(std::size_t done, std::size_t all)>& done);

/// Of one workload, from its reports on these machines (an array of schema xpusim.report/1).
Comparison comparison_of(const ComparisonSet& set, std::vector<ComparedMachine> machines,
                         const nlohmann::ordered_json& reports);

/// What a machine is chosen for.
enum class Aim { kTime, kEnergy, kCost };
inline constexpr Aim kAims[] = {Aim::kTime, Aim::kEnergy, Aim::kCost};
const char* name(Aim aim);

/// The figure of a run that an aim makes small; none if it is not known, or if the run computed
/// wrong values.
Figure figure(const ComparedRun& run, Aim aim);

/// How much smaller the figure of machine `a` is than that of `b`, as the geometric mean over the
/// rows that both ran; none if there is no such row.
std::optional<double> advantage(const ComparedKind& kind, Aim aim, std::size_t a, std::size_t b);

/// How a ratio compares with the errors of the two models' figures. Nobody measured those of
/// energies, nor of the times of a machine that was never compared with a real one.
enum class Margin { kApart, kClose, kUnknown };

/// Which machine to choose for a kind of work. Only machines that run as many of its workloads as
/// any does are looked at; what decides is the geometric mean over those that all of them run.
struct Choice {
  std::optional<std::size_t> machine;  ///< none if no machine has the figure
  std::optional<std::size_t> next;     ///< the next best; none if there is but one
  double ratio = 0;                    ///< how much better it is than that
  Margin margin = Margin::kUnknown;    ///< whether the ratio is more than the errors
  std::string why;                     ///< a sentence, of the bounds, the ledgers and the prices
};
Choice choose(const Comparison& comparison, const ComparedKind& kind, Aim aim);

/// Why `best` is better than `next` over these rows, all of which both ran.
std::string why(const Comparison& comparison, const std::vector<const ComparedRow*>& rows, Aim aim,
                std::size_t best, std::size_t next);

/// "1.24", "17": a ratio with three digits.
std::string ratio_text(double ratio);

/// "5 %": the mean error of this run's machine and kind of kernel; in brackets where it was
/// compared with other kinds only, or far from this run; "-": it was never compared.
std::string error_cell(const ComparedRun& run);

/// Schema xpusim.comparison_set_results/1.
nlohmann::ordered_json to_json(const Comparison& comparison);
std::string to_text(const Comparison& comparison);
/// A page that needs nothing else.
std::string to_html(const Comparison& comparison);

/// Of one workload: a column a machine, and what to choose.
std::string side_by_side(const Comparison& comparison);

}  // namespace xpusim::run
