#include "sim/run/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/run/markup.h"

namespace xpusim::run {
namespace {

// Layout, in pixels.
constexpr double kHeight = 480, kLeft = 78, kTop = 56, kBottom = 74, kPlotWidth = 620;
constexpr double kLegendGap = 22, kLegendLine = 20, kCharacter = 7.2, kMargin = 20;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr std::size_t kMostXTicks = 12;

/// Okabe and Ito's colours, which most colour-blind people can tell apart, without the yellow.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#333333"};
constexpr const char* kDashes[] = {"", "7 4", "2 3", "9 3 2 3"};

/// Characters, not bytes.
double width_of(const std::string& text) {
  const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return kCharacter * static_cast<double>(std::count_if(text.begin(), text.end(), is_first));
}

/// The step of 1, 2, 2.5 or 5 times a power of ten that gives about `count` ticks.
double nice_step(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (double f : {1.0, 2.0, 2.5, 5.0})
    if (f * power >= raw * (1 - 1e-9)) return f * power;
  return 10 * power;
}

std::string number(double v) { return fmt::format("{:.6g}", std::abs(v) < 1e-12 ? 0.0 : v); }

/// Whether values grow by factors rather than by steps.
bool grows_by_factors(const std::vector<double>& xs) {
  if (xs.size() < 3 || xs.front() <= 0 || xs.back() / xs.front() < 8) return false;
  double least_step = INFINITY, most_step = 0, least_factor = INFINITY, most_factor = 0;
  for (std::size_t i = 1; i < xs.size(); ++i) {
    const double step = xs[i] - xs[i - 1], factor = xs[i] / xs[i - 1];
    least_step = std::min(least_step, step);
    most_step = std::max(most_step, step);
    least_factor = std::min(least_factor, factor);
    most_factor = std::max(most_factor, factor);
  }
  return most_factor / least_factor < most_step / least_step;
}

/// Draws one plot into `out`.
class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    std::set<double> xs;
    double y_max = 0, y_min = 0;
    for (const auto& s : plot.series) {
      for (const auto& [x, y] : s.points) {
        xs.insert(x);
        y_max = std::max(y_max, y);
        y_min = std::min(y_min, y);
      }
    }
    xs_.assign(xs.begin(), xs.end());
    logarithmic_ = plot.x_names.empty() && grows_by_factors(xs_);
    y_step_ = nice_step(y_max > y_min ? y_max - y_min : 1, 6);
    y_low_ = std::floor(y_min / y_step_ + 1e-9) * y_step_;
    y_high_ = std::max(std::ceil(y_max / y_step_ - 1e-9) * y_step_, y_low_ + y_step_);
    const double low = xs_.empty() ? 0 : scaled(xs_.front());
    const double high = xs_.empty() ? 1 : scaled(xs_.back());
    const double pad = high > low ? 0.04 * (high - low) : 1;
    x_low_ = low - pad;
    x_high_ = high + pad;
  }

