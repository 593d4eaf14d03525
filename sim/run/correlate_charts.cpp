#include "sim/run/correlate_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/run/markup.h"
#include "sim/run/report.h"

namespace xpusim::run {
namespace {

// Layout, in pixels.
constexpr double kSide = 470, kLeft = 74, kTop = 12, kBottom = 52, kRight = 14;
constexpr double kBinWidth = 22, kHistogramHeight = 190;
constexpr double kNear = 0.10;  // the band around the diagonal
constexpr double kBinPct = 5;
constexpr int kBins = 20;          // from -50 % to 50 %, and one more at either end
constexpr double kFewDecades = 3;  // with fewer, 2 and 5 have ticks too

bool is_drawn(const CaseResult& r) {
  return r.error_pct() && *r.measured_ns > 0 && *r.simulated_ns > 0;
}

std::string kind_of(const CaseResult& r) {
  const std::string kind = r.kind();
  return kind.empty() ? "unknown" : kind;
}

std::string text(double x, double y, const std::string& words, const char* more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, escaped(words));
}

/// One logarithmic scale for both axes, so that the diagonal is one.
class Scale {
 public:
  explicit Scale(const std::vector<CaseResult>& results) {
    double least = INFINITY, most = 0;
    for (const auto& r : results) {
      if (!is_drawn(r)) continue;
      least = std::min({least, *r.measured_ns, *r.simulated_ns});
      most = std::max({most, *r.measured_ns, *r.simulated_ns});
    }
    low_ = std::log10(least) - 0.12;
    high_ = std::log10(most) + 0.12;
  }
  double share(double ns) const { return (std::log10(ns) - low_) / (high_ - low_); }
  double x(double ns) const { return kLeft + kSide * share(ns); }
  double y(double ns) const { return kTop + kSide * (1 - share(ns)); }
  double low() const { return std::pow(10, low_); }
  double high() const { return std::pow(10, high_); }

  std::vector<double> ticks() const {
    std::vector<double> out;
    const int first = static_cast<int>(std::floor(low_)), last = static_cast<int>(high_);
    for (int decade = first; decade <= last; ++decade)
      for (double digit : {1.0, 2.0, 5.0}) {
        const double ns = digit * std::pow(10.0, decade);
        if (digit > 1 && high_ - low_ > kFewDecades) continue;
        if (ns >= low() && ns <= high()) out.push_back(ns);
      }
    return out;
  }

 private:
  double low_, high_;
};

std::string axes(const Scale& scale) {
  std::string out;
  const double base = kTop + kSide, end = kLeft + kSide;
  for (double ns : scale.ticks()) {
    const double x = scale.x(ns), y = scale.y(ns);
    out += fmt::format(
        "<path class=\"rule\" d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {4:.1f}H{5:.1f}\"/>\n", x, kTop,
        base, kLeft, y, end);
    const std::string label = si(ns * 1e-9, "s");
    // 10.0 us: a tick needs no digits after the point.
    const std::size_t point = label.find('.'), space = label.find(' ');
    const std::string words = label.substr(0, std::min(point, space)) + label.substr(space);
    out += text(x, base + 18, words, "class=\"tick\" text-anchor=\"middle\"");
    out += text(kLeft - 8, y + 4, words, "class=\"tick\" text-anchor=\"end\"");
  }
  out += text(kLeft + kSide / 2, base + 42, "measured", "class=\"axis\" text-anchor=\"middle\"");
  out += fmt::format(
      "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(14 {:.1f}) "
      "rotate(-90)\">simulated</text>\n",
      kTop + kSide / 2);
  return out;
}

std::string diagonal(const Scale& scale) {
  const double low = scale.low(), high = scale.high(), f = 1 + kNear;
  return fmt::format(
      "<clipPath id=\"plot\"><rect x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" "
      "height=\"{2:.1f}\"/></clipPath>\n<g clip-path=\"url(#plot)\">\n"
      "<path class=\"band\" d=\"M{3:.1f} {4:.1f}L{5:.1f} {6:.1f}V{7:.1f}L{3:.1f} {8:.1f}Z\"/>\n"
      "<path class=\"diagonal\" d=\"M{3:.1f} {9:.1f}L{5:.1f} {10:.1f}\"/>\n</g>\n",
      kLeft, kTop, kSide, scale.x(low), scale.y(low * f), scale.x(high), scale.y(high * f),
      scale.y(high / f), scale.y(low / f), scale.y(low), scale.y(high));
}

std::string point(const Scale& scale, const CaseResult& r, std::size_t colour) {
  return fmt::format(
      "<circle class=\"dot k{}{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"><title>{}\nmeasured {}, "
      "simulated {} ({:+.1f} %)</title></circle>\n",
      colour, r.gate ? "" : " shown", scale.x(*r.measured_ns), scale.y(*r.simulated_ns),
      escaped(r.name), si(*r.measured_ns * 1e-9, "s"), si(*r.simulated_ns * 1e-9, "s"),
      *r.error_pct());
}

}  // namespace

