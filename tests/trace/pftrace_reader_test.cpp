#include "sim/trace/pftrace_reader.h"

#include <gtest/gtest.h>

#include "sim/trace/perfetto_fields.h"
#include "sim/trace/protobuf.h"
#include "sim/trace/sink.h"
#include "tests/temporary_folder.h"

namespace xpusim::trace {
namespace {

namespace pf = perfetto;

/// Builds a trace packet by packet.
class Builder {
 public:
  Builder& named(std::uint64_t iid, std::string_view text) {
    ProtoWriter entry, data, packet;
    entry.varint(pf::interned::kIid, iid);
    entry.bytes(pf::interned::kName, text);
    data.message(pf::interned::kEventNames, entry);
    packet.message(pf::packet::kInternedData, data);
    return add(packet);
  }
  Builder& track(std::uint64_t uuid, std::string_view name, std::uint64_t parent = 0,
                 bool counter = false) {
    ProtoWriter track, packet;
    track.varint(pf::track::kUuid, uuid);
    track.bytes(pf::track::kName, name);
    if (parent != 0) track.varint(pf::track::kParentUuid, parent);
    if (counter) track.bytes(pf::track::kCounter, "");
    packet.message(pf::packet::kTrackDescriptor, track);
    return add(packet);
  }
  Builder& event(std::uint64_t ns, std::uint64_t type, std::uint64_t uuid, std::uint64_t name = 0) {
    ProtoWriter event, packet;
    event.varint(pf::event::kType, type);
    event.varint(pf::event::kTrackUuid, uuid);
    if (name != 0) event.varint(pf::event::kNameIid, name);
    packet.varint(pf::packet::kTimestamp, ns);
    packet.message(pf::packet::kTrackEvent, event);
    return add(packet);
  }
  Builder& begin(std::uint64_t ns, std::uint64_t uuid, std::uint64_t name) {
    return event(ns, pf::event::kSliceBegin, uuid, name);
  }
  Builder& end(std::uint64_t ns, std::uint64_t uuid) {
    return event(ns, pf::event::kSliceEnd, uuid);
  }
  Builder& raw(std::string_view bytes) {
    file_ += bytes;
    return *this;
  }
  const std::string& str() const { return file_; }

