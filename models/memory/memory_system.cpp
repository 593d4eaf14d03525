#include "models/memory/memory_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>

#include "models/memory/messages.h"
#include "models/memory/sm_groups.h"
#include "sim/engine/check.h"
#include "sim/stats/counters.h"

namespace xpusim::memory {

void check(const MemoryParams& p, std::string_view path, Diagnostics& problems) {
  const std::string at(path);
  check(p.hbm, at + ".hbm", problems);
  const std::int64_t channels = p.hbm.total_pseudo_channels();
  if (!slices_fit(p.l2.slices, channels)) {
    problems.error({}, fmt::format("{}.l2.slices: {} is neither a divisor nor a multiple of the {} "
                                   "pseudo channels of {}.hbm",
                                   path, p.l2.slices, channels, path));
  }
  if (p.l2.slices % p.l2.halves != 0) {
    problems.error({}, fmt::format("{}.l2.slices: {} slices do not make {} halves", path,
                                   p.l2.slices, p.l2.halves));
  }
  if (p.l2.half_mask != 0 &&
      (p.l2.halves != 2 || channels % 2 != 0 ||
       (p.l2.half_mask & (std::max<std::int64_t>(p.hbm.interleave_bytes, kBlockBytes) - 1)) != 0)) {
    problems.error({}, fmt::format("{0}.l2.half_mask: needs two halves, an even number of pseudo "
                                   "channels, and no bit below {0}.hbm.interleave",
                                   path));
  }
  if (p.coalescer.groups % p.l2.halves != 0) {
    problems.error({}, fmt::format("{}.coalescer.groups: {} groups do not share out {} halves",
                                   path, p.coalescer.groups, p.l2.halves));
  }
  if (p.coalescer.groups > 0 &&
      p.coalescer.latency_cycles >= p.requests.latency_cycles + p.l2.hit_cycles) {
    problems.error({}, fmt::format("{0}.coalescer.latency: after {1} cycles a hit has left the L2 "
                                   "({0}.requests.latency, {0}.l2.hit_latency)",
                                   path, p.coalescer.latency_cycles));
  }
  if (p.hbm.capacity_bytes > std::int64_t{1} << 41) {
    problems.error({}, fmt::format("{}.hbm.capacity: more than 2 TiB behind an L2", path));
  }
}

MemoryParams at_clock(const MemoryParams& params, double nominal_hz, double hz) {
  MemoryParams p = params;
  const double more = nominal_hz / hz;
  const auto scale = [&](std::int64_t& rate) {
    constexpr std::int64_t kMost = network::BandwidthCalendar::kMaxBytesPerCycle;
    rate = std::clamp<std::int64_t>(std::llround(static_cast<double>(rate) * more), 1, kMost);
  };
  p.l2.sectors_per_cycle *= more;
  p.l2.filled_per_cycle *= more;
  p.l2.atomic_cycles /= more;
  p.l2.float_atomic_cycles /= more;
  scale(p.coalescer.bytes_per_cycle);
  scale(p.requests.destination_bytes_per_cycle);
  scale(p.replies.source_bytes_per_cycle);
  scale(p.bridge.source_bytes_per_cycle);
  scale(p.bridge.destination_bytes_per_cycle);
  return p;
}

namespace {

std::uint32_t block_number(std::uint64_t address) {
  return static_cast<std::uint32_t>((address & 0xffff'ffff'ffff) / kBlockBytes);
}

/// The share of its own time in which a pseudo channel's data bus moved data.
PartUse hbm_use(Hbm& hbm) {
  PartUse use{"HBM data bus"};
  double channels = 0;
  for (std::size_t i = 0; i < hbm.modules(); ++i) {
    for (std::size_t k = 0; k < hbm.module(i).pseudo_channels(); ++k) {
      const auto& ledger = hbm.module(i).pseudo_channel(k).ledger();
      const double busy = static_cast<double>(ledger.of(HbmReason::kTransfer)) /
                          static_cast<double>(std::max<std::uint64_t>(ledger.sum(), 1));
      use.mean += busy;
      use.busiest = std::max(use.busiest, busy);
      ++channels;
    }
  }
  use.mean /= std::max(channels, 1.0);
  return use;
}

engine::Message answer_to(ReadCoalescer::Reader reader, std::uint64_t block_address) {
  engine::Message m;
  m.to = reader.sm;
  m.tag = reader.tag;
  m.address = block_address + reader.line * kLineBytes;
  m.data = static_cast<std::uint64_t>(reader.mask >> reader.line * (kLineBytes / kSectorBytes));
  m.kind = kReadDone;
  return m;
}

}  // namespace

/// An SM's way in: finds the slice of the SM's half that a request goes to. Reads go by the
/// coalescer of the SM's group, if there is one.
class MemorySystem::SmPort : public engine::MessageIf {
 public:
  SmPort(MemorySystem& system, std::uint32_t sm, std::uint32_t half, std::uint32_t group)
      : system_(system),
        network_(*system.requests_),
        sm_(sm),
        half_(half),
        group_(group),
        slices_per_half_(system.map_.slices() / system.halves_) {}

