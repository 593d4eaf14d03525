#include "sim/run/sweep_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/run/results.h"

namespace xpusim::run {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownFailures = 20;

PointOutcome failed(PointStatus status, const Diagnostics& problems) {
  PointOutcome o;
  o.status = status;
  for (const auto& d : problems.list()) {
    const std::string where = d.where.str();
    o.reason += fmt::format("{}{}{}{}", o.reason.empty() ? "" : "; ", where,
                            where.empty() ? "" : ": ", d.message);
  }
  return o;
}

/// A point's run in its own process, which ends when the sweep's does.
std::string simulate(const SweepPlan& plan, std::size_t index, pid_t sweep) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != sweep) ::_exit(0);
  PointOutcome outcome;
  auto ready = plan.ready(index);
  auto report = ready ? run_workload(ready->workload, ready->machine, plan.settings())
                      : Expected<Report>(fail(ready.error()));
  outcome = report ? outcome_of(*report) : failed(PointStatus::kFailed, report.error());
  // Names in a kernel may be any bytes.
  return to_json(outcome).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Expected<void> make_folder(const std::string& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (fs::is_directory(folder, ec)) return {};
  return fail({folder, 0, 0}, "cannot make this folder");
}

bool is_to_run(PointStatus status, bool retry) {
  return status == PointStatus::kPending || status == PointStatus::kLost ||
         (retry && status == PointStatus::kFailed);
}

bool is_failure(PointStatus s) { return s == PointStatus::kFailed || s == PointStatus::kLost; }

std::string point_name(const SweepResults& results, const SweepRow& row) {
  std::string name = fmt::format("{} on {}", row.workload, row.machine);
  for (std::size_t i = 0; i < row.values.size(); ++i)
    name += fmt::format(", {} = {}", results.parameters[i], row.values[i]);
  return name;
}

/// Times of the fine points of one workload on one machine.
struct Times {
  std::string workload, machine;
  std::size_t count = 0;
  double log_sum = 0;
  const SweepRow *fastest = nullptr, *slowest = nullptr;
};

std::vector<Times> times_of(const SweepResults& results) {
  std::vector<Times> all;
  for (const auto& row : results.rows) {
    const Figure ns = row.outcome.figures.time_ns;
    if (row.outcome.status != PointStatus::kOk || !ns || *ns <= 0) continue;
    if (all.empty() || all.back().workload != row.workload || all.back().machine != row.machine)
      all.push_back({row.workload, row.machine});
    Times& t = all.back();
    ++t.count;
    t.log_sum += std::log(*ns);
    if (!t.fastest || *ns < *t.fastest->outcome.figures.time_ns) t.fastest = &row;
    if (!t.slowest || *ns > *t.slowest->outcome.figures.time_ns) t.slowest = &row;
  }
  return all;
}

}  // namespace

Expected<SweepResults> run_sweep(const SweepPlan& plan, const SweepSettings& settings,
                                 const std::function<void(const SweepProgress&)>& progress) {
  if (auto ok = make_folder(settings.folder); !ok) return fail(ok.error());
  auto lock = SweepLock::take(settings.folder);
  if (!lock) return fail(lock.error());
  auto store = ResultStore::create(settings.folder);
  if (!store) return fail(store.error());
  const auto& points = plan.points();
  if (auto ok = store->plan(plan.sweep(), points); !ok) return fail(ok.error());

  const auto before = store->statuses();
  std::vector<std::size_t> to_run;
  SweepProgress now;
  now.points = points.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const PointStatus status = before.at(points[i].id);
    if (is_to_run(status, settings.retry)) {
      to_run.push_back(i);
    } else {
      ++now.finished;
      now.failed += is_failure(status);
    }
  }
  now.to_run = to_run.size();
  if (progress) progress(now);

  Expected<void> written;
  const pid_t self = ::getpid();
  in_children(
      to_run.size(), settings.jobs,
      [&](std::size_t k) -> Expected<std::string> {
        if (!written) return std::string();  // there is nowhere to put it
        return simulate(plan, to_run[k], self);
      },
      [&](std::size_t k, Expected<std::string> answer) {
        if (!written) return;
        const PointOutcome outcome = answer ? outcome_from(Json::parse(*answer))
                                            : failed(PointStatus::kLost, answer.error());
        written = store->put(points[to_run[k]].id, outcome);
        ++now.ran;
        ++now.finished;
        now.failed += is_failure(outcome.status);
        if (progress) progress(now);
      });
  if (!written) return fail(written.error());
  return store->read();
}

std::string summary_text(const SweepResults& results) {
  std::size_t ok = 0, failures = 0;
  for (const auto& row : results.rows) {
    ok += row.outcome.status == PointStatus::kOk;
    failures += is_failure(row.outcome.status);
  }
  std::string out = fmt::format("{}: {} points, {} ok, {} failed\n", results.name,
                                results.rows.size(), ok, failures);
  for (const auto& t : times_of(results)) {
    const auto time = [](const SweepRow& r) { return si(*r.outcome.figures.time_ns * 1e-9, "s"); };
    out += fmt::format("{} on {}: geometric mean of {} times {}\n", t.workload, t.machine, t.count,
                       si(std::exp(t.log_sum / static_cast<double>(t.count)) * 1e-9, "s"));
    out += fmt::format("  fastest  {}  {}\n", time(*t.fastest), point_name(results, *t.fastest));
    out += fmt::format("  slowest  {}  {}\n", time(*t.slowest), point_name(results, *t.slowest));
  }
  std::size_t shown = 0;
  for (const auto& row : results.rows) {
    if (!is_failure(row.outcome.status) || shown++ >= kShownFailures) continue;
    out += fmt::format("failed: {}\n  {}\n", point_name(results, row), row.outcome.reason);
  }
  if (shown > kShownFailures)
    out += fmt::format("and {} more failed (xpusim collect lists them)\n", shown - kShownFailures);
  return out;
}

}  // namespace xpusim::run
