#include "models/tpu/compiler/matmul_code.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

namespace xpusim::tpu {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The parts of both operands whose products make an f32 product: the largest first.
constexpr std::array<std::pair<int, int>, 6> kParts = {
    {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {2, 0}}};

const TileValue& operand(const TileFunction& function, const TileOp& op, std::size_t k) {
  return function.values[static_cast<std::size_t>(op.operands[k])];
}

/// Operand 0 does not move along the result's columns; operand 1 moves with them, in its own
/// registers.
Chunk lhs_chunk() { return Chunk{}; }
Chunk rhs_chunk(const TileOp& op, const Chunk& columns, Element weights) {
  const std::int64_t per_column = kLanes / register_rows(weights);
  Chunk c;
  if (op.transposed) {
    c.row = columns.col * per_column;
    c.row_step = columns.col_step * per_column;
  } else {
    c.col = columns.col;
    c.col_step = columns.col_step;
  }
  return c;
}

}  // namespace

std::int64_t MatmulPlan::passes(std::int64_t columns) const {
  return ceil_div(ceil_div(columns, array_registers), column_units) *
         ceil_div(depth_tiles, depth_units);
}

std::string refuse_elements(const MatrixParams& mxu, Element a, Element b) {
  const auto either = [&](Element e) { return a == e || b == e; };
  if (either(Element::kI8) && mxu.rows_per_cycle_8bit == 0) {
    return "the matrix unit of this TPU has no 8-bit integers";
  }
  if (either(Element::kF8) && mxu.rows_per_cycle_f8 == 0) {
    return "the matrix unit of this TPU has no 8-bit floats";
  }
  return "";
}

std::string refuse_registers(const TileValue& factor, const VregGrid& whole) {
  if (factor.grid == whole) return "";
  return "factors whose registers repeat (broadcasts) or hold more rows (8-bit numbers made wider) "
         "are not modelled";
}

MatmulPlan plan_matmul(const TileFunction& function, const TileOp& op, const MatrixParams& mxu) {
  const TileValue& lhs = operand(function, op, 0);
  MatmulPlan p;
  p.array_registers = std::max<std::int64_t>(1, mxu.size / kLanes);
  p.depth_tiles = ceil_div(lhs.grid.cols, p.array_registers) * op.passes;
  p.groups = p.pass_groups = lhs.grid.rows / op.batches;
  p.group_rows = register_rows(lhs.element) / kSublanes;
  p.accumulates = mxu.accumulates && p.depth_tiles > 1;
  const std::int64_t column_tiles = ceil_div(op.grid.cols, p.array_registers);
  if (p.accumulates) {
    p.column_units = std::min(mxu.count, column_tiles);
    p.depth_units = std::min(mxu.count / p.column_units, p.depth_tiles);
    p.pass_groups =
        std::clamp<std::int64_t>(mxu.results / (p.group_rows * p.array_registers), 1, p.groups);
  } else {
    p.depth_units = std::min(mxu.count, p.depth_tiles);
    p.column_units = std::min(mxu.count / p.depth_units, column_tiles);
  }
  return p;
}

MatmulCode::MatmulCode(const NestContext& context, const CoreParams& core, const MatmulPlan& plan,
                       const Chunk& columns, std::uint16_t sums, DraftBlock& block)
    : ctx_(context),
      core_(core),
      op_(*context.nest.matmul),
      plan_(plan),
      columns_(columns),
      sums_(sums),
      block_(block),
      time_(core.mxu),
      lhs_(context, lhs_chunk(), block),
      rhs_(context, rhs_chunk(op_, columns, element(1)), block) {
  make_passes();
}

Element MatmulCode::element(std::size_t k) const { return operand(ctx_.function, op_, k).element; }
VregGrid MatmulCode::grid(std::size_t k) const {
  VregGrid g = operand(ctx_.function, op_, k).grid;
  g.rows /= op_.batches;
  return g;
}

void MatmulCode::make_passes() {
  for (std::int64_t b = 0; b < op_.batches; ++b) {
    for (std::int64_t g = 0; g < plan_.groups; g += plan_.pass_groups) {
      Pass rows;
      rows.batch = b;
      rows.first_group = g;
      rows.groups = std::min(plan_.pass_groups, plan_.groups - g);
      make_passes_of(std::move(rows));
    }
  }
}

