#include "sim/trace/sink.h"

#include <gtest/gtest.h>

#include "sim/trace/pftrace_reader.h"
#include "tests/temporary_folder.h"

namespace xpusim::trace {
namespace {

constexpr std::uint64_t kNs = 1'000'000;  // fs

using OpenSink = TemporaryFolder;

TEST_F(OpenSink, RefusesUnknownEndingsByName) {
  for (const auto& [name, message] : {std::pair{"a.kanata", "unknown kind of trace '.kanata'"},
                                      {"a.PFTRACE", "unknown kind of trace '.PFTRACE'"},
                                      {"trace", "a trace file needs an ending"}}) {
    const auto sink = open_sink(name);
    ASSERT_FALSE(sink) << name;
    EXPECT_EQ(sink.error().str(),
              std::string(name) + ": error: " + message + "; supported: .pftrace (Perfetto)\n");
  }
}

TEST_F(OpenSink, SaysAtOnceThatAFileCannotBeWritten) {
  const auto sink = open_sink("/nowhere/a.pftrace");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().str(),
            "/nowhere/a.pftrace: error: cannot write the file: No such file or directory\n");
}

TEST_F(OpenSink, LeavesNoFileUnlessFinished) {
  {
    auto sink = open_sink(path("a.pftrace"));
    ASSERT_TRUE(sink);
    (*sink)->lane("gpu");
    EXPECT_FALSE(std::filesystem::exists(path("a.pftrace")));
  }
  EXPECT_EQ(files(), 0u);
  auto sink = open_sink(path("a.pftrace"));
  ASSERT_TRUE((*sink)->finish());
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(std::filesystem::exists(path("a.pftrace")));
}

/// Emits into a sink and reads the file back.
class Pftrace : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    auto opened = open_sink(path("t.pftrace"));
    ASSERT_TRUE(opened);
    sink_ = std::move(*opened);
  }
  void slice(const char* lane, const char* name, std::uint64_t begin, std::uint64_t end) {
    sink_->slice(sink_->lane(lane), sink_->name(name), begin, end);
  }
  TraceRecord read_back() {
    const auto finished = sink_->finish();
    EXPECT_TRUE(finished) << finished.error().str();
    const auto trace = read_pftrace_file(path("t.pftrace"));
    EXPECT_TRUE(trace) << trace.error().str();
    return trace.value_or(TraceRecord{});
  }

  std::unique_ptr<Sink> sink_;
};

/// "name begin end depth" of each slice, times in fs.
std::vector<std::string> listed(const TraceRecord& trace, std::string_view path) {
  std::vector<std::string> out;
  const LaneRecord* lane = trace.find(path);
  if (lane == nullptr) return {"no such lane"};
  for (const SliceRecord& s : lane->slices) {
    out.push_back(s.name + " " + std::to_string(s.begin_fs) + " " + std::to_string(s.end_fs) + " " +
                  std::to_string(s.depth));
  }
  return out;
}

TEST_F(Pftrace, ReadsBackAsTheTreeOfUnitPaths) {
  sink_->lane("gpu.sm[3].sub[1].tensor");
  sink_->lane("gpu.sm[3].sub[0]");
  sink_->lane("gpu.l2");
  const TraceRecord trace = read_back();
  std::vector<std::string> paths;
  for (const LaneRecord& lane : trace.lanes) paths.push_back(lane.path);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"gpu", "gpu.sm[3]", "gpu.sm[3].sub[1]",
                                      "gpu.sm[3].sub[1].tensor", "gpu.sm[3].sub[0]", "gpu.l2"}));
}

TEST_F(Pftrace, InternsLanesAndNames) {
  EXPECT_EQ(sink_->lane("gpu.sm[0]"), sink_->lane("gpu.sm[0]"));
  EXPECT_NE(sink_->lane("gpu.sm[0]"), sink_->lane("gpu.sm[1]"));
  EXPECT_EQ(sink_->name("mma"), sink_->name("mma"));
  EXPECT_NE(sink_->name("mma"), sink_->name("ldgsts"));
}

TEST_F(Pftrace, KeepsFemtosecondsOfSlicesShorterThanANanosecond) {
  slice("sm", "a", 0, 569801);
  slice("sm", "b", 569801, 1139602);
  slice("sm", "c", 1139602, 1709403);
  EXPECT_EQ(
      listed(read_back(), "sm"),
      (std::vector<std::string>{"a 0 569801 0", "b 569801 1139602 0", "c 1139602 1709403 0"}));
}

TEST_F(Pftrace, NestsAParentThatIsKnownAfterItsChildren) {
  slice("sm", "inner", 0, 5 * kNs);
  slice("sm", "innermost", 1 * kNs, 5 * kNs);
  slice("sm", "second", 5 * kNs, 10 * kNs);
  slice("sm", "outer", 0, 10 * kNs);
  EXPECT_EQ(listed(read_back(), "sm"),
            (std::vector<std::string>{"outer 0 10000000 0", "inner 0 5000000 1",
                                      "innermost 1000000 5000000 2", "second 5000000 10000000 1"}));
}

TEST_F(Pftrace, KeepsOverlappingSlicesOfALaneApart) {
  slice("l2", "miss 1", 0, 10 * kNs);
  slice("l2", "miss 2", 5 * kNs, 15 * kNs);
  slice("l2", "miss 3", 7 * kNs, 20 * kNs);
  slice("l2", "miss 4", 10 * kNs, 12 * kNs);
  EXPECT_EQ(listed(read_back(), "l2"),
            (std::vector<std::string>{"miss 1 0 10000000 0", "miss 2 5000000 15000000 0",
                                      "miss 3 7000000 20000000 0", "miss 4 10000000 12000000 0"}));
}

