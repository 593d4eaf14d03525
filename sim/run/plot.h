#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xpusim::run {

/// A line plot with linear y from 0 and linear or logarithmic x, or x by names.
struct Plot {
  struct Series {
    std::string label;
    std::vector<std::pair<double, double>> points;  ///< by x
  };
  std::string title, x_label, y_label;
  std::string legend;                ///< what the lines differ in
  std::string note;                  ///< small, below
  std::vector<std::string> x_names;  ///< if not empty, x = 0, 1, ... are these
  std::vector<Series> series;
};

/// The plot as an SVG file of its own (no scripts, no fonts). x is logarithmic where its values
/// grow by factors rather than by steps.
std::string to_svg(const Plot& plot);

}  // namespace xpusim::run
