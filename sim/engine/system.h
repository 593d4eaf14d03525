#pragma once

// The clock domains of one simulated system, run to the end under SystemC.

#include <functional>
#include <string>
#include <systemc>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/engine/scheduler.h"

namespace xpusim::engine {

/// A clock domain in the SystemC hierarchy: wraps one Scheduler in one SC_METHOD that leaps from due
/// cycle to due cycle, not past what another domain may still send to it.
class ClockDomain : public sc_core::sc_module {
 public:
  ClockDomain(const sc_core::sc_module_name& name, Clock clock,
              Scheduler::Mode mode = Scheduler::Mode::kSkip);
  ~ClockDomain() override;
  Scheduler& scheduler() { return scheduler_; }

 private:
  friend class SystemRunner;
  Scheduler scheduler_;
};

/// Runs a system of domains until `done()` or until nothing is due any more. The watchdog ends a run
/// that makes no progress and names who waits for whom (Component::waiting_for).
class SystemRunner {
 public:
  explicit SystemRunner(std::vector<ClockDomain*> domains);
  /// `done` is asked whenever a domain has run dry or leapt; the error names the waiting components.
  Expected<void> run(const std::function<bool()>& done);
};

/// Sets 1 fs resolution and installs a fresh sc_simcontext: one simulated system after another in one
/// process (tests, several launches). Call before the first module of the system is made.
void fresh_simulation();

}  // namespace xpusim::engine
