#pragma once

// The clock domains of one simulated system, run to the end under SystemC.
//
// A program that uses this has its own main() and no sc_main: the engine brings the sc_main that
// the SystemC library wants to link with, and elaborates by sc_start. Order of use:
// fresh_simulation(), make domains, modules and links, bind ports, make the SystemRunner, run().

#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "sim/config/diagnostics.h"
#include "sim/engine/scheduler.h"

namespace xpusim::engine {

/// A clock domain in the SystemC hierarchy: a module with a scheduler, in which (or beside which)
/// the modules that run on this clock are made. It has no process of its own: SystemRunner's single
/// SC_METHOD runs all domains.
class ClockDomain : public sc_core::sc_module {
 public:
  ClockDomain(const sc_core::sc_module_name& name, Clock clock,
              Scheduler::Mode mode = Scheduler::Mode::kSkip);
  ~ClockDomain() override;
  Scheduler& scheduler() { return scheduler_; }

 private:
  Scheduler scheduler_;
};

/// Runs a system of domains until `done()` or until nothing is due any more.
///
/// All domains run in one SC_METHOD, which always continues with the domain whose next due edge is
/// the earliest, and lets it run on up to the earliest time at which another domain could still
/// send to it: for each domain its next due edge plus the shortest way over links from there (so a
/// link's latency is what lets domains run ahead, and nothing is ever delivered into the past).
/// SystemC's own time follows in steps of kWindow. If the system holds other SystemC processes (a
/// user's block), the domains go in step with them instead, edge by edge. Not modelled: clock
/// jitter, synchroniser stages (give the link their latency).
///
/// The watchdog ends a run in which nothing is due though `done()` is false, or in which components
/// keep ticking for kStall without a message and without a worker completing anything
/// (Component::retired; only where a worker counts), and names who waits for what.
class SystemRunner {
 public:
  static constexpr Femto kWindow = 1'000'000'000;     ///< 1 us: how often SystemC's time moves
  static constexpr Femto kStall = 5'000'000'000'000;  ///< 5 ms, some 10 million cycles

  explicit SystemRunner(std::vector<ClockDomain*> domains);
  ~SystemRunner();

  /// `done` is asked at least once in kWindow, and after a cycle that called Scheduler::pause. A
  /// run may be followed by another one, which goes on where this one ended. What fails: an unbound
  /// port, an error of a SystemC block, a broken invariant, the watchdog.
  Expected<void> run(const std::function<bool()>& done);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

/// Installs a fresh sc_simcontext with 1 fs resolution: one simulated system after another in one
/// process (tests, several launches). Call before the first module of a system is made, and after
/// the modules of the last one are gone (if some are still alive, their context is kept for them).
/// SystemC's notes are silenced; its errors become exceptions that SystemRunner catches.
void fresh_simulation();

}  // namespace xpusim::engine