  void send(const engine::Message& message, engine::Cycle now) override {
    if (coalesces(message)) {
      read(message, now);
    } else {
      engine::Message m = message;
      m.from = sm_;
      forward(m, part_of(m, now), now);
    }
  }

  /// A coalescer's tables do not stay in the host's cache: what a read will touch is brought some
  /// time before, first the head of its chain, then the first read of that.
  void send_all(std::span<const engine::Sending> list) override {
    constexpr std::size_t kFirst = 8, kSend = 16;  // so many requests later
    const auto expect = [&](std::size_t i, auto&& prefetch) {
      if (i < list.size() && coalesces(list[i].message)) {
        prefetch(block_number(list[i].message.address));
      }
    };
    for (std::size_t i = 0; i < list.size() + kSend; ++i) {
      expect(i, [&](std::uint32_t block) { coalescer().prefetch_chain(block); });
      if (i < kFirst) continue;
      expect(i - kFirst, [&](std::uint32_t block) { coalescer().prefetch_first(block); });
      if (i >= kSend) send(list[i - kSend].message, list[i - kSend].at);
    }
  }

 private:
  bool coalesces(const engine::Message& m) const {
    return m.kind == kRead && !system_.coalescers_.empty();
  }
  ReadCoalescer& coalescer() const { return system_.coalescers_[group_]; }

  /// What a request names of its block.
  struct Part {
    std::uint32_t line;
    std::uint16_t mask;
  };
  Part part_of(const engine::Message& m, engine::Cycle now) const {
    const std::uint64_t line = m.address % kBlockBytes / kLineBytes;
    const std::uint64_t mask = (m.data & 0xffffu) << line * (kLineBytes / kSectorBytes);
    if (m.address % kLineBytes != 0 || mask == 0 || mask > 0xffffu) {
      engine::broken("SM " + std::to_string(sm_), now,
                     "a request that is empty or leaves its block of 512 B");
    }
    return {static_cast<std::uint32_t>(line), static_cast<std::uint16_t>(mask)};
  }

  /// Sends a request to its slice, with its block in the slice's terms.
  void forward(engine::Message& m, const Part& part, engine::Cycle now) {
    const AddressMap::SliceBlock where = system_.map_.slice_block(m.address);
    m.to = half_ * slices_per_half_.divisor() + slices_per_half_.remainder(where.slice);
    m.address -= part.line * kLineBytes;
    m.data = BlockRequest{part.mask, part.line, where.slice, where.block}.data();
    network_.send(sm_, m, now);
  }

  /// A read that joins no other goes on, in the name of its group and as if sent later.
  void read(const engine::Message& message, engine::Cycle now) {
    const Part part = part_of(message, now);
    const ReadCoalescer::Reader reader{message.tag, sm_, part.mask, part.line};
    const engine::Cycle at_work = system_.scheduler_.now();
    const engine::Cycle settled = std::min(now, at_work - std::min(at_work, system_.window() - 1));
    const auto outcome = coalescer().read(block_number(message.address), reader, now, settled);
    if (outcome.what == ReadCoalescer::Outcome::kForward) {
      engine::Message m = message;
      m.from = group_;
      m.tag = outcome.read;
      forward(m, part, outcome.at - system_.coalescer_latency_);
    } else if (outcome.what == ReadCoalescer::Outcome::kAnswered) {
      const std::uint64_t block = message.address - message.address % kBlockBytes;
      system_.replies_->multicast(answer_to(reader, block), outcome.at);
    }
  }

  MemorySystem& system_;
  network::Crossbar& network_;
  std::uint32_t sm_, half_, group_;
  engine::Divider slices_per_half_;
};

/// A slice's way out to the SMs: an answer to a group of SMs becomes one for each that asked.
class MemorySystem::AnswerPort : public engine::MessageIf {
 public:
  AnswerPort(MemorySystem& system, std::uint32_t slice)
      : system_(system), network_(*system.replies_), slice_(slice) {}

