#pragma once

// Integer, pointer and mask arithmetic on whole tiles. Each function keeps the compact form where
// the result has one and evaluates densely where not; both give the same elements. The result tile
// has its shape and dtype set by the caller. A kUnknown operand makes the result kUnknown.

#include <cstdint>
#include <span>

#include "sim/exec/tile.h"

namespace xpusim::exec {

enum class IntOp : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDivS,
  kDivU,
  kCeilDivS,
  kFloorDivS,
  kRemS,
  kRemU,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShrS,
  kShrU,
  kMinS,
  kMaxS,
  kMinU,
  kMaxU,
  kMulHighU,
};
/// Numbered as MLIR numbers the predicates of arith.cmpi.
enum class Predicate : std::uint8_t { kEq, kNe, kSlt, kSle, kSgt, kSge, kUlt, kUle, kUgt, kUge };

/// Integer arithmetic in the width of the result's dtype, wrapping. Division by zero gives what the
/// hardware gives: a quotient of all ones, the dividend as remainder.
void integer_binary(IntOp op, const Tile& a, const Tile& b, Tile& out);
std::int64_t integer_scalar(IntOp op, DType d, std::int64_t a, std::int64_t b);
/// The same on runs of values, in 64 bits: the caller cuts results to the dtype's width.
void integer_run(IntOp op, DType d, const std::int64_t* a, const std::int64_t* b,
                 std::int64_t count, std::int64_t* out);
void compare(Predicate p, const Tile& a, const Tile& b, Tile& out);
/// Extension (signed or not), truncation and casts between integers and index.
void convert_integer(const Tile& a, bool is_unsigned, Tile& out);
/// pointer + offset * element size.
void add_pointer(const Tile& pointer, const Tile& offset, std::int64_t element_size, Tile& out);

/// These move elements of any dtype.
void select(const Tile& condition, const Tile& a, const Tile& b, Tile& out);
void make_range(std::int64_t start, Tile& out, int dimension = 0);
void broadcast(const Tile& a, Tile& out);  ///< same rank, sizes 1 grow; or a scalar to any shape
void expand_dims(const Tile& a, int axis, Tile& out);
void reshape(const Tile& a, Tile& out);  ///< row-major order is kept
void transpose(const Tile& a, std::span<const std::int64_t> order, Tile& out);

}  // namespace xpusim::exec
