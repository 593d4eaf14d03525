// How a core starts DMAs and signals, waits for them, and learns that they are done.

#include <fmt/format.h>

#include "models/tpu/core/recorder.h"
#include "models/tpu/core/tensor_core.h"

namespace xpusim::tpu {

using engine::kNever;
using engine::Message;

/// Half of the engines bring blocks, in turn, the others take them away: each serves one transfer
/// after the other, so what is waited for first comes first.
std::uint32_t TensorCore::engine_for(bool write) {
  const auto all = static_cast<std::uint32_t>(dma.size());
  if (all == 1) return 0;
  const std::uint32_t bring = (all + 1) / 2, count = write ? all - bring : bring;
  std::uint32_t& next = next_engine_[write];
  const std::uint32_t engine = (write ? bring : 0) + next;
  next = (next + 1) % count;
  return engine;
}

TensorCore::Next TensorCore::transfer(std::optional<Descriptor> descriptor) {
  if (job_.windows->failed()) {
    halted_ = true;
    return Next::kStop;
  }
  if (!descriptor) return Next::kGoOn;
  if (sink_) {
    const bool window = descriptor->whom == Descriptor::For::kWindow;
    descriptor->label =
        sink_->name(fmt::format("{} {}", descriptor->is_write() ? "write" : "fetch",
                                window ? job_.windows->name(descriptor->number) : "own copy"));
    if (window) window_begin_[2 * descriptor->number + descriptor->slot] = at_ - 1;
  }
  const std::uint32_t engine = engine_for(descriptor->is_write());
  if (recorder_) {
    descriptor->record = recorder_->dma_issued(at_ - 1, *descriptor, engine, *job_.windows);
    recorder_->look(at_ - 1, *job_.windows);
  }
  Message m;
  m.kind = kStartDma;
  m.tag = job_.descriptors->add(std::move(*descriptor));
  dma[engine]->send(m, at_ - 1);
  return Next::kGoOn;
}

/// Whether what the instruction waits for is there.
bool TensorCore::is_over(const Instruction& i) {
  const auto window = static_cast<std::uint32_t>(i.value);
  const WindowSet& windows = *job_.windows;
  if (i.op == Opcode::kWaitIn) return windows.input_ready(window);
  if (i.op == Opcode::kWaitOut) return windows.output_ready(window);
  if (i.op == Opcode::kDrain) return windows.drained(window);
  if (!job_.body) return true;
  if (is_stream(i)) {
    return streams_.is_over(stream_of(i), static_cast<std::uint32_t>(i.ahead), *job_.body);
  }
  const auto request = job_.body->dma();
  if (!request || !request->wait) return true;
  if (request->signals) return request->held >= request->bytes;
  std::uint64_t& arrived = semaphores_[semaphore_number(request->semaphore)].second;
  if (arrived < request->bytes) return false;
  arrived -= request->bytes;
  return true;
}

/// Whether a wait is over; if so, the cycles since it began are charged to it.
bool TensorCore::may_pass(const Instruction& i, Cycle now) {
  const bool own = is_own(i.op);
  const std::string what = i.op == Opcode::kWaitSync ? "signal"
                           : own                     ? "own copy"
                                 : job_.windows->name(static_cast<std::uint32_t>(i.value));
  if (!is_over(i)) {
    waiting_ = wanted(i);
    return false;
  }
  if (now <= at_) return true;
  const bool input = i.op == Opcode::kWaitIn ||
                     (own && is_stream(i) && !job_.body->stream_is_output(stream_of(i)));
  const Reason reason = own && from_others_    ? Reason::kSyncWaitRemote
                        : own && !is_stream(i) ? Reason::kSyncWaitSemaphore
                        : input                ? Reason::kSyncWaitInput
                                               : Reason::kSyncWaitOutput;
  slice(fmt::format("wait {}", what), at_, now);
  if (recorder_) recorder_->waited(at_, now, reason, job_.program->bundles[pc_].line);
  lose(reason, now, pc_);
  return true;
}

/// What a wait waits for, and where it stands.
std::string TensorCore::wanted(const Instruction& i) const {
  const Program& program = *job_.program;
  const std::string line = program.lines[program.bundles[pc_].line].str();
  if (!is_own(i.op)) {
    return fmt::format("the DMA of {}", job_.windows->name(static_cast<std::uint32_t>(i.value)));
  }
  if (is_stream(i)) return fmt::format("a DMA at {}", line);
  const auto request = job_.body->dma();
  if (request->signals) {
    return fmt::format("{} of semaphore {}, which holds {}, at {}", request->bytes, request->name,
                       request->held, line);
  }
  return fmt::format("{} B on semaphore {} at {}", request->bytes, request->name, line);
}

std::uint32_t TensorCore::semaphore_number(std::int64_t key) {
  for (std::uint32_t i = 0; i < semaphores_.size(); ++i) {
    if (semaphores_[i].first == key) return i;
  }
  semaphores_.emplace_back(key, 0);
  return static_cast<std::uint32_t>(semaphores_.size() - 1);
}

/// Starts what the body's execution stands at, a DMA or a signal; or those DMAs of a stream that
/// may go.
TensorCore::Next TensorCore::start_dma(const Instruction& i) {
  if (is_stream(i)) {
    if (!job_.body) return Next::kGoOn;
    const auto ahead = static_cast<std::uint32_t>(i.ahead);
    while (auto d = streams_.start(stream_of(i), ahead, *job_.body)) {
      using Kind = CopyState::Kind;
      if (recorder_) look_at_stream(*d, d->is_write() ? Kind::kLeaving : Kind::kFilling, at_ - 1);
      transfer(std::move(d));
    }
    return Next::kGoOn;
  }
  auto request = job_.body ? job_.body->dma() : std::nullopt;
  if (!request || request->wait) return Next::kGoOn;
  const bool fine = go_on();
  if (auto what = job_.body->take_outgoing()) {
    send(std::move(*request), std::move(*what));
  } else if (!request->signals) {
    copy(std::move(*request));
  }
  return fine ? Next::kGoOn : Next::kStop;
}

/// A copy of the kernel's own within the chip.
void TensorCore::copy(KernelBody::Dma request) {
  Descriptor d;
  d.reads = std::move(request.reads);
  d.writes = std::move(request.writes);
  d.bytes = request.bytes;
  if (d.reads.empty() && d.writes.empty()) d.inside = d.bytes;
  d.whom = Descriptor::For::kSemaphore;
  d.number = semaphore_number(request.semaphore);
  if (request.source_semaphore) d.source_semaphore = semaphore_number(*request.source_semaphore);
  transfer(std::move(d));
}

/// A copy or a signal to another chip.
void TensorCore::send(KernelBody::Dma request, exec::Outgoing what) {
  RemoteTransfer t;
  t.from = job_.device;
  t.core = job_.core;
  t.reads = std::move(request.reads);
  t.writes = std::move(request.writes);
  t.bytes = request.bytes;
  if (request.source_semaphore) t.source_semaphore = semaphore_number(*request.source_semaphore);
  t.pending = t.source_semaphore ? 2 : 1;
  t.what = std::move(what);
  Message m;
  m.kind = kStartRemote;
  m.tag = job_.remote->add(std::move(t));
  ici->send(m, at_ - 1);
}

/// What went to another chip has left, or something has come from one.
void TensorCore::receive_remote(const Message& message) {
  const RemoteTransfer& t = job_.remote->at(message.tag);
  if (message.kind == kRemoteLeft) {
    semaphores_[*t.source_semaphore].second += t.bytes;
  } else {
    job_.body->arrive(t.what);
    if (t.what.copy) semaphores_[semaphore_number(t.what.semaphore)].second += t.bytes;
  }
  job_.remote->noted(message.tag);
}

/// Tells the recorder what the buffer of a stream's transfer does.
void TensorCore::look_at_stream(const Descriptor& transfer, CopyState::Kind kind, Cycle at) {
  if (!job_.body) return;
  const std::uint16_t buffer = job_.body->stream_buffer(transfer.number);
  if (buffer == kNoBuffer) return;
  const auto copies = static_cast<std::uint32_t>(job_.program->buffers[buffer].copies);
  recorder_->look_at_stream(at, {transfer.number, transfer.slot, copies}, kind);
}

/// Past a wait.
TensorCore::Next TensorCore::pass_dma(const Instruction& i) {
  if (!is_stream(i)) return go_on() ? Next::kGoOn : Next::kStop;
  if (recorder_) {
    Descriptor d;
    d.number = stream_of(i);
    d.slot = streams_.passed(d.number);
    look_at_stream(d, CopyState::Kind::kInUse, at_);
  }
  streams_.pass(stream_of(i));
  return Next::kGoOn;
}

/// The body's execution goes on past its DMA or wait; false if it fails.
bool TensorCore::go_on() {
  if (!job_.body || job_.body->resume()) return true;
  halted_ = true;
  return false;
}

Cycle TensorCore::receive(const Message& message, Cycle now) {
  from_others_ = message.kind != kDmaDone;
  if (from_others_) {
    receive_remote(message);
    if (waiting_.empty()) return kNever;
    waiting_.clear();
    return now;
  }
  const Descriptor& d = job_.descriptors->at(message.tag);
  const bool window = d.whom == Descriptor::For::kWindow;
  if (window) job_.windows->complete(d);
  if (recorder_) {
    recorder_->dma_seen(d.record, now);
    recorder_->look(now, *job_.windows);
    using Kind = CopyState::Kind;
    if (d.whom == Descriptor::For::kStream) {
      look_at_stream(d, d.is_write() ? Kind::kEmpty : Kind::kReady, now);
    }
  }
  if (d.whom == Descriptor::For::kSemaphore) semaphores_[d.number].second += d.bytes;
  if (d.source_semaphore) semaphores_[*d.source_semaphore].second += d.bytes;
  if (d.whom == Descriptor::For::kStream) streams_.complete(d);
  if (sink_ && window) {
    const std::size_t lane = 2 * d.number + d.slot;
    sink_->slice(window_lanes_[lane], d.label, offset_fs_ + clock_.edge(window_begin_[lane]),
                 offset_fs_ + clock_.edge(now));
  }
  job_.descriptors->release(message.tag);
  if (waiting_.empty()) return kNever;
  waiting_.clear();
  return now;
}

}  // namespace xpusim::tpu