  void expect_answer(const engine::Message& read) const override {
    if (!system_.coalescers_.empty()) system_.coalescers_[read.from].prefetch_answer(read.tag);
  }

  void send(const engine::Message& message, engine::Cycle leaves) override {
    if (message.kind != kReadDone || system_.coalescers_.empty()) {
      network_.send(slice_, message, leaves);
      return;
    }
    const std::uint64_t block = message.address - message.address % kBlockBytes;
    bool first = true;
    system_.coalescers_[message.to].answer(message.tag, leaves, [&](ReadCoalescer::Reader reader) {
      const engine::Message m = answer_to(reader, block);
      if (first) {
        network_.send(slice_, m, leaves);
      } else {
        network_.multicast(m, leaves);
      }
      first = false;
    });
  }

 private:
  MemorySystem& system_;
  network::Crossbar& network_;
  std::uint32_t slice_;
};

MemorySystem::MemorySystem(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
                           const MemoryParams& params, std::uint32_t sms)
    : sc_module(name),
      scheduler_(scheduler),
      map_(params.hbm, static_cast<std::uint32_t>(params.l2.slices),
           static_cast<std::uint64_t>(params.l2.half_mask)),
      halves_(static_cast<std::uint32_t>(params.l2.halves)),
      groups_(sms, std::max(static_cast<std::uint32_t>(params.coalescer.groups), halves_)),
      left_dirty_(static_cast<std::uint64_t>(params.l2.left_dirty_bytes)),
      capacity_(static_cast<std::uint64_t>(params.hbm.capacity_bytes)),
      coalescer_latency_(static_cast<engine::Cycle>(params.coalescer.latency_cycles)),
      coalescers_(static_cast<std::size_t>(params.coalescer.groups),
                  ReadCoalescer(params.coalescer)) {
  const auto slices = static_cast<std::uint32_t>(params.l2.slices);
  using network::Crossbar;
  requests_ = std::make_unique<Crossbar>("requests", scheduler, params.requests, sms, slices);
  replies_ = std::make_unique<Crossbar>("replies", scheduler, params.replies, slices, sms);
  bridge_ = std::make_unique<Crossbar>("bridge", scheduler, params.bridge, slices, slices);
  hbm_ = std::make_unique<Hbm>("hbm", scheduler, params.hbm, map_);
  for (std::uint32_t i = 0; i < slices; ++i) {
    const std::string slice_name = "slice_" + std::to_string(i);
    slices_.push_back(
        std::make_unique<L2Slice>(slice_name.c_str(), params.l2, i, bridge_->latency()));
    L2Slice& slice = *slices_.back();
    const std::uint32_t id =
        scheduler.add(slice, std::string(basename()) + ".l2[" + std::to_string(i) + "]");
    slice.set_id(id);
    answer_ports_.push_back(std::make_unique<AnswerPort>(*this, i));
    slice.replies(*answer_ports_.back());
    slice.bridge(bridge_->port(i));
    slice.memory(*hbm_);
    requests_->connect(i, id);
    bridge_->connect(i, id);
  }
  for (std::uint32_t i = 0; i < sms; ++i) {
    const std::uint32_t group = groups_.group_of(i);
    ports_.push_back(std::make_unique<SmPort>(*this, i, group % halves_, group));
  }
}

MemorySystem::~MemorySystem() = default;

engine::MessageIf& MemorySystem::sm_port(std::uint32_t sm) { return *ports_[sm]; }

void MemorySystem::connect_sm(std::uint32_t sm, std::uint32_t component_id) {
  replies_->connect(sm, component_id);
}

MemoryCounters MemorySystem::counters() const {
  L2Counters l2;
  for (const auto& slice : slices_) stats::add_counters(l2, slice->counters());
  const HbmCounters dram = hbm_->counters();
  MemoryCounters c;
  c.dram_read_bytes = dram.read_bytes;
  c.dram_write_bytes = dram.write_bytes;
  c.dram_activates = dram.activates;
  c.dram_refreshes = dram.refreshes;
  c.dram_row_hits = dram.row_hits;
  c.dram_requests = dram.requests;
  c.l2_sectors_read = l2.read;
  c.l2_sectors_write = l2.write;
  c.l2_sectors_atom = l2.atom;
  c.l2_sectors_red = l2.red;
  c.l2_sectors_hit = l2.hit;
  c.l2_sectors_miss = l2.miss;
  for (const ReadCoalescer& coalescer : coalescers_) {
    c.coalesced_sectors += coalescer.joined_sectors();
  }
  c.request_messages = requests_->messages();
  c.reply_messages = replies_->messages();
  c.reply_bytes = replies_->bytes();
  c.bridge_bytes = bridge_->bytes();
  return c;
}

std::vector<PartUse> MemorySystem::use(engine::Cycle cycles) const {
  const double all = static_cast<double>(std::max<engine::Cycle>(cycles, 1));
  PartUse slices{"L2 slices"};
  for (const auto& slice : slices_) {
    slices.mean += slice->busy_cycles() / all / static_cast<double>(slices_.size());
    slices.busiest = std::max(slices.busiest, slice->busy_cycles() / all);
  }
  const auto network = [all](std::string_view name, const network::Crossbar& crossbar) {
    const auto busy = crossbar.busy();
    return PartUse{name, busy.mean / all, busy.most / all};
  };
  std::vector<PartUse> parts = {hbm_use(*hbm_), slices};
  if (halves_ > 1) parts.push_back(network("bridge between the L2 halves", *bridge_));
  parts.push_back(network("request network", *requests_));
  parts.push_back(network("reply network", *replies_));
  return parts;
}

std::uint64_t MemorySystem::most_dirty_bytes() const {
  std::uint64_t lines = 0;
  for (const auto& slice : slices_) lines += slice->tags().most_dirty_lines();
  return lines * kLineBytes;
}

std::vector<std::uint64_t> MemorySystem::cached_bytes(const std::vector<Range>& ranges) const {
  std::vector<std::uint64_t> out(ranges.size());
  for (std::uint32_t i = 0; i < slices(); ++i) {
    slices_[i]->tags().for_each_line([&](std::uint32_t block, std::uint16_t sectors) {
      const std::uint64_t address = std::uint64_t{block} * kBlockBytes;
      if (map_.slice_block(address).slice != i) return;  // a copy
      const auto first = static_cast<std::uint64_t>(std::countr_zero(sectors));
      const std::uint64_t at = address + first * kSectorBytes;
      const auto next =
          std::upper_bound(ranges.begin(), ranges.end(), at,
                           [](std::uint64_t a, const Range& range) { return a < range.first; });
      if (next == ranges.begin()) return;
      const auto range = std::prev(next);
      if (at < range->first + range->second)
        out[static_cast<std::size_t>(range - ranges.begin())] +=
            static_cast<std::uint64_t>(std::popcount(sectors)) * kSectorBytes;
    });
  }
  return out;
}

void MemorySystem::cold_caches() {
  for (auto& slice : slices_) slice->tags().clear();
  constexpr std::uint64_t kPageBlocks = L2Tags::kPageBlocks;
  constexpr std::uint64_t kPieceBlocks = 128;        // 64 KiB of a large page
  constexpr std::uint16_t kHalfOfEachLine = 0x3333;  // one of its two atoms
  const std::uint64_t pages = std::max<std::uint64_t>(capacity_ / kBlockBytes / kPageBlocks, 1);
  for (std::uint64_t i = 0; i < left_dirty_ / (kBlockBytes / 2); ++i) {
    const std::uint64_t page = pages - 1 - i / kPieceBlocks % pages;
    const std::uint64_t block = page * kPageBlocks + i % kPieceBlocks;
    const AddressMap::SliceBlock where = map_.slice_block(block * kBlockBytes);
    L2Tags::Victims beyond_the_dirty_share;
    slices_[where.slice]->tags().write(where.block, static_cast<std::uint32_t>(block),
                                       kHalfOfEachLine, beyond_the_dirty_share);
  }
}

CacheContents MemorySystem::caches() const {
  CacheContents contents;
  contents.slices.reserve(slices_.size());
  for (const auto& slice : slices_) contents.slices.push_back(slice->tags());
  return contents;
}

void MemorySystem::set_caches(CacheContents contents) {
  for (std::size_t i = 0; i < slices_.size() && i < contents.slices.size(); ++i) {
    slices_[i]->tags() = std::move(contents.slices[i]);
  }
}

void MemorySystem::finish(engine::Cycle now) { hbm_->finish(now); }

}  // namespace xpusim::memory
