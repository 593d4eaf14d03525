#pragma once

// A row of a sweep's results: what a point was and what its run said.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/run/report.h"

namespace xpusim::run {

/// The figures of all launches of a run together: times, cycles, bytes, operations and energies are
/// sums, and rates are of the sums.
struct RowFigures {
  Figure time_ns, cycles, clock_mhz, hbm_gbs, hbm_peak_gbs, tflops, energy_uj, power_w;
  Figure bound_ns;     ///< the least time by the machine's peaks
  Figure bound_ratio;  ///< time / bound
};

/// A figure as a column of a table: its name, and for an axis what it is, in which unit, and what
/// one of it is in that unit.
struct FigureColumn {
  const char* name;
  const char* label;
  const char* unit;
  double scale;
  Figure RowFigures::*member;
};
const std::vector<FigureColumn>& figure_columns();

/// A reason for lost cycles of the unit that issues the work, as a share of its cycles.
struct Stall {
  std::string unit, reason;
  double share = 0;
  std::string meaning;  ///< of the reason, in a few words for people
};
inline constexpr std::size_t kRowStalls = 3;

enum class PointStatus {
  kPending,  ///< has not run
  kOk,
  kFailed,  ///< the run ended with an error, or with wrong values
  kLost,    ///< its process ended without an answer: a crash, a kill; a restart tries it again
};
const char* name(PointStatus status);

/// What a point's run said.
struct PointOutcome {
  PointStatus status = PointStatus::kPending;
  std::string reason;  ///< why there are no figures
  RowFigures figures;
  std::vector<Stall> stalls;  ///< at most kRowStalls, the largest first
  std::string check;          ///< "right", "wrong", or "" where nothing was checked
  // The host's part, which no two runs share:
  double wall_s = 0, peak_rss_mb = 0;
};

struct SweepRow {
  std::string id, workload, machine;
  std::vector<std::string> values;  ///< of the sweep's parameters
  PointOutcome outcome;
};

/// Everything that a sweep left.
struct SweepResults {
  std::string name;
  std::string tool;
  std::vector<std::string> parameters;
  std::vector<SweepRow> rows;  ///< in the order of the grid
};

PointOutcome outcome_of(const Report& report);

/// For the way between processes.
nlohmann::ordered_json to_json(const PointOutcome& outcome);
PointOutcome outcome_from(const nlohmann::ordered_json& j);

}  // namespace xpusim::run
