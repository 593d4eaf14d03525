#pragma once

// What stands in for the rest of a GPU in tests and benchmarks of the SM: a memory of fixed
// latency, blocks whose traces are written by hand, and short ways to write programs.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/gpu/core/block_source.h"
#include "models/gpu/program/program.h"
#include "models/memory/messages.h"
#include "sim/engine/link.h"
#include "sim/engine/scheduler.h"

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

/// Blocks whose trace the test writes: all at once, or from effect to effect.
class FakeSource : public BlockSource {
 public:
  std::function<void(BlockRun&)> write;
  std::function<bool(BlockRun&)> go_on;  ///< an effect takes place; empty: blocks have none
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
  bool advance(BlockRun& run) override { return go_on && go_on(run); }
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
