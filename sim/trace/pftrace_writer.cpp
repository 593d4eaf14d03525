#include "sim/trace/pftrace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>

#include "sim/trace/perfetto_fields.h"

namespace xpusim::trace {

namespace {

constexpr LaneId kNoLane = std::numeric_limits<LaneId>::max();
constexpr std::uint64_t kSequence = 1;  ///< all packets are of one sequence

/// Interning ids count from 1; the two annotations have an index of their own.
constexpr std::uint64_t kBeginIid = 1, kDurationIid = 2;
std::uint64_t iid_of(NameId name) { return std::uint64_t{name} + 1; }

void add_interned(ProtoWriter& data, std::uint32_t field, std::uint64_t iid,
                  std::string_view text) {
  ProtoWriter entry;
  entry.varint(perfetto::interned::kIid, iid);
  entry.bytes(perfetto::interned::kName, text);
  data.message(field, entry);
}

void add_annotation(ProtoWriter& event, std::uint64_t iid, std::uint64_t value) {
  ProtoWriter annotation;
  annotation.varint(perfetto::annotation::kNameIid, iid);
  annotation.varint(perfetto::annotation::kUnsigned, value);
  event.message(perfetto::event::kAnnotations, annotation);
}

}  // namespace

LaneId PftraceSink::lane(std::string_view unit_path) {
  const auto known = lane_ids_.find(std::string(unit_path));
  if (known != lane_ids_.end()) return known->second;
  const std::size_t dot = unit_path.rfind('.');
  const bool root = dot == std::string_view::npos;
  const LaneId parent = root ? kNoLane : lane(unit_path.substr(0, dot));
  Lane added;
  added.path = unit_path;
  added.last_part = root ? unit_path : unit_path.substr(dot + 1);
  added.parent = parent;
  added.slice_tracks = {next_uuid_++};
  added.open_ends.resize(1);
  const auto id = static_cast<LaneId>(lanes_.size());
  lane_ids_.emplace(added.path, id);
  lanes_.push_back(std::move(added));
  return id;
}

NameId PftraceSink::name(std::string_view text) {
  const auto [entry, added] =
      name_ids_.try_emplace(std::string(text), static_cast<NameId>(names_.size()));
  if (added) names_.emplace_back(text);
  return entry->second;
}

Expected<void> PftraceSink::finish() {
  if (auto checked = check_slices(); !checked) return checked;
  write_interned_names();
  for (Lane& lane : lanes_) write_track(lane, lane.slice_tracks.front(), false);
  write_slices_and_counters();
  return file_.commit();
}

Expected<void> PftraceSink::check_slices() const {
  for (const Slice& s : slices_) {
    if (s.begin_fs <= s.end_fs) continue;
    return fail({}, fmt::format("trace: slice '{}' on {} ends at {} fs, before it begins at {} fs",
                                names_[s.name], lanes_[s.lane].path, s.end_fs, s.begin_fs));
  }
  return {};
}

/// The first packet: clears the sequence's state and names all events.
void PftraceSink::write_interned_names() {
  ProtoWriter data;
  for (NameId n = 0; n < names_.size(); ++n) {
    add_interned(data, perfetto::interned::kEventNames, iid_of(n), names_[n]);
  }
  add_interned(data, perfetto::interned::kAnnotationNames, kBeginIid, perfetto::kBeginAnnotation);
  add_interned(data, perfetto::interned::kAnnotationNames, kDurationIid,
               perfetto::kDurationAnnotation);
  ProtoWriter packet;
  packet.varint(perfetto::packet::kSequenceFlags, perfetto::sequence_flags::kStateCleared);
  packet.message(perfetto::packet::kInternedData, data);
  write_packet(packet);
}

void PftraceSink::write_track(Lane& lane, Uuid uuid, bool counter) {
  ProtoWriter track;
  track.varint(perfetto::track::kUuid, uuid);
  track.bytes(perfetto::track::kName, lane.last_part);
  if (lane.parent != kNoLane) {
    track.varint(perfetto::track::kParentUuid, lanes_[lane.parent].slice_tracks.front());
  }
  if (counter) track.message(perfetto::track::kCounter, ProtoWriter());
  track.varint(perfetto::track::kChildOrdering, perfetto::track::kExplicitOrdering);
  track.varint(perfetto::track::kSiblingOrderRank,
               static_cast<std::uint64_t>(&lane - lanes_.data()));
  ProtoWriter packet;
  packet.message(perfetto::packet::kTrackDescriptor, track);
  write_packet(packet);
}

/// Sweeps over time: ends that are due, then counters, then begins, outer slices before inner ones.
void PftraceSink::write_slices_and_counters() {
  std::stable_sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
    return a.begin_fs != b.begin_fs ? a.begin_fs < b.begin_fs : a.end_fs > b.end_fs;
  });
  std::stable_sort(counters_.begin(), counters_.end(),
                   [](const Counter& a, const Counter& b) { return a.at_fs < b.at_fs; });
  const auto later = [](const End& a, const End& b) {
    return a.end_fs != b.end_fs ? a.end_fs > b.end_fs : a.order < b.order;
  };
  std::priority_queue<End, std::vector<End>, decltype(later)> ends(later);
  auto counter = counters_.begin();
  const auto catch_up = [&](std::uint64_t now) {
    for (;;) {
      const bool end_due = !ends.empty() && ends.top().end_fs <= now;
      const bool counter_due = counter != counters_.end() && counter->at_fs <= now;
      if (!end_due && !counter_due) return;
      if (counter_due && (!end_due || counter->at_fs < ends.top().end_fs)) {
        write_counter(*counter, counter_track_for(lanes_[counter->lane]));
        ++counter;
      } else {
        write_end(ends.top());
        ends.pop();
      }
    }
  };
  std::uint64_t order = 0;
  for (const Slice& s : slices_) {
    catch_up(s.begin_fs);
    const Uuid track = track_for(lanes_[s.lane], s);
    write_begin(s, track);
    ends.push({s.end_fs, order++, track});
  }
  catch_up(std::numeric_limits<std::uint64_t>::max());
}

