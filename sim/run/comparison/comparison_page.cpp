// The page of a comparison: what to choose first, then every kind of work.

#include <fmt/format.h>

#include <algorithm>

#include "sim/run/comparison/choice_text.h"
#include "sim/run/comparison/comparison.h"
#include "sim/run/markup.h"
#include "sim/run/page.h"
#include "sim/run/report.h"
#include "sim/run/tool.h"

namespace xpusim::run {
namespace {

constexpr const char* kTableEnd = "</tbody></table>";
constexpr std::size_t kHues = 5;

std::string machines_table(const Comparison& c) {
  std::string out = table_head({"machine", "#matrix peak", "#vector peak", "#HBM", "#USD an hour"});
  for (const auto& m : c.machines) {
    out += "<tr>" + table_cell(m.name) + number_cell(si(m.peaks.tensor_flops_per_s, "FLOP/s")) +
           number_cell(si(m.peaks.flops_per_s, "FLOP/s")) +
           number_cell(si(m.peaks.hbm_bytes_per_s, "B/s"));
    const auto& price = m.peaks.dollars_per_hour;
    out += number_cell(price ? fmt::format("{:.2f}", *price) : "-") + "</tr>\n";
  }
  return out + kTableEnd;
}

std::string choice_html(const Comparison& c, const ComparedKind& kind, Aim aim) {
  const Choice choice = choose(c, kind, aim);
  return fmt::format("<td><span class=\"pick\">{}</span><div class=\"why\">{}</div></td>",
                     escaped(choice_cell(c, choice)), escaped(choice.why));
}

std::string decision_table(const Comparison& c) {
  std::string out = table_head({"kind of work", "time", "energy", "cost"});
  for (const auto& kind : c.kinds) {
    out += "<tr>" + table_cell(kind.name);
    for (const Aim aim : kAims) out += choice_html(c, kind, aim);
    out += "</tr>\n";
  }
  return out + kTableEnd;
}

/// A bar as long as its time among those of the row.
std::string bar(double value, double most, std::size_t machine) {
  return fmt::format("<div class=\"bar k{}\" style=\"width:{:.1f}%\"></div>", machine % kHues,
                     most > 0 ? 100 * value / most : 0.0);
}

std::string run_html(const ComparedRun& r, double longest, std::size_t machine) {
  if (!r.ok())
    return fmt::format("<td colspan=\"9\" class=\"refused\">{}: {}</td>", name(r.status),
                       escaped(r.reason));
  std::string out =
      fmt::format("<td style=\"width:14%\">{}</td>", bar(r.time_ns, longest, machine));
  out += number_cell(si(r.time_ns * 1e-9, "s")) + number_cell(error_cell(r)) +
         number_cell(fmt::format("{:.0f} %", 100 * r.bound_share())) +
         number_cell(r.energy_uj ? si(*r.energy_uj * 1e-6, "J") : "-") +
         number_cell(r.energy_uj ? si(r.power_w(), "W") : "-") +
         number_cell(r.cost_usd ? fmt::format("{:.3g}", *r.cost_usd * 1e6) : "-");
  return out + fmt::format("<td class=\"limit\">{}</td>", escaped(to_text(r.limit))) +
         table_cell(r.check.empty() ? "-" : r.check);
}

std::string rows_table(const Comparison& c, const ComparedKind& kind) {
  std::string out = table_head({"workload", "machine", "time", "#", "#error", "#of bound",
                                "#energy", "#power", "#USD a million", "limited by", "values"});
  for (const auto& row : kind.rows) {
    double longest = 0;
    for (const auto& r : row.runs) longest = std::max(longest, r.time_ns);
    for (std::size_t m = 0; m < row.runs.size(); ++m)
      out += "<tr>" + table_cell(m == 0 ? row.workload : "") + table_cell(c.machines[m].name) +
             run_html(row.runs[m], longest, m) + "</tr>\n";
  }
  return out + kTableEnd;
}

std::string relative_table(const Comparison& c, const ComparedKind& kind) {
  if (c.machines.size() < 2) return "";
  std::string out = table_head(
      {c.machines[0].name + " = 1, geometric mean", "#speed", "#per watt", "#per dollar"});
  for (std::size_t m = 1; m < c.machines.size(); ++m) {
    out += "<tr>" + table_cell(c.machines[m].name);
    for (const Aim aim : kAims) {
      const auto a = advantage(kind, aim, m, 0);
      out += number_cell(a ? ratio_text(*a) : "-");
    }
    out += "</tr>\n";
  }
  return out + kTableEnd;
}

std::string machine_names(const Comparison& c) {
  std::string out;
  for (const auto& m : c.machines) out += (out.empty() ? "" : ", ") + m.name;
  return out;
}

}  // namespace

std::string to_html(const Comparison& c) {
  std::string body = fmt::format("<h1>{}: {}</h1>\n<p>{}, values {}, caches {}</p>\n",
                                 escaped(c.name), escaped(machine_names(c)), kTool,
                                 c.values ? "on" : "off", c.warm_caches ? "warm" : "cold");
  body += section("Which to choose",
                  "In brackets how many times better than the next best machine, as a geometric "
                  "mean; ~ is within the errors of the models' times; ? is where these are not "
                  "known: of all energies, and of machines never compared with a real one.",
                  decision_table(c));
  body += section("Machines",
                  "One device each, and they differ in size: per watt and per dollar are what can "
                  "be compared across sizes.",
                  machines_table(c));
  for (const auto& kind : c.kinds)
    body += section(escaped(kind.name), "", rows_table(c, kind) + relative_table(c, kind));
  body += section("How far to trust it", "",
                  "<p>error: the mean error of simulated times when the machine was last compared "
                  "with a real one on this kind of kernel; in brackets where none of the kind was "
                  "compared, or where the run lies far from those that were. Energies have no "
                  "measured error here.</p>");
  return page(c.name + ": " + machine_names(c), body);
}

}  // namespace xpusim::run
