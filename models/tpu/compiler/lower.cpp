#include "models/tpu/compiler/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/tpu/compiler/matmul_code.h"
#include "models/tpu/compiler/nest.h"

namespace xpusim::tpu {
namespace {

using Axis = TileOp::Axis;

constexpr std::int64_t kUnrolledRows = 16384;  ///< registers of rows in a product's straight code

/// A nest's grid cut in one direction: `whole` chunks of `size`, and what is left.
struct Cut {
  std::int64_t size = 1, whole = 1, rest = 0;
  std::int64_t chunks() const { return whole + (rest > 0 ? 1 : 0); }
};

/// Pieces of a multiple of `step`, of `limit` at most if that is not less.
Cut cut(std::int64_t extent, std::int64_t limit, std::int64_t step = 1) {
  const std::int64_t pieces = (extent + limit - 1) / limit;
  Cut c;
  c.size = (extent + pieces - 1) / pieces;
  c.size = std::min(extent, (c.size + step - 1) / step * step);
  c.whole = extent / c.size;
  c.rest = extent % c.size;
  return c;
}

std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

class Lowering {
 public:
  Lowering(const TileFunction& function, const CoreParams& core, Program& program)
      : function_(function),
        core_(core),
        program_(program),
        writer_(program),
        placement_(place(function, program.buffers.size())) {}

  Expected<void> run() {
    region(placement_.body);
    if (problems_.has_errors()) return fail(std::move(problems_));
    return {};
  }

 private:
  void region(const PlacedRegion& r) {
    for (std::size_t i = 0; i < r.segments.size(); ++i) {
      segment(r.segments[i]);
      if (r.control[i]) control(*r.control[i], r.inner[i]);
    }
  }

  void control(const TileOp& op, const std::vector<PlacedRegion>& regions) {
    if (op.kind == TileOp::Kind::kStartDma) {
      return mark(Opcode::kStartDma, op.site, op.line, op.ahead);
    }
    if (op.kind == TileOp::Kind::kWaitDma)
      return mark(Opcode::kWaitDma, op.site, op.line, op.ahead);
    if (op.kind == TileOp::Kind::kSync) return mark(Opcode::kSync, 0, op.line);
    if (op.kind == TileOp::Kind::kWaitSync) return mark(Opcode::kWaitSync, 0, op.line);
    if (op.kind == TileOp::Kind::kFor) {
      const Opcode begin = op.trips >= 0 ? Opcode::kLoop : Opcode::kLoopBySite;
      mark(begin, op.trips >= 0 ? op.trips : op.site, op.line);
      region(regions[0]);
      mark(Opcode::kEndLoop, 0, op.line);
      return;
    }
    mark(Opcode::kIf, op.site, op.line);
    region(regions[0]);
    if (regions.size() > 1) {
      mark(Opcode::kElse, 0, op.line);
      region(regions[1]);
    }
    mark(Opcode::kEndIf, 0, op.line);
  }

  void mark(Opcode op, std::int64_t value, std::uint32_t line, std::int32_t ahead = 0) {
    Instruction i;
    i.op = op;
    i.value = value;
    i.ahead = ahead;
    writer_.bundle(i, line);
  }

  void segment(std::int32_t s) {
    scalars(s);
    for (const Nest& nest : form_nests(placement_, function_, s)) lower_nest(nest);
  }

  /// Scalar instructions come first: addresses and conditions of what follows.
  void scalars(std::int32_t s) {
    DraftBlock block;
    std::vector<Virtual> of(function_.values.size(), kNoVirtual);
    for (const PlacedOp& p : placement_.segments[static_cast<std::size_t>(s)].ops) {
      if (p.op->kind != TileOp::Kind::kScalar) continue;
      Draft d;
      d.op = p.op->opcode;
      d.line = p.op->line;
      for (std::size_t k = 0; k < d.src.size(); ++k) {
        const ValueId v = p.op->operands[k];
        if (v != kNoValue) d.src[k] = of[index(v)];
      }
      if (p.op->result != kNoValue)
        d.dst = of[index(p.op->result)] = block.fresh(RegisterFile::kScalar);
      block.code.push_back(d);
    }
    if (!block.code.empty()) append(schedule(block, core_));
  }

