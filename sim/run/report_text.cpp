#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/run/report.h"
#include "sim/run/trust.h"

namespace xpusim::run {

std::string si(double value, const char* unit) {
  static constexpr const char* kPrefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  if (value == 0 || !std::isfinite(value)) return fmt::format("{:.3g} {}", value, unit);
  int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)) / 3 + 1e-9));
  exponent = std::clamp(exponent, -4, 6);
  const double scaled = value / std::pow(1000.0, exponent);
  const int digits = std::abs(scaled) >= 99.95 ? 0 : std::abs(scaled) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", scaled, digits, kPrefixes[exponent + 4], unit);
}

namespace {

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

std::string place(const SourcePosition& p) {
  if (p.line == 0) return "";
  return p.file.empty() ? fmt::format(" at line {}", p.line)
                        : fmt::format(" at {}:{}", p.file, p.line);
}

void row(std::string& out, const char* label, const std::string& text) {
  out += fmt::format("  {:<9} {}\n", label, text);
}

double energy_uj(const LaunchReport& r) {
  double uj = 0;
  for (const auto& e : r.energy) uj += e.microjoules;
  return uj;
}

std::string energy_text(const LaunchReport& r) {
  const double uj = energy_uj(r);
  auto parts = r.energy;
  std::sort(parts.begin(), parts.end(), [](const EnergyEntry& a, const EnergyEntry& b) {
    return a.microjoules > b.microjoules;
  });
  std::string split;
  for (std::size_t i = 0; i < parts.size() && i < 3; ++i)
    split += fmt::format("{}{} {:.0f} %", i ? ", " : "", parts[i].component,
                         uj > 0 ? 100 * parts[i].microjoules / uj : 0.0);
  return fmt::format("{}, {:.0f} W on the mean ({})", si(uj * 1e-6, "J"), uj * 1e3 / r.duration_ns,
                     split);
}

std::string bound_text(const LaunchResult& l) {
  double bound = 0;
  std::string by;
  for (const auto& [name, ns] : l.bound) {
    if (ns >= bound) {
      bound = ns;
      by = name;
    }
  }
  if (bound <= 0) return "nothing to do";
  return fmt::format("{} by {}: the run takes {:.2f} times that", si(bound * 1e-9, "s"), by,
                     l.machine.duration_ns / bound);
}

/// The share of cycles that did what they are for, of the unit whose other cycles "why" explains.
std::string issued_text(const LaunchReport& r) {
  double all = 0, issued = 0;
  for (const auto& e : r.ledger) {
    if (e.unit != r.ledger.front().unit) continue;
    all += static_cast<double>(e.cycles);
    if (e.reason == "issued") issued += static_cast<double>(e.cycles);
  }
  return issued > 0 ? fmt::format("{:.0f} % of the cycles  [{}]", 100 * issued / all,
                                  r.ledger.front().unit)
                    : "";
}

/// The parts of the way to memory, the busiest first.
std::string memory_text(std::vector<PartUse> parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const PartUse& a, const PartUse& b) { return a.busiest > b.busiest; });
  std::string out;
  for (const auto& p : parts)
    out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", p.part, 100 * p.busiest);
  return out + " busy (each its busiest port)";
}

/// Entries one after the other, in as many lines as they take.
void rows(std::string& out, const char* label, const std::vector<std::string>& entries) {
  constexpr std::size_t kColumns = 88;
  std::string line;
  for (const auto& entry : entries) {
    if (!line.empty() && line.size() + entry.size() > kColumns) {
      row(out, label, line + ";");
      label = "";
      line.clear();
    }
    line += (line.empty() ? "" : "; ") + entry;
  }
  if (!line.empty()) row(out, label, line);
}

/// The busiest link, and how long chunks waited at all of them.
void links_text(std::string& out, const NetworkUse& n) {
  const LinkUse* most = nullptr;
  double busy = 0, waited = 0;
  std::size_t used = 0;
  for (const LinkUse& link : n.links) {
    if (link.bytes > 0) ++used;
    busy += link.busy;
    waited += link.waited_ns;
    if (!most || link.busy > most->busy) most = &link;
  }
  if (!most || used == 0) return;
  row(out, "links",
      fmt::format("{} of {} used, {:.0f} % busy on the mean of these; the busiest {:.0f} % ({}), "
                  "{} of its bytes headers",
                  used, n.links.size(), 100 * busy / static_cast<double>(used), 100 * most->busy,
                  most->name, percent(most->wire_bytes - most->bytes, most->wire_bytes)));
  row(out, "waiting",
      fmt::format("{} summed over all chunks at all links", si(waited * 1e-9, "s")));
}

