#include "models/memory/hbm_module.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/memory/messages.h"
#include "sim/engine/check.h"

namespace xpusim::memory {
namespace {

__extension__ using Wide = unsigned __int128;

/// Fraction bits of the clock ratio: the product of a cycle and a ratio keeps 1e-9 CK exact for
/// hours.
constexpr unsigned kFraction = 56;
/// Channels of a chip that a host keeps close by anyway.
constexpr std::size_t kCachedBytes = 256 * 1024;
/// A longer window saves no more work and makes the module's working set large.
constexpr engine::Cycle kLongestWindow = 256;

std::uint64_t ratio(double to_hz, double from_hz) {
  return static_cast<std::uint64_t>(std::llround(std::ldexp(to_hz / from_hz, kFraction)));
}

std::uint32_t whole_ck(double ns, double clock_hz) {
  return static_cast<std::uint32_t>(std::lround(ns * 1e-9 * clock_hz));
}

}  // namespace

HbmModule::HbmModule(const sc_core::sc_module_name& name, const engine::Scheduler& scheduler,
                     const HbmParams& params, const AddressMap& map, std::uint32_t first)
    : sc_module(name),
      replies("replies"),
      map_(map),
      first_(first),
      request_ck_(whole_ck(params.request_ns, params.timing.clock_hz)),
      reply_ck_(whole_ck(params.reply_ns, params.timing.clock_hz)),
      prefetches_(map.pseudo_channels() * sizeof(HbmChannel) > kCachedBytes) {
  const auto hz = static_cast<double>(scheduler.clock().hz());
  ck_per_cycle_ = ratio(params.timing.clock_hz, hz);
  cycle_per_ck_ = ratio(hz, params.timing.clock_hz);
  const HbmTiming timing(params);
  for (std::uint32_t i = 0; i < params.pseudo_channels; ++i) {
    channels_.emplace_back(timing, first + i, map.pseudo_channels());
  }
  const std::uint32_t way_back = std::min(timing.cl, timing.cwl) + timing.burst + reply_ck_;
  // The way back may be shorter than a cycle of a slow clock.
  window_ = std::clamp<engine::Cycle>(std::max<engine::Cycle>(to_cycle(way_back), 3) - 2, 1,
                                      kLongestWindow);
}

HbmChannel::Ck HbmModule::to_ck(engine::Cycle cycle) const {
  return static_cast<HbmChannel::Ck>(static_cast<Wide>(cycle) * ck_per_cycle_ >> kFraction);
}

engine::Cycle HbmModule::to_cycle(HbmChannel::Ck ck) const {
  const auto product = static_cast<Wide>(ck) * cycle_per_ck_;
  return static_cast<engine::Cycle>((product + ((std::uint64_t{1} << kFraction) - 1)) >> kFraction);
}

engine::Cycle HbmModule::receive(const engine::Message& message, engine::Cycle now) {
  if (message.kind != kRead && message.kind != kWrite) {
    engine::broken(name(), now, "a request that is neither a read nor a write");
  }
  arrivals_.push_back({{message.address, message.from, message.tag,
                        static_cast<std::uint16_t>(message.data), message.kind == kWrite},
                       now});
  due_ = std::min(due_, now + window_);
  return due_;
}

void HbmModule::hand_on(const Arrival& arrival) {
  const Pending& request = arrival.request;
  auto index = static_cast<std::uint32_t>(pending_.size());
  if (free_.empty()) {
    pending_.push_back(request);
  } else {
    index = free_.back();
    free_.pop_back();
    pending_[index] = request;
  }
  const Location where = map_.locate(request.address);
  const auto columns = static_cast<std::uint16_t>(std::popcount(whole_atoms(request.mask)));
  channels_[where.pseudo_channel - first_].push(
      {index, where.row, static_cast<std::uint16_t>(where.bank), columns, request.write},
      to_ck(arrival.at) + request_ck_);
}

engine::Cycle HbmModule::tick(engine::Cycle now) {
  if (now < due_) return due_;
  if (prefetches_) {
    for (const HbmChannel& channel : channels_) channel.prefetch();
  }
  for (const Arrival& arrival : arrivals_) hand_on(arrival);
  arrivals_.clear();
  const HbmChannel::Ck until = to_ck(now);
  HbmChannel::Ck next = HbmChannel::kNever;
  for (HbmChannel& channel : channels_) {
    channel.advance(until, done_);
    next = std::min(next, channel.next_due());
  }
  for (const HbmChannel::Completion& done : done_) answer(done, now);
  done_.clear();
  due_ =
      next == HbmChannel::kNever ? engine::kNever : std::max(to_cycle(next), now + 1) + window_ - 1;
  return due_;
}

void HbmModule::answer(const HbmChannel::Completion& done, engine::Cycle now) {
  const Pending& p = pending_[done.id];
  if (!p.write || p.tag != kNoReply) {
    engine::Message m;
    m.to = p.from;
    m.address = p.address;
    m.data = p.mask;
    m.tag = p.tag;
    m.kind = p.write ? kWriteDone : kReadDone;
    replies->send(m, std::max(to_cycle(done.at + reply_ck_) - 1, now));
  }
  free_.push_back(done.id);
}

const char* HbmModule::waiting_for() const {
  const bool idle =
      std::all_of(channels_.begin(), channels_.end(), [](const auto& c) { return c.idle(); });
  return idle && arrivals_.empty() ? "" : "its DRAM";
}

void HbmModule::finish(engine::Cycle now) {
  for (HbmChannel& channel : channels_) channel.finish(to_ck(now));
}

}  // namespace xpusim::memory
