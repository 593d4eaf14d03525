// What a sub-core tells a recorder.

#include <algorithm>

#include "models/gpu/core/recorder.h"
#include "models/gpu/core/sub_core.h"

namespace xpusim::gpu {

/// Before an instruction is accounted for.
void SubCore::record_issue(std::uint32_t w, std::uint32_t now, const IssueWord& in) {
  SmRecorder& r = *sm_.recorder;
  const Warp& v = warps_[w];
  const std::size_t slot = std::size_t{index_} * kWarpsOfSubCore + w;
  r.alive(slot, {v.start, sm_.blocks[v.block].run.index, v.in_block});
  const std::uint32_t held = std::max(ready_[w], v.last);
  r.span(slot, std::clamp(v.earliest, v.last, held), v.first, v.pc);
  r.span(slot, held, v.why, v.pc);
  if (held < now) {
    const PortWait port = port_wait(w, held, now, in);
    r.span(slot, port.from, Stall::kNotSelected, v.pc);
    r.span(slot, port.until, port.reason, v.pc);
    r.span(slot, now, Stall::kNotSelected, v.pc);
  }
  r.span(slot, now + 1, Stall::kIssued, v.pc);
  r.issued(v.pc, in.action != Action::kMio || in.vector == 0 || v.in_group < in.vector);
}

void SubCore::record_drain(std::uint32_t w, std::uint32_t now) {
  const std::size_t slot = std::size_t{index_} * kWarpsOfSubCore + w;
  sm_.recorder->span(slot, now + 1, Stall::kDrain, warps_[w].pc);
}

void SubCore::record_access(std::uint32_t w, std::uint32_t now, const IssueWord& in,
                            const exec::Access& access) {
  const Warp& v = warps_[w];
  const Footprint& footprint = sm_.image.footprints[in.site];
  SmRecorder::Execution e;
  e.cycle = now;
  e.block = sm_.blocks[v.block].run.index;
  e.in_block = v.in_block;
  e.sectors = sm_.footprint.sectors;
  e.addresses = footprint.addresses(access, v.in_group, in.vector);
  const std::uint32_t bytes = footprint.lane_bytes(access);
  e.least_sectors = least_sectors(e.addresses, bytes);
  sm_.recorder->access(v.pc, e, bytes);
}

}  // namespace xpusim::gpu
