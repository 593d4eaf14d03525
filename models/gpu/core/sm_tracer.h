#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/gpu/core/lsu.h"
#include "models/gpu/core/stall.h"
#include "sim/engine/time.h"
#include "sim/trace/sink.h"

namespace xpusim::gpu {

/// How many slices a launch may still write; beyond them events are left out and counted.
struct TraceBudget {
  std::uint64_t left = 500'000;
  std::uint64_t dropped = 0;
};

/// Writes what an SM does: a lane a block slot with the blocks that were resident, a lane a
/// sub-core with its phases ("issuing", or why it stood still for kShortest cycles and more;
/// shorter gaps count as issuing). Single instructions are left out.
class SmTracer {
 public:
  SmTracer(trace::Sink& sink, const engine::Clock& clock, std::uint64_t start_fs, std::uint32_t sm,
           std::size_t slots, TraceBudget& budget);
  void phase(std::uint32_t sub_core, Stall reason, std::uint64_t from, std::uint64_t until);
  void block(std::size_t slot, std::uint64_t number, std::uint64_t from, std::uint64_t until);
  void finish();

 private:
  static constexpr std::uint64_t kShortest = 16;
  struct Phase {
    Stall reason = Stall::kCount;  ///< kIssued: issuing; kCount: none yet
    std::uint64_t from = 0, until = 0;
  };
  void slice(trace::LaneId lane, trace::NameId name, std::uint64_t from, std::uint64_t until);

  trace::Sink& sink_;
  const engine::Clock& clock_;
  std::uint64_t start_fs_;
  TraceBudget& budget_;
  std::array<trace::LaneId, kSubCores> lanes_{};
  std::vector<trace::LaneId> slots_;
  std::array<trace::NameId, static_cast<std::size_t>(Stall::kCount)> names_{};
  std::array<Phase, kSubCores> phases_{};
};

}  // namespace xpusim::gpu
