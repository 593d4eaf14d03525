#include "models/tpu/core/streams.h"

namespace xpusim::tpu {

Streams::Stream& Streams::at(std::uint32_t stream) {
  if (stream >= streams_.size()) streams_.resize(stream + 1);
  return streams_[stream];
}

std::optional<Descriptor> Streams::start(std::uint32_t stream, std::uint32_t ahead,
                                         KernelBody& body) {
  Stream& s = at(stream);
  const bool output = body.stream_is_output(stream);
  if (s.started >= body.stream_count(stream)) return std::nullopt;
  if (!output && s.started >= s.passed + ahead) return std::nullopt;
  if (output && s.started >= s.passed) return std::nullopt;  // one for each wait for a free copy
  Descriptor d;
  d.whom = kWhom;
  d.number = stream;
  d.slot = s.started++;
  s.done.push_back(false);
  body.stream_runs(stream, d.slot, output ? d.writes : d.reads);
  return d;
}

bool Streams::is_over(std::uint32_t stream, std::uint32_t ahead, const KernelBody& body) const {
  if (stream >= streams_.size()) return body.stream_is_output(stream);
  const Stream& s = streams_[stream];
  if (body.stream_is_output(stream)) return s.started - s.ended <= ahead;
  return s.passed < s.done.size() && s.done[s.passed];
}

void Streams::pass(std::uint32_t stream) { ++at(stream).passed; }

void Streams::complete(const Descriptor& t) {
  Stream& s = at(t.number);
  if (t.slot >= s.done.size()) return;  // of a step before
  s.done[t.slot] = true;
  ++s.ended;
}

}  // namespace xpusim::tpu
