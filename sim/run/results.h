#pragma once

// DIR/results.sqlite (schema xpusim.sweep_results/1): the rows of a sweep. Tables: `sweep` (key,
// value), `points` (a row a point) and `host` (what a point's simulation itself took).

#include <map>
#include <string>

#include "sim/run/database.h"
#include "sim/run/sweep_plan.h"
#include "sim/run/sweep_row.h"

namespace xpusim::run {

inline constexpr const char* kResultsSchema = "xpusim.sweep_results/1";

/// The results of a sweep on disk. A point's row is written in one transaction, so that a reader,
/// or a restart after a SIGKILL, sees all of it or nothing. Only one process may write (SweepLock).
class ResultStore {
 public:
  /// Opens a folder's results to write; makes them if there are none.
  static Expected<ResultStore> create(const std::string& folder);
  /// Opens results that are there, to read.
  static Expected<ResultStore> open(const std::string& folder);

  /// Makes these the points of the sweep; rows of the same id keep what they hold. Rows that the
  /// grid no longer has are kept aside, for the day when it has them again.
  Expected<void> plan(const Sweep& sweep, const std::vector<PlannedPoint>& points);
  std::map<std::string, PointStatus> statuses();
  Expected<void> put(const std::string& id, const PointOutcome& outcome);
  Expected<SweepResults> read();

 private:
  explicit ResultStore(Database db) : db_(std::move(db)) {}
  std::string value(const std::string& key);
  Database db_;
};

/// Holds a folder for one sweep at a time; ends with the process, however that ends.
class SweepLock {
 public:
  static Expected<SweepLock> take(const std::string& folder);
  SweepLock(SweepLock&& other) noexcept;
  SweepLock& operator=(SweepLock&&) = delete;
  ~SweepLock();

 private:
  explicit SweepLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace xpusim::run
