#include "models/tpu/params.h"

#include <fmt/format.h>

namespace xpusim::tpu {

void check(const CoreParams& core, std::string_view path, Diagnostics& problems) {
  if (core.rows_16bit == kSublanes || core.wide_tiles()) return;
  problems.error({}, fmt::format("{}.rows_16bit: a tile of 16-bit elements has {} rows or {}, not "
                                 "{}",
                                 path, kSublanes, 2 * kSublanes, core.rows_16bit));
}

std::int64_t result_latency(const CoreParams& core, Opcode op) {
  const LatencyParams& latency = core.latency;
  if (op == Opcode::kSLoad) return latency.scalar_load;
  switch (info(op).slot) {
    case Slot::kScalar:
      return latency.scalar;
    case Slot::kVectorAlu:
      return latency.vector_alu;
    case Slot::kVectorLoad:
      return latency.vector_load;
    case Slot::kEup:
      return latency.eup;
    case Slot::kXlu:
      return latency.xlu;
    case Slot::kMatrixPop:
      return core.mxu.pop;
    default:
      return 1;
  }
}

std::int64_t issue_interval(const LatencyParams& latency, Opcode op) {
  switch (info(op).slot) {
    case Slot::kEup:
      return latency.eup_interval;
    case Slot::kXlu:
      return latency.xlu_interval;
    default:
      return 1;
  }
}

std::int64_t slot_count(const SlotParams& slots, Slot slot) {
  switch (slot) {
    case Slot::kScalar:
      return slots.scalar;
    case Slot::kVectorAlu:
      return slots.vector_alu;
    case Slot::kVectorLoad:
      return slots.vector_load;
    case Slot::kVectorStore:
      return slots.vector_store;
    case Slot::kEup:
      return slots.eup;
    case Slot::kXlu:
      return slots.xlu;
    case Slot::kMatrix:
      return slots.matrix;
    case Slot::kMatrixPop:
      return slots.matrix_pop;
    default:
      return slots.misc;
  }
}

}  // namespace xpusim::tpu
