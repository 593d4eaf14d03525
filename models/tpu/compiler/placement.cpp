#include "models/tpu/compiler/placement.h"

#include <algorithm>

namespace xpusim::tpu {
namespace {

using Kind = TileOp::Kind;

bool is_control(const TileOp& op) {
  return op.kind == Kind::kFor || op.kind == Kind::kIf || op.kind == Kind::kStartDma ||
         op.kind == Kind::kWaitDma || op.kind == Kind::kSync || op.kind == Kind::kWaitSync;
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
    matmul_phase_ = 0;
  }

  void add(const TileOp& op, std::int32_t segment) {
    const std::int32_t phase = phase_of(op, segment);
    auto& ops = out_.segments[static_cast<std::size_t>(segment)].ops;
    ops.push_back({&op, phase});
    if (op.kind == Kind::kStore) {
      store_phase_[op.buffer] = std::max(store_phase_[op.buffer], phase);
    }
    if (op.result == kNoValue) return;
    Definition& d = out_.definitions[static_cast<std::size_t>(op.result)];
    d.op = &op;
    d.segment = segment;
    d.phase = op.kind == Kind::kReduce ? phase + 1 : phase;
    d.position = ops.size() - 1;
    if (op.kind == Kind::kMatmul) matmul_phase_ = phase;
  }

  /// A reduction's result is per row; an op over all columns that reads it belongs to a later
  /// phase. So does an op that takes registers in another order, and a product of what is computed
  /// here.
  std::int32_t phase_of(const TileOp& op, std::int32_t segment) const {
    if (op.kind == Kind::kLoad) return store_phase_[op.buffer] + 1;
    const bool matmul = op.kind == Kind::kMatmul;
    std::int32_t phase = matmul ? matmul_phase_ + 1 : 0;
    for (ValueId v : op.operands) {
      if (v == kNoValue) continue;
      const Definition& d = out_.definitions[static_cast<std::size_t>(v)];
      if (d.segment != segment || (d.phase == 0 && !matmul)) continue;
      const bool same = matmul ? d.op->kind == Kind::kLoad
                               : function_.values[static_cast<std::size_t>(v)].grid == op.grid &&
                                     op.opcode != Opcode::kVTranspose;
      phase = std::max(phase, d.phase + (same ? 0 : 1));
    }
    return phase;
  }

  void mark(const PlacedRegion& r) {
    for (std::int32_t s : r.segments) {
      const auto& ops = out_.segments[static_cast<std::size_t>(s)].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        for (ValueId v : ops[i].op->operands) use(v, {s, ops[i].phase, i});
      }
    }
    for (const auto& regions : r.inner) {
      for (const PlacedRegion& inner : regions) mark(inner);
    }
  }

  /// Where a value is read.
  struct Use {
    std::int32_t segment, phase;
    std::size_t position;
  };

  void use(ValueId v, const Use& at) {
    if (v == kNoValue) return;
    Definition& d = out_.definitions[static_cast<std::size_t>(v)];
    if (!d.op || function_.values[static_cast<std::size_t>(v)].kind == TileValue::Kind::kUniform) {
      return;
    }
    if (d.segment == at.segment && d.phase >= at.phase) return;
    if (!is_cheap(d, at)) {
      d.saved = true;
      return;
    }
    for (ValueId o : d.op->operands) use(o, at);
  }

  /// Whether another nest computes the value anew instead of reading a saved copy.
  bool is_cheap(const Definition& d, const Use& at) const {
    if (d.op->kind == Kind::kLoad) return !d.op->spread_lanes && !is_overwritten(d, at);
    if (d.op->kind != Kind::kCompute) return false;
    if (function_.values[static_cast<std::size_t>(d.op->result)].kind == TileValue::Kind::kMask) {
      return true;
    }
    return std::all_of(d.op->operands.begin(), d.op->operands.end(), [&](ValueId v) {
      return v == kNoValue ||
             function_.values[static_cast<std::size_t>(v)].kind == TileValue::Kind::kUniform;
    });
  }

  /// Whether what was loaded may have been stored over before the use, in the text or in an earlier
  /// nest.
  bool is_overwritten(const Definition& d, const Use& at) const {
    if (!stored_[d.op->buffer]) return false;
    if (d.segment != at.segment) return true;
    const auto& ops = out_.segments[static_cast<std::size_t>(at.segment)].ops;
    for (std::size_t i = d.position + 1; i < ops.size(); ++i) {
      if (ops[i].op->kind != Kind::kStore || ops[i].op->buffer != d.op->buffer) continue;
      if (i < at.position || ops[i].phase < at.phase) return true;
    }
    return false;
  }

  const TileFunction& function_;
  std::vector<bool> stored_;
  std::vector<std::int32_t> store_phase_;
  std::int32_t matmul_phase_ = 0;  ///< of the segment's last product
  Placement out_;
};

}  // namespace

Placement place(const TileFunction& function, std::size_t buffers) {
  return Placer(function, buffers).run();
}

}  // namespace xpusim::tpu
