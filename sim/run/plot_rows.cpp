// From the rows of a sweep to a plot: which columns, which points, which lines.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/run/collect.h"
#include "sim/run/written_number.h"

namespace xpusim::run {
namespace {

/// A column of the results: a text (workload, machine, a parameter) or a figure.
struct Column {
  std::string name;
  const FigureColumn* figure = nullptr;
  int parameter = -1;

  std::string text(const SweepRow& row) const {
    if (parameter >= 0) return row.values[static_cast<std::size_t>(parameter)];
    if (name == "workload") return row.workload;
    if (name == "machine") return row.machine;
    const Figure& f = row.outcome.figures.*figure->member;
    return f ? si(*f * figure->scale, figure->unit) : "unknown";
  }
};

std::vector<std::string> column_names(const SweepResults& results, bool figures_only) {
  std::vector<std::string> names;
  if (!figures_only) {
    names = {"workload", "machine"};
    names.insert(names.end(), results.parameters.begin(), results.parameters.end());
  }
  for (const auto& c : figure_columns()) names.push_back(c.name);
  return names;
}

Expected<Column> find_column(const SweepResults& results, const char* option,
                             const std::string& name, bool figures_only = false) {
  const auto names = column_names(results, figures_only);
  if (std::find(names.begin(), names.end(), name) == names.end())
    return fail({option, 0, 0}, fmt::format("no column '{}'{}; there are {}", name,
                                            did_you_mean(name, names), fmt::join(names, ", ")));
  Column c{name};
  for (const auto& f : figure_columns())
    if (f.name == name) c.figure = &f;
  const auto& paths = results.parameters;
  if (auto it = std::find(paths.begin(), paths.end(), name); it != paths.end())
    c.parameter = static_cast<int>(it - paths.begin());
  return c;
}

/// The finished rows that every `where` lets through.
Expected<std::vector<const SweepRow*>> chosen_rows(const SweepResults& results,
                                                   const std::vector<std::string>& where,
                                                   std::size_t& left_out) {
  std::vector<const SweepRow*> rows;
  for (const auto& row : results.rows) rows.push_back(&row);
  for (const auto& condition : where) {
    const auto equals = condition.find('=');
    if (equals == std::string::npos)
      return fail({"--where", 0, 0},
                  fmt::format("'{}' is not of the form column=value", condition));
    auto column = find_column(results, "--where", condition.substr(0, equals));
    if (!column) return fail(column.error());
    const std::string value = condition.substr(equals + 1);
    std::vector<std::string> values;
    for (const auto* row : rows)
      if (const auto text = column->text(*row);
          std::find(values.begin(), values.end(), text) == values.end())
        values.push_back(text);
    std::erase_if(rows, [&](const SweepRow* row) { return column->text(*row) != value; });
    if (rows.empty())
      return fail({"--where", 0, 0}, fmt::format("no row has {} = '{}': there are {}", column->name,
                                                 value, fmt::join(values, ", ")));
  }
  left_out = std::erase_if(
      rows, [](const SweepRow* row) { return row->outcome.status != PointStatus::kOk; });
  return rows;
}

/// An axis: what its numbers are, and how to get them.
struct Axis {
  std::string label;
  std::vector<std::string> names;  ///< of x = 0, 1, ... where the values are no numbers
  std::vector<Figure> values;      ///< a row each
};

/// The SI prefix for numbers up to `largest`.
std::pair<double, const char*> prefix_for(double largest) {
  static constexpr std::pair<double, const char*> kPrefixes[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"},  {1e6, "M"}, {1e3, "k"},
      {1, ""},     {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}};
  for (const auto& p : kPrefixes)
    if (largest >= p.first) return p;
  return {1e-12, "p"};
}

Axis figure_axis(const FigureColumn& column, const std::vector<const SweepRow*>& rows) {
  Axis axis;
  double largest = 0;
  for (const auto* row : rows) {
    axis.values.push_back(row->outcome.figures.*column.member);
    if (axis.values.back()) largest = std::max(largest, std::abs(*axis.values.back()));
  }
  const bool has_unit = *column.unit != '\0';
  const auto [scale, prefix] =
      has_unit && largest > 0 ? prefix_for(largest * column.scale) : std::pair{1.0, ""};
  for (auto& v : axis.values)
    if (v) *v *= column.scale / scale;
  axis.label = has_unit ? fmt::format("{} ({}{})", column.label, prefix, column.unit)
                        : std::string(column.label);
  return axis;
}

/// Numbers in the unit of the first, or else names in order of appearance.
Axis text_axis(const Column& column, const std::vector<const SweepRow*>& rows) {
  Axis axis;
  axis.label = column.name;
  std::string unit;
  for (const auto* row : rows) {
    const auto n = parse_number(column.text(*row));
    if (n && axis.values.empty()) unit = n->unit;
    const auto v = n ? value_in(*n, unit) : std::nullopt;
    if (!v) break;
    axis.values.push_back(*v);
  }
  if (axis.values.size() == rows.size()) {
    if (!unit.empty()) axis.label += fmt::format(" ({})", unit);
    return axis;
  }
  axis.values.clear();
  for (const auto* row : rows) {
    const auto text = column.text(*row);
    auto it = std::find(axis.names.begin(), axis.names.end(), text);
    axis.values.push_back(static_cast<double>(it - axis.names.begin()));
    if (it == axis.names.end()) axis.names.push_back(text);
  }
  return axis;
}

/// Sums of what falls on one x of one line.
struct Mean {
  double sum = 0;
  int count = 0;
};

}  // namespace

Expected<Plot> make_plot(const SweepResults& results, const PlotChoice& choice) {
  std::size_t left_out = 0;
  auto rows = chosen_rows(results, choice.where, left_out);
  if (!rows) return fail(rows.error());
  auto x = find_column(results, "--x", choice.x);
  if (!x) return fail(x.error());
  auto y = find_column(results, "--y", choice.y, true);
  if (!y) return fail(y.error());
  std::vector<Column> by;
  for (const auto& name : choice.by) {
    auto column = find_column(results, "--by", name);
    if (!column) return fail(column.error());
    by.push_back(*column);
  }
  const Axis x_axis = x->figure ? figure_axis(*x->figure, *rows) : text_axis(*x, *rows);
  const Axis y_axis = figure_axis(*y->figure, *rows);

  std::vector<std::string> labels;
  std::map<std::string, std::map<double, Mean>> lines;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    if (!x_axis.values[i] || !y_axis.values[i]) continue;
    std::string label;
    for (const auto& c : by) label += (label.empty() ? "" : ", ") + c.text(*(*rows)[i]);
    if (lines.find(label) == lines.end()) labels.push_back(label);
    Mean& m = lines[label][*x_axis.values[i]];
    m.sum += *y_axis.values[i];
    ++m.count;
  }
  if (lines.empty())
    return fail({"--svg", 0, 0},
                fmt::format("no finished point has both '{}' and '{}'", choice.x, choice.y));
  Plot plot;
  plot.title = results.name;
  for (const auto& w : choice.where) plot.title += fmt::format(", {}", w);
  plot.x_label = x_axis.label;
  plot.y_label = y_axis.label;
  plot.x_names = x_axis.names;
  for (const auto& c : by)
    plot.legend += (plot.legend.empty() ? "" : ", ") + (c.figure ? c.figure->label : c.name);
  int most = 1;
  for (const auto& label : labels) {
    Plot::Series series{label, {}};
    for (const auto& [at, m] : lines[label]) {
      series.points.emplace_back(at, m.sum / m.count);
      most = std::max(most, m.count);
    }
    plot.series.push_back(std::move(series));
  }
  if (most > 1) plot.note = fmt::format("each point is the mean of up to {} of the sweep's", most);
  if (left_out > 0)
    plot.note +=
        fmt::format("{}left out, without a result: {}", plot.note.empty() ? "" : "; ", left_out);
  return plot;
}

}  // namespace xpusim::run