/// All passes of some rows.
void MatmulCode::make_passes_of(Pass rows) {
  const std::int64_t tiles = ceil_div(columns_.cols, plan_.array_registers);
  for (std::int64_t c = 0; c < tiles; c += plan_.column_units) {
    for (std::int64_t d = 0; d < plan_.depth_tiles; d += plan_.depth_units) {
      Pass pass = rows;
      pass.set = passes_.size() % 2;
      pass.first = d == 0;
      pass.last = d + plan_.depth_units >= plan_.depth_tiles;
      for (std::int64_t u = 0; u < plan_.depth_units * plan_.column_units; ++u) {
        const std::int64_t column = c + u / plan_.depth_units, depth = d + u % plan_.depth_units;
        if (column >= tiles || depth >= plan_.depth_tiles) continue;
        const auto [l, r] = kParts[static_cast<std::size_t>(depth % op_.passes)];
        pass.tiles.push_back({static_cast<std::uint8_t>(u), column, depth / op_.passes, l, r});
      }
      passes_.push_back(std::move(pass));
    }
  }
}

void MatmulCode::build() {
  std::vector<Push> next = pushes_of(passes_.front());
  for (const Push& p : next) push(passes_.front(), p);
  std::deque<Step> in_flight;
  std::size_t number = 0;
  for (std::size_t k = 0; k < passes_.size(); ++k) {
    next = k + 1 < passes_.size() ? pushes_of(passes_[k + 1]) : std::vector<Push>{};
    const Pass& pass = passes_[k];
    const std::size_t limit = steps_in_flight(pass, next.size());
    std::size_t pushed = 0;
    for (std::int64_t g = 0; g < pass.groups; ++g) {
      const std::size_t share =
          next.size() * static_cast<std::size_t>(g + 1) / static_cast<std::size_t>(pass.groups);
      rows(pass, pass.first_group + g);
      while (pushed < share) push(passes_[k + 1], next[pushed++]);
      if (!plan_.accumulates || pass.last) {
        in_flight.push_back({&pass, pass.first_group + g, number});
      }
      while (!in_flight.empty() && in_flight.front().number + limit <= number) {
        results(in_flight.front());
        in_flight.pop_front();
      }
      ++number;
    }
  }
  for (const Step& s : in_flight) results(s);
}

/// How many steps later results are popped: what the array's depth takes, as far as the units hold
/// the results.
std::size_t MatmulCode::steps_in_flight(const Pass& pass, std::size_t pushes) const {
  const auto units = static_cast<Cycle>(plan_.depth_units * plan_.column_units);
  const auto groups = static_cast<Cycle>(pass.groups);
  const Cycle weights = pushes * time_.push_cycles(element(1), op_.transposed) / (units * groups);
  const Cycle interval = std::max(time_.row_cycles(element(0)), weights);
  const Cycle hidden = time_.latency(element(0)) / interval + 1;
  const auto held =
      static_cast<Cycle>(core_.mxu.results / (plan_.group_rows * plan_.array_registers));
  return static_cast<std::size_t>(std::min(hidden, std::max<Cycle>(held, 2) - 1));
}

/// The rows of a pass's weights, in turn for each unit.
std::vector<MatmulCode::Push> MatmulCode::pushes_of(const Pass& pass) const {
  const std::int64_t high = core_.mxu.size / register_rows(element(1));
  const VregGrid g = grid(1);
  const std::int64_t first = pass.batch * g.rows;
  const Chunk from = rhs_chunk(op_, columns_, element(1));
  std::vector<Push> pushes;
  for (std::int64_t k = 0; k < high; ++k) {
    for (const Tile& t : pass.tiles) {
      const std::int64_t along_rows = op_.transposed ? t.column : t.depth;
      const std::int64_t along_cols = op_.transposed ? t.depth : t.column;
      const std::int64_t r = along_rows * high + k, c = along_cols * plan_.array_registers;
      if (from.row + r >= g.rows || from.col + c >= g.cols) continue;
      const bool last =
          op_.transposed ? c + plan_.array_registers >= g.cols : from.row + r + 1 == g.rows;
      pushes.push_back({&t, first + r, c, op_.ragged_depth && last});
    }
  }
  return pushes;
}

void MatmulCode::push(const Pass& pass, const Push& p) {
  const Sources src = sources(rhs_, 1, p.row, p.column, p.tile->rhs_part, p.edge);
  rhs_.forget();
  Draft& d = matrix(Opcode::kVMatPush, element(1), p.tile->unit);
  d.set = pass.set;
  d.transposed = op_.transposed;
  d.src = src;
}

void MatmulCode::rows(const Pass& pass, std::int64_t group) {
  for (const Tile& t : pass.tiles) {
    const std::int64_t c = t.depth * plan_.array_registers;
    const bool edge = op_.ragged_depth && c + plan_.array_registers >= grid(0).cols;
    const Sources src = sources(lhs_, 0, pass.batch * plan_.groups + group, c, t.lhs_part, edge);
    Draft& d = matrix(Opcode::kVMatMul, element(0), t.unit);
    d.set = pass.set;
    d.keep = plan_.accumulates && !pass.last;
    d.src = src;
  }
  lhs_.forget();
}

