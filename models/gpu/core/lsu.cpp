#include "models/gpu/core/lsu.h"

#include <algorithm>
#include <bit>

#include "models/memory/messages.h"
#include "sim/engine/free_list.h"

namespace xpusim::gpu {

namespace {

constexpr std::uint32_t kSectorsOfLine = memory::kLineBytes / memory::kSectorBytes;

/// Calls f(address of the first line, sectors, those of them of which some bytes are left out) for
/// the parts of a request in each aligned 512 bytes: what one message may cover.
template <class F>
void for_each_part(const SectorRequest& r, F&& f) {
  const std::uint64_t offset = r.address % memory::kBlockBytes;
  const auto before =
      static_cast<std::uint32_t>((memory::kBlockBytes - offset) / memory::kSectorBytes);
  const std::uint32_t in_first = (1u << before) - 1u;
  const std::uint32_t first = r.sectors & in_first;
  const std::uint32_t second = static_cast<std::uint32_t>(r.sectors) >> before;
  if (first) f(r.address, first, r.partial & in_first);
  if (second) {
    f(r.address - offset + memory::kBlockBytes, second,
      static_cast<std::uint32_t>(r.partial) >> before);
  }
}

/// Takes from `passes`, those over the sectors `left`, what falls to the next `part` of these: by
/// its number of sectors, so that the last part has the rest.
std::uint16_t take_share(std::uint32_t& passes, std::uint32_t& left, std::uint32_t part) {
  const auto sectors = static_cast<std::uint32_t>(std::popcount(part));
  const std::uint32_t share = passes * sectors / left;
  passes -= share;
  left -= sectors;
  return static_cast<std::uint16_t>(share);
}

std::uint16_t request_kind(Action action) {
  switch (action) {
    case Action::kStore:
      return memory::kWrite;
    case Action::kAtomic:
      return memory::kAtomic;
    case Action::kReduction:
      return memory::kReduce;
    default:
      return memory::kRead;
  }
}

}  // namespace

Lsu::Lsu(const MioParams& p, std::int64_t l1_bytes, bool shares_data_stage)
    : mio_depth_(static_cast<std::uint32_t>(p.queue)),
      l1_tags_(static_cast<std::uint32_t>(p.l1_tags)),
      l1_latency_(static_cast<std::uint32_t>(p.l1_latency)),
      fill_latency_(static_cast<std::uint32_t>(p.fill_latency)),
      request_interval_(static_cast<std::uint32_t>(p.request_interval)),
      invalidate_cycles_(static_cast<std::uint32_t>(p.invalidate_cycles)),
      limit_(static_cast<std::uint32_t>(p.outstanding_lines)),
      store_limit_(static_cast<std::uint32_t>(p.outstanding_stores)),
      copy_limit_(static_cast<std::uint32_t>(p.copies)),
      copy_share_(static_cast<std::uint32_t>(kShareUnit * p.shared_bytes_per_cycle /
                                             p.copied_bytes_per_cycle)),
      shares_data_stage_(shares_data_stage),
      wait_interval_(static_cast<std::uint32_t>(p.copy_interval)),
      mio_starts_(kSubCores * mio_depth_, 0),
      lg_starts_(static_cast<std::size_t>(p.lg_queue), 0),
      l1_(l1_bytes, p.l1_ways),
      data_stage_(static_cast<std::uint32_t>(p.shared_bytes_per_cycle)) {}

std::uint32_t Lsu::enter_mio(std::uint32_t sub_core, std::uint32_t now, std::uint32_t passes) {
  std::uint32_t start = std::max(now + 1, data_stage_free_);
  if (shares_data_stage_ && passes > 0) {
    start = std::max(start, move_shared(now, start, passes * memory::kLineBytes) - passes);
  }
  data_stage_free_ = start + std::max(passes, 1u);
  std::uint32_t& next = mio_next_[sub_core];
  mio_starts_[sub_core * mio_depth_ + next] = start;
  if (++next == mio_depth_) next = 0;
  return start;
}

void Lsu::count(Action action, const WarpFootprint& f) {
  switch (action) {
    case Action::kLoad:
    case Action::kCopy:
    case Action::kCopyBypass:
      ++counters_.load_requests;
      counters_.load_sectors += f.sectors;
      break;
    case Action::kStore:
      ++counters_.store_requests;
      counters_.store_sectors += f.sectors;
      break;
    default:
      ++counters_.atomic_requests;
      counters_.atomic_sectors += f.sectors;
      break;
  }
}

std::uint32_t Lsu::access(Action action, const WarpRef& who, const WarpFootprint& footprint,
                          std::uint32_t served, std::uint32_t now, bool adds_floats) {
  if (footprint.count == 0) return served + 1;
  const std::uint32_t id = engine::take_free(accesses_, free_accesses_);
  accesses_[id].set(who, action, 0, adds_floats ? memory::kFloatPasses : std::uint16_t{0});
  return begin(id, footprint, served, now);
}

std::uint32_t Lsu::copy(Action action, const WarpRef& who, const WarpFootprint& f, CopyShape shape,
                        std::uint32_t served, std::uint32_t now) {
  std::uint32_t filled = served + 1;
  if (const std::uint32_t zeros = (kWarpLanes - f.lanes) * shape.lane_bytes; zeros > 0) {
    counters_.wavefronts += (zeros + memory::kLineBytes - 1) / memory::kLineBytes;
    filled = move_shared(now, served, zeros);
  }
  if (f.count == 0) return filled;
  std::uint32_t bytes = f.lanes * shape.lane_bytes * copy_share_ / kShareUnit;
  if (action == Action::kCopy) {  // through the L1, and written as stores are
    const std::uint32_t wavefronts =
        (f.lanes * shape.lane_bytes + memory::kLineBytes - 1) / memory::kLineBytes +
        shape.conflicts;
    counters_.wavefronts += wavefronts;
    bytes = wavefronts * memory::kLineBytes;
  }
  const std::uint32_t id = engine::take_free(accesses_, free_accesses_);
  accesses_[id].set(who, action, static_cast<std::uint16_t>(bytes), 0);
  return begin(id, f, served, now);
}

/// An access reaches the L1: returns the cycle of its end if that is known, else kBlocked.
std::uint32_t Lsu::begin(std::uint32_t id, const WarpFootprint& footprint, std::uint32_t served,
                         std::uint32_t now) {
  const Action action = accesses_[id].action;
  count(action, footprint);
  const std::uint32_t slot = lg_next_;
  if (++lg_next_ == lg_starts_.size()) lg_next_ = 0;
  if (any_waits() || !has_room(action, footprint.lines, footprint.sectors)) {
    defer(id, slot, served, footprint);
    sent_ = kBlocked;
    return kBlocked;
  }
  lg_starts_[slot] = std::max(served, tag_stage_free_);
  serve(id, requests(action, footprint), lg_starts_[slot], now);
  sent_ = port_free_;
  Access& a = accesses_[id];
  if (a.left > 0) return kBlocked;
  free_accesses_.push_back(id);
  return is_copy(action) ? end_copy(a, now) : a.ready;
}

/// What a copy brings has come: it is written to shared memory. Returns the cycle after the last.
std::uint32_t Lsu::end_copy(Access& a, std::uint32_t now) {
  --copies_;
  return move_shared(now, std::max(a.ready, now), a.copied);
}

void Lsu::defer(std::uint32_t access, std::uint32_t queue_slot, std::uint32_t served,
                const WarpFootprint& f) {
  lg_starts_[queue_slot] = kBlocked;
  const Action action = accesses_[access].action;
  waiting_.push_back({access, queue_slot, served, requests(action, f), action});
  deferred_.insert(deferred_.end(), f.requests.begin(), f.requests.begin() + f.count);
}

void Lsu::drop_first_deferred() {
  deferred_first_ += waiting_[waiting_first_++].requests.count;
  constexpr std::size_t kManyDropped = 16;
  if (any_waits() && waiting_first_ < kManyDropped) return;
  const auto drop = [](auto& list, std::size_t& first) {
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(first));
    first = 0;
  };
  drop(waiting_, waiting_first_);
  drop(deferred_, deferred_first_);
}