  std::string svg() {
    const double width = kLeft + kPlotWidth + legend_width() + kMargin;
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', "
        "sans-serif\" font-size=\"13\" fill=\"#222\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        width, height());
    text(kLeft, 30, plot_.title, "font-size=\"17\" font-weight=\"600\"");
    y_axis();
    x_axis();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) line(i);
    legend();
    if (!plot_.note.empty())
      text(kLeft, kHeight - 10, plot_.note, "font-size=\"11\" fill=\"#777\"");
    return out_ + "</svg>\n";
  }

 private:
  double scaled(double x) const { return logarithmic_ ? std::log(x) : x; }
  double place_x(double x) const {
    return kLeft + kPlotWidth * (scaled(x) - x_low_) / (x_high_ - x_low_);
  }
  double place_y(double y) const {
    return kTop + kPlotHeight * (1 - (y - y_low_) / (y_high_ - y_low_));
  }
  static const char* colour(std::size_t i) { return kColours[i % std::size(kColours)]; }
  static std::string dash(std::size_t i) {
    const char* pattern = kDashes[i / std::size(kColours) % std::size(kDashes)];
    return *pattern ? fmt::format(" stroke-dasharray=\"{}\"", pattern) : "";
  }

  void text(double x, double y, const std::string& words, const std::string& style) {
    out_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, style, escaped(words));
  }
  void rule(double x1, double y1, double x2, double y2, const char* stroke) {
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1,
        x2, y2, stroke);
  }

  void y_axis() {
    for (int i = 0; y_low_ + i * y_step_ <= y_high_ + y_step_ / 2; ++i) {
      const double v = y_low_ + i * y_step_, y = place_y(v);
      rule(kLeft, y, kLeft + kPlotWidth, y, "#e4e4e4");
      text(kLeft - 9, y + 4.5, number(v), "text-anchor=\"end\"");
    }
    const double middle = kTop + kPlotHeight / 2;
    text(20, middle, plot_.y_label,
         fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 20 {:.1f})\"", middle));
  }

  void x_axis() {
    const double base = kTop + kPlotHeight;
    rule(kLeft, base, kLeft + kPlotWidth, base, "#555");
    for (double v : x_ticks()) {
      const double x = place_x(v);
      rule(x, base, x, base + 5, "#555");
      const bool named = !plot_.x_names.empty();
      text(x, base + 20, named ? plot_.x_names.at(static_cast<std::size_t>(v)) : number(v),
           "text-anchor=\"middle\"");
    }
    text(kLeft + kPlotWidth / 2, base + 44, plot_.x_label + (logarithmic_ ? ", log scale" : ""),
         "text-anchor=\"middle\"");
  }

  /// The values themselves if their labels have room, else round numbers.
  std::vector<double> x_ticks() const {
    bool fits = xs_.size() <= kMostXTicks || !plot_.x_names.empty();
    for (std::size_t i = 1; i < xs_.size() && fits && plot_.x_names.empty(); ++i)
      fits = place_x(xs_[i]) - place_x(xs_[i - 1]) >
             (width_of(number(xs_[i])) + width_of(number(xs_[i - 1]))) / 2 + kCharacter;
    if (fits) return xs_;
    std::vector<double> ticks;
    if (logarithmic_) {
      const double factor = std::exp(std::max(std::log(2.0), (x_high_ - x_low_) / 8));
      for (double v = xs_.front(); v <= xs_.back() * (1 + 1e-9); v *= factor) ticks.push_back(v);
    } else {
      const double step = nice_step(x_high_ - x_low_, 8);
      for (double v = std::ceil(x_low_ / step) * step; v <= x_high_; v += step) ticks.push_back(v);
    }
    return ticks;
  }

  void line(std::size_t index) {
    const auto& points = plot_.series[index].points;
    std::string path;
    for (const auto& [x, y] : points)
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", place_x(x), place_y(y));
    out_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-linejoin=\"round\"{}/>\n",
        path, colour(index), dash(index));
    for (const auto& [x, y] : points)
      out_ += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" stroke=\"#fff\" "
          "stroke-width=\"1.2\"/>\n",
          place_x(x), place_y(y), colour(index));
  }

  bool has_legend() const { return plot_.series.size() > 1 || !plot_.legend.empty(); }
  double height() const {
    const double lines = has_legend() ? static_cast<double>(plot_.series.size()) : 0;
    return std::max(kHeight, kTop + 40 + lines * kLegendLine);
  }
  double legend_width() const {
    if (!has_legend()) return 0;
    double width = width_of(plot_.legend);
    for (const auto& s : plot_.series) width = std::max(width, 34 + width_of(s.label));
    return kLegendGap + width;
  }
  void legend() {
    if (!has_legend()) return;
    const double x = kLeft + kPlotWidth + kLegendGap;
    text(x, kTop + 8, plot_.legend, "font-size=\"12\" fill=\"#555\"");
    for (std::size_t i = 0; i < plot_.series.size(); ++i) {
      const double y = kTop + 8 + kLegendLine * static_cast<double>(i + 1);
      out_ += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"{3}\" "
          "stroke-width=\"2\"{4}/>\n<circle cx=\"{5:.1f}\" cy=\"{1:.1f}\" r=\"4\" "
          "fill=\"{3}\"/>\n",
          x, y, x + 26, colour(i), dash(i), x + 13);
      text(x + 34, y + 4.5, plot_.series[i].label, "");
    }
  }

  const Plot& plot_;
  std::vector<double> xs_;
  bool logarithmic_ = false;
  double x_low_ = 0, x_high_ = 1, y_low_ = 0, y_high_ = 1, y_step_ = 1;
  std::string out_;
};

}  // namespace

std::string to_svg(const Plot& plot) { return Drawing(plot).svg(); }

}  // namespace xpusim::run
