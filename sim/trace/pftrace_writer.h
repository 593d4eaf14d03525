#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/trace/atomic_file.h"
#include "sim/trace/protobuf.h"
#include "sim/trace/sink.h"

namespace xpusim::trace {

/// Writes a Perfetto trace (ui.perfetto.dev opens it). The parts of a lane's path are the levels of
/// its track tree, siblings in the order in which they were first named. Slices of a lane that
/// overlap without nesting (requests in flight) go to further tracks of the same name, which
/// Perfetto draws as rows of one lane.
///
/// Perfetto counts nanoseconds: begins and ends are rounded down, which keeps order and nesting; a
/// slice's exact begin and duration go with it as the arguments `begin_fs` and `duration_fs`.
/// Counters keep the nanosecond only.
///
/// Events stay in memory (24 bytes each) until finish(), because a slice is known when it ends and
/// a parent thus after its children, while the file wants begins in order. No flows, no instants.
class PftraceSink final : public Sink {
 public:
  explicit PftraceSink(AtomicFile file) : file_(std::move(file)) {}

  LaneId lane(std::string_view unit_path) override;
  NameId name(std::string_view text) override;
  void slice(LaneId lane, NameId name, std::uint64_t begin_fs, std::uint64_t end_fs) override {
    slices_.push_back({begin_fs, end_fs, lane, name});
  }
  void counter(LaneId lane, std::uint64_t at_fs, double value) override {
    counters_.push_back({at_fs, value, lane});
  }
  Expected<void> finish() override;

 private:
  using Uuid = std::uint64_t;

  struct Slice {
    std::uint64_t begin_fs, end_fs;
    LaneId lane;
    NameId name;
  };
  struct Counter {
    std::uint64_t at_fs;
    double value;
    LaneId lane;
  };
  /// A lane, or a part of a path on the way to one.
  struct Lane {
    std::string path;
    std::string last_part;
    LaneId parent;                                      ///< kNoLane for a root
    std::vector<Uuid> slice_tracks;                     ///< the first one also holds the children
    std::vector<std::vector<std::uint64_t>> open_ends;  ///< of each slice track, outermost first
    Uuid counter_track = 0;
  };
  /// An end that is due; the latest begun of two equal ones comes first.
  struct End {
    std::uint64_t end_fs;
    std::uint64_t order;
    Uuid track;
  };

  Expected<void> check_slices() const;
  void write_interned_names();
  void write_track(Lane& lane, Uuid uuid, bool counter);
  void write_slices_and_counters();
  Uuid track_for(Lane& lane, const Slice& slice);
  Uuid counter_track_for(Lane& lane);
  void write_begin(const Slice& slice, Uuid track);
  void write_end(const End& end);
  void write_counter(const Counter& counter, Uuid track);
  void write_packet(ProtoWriter& packet);
  void write_event(std::uint64_t at_fs, const ProtoWriter& event);

  AtomicFile file_;
  std::vector<Lane> lanes_;
  std::unordered_map<std::string, LaneId> lane_ids_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, NameId> name_ids_;
  std::vector<Slice> slices_;
  std::vector<Counter> counters_;
  Uuid next_uuid_ = 1;
};

}  // namespace xpusim::trace
