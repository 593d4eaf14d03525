#include "models/tpu/compiler/placement.h"

#include <algorithm>

namespace xpusim::tpu {
namespace {

using Kind = TileOp::Kind;

bool is_control(const TileOp& op) {
  return op.kind == Kind::kFor || op.kind == Kind::kIf || op.kind == Kind::kStartDma ||
         op.kind == Kind::kWaitDma;
}

class Placer {
 public:
  Placer(const TileFunction& function, std::size_t buffers)
      : function_(function), stored_(buffers, false) {
    out_.definitions.resize(function.values.size());
  }

  Placement run() {
    note_stores(function_.body);
    out_.body = region(function_.body);
    mark(out_.body);
    return std::move(out_);
  }

 private:
  void note_stores(const TileRegion& r) {
    for (const TileOp& op : r.ops) {
      if (op.kind == Kind::kStore) stored_[op.buffer] = true;
      for (const TileRegion& inner : op.regions) note_stores(inner);
    }
  }

  PlacedRegion region(const TileRegion& r) {
    PlacedRegion placed;
    open_segment(placed);
    for (const TileOp& op : r.ops) {
      if (!is_control(op)) {
        add(op, placed.segments.back());
        continue;
      }
      placed.control.push_back(&op);
      placed.inner.emplace_back();
      for (const TileRegion& inner : op.regions) placed.inner.back().push_back(region(inner));
      open_segment(placed);
    }
    placed.control.push_back(nullptr);
    placed.inner.emplace_back();
    return placed;
  }

  void open_segment(PlacedRegion& placed) {
    placed.segments.push_back(static_cast<std::int32_t>(out_.segments.size()));
    out_.segments.emplace_back();
    store_phase_.assign(stored_.size(), -1);
  }

  void add(const TileOp& op, std::int32_t segment) {
    const std::int32_t phase = phase_of(op, segment);
    out_.segments[static_cast<std::size_t>(segment)].ops.push_back({&op, phase});
    if (op.kind == Kind::kStore) {
      store_phase_[op.buffer] = std::max(store_phase_[op.buffer], phase);
    }
    if (op.result == kNoValue) return;
    Definition& d = out_.definitions[static_cast<std::size_t>(op.result)];
    d.op = &op;
    d.segment = segment;
    d.phase = op.kind == Kind::kReduce ? phase + 1 : phase;
  }

  /// A reduction's result is per row; an op over all columns that reads it belongs to a later
  /// phase.
  std::int32_t phase_of(const TileOp& op, std::int32_t segment) const {
    if (op.kind == Kind::kLoad) return store_phase_[op.buffer] + 1;
    std::int32_t phase = 0;
    for (ValueId v : op.operands) {
      if (v == kNoValue) continue;
      const Definition& d = out_.definitions[static_cast<std::size_t>(v)];
      if (d.segment != segment || d.phase == 0) continue;
      const bool same = function_.values[static_cast<std::size_t>(v)].grid == op.grid;
      phase = std::max(phase, d.phase + (same ? 0 : 1));
    }
    return phase;
  }

  void mark(const PlacedRegion& r) {
    for (std::int32_t s : r.segments) {
      for (const PlacedOp& p : out_.segments[static_cast<std::size_t>(s)].ops) {
        for (ValueId v : p.op->operands) use(v, s, p.phase);
      }
    }
    for (const auto& regions : r.inner) {
      for (const PlacedRegion& inner : regions) mark(inner);
    }
  }

  void use(ValueId v, std::int32_t segment, std::int32_t phase) {
    if (v == kNoValue) return;
    Definition& d = out_.definitions[static_cast<std::size_t>(v)];
    if (!d.op || function_.values[static_cast<std::size_t>(v)].kind == TileValue::Kind::kUniform) {
      return;
    }
    if (d.segment == segment && d.phase >= phase) return;
    if (!is_cheap(function_, d, stored_)) {
      d.saved = true;
      return;
    }
    for (ValueId o : d.op->operands) use(o, segment, phase);
  }

  const TileFunction& function_;
  std::vector<bool> stored_;
  std::vector<std::int32_t> store_phase_;
  Placement out_;
};

}  // namespace

bool is_cheap(const TileFunction& function, const Definition& d, const std::vector<bool>& stored) {
  if (d.op->kind == Kind::kLoad) return !stored[d.op->buffer] && !d.op->spread_lanes;
  if (d.op->kind != Kind::kCompute) return false;
  if (function.values[static_cast<std::size_t>(d.op->result)].kind == TileValue::Kind::kMask) {
    return true;
  }
  return std::all_of(d.op->operands.begin(), d.op->operands.end(), [&](ValueId v) {
    return v == kNoValue ||
           function.values[static_cast<std::size_t>(v)].kind == TileValue::Kind::kUniform;
  });
}

Placement place(const TileFunction& function, std::size_t buffers) {
  return Placer(function, buffers).run();
}

}  // namespace xpusim::tpu
