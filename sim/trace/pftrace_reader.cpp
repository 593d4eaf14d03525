#include "sim/trace/pftrace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_map>

#include "sim/trace/perfetto_fields.h"
#include "sim/trace/protobuf.h"

namespace xpusim::trace {

namespace {

using Uuid = std::uint64_t;

constexpr std::uint64_t kLatestNanosecond =
    std::numeric_limits<std::uint64_t>::max() / perfetto::kFemtosecondsPerNanosecond;

/// A track as described; several of the same path are one lane.
struct Track {
  std::size_t lane = 0;
  bool counter = false;
  std::vector<std::size_t> open;  ///< slices of the lane that have not ended, outermost first
};

struct Event {
  std::uint64_t type = 0;
  Uuid track = 0;
  std::uint64_t name_iid = 0;
  std::optional<std::uint64_t> begin_fs, duration_fs;
  std::optional<double> value;
};

struct Packet {
  std::uint64_t nanosecond = 0;
  std::string_view interned, descriptor, event;  ///< empty views where absent
  bool has_event = false;
};

/// Decodes packet by packet; stops at the first problem.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Expected<TraceRecord> read() {
    ProtoReader fields(bytes_);
    while (!problem_) {
      at_ = fields.position();
      const auto field = fields.next();
      if (!field) break;
      if (is_message(*field, perfetto::trace_file::kPacket)) read_packet(field->bytes);
    }
    if (!fields.ok()) report("the trace is cut off or is not a Perfetto trace");
    check_all_ended();
    if (problem_) return fail({file_, 0, 0}, *problem_);
    return std::move(trace_);
  }

 private:
  void report(std::string_view what) {
    if (!problem_) problem_ = fmt::format("{} (packet at byte {})", what, at_);
  }

  static bool is_message(const ProtoField& f, std::uint32_t id) {
    return f.id == id && f.type == WireType::kBytes;
  }
  static bool is_number(const ProtoField& f, std::uint32_t id) {
    return f.id == id && f.type == WireType::kVarint;
  }

  /// Calls `take` for each field of a message; a broken message is a problem.
  template <class Take>
  void for_fields(std::string_view message, Take take) {
    ProtoReader fields(message);
    while (const auto field = fields.next()) take(*field);
    if (!fields.ok()) report("a broken message");
  }

  void read_packet(std::string_view bytes) {
    Packet packet;
    for_fields(bytes, [&](const ProtoField& f) {
      namespace p = perfetto::packet;
      if (is_number(f, p::kTimestamp)) packet.nanosecond = f.number;
      if (is_message(f, p::kInternedData)) packet.interned = f.bytes;
      if (is_message(f, p::kTrackDescriptor)) packet.descriptor = f.bytes;
      if (is_message(f, p::kTrackEvent)) {
        packet.event = f.bytes;
        packet.has_event = true;
      }
    });
    if (problem_) return;
    if (!packet.interned.empty()) read_interned(packet.interned);
    if (!packet.descriptor.empty()) read_descriptor(packet.descriptor);
    if (packet.has_event) read_event(packet.event, packet.nanosecond);
  }

  void read_interned(std::string_view bytes) {
    for_fields(bytes, [&](const ProtoField& f) {
      namespace in = perfetto::interned;
      if (!is_message(f, in::kEventNames) && !is_message(f, in::kAnnotationNames)) return;
      std::uint64_t iid = 0;
      std::string name;
      for_fields(f.bytes, [&](const ProtoField& entry) {
        if (is_number(entry, in::kIid)) iid = entry.number;
        if (is_message(entry, in::kName)) name = entry.bytes;
      });
      (f.id == in::kEventNames ? event_names_ : annotation_names_)[iid] = std::move(name);
    });
  }

  void read_descriptor(std::string_view bytes) {
    Uuid uuid = 0, parent = 0;
    std::string name;
    bool counter = false;
    for_fields(bytes, [&](const ProtoField& f) {
      namespace t = perfetto::track;
      if (is_number(f, t::kUuid)) uuid = f.number;
      if (is_number(f, t::kParentUuid)) parent = f.number;
      if (is_message(f, t::kName)) name = f.bytes;
      if (is_message(f, t::kCounter)) counter = true;
    });
    if (problem_) return;
    if (uuid == 0) return report("a track without a uuid");
    std::string path = name;
    if (parent != 0) {
      const auto above = tracks_.find(parent);
      if (above == tracks_.end()) return report("a track below one that is not described");
      path = fmt::format("{}.{}", trace_.lanes[above->second.lane].path, name);
    }
    if (path.size() > kLongestPath) return report("a track path that is too long");
    if (!tracks_.try_emplace(uuid, Track{lane_of(path), counter, {}}).second) {
      report("a track described twice");
    }
  }

  std::size_t lane_of(const std::string& path) {
    const auto [entry, added] = lanes_.try_emplace(path, trace_.lanes.size());
    if (added) trace_.lanes.push_back({path, {}, {}});
    return entry->second;
  }

