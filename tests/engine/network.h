#pragma once

// A network of components that send to each other at random, for tests of determinism.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sim/engine/link.h"
#include "sim/engine/system.h"

namespace xpusim::engine::test {

/// Its whole history, (cycle, what happened) in order, is folded into one number, and what it does
/// next depends on that number: any difference between two runs spreads and stays.
class Cell : public sc_core::sc_module, public Component {
 public:
  Cell(const sc_core::sc_module_name& name, std::size_t out_ports) : sc_module(name) {
    for (std::size_t i = 0; i < out_ports; ++i) outs.push_back(std::make_unique<OutPort>());
  }

  void join(Scheduler& scheduler, std::uint64_t seed, int budget) {
    id_ = scheduler.add(*this, name());
    history_ = seed;
    budget_ = budget;
  }
  void start(Scheduler& scheduler, Cycle at) { scheduler.wake(id_, due_ = at); }

  Cycle tick(Cycle now) override {
    if (now < due_) return due_;  // not asked for
    due_ = kNever;
    note(now, 1);
    if (budget_ == 0 || outs.empty()) return kNever;
    --budget_;
    (*outs[history_ % outs.size()])->send({.tag = static_cast<std::uint32_t>(history_)}, now);
    if (history_ >> 20 & 1) due_ = now + 1 + (history_ >> 24) % ((history_ >> 21 & 3) ? 20 : 700);
    return due_;
  }
  Cycle receive(const Message& message, Cycle now) override {
    note(now, 2 + message.tag);
    due_ = std::min(due_, now + (history_ >> 30) % 3);
    return due_;
  }

  std::vector<std::unique_ptr<OutPort>> outs;
  std::uint32_t id() const { return id_; }
  std::uint64_t history() const { return history_; }

 private:
  void note(Cycle now, std::uint64_t what) {
    history_ = (history_ ^ now * 0x9E3779B97F4A7C15ull ^ what) * 0xD6E8FEB86659FD93ull;
    history_ ^= history_ >> 32;
  }
  std::uint32_t id_ = 0;
  std::uint64_t history_ = 0;
  Cycle due_ = kNever;
  int budget_ = 0;
};

struct NetworkPlan {
  std::uint32_t seed = 1;
  std::vector<std::uint64_t> hz = {1'755'000'000};
  std::size_t cells = 30;
  std::size_t links = 90;
  Cycle longest_latency = 40;
  Scheduler::Mode mode = Scheduler::Mode::kSkip;
  bool other_process = false;           ///< an idle SystemC process: no running ahead
  std::uint32_t construction_seed = 0;  ///< shuffles the order in which modules and links are made
};

struct NetworkResult {
  std::string error;
  std::uint64_t history = 0;
  std::uint64_t activations = 0, messages = 0;
};

/// Builds the network that a plan describes, runs it until nothing is due and sums it up.
NetworkResult run_network(const NetworkPlan& plan);

}  // namespace xpusim::engine::test