/// An operand's registers from column `c` on, as many as the array is wide. What was loaded in
/// pairs is one register for two.
MatmulCode::Sources MatmulCode::sources(ChunkCode& code, std::size_t operand, std::int64_t r,
                                        std::int64_t c, std::int64_t part_number, bool edge) {
  Sources src = {kNoVirtual, kNoVirtual, kNoVirtual};
  const ValueId v = op_.operands[operand];
  const bool pairs = code.loads_pairs(v);
  std::size_t n = 0;
  for (std::int64_t k = c; k < c + plan_.array_registers; ++k) {
    if (k >= grid(operand).cols || (pairs && k > c && k % 2 == 1)) continue;
    src[n] = part(code, v, r, pairs ? k & ~std::int64_t{1} : k, part_number);
    if (edge) src[n] = emit(Opcode::kVSelect, element(operand), src[n]);
    ++n;
  }
  return src;
}

void MatmulCode::results(const Step& step) {
  const auto& tiles = step.pass->tiles;
  for (std::size_t first = 0; first < tiles.size();) {
    std::size_t end = first;
    while (end < tiles.size() && tiles[end].column == tiles[first].column) ++end;
    column_results(step, first, end - first);
    first = end;
  }
}

/// Pops what the units of one column of tiles made of a register of rows.
void MatmulCode::column_results(const Step& step, std::size_t first, std::size_t count) {
  const Pass& pass = *step.pass;
  const std::int64_t tile = pass.tiles[first].column;
  const std::int64_t rows = op_.grid.rows / op_.batches, row = step.group * plan_.group_rows;
  Chunk chunk = columns_;
  chunk.row = chunk.row_index = pass.batch * rows + row;
  chunk.rows = std::min(plan_.group_rows, rows - row);
  chunk.col += tile * plan_.array_registers;
  chunk.cols = std::min(plan_.array_registers, columns_.cols - tile * plan_.array_registers);
  chunk.col_index += tile;
  ChunkCode code(ctx_, chunk, block_);
  for (std::int64_t r = 0; r < plan_.group_rows; ++r) {
    for (std::int64_t c = 0; c < plan_.array_registers; ++c) {
      std::vector<Virtual> values;
      for (std::size_t k = 0; k < count; ++k) {
        Draft& d = matrix(Opcode::kVMatPop, element(0), pass.tiles[first + k].unit);
        values.push_back(d.dst = block_.fresh(RegisterFile::kVector));
      }
      if (r >= chunk.rows || c >= chunk.cols) continue;
      const Address at = sum_address(chunk.row + r, chunk.col + c);
      if (!pass.first && !plan_.accumulates) {
        values.push_back(emit(Opcode::kVLoad, Element::kNone));
        block_.code.back().address = at;
      }
      const Virtual v = sum(std::move(values));
      if (pass.last) {
        code.provide(op_.result, r, c, v);
      } else {
        Draft d;
        d.op = Opcode::kVStore;
        d.src[0] = v;
        d.address = at;
        d.line = op_.line;
        block_.code.push_back(d);
      }
    }
  }
  if (pass.last) code.build();
}

/// An operand's register, or a part of it: what bf16 leaves of an f32 number, and what that leaves.
Virtual MatmulCode::part(ChunkCode& code, ValueId v, std::int64_t r, std::int64_t c,
                         std::int64_t part) {
  Virtual rest = code.instance(v, r, c);
  for (std::int64_t p = 0; p < part; ++p) {
    rest = emit(Opcode::kVSub, Element::kF32, rest, emit(Opcode::kVConvert, Element::kF32, rest));
  }
  return rest;
}

/// A balanced tree of adds.
Virtual MatmulCode::sum(std::vector<Virtual> values) {
  while (values.size() > 1) {
    std::vector<Virtual> next;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
      next.push_back(emit(Opcode::kVAdd, op_.element, values[i], values[i + 1]));
    }
    if (values.size() % 2 == 1) next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

Virtual MatmulCode::emit(Opcode op, Element element, Virtual a, Virtual b) {
  Draft d;
  d.op = op;
  d.element = element;
  d.src = {a, b, kNoVirtual};
  d.line = op_.line;
  d.dst = block_.fresh(RegisterFile::kVector);
  block_.code.push_back(d);
  return d.dst;
}

Draft& MatmulCode::matrix(Opcode op, Element element, std::uint8_t unit) {
  Draft d;
  d.op = op;
  d.element = element;
  d.unit = unit;
  d.line = op_.line;
  block_.code.push_back(d);
  return block_.code.back();
}

Address MatmulCode::sum_address(std::int64_t r, std::int64_t c) const {
  Address a;
  a.buffer = sums_;
  a.offset = static_cast<std::int32_t>(r * op_.grid.cols + c);
  a.inner_stride = static_cast<std::int32_t>(columns_.col_step);
  return a;
}

}  // namespace xpusim::tpu
