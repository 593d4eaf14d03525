#include "models/network/collectives/channel_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/network/femto.h"

namespace xpusim::network {

using engine::Cycle;
using engine::Femto;
using engine::kNever;

namespace {

constexpr std::uint32_t kWindow = 2;  ///< messages of a core on their way out at a time

}  // namespace

ChannelTiming ChannelTiming::from(const EndpointParams& p, double chip_memory, Kind kind,
                                  std::uint64_t bytes) {
  const double memory = p.memory_bandwidth > 0 ? p.memory_bandwidth : chip_memory;
  const bool fine = kind != Kind::kExchange && bytes < static_cast<std::uint64_t>(p.fine_below);
  const bool ring = kind == Kind::kRing && !fine;
  const std::int64_t step = fine ? p.fine_step : p.step;
  const std::int64_t slice = ring ? std::min(p.ring_slice, p.steps) : 1;
  ChannelTiming t;
  t.slice = static_cast<std::uint64_t>(slice * step);
  t.chunk = static_cast<std::uint64_t>((ring ? p.ring_chunk : 1) * step);
  t.room = static_cast<std::uint32_t>(std::max<std::int64_t>(1, p.steps / slice));
  t.access_fs_per_byte = kFemtoPerSecond / (fine ? p.fine_bandwidth : p.channel_bandwidth);
  t.memory_fs_per_byte = memory > 0 ? kFemtoPerSecond / memory : 0;
  t.overhead = fine ? 0 : femto(p.slice_ns * kFemtoPerNano);
  t.payload = fine ? p.fine_payload : 1;
  return t;
}

/// Hears of a chip's messages: a tag is a core's number (kSent) or a slice (kArrived).
class ChannelRun::Chip final : public engine::Component {
 public:
  explicit Chip(ChannelRun& run) : run_(run) {}
  Cycle tick(Cycle) override { return kNever; }
  Cycle receive(const engine::Message& m, Cycle) override {
    const auto transfer = static_cast<std::uint32_t>(m.data >> 32);
    const auto slice = static_cast<std::uint32_t>(m.data);
    Flow& flow = run_.flows_[m.kind == kEnd || m.kind == kTaken ? 0 : transfer];
    switch (m.kind) {
      case kSent:
        --run_.cores_[flow.sender].unsent;
        run_.push(flow.sender);
        break;
      case kArrived:
        if (--flow.pieces_of[slice] == 0) {
          ++flow.arrived;
          run_.try_begin(flow.receiver);
        }
        break;
      case kEnd:
        run_.end_slice(static_cast<std::uint32_t>(m.data));
        break;
      case kTaken:
        run_.try_begin(static_cast<std::uint32_t>(m.data));
        break;
      default:
        break;
    }
    return kNever;
  }
  const char* waiting_for() const override { return run_.done() ? "" : "a neighbour's slice"; }

  enum Own : std::uint16_t { kEnd = 100, kTaken = 101 };
  std::uint32_t id = 0;

