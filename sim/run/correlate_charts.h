#pragma once

// The drawings of a correlation's page, as SVG inside HTML: colours are the page's CSS variables,
// and every mark has a title that a reader sees when pointing at it.

#include <string>
#include <vector>

#include "sim/run/correlate_summary.h"

namespace xpusim::run {

/// Simulated against measured time, both logarithmic, with the diagonal and what lies within 10 %
/// of it; a colour a kind of kernel.
std::string scatter_svg(const std::vector<CaseResult>& results);

/// How many cases have which signed error, in steps of 5 %; the last bars hold all beyond.
std::string histogram_svg(const std::vector<CaseResult>& results);

/// A bar of one or two values with its label: an HTML table row.
struct BarRow {
  std::string label, note;
  std::vector<double> values;      ///< one, or measured and simulated
  std::vector<std::string> texts;  ///< a text a value
};
/// Bars to one scale, the largest value full. Of a row with two values the first is what was
/// measured; one alone is simulated.
std::string bars_html(const std::vector<BarRow>& rows);

/// The kinds of kernels of the results in the order of their colours.
std::vector<std::string> kinds_in(const std::vector<CaseResult>& results);

}  // namespace xpusim::run
