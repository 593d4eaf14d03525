#include "models/tpu/core/ici_port.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {
namespace {

using engine::kNever;
using engine::Message;

/// The part of a list of runs from byte `begin` to `end`.
std::vector<Run> part_of(const std::vector<Run>& runs, std::uint64_t begin, std::uint64_t end) {
  std::vector<Run> out;
  std::uint64_t at = 0;  // of the run's first byte
  for (const Run& run : runs) {
    const std::uint64_t low = std::max(begin, at), high = std::min(end, at + run.bytes);
    if (low < high) out.push_back({run.address + (low - at), high - low});
    at += run.bytes;
    if (at >= end) break;
  }
  return out;
}

std::uint64_t total(const std::vector<Run>& runs) {
  std::uint64_t bytes = 0;
  for (const Run& run : runs) bytes += run.bytes;
  return bytes;
}

}  // namespace

IciPort::IciPort(const sc_core::sc_module_name& name, const engine::Scheduler& scheduler,
                 network::Fabric& fabric, std::vector<std::uint32_t> connections,
                 RemoteTable& transfers, DescriptorTable& descriptors, std::uint32_t cores)
    : sc_module(name),
      reader("reader"),
      writer("writer"),
      core("core", cores),
      scheduler_(scheduler),
      fabric_(fabric),
      connections_(std::move(connections)),
      transfers_(transfers),
      descriptors_(descriptors) {}

void IciPort::set_trace(trace::Sink* sink, const std::string& path, std::uint64_t offset_fs) {
  sink_ = sink;
  offset_fs_ = offset_fs;
  if (sink_) lane_ = sink_->lane(path);
}

Cycle IciPort::receive(const Message& message, Cycle now) {
  const auto transfer = static_cast<std::uint32_t>(message.data >> 32);
  const auto chunk = static_cast<std::uint32_t>(message.data);
  switch (message.kind) {
    case kStartRemote:
      begin(message.tag, now);
      break;
    case network::kSent:
      chunk_left(transfer, now);
      break;
    case network::kArrived:
      chunk_arrived(transfer, chunk, now);
      break;
    default: {  // an engine is through with a chunk
      const Descriptor d = descriptors_.at(message.tag);
      descriptors_.release(message.tag);
      if (d.whom == Descriptor::For::kLeaving) {
        const RemoteTransfer& t = transfers_.at(d.number);
        const std::uint64_t begin = d.slot == 0 ? 0 : chunk_end(t, t.bytes, d.slot - 1);
        send(d.number, d.slot, static_cast<std::uint32_t>(chunk_end(t, t.bytes, d.slot) - begin),
             now);
      } else {
        chunk_landed(d.number, now);
      }
    }
  }
  return kNever;
}

/// Where a chunk ends among `bytes` that are shared out over the transfer's chunks.
std::uint64_t IciPort::chunk_end(const RemoteTransfer& t, std::uint64_t bytes,
                                 std::uint32_t chunk) const {
  if (chunk + 1 == t.chunks) return bytes;
  return bytes == t.bytes ? std::uint64_t{fabric_.chunk()} * (chunk + 1)
                          : bytes * (chunk + 1) / t.chunks;
}

void IciPort::begin(std::uint32_t transfer, Cycle now) {
  RemoteTransfer& t = transfers_.at(transfer);
  t.begin = now;
  hops_ += fabric_.hops(connections_[t.what.device]);
  ++open_;
  if (!t.what.copy) {
    ++signals_;
    return send(transfer, 0, kSignalBytes, now);
  }
  ++copies_;
  sent_bytes_ += t.bytes;
  t.chunks = static_cast<std::uint32_t>((t.bytes + fabric_.chunk() - 1) / fabric_.chunk());
  read_more(transfer, now);
}

void IciPort::read_more(std::uint32_t transfer, Cycle now) {
  RemoteTransfer& t = transfers_.at(transfer);
  while (t.begun < t.chunks && t.begun < t.left + kAhead) {
    use_engine(reader, Descriptor::For::kLeaving, transfer, t.begun++, now);
  }
}

/// Has an engine read, or write, a chunk: in HBM, or else inside the core.
void IciPort::use_engine(engine::OutPort& engine, Descriptor::For whom, std::uint32_t transfer,
                         std::uint32_t chunk, Cycle now) {
  const RemoteTransfer& t = transfers_.at(transfer);
  const bool leaves = whom == Descriptor::For::kLeaving;
  const std::vector<Run>& runs = leaves ? t.reads : t.writes;
  const std::uint64_t bytes = runs.empty() ? t.bytes : total(runs);
  const std::uint64_t begin = chunk == 0 ? 0 : chunk_end(t, bytes, chunk - 1);
  const std::uint64_t end = chunk_end(t, bytes, chunk);
  Descriptor d;
  d.whom = whom;
  d.number = transfer;
  d.slot = chunk;
  (leaves ? d.reads : d.writes) = part_of(runs, begin, end);
  if (runs.empty()) d.inside = end - begin;
  if (sink_)
    d.label = sink_->name(
        fmt::format("{} device {}", leaves ? "to" : "from", leaves ? t.what.device : t.from));
  Message m;
  m.kind = kStartDma;
  m.tag = descriptors_.add(std::move(d));
  engine->send(m, now);
}

void IciPort::send(std::uint32_t transfer, std::uint32_t chunk, std::uint32_t bytes, Cycle now) {
  fabric_.send(connections_[transfers_.at(transfer).what.device], bytes, tag_of(transfer, chunk),
               scheduler_.clock().edge(now));
}

void IciPort::chunk_left(std::uint32_t transfer, Cycle now) {
  RemoteTransfer& t = transfers_.at(transfer);
  ++t.left;
  if (t.what.copy) read_more(transfer, now);
  if (t.left < t.chunks) return;
  --open_;
  if (sink_) {
    const std::string what =
        fmt::format("{} to device {}", t.what.copy ? "copy" : "signal", t.what.device);
    sink_->slice(lane_, sink_->name(what), offset_fs_ + scheduler_.clock().edge(t.begin),
                 offset_fs_ + scheduler_.clock().edge(now));
  }
  if (t.source_semaphore) tell(kRemoteLeft, transfer, now);
}

void IciPort::chunk_arrived(std::uint32_t transfer, std::uint32_t chunk, Cycle now) {
  const RemoteTransfer& t = transfers_.at(transfer);
  if (!t.what.copy) return tell(kRemoteArrived, transfer, now);
  use_engine(writer, Descriptor::For::kLanding, transfer, chunk, now);
}

void IciPort::chunk_landed(std::uint32_t transfer, Cycle now) {
  RemoteTransfer& t = transfers_.at(transfer);
  if (++t.landed < t.chunks) return;
  received_bytes_ += t.bytes;
  tell(kRemoteArrived, transfer, now);
}

void IciPort::tell(RemoteKind kind, std::uint32_t transfer, Cycle now) {
  Message m;
  m.kind = kind;
  m.tag = transfer;
  core[transfers_.at(transfer).core]->send(m, now);
}

const char* IciPort::waiting_for() const { return open_ > 0 ? "the network" : ""; }

}  // namespace xpusim::tpu