 private:
  ChannelRun& run_;
};

ChannelRun::ChannelRun(Fabric& fabric, engine::Scheduler& scheduler, const Schedule& schedule,
                       const ChannelTiming& timing, bool apart)
    : fabric_(fabric),
      scheduler_(scheduler),
      schedule_(schedule),
      timing_(timing),
      flows_(schedule.transfers.size()),
      waiters_(schedule.transfers.size()),
      memory_free_(fabric.topology().chips()) {
  for (std::uint32_t chip = 0; chip < fabric.topology().chips(); ++chip) {
    chips_.push_back(std::make_unique<Chip>(*this));
    chips_[chip]->id = scheduler.add(
        *chips_[chip], fmt::format("network.{}.channels", fabric.topology().node_name(chip)));
    fabric.attach(chip, chips_[chip]->id);
  }
  for (ChannelProgram& p : channel_programs(schedule, apart)) {
    const auto number = static_cast<std::uint32_t>(cores_.size());
    for (const auto& segment : p.segments)
      for (const ChannelAction& a : segment) {
        if (a.in != kNoTransfer) flows_[a.in].receiver = number;
        if (a.out != kNoTransfer) flows_[a.out].sender = number;
        for (const auto& after : a.after) waiters_[after.transfer].push_back(number);
      }
    cores_.push_back({});
    cores_.back().program = std::move(p);
  }
  for (std::size_t t = 0; t < flows_.size(); ++t) {
    flows_[t].slices = slices_in(schedule.transfers[t].bytes);
    flows_[t].pieces_of.resize(flows_[t].slices);
  }
  open_ = cores_.size();
}

ChannelRun::~ChannelRun() = default;

void ChannelRun::start() {
  for (std::uint32_t c = 0; c < cores_.size(); ++c) try_begin(c);
}

/// A chunk is cut into equal slices, as many as a whole one has.
std::uint32_t ChannelRun::slices_in(std::uint64_t bytes) const {
  const std::uint64_t each = timing_.chunk / timing_.slice;
  return static_cast<std::uint32_t>((bytes + timing_.chunk - 1) / timing_.chunk * each);
}

ChannelRun::Slice ChannelRun::slice_of(const Core& core, const ChannelAction& action) const {
  const std::uint64_t each = timing_.chunk / timing_.slice;
  const std::uint64_t chunk = std::min(timing_.chunk, action.bytes - core.chunk);
  const std::uint64_t size = (chunk + each - 1) / each;
  const std::uint64_t begin = std::min(chunk, core.slice * size);
  return {std::min(size, chunk - begin),
          static_cast<std::uint32_t>(core.chunk / timing_.chunk * each + core.slice)};
}

bool ChannelRun::may_begin(const ChannelAction& a, const Slice& slice) const {
  for (const ChannelAction::After& after : a.after) {
    const Flow& other = flows_[after.transfer];
    if (other.taken < (after.whole ? other.slices : slice.number + 1)) return false;
  }
  if (a.in != kNoTransfer && flows_[a.in].arrived <= slice.number) return false;
  if (a.out == kNoTransfer) return true;
  const Flow& out = flows_[a.out];
  return out.sent - out.taken < timing_.room;
}

void ChannelRun::try_begin(std::uint32_t number) {
  Core& core = cores_[number];
  if (core.working || finished(core)) return;
  const ChannelAction& a = core.program.segments[core.segment][core.action];
  const Slice slice = slice_of(core, a);
  if (!may_begin(a, slice)) return;
  core.working = true;
  const auto bytes = static_cast<double>(slice.bytes);
  const std::uint32_t chip = core.program.chip;
  const Femto now = scheduler_.clock().edge(scheduler_.now());
  // What the neighbour's stores took of this memory is booked with their receipt.
  const double accesses = a.reads + a.writes + (a.in != kNoTransfer ? 1 : 0);
  memory_free_[chip] =
      std::max(memory_free_[chip], now) + femto(accesses * bytes * timing_.memory_fs_per_byte);
  read_ += a.reads * slice.bytes;
  written_ += (a.writes + (a.in != kNoTransfer ? 1u : 0u)) * slice.bytes;
  const bool sends = a.out != kNoTransfer;
  // Local accesses go on while stores leave.
  const double own = a.reads + a.writes;
  core.local_end =
      std::max(memory_free_[chip], now + femto(own * bytes * timing_.access_fs_per_byte));
  if (!sends) return maybe_end(number);
  Flow& out = flows_[a.out];
  ++out.sent;
  core.to_push = static_cast<std::uint64_t>(bytes / timing_.payload + 0.5);
  sent_ += core.to_push;
  const std::uint64_t piece = fabric_.chunk();
  out.pieces_of[slice.number] = static_cast<std::uint32_t>((core.to_push + piece - 1) / piece);
  if (slice.bytes == 0) {
    ++out.arrived;
    if (out.receiver != number) try_begin(out.receiver);
    return maybe_end(number);
  }
  push(number);
}

/// Gives the network the next messages of a slice; when the last has left the slice may end.
void ChannelRun::push(std::uint32_t number) {
  Core& core = cores_[number];
  const ChannelAction& a = core.program.segments[core.segment][core.action];
  const Transfer& t = schedule_.transfers[a.out];
  const std::uint32_t slice = slice_of(core, a).number;
  const Femto now = scheduler_.clock().edge(scheduler_.now());
  while (core.to_push > 0 && core.unsent < kWindow) {
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(core.to_push, fabric_.chunk()));
    core.to_push -= bytes;
    ++core.unsent;
    fabric_.send(fabric_.connect(t.src, t.dst), bytes, std::uint64_t{a.out} << 32 | slice, now);
  }
  if (core.to_push == 0 && core.unsent == 0) maybe_end(number);
}

/// All has left: the slice ends when the local accesses have too.
void ChannelRun::maybe_end(std::uint32_t number) {
  Core& core = cores_[number];
  const Femto now = scheduler_.clock().edge(scheduler_.now());
  const Femto end = std::max(now, core.local_end) + timing_.overhead;
  engine::Message m;
  m.kind = Chip::kEnd;
  m.data = number;
  scheduler_.post(m, chips_[core.program.chip]->id,
                  std::max(scheduler_.now() + 1, scheduler_.clock().cycle_at_or_after(end)));
}

void ChannelRun::end_slice(std::uint32_t number) {
  Core& core = cores_[number];
  const ChannelAction& a = core.program.segments[core.segment][core.action];
  core.working = false;
  const std::uint32_t in = a.in;
  step_on(core);
  if (in != kNoTransfer) {
    // The room is the sender's again when the flag has gone back.
    Flow& flow = flows_[in];
    ++flow.taken;
    engine::Message m;
    m.kind = Chip::kTaken;
    m.data = flow.sender;
    const Transfer& t = schedule_.transfers[in];
    const Femto back =
        scheduler_.clock().edge(scheduler_.now()) + fabric_.latency(fabric_.connect(t.dst, t.src));
    scheduler_.post(m, chips_[t.src]->id,
                    std::max(scheduler_.now() + 1, scheduler_.clock().cycle_at_or_after(back)));
    for (const std::uint32_t core_waiting : waiters_[in]) try_begin(core_waiting);
  }
  if (finished(core)) {
    --open_;
    end_ = scheduler_.now();
  }
  try_begin(number);
}

/// The next slice of the chunk; then the segment's next action, then its next chunk.
void ChannelRun::step_on(Core& core) {
  const auto each = static_cast<std::uint32_t>(timing_.chunk / timing_.slice);
  if (++core.slice < each) return;
  core.slice = 0;
  while (!finished(core)) {
    const auto& segment = core.program.segments[core.segment];
    if (++core.action == segment.size()) {
      core.action = 0;
      core.chunk += timing_.chunk;
      const bool more = std::any_of(segment.begin(), segment.end(),
                                    [&](const ChannelAction& a) { return core.chunk < a.bytes; });
      if (!more) {
        core.chunk = 0;
        ++core.segment;
        if (finished(core)) return;
      }
    }
    if (core.chunk < core.program.segments[core.segment][core.action].bytes) return;
  }
}

}  // namespace xpusim::network
