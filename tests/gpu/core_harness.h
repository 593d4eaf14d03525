#pragma once

// One or more SMs with a memory of fixed latency, run to the end of a grid.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/core/dispatcher.h"
#include "models/gpu/core/occupancy.h"
#include "models/gpu/core/sm.h"
#include "sim/engine/system.h"
#include "tests/gpu/core_fakes.h"

namespace xpusim::gpu::test {

/// These instructions and an exit, of few registers.
inline Program make_program(std::vector<Instruction> code, int warps = 4) {
  Program p;
  p.name = "test";
  p.num_warps = warps;
  p.registers_per_thread = 16;
  p.code = std::move(code);
  p.code.push_back(op(Opcode::kExit));
  return p;
}

/// Parameters in which nothing but what a test sets takes time.
inline SmParams plain_params() {
  SmParams p;
  p.count = 1;
  p.fetch.miss_latency = 0;
  p.fetch.constant_miss_latency = 0;
  p.pipes.alu_interval = 1;
  return p;
}

struct Rig {
  explicit Rig(Program program_, SmParams sm_params = plain_params())
      : program(std::move(program_)), params(sm_params) {}

  Program program;
  SmParams params;
  LaunchParams launch{.start_ns = 10,
                      .drain_ns = 5,
                      .sm_interval = 1,
                      .block_interval = 1,
                      .block_latency = 1,
                      .warp_interval = 0};
  std::uint64_t blocks = 1;
  engine::Cycle memory_latency = 100;
  engine::Cycle window = 1;  ///< at most the latencies of the memory and of block starts
  engine::Scheduler::Mode mode = engine::Scheduler::Mode::kSkip;
  FakeSource source;
  std::function<void(Sm&)> on_sm;  ///< before the launch

  std::optional<KernelImage> image;
  std::unique_ptr<LaunchProfile> profile;
  std::unique_ptr<engine::ClockDomain> domain;
  std::unique_ptr<FakeMemory> memory;
  std::unique_ptr<Dispatcher> dispatcher;
  std::vector<std::unique_ptr<SmScratch>> scratch;
  std::vector<std::unique_ptr<Sm>> sms;
  std::vector<std::unique_ptr<engine::Link>> links;

  ~Rig() {
    links.clear();
    sms.clear();
    dispatcher.reset();
    memory.reset();
    domain.reset();
  }

  void run() {
    auto decoded = decode(program, params.tensor);
    ASSERT_TRUE(decoded) << decoded.error().str();
    image = std::move(*decoded);
    source.sites = image->site_count;
    profile = std::make_unique<LaunchProfile>(*image);
    engine::fresh_simulation();
    domain = std::make_unique<engine::ClockDomain>("core", engine::Clock(1'000'000'000), mode);
    engine::Scheduler& s = domain->scheduler();
    memory = std::make_unique<FakeMemory>(s, memory_latency);
    const Occupancy o = occupancy(params, program);
    const auto count = static_cast<std::uint32_t>(params.count);
    dispatcher =
        std::make_unique<Dispatcher>("dispatcher", s, launch, blocks, memory::SmGroups(count, 1),
                                     static_cast<std::uint32_t>(o.blocks));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (scratch.empty() || window == 1) scratch.push_back(std::make_unique<SmScratch>());
      sms.push_back(std::make_unique<Sm>(("sm" + std::to_string(i)).c_str(), s, i, params,
                                         launch.warp_interval, params.l1_bytes - o.carve_out_bytes,
                                         window, *image, *profile, source, *scratch.back()));
      Sm& sm = *sms.back();
      const auto latency = static_cast<engine::Cycle>(launch.block_latency);
      links.push_back(std::make_unique<engine::Link>(("to" + std::to_string(i)).c_str(), s, s,
                                                     sm.component_id(), latency));
      dispatcher->sms(*links.back());
      links.push_back(std::make_unique<engine::Link>(("from" + std::to_string(i)).c_str(), s, s,
                                                     dispatcher->component_id(), latency));
      sm.dispatcher(*links.back());
      sm.memory(*memory);
      if (on_sm) on_sm(sm);
    }
    engine::SystemRunner runner({domain.get()});
    auto result = runner.run([this] { return dispatcher->finished(); });
    ASSERT_TRUE(result) << result.error().str();
    for (auto& sm : sms) sm->finish(dispatcher->blocks_end(), dispatcher->end());
  }

  const SubCore& sub(std::uint32_t i = 0) const { return sms[0]->sub_core(i); }
  std::uint64_t stall(Stall s, std::uint32_t sub_core = 0) const {
    return sub(sub_core).ledger().of(s);
  }
};

}  // namespace xpusim::gpu::test