  bool append(const std::optional<std::vector<ScheduledBundle>>& bundles) {
    if (!bundles) return false;
    for (const ScheduledBundle& b : *bundles) writer_.bundle(b.instructions, b.line);
    return true;
  }

  bool append_chunk(const NestContext& context, const Chunk& chunk) {
    DraftBlock block;
    ChunkCode(context, chunk, block).build();
    return append(schedule(block, core_));
  }

  /// Unrolls as far as asked; halves until the registers suffice.
  void lower_nest(const Nest& nest) {
    if (nest.matmul) return lower_matmul(nest);
    for (std::int64_t unroll = core_.unroll; unroll >= 1; unroll /= 2) {
      const std::size_t code = program_.code.size(), bundles = program_.bundles.size();
      const std::size_t buffers = program_.buffers.size();
      if (try_nest(nest, unroll)) return;
      program_.code.resize(code);
      program_.bundles.resize(bundles);
      program_.buffers.resize(buffers);
    }
    out_of_registers(nest.roots.front().op->line);
  }

  /// A product is unrolled as a whole; if that is too long, it is a loop over its columns.
  void lower_matmul(const Nest& nest) {
    const MatrixParams& mxu = core_.mxu;
    const std::uint32_t line = nest.matmul->line;
    if (mxu.size % kLanes != 0 || mxu.size > 3 * kLanes) {
      problems_.error(program_.lines[line],
                      "products are compiled for matrix units of 128, 256 or "
                      "384 rows and columns");
      return;
    }
    const MatmulPlan plan = plan_matmul(function_, *nest.matmul, mxu);
    const std::int64_t tiles = (nest.grid.cols + plan.array_registers - 1) / plan.array_registers;
    const std::int64_t groups = plan.groups * nest.matmul->batches;
    const std::int64_t steps = plan.passes(nest.grid.cols) * groups;
    const std::int64_t pieces = (steps + kUnrolledRows - 1) / kUnrolledRows;
    const Cut columns = cut(tiles, std::max(plan.column_units, tiles / pieces));
    NestContext context{function_, placement_.definitions, nest, groups, tiles, core_.wide_tiles()};
    make_buffers(nest, context);
    const std::uint16_t sums = plan.sums_in_vmem() ? spill(nest.grid.count()) : kNoBuffer;
    Chunk chunk;
    for (int tail = 0; tail < 2; ++tail) {
      const std::int64_t trips = tail == 0 ? columns.whole : columns.rest > 0;
      if (trips == 0) continue;
      chunk.col_index = tail == 0 ? 0 : columns.whole * columns.size;
      chunk.col = chunk.col_index * plan.array_registers;
      chunk.cols = (tail == 0 ? columns.size : columns.rest) * plan.array_registers;
      chunk.cols = std::min(chunk.cols, nest.grid.cols - chunk.col);
      chunk.col_index_step = columns.size;
      chunk.col_step = trips > 1 ? columns.size * plan.array_registers : 0;
      if (trips > 1) mark(Opcode::kLoop, trips, line);
      DraftBlock block;
      MatmulCode(context, core_, plan, chunk, sums, block).build();
      if (!append(schedule(block, core_))) return out_of_registers(line);
      if (trips > 1) end_loop(line);
    }
  }

  void out_of_registers(std::uint32_t line) {
    problems_.error(program_.lines[line], fmt::format("this needs more than {} vector registers at "
                                                      "once",
                                                      kVectorRegisters));
  }

