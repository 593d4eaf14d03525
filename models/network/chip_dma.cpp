#include "models/network/chip_dma.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/network/femto.h"
#include "sim/engine/free_list.h"

namespace xpusim::network {

using engine::Cycle;
using engine::Femto;
using engine::kNever;

namespace {

/// The fabric's tag of a chunk: that of its put, its lane, and whether it reduces.
constexpr int kLaneShift = 32;
constexpr std::uint64_t kReduces = std::uint64_t{1} << 63;

std::uint32_t tag_of(const engine::Message& m) { return static_cast<std::uint32_t>(m.data); }
std::uint32_t lane_of(const engine::Message& m) {
  return static_cast<std::uint32_t>((m.data & ~kReduces) >> kLaneShift);
}

}  // namespace

DmaTiming DmaTiming::from(const EndpointParams& p, double chip_memory) {
  const double memory = p.memory_bandwidth > 0 ? p.memory_bandwidth : chip_memory;
  DmaTiming t;
  t.issue = femto(p.issue_ns * kFemtoPerNano);
  t.completion = femto(p.completion_ns * kFemtoPerNano);
  t.engines = static_cast<std::uint32_t>(p.engines);
  t.window = static_cast<std::uint32_t>(p.window);
  t.memory_fs_per_byte = memory > 0 ? kFemtoPerSecond / memory : 0;
  t.reduce_fs_per_byte = p.reduce_bandwidth > 0 ? kFemtoPerSecond / p.reduce_bandwidth : 0;
  return t;
}

ChipDma::ChipDma(Fabric& fabric, engine::Scheduler& scheduler, std::uint32_t chip,
                 const DmaTiming& timing, DmaListener& listener)
    : fabric_(fabric), scheduler_(scheduler), chip_(chip), timing_(timing), listener_(listener) {
  id_ = scheduler.add(*this, fmt::format("network.{}.dma", fabric.topology().node_name(chip)));
  fabric.attach(chip, id_);
}

std::uint32_t ChipDma::lane_to(std::uint32_t dst) {
  const auto [found, is_new] = lane_of_.try_emplace(dst, static_cast<std::uint32_t>(lanes_.size()));
  if (is_new) {
    Lane lane;
    lane.dst = dst;
    if (dst != chip_) {
      lane.connection = fabric_.connect(chip_, dst);
      lane.fs_per_byte = kFemtoPerSecond / fabric_.bandwidth(lane.connection);
    }
    lanes_.push_back(lane);
  }
  return found->second;
}

void ChipDma::put(const Put& chunk) {
  const std::uint32_t number = engine::take_free(puts_, free_puts_);
  puts_[number] = {chunk, kNone};
  Lane& lane = lanes_[chunk.lane];
  (lane.last == kNone ? lane.first : puts_[lane.last].next) = number;
  lane.last = number;
  ++waiting_;
  pump();
}

/// Gives chunks to free engines, lane after lane.
void ChipDma::pump() {
  std::uint32_t idle = 0;  // lanes in a row that had nothing to send
  const auto count = static_cast<std::uint32_t>(lanes_.size());
  while (waiting_ > 0 && busy_ < timing_.engines && idle < count) {
    const std::uint32_t number = next_lane_;
    if (++next_lane_ >= count) next_lane_ = 0;
    const Lane& lane = lanes_[number];
    if (lane.first == kNone || lane.unsent >= timing_.window) {
      ++idle;
      continue;
    }
    idle = 0;
    send(number);
  }
}

Femto ChipDma::use_memory(double bytes) {
  const Femto now = scheduler_.clock().edge(scheduler_.now());
  memory_free_ = std::max(memory_free_, now) + femto(bytes * timing_.memory_fs_per_byte);
  return memory_free_;
}

void ChipDma::send(std::uint32_t number) {
  Lane& lane = lanes_[number];
  const auto [chunk, next] = puts_[lane.first];
  free_puts_.push_back(lane.first);
  lane.first = next;
  if (next == kNone) lane.last = kNone;
  --waiting_;
  ++busy_;
  ++lane.unsent;
  if (lane.dst == chip_) return copy(chunk);
  const Femto now = scheduler_.clock().edge(scheduler_.now());
  const Femto issued = now + (chunk.begins ? timing_.issue : 0);
  const Femto read = use_memory(chunk.bytes);
  read_ += chunk.bytes;
  // It may leave as it is read, as soon as the link will not run out of bytes.
  const Femto crossing = femto(chunk.bytes * lane.fs_per_byte);
  const Femto ready = std::max(issued, read > crossing ? read - crossing : 0);
  const std::uint64_t tag = chunk.tag | std::uint64_t{number} << kLaneShift;
  fabric_.send(lane.connection, chunk.bytes, tag | (chunk.reduces ? kReduces : 0),
               std::max(ready, now));
}

void ChipDma::copy(const Put& chunk) {
  const Femto now = scheduler_.clock().edge(scheduler_.now());
  const Femto done = std::max(use_memory((chunk.reduces ? 3.0 : 2.0) * chunk.bytes),
                              now + (chunk.begins ? timing_.issue : 0));
  read_ += chunk.reduces ? 2 * std::uint64_t{chunk.bytes} : chunk.bytes;
  written_ += chunk.bytes;
  engine::Message about;
  about.data = chunk.tag | std::uint64_t{chunk.lane} << kLaneShift;
  about.address = chunk.bytes;
  about.from = chip_;
  tell_self(kCopied, about, done + timing_.completion);
}

void ChipDma::tell_self(std::uint16_t kind, const engine::Message& about, Femto at) {
  engine::Message m = about;
  m.kind = kind;
  scheduler_.post(m, id_, std::max(scheduler_.now() + 1, scheduler_.clock().cycle_at_or_after(at)));
}

/// What has arrived is written, or added to what is there.
void ChipDma::finish(const engine::Message& m) {
  const bool reduces = (m.data & kReduces) != 0;
  const auto bytes = static_cast<double>(m.address);
  Femto done = use_memory(reduces ? 2 * bytes : bytes);
  written_ += m.address;
  if (reduces) {
    const Femto now = scheduler_.clock().edge(scheduler_.now());
    cores_free_ = std::max(cores_free_, now) + femto(bytes * timing_.reduce_fs_per_byte);
    done = std::max(done, cores_free_);
    read_ += m.address;
    reduced_ += m.address;
  }
  tell_self(kDone, m, done + timing_.completion);
}

Cycle ChipDma::tick(Cycle) { return kNever; }

Cycle ChipDma::receive(const engine::Message& m, Cycle) {
  const std::uint32_t tag = tag_of(m);
  const auto bytes = static_cast<std::uint32_t>(m.address);
  switch (m.kind) {
    case kArrived:
      finish(m);
      break;
    case kDone:
      listener_.arrived(chip_, tag, bytes);
      break;
    case kSent:
    case kCopied:
      --busy_;
      --lanes_[lane_of(m)].unsent;
      listener_.left(chip_, tag);
      if (m.kind == kCopied) listener_.arrived(chip_, tag, bytes);
      pump();
      break;
    default:
      break;
  }
  return kNever;
}

const char* ChipDma::waiting_for() const { return waiting_ > 0 ? "a free engine" : ""; }

}  // namespace xpusim::network