 private:
  Builder& add(const ProtoWriter& packet) {
    ProtoWriter field;
    field.message(pf::trace_file::kPacket, packet);
    file_ += field.str();
    return *this;
  }
  std::string file_;
};

TEST(ReadPftrace, TakesAnEmptyFileForAnEmptyTrace) {
  const auto trace = read_pftrace("", "t");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->lanes.empty());
}

TEST(ReadPftrace, TakesWholeNanosecondsFromATraceWithoutOurAnnotations) {
  const Builder b = Builder().named(4, "op").track(9, "cpu").begin(2, 9, 4).end(5, 9);
  const auto trace = read_pftrace(b.str(), "t");
  ASSERT_TRUE(trace) << trace.error().str();
  const LaneRecord* lane = trace->find("cpu");
  ASSERT_NE(lane, nullptr);
  ASSERT_EQ(lane->slices.size(), 1u);
  EXPECT_EQ(lane->slices[0].name, "op");
  EXPECT_EQ(lane->slices[0].begin_fs, 2'000'000u);
  EXPECT_EQ(lane->slices[0].end_fs, 5'000'000u);
}

TEST(ReadPftrace, SkipsWhatItDoesNotKnow) {
  ProtoWriter unknown_file_field, unknown_packet_field, packet;
  unknown_file_field.bytes(77, "anything");
  unknown_packet_field.real(900, 1.5);
  packet.message(pf::trace_file::kPacket, unknown_packet_field);
  const Builder b = Builder().raw(unknown_file_field.str()).raw(packet.str()).track(1, "a");
  const auto trace = read_pftrace(b.str(), "t");
  ASSERT_TRUE(trace) << trace.error().str();
  EXPECT_EQ(trace->lanes.size(), 1u);
}

struct BadTrace {
  std::string bytes, message;
};

TEST(ReadPftrace, SaysWhatIsWrong) {
  // 12 bytes of name, 10 of track; each begin or counter track after that takes 12.
  const auto good = [] { return Builder().named(1, "op").track(1, "a"); };
  const BadTrace cases[] = {
      {"\xff", "the trace is cut off or is not a Perfetto trace (packet at byte 0)"},
      {"hello world", "the trace is cut off or is not a Perfetto trace (packet at byte 2)"},
      {std::string("\x0a\x02\x08", 3),
       "the trace is cut off or is not a Perfetto trace (packet at byte 0)"},
      {std::string("\x0a\x01\x08", 3), "a broken message (packet at byte 0)"},
      {good().end(1, 1).str(), "an end without a begin (packet at byte 22)"},
      {good().begin(1, 1, 1).str(), "a slice without an end (packet at byte 34)"},
      {good().begin(1, 2, 1).str(),
       "an event on a track that is not described (packet at byte 22)"},
      {good().begin(1, 1, 2).str(), "a slice whose name is not known (packet at byte 22)"},
      {good().begin(2, 1, 1).end(1, 1).str(), "time runs backwards (packet at byte 34)"},
      {good().begin(~0ull, 1, 1).str(), "a time that is too late (packet at byte 22)"},
      {good().track(1, "b").str(), "a track described twice (packet at byte 22)"},
      {good().track(0, "b").str(), "a track without a uuid (packet at byte 22)"},
      {good().track(2, "b", 3).str(),
       "a track below one that is not described (packet at byte 22)"},
      {good().track(2, "b", 2).str(),
       "a track below one that is not described (packet at byte 22)"},
      {good().track(2, "b", 0, true).begin(1, 2, 1).str(),
       "a counter on a slice track, or a slice on a counter track (packet at byte 34)"},
      {good().track(2, "b", 0, true).event(1, pf::event::kCounter, 2).str(),
       "a counter without a value (packet at byte 34)"},
      {good().track(2, std::string(5000, 'x')).str(),
       "a track path that is too long (packet at byte 22)"},
  };
  for (const BadTrace& bad : cases) {
    const auto trace = read_pftrace(bad.bytes, "t");
    ASSERT_FALSE(trace) << bad.message;
    EXPECT_EQ(trace.error().str(), "t: error: " + bad.message + "\n");
  }
}

TEST(ReadPftrace, SaysWhichFileCannotBeOpened) {
  EXPECT_EQ(read_pftrace_file("/nowhere/t.pftrace").error().str(),
            "/nowhere/t.pftrace: error: cannot open the file\n");
  EXPECT_EQ(read_pftrace_file("/").error().str(), "/: error: this is a folder\n");
}

class DamagedTrace : public TemporaryFolder {
 protected:
  std::string small_trace() {
    auto sink = open_sink(path("t.pftrace"));
    for (std::uint64_t i = 0; i < 5; ++i) {
      (*sink)->slice((*sink)->lane("gpu.sm"), (*sink)->name("op"), i * 700'000,
                     i * 700'000 + 500'000);
      (*sink)->counter((*sink)->lane("gpu.l2"), i * 1'000'000, 0.5);
    }
    EXPECT_TRUE((*sink)->finish());
    return contents(path("t.pftrace"));
  }
};

TEST_F(DamagedTrace, IsRefusedOrShorterWhereverItIsCutOff) {
  const std::string bytes = small_trace();
  const auto whole = read_pftrace(bytes, "t");
  ASSERT_TRUE(whole);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto trace = read_pftrace(std::string_view(bytes).substr(0, size), "t");
    const LaneRecord* lane = trace ? trace->find("gpu.sm") : nullptr;
    if (lane != nullptr) {
      EXPECT_LE(lane->slices.size(), 5u) << size;
    }
  }
}

TEST_F(DamagedTrace, NeverCrashesTheReaderWhateverByteIsWrong) {
  const std::string bytes = small_trace();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ change);
      const auto trace = read_pftrace(damaged, "t");
      if (!trace) {
        EXPECT_EQ(trace.error().list().size(), 1u);
      }
    }
  }
}

TEST(ProtoReader, RefusesVarintsOfMoreThan64Bits) {
  std::string longest("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  ProtoReader good(longest);
  const auto field = good.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, ~0ull);
  longest.back() = 2;
  ProtoReader bad(longest);
  EXPECT_FALSE(bad.next());
  EXPECT_FALSE(bad.ok());
}

TEST(ProtoReader, RefusesFieldZeroAndUnknownWireTypes) {
  for (const char* bytes : {"\x01", "\x0b", "\x0c", "\x0e", "\x0f"}) {
    ProtoReader reader{bytes};
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.ok());
  }
}

}  // namespace
}  // namespace xpusim::trace
