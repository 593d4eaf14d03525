#pragma once

// Loop nests over tiles: what a chunk of the nest's registers costs in vector instructions.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/tpu/compiler/placement.h"
#include "models/tpu/compiler/scheduler.h"

namespace xpusim::tpu {

/// Something that a nest leaves behind: a store of the kernel, the partial results of a reduction,
/// or a value saved for other nests.
struct Root {
  enum class Kind : std::uint8_t { kStore, kReduce, kSave } kind = Kind::kStore;
  const TileOp* op = nullptr;
  ValueId value = kNoValue;  ///< kSave
};

/// Roots that share a loop: one segment, one phase, one grid, one direction of reduction.
struct Nest {
  std::int32_t segment = 0, phase = 0;
  VregGrid grid;
  TileOp::Axis axis = TileOp::Axis::kColumns;
  bool reduces = false;            ///< it has a direction
  const TileOp* matmul = nullptr;  ///< the product whose results it takes as they come
  std::vector<Root> roots;
};

/// The nests of a segment, in an order in which they can run.
std::vector<Nest> form_nests(const Placement& placement, const TileFunction& function,
                             std::int32_t segment);

/// A chunk of a nest's grid and the loops around it.
struct Chunk {
  std::int64_t row = 0, col = 0;  ///< of its first register, in the first trip
  std::int64_t rows = 1, cols = 1;
  std::int64_t row_step = 0, col_step = 0;    ///< 0: no loop in that direction
  std::int64_t row_index = 0, col_index = 0;  ///< which chunk it is in the first trip
  std::int64_t col_index_step = 1;            ///< and how many chunks a trip goes on by
};

/// What a chunk's code needs to know around it.
struct NestContext {
  const TileFunction& function;
  std::vector<Definition>& definitions;
  const Nest& nest;
  std::int64_t partial_rows = 1, partial_cols = 1;  ///< chunks of the nest in each direction
  bool wide_tiles = false;  ///< a register of 16-bit elements holds 16 rows, not 8
};

/// Draws up the instructions of one chunk. Where a register of 16-bit elements holds 16 rows, two
/// neighbouring rows of the grid share one; not in chunks of an odd number of rows, such as the
/// results of a product, which come 8 rows at a time.
class ChunkCode {
 public:
  ChunkCode(const NestContext& context, const Chunk& chunk, DraftBlock& block)
      : ctx_(context),
        chunk_(chunk),
        block_(block),
        in_pairs_(context.wide_tiles && chunk.rows % 2 == 0 && chunk.row % 2 == 0 &&
                  chunk.row_step % 2 == 0) {}
  /// All of the chunk.
  void build();
  /// The value's register at a place of the chunk, which other code made.
  void provide(ValueId v, std::int64_t r, std::int64_t c, Virtual made);
  /// The value's register at a place of the chunk; kNoVirtual for a uniform value.
  Virtual instance(ValueId v, std::int64_t r, std::int64_t c);
  /// Whether loads of the value bring two neighbouring registers at once: those of 16-bit tiles,
  /// half a register each, straight from a buffer of the kernel.
  bool loads_pairs(ValueId v) const;
  /// Registers of what was computed so far are not used again.
  void forget() { instances_.clear(); }

 private:
  using Point = std::pair<std::int64_t, std::int64_t>;

  static std::uint64_t key(ValueId v, std::int64_t r, std::int64_t c);
  Virtual make(ValueId v, const Definition& d, std::int64_t r, std::int64_t c);
  Virtual load(const TileOp& op, std::int64_t r, std::int64_t c);
  Virtual compute(const TileOp& op, std::int64_t r, std::int64_t c);
  std::pair<std::int64_t, std::int64_t> transposed_place(const TileOp& op, std::int64_t r,
                                                         std::int64_t c) const;
  Virtual finish_reduction(const Definition& d, std::int64_t r, std::int64_t c);
  Virtual fold_sublanes(const TileOp& op, Virtual v);
  void store(const TileOp& op, std::int64_t r, std::int64_t c);
  void save(const Root& root, std::int64_t r, std::int64_t c);
  void accumulate(std::size_t root, std::int64_t r, std::int64_t c);
  void store_partials();
  bool is_paired(ValueId v) const;
  Virtual operand(const TileOp& op, std::size_t k, std::int64_t r, std::int64_t c);
  bool at_edge(const TileOp& op, std::int64_t r, std::int64_t c) const;
  Virtual combine(std::vector<Virtual> values, const TileOp& op);

  Virtual emit(Opcode op, Element element, std::uint32_t line, Virtual a, Virtual b = kNoVirtual,
               Virtual c = kNoVirtual);
  Virtual emit_load(const Address& address, std::uint32_t line);
  void emit_store(const Address& address, Virtual v, bool masked, std::uint32_t line);
  Address address(std::uint16_t buffer, std::int64_t base, std::int64_t row_pitch,
                  std::int64_t col_pitch, std::int64_t r, std::int64_t c) const;
  Address partial_address(std::uint16_t buffer, TileOp::Axis axis, std::int64_t kept) const;
  const TileValue& value(ValueId v) const {
    return ctx_.function.values[static_cast<std::size_t>(v)];
  }

  const NestContext& ctx_;
  Chunk chunk_;
  DraftBlock& block_;
  bool in_pairs_;  ///< two neighbouring rows of 16-bit tiles are one register
  std::unordered_map<std::uint64_t, Virtual> instances_;
  /// [root][kept coordinate]: running partial results, several for each so that they overlap.
  std::vector<std::vector<std::vector<Virtual>>> running_;
  std::vector<std::vector<std::int64_t>> turn_;
};

}  // namespace xpusim::tpu
