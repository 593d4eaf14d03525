#pragma once

// What both front ends make of a kernel: operations on tiles of vector registers, with the grid of
// registers that each covers. Broadcasts are views: a value that is the same in every row or column
// has extent 1 there.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/tpu/program/program.h"

namespace xpusim::tpu {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

/// How many vector registers a tile has along its rows (with all leading dimensions) and columns.
struct VregGrid {
  std::int64_t rows = 1, cols = 1;
  bool operator==(const VregGrid&) const = default;
  std::int64_t count() const { return rows * cols; }
};
/// The grid of an element-wise result: the larger extent in each dimension.
VregGrid join(const VregGrid& a, const VregGrid& b);

/// A value of the kernel as the vector core holds it.
struct TileValue {
  enum class Kind : std::uint8_t {
    kUniform,  ///< a scalar or a splat of one: an operand of vector instructions, at no cost
    kTile,     ///< vector registers
    kMask,     ///< mask registers
  } kind = Kind::kUniform;
  VregGrid grid;
  Element element = Element::kNone;
};

struct TileRegion;

struct TileOp {
  enum class Kind : std::uint8_t {
    kLoad,      ///< VMEM to registers
    kStore,     ///< operand 0 to VMEM, over `grid`
    kCompute,   ///< one instruction a register of `grid`
    kReduce,    ///< operand 0, over `grid`, along `axis`
    kMatmul,    ///< operand 0 times operand 1 in the matrix units; `grid` is the result's
    kScalar,    ///< one scalar instruction
    kFor,       ///< regions[0] `trips` times, or as often as the step's execution decided
    kIf,        ///< regions[0] or regions[1], as the step's execution decided
    kStartDma,  ///< a DMA of the kernel's own (`site` 0), or those of stream `site` - 1
    kWaitDma,   ///< a wait for one
    kSync,      ///< a signal to another chip, or a look at a semaphore that others signal
    kWaitSync,  ///< a wait for signals
  } kind = Kind::kCompute;
  enum class Axis : std::uint8_t { kColumns, kRows, kBoth } axis = Axis::kColumns;

  Opcode opcode = Opcode::kVMove;  ///< kCompute, kScalar; kReduce: what combines two registers
  Element element = Element::kNone;
  std::array<ValueId, 3> operands = {kNoValue, kNoValue, kNoValue};
  ValueId result = kNoValue;
  VregGrid grid;             ///< kCompute: of the result; kStore, kReduce: what it iterates over
  bool ragged_rows = false;  ///< the last row of registers is partly masked
  bool ragged_cols = false;  ///< ... or the last column

  std::uint16_t buffer = kNoBuffer;  ///< kLoad, kStore
  std::int64_t pitch = 0;            ///< registers from one row of the buffer to the next
  std::int64_t origin = 0;           ///< register of the buffer at which the tile begins
  bool unaligned = false;     ///< rows do not begin at a register: two loads and a select each
  bool spread_lanes = false;  ///< a column of the buffer that is spread over all lanes

  bool transposed = false;    ///< kMatmul: operand 1 is [N, K]
  std::int64_t batches = 1;   ///< kMatmul: products of their own, slabs of rows of all three
  std::int64_t passes = 1;    ///< kMatmul: bf16 products that make one of f32: 1, 3 or 6
  bool ragged_depth = false;  ///< kMatmul: the last registers along K are partly masked

  std::int64_t trips = -1;  ///< kFor: -1 as `site` says
  std::uint32_t site = 0;   ///< kFor, kIf; kStartDma, kWaitDma
  std::int32_t ahead = 0;   ///< kStartDma: how many of a stream may be under way or unread
  std::vector<TileRegion> regions;
  std::uint32_t line = 0;  ///< into Program::lines
};

struct TileRegion {
  std::vector<TileOp> ops;
};

/// A kernel body over tiles.
struct TileFunction {
  std::vector<TileValue> values;
  TileRegion body;

  ValueId add(TileValue v) {
    values.push_back(v);
    return static_cast<ValueId>(values.size()) - 1;
  }
};

/// The registers that rows x cols elements of a type take: (8,128) tiles for 32- and 16-bit
/// elements (a 16-bit tile fills half a register on generations before v7, which is why
/// VMEM-resident bf16 loops run at two cycles a packed register), (32,128) for 8-bit ones.
VregGrid vreg_grid(std::int64_t rows, std::int64_t cols, Element element);
/// Bytes of VMEM of one tile of a register: 4 KiB, or 2 KiB of 16-bit elements.
std::int64_t tile_bytes(Element element);

}  // namespace xpusim::tpu
