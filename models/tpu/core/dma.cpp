#include "models/tpu/core/dma.h"

#include <algorithm>
#include <utility>

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
    --jobs_[message.tag].outstanding;
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
  return now;
}

Cycle DmaEngine::tick(Cycle now) {
  const std::uint64_t end = (now + 1) * bytes_per_cycle_;
  next_byte_ = std::max(next_byte_, now * bytes_per_cycle_);
  while (!queue_.empty() && next_byte_ < end) {
    if (in_flight_ >= limit_) return kNever;  // a response wakes it
    const std::uint32_t number = queue_.front();
    Job& job = jobs_[number];
    issue(job, now);
    if (!job.issued) continue;
    queue_.pop_front();
    const Descriptor& d = table_.at(job.descriptor);
    if (sink_) {
      sink_->slice(lane_, d.label, offset_fs_ + clock_.edge(job.begin),
                   offset_fs_ + clock_.edge(now + 1));
    }
    finish_if_done(number, now);
  }
  return queue_.empty() ? kNever : next_byte_ / bytes_per_cycle_;
}

/// Sends the job's next request, of one aligned block of 512 B at most.
void DmaEngine::issue(Job& job, Cycle now) {
  const Descriptor& d = table_.at(job.descriptor);
  if (job.run == 0 && job.offset == 0) job.begin = now;
  if (job.run < d.runs.size()) {
    const Run& run = d.runs[job.run];
    const std::uint64_t at = run.address + job.offset;
    const std::uint64_t in_block = memory::kBlockBytes - at % memory::kBlockBytes;
    const std::uint64_t bytes = std::min(in_block, run.bytes - job.offset);
    Message m;
    m.kind = d.write ? memory::kWrite : memory::kRead;
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
    next_byte_ += bytes;
    busy_bytes_ += bytes;
    (d.write ? write_bytes_ : read_bytes_) += bytes;
    job.offset += bytes;
    if (job.offset == run.bytes) {
      ++job.run;
      job.offset = 0;
    }
  }
  job.issued = job.run >= d.runs.size();
}

void DmaEngine::finish_if_done(std::size_t number, Cycle now) {
  Job& job = jobs_[number];
  if (!job.issued || job.outstanding > 0) return;
  Message m;
  m.kind = kDmaDone;
  m.tag = job.descriptor;
  core->send(m, now);
  free_jobs_.push_back(static_cast<std::uint32_t>(number));
}

const char* DmaEngine::waiting_for() const { return in_flight_ > 0 ? "responses from HBM" : ""; }

}  // namespace xpusim::tpu