/// The first track of the lane in which the slice nests in, or follows, what is open there.
PftraceSink::Uuid PftraceSink::track_for(Lane& lane, const Slice& slice) {
  for (std::size_t i = 0; i < lane.slice_tracks.size(); ++i) {
    std::vector<std::uint64_t>& open = lane.open_ends[i];
    while (!open.empty() && open.back() <= slice.begin_fs) open.pop_back();
    if (!open.empty() && open.back() < slice.end_fs) continue;
    open.push_back(slice.end_fs);
    return lane.slice_tracks[i];
  }
  lane.slice_tracks.push_back(next_uuid_++);
  lane.open_ends.push_back({slice.end_fs});
  write_track(lane, lane.slice_tracks.back(), false);
  return lane.slice_tracks.back();
}

PftraceSink::Uuid PftraceSink::counter_track_for(Lane& lane) {
  if (lane.counter_track == 0) {
    lane.counter_track = next_uuid_++;
    write_track(lane, lane.counter_track, true);
  }
  return lane.counter_track;
}

void PftraceSink::write_begin(const Slice& slice, Uuid track) {
  ProtoWriter event;
  event.varint(perfetto::event::kType, perfetto::event::kSliceBegin);
  event.varint(perfetto::event::kTrackUuid, track);
  event.varint(perfetto::event::kNameIid, iid_of(slice.name));
  add_annotation(event, kBeginIid, slice.begin_fs);
  add_annotation(event, kDurationIid, slice.end_fs - slice.begin_fs);
  write_event(slice.begin_fs, event);
}

void PftraceSink::write_end(const End& end) {
  ProtoWriter event;
  event.varint(perfetto::event::kType, perfetto::event::kSliceEnd);
  event.varint(perfetto::event::kTrackUuid, end.track);
  write_event(end.end_fs, event);
}

void PftraceSink::write_counter(const Counter& counter, Uuid track) {
  ProtoWriter event;
  event.varint(perfetto::event::kType, perfetto::event::kCounter);
  event.varint(perfetto::event::kTrackUuid, track);
  event.real(perfetto::event::kDoubleCounterValue, counter.value);
  write_event(counter.at_fs, event);
}

void PftraceSink::write_event(std::uint64_t at_fs, const ProtoWriter& event) {
  ProtoWriter packet;
  packet.varint(perfetto::packet::kTimestamp, at_fs / perfetto::kFemtosecondsPerNanosecond);
  packet.varint(perfetto::packet::kSequenceFlags, perfetto::sequence_flags::kNeedsState);
  packet.message(perfetto::packet::kTrackEvent, event);
  write_packet(packet);
}

void PftraceSink::write_packet(ProtoWriter& packet) {
  packet.varint(perfetto::packet::kSequenceId, kSequence);
  ProtoWriter file_field;
  file_field.message(perfetto::trace_file::kPacket, packet);
  file_.write(file_field.str());
}

}  // namespace xpusim::trace
