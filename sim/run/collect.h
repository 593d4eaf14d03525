#pragma once

// A sweep's results as a table, CSV, JSON or a plot.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/run/plot.h"
#include "sim/run/sweep_row.h"

namespace xpusim::run {

/// One row a point: workload, machine, parameters, status, figures, the top reasons for lost
/// cycles, check, and why it failed. Nothing of the host: the same sweep gives the same bytes.
std::string to_csv(const SweepResults& results);  ///< RFC 4180
/// Schema xpusim.sweep_results/1; what the simulations themselves took is apart, under `host`.
nlohmann::ordered_json to_json(const SweepResults& results);
/// For people: parameters, and the figures that are looked at first.
std::string to_text(const SweepResults& results);

/// What a plot shows: y over x, a line for each combination of `by`; x and by are columns
/// (workload, machine, a parameter, a figure), y is a figure. `where` ("workload=softmax") keeps
/// some of the rows.
struct PlotChoice {
  std::string x, y;
  std::vector<std::string> by, where;
};
/// Points that agree in x and by are one, their mean; failed ones are left out, and the plot says
/// both.
Expected<Plot> make_plot(const SweepResults& results, const PlotChoice& choice);

}  // namespace xpusim::run