  void read_annotation(std::string_view bytes, Event& event) {
    std::uint64_t iid = 0;
    std::optional<std::uint64_t> value;
    for_fields(bytes, [&](const ProtoField& f) {
      if (is_number(f, perfetto::annotation::kNameIid)) iid = f.number;
      if (is_number(f, perfetto::annotation::kUnsigned)) value = f.number;
    });
    const auto name = annotation_names_.find(iid);
    if (name == annotation_names_.end()) return;
    if (name->second == perfetto::kBeginAnnotation) event.begin_fs = value;
    if (name->second == perfetto::kDurationAnnotation) event.duration_fs = value;
  }

  void read_event(std::string_view bytes, std::uint64_t nanosecond) {
    Event event;
    for_fields(bytes, [&](const ProtoField& f) {
      namespace e = perfetto::event;
      if (is_number(f, e::kType)) event.type = f.number;
      if (is_number(f, e::kTrackUuid)) event.track = f.number;
      if (is_number(f, e::kNameIid)) event.name_iid = f.number;
      if (is_message(f, e::kAnnotations)) read_annotation(f.bytes, event);
      if (f.id == e::kDoubleCounterValue && f.type == WireType::kFixed64) event.value = f.real();
    });
    if (problem_) return;
    if (nanosecond > kLatestNanosecond) return report("a time that is too late");
    if (nanosecond < now_) return report("time runs backwards");
    now_ = nanosecond;
    const auto track = tracks_.find(event.track);
    if (track == tracks_.end()) return report("an event on a track that is not described");
    handle(event, track->second);
  }

  void handle(const Event& event, Track& track) {
    LaneRecord& lane = trace_.lanes[track.lane];
    const std::uint64_t now_fs = now_ * perfetto::kFemtosecondsPerNanosecond;
    if (track.counter != (event.type == perfetto::event::kCounter)) {
      return report("a counter on a slice track, or a slice on a counter track");
    }
    if (event.type == perfetto::event::kCounter) {
      if (!event.value) return report("a counter without a value");
      lane.counters.push_back({now_fs, *event.value});
    } else if (event.type == perfetto::event::kSliceBegin) {
      begin_slice(event, track, lane, now_fs);
    } else if (event.type == perfetto::event::kSliceEnd) {
      end_slice(track, lane, now_fs);
    }
  }

  /// Whether exact femtoseconds agree with the nanosecond of the packet.
  static bool agrees(std::uint64_t exact_fs, std::uint64_t now_fs) {
    return exact_fs / perfetto::kFemtosecondsPerNanosecond ==
           now_fs / perfetto::kFemtosecondsPerNanosecond;
  }

  void begin_slice(const Event& event, Track& track, LaneRecord& lane, std::uint64_t now_fs) {
    const auto name = event_names_.find(event.name_iid);
    if (name == event_names_.end()) return report("a slice whose name is not known");
    SliceRecord slice{name->second, now_fs, kOpen, static_cast<int>(track.open.size())};
    if (event.begin_fs) {
      if (!agrees(*event.begin_fs, now_fs)) return report("begin_fs contradicts the timestamp");
      slice.begin_fs = *event.begin_fs;
      if (event.duration_fs) {
        if (*event.duration_fs >= kOpen - slice.begin_fs) return report("a slice that is too long");
        slice.end_fs = slice.begin_fs + *event.duration_fs;
      }
    }
    track.open.push_back(lane.slices.size());
    lane.slices.push_back(std::move(slice));
  }

  void end_slice(Track& track, LaneRecord& lane, std::uint64_t now_fs) {
    if (track.open.empty()) return report("an end without a begin");
    SliceRecord& slice = lane.slices[track.open.back()];
    track.open.pop_back();
    if (slice.end_fs == kOpen) slice.end_fs = std::max(now_fs, slice.begin_fs);
    if (!agrees(slice.end_fs, now_fs)) report("duration_fs contradicts the timestamp");
  }

  void check_all_ended() {
    for (const auto& [uuid, track] : tracks_) {
      if (!track.open.empty()) report("a slice without an end");
    }
  }

  static constexpr std::uint64_t kOpen = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t kLongestPath = 4096;

  std::string_view bytes_;
  const std::string& file_;
  std::optional<std::string> problem_;
  std::size_t at_ = 0;     ///< where the packet starts that is being read
  std::uint64_t now_ = 0;  ///< ns
  TraceRecord trace_;
  std::unordered_map<std::string, std::size_t> lanes_;
  std::unordered_map<Uuid, Track> tracks_;
  std::unordered_map<std::uint64_t, std::string> event_names_, annotation_names_;
};

}  // namespace

const LaneRecord* TraceRecord::find(std::string_view path) const {
  const auto it = std::find_if(lanes.begin(), lanes.end(),
                               [&](const LaneRecord& lane) { return lane.path == path; });
  return it == lanes.end() ? nullptr : &*it;
}

Expected<TraceRecord> read_pftrace(std::string_view bytes, const std::string& file) {
  return Reader(bytes, file).read();
}

Expected<TraceRecord> read_pftrace_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return fail({path, 0, 0}, "this is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail({path, 0, 0}, "cannot open the file");
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return read_pftrace(bytes, path);
}

}  // namespace xpusim::trace