  bool try_nest(const Nest& nest, std::int64_t unroll) {
    const bool down = nest.axis == Axis::kRows;
    const std::int64_t first = down ? nest.grid.rows : nest.grid.cols;
    const std::int64_t row_step = core_.wide_tiles() ? 2 : 1;
    const Cut inner = cut(first, unroll, down ? row_step : 1);
    const Cut outer = cut(down ? nest.grid.cols : nest.grid.rows,
                          std::max<std::int64_t>(1, unroll / inner.size), down ? 1 : row_step);
    const Cut rows = down ? inner : outer, cols = down ? outer : inner;
    NestContext context{function_,     placement_.definitions, nest,
                        rows.chunks(), cols.chunks(),          core_.wide_tiles()};
    make_buffers(nest, context);
    for (int tail = 0; tail < 2; ++tail) {
      const std::int64_t trips = tail == 0 ? rows.whole : rows.rest > 0;
      if (trips == 0) continue;
      Chunk chunk;
      chunk.row = tail == 0 ? 0 : rows.whole * rows.size;
      chunk.rows = tail == 0 ? rows.size : rows.rest;
      chunk.row_index = tail == 0 ? 0 : rows.whole;
      if (!row_of_chunks(context, chunk, trips, rows.size, cols)) return false;
    }
    return true;
  }

  bool row_of_chunks(const NestContext& context, Chunk chunk, std::int64_t trips, std::int64_t step,
                     const Cut& cols) {
    const std::uint32_t line = context.nest.roots.front().op->line;
    if (trips > 1) {
      chunk.row_step = step;
      mark(Opcode::kLoop, trips, line);
    }
    chunk.cols = cols.size;
    chunk.col_step = cols.whole > 1 ? cols.size : 0;
    if (cols.whole > 1) mark(Opcode::kLoop, cols.whole, line);
    if (!append_chunk(context, chunk)) return false;
    if (cols.whole > 1) end_loop(line);
    if (cols.rest > 0) {
      chunk.col = cols.whole * cols.size;
      chunk.cols = cols.rest;
      chunk.col_step = 0;
      chunk.col_index = cols.whole;
      if (!append_chunk(context, chunk)) return false;
    }
    if (trips > 1) end_loop(line);
    return true;
  }

  /// The back edge goes into the body's last bundle when that has room.
  void end_loop(std::uint32_t line) {
    Instruction end;
    end.op = Opcode::kEndLoop;
    Bundle& last = program_.bundles.back();
    const auto first = program_.code.begin() + last.first;
    const bool busy = std::any_of(first, program_.code.end(), [](const Instruction& i) {
      return info(i.op).slot == Slot::kMisc;
    });
    if (busy) return writer_.bundle(end, line);
    program_.code.push_back(end);
    ++last.count;
  }

  /// Spill buffers for what the nest saves, and for the partial results of its reductions.
  void make_buffers(const Nest& nest, const NestContext& context) {
    for (const Root& root : nest.roots) {
      if (root.kind == Root::Kind::kSave) {
        const TileValue& v = function_.values[index(root.value)];
        placement_.definitions[index(root.value)].buffer = spill(v.grid.count());
      }
      if (root.kind != Root::Kind::kReduce) continue;
      Definition& d = placement_.definitions[index(root.op->result)];
      const std::int64_t kept = root.op->axis == Axis::kColumns ? nest.grid.rows
                                : root.op->axis == Axis::kRows  ? nest.grid.cols
                                                                : 1;
      d.partials = (root.op->axis != Axis::kRows ? context.partial_cols : 1) *
                   (root.op->axis != Axis::kColumns ? context.partial_rows : 1);
      d.partial_buffer = spill(kept * d.partials);
    }
  }

  std::uint16_t spill(std::int64_t registers) {
    Buffer b;
    b.name = fmt::format("spill{}", program_.buffers.size());
    b.kind = BufferKind::kSpill;
    b.bytes = registers * kVregBytes;
    program_.buffers.push_back(b);
    return static_cast<std::uint16_t>(program_.buffers.size() - 1);
  }

  const TileFunction& function_;
  const CoreParams& core_;
  Program& program_;
  ProgramWriter writer_;
  Placement placement_;
  Diagnostics problems_;
};

}  // namespace

Expected<void> lower(const TileFunction& function, const CoreParams& core, Program& program) {
  return Lowering(function, core, program).run();
}

}  // namespace xpusim::tpu