TEST_F(Pftrace, KeepsSlicesWithoutDuration) {
  slice("sm", "before", 0, kNs);
  slice("sm", "point", kNs, kNs);
  slice("sm", "after", kNs, 2 * kNs);
  EXPECT_EQ(listed(read_back(), "sm"),
            (std::vector<std::string>{"before 0 1000000 0", "after 1000000 2000000 0",
                                      "point 1000000 1000000 1"}));
}

TEST_F(Pftrace, KeepsCountersBesideSlicesOfTheSameLane) {
  slice("l2", "miss", 0, 3 * kNs);
  const LaneId l2 = sink_->lane("l2");
  sink_->counter(l2, 2 * kNs + 7, -1.5);  // rounds down to the nanosecond
  sink_->counter(l2, 0, 1e300);
  const TraceRecord trace = read_back();
  const LaneRecord* lane = trace.find("l2");
  ASSERT_NE(lane, nullptr);
  EXPECT_EQ(lane->slices.size(), 1u);
  ASSERT_EQ(lane->counters.size(), 2u);
  EXPECT_EQ(lane->counters[0].at_fs, 0u);
  EXPECT_EQ(lane->counters[0].value, 1e300);
  EXPECT_EQ(lane->counters[1].at_fs, 2 * kNs);
  EXPECT_EQ(lane->counters[1].value, -1.5);
}

TEST_F(Pftrace, ReadsBackManyRandomSlicesAndLanes) {
  std::vector<std::vector<std::string>> expected(7);
  std::uint64_t state = 1;
  const auto next = [&](std::uint64_t below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % below;
  };
  std::vector<std::uint64_t> now(expected.size());
  for (int i = 0; i < 2000; ++i) {
    const std::size_t lane = next(expected.size());
    const std::uint64_t begin = now[lane] + next(3) * 400'000;
    const std::uint64_t end = begin + 1 + next(5'000'000);
    now[lane] = end;
    const std::string path = "gpu.sm[" + std::to_string(lane) + "]";
    const std::string name = "op" + std::to_string(next(20));
    slice(path.c_str(), name.c_str(), begin, end);
    expected[lane].push_back(name + " " + std::to_string(begin) + " " + std::to_string(end) + " 0");
  }
  const TraceRecord trace = read_back();
  for (std::size_t lane = 0; lane < expected.size(); ++lane) {
    EXPECT_EQ(listed(trace, "gpu.sm[" + std::to_string(lane) + "]"), expected[lane]);
  }
}

TEST_F(Pftrace, NamesTheSliceThatEndsBeforeItBegins) {
  slice("gpu.sm[3]", "mma", 7, 5);
  const auto finished = sink_->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().str(),
            "error: trace: slice 'mma' on gpu.sm[3] ends at 5 fs, before it begins at 7 fs\n");
}

TEST_F(Pftrace, WritesTheSameBytesForTheSameEvents) {
  std::string bytes[2];
  for (std::string& b : bytes) {
    auto sink = open_sink(path("same.pftrace"));
    ASSERT_TRUE(sink);
    for (const char* lane : {"b", "a.x", "c"}) {
      (*sink)->slice((*sink)->lane(lane), (*sink)->name(lane), 5, 9);
      (*sink)->counter((*sink)->lane(lane), 5, 1);
    }
    ASSERT_TRUE((*sink)->finish());
    b = contents(path("same.pftrace"));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

/// The bytes of a small trace, against the format's own encoding, worked out by hand.
TEST_F(Pftrace, IsEncodedAsPerfettoDefinesIt) {
  slice("sm", "mma", 2 * kNs, 3 * kNs);
  ASSERT_TRUE(sink_->finish());
  const std::string bytes = contents(path("t.pftrace"));
  using namespace std::string_literals;  // they may hold a zero byte
  const std::string names =
      "\x0a\x2e"                     // Trace.packet, 46 bytes
      "\x68\x01"                     // sequence_flags (13): state cleared
      "\x62\x28"                     // interned_data (12), 40 bytes
      "\x12\x07\x08\x01\x12\x03mma"  // event_names (2): iid 1, name
      "\x1a\x0c\x08\x01\x12\x08"
      "begin_fs"  // debug_annotation_names (3)
      "\x1a\x0f\x08\x02\x12\x0b"
      "duration_fs"
      "\x50\x01"s;  // trusted_packet_sequence_id (10) 1
  const std::string track =
      "\x0a\x0f"
      "\xe2\x03\x0a"        // track_descriptor (60), 10 bytes
      "\x08\x01\x12\x02sm"  // uuid 1, name
      "\x58\x03\x60\x00"    // child_ordering (11) explicit, sibling rank (12) 0
      "\x50\x01"s;
  const std::string begin =
      "\x0a\x1e"
      "\x40\x02\x68\x02"                  // timestamp (8) 2 ns, needs state
      "\x5a\x16"                          // track_event (11), 22 bytes
      "\x48\x01\x58\x01\x50\x01"          // type (9) begin, track_uuid (11) 1, name_iid (10) 1
      "\x22\x06\x08\x01\x18\x80\x89\x7a"  // debug_annotations (4): begin_fs 2000000
      "\x22\x06\x08\x02\x18\xc0\x84\x3d"  // duration_fs 1000000
      "\x50\x01"s;
  const std::string end =
      "\x0a\x0c"
      "\x40\x03\x68\x02"
      "\x5a\x04\x48\x02\x58\x01"
      "\x50\x01"s;
  EXPECT_EQ(bytes, names + track + begin + end);
}

}  // namespace
}  // namespace xpusim::trace
