#include "sim/engine/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "sim/engine/check.h"
#include "sim/engine/lookahead.h"
#include "sim/engine/watchdog.h"

namespace xpusim::engine {
namespace {

std::string one_line(const sc_core::sc_report& report) {
  return fmt::format("SystemC: {}: {}", report.get_msg_type(), report.get_msg());
}

/// Whether the hierarchy holds SystemC processes other than ours.
bool has_other_processes(const std::vector<sc_core::sc_object*>& objects,
                         const sc_core::sc_object* ours) {
  for (const sc_core::sc_object* object : objects) {
    if (object == ours) continue;
    if (dynamic_cast<const sc_core::sc_process_b*>(object) != nullptr) return true;
    if (has_other_processes(object->get_child_objects(), ours)) return true;
  }
  return false;
}

}  // namespace

ClockDomain::ClockDomain(const sc_core::sc_module_name& name, Clock clock, Scheduler::Mode mode)
    : sc_module(name), scheduler_(clock, mode) {}

ClockDomain::~ClockDomain() = default;

/// The module with the one SC_METHOD.
class SystemRunner::Engine : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Engine);
  Engine(const sc_core::sc_module_name& name, const std::vector<ClockDomain*>& domains)
      : sc_module(name), modules_(domains), watchdog_(domains_) {
    for (ClockDomain* domain : domains) domains_.push_back(&domain->scheduler());
    SC_METHOD(activate);
    sensitive << kick_;
    dont_initialize();
  }

  Expected<void> run(const std::function<bool()>& done);

 private:
  void start();
  void activate();
  bool run_window(Femto now);
  bool run_domain(std::size_t d, Femto until);
  void settle();
  void schedule_next(Femto now);
  void see_due(std::size_t d);
  std::size_t earliest() const;
  std::string unknown_source() const;
  void stop(std::string error);
  std::string where(Femto now) const;

  std::vector<ClockDomain*> modules_;
  std::vector<Scheduler*> domains_;
  std::vector<Cycle> due_cycle_;  ///< next() of each domain, and its edge
  std::vector<Femto> due_;
  std::optional<Lookahead> lookahead_;
  Watchdog watchdog_;
  bool in_step_ = false;  ///< there are other processes: no running ahead of SystemC's time
  const std::function<bool()>* done_ = nullptr;
  std::string error_;
  sc_core::sc_event kick_;
};

Expected<void> SystemRunner::Engine::run(const std::function<bool()>& done) {
  error_ = unknown_source();
  if (!error_.empty()) return fail({}, error_);
  done_ = &done;
  try {
    start();
  } catch (const sc_core::sc_report& report) {
    return fail({}, one_line(report));
  } catch (const std::exception& error) {
    return fail({}, error.what());
  }
  if (!error_.empty()) return fail({}, error_);
  return {};
}

void SystemRunner::Engine::start() {
  lookahead_.emplace(domains_);
  for (Scheduler* domain : domains_) domain->order_sources(domains_);
  due_cycle_.assign(domains_.size(), kNever);
  due_.assign(domains_.size(), kEndOfTime);
  in_step_ = has_other_processes(sc_core::sc_get_top_level_objects(), this);
  watchdog_.restart(sc_core::sc_time_stamp().value());
  kick_.notify(sc_core::SC_ZERO_TIME);
  sc_core::sc_start();
}

/// SystemC's call: runs what is due in the next window, then asks to be called for what follows.
void SystemRunner::Engine::activate() {
  try {
    const Femto now = sc_core::sc_time_stamp().value();
    if (run_window(now)) {
      settle();
      sc_core::sc_pause();
    } else {
      schedule_next(now);
    }
  } catch (const sc_core::sc_report& report) {
    stop(one_line(report));
  } catch (const std::exception& error) {
    stop(error.what());
  }
}

