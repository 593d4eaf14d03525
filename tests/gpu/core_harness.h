#pragma once

// One or more SMs with a memory of fixed latency and blocks whose traces a test writes by hand.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/core/dispatcher.h"
#include "models/gpu/core/occupancy.h"
#include "models/gpu/core/sm.h"
#include "models/memory/messages.h"
#include "sim/engine/system.h"

namespace xpusim::gpu::test {

/// Answers every request after a fixed time; counts what passes.
class FakeMemory : public sc_core::sc_object, public engine::MessageIf {
 public:
  FakeMemory(engine::Scheduler& scheduler, engine::Cycle latency)
      : sc_object("fake_memory"), scheduler_(scheduler), latency_(latency) {}
  void send(const engine::Message& m, engine::Cycle now) override {
    sent.push_back({now, m});
    engine::Message reply = m;
    reply.kind = m.kind == memory::kRead    ? memory::kReadDone
                 : m.kind == memory::kWrite ? memory::kWriteDone
                                            : memory::kAtomicDone;
    scheduler_.post(reply, m.from, now + latency_);
  }
  struct Sent {
    engine::Cycle at;
    engine::Message message;
  };
  std::vector<Sent> sent;

 private:
  engine::Scheduler& scheduler_;
  engine::Cycle latency_;
};

/// Blocks that are executed to their end at once, with a trace that the test writes.
class FakeSource : public BlockSource {
 public:
  std::function<void(BlockRun&)> write;
  std::size_t sites = 0;
  std::vector<std::uint64_t> begun;
  std::uint64_t ended = 0, resident = 0, most_resident = 0;

  void begin(std::uint64_t index, BlockRun& run) override {
    run.index = index;
    run.trace.reset(sites);
    if (write) write(run);
    begun.push_back(index);
    most_resident = std::max(most_resident, ++resident);
  }
  bool advance(BlockRun&) override { return false; }
  void end(BlockRun&) override {
    ++ended;
    --resident;
  }
  bool failed() const override { return false; }
};

inline Instruction op(Opcode code, int stall = 1) {
  Instruction in;
  in.op = code;
  in.mnemonic = "op" + std::to_string(static_cast<int>(code));
  in.stall = static_cast<std::uint8_t>(stall);
  return in;
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
  LaunchParams launch{
      .start_ns = 10, .drain_ns = 5, .block_interval = 1, .block_latency = 1, .warp_interval = 0};
  std::uint64_t blocks = 1;
  engine::Cycle memory_latency = 100;
  engine::Scheduler::Mode mode = engine::Scheduler::Mode::kSkip;
  FakeSource source;

  std::optional<KernelImage> image;
  std::unique_ptr<LaunchProfile> profile;
  std::unique_ptr<engine::ClockDomain> domain;
  std::unique_ptr<FakeMemory> memory;
  std::unique_ptr<Dispatcher> dispatcher;
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
    auto decoded = decode(program);
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
    dispatcher = std::make_unique<Dispatcher>("dispatcher", s, launch, blocks, count,
                                              static_cast<std::uint32_t>(o.blocks));
    for (std::uint32_t i = 0; i < count; ++i) {
      sms.push_back(std::make_unique<Sm>(("sm" + std::to_string(i)).c_str(), s, i, params,
                                         launch.warp_interval, params.l1_bytes - o.carve_out_bytes,
                                         *image, *profile, source));
      Sm& sm = *sms.back();
      const auto latency = static_cast<engine::Cycle>(launch.block_latency);
      links.push_back(std::make_unique<engine::Link>(("to" + std::to_string(i)).c_str(), s, s,
                                                     sm.component_id(), latency));
      dispatcher->sms(*links.back());
      links.push_back(std::make_unique<engine::Link>(("from" + std::to_string(i)).c_str(), s, s,
                                                     dispatcher->component_id(), latency));
      sm.dispatcher(*links.back());
      sm.memory(*memory);
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

/// A site at which each lane of each warp moves one 4-byte element, `vectors` times.
inline SiteLayout row_layout(int warps, int vectors = 1) {
  SiteLayout l;
  std::int64_t stride = 1;
  for (int b = 0; b < 5; ++b, stride *= 2) l.lane_bases.push_back({stride});
  for (int w = 1; w < warps; w *= 2, stride *= 2) l.warp_bases.push_back({stride});
  for (int v = 1; v < vectors; v *= 2, stride *= 2) l.reg_bases.push_back({stride});
  l.shape = {stride};
  l.vectors = static_cast<std::uint32_t>(vectors);
  return l;
}

/// Element i of the site's tile lies at base + stride * i.
inline exec::Access row_access(std::uint64_t base, std::int64_t count, std::int64_t stride = 4,
                               exec::AccessKind kind = exec::AccessKind::kLoad) {
  exec::Access a;
  a.kind = kind;
  a.element_bytes = 4;
  a.pointers.shape = {count};
  a.pointers.dtype = kernel::DType::kI64;
  a.pointers.is_pointer = true;
  a.pointers.form = exec::TileForm::kAffine;
  a.pointers.affine.base = static_cast<std::int64_t>(base);
  a.pointers.affine.digits.push_back({stride, 1, 0, 0});
  return a;
}

}  // namespace xpusim::gpu::test
