#pragma once

#include <string>
#include <vector>

#include "sim/run/correlate_summary.h"

namespace xpusim::run {

/// A correlation as one HTML page that needs nothing else: the figures of the summary, simulated
/// against measured times, errors by kernel, kind and counter, how well schedules are ranked, and
/// for the worst cases the simulated cycles by reason beside the stall counters. `cases` names the
/// cases file.
std::string to_html(const std::string& cases, const std::vector<CaseResult>& results,
                    const Summary& summary);

}  // namespace xpusim::run
