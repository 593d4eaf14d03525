#pragma once

#include <cstdint>

#include "sim/exec/frame.h"

namespace xpusim::exec {

/// Read-modify-write operations, numbered as Triton numbers them for tt.atomic_rmw; the last two
/// are those that only descriptors have.
enum class Rmw : std::int64_t {
  kAnd = 1,
  kOr,
  kXor,
  kAdd,
  kAddFloat,
  kMax,
  kMin,
  kMaxUnsigned,
  kMinUnsigned,
  kExchange,
  kIncrement,  ///< old >= value ? 0 : old + 1, unsigned
  kDecrement,  ///< old == 0 or old > value ? value : old - 1, unsigned
};

/// Combines `value` into what the pointers point to, element after element. `old` may be null;
/// else it takes what was there.
void read_modify_write(Frame& f, Rmw op, const Tile& pointers, const Tile* mask, const Tile& value,
                       Tile* old);

}  // namespace xpusim::exec
