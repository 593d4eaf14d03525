#pragma once

// A memory system with processors that send it made-up traffic.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/memory/memory_system.h"
#include "models/memory/messages.h"
#include "sim/engine/system.h"

namespace xpusim::memory {

struct Access {
  std::uint64_t address = 0;
  std::uint32_t mask = 0xffff;
  std::uint16_t kind = kRead;
  std::uint16_t count = 0;
};

/// A processor that sends what `next` gives (false: nothing more), at most one access a cycle and
/// with at most `limit` unanswered.
class Processor : public sc_core::sc_module, public engine::Component {
 public:
  Processor(const sc_core::sc_module_name& name, std::uint32_t limit,
            std::function<bool(Access&)> next)
      : sc_module(name), memory("memory"), limit_(limit), next_(std::move(next)), sent_at_(limit) {
    for (std::uint32_t i = limit; i > 0; --i) free_.push_back(i - 1);
    more_ = next_(access_);
  }

  engine::OutPort memory;

  engine::Cycle tick(engine::Cycle now) override {
    if (now < due_) return due_;
    due_ = engine::kNever;
    if (!more_ || outstanding_ >= limit_) return due_;
    engine::Message m;
    m.kind = access_.kind;
    m.address = access_.address;
    m.data = access_.mask;
    m.count = access_.count;
    m.tag = free_.back();
    free_.pop_back();
    m.from = id;
    ++requests;
    ++outstanding_;
    sent_at_[m.tag] = now;
    memory->send(m, now);
    more_ = next_(access_);
    if (more_ && outstanding_ < limit_) due_ = now + 1;
    return due_;
  }
  engine::Cycle receive(const engine::Message& m, engine::Cycle now) override {
    ++responses;
    --outstanding_;
    last = now;
    latency = now - sent_at_[m.tag];
    free_.push_back(m.tag);
    latency_sum += latency;
    answer = m;
    checksum = (checksum ^ (now << 20) ^ m.tag) * 0x9e3779b97f4a7c15u;
    if (more_) due_ = std::min(due_, now);
    return due_;
  }
  const char* waiting_for() const override { return outstanding_ > 0 ? "memory" : ""; }
  void start(engine::Scheduler& s) {
    due_ = s.now();
    s.wake(id, due_);
  }
  bool done() const { return !more_ && outstanding_ == 0; }

  std::uint32_t id = 0, requests = 0, responses = 0;
  engine::Cycle last = 0, latency = 0;
  std::uint64_t latency_sum = 0, checksum = 0;
  engine::Message answer;

 private:
  std::uint32_t limit_, outstanding_ = 0;
  std::function<bool(Access&)> next_;
  std::vector<engine::Cycle> sent_at_;  ///< by tag
  std::vector<std::uint32_t> free_;     ///< tags
  Access access_;
  bool more_ = false;
  engine::Cycle due_ = engine::kNever;
};

/// A memory system on one clock, and its processors.
class Bench {
 public:
  using Next = std::function<bool(Access&)>;
  Bench(const MemoryParams& params, std::uint32_t sms, std::uint32_t limit,
        const std::function<Next(std::uint32_t)>& traffic, std::uint64_t hz = 1'980'000'000,
        engine::Scheduler::Mode mode = engine::Scheduler::Mode::kSkip) {
    engine::fresh_simulation();
    domain_ = std::make_unique<engine::ClockDomain>("chip", engine::Clock(hz), mode);
    memory_ = std::make_unique<MemorySystem>("memory", domain_->scheduler(), params, sms);
    for (std::uint32_t i = 0; i < sms; ++i) {
      const std::string name = "sm_" + std::to_string(i);
      sms_.push_back(std::make_unique<Processor>(name.c_str(), limit, traffic(i)));
      sms_[i]->memory(memory_->sm_port(i));
      sms_[i]->id = domain_->scheduler().add(*sms_[i], name);
      memory_->connect_sm(i, sms_[i]->id);
    }
    runner_ =
        std::make_unique<engine::SystemRunner>(std::vector<engine::ClockDomain*>{domain_.get()});
  }
  ~Bench() {
    runner_.reset();
    sms_.clear();
    memory_.reset();
    domain_.reset();
  }

  /// Runs until all is answered; returns the cycle of the last answer, or says why it failed.
  engine::Cycle run() {
    for (auto& sm : sms_) sm->start(domain_->scheduler());
    const auto result = runner_->run([&] {
      return std::all_of(sms_.begin(), sms_.end(), [](const auto& sm) { return sm->done(); });
    });
    error = result ? "" : result.error().str();
    engine::Cycle last = 0;
    for (auto& sm : sms_) last = std::max(last, sm->last);
    memory_->finish(std::max(last, domain_->scheduler().now()));
    return last;
  }
  MemorySystem& memory() { return *memory_; }
  Processor& sm(std::uint32_t i) { return *sms_[i]; }
  engine::Scheduler& scheduler() { return domain_->scheduler(); }
  std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (const auto& sm : sms_) sum = sum * 31 + sm->checksum;
    return sum;
  }
  std::string error;

 private:
  std::unique_ptr<engine::ClockDomain> domain_;
  std::unique_ptr<MemorySystem> memory_;
  std::vector<std::unique_ptr<Processor>> sms_;
  std::unique_ptr<engine::SystemRunner> runner_;
};

/// Traffic that is a list.
inline Bench::Next list(std::vector<Access> accesses) {
  return [accesses = std::move(accesses), i = std::size_t{0}](Access& a) mutable {
    if (i == accesses.size()) return false;
    a = accesses[i++];
    return true;
  };
}

}  // namespace xpusim::memory
