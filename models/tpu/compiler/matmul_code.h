#pragma once

// A matrix product in the instructions of the matrix units.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/tpu/compiler/nest.h"
#include "models/tpu/core/matrix_unit.h"
#include "models/tpu/params.h"

namespace xpusim::tpu {

/// How a product is dealt out to the matrix units. The weights (operand 1) are cut in tiles of the
/// array's size. The units hold `depth_units` tiles along K of `column_units` neighbouring columns
/// of tiles: one pass. All rows go over a pass's weights before the next pass; or as many as the
/// units keep the sums of, where they accumulate: then they take neighbouring columns first.
struct MatmulPlan {
  std::int64_t array_registers = 1;  ///< a tile's width in registers
  std::int64_t depth_tiles = 1;      ///< along K, counted anew for each pair of an f32's parts
  std::int64_t depth_units = 1, column_units = 1;
  std::int64_t groups = 1;       ///< registers of operand 0 along its rows, of one batch
  std::int64_t group_rows = 1;   ///< rows of result registers that one of them gives
  std::int64_t pass_groups = 1;  ///< of them that go through in one pass
  bool accumulates = false;      ///< sums over K stay in the units

  std::int64_t passes(std::int64_t columns) const;  ///< of so many result registers a row, a batch
  bool sums_in_vmem() const { return depth_tiles > depth_units && !accumulates; }
};
/// Why a matrix unit does not multiply rows of `a` with weights of `b`, or "".
std::string refuse_elements(const MatrixParams& mxu, Element a, Element b);
/// Why a matrix unit does not take this factor, whose registers should be those of `whole`, or "".
std::string refuse_registers(const TileValue& factor, const VregGrid& whole);
MatmulPlan plan_matmul(const TileFunction& function, const TileOp& op, const MatrixParams& mxu);

/// Draws up the code of some columns of a product, fully unrolled, with what its nest does with the
/// results. While the rows of one pass go through, the weights of the next are pushed; results are
/// popped as many rows later as the array's depth hides. Sums of the units are added by the vector
/// ALU; those of a column's earlier passes wait in VMEM.
class MatmulCode {
 public:
  /// `columns`: what part of the result; `sums`: a buffer for sums, or kNoBuffer.
  MatmulCode(const NestContext& context, const CoreParams& core, const MatmulPlan& plan,
             const Chunk& columns, std::uint16_t sums, DraftBlock& block);
  void build();

 private:
  /// What one unit holds in a pass.
  struct Tile {
    std::uint8_t unit = 0;
    std::int64_t column = 0, depth = 0;  ///< tiles
    std::int64_t lhs_part = 0, rhs_part = 0;
  };
  struct Pass {
    std::vector<Tile> tiles;  ///< those of a column together
    std::int64_t batch = 0, first_group = 0, groups = 0;
    std::uint8_t set = 0;
    bool first = false, last = false;  ///< of its columns
  };
  /// Rows of weights, as wide as the array, on their way to a unit.
  struct Push {
    const Tile* tile;
    std::int64_t row, column;  ///< of operand 1's registers: the first of them
    bool edge;
  };
  using Sources = std::array<Virtual, 3>;
  /// Rows that went in and whose results come later.
  struct Step {
    const Pass* pass;
    std::int64_t group;
    std::size_t number;  ///< of all rows that went in
  };

  void make_passes();
  void make_passes_of(Pass rows);
  std::vector<Push> pushes_of(const Pass& pass) const;
  std::size_t steps_in_flight(const Pass& pass, std::size_t pushes) const;
  void push(const Pass& pass, const Push& p);
  void rows(const Pass& pass, std::int64_t group);
  void results(const Step& step);
  void column_results(const Step& step, std::size_t first, std::size_t count);
  Sources sources(ChunkCode& code, std::size_t operand, std::int64_t r, std::int64_t c,
                  std::int64_t part, bool edge);
  Virtual part(ChunkCode& code, ValueId v, std::int64_t r, std::int64_t c, std::int64_t part);
  Virtual sum(std::vector<Virtual> values);
  Virtual emit(Opcode op, Element element, Virtual a = kNoVirtual, Virtual b = kNoVirtual);
  Draft& matrix(Opcode op, Element element, std::uint8_t unit);
  Address sum_address(std::int64_t r, std::int64_t c) const;
  Element element(std::size_t operand) const;
  /// An operand's registers, of one batch.
  VregGrid grid(std::size_t operand) const;

  const NestContext& ctx_;
  const CoreParams& core_;
  const TileOp& op_;
  MatmulPlan plan_;
  Chunk columns_;
  std::uint16_t sums_;
  DraftBlock& block_;
  MatrixUnit time_;
  ChunkCode lhs_, rhs_;
  std::vector<Pass> passes_;
};

}  // namespace xpusim::tpu
