#pragma once

// Where the values of a tile function live: which loop nest computes each, and which ones must go
// through VMEM because another nest needs them.

#include <cstdint>
#include <vector>

#include "models/tpu/compiler/tile_ir.h"

namespace xpusim::tpu {

/// What is known of one value. A *segment* is a stretch of ops without control flow; within it ops
/// of one *phase* can share a loop nest: a reduction's result begins the next phase, since all of
/// its operand comes first.
struct Definition {
  const TileOp* op = nullptr;  ///< null: a uniform value from outside
  std::int32_t segment = -1;
  std::int32_t phase = 0;
  std::size_t position = 0;                  ///< in its segment
  bool saved = false;                        ///< kept in a spill buffer for other nests
  std::uint16_t buffer = kNoBuffer;          ///< that buffer, once its nest is lowered
  std::uint16_t partial_buffer = kNoBuffer;  ///< a reduction's partial results ...
  std::int64_t partials = 0;                 ///< ... and how many each of its registers has
};

/// One op with its place.
struct PlacedOp {
  const TileOp* op = nullptr;
  std::int32_t phase = 0;
};

struct Segment {
  std::vector<PlacedOp> ops;
};

/// The segments of a region in order; `control[i]` follows segment i (null after the last).
struct PlacedRegion {
  std::vector<std::int32_t> segments;
  std::vector<const TileOp*> control;
  std::vector<std::vector<PlacedRegion>> inner;  ///< regions of control[i]
};

struct Placement {
  std::vector<Definition> definitions;  ///< by value
  std::vector<Segment> segments;
  PlacedRegion body;
};

Placement place(const TileFunction& function, std::size_t buffers);

}  // namespace xpusim::tpu
