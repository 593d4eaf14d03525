#include "models/gpu/core/sm_tracer.h"

#include <fmt/format.h>

namespace xpusim::gpu {

SmTracer::SmTracer(trace::Sink& sink, const engine::Clock& clock, std::uint64_t start_fs,
                   std::uint32_t sm, std::size_t slots, TraceBudget& budget)
    : sink_(sink), clock_(clock), start_fs_(start_fs), budget_(budget) {
  for (std::uint32_t s = 0; s < kSubCores; ++s) {
    lanes_[s] = sink.lane(fmt::format("gpu.sm[{}].sub[{}]", sm, s));
  }
  for (std::size_t b = 0; b < slots; ++b) {
    slots_.push_back(sink.lane(fmt::format("gpu.sm[{}].block[{}]", sm, b)));
  }
  for (std::size_t r = 0; r < names_.size(); ++r) {
    const auto reason = static_cast<Stall>(r);
    names_[r] = sink.name(reason == Stall::kIssued ? "issuing" : name(reason));
  }
}

void SmTracer::slice(trace::LaneId lane, trace::NameId name_id, std::uint64_t from,
                     std::uint64_t until) {
  if (budget_.left == 0) {
    ++budget_.dropped;
    return;
  }
  --budget_.left;
  sink_.slice(lane, name_id, start_fs_ + clock_.edge(from), start_fs_ + clock_.edge(until));
}

void SmTracer::phase(std::uint32_t sub_core, Stall reason, std::uint64_t from,
                     std::uint64_t until) {
  Phase& p = phases_[sub_core];
  const Stall kind = until - from < kShortest ? Stall::kIssued : reason;
  if (p.reason == kind && p.until == from) {
    p.until = until;
    return;
  }
  if (p.reason != Stall::kCount) {
    slice(lanes_[sub_core], names_[static_cast<std::size_t>(p.reason)], p.from, p.until);
  }
  p = {kind, from, until};
}

void SmTracer::block(std::size_t slot, std::uint64_t number, std::uint64_t from,
                     std::uint64_t until) {
  if (slot >= slots_.size()) return;
  slice(slots_[slot], sink_.name(fmt::format("block {}", number)), from, until);
}

void SmTracer::finish() {
  for (std::uint32_t s = 0; s < kSubCores; ++s) {
    if (phases_[s].reason == Stall::kCount) continue;
    slice(lanes_[s], names_[static_cast<std::size_t>(phases_[s].reason)], phases_[s].from,
          phases_[s].until);
    phases_[s] = {};
  }
}

}  // namespace xpusim::gpu
