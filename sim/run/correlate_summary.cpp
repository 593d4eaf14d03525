#include "sim/run/correlate_summary.h"

#include <algorithm>
#include <cmath>

namespace xpusim::run {
namespace {

constexpr double kSameTime = 0.03;  // times that differ by less are not told apart

std::optional<double> mean(const std::vector<double>& v) {
  if (v.empty()) return std::nullopt;
  double sum = 0;
  for (double x : v) sum += x;
  return sum / static_cast<double>(v.size());
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/// An absolute error of a case.
struct Sample {
  double error = 0;
  const CaseResult* of = nullptr;
};

ErrorSummary summary_of(const std::vector<Sample>& samples) {
  ErrorSummary s;
  std::vector<double> errors;
  for (const auto& sample : samples) {
    errors.push_back(sample.error);
    if (s.worst_case.empty() || sample.error > s.worst) {
      s.worst = sample.error;
      s.worst_case = sample.of->name;
    }
    const double ns = sample.of->measured_ns.value_or(0);
    s.shortest_ns = s.cases == 0 ? ns : std::min(s.shortest_ns, ns);
    s.longest_ns = std::max(s.longest_ns, ns);
    ++s.cases;
  }
  s.mean = mean(errors).value_or(0);
  s.median = errors.empty() ? 0 : median(errors);
  return s;
}

using Samples = std::map<std::string, std::vector<Sample>>;

std::map<std::string, ErrorSummary> summaries_of(const Samples& samples) {
  std::map<std::string, ErrorSummary> out;
  for (const auto& [key, list] : samples) out[key] = summary_of(list);
  return out;
}

ProblemRank rank_of(const std::vector<const CaseResult*>& list) {
  ProblemRank r;
  r.kernel = list[0]->kernel;
  r.cases = static_cast<int>(list.size());
  int agree = 0;
  const CaseResult *picked = list[0], *fastest = list[0];
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (*list[i]->simulated_ns < *picked->simulated_ns) picked = list[i];
    if (*list[i]->measured_ns < *fastest->measured_ns) fastest = list[i];
    for (std::size_t k = 0; k < i; ++k) {
      const double a = *list[i]->measured_ns, b = *list[k]->measured_ns;
      if (std::abs(a - b) <= kSameTime * std::min(a, b)) continue;
      const double simulated = *list[i]->simulated_ns - *list[k]->simulated_ns;
      agree += simulated == 0 ? 0 : (simulated > 0) == (a > b) ? 1 : -1;
      ++r.pairs;
    }
  }
  if (r.pairs) r.tau = static_cast<double>(agree) / r.pairs;
  r.regret_pct = 100 * (*picked->measured_ns / *fastest->measured_ns - 1);
  r.picked = picked->name;
  r.fastest = fastest->name;
  return r;
}

/// Rank agreement and regret over the problems that have several measured alternatives.
void rank(const std::vector<CaseResult>& results, Summary& s) {
  std::map<std::string, std::vector<const CaseResult*>> problems;
  for (const auto& r : results)
    if (r.gate && r.error_pct()) problems[r.problem].push_back(&r);
  std::vector<double> taus, regrets;
  for (const auto& [problem, list] : problems) {
    if (list.size() < 2) continue;
    s.problems.push_back(rank_of(list));
    if (s.problems.back().tau) taus.push_back(*s.problems.back().tau);
    regrets.push_back(s.problems.back().regret_pct);
  }
  s.kendall_tau = mean(taus);
  s.regret_pct = mean(regrets);
}

/// Counts the cases, and what all of them took.
void count(const std::vector<CaseResult>& results, Summary& s) {
  double instructions = 0, wall = 0;
  for (const auto& r : results) {
    ++s.total;
    ++(r.status == CaseStatus::kOk        ? s.ok
       : r.status == CaseStatus::kSkipped ? s.skipped
                                          : s.failed);
    instructions += r.instructions;
    wall += r.wall_s;
  }
  if (wall > 0) s.instructions_per_s = instructions / wall;
}

}  // namespace

Summary summarize(const std::vector<CaseResult>& results) {
  Summary s;
  count(results, s);
  Samples kernels, kinds, counters;
  std::map<std::string, std::vector<double>> groups;
  std::vector<double> errors;
  for (const auto& r : results) {
    for (const auto& [counter, pair] : r.counters)
      if (pair.first > 0)
        counters[counter].push_back({100 * std::abs(pair.second / pair.first - 1), &r});
    const auto e = r.error_pct();
    if (!e || !r.gate) continue;
    const double error = std::abs(*e);
    if (!s.worst_abs_error_pct || error > *s.worst_abs_error_pct) {
      s.worst_abs_error_pct = error;
      s.worst_case = r.name;
    }
    kernels[r.kernel].push_back({error, &r});
    if (const auto kind = r.kind(); !kind.empty()) kinds[kind].push_back({error, &r});
    (r.group.empty() ? errors : groups[r.group]).push_back(error);
  }
  for (const auto& [group, list] : groups) errors.push_back(*mean(list));
  s.counted = static_cast<int>(errors.size());
  s.mean_abs_error_pct = mean(errors);
  if (!errors.empty()) s.median_abs_error_pct = median(errors);
  s.by_kernel = summaries_of(kernels);
  s.by_kind = summaries_of(kinds);
  s.by_counter = summaries_of(counters);
  std::vector<double> means;
  for (const auto& [kernel, of] : s.by_kernel) means.push_back(of.mean);
  s.mean_of_kernels_pct = mean(means);
  rank(results, s);
  return s;
}

}  // namespace xpusim::run
