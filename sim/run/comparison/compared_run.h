#pragma once

// A workload on a machine as a comparison shows it: the figures of all its launches together, and
// what limits them.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/run/machine.h"

namespace xpusim::run {

/// What holds a run back, with the share that says so.
struct Limit {
  /// kBound: it comes near the least time that a peak allows; kPart: a part of the way to memory is
  /// busy nearly all the time; kIssue: instructions issue in most cycles, so that their number
  /// takes the time; kStall: none of these, and cycles are lost to a reason.
  enum class Kind { kNone, kBound, kPart, kIssue, kStall } kind = Kind::kNone;
  std::string what;  ///< "HBM bandwidth", "L2 slices", "waits for a DMA that ..."
  double share = 0;  ///< of the bound in the time, of the time that the part is busy, of the cycles
};
std::string to_text(const Limit& limit);

/// From this share of the time on, it is the bound that takes it.
inline constexpr double kNearBound = 0.75;

/// From this share of the cycles on, it is instructions that take the time.
inline constexpr double kMostIssue = 0.5;

/// How far the times of this machine were off when it was last compared with a real one.
struct Trust {
  double mean_pct = 0, worst_pct = 0;
  int cases = 0;
  std::string kind;        ///< of kernel
  bool same_kind = false;  ///< kernels of this kind were compared
  bool applies = false;    ///< ... of about this time, with these ops, on this configuration
};

inline constexpr const char* kWrong = "WRONG";  ///< what a check says of wrong values

struct ComparedRun {
  enum class Status { kOk, kRefused, kFailed } status = Status::kOk;
  std::string reason;  ///< why it was refused, or failed
  std::string check;   ///< "right", kWrong, or "" where nothing was checked

  double time_ns = 0, flops = 0, hbm_bytes = 0, wall_s = 0;
  double bound_ns = 0;   ///< the least time by the machine's peaks
  std::string bound_by;  ///< the peak that makes most of it: "matrix flops", "HBM bandwidth"
  Figure energy_uj, cost_usd;
  std::map<std::string, double> energy_shares;  ///< of the energy, by component
  Limit limit;
  Limit stall;              ///< the reason that most cycles were lost to, whatever `limit` is
  double issued_share = 0;  ///< of the cycles of the unit that work is issued from
  std::optional<Trust> trust;

  bool ok() const { return status == Status::kOk; }
  double bound_share() const { return time_ns > 0 ? bound_ns / time_ns : 0; }
  double power_w() const { return energy_uj && time_ns > 0 ? *energy_uj * 1e3 / time_ns : 0; }
};
const char* name(ComparedRun::Status status);

/// From a report (schema xpusim.report/1).
ComparedRun compared_run(const nlohmann::ordered_json& report);

}  // namespace xpusim::run
