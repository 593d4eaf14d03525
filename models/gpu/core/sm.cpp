#include "models/gpu/core/sm.h"

#include <algorithm>

#include "models/gpu/core/sm_tracer.h"
#include "sim/engine/check.h"

namespace xpusim::gpu {

Sm::Sm(const sc_core::sc_module_name& name, engine::Scheduler& scheduler, std::uint32_t number,
       const SmParams& params, std::int64_t warp_interval, std::int64_t l1_bytes,
       engine::Cycle window, KernelImage& image, LaunchProfile& profile, BlockSource& source,
       SmScratch& scratch)
    : sc_module(name),
      memory("memory"),
      dispatcher("dispatcher"),
      scheduler_(scheduler),
      number_(number),
      warp_interval_(static_cast<std::uint32_t>(warp_interval)),
      window_(window),
      scratch_(scratch),
      shared_(params, image, profile, source, l1_bytes) {
  id_ = scheduler.add(*this, this->name(), window);
  shared_.lsu.connect(scratch.outbox, id_);
  shared_.tma.connect(scratch.outbox, id_);
  sub_cores_.reserve(kSubCores);
  for (std::uint32_t s = 0; s < kSubCores; ++s) sub_cores_.emplace_back(shared_, s);
  shared_.sub_cores = sub_cores_.data();
}

Sm::~Sm() = default;

std::uint32_t Sm::checked(engine::Cycle now) const {
  if (now >= kBlocked) engine::broken(name(), now, "a launch is longer than 2^32 cycles");
  return static_cast<std::uint32_t>(now);
}

std::uint32_t Sm::next() const {
  const auto& w = shared_.wake;
  return std::min(std::min(w[0], w[1]), std::min(w[2], w[3]));
}

engine::Cycle Sm::receive(const engine::Message& message, engine::Cycle cycle) {
  SmScratch::Arrival& arrival = scratch_.arrivals.emplace_back();
  engine::copy_fields(message, arrival.message);
  arrival.at = checked(cycle);
  shared_.lsu.expect(message);
  return end_of_window(cycle);
}

/// Between two of its windows the other SMs have had the host's cache for themselves.
void Sm::expect_tick() const {
  const auto* shared = reinterpret_cast<const char*>(&shared_);
  engine::prefetch(shared, reinterpret_cast<const char*>(&shared_.lsu) - shared);
  shared_.lsu.prefetch();
  engine::prefetch(shared_.blocks.data(), resident_ * sizeof(ResidentBlock));
  shared_.fetch.prefetch();
  const std::uint32_t warps =
      (resident_ * shared_.image.warps_of_block + kSubCores - 1) / kSubCores;
  for (const SubCore& s : sub_cores_) s.prefetch(std::min(warps, kWarpsOfSubCore));
}

/// Works through the window that ends with `cycle`.
engine::Cycle Sm::tick(engine::Cycle cycle) {
  if (cycle != end_of_window(cycle)) return engine::kNever;  // nobody asked
  const std::uint32_t end = checked(cycle);
  const auto& arrivals = scratch_.arrivals;
  for (const SmScratch::Arrival& a : arrivals) shared_.lsu.expect_soon(a.message);
  if (!arrivals.empty()) shared_.lsu.expect_room();
  auto arrival = arrivals.begin();
  std::uint32_t earliest = end - static_cast<std::uint32_t>(window_ - 1);
  for (;;) {
    const std::uint32_t due = std::max(next(), earliest);
    if (arrival != arrivals.end() && arrival->at <= due) {
      handle(arrival->message, arrival->at);
      ++arrival;
      continue;
    }
    if (due > end) break;
    issue(due);
    earliest = due + 1;
  }
  scratch_.arrivals.clear();
  send_requests();
  const std::uint32_t t = next();
  return t == kBlocked ? engine::kNever : end_of_window(std::max(t, end + 1));
}

void Sm::send_requests() {
  if (scratch_.outbox.empty()) return;
  memory->send_all(scratch_.outbox);
  scratch_.outbox.clear();
}

void Sm::handle(const engine::Message& message, std::uint32_t now) {
  if (message.kind == kStartBlock) {
    start_block(message.address, now);
  } else {
    respond(message, now);
  }
}

void Sm::issue(std::uint32_t now) {
  for (std::uint32_t s = 0; s < kSubCores; ++s) {
    if (shared_.wake[s] > now) continue;
    shared_.wake[s] = kBlocked;
    const std::uint32_t t = sub_cores_[s].tick(now);
    shared_.wake[s] = std::min(shared_.wake[s], t);
    if (shared_.ended_block == kBlocked) continue;
    end_block(std::exchange(shared_.ended_block, kBlocked), now);
  }
}

void Sm::respond_to_tma(const engine::Message& message, std::uint32_t now) {
  shared_.tma.receive(message, now);
  for (const TmaEvent& e : shared_.tma.take_events()) {
    if (e.kind == TmaEvent::kPerformed) {
      store_performed(now);
    } else {
      sub_cores_[e.who.sub_core].box_event(e);
    }
  }
}

void Sm::store_performed(std::uint32_t now) {
  if (--shared_.stores_left > 0 || !owes_stores_done_) return;
  owes_stores_done_ = false;
  tell_dispatcher(kStoresDone, now);
}

void Sm::respond(const engine::Message& message, std::uint32_t now) {
  if (is_of_tma(message)) {
    respond_to_tma(message, now);
    return;
  }
  const bool was_full = shared_.lsu.lg_free() == kBlocked;
  for (const Completion& c : shared_.lsu.receive(message, now)) {
    sub_cores_[c.who.sub_core].complete(c, now);
    if (c.kind == Completion::kStore) store_performed(now);
    if (shared_.ended_block != kBlocked) {
      end_block(std::exchange(shared_.ended_block, kBlocked), now);
    }
  }
  if (!was_full || shared_.lsu.lg_free() == kBlocked) return;
  for (std::uint32_t s = 0; s < kSubCores; ++s) {
    sub_cores_[s].lg_queue_free(shared_.lsu.lg_free());
    shared_.wake[s] = std::min(shared_.wake[s], std::max(now, shared_.lsu.lg_free()));
  }
}

void Sm::start_block(std::uint64_t index, std::uint32_t now) {
  const auto free = std::find_if(shared_.blocks.begin(), shared_.blocks.end(),
                                 [](const ResidentBlock& b) { return !b.used; });
  if (free == shared_.blocks.end()) engine::broken(name(), now, "a block came without a free slot");
  ResidentBlock& block = *free;
  block.used = true;
  block.sequence = sequence_++;
  block.begun = now;
  block.warps_left = shared_.image.warps_of_block;
  block.leaving = 0;
  block.sent = 0;
  block.barriers.fill({});
  block.registers = 0;
  block.at_registers = 0;
  block.at_arrive.fill(0);
  block.at_phase = 0;
  block.phases.clear();
  if (resident_++ == 0) active_since_ = now;
  shared_.source.begin(index, block.run);
  if (shared_.source.failed()) {
    scheduler_.pause();
    return;
  }
  place_warps(static_cast<std::uint32_t>(free - shared_.blocks.begin()), now);
}

void Sm::place_warps(std::uint32_t slot, std::uint32_t now) {
  // A warp's sub-core is its number modulo four; blocks of fewer warps begin where most is free.
  std::uint32_t first = 0;
  if (shared_.image.warps_of_block % kSubCores != 0) {
    for (std::uint32_t s = 1; s < kSubCores; ++s) {
      if (sub_cores_[s].free_slots() > sub_cores_[first].free_slots()) first = s;
    }
  }
  for (std::uint32_t i = 0; i < shared_.image.warps_of_block; ++i) {
    SubCore& sub = sub_cores_[(first + i) % kSubCores];
    if (sub.free_slots() == 0) engine::broken(name(), now, "a block came without free warps");
    const std::uint32_t start = std::max(now, warp_start_free_);
    warp_start_free_ = start + warp_interval_;
    sub.start_warp(slot, i, next_age_++, start, now);
  }
}

void Sm::end_block(std::uint32_t slot, std::uint32_t now) {
  ResidentBlock& block = shared_.blocks[slot];
  shared_.source.end(block.run);
  for (SubCore& sub : sub_cores_) sub.free_block(slot);
  block.used = false;
  block_cycles_ += now + 1 - block.begun;
  if (--resident_ == 0) active_cycles_ += now + 1 - active_since_;
  if (shared_.tracer) {  // the slot may be taken again in this same cycle
    shared_.tracer->block(slot, block.run.index, block.begun, std::max(now, block.begun + 1));
  }
  owes_stores_done_ = shared_.stores_left > 0;
  const auto drain = static_cast<std::uint32_t>(shared_.params.mio.drain_latency);
  tell_dispatcher(kBlockDone, block.sent == 0 ? now : std::max(now, block.sent + drain));
  if (shared_.source.failed()) scheduler_.pause();
}

/// What is told later stays behind what was told before.
void Sm::tell_dispatcher(DispatchKind kind, std::uint32_t at) {
  told_ = std::max(told_, at);
  engine::Message m;
  m.from = number_;
  m.kind = kind;
  m.address = shared_.stores_left;
  send_requests();  // what was asked before is sent before
  dispatcher->send(m, told_);
}

std::uint64_t Sm::retired() const {
  std::uint64_t n = 0;
  for (const SubCore& s : sub_cores_) n += s.issued();
  return n;
}

const char* Sm::waiting_for() const {
  for (const SubCore& s : sub_cores_) {
    if (const char* what = s.waiting_for(); *what) return what;
  }
  return shared_.stores_left > 0 ? "stores to be performed" : "";
}

void Sm::finish(engine::Cycle blocks_end, engine::Cycle end) {
  for (SubCore& s : sub_cores_) {
    s.finish(static_cast<std::uint32_t>(blocks_end), static_cast<std::uint32_t>(end));
  }
  if (shared_.tracer) shared_.tracer->finish();
}

}  // namespace xpusim::gpu