void Lsu::serve(std::uint32_t access, const Requests& f, std::uint32_t start, std::uint32_t now) {
  tag_stage_free_ = start + f.passes;
  accesses_[access].ready = start + f.passes - 1 + l1_latency_;
  const Action action = accesses_[access].action;
  copies_ += is_copy(action);
  std::uint32_t at = std::max(start, now);
  for (std::uint32_t i = 0; i < f.count; ++i) {
    const SectorRequest& r = f.first[i];
    std::uint32_t passes = r.passes;
    auto left = static_cast<std::uint32_t>(std::popcount(r.sectors));
    for_each_part(r, [&](std::uint64_t address, std::uint32_t sectors, std::uint32_t partial) {
      if (action == Action::kLoad || action == Action::kCopy) {
        load_part(access, address, sectors, at);
      } else if (action == Action::kCopyBypass) {
        bypass_part(access, address, sectors, at);
      } else if (action == Action::kStore) {
        if (f.whole) store_part(address, sectors);
        const auto some = static_cast<std::uint16_t>(std::popcount(partial));
        send(access, address, sectors, some, at, access);
      } else {
        l1_.drop(address);
        const std::uint16_t share = take_share(passes, left, sectors);
        send(access, address, sectors, share | accesses_[access].pass_kind, at, access);
      }
    });
    if (at + 1 < tag_stage_free_) ++at;
  }
}