/// What the network did for a collective: the algorithm and why, rates, and its busiest link.
void network_text(std::string& out, const LaunchReport& r) {
  const NetworkUse& n = *r.network;
  const double s = r.duration_ns * 1e-9;
  row(out, "by",
      fmt::format("{}, in groups of {} of {} chips ({})", n.algorithm, n.group, n.chips, n.reason));
  row(out, "data",
      fmt::format("{} a chip at {}; chips sent {} in all, {:.2f} hops a byte", si(n.bytes, "B"),
                  si(n.bytes / s, "B/s"), si(n.sent, "B"), n.hops));
  links_text(out, n);
}

/// What the chips of a kernel said to each other, and how long they only waited for that.
void chips_text(std::string& out, const LaunchReport& r) {
  if (!r.network) {
    const bool alike = r.simulated_chips == 1 && r.chips.size() > 1;
    return row(out, "chips",
               fmt::format("{}, each alone{}", r.chips.size(),
                           alike ? "; all do the same, so one was simulated" : ""));
  }
  double exposed = 0;
  std::uint64_t copies = 0, signals = 0;
  for (const ChipEntry& c : r.chips) {
    exposed += static_cast<double>(c.exposed_cycles);
    copies += c.copies;
    signals += c.signals;
  }
  const double all = static_cast<double>(r.cycles) * static_cast<double>(r.chips.size());
  row(out, "chips",
      fmt::format("{}, which sent {} in {} copies and {} signals, {:.2f} hops a byte",
                  r.chips.size(), si(r.network->sent, "B"), copies, signals, r.network->hops));
  row(out, "exposed",
      fmt::format("{} of their time they only waited for each other", percent(exposed, all)));
  links_text(out, *r.network);
}

void launch_text(std::string& out, const Report& report, const LaunchResult& l) {
  const LaunchReport& r = l.machine;
  const double s = r.duration_ns * 1e-9;
  out += l.label.empty() ? fmt::format("{} on {}\n", r.name, report.machine)
                         : fmt::format("{}: {} on {}\n", l.label, r.name, report.machine);
  row(out, "time", fmt::format("{}  ({} cycles at {:.0f} MHz)", si(s, "s"), r.cycles, r.clock_mhz));
  if (!r.clock_reason.empty()) row(out, "clock", r.clock_reason);
  if (s > 0 && r.network && r.chips.empty()) {
    network_text(out, r);
  } else if (s > 0) {
    const double peak = peak_flops(r, report.peaks);
    row(out, "compute",
        fmt::format("{}  {} of {} ({})", si(r.flops / s, "FLOP/s"), percent(r.flops / s, peak),
                    si(peak, "FLOP/s"), r.tensor_flops > 0 ? "bf16, matrix units" : "f32"));
    const double hbm = r.hbm_read_bytes + r.hbm_write_bytes;
    row(out, "HBM",
        fmt::format("{}  {} of {}  ({} read, {} written)", si(hbm / s, "B/s"),
                    percent(hbm / s, report.peaks.hbm_bytes_per_s),
                    si(report.peaks.hbm_bytes_per_s, "B/s"), si(r.hbm_read_bytes, "B"),
                    si(r.hbm_write_bytes, "B")));
  }
  if (!r.energy.empty()) row(out, "energy", energy_text(r));
  if (report.peaks.dollars_per_hour)
    row(out, "cost",
        fmt::format("{} (at {} an hour)", si(*report.peaks.dollars_per_hour / 3600 * s, "USD"),
                    si(*report.peaks.dollars_per_hour, "USD")));
  if (!l.bound.empty()) row(out, "bound", bound_text(l));
  if (const auto issued = issued_text(r); !issued.empty()) row(out, "issued", issued);
  const char* label = "why";
  for (const auto& b : l.bottlenecks) {
    const std::string meaning = b.meaning.empty() ? "" : fmt::format(" ({})", b.meaning);
    const std::string where = b.line.line == 0 ? "" : fmt::format(", most{}", place(b.line));
    row(out, label,
        fmt::format("{:>3.0f} % {}{}{}  [{}]", 100 * b.share, b.reason, meaning, where, b.unit));
    label = "";
  }
  if (!r.memory.empty()) row(out, "memory", memory_text(r.memory));
  if (!r.chips.empty()) chips_text(out, r);
  rows(out, "not in it", r.notes);
  const std::string speed =
      l.host.instructions_per_s > 0
          ? fmt::format("{} instructions/s, ", si(l.host.instructions_per_s, ""))
          : "";
  row(out, "host",
      fmt::format("{} of simulation, {}{:.0f} MB", si(l.host.wall_s, "s"), speed,
                  l.host.peak_rss_mb));
}

