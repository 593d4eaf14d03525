#include "models/tpu/core/dma.h"

#include <algorithm>
#include <utility>

#include "models/tpu/core/recorder.h"

namespace xpusim::tpu {

using engine::kNever;
using engine::Message;

std::uint32_t DescriptorTable::add(Descriptor descriptor) {
  if (free_.empty()) {
    table_.push_back(std::move(descriptor));
    return static_cast<std::uint32_t>(table_.size() - 1);
  }
  const std::uint32_t id = free_.back();
  free_.pop_back();
  table_[id] = std::move(descriptor);
  return id;
}

DmaEngine::DmaEngine(const sc_core::sc_module_name& name, const DmaParams& params,
                     DescriptorTable& table)
    : sc_module(name),
      memory("memory"),
      core("core"),
      table_(table),
      bytes_per_cycle_(static_cast<std::uint64_t>(params.bytes_per_cycle)),
      limit_(static_cast<std::uint32_t>(params.outstanding)) {}

void DmaEngine::set_trace(trace::Sink* sink, const engine::Clock& clock, std::string_view path,
                          std::uint64_t offset_fs) {
  sink_ = sink;
  clock_ = clock;
  offset_fs_ = offset_fs;
  if (sink_) lane_ = sink_->lane(path);
}

Cycle DmaEngine::receive(const Message& message, Cycle now) {
  if (message.kind != kStartDma) {
    --in_flight_;
    Job& job = jobs_[message.tag];
    --job.outstanding;
    if (message.kind == memory::kReadDone) job.arrived += memory::payload_bytes(message);
    finish_if_done(message.tag, now);
    return queue_.empty() ? kNever : now;
  }
  std::uint32_t job;
  if (free_jobs_.empty()) {
    job = static_cast<std::uint32_t>(jobs_.size());
    jobs_.emplace_back();
  } else {
    job = free_jobs_.back();
    free_jobs_.pop_back();
  }
  jobs_[job] = Job{};
  jobs_[job].descriptor = message.tag;
  queue_.push_back(job);
  if (recorder_) recorder_->dma_taken(table_.at(message.tag).record, now);
  return now;
}

Cycle DmaEngine::tick(Cycle now) {
  const std::uint64_t end = (now + 1) * bytes_per_cycle_;
  for (std::uint64_t& f : free_) f = std::max(f, now * bytes_per_cycle_);
  while (!queue_.empty()) {
    const std::uint32_t number = queue_.front();
    Job& job = jobs_[number];
    const Step step = next(job);
    if (step != Step::kDone) {
      const std::uint64_t way_free = free(step == Step::kWrite ? Way::kOut : Way::kIn);
      if (way_free >= end) return way_free / bytes_per_cycle_;
      if (step == Step::kBlocked) return kNever;  // a response wakes it
      if (step != Step::kInside && in_flight_ >= limit_) return kNever;
      perform(job, step, now);
      if (next(job) != Step::kDone) continue;
    }
    queue_.pop_front();
    const Descriptor& d = table_.at(job.descriptor);
    if (recorder_) recorder_->dma_sent(d.record, now);
    if (sink_) {
      sink_->slice(lane_, d.label, offset_fs_ + clock_.edge(std::min(job.begin, now)),
                   offset_fs_ + clock_.edge(now + 1));
    }
    finish_if_done(number, now);
  }
  return kNever;
}

/// A copy within HBM writes what has come before it reads more.
DmaEngine::Step DmaEngine::next(const Job& job) const {
  const Descriptor& d = table_.at(job.descriptor);
  if (job.inside < d.inside) return Step::kInside;
  const bool reads = job.read.run < d.reads.size(), writes = job.write.run < d.writes.size();
  if (writes) {
    const Run& run = d.writes[job.write.run];
    const std::uint64_t least =
        std::min<std::uint64_t>(memory::kBlockBytes, run.bytes - job.write.offset);
    const bool all_here = !reads && job.outstanding == 0;
    if (d.reads.empty() || job.arrived >= least || all_here) return Step::kWrite;
  }
  if (reads) return Step::kRead;
  return writes ? Step::kBlocked : Step::kDone;
}

void DmaEngine::perform(Job& job, Step step, Cycle now) {
  const Descriptor& d = table_.at(job.descriptor);
  if (recorder_ && job.begin > now) recorder_->dma_begins(d.record, now);
  job.begin = std::min(job.begin, now);
  if (step == Step::kRead) return send(job, d.reads, job.read, step, now);
  if (step == Step::kWrite) return send(job, d.writes, job.write, step, now);
  const std::uint64_t bytes = std::min<std::uint64_t>(memory::kBlockBytes, d.inside - job.inside);
  job.inside += bytes;
  free(Way::kIn) += bytes;
  busy_bytes_ += bytes;
}

/// Sends the next request, of one aligned block of 512 B at most.
void DmaEngine::send(Job& job, const std::vector<Run>& runs, Cursor& cursor, Step step, Cycle now) {
  const Run& run = runs[cursor.run];
  const std::uint64_t at = run.address + cursor.offset;
  const std::uint64_t in_block = memory::kBlockBytes - at % memory::kBlockBytes;
  const std::uint64_t bytes = std::min(in_block, run.bytes - cursor.offset);
  const bool write = step == Step::kWrite;
  Message m;
  m.kind = write ? memory::kWrite : memory::kRead;
  m.from = id_;
  m.tag = static_cast<std::uint32_t>(&job - jobs_.data());
  memory::for_each_block(at, bytes, [&](std::uint64_t line, std::uint32_t mask) {
    m.address = line;
    m.data = mask;
  });
  memory->send(m, now);
  ++in_flight_;
  ++job.outstanding;
  ++requests_;
  free(write ? Way::kOut : Way::kIn) += memory::kBlockBytes;  // also for fewer bytes
  busy_bytes_ += memory::kBlockBytes;
  (write ? write_bytes_ : read_bytes_) += bytes;
  if (write) job.arrived -= std::min(job.arrived, bytes);
  cursor.offset += bytes;
  if (cursor.offset < run.bytes) return;
  ++cursor.run;
  cursor.offset = 0;
}

void DmaEngine::finish_if_done(std::size_t number, Cycle now) {
  Job& job = jobs_[number];
  if (job.outstanding > 0 || next(job) != Step::kDone) return;
  Message m;
  m.kind = kDmaDone;
  m.tag = job.descriptor;
  core->send(m, now);
  if (recorder_) recorder_->dma_done(table_.at(job.descriptor).record, now);
  free_jobs_.push_back(static_cast<std::uint32_t>(number));
}

const char* DmaEngine::waiting_for() const { return in_flight_ > 0 ? "responses from HBM" : ""; }

}  // namespace xpusim::tpu