void Lsu::load_part(std::uint32_t access, std::uint64_t address, std::uint32_t sectors,
                    std::uint32_t at) {
  const std::uint32_t id = engine::take_free(requests_, free_requests_);
  std::uint32_t missing = 0;
  std::array<L1Cache::Line, 4> lines{};
  for (std::uint32_t i = 0; i * kSectorsOfLine < 16; ++i) {
    const auto mask = static_cast<std::uint8_t>((sectors >> (i * kSectorsOfLine)) & 0xfu);
    if (!mask) continue;
    const auto found =
        l1_.load(address + i * memory::kLineBytes, mask, static_cast<std::uint16_t>(id));
    lines[i] = found.line;
    missing |= static_cast<std::uint32_t>(found.missing) << (i * kSectorsOfLine);
    counters_.load_sectors_hit += static_cast<std::uint32_t>(std::popcount(found.hit)) +
                                  static_cast<std::uint32_t>(std::popcount(found.pending));
    if (found.pending && found.request < requests_.size() && requests_[found.request].live &&
        found.request != id) {
      wait_for(found.request, access);
    }
  }
  if (!missing) {
    free_requests_.push_back(id);
    return;
  }
  requests_[id].set(address, static_cast<std::uint16_t>(missing), access);
  requests_[id].lines = lines;
  outstanding_ += memory::lines_of(missing);
  send(access, address, missing, 0, at, id);
}

void Lsu::store_part(std::uint64_t address, std::uint32_t sectors) {
  for (; sectors != 0; sectors >>= kSectorsOfLine, address += memory::kLineBytes) {
    if (const auto mask = static_cast<std::uint8_t>(sectors & 0xfu)) l1_.store(address, mask);
  }
}

void Lsu::bypass_part(std::uint32_t access, std::uint64_t address, std::uint32_t sectors,
                      std::uint32_t at) {
  outstanding_ += memory::lines_of(sectors);
  send(access, address, sectors, 0, at, access | kBypassTag);
}

void Lsu::send(std::uint32_t access, std::uint64_t address, std::uint32_t sectors,
               std::uint16_t passes, std::uint32_t at, std::uint32_t tag) {
  ++accesses_[access].left;
  counters_.sectors_requested += static_cast<std::uint32_t>(std::popcount(sectors));
  ++counters_.messages;
  if (accesses_[access].action == Action::kStore)
    stored_ += static_cast<std::uint32_t>(std::popcount(sectors));
  port_free_ = std::max(at, port_free_);
  engine::Message& m = outbox_->emplace_back().message;
  m.from = component_;
  m.address = address;
  m.data = sectors;
  m.tag = tag;
  m.kind = request_kind(accesses_[access].action);
  m.count = passes;
  outbox_->back().at = port_free_;
  port_free_ += request_interval_;
}

