#include "models/tpu/compiler/nest.h"

#include <algorithm>

namespace xpusim::tpu {
namespace {

using Axis = TileOp::Axis;
using Kind = TileOp::Kind;

constexpr std::int64_t kRunning = 16;  ///< registers for running partial results of a chunk
constexpr std::int64_t kOverlap = 4;   ///< of them for one row or column at most

std::size_t index(ValueId v) { return static_cast<std::size_t>(v); }

/// A root without a direction joins any nest of its phase and grid, so that what both need is
/// computed once.
void add_root(std::vector<Nest>& nests, Nest key, Root root) {
  for (Nest& n : nests) {
    if (n.phase != key.phase || !(n.grid == key.grid)) continue;
    if (n.reduces && key.reduces && n.axis != key.axis) continue;
    if (key.reduces) n.axis = key.axis;
    n.reduces = n.reduces || key.reduces;
    n.roots.push_back(root);
    return;
  }
  key.roots.push_back(root);
  nests.push_back(std::move(key));
}

}  // namespace

std::vector<Nest> form_nests(const Placement& placement, const TileFunction& function,
                             std::int32_t segment) {
  std::vector<Nest> nests;
  for (const PlacedOp& p : placement.segments[static_cast<std::size_t>(segment)].ops) {
    const TileOp& op = *p.op;
    Nest key{segment, p.phase, op.grid, Axis::kColumns, false, nullptr, {}};
    if (op.kind == Kind::kStore) add_root(nests, key, {Root::Kind::kStore, &op, kNoValue});
    if (op.kind == Kind::kReduce) {
      key.axis = op.axis;
      key.reduces = true;
      add_root(nests, key, {Root::Kind::kReduce, &op, kNoValue});
    }
    if (op.result == kNoValue) continue;
    const Definition& d = placement.definitions[index(op.result)];
    if (!d.saved) continue;
    Nest home{segment, d.phase, function.values[index(op.result)].grid, Axis::kColumns, false,
              nullptr, {}};
    add_root(nests, home, {Root::Kind::kSave, &op, op.result});
  }
  for (const PlacedOp& p : placement.segments[static_cast<std::size_t>(segment)].ops) {
    for (Nest& n : nests) {
      if (p.op->kind == Kind::kMatmul && n.phase == p.phase && n.grid == p.op->grid) {
        n.matmul = p.op;
      }
    }
  }
  std::stable_sort(nests.begin(), nests.end(),
                   [](const Nest& a, const Nest& b) { return a.phase < b.phase; });
  return nests;
}

void ChunkCode::build() {
  const std::size_t roots = ctx_.nest.roots.size();
  const auto kept = static_cast<std::size_t>(std::max(chunk_.rows, chunk_.cols));
  running_.assign(roots, std::vector<std::vector<Virtual>>(kept));
  turn_.assign(roots, std::vector<std::int64_t>(kept, 0));
  for (std::int64_t c = 0; c < chunk_.cols; ++c) {
    for (std::int64_t r = 0; r < chunk_.rows; ++r) {
      for (std::size_t k = 0; k < roots; ++k) {
        const Root& root = ctx_.nest.roots[k];
        if (root.kind == Root::Kind::kStore) store(*root.op, r, c);
        if (root.kind == Root::Kind::kSave) save(root, r, c);
        if (root.kind == Root::Kind::kReduce) accumulate(k, r, c);
      }
    }
  }
  store_partials();
}

/// Whether one register holds the value's row `r` and the next, for even r.
bool ChunkCode::is_paired(ValueId v) const {
  const TileValue& t = value(v);
  return in_pairs_ && t.kind != TileValue::Kind::kUniform && t.grid.rows > 1 &&
         tile_bytes(t.element) < kVregBytes;
}

std::uint64_t ChunkCode::key(ValueId v, std::int64_t r, std::int64_t c) {
  return (static_cast<std::uint64_t>(v) << 40) ^ (static_cast<std::uint64_t>(r & 0xfffff) << 20) ^
         static_cast<std::uint64_t>(c & 0xfffff);
}

void ChunkCode::provide(ValueId v, std::int64_t r, std::int64_t c, Virtual made) {
  if (value(v).grid.rows == 1) r = -chunk_.row;
  if (value(v).grid.cols == 1) c = -chunk_.col;
  instances_[key(v, r, c)] = made;
}

Virtual ChunkCode::instance(ValueId v, std::int64_t r, std::int64_t c) {
  if (v == kNoValue || value(v).kind == TileValue::Kind::kUniform) return kNoVirtual;
  if (value(v).grid.rows == 1) r = -chunk_.row;  // row 0 of the value, whatever the chunk
  if (value(v).grid.cols == 1) c = -chunk_.col;
  if (is_paired(v)) r &= ~std::int64_t{1};
  const std::uint64_t place = key(v, r, c);
  if (auto it = instances_.find(place); it != instances_.end()) return it->second;
  const Virtual made = make(v, ctx_.definitions[index(v)], r, c);
  instances_[place] = made;
  return made;
}

bool ChunkCode::loads_pairs(ValueId v) const {
  const Definition& d = ctx_.definitions[index(v)];
  const bool here = d.segment == ctx_.nest.segment && d.phase == ctx_.nest.phase;
  return d.op && d.op->kind == Kind::kLoad && (here || !d.saved) && !d.op->unaligned &&
         !d.op->spread_lanes && tile_bytes(d.op->element) < kVregBytes;
}

Virtual ChunkCode::make(ValueId v, const Definition& d, std::int64_t r, std::int64_t c) {
  const TileOp& op = *d.op;
  const bool here = d.segment == ctx_.nest.segment && d.phase == ctx_.nest.phase;
  if (!here && d.saved) {
    const VregGrid g = value(v).grid;
    return emit_load(address(d.buffer, 0, g.rows == 1 ? 0 : g.cols, g.cols == 1 ? 0 : 1, r, c),
                     op.line);
  }
  if (op.kind == Kind::kLoad) return load(op, r, c);
  if (op.kind == Kind::kReduce) return finish_reduction(d, r, c);
  return compute(op, r, c);
}

Virtual ChunkCode::load(const TileOp& op, std::int64_t r, std::int64_t c) {
  const VregGrid g = value(op.result).grid;
  const Address at =
      address(op.buffer, op.origin, g.rows == 1 ? 0 : op.pitch, g.cols == 1 ? 0 : 1, r, c);
  Virtual v = emit_load(at, op.line);
  if (op.unaligned) {
    Address next = at;
    next.offset += static_cast<std::int32_t>(op.pitch);
    v = emit(Opcode::kVSelect, op.element, op.line, v, emit_load(next, op.line));
  }
  if (op.spread_lanes) v = emit(Opcode::kVBroadcastLane, op.element, op.line, v);
  return v;
}

Virtual ChunkCode::compute(const TileOp& op, std::int64_t r, std::int64_t c) {
  std::array<Virtual, 3> src;
  if (op.opcode == Opcode::kVTranspose) {
    const auto [row, col] = transposed_place(op, r, c);
    src = {instance(op.operands[0], row, col), kNoVirtual, kNoVirtual};
  } else {
    for (std::size_t k = 0; k < src.size(); ++k) src[k] = operand(op, k, r, c);
    if (op.opcode == Opcode::kVPack && is_paired(op.result) && !is_paired(op.operands[0])) {
      src[1] = instance(op.operands[0], r + 1, c);
    }
  }
  Draft d;
  d.op = op.opcode;
  d.element = op.element;
  d.src = src;
  d.line = op.line;
  d.dst = block_.fresh(value(op.result).kind == TileValue::Kind::kMask ? RegisterFile::kMask
                                                                       : RegisterFile::kVector);
  block_.code.push_back(d);
  return d.dst;
}

/// An operand's register. Two rows of 32 bits that a register of 16-bit ones needs are packed.
Virtual ChunkCode::operand(const TileOp& op, std::size_t k, std::int64_t r, std::int64_t c) {
  const ValueId v = op.operands[k];
  const Virtual first = instance(v, r, c);
  if (first == kNoVirtual || op.opcode == Opcode::kVPack || !is_paired(op.result) || is_paired(v) ||
      value(v).grid.rows == 1) {
    return first;
  }
  const Virtual second = instance(v, r + 1, c);
  const bool mask = value(v).kind == TileValue::Kind::kMask;
  const Virtual both =
      emit(mask ? Opcode::kVMaskLogic : Opcode::kVPack, op.element, op.line, first, second);
  if (mask) block_.files[both] = RegisterFile::kMask;
  return both;
}

/// The register that goes through the XLU when the one at (r, c) of a transpose's result leaves it:
/// a square of 128 x 128 elements is kLanes / kSublanes registers on both sides.
std::pair<std::int64_t, std::int64_t> ChunkCode::transposed_place(const TileOp& op, std::int64_t r,
                                                                  std::int64_t c) const {
  constexpr std::int64_t kSquare = kLanes / kSublanes;
  const VregGrid from = value(op.operands[0]).grid;
  const std::int64_t row = (chunk_.col + c) * kSquare + (chunk_.row + r) % kSquare;
  const std::int64_t col = (chunk_.row + r) / kSquare;
  return {std::min(row, from.rows - 1) - chunk_.row, std::min(col, from.cols - 1) - chunk_.col};
}

Virtual ChunkCode::finish_reduction(const Definition& d, std::int64_t r, std::int64_t c) {
  const TileOp& op = *d.op;
  std::vector<Virtual> parts;
  for (std::int64_t j = 0; j < d.partials; ++j) {
    Address at;
    if (op.axis == Axis::kColumns) at = address(d.partial_buffer, j, d.partials, 0, r, 0);
    if (op.axis == Axis::kRows) {
      at = address(d.partial_buffer, j * value(op.result).grid.cols, 0, 1, 0, c);
    }
    if (op.axis == Axis::kBoth) at = address(d.partial_buffer, j, 0, 0, 0, 0);
    parts.push_back(emit_load(at, op.line));
  }
  Virtual v = combine(std::move(parts), op);
  if (op.axis != Axis::kColumns) v = fold_sublanes(op, v);
  if (op.axis != Axis::kRows) v = emit(Opcode::kVReduceLanes, op.element, op.line, v);
  return v;
}

/// Three rotations by 4, 2 and 1 rows (one by 8 before, of 16-bit tiles of 16 rows) leave the
/// result in every row.
Virtual ChunkCode::fold_sublanes(const TileOp& op, Virtual v) {
  const bool wide = ctx_.wide_tiles && tile_bytes(op.element) < kVregBytes && op.grid.rows > 1;
  for (int step = wide ? kSublanes : kSublanes / 2; step >= 1; step /= 2) {
    const Virtual turned = emit(Opcode::kVSublaneRotate, op.element, op.line, v);
    v = emit(op.opcode, op.element, op.line, v, turned);
  }
  return v;
}

void ChunkCode::store(const TileOp& op, std::int64_t r, std::int64_t c) {
  const bool pair = in_pairs_ && op.grid.rows > 1 && tile_bytes(op.element) < kVregBytes;
  if (pair && r % 2 != 0) return;
  Virtual v = instance(op.operands[0], r, c);
  if (v == kNoVirtual) v = emit(Opcode::kVMove, op.element, op.line, kNoVirtual);
  emit_store(address(op.buffer, op.origin, op.pitch, 1, r, c), v, at_edge(op, pair ? r + 1 : r, c),
             op.line);
}

/// Whether the register is partly outside the tile. The trips of a loop share their code, so the
/// last of them is not told apart.
bool ChunkCode::at_edge(const TileOp& op, std::int64_t r, std::int64_t c) const {
  const bool last_row = chunk_.row_step == 0 && chunk_.row + r + 1 == op.grid.rows;
  const bool last_col = chunk_.col_step == 0 && chunk_.col + c + 1 == op.grid.cols;
  return (op.ragged_rows && last_row) || (op.ragged_cols && last_col);
}

void ChunkCode::save(const Root& root, std::int64_t r, std::int64_t c) {
  if (is_paired(root.value) && r % 2 != 0) return;
  const Definition& d = ctx_.definitions[index(root.value)];
  const VregGrid g = value(root.value).grid;
  emit_store(address(d.buffer, 0, g.cols, 1, r, c), instance(root.value, r, c), false,
             root.op->line);
}

void ChunkCode::accumulate(std::size_t root, std::int64_t r, std::int64_t c) {
  const TileOp& op = *ctx_.nest.roots[root].op;
  const std::int64_t kept = op.axis == Axis::kColumns ? r : op.axis == Axis::kRows ? c : 0;
  const std::int64_t keeps = op.axis == Axis::kColumns ? chunk_.rows
                             : op.axis == Axis::kRows  ? chunk_.cols
                                                       : 1;
  const std::int64_t width = std::clamp<std::int64_t>(kRunning / keeps, 1, kOverlap);
  const bool pair = is_paired(op.operands[0]);
  if (pair && r % 2 != 0) return;
  Virtual v = instance(op.operands[0], r, c);
  if (v == kNoVirtual) v = emit(Opcode::kVMove, op.element, op.line, kNoVirtual);
  if (at_edge(op, pair ? r + 1 : r, c)) {  // the neutral element beyond the tile
    v = emit(Opcode::kVSelect, op.element, op.line, v);
  }
  auto& running = running_[root][static_cast<std::size_t>(kept)];
  std::int64_t& turn = turn_[root][static_cast<std::size_t>(kept)];
  if (static_cast<std::int64_t>(running.size()) < width) {
    running.push_back(v);
    return;
  }
  Virtual& slot = running[static_cast<std::size_t>(turn++ % width)];
  slot = emit(op.opcode, op.element, op.line, slot, v);
}

void ChunkCode::store_partials() {
  for (std::size_t k = 0; k < running_.size(); ++k) {
    for (std::size_t kept = 0; kept < running_[k].size(); ++kept) {
      if (running_[k][kept].empty()) continue;
      const TileOp& op = *ctx_.nest.roots[k].op;
      const Virtual v = combine(running_[k][kept], op);
      const std::uint16_t buffer = ctx_.definitions[index(op.result)].partial_buffer;
      emit_store(partial_address(buffer, op.axis, static_cast<std::int64_t>(kept)), v, false,
                 op.line);
    }
  }
}

/// A balanced tree of the reduction's operation.
Virtual ChunkCode::combine(std::vector<Virtual> values, const TileOp& op) {
  while (values.size() > 1) {
    std::vector<Virtual> next;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
      next.push_back(emit(op.opcode, op.element, op.line, values[i], values[i + 1]));
    }
    if (values.size() % 2 == 1) next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

Virtual ChunkCode::emit(Opcode op, Element element, std::uint32_t line, Virtual a, Virtual b,
                        Virtual c) {
  Draft d;
  d.op = op;
  d.element = element;
  d.src = {a, b, c};
  d.line = line;
  d.dst = block_.fresh(RegisterFile::kVector);
  block_.code.push_back(d);
  return d.dst;
}

Virtual ChunkCode::emit_load(const Address& at, std::uint32_t line) {
  const Virtual v = emit(Opcode::kVLoad, Element::kNone, line, kNoVirtual);
  block_.code.back().address = at;
  return v;
}

void ChunkCode::emit_store(const Address& at, Virtual v, bool masked, std::uint32_t line) {
  Draft d;
  d.op = Opcode::kVStore;
  d.masked = masked;
  d.src[0] = v;
  d.address = at;
  d.line = line;
  block_.code.push_back(d);
}

Address ChunkCode::address(std::uint16_t buffer, std::int64_t base, std::int64_t row_pitch,
                           std::int64_t col_pitch, std::int64_t r, std::int64_t c) const {
  Address a;
  a.buffer = buffer;
  a.offset =
      static_cast<std::int32_t>(base + (chunk_.row + r) * row_pitch + (chunk_.col + c) * col_pitch);
  const auto by_row = static_cast<std::int32_t>(chunk_.row_step * row_pitch);
  const auto by_col = static_cast<std::int32_t>(chunk_.col_step * col_pitch);
  a.inner_stride = chunk_.col_step != 0 ? by_col : by_row;
  a.outer_stride = chunk_.col_step != 0 ? by_row : 0;
  return a;
}

Address ChunkCode::partial_address(std::uint16_t buffer, Axis axis, std::int64_t kept) const {
  Address a;
  a.buffer = buffer;
  std::int64_t base = 0, by_row = 0, by_col = 0;
  if (axis == Axis::kColumns) {
    base = (chunk_.row + kept) * ctx_.partial_cols + chunk_.col_index;
    by_row = chunk_.row_step * ctx_.partial_cols;
    by_col = chunk_.col_step != 0 ? chunk_.col_index_step : 0;
  } else if (axis == Axis::kRows) {
    base = chunk_.row_index * ctx_.nest.grid.cols + chunk_.col + kept;
    by_row = chunk_.row_step != 0 ? ctx_.nest.grid.cols : 0;
    by_col = chunk_.col_step;
  } else {
    base = chunk_.row_index * ctx_.partial_cols + chunk_.col_index;
    by_row = chunk_.row_step != 0 ? ctx_.partial_cols : 0;
    by_col = chunk_.col_step != 0 ? chunk_.col_index_step : 0;
  }
  a.offset = static_cast<std::int32_t>(base);
  a.inner_stride = static_cast<std::int32_t>(chunk_.col_step != 0 ? by_col : by_row);
  a.outer_stride = static_cast<std::int32_t>(chunk_.col_step != 0 ? by_row : 0);
  return a;
}

}  // namespace xpusim::tpu
