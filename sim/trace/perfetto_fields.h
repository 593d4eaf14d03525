#pragma once

// The part of Perfetto's trace format that is written and read here. Field numbers were checked
// against the public definitions (https://github.com/google/perfetto, protos/perfetto/trace/:
// trace.proto, trace_packet.proto, track_event/{track_event,track_descriptor,counter_descriptor,
// debug_annotation}.proto, interned_data/interned_data.proto). Perfetto never renumbers a field.

#include <cstdint>

namespace xpusim::trace::perfetto {

/// Perfetto's timestamps are nanoseconds, ours femtoseconds.
inline constexpr std::uint64_t kFemtosecondsPerNanosecond = 1'000'000;

namespace trace_file {
inline constexpr std::uint32_t kPacket = 1;
}
namespace packet {
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequenceId = 10;  ///< trusted_packet_sequence_id
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kTrackDescriptor = 60;
}  // namespace packet
namespace sequence_flags {
inline constexpr std::uint64_t kStateCleared = 1;  ///< SEQ_INCREMENTAL_STATE_CLEARED
inline constexpr std::uint64_t kNeedsState = 2;    ///< SEQ_NEEDS_INCREMENTAL_STATE
}  // namespace sequence_flags
namespace track {
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kParentUuid = 5;
inline constexpr std::uint32_t kCounter = 8;
inline constexpr std::uint32_t kChildOrdering = 11;
inline constexpr std::uint32_t kSiblingOrderRank = 12;
inline constexpr std::uint64_t kExplicitOrdering = 3;  ///< by sibling_order_rank
}  // namespace track
namespace interned {
inline constexpr std::uint32_t kEventNames = 2;
inline constexpr std::uint32_t kAnnotationNames = 3;
inline constexpr std::uint32_t kIid = 1;  ///< of EventName and DebugAnnotationName
inline constexpr std::uint32_t kName = 2;
}  // namespace interned
namespace event {
inline constexpr std::uint32_t kAnnotations = 4;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameIid = 10;
inline constexpr std::uint32_t kTrackUuid = 11;
inline constexpr std::uint32_t kDoubleCounterValue = 44;
inline constexpr std::uint64_t kSliceBegin = 1, kSliceEnd = 2, kCounter = 4;  ///< values of kType
}  // namespace event
namespace annotation {
inline constexpr std::uint32_t kNameIid = 1;
inline constexpr std::uint32_t kUnsigned = 3;
}  // namespace annotation

/// Our own annotations on the begin of a slice: its exact times, which nanoseconds cannot hold.
inline constexpr const char* kBeginAnnotation = "begin_fs";
inline constexpr const char* kDurationAnnotation = "duration_fs";

}  // namespace xpusim::trace::perfetto