void Lsu::wait_for(std::uint32_t request, std::uint32_t access) {
  const std::uint32_t w = engine::take_free(waiters_, free_waiters_);
  waiters_[w] = {access, requests_[request].waiters};
  requests_[request].waiters = w;
  ++accesses_[access].left;
}

void Lsu::arrived(std::uint32_t access, std::uint32_t now) {
  Access& a = accesses_[access];
  if (--a.left > 0) return;
  a.ready = std::max(a.ready, now + fill_latency_);
  if (is_copy(a.action)) {
    completions_.push_back({a.who, Completion::kCopy, end_copy(a, now)});
  } else {
    const bool store = a.action == Action::kStore || a.action == Action::kReduction;
    completions_.push_back({a.who, store ? Completion::kStore : Completion::kResult, a.ready});
  }
  free_accesses_.push_back(access);
}

std::uint32_t Lsu::invalidate(std::uint32_t served) {
  l1_.clear();
  const std::uint32_t start = std::max(served, tag_stage_free_);
  tag_stage_free_ = start + invalidate_cycles_;
  lg_starts_[lg_next_] = start;
  if (++lg_next_ == lg_starts_.size()) lg_next_ = 0;
  return tag_stage_free_;
}

const std::vector<Completion>& Lsu::receive(const engine::Message& message, std::uint32_t now) {
  completions_.clear();
  counters_.sectors_done += memory::sectors(message);
  if (is_of_request(message)) {
    fill(message.tag, now);
  } else {
    const auto sectors = static_cast<std::uint32_t>(message.data & 0xffffu);
    if (message.kind == memory::kReadDone) outstanding_ -= memory::lines_of(sectors);
    if (message.kind == memory::kWriteDone) stored_ -= memory::sectors(message);
    arrived(message.tag & ~kBypassTag, now);
  }
  if (any_waits()) serve_waiting(now);
  return completions_;
}

/// What a load asked for has come.
void Lsu::fill(std::uint32_t request, std::uint32_t now) {
  Request& r = requests_[request];
  outstanding_ -= memory::lines_of(r.sectors);
  for (std::uint32_t i = 0; i < r.lines.size(); ++i) {
    const auto mask = static_cast<std::uint8_t>((r.sectors >> (i * kSectorsOfLine)) & 0xfu);
    if (mask) l1_.fill(r.lines[i], r.address + i * memory::kLineBytes, mask);
  }
  arrived(r.access, now);
  for (std::uint32_t w = r.waiters; w != kNone;) {
    arrived(waiters_[w].access, now);
    free_waiters_.push_back(w);
    w = waiters_[w].next;
  }
  r.live = false;
  free_requests_.push_back(request);
}

void Lsu::serve_waiting(std::uint32_t now) {
  while (any_waits()) {
    const Deferred& first = waiting_[waiting_first_];
    if (!has_room(first.action, first.requests.lines, first.requests.sectors)) break;
    Deferred d = first;
    d.requests.first = deferred_.data() + deferred_first_;
    const std::uint32_t start = std::max({now, d.served, tag_stage_free_});
    lg_starts_[d.queue_slot] = start;
    serve(d.access, d.requests, start, now);
    Access& a = accesses_[d.access];
    if (a.action == Action::kStore || a.action == Action::kReduction) {
      completions_.push_back({a.who, Completion::kSent, port_free_});
    }
    if (a.left == 0) {
      if (is_copy(a.action)) {
        completions_.push_back({a.who, Completion::kCopy, end_copy(a, now)});
      } else {
        completions_.push_back({a.who, Completion::kResult, a.ready});
      }
      free_accesses_.push_back(d.access);
    }
    drop_first_deferred();
    expect_room();
  }
}

}  // namespace xpusim::gpu