std::vector<std::string> kinds_in(const std::vector<CaseResult>& results) {
  std::set<std::string> kinds;
  for (const auto& r : results)
    if (is_drawn(r)) kinds.insert(kind_of(r));
  return {kinds.begin(), kinds.end()};
}

std::string scatter_svg(const std::vector<CaseResult>& results) {
  const auto kinds = kinds_in(results);
  if (kinds.empty()) return "";
  const Scale scale(results);
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"simulated against measured "
      "time\">\n",
      kLeft + kSide + kRight, kTop + kSide + kBottom);
  out += axes(scale) + diagonal(scale);
  for (const auto& r : results) {
    if (!is_drawn(r)) continue;
    const auto kind = std::find(kinds.begin(), kinds.end(), kind_of(r)) - kinds.begin();
    out += point(scale, r, static_cast<std::size_t>(kind));
  }
  return out + "</svg>\n";
}

std::string histogram_svg(const std::vector<CaseResult>& results) {
  std::vector<std::vector<std::string>> bins(kBins + 2);
  for (const auto& r : results) {
    if (!r.gate || !r.error_pct()) continue;
    const double bin = std::floor(*r.error_pct() / kBinPct) + kBins / 2.0 + 1;
    bins[static_cast<std::size_t>(std::clamp(bin, 0.0, kBins + 1.0))].push_back(r.name);
  }
  std::size_t most = 1;
  for (const auto& bin : bins) most = std::max(most, bin.size());
  const double width = kBinWidth * (kBins + 2), base = kTop + kHistogramHeight;
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"histogram of errors\">\n",
      width + 40, base + kBottom);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double x = 20 + kBinWidth * static_cast<double>(i);
    const double low = kBinPct * (static_cast<double>(i) - 1 - kBins / 2.0);
    if (!bins[i].empty()) {
      const double h =
          (kHistogramHeight - 18) * static_cast<double>(bins[i].size()) / static_cast<double>(most);
      const std::string range = i == 0 ? fmt::format("below {:.0f} %", low + kBinPct)
                                : i == kBins + 1u
                                    ? fmt::format("{:.0f} % and more", low)
                                    : fmt::format("{:+.0f} to {:+.0f} %", low, low + kBinPct);
      std::string names;
      for (std::size_t k = 0; k < bins[i].size() && k < 12; ++k)
        names += "\n" + escaped(bins[i][k]);
      if (bins[i].size() > 12) names += fmt::format("\nand {} more", bins[i].size() - 12);
      out += fmt::format(
          "<rect class=\"bin\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "rx=\"2\"><title>{}: {} cases{}</title></rect>\n",
          x + 1, base - h, kBinWidth - 2, h, range, bins[i].size(), names);
      out += text(x + kBinWidth / 2, base - h - 5, fmt::format("{}", bins[i].size()),
                  "class=\"tick\" text-anchor=\"middle\"");
    }
    if (i >= 1 && (i - 1) % 2 == 0)
      out +=
          text(x, base + 18, fmt::format("{:.0f}", low), "class=\"tick\" text-anchor=\"middle\"");
  }
  out += fmt::format("<path class=\"base\" d=\"M20 {0:.1f}H{1:.1f}\"/>\n", base, 20 + width);
  const double zero = 20 + kBinWidth * (kBins / 2.0 + 1);
  out +=
      fmt::format("<path class=\"diagonal\" d=\"M{0:.1f} {1:.1f}V{2:.1f}\"/>\n", zero, kTop, base);
  out += text(20 + width / 2, base + 42, "error of the simulated time, per cent",
              "class=\"axis\" text-anchor=\"middle\"");
  return out + "</svg>\n";
}

std::string bars_html(const std::vector<BarRow>& rows) {
  double most = 0;
  for (const auto& r : rows)
    for (double v : r.values) most = std::max(most, v);
  std::string out = "<table class=\"bars\">\n";
  for (const auto& r : rows) {
    out +=
        fmt::format("<tr{}><th>{}</th><td>",
                    r.note.empty() ? "" : " title=\"" + escaped(r.note) + "\"", escaped(r.label));
    for (std::size_t i = 0; i < r.values.size(); ++i)
      out += fmt::format("<div class=\"bar b{}\" style=\"width:{:.1f}%\"></div>",
                         r.values.size() == 1 ? 1 : i, most > 0 ? 100 * r.values[i] / most : 0.0);
    out += "</td>";
    for (const auto& t : r.texts) out += fmt::format("<td class=\"n\">{}</td>", escaped(t));
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace xpusim::run