/// "a, b, c and 4 more".
std::string first_of(const std::vector<std::string>& list) {
  constexpr std::size_t kMost = 6;
  const auto end = list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), kMost));
  return fmt::format("{}", fmt::join(list.begin(), end, ", ")) +
         (list.size() > kMost ? fmt::format(" and {} more", list.size() - kMost) : "");
}

/// What lies outside of the comparison, a line each.
std::vector<std::string> outside(const std::vector<const LaunchResult*>& launches,
                                 const ExpectedError& e) {
  std::vector<std::string> lines;
  if (!e.changes.empty()) lines.push_back(first_of(e.changes));
  std::set<std::string> ops, times;
  for (const LaunchResult* l : launches) {
    ops.insert(l->never_compared.begin(), l->never_compared.end());
    const auto known = e.kinds.find(l->kind);
    if (known == e.kinds.end()) continue;
    if (const auto far = outside_times(known->second, l->machine.duration_ns); !far.empty())
      times.insert(fmt::format("{}: {}", l->machine.name, far));
  }
  lines.insert(lines.end(), times.begin(), times.end());
  if (!ops.empty())
    lines.push_back("no kernel that was compared has " + first_of({ops.begin(), ops.end()}));
  return lines;
}

/// What a past comparison with real chips says, and how far these launches lie outside of it.
std::vector<std::string> trust_lines(const std::vector<const LaunchResult*>& launches,
                                     const std::optional<ExpectedError>& e, const char* subject) {
  if (!e) return {fmt::format("{} was never compared with a real one", subject)};
  std::vector<std::string> lines;
  for (const LaunchResult* l : launches) {
    const std::string found = error_text(*e, l->kind);
    const auto says_it = [&](const std::string& line) { return line.ends_with(found); };
    if (std::any_of(lines.begin(), lines.end(), says_it)) continue;
    lines.push_back((!lines.empty()       ? "and "
                     : e->changes.empty() ? "times "
                                          : fmt::format("this configuration was never compared; "
                                                        "the unmodified {} was ",
                                                        e->machine)) +
                    found);
  }
  const auto beyond = outside(launches, *e);
  lines.insert(lines.end(), beyond.begin(), beyond.end());
  return lines;
}

/// Of kernels and of collectives, as far as there are any.
void trust_text(std::string& out, const Report& report) {
  std::vector<const LaunchResult*> kernels, collectives;
  for (const auto& l : report.launches)
    (is_collective(l.machine) ? collectives : kernels).push_back(&l);
  std::vector<std::string> lines;
  if (!kernels.empty() || collectives.empty())
    lines = trust_lines(kernels, report.kernel_error, "this machine");
  if (!collectives.empty()) {
    const auto more = trust_lines(collectives, report.collective_error, "this machine's network");
    lines.insert(lines.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < lines.size(); ++i) row(out, i == 0 ? "trust" : "", lines[i]);
}

/// How much of the time only collectives ran, where kernels did too.
std::string communication_text(const Report& report) {
  const Communication c = communication(report);
  const double all = elapsed_ns(report);
  if (c.all_ns <= 0 || c.exposed_ns >= all) return "";
  std::string out = fmt::format(", {} of it only collectives", percent(c.exposed_ns, all));
  const double beside = c.all_ns - c.exposed_ns;
  if (beside > 1e-6 * c.all_ns)
    out += fmt::format(" ({} of their {} run beside kernels)", si(beside * 1e-9, "s"),
                       si(c.all_ns * 1e-9, "s"));
  return out;
}

}  // namespace

std::string to_text(const Report& report) {
  std::string out;
  for (const auto& l : report.launches) {
    if (!out.empty()) out += "\n";
    launch_text(out, report, l);
  }
  if (report.launches.size() > 1) {
    out += fmt::format("\n{} launches, {} together{}\n", report.launches.size(),
                       si(elapsed_ns(report) * 1e-9, "s"), communication_text(report));
  }
  for (const auto& c : report.checks) {
    row(out, "check",
        c.right
            ? fmt::format("{}: right (largest error {:.2g}, {:.2g} of what is allowed)", c.tensor,
                          c.worst_error, c.worst_ratio)
            : fmt::format("{}: WRONG at [{}]: off by {:.3g}, {:.3g} times what is allowed",
                          c.tensor, fmt::join(c.worst_index, ", "), c.worst_error, c.worst_ratio) +
                  (c.chip ? fmt::format(" (on chip {})", *c.chip) : ""));
  }
  trust_text(out, report);
  return out;
}

}  // namespace xpusim::run