/// Runs all due edges of the window that starts now; true if the run is over.
bool SystemRunner::Engine::run_window(Femto now) {
  const Femto until = now + (in_step_ ? 1 : kWindow);
  for (std::size_t d = 0; d < domains_.size(); ++d) see_due(d);
  for (std::size_t d = earliest(); due_[d] < until; d = earliest()) {
    if (run_domain(d, until) && (*done_)()) return true;
  }
  return (*done_)();
}

/// Runs a domain up to `until` or to where another could send to it; true if it asked to pause.
bool SystemRunner::Engine::run_domain(std::size_t d, Femto until) {
  Scheduler& domain = *domains_[d];
  const Femto limit = std::min(until, lookahead_->limit(d, due_));
  const bool paused = domain.run_due(domain.clock().cycle_at_or_after(limit));
  for (std::size_t i = 0; i < domains_.size(); ++i) see_due(i);
  return paused;
}

/// Brings all domains to the time of the one that is furthest ahead, so that whatever the next run
/// starts with lies in nobody's past.
void SystemRunner::Engine::settle() {
  Femto latest = 0;
  for (const Scheduler* domain : domains_) {
    latest = std::max(latest, domain->clock().edge(domain->now()));
  }
  for (std::size_t d = earliest(); due_[d] < latest; d = earliest()) run_domain(d, latest);
  for (Scheduler* domain : domains_) domain->run_until(domain->clock().cycle_at_or_after(latest));
}

/// Asks SystemC for the next call, or ends the run if there can be none.
void SystemRunner::Engine::schedule_next(Femto now) {
  const Femto due = due_[earliest()];
  const sc_core::sc_simcontext* context = simcontext();
  const bool others = in_step_ && sc_core::sc_pending_activity(context);
  if (due == kEndOfTime && !others) {
    return stop(fmt::format("no progress {}: nothing is due, but the run is not over; {}",
                            where(now), watchdog_.waiting()));
  }
  if (watchdog_.stalled(now)) {
    return stop(fmt::format("no progress {}: no message and no work completed for {} ms; {}",
                            where(now), kStall / 1e12, watchdog_.waiting()));
  }
  Femto wait = due == kEndOfTime ? kEndOfTime : due - now;
  if (others) wait = std::min<Femto>(wait, sc_core::sc_time_to_pending_activity(context).value());
  next_trigger(sc_core::sc_time::from_value(wait));
}

void SystemRunner::Engine::see_due(std::size_t d) {
  const Cycle next = domains_[d]->next();
  if (next == due_cycle_[d]) return;
  due_cycle_[d] = next;
  due_[d] = next == kNever ? kEndOfTime : domains_[d]->clock().edge(next);
}

/// The domain with the earliest due edge; of equals the first.
std::size_t SystemRunner::Engine::earliest() const {
  return std::min_element(due_.begin(), due_.end()) - due_.begin();
}

/// An error if a link comes from a domain that this runner does not run, or there is no domain.
std::string SystemRunner::Engine::unknown_source() const {
  if (domains_.empty()) return "a system needs at least one clock domain";
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    for (const Scheduler::Source& source : domains_[d]->sources()) {
      if (std::find(domains_.begin(), domains_.end(), source.from) != domains_.end()) continue;
      return fmt::format("{} has a link from a clock domain that is not part of the system",
                         modules_[d]->name());
    }
  }
  return {};
}

void SystemRunner::Engine::stop(std::string error) {
  error_ = std::move(error);
  sc_core::sc_pause();
}

/// "at 1.5 us (gpu.core cycle 2632)", by the first domain's cycle.
std::string SystemRunner::Engine::where(Femto now) const {
  return fmt::format("at {} us ({} cycle {})", now / 1e9, modules_[0]->name(), domains_[0]->now());
}

SystemRunner::SystemRunner(std::vector<ClockDomain*> domains)
    : engine_(std::make_unique<Engine>(sc_core::sc_gen_unique_name("xpusim_engine"), domains)) {}

SystemRunner::~SystemRunner() = default;

Expected<void> SystemRunner::run(const std::function<bool()>& done) { return engine_->run(done); }

}  // namespace xpusim::engine
