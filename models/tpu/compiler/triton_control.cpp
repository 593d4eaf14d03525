// Loops and branches of a Triton program on the TPU. Tiles that they carry go through VMEM; what
// only makes addresses is carried by the scalar unit.

#include <algorithm>

#include "models/tpu/compiler/triton_front.h"

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::Value;

constexpr std::size_t kFirstInit = 3;  // of an scf.for: after its bounds and step
constexpr int kMaxDepth = 64;

}  // namespace

/// The layout that a value will have, read off the ops that make it.
TritonFront::Layout TritonFront::layout_ahead(const Value& v, int depth) const {
  if (v.type->kind != kernel::TypeKind::kTensor) return Layout::kUniform;
  if (v.type->shape.size() != 1) return Layout::kTiled;
  if (known_[v.id].data != kNoValue && known_[v.id].layout != Layout::kUniform) {
    return known_[v.id].layout;
  }
  if (!v.def || depth > kMaxDepth || is_index(v)) return Layout::kUniform;
  if (v.def->name() == "tt.reduce") {
    return v.def->int_attr("axis") == 1 ? Layout::kColumn : Layout::kRow;
  }
  if (v.def->name() == "tt.load") return Layout::kFlat;
  for (const Value* operand : v.def->operands) {
    const Layout own = layout_ahead(*operand, depth + 1);
    if (own != Layout::kUniform) return own;
  }
  return Layout::kUniform;
}

/// Where a value that a loop or branch carries is kept; none for one that needs no register.
std::optional<TritonFront::Carried> TritonFront::carry(const Value& v, const Value& next) {
  if (!values_.is_needed(v) || is_index(v)) return std::nullopt;
  Carried c;
  c.element = element_of(v.type->dtype);
  if (v.type->kind != kernel::TypeKind::kTensor) return c;
  c.layout = layout_ahead(next, 0);
  if (c.layout == Layout::kUniform) c.layout = natural(*v.type);
  c.grid = grid_of(*v.type, c.layout, c.element);
  Buffer b;
  b.name = v.name.empty() ? "carried" : v.name;
  b.kind = BufferKind::kSpill;
  b.bytes = c.grid.count() * tile_bytes(c.element);
  plan_.program.buffers.push_back(b);
  c.buffer = static_cast<std::uint16_t>(plan_.program.buffers.size() - 1);
  return c;
}

void TritonFront::store_carried(const Carried& c, const Value& from, const Op& o) {
  if (c.buffer == kNoBuffer) return;
  TileOp op;
  op.kind = TileOp::Kind::kStore;
  op.buffer = c.buffer;
  op.element = c.element;
  op.grid = c.grid;
  op.pitch = c.grid.cols;
  op.operands[0] = get(from, o, c.layout);
  build_.store(op);
}

TritonFront::Known TritonFront::load_carried(const Carried& c) {
  if (c.buffer == kNoBuffer) return {build_.scalar(c.element), Layout::kUniform};
  TileOp op;
  op.buffer = c.buffer;
  op.element = c.element;
  op.pitch = c.grid.cols;
  return {build_.load(op, c.grid), c.layout};
}

void TritonFront::for_loop(const Op& o) {
  const kernel::Block& body = *o.regions[0]->blocks[0];
  const std::uint32_t line = build_.line();
  const auto next = yielded(body);
  std::vector<std::optional<Carried>> carried;
  for (std::size_t i = 0; i < o.results.size(); ++i) {
    carried.push_back(carry(*body.args[1 + i], *next[i]));
    if (carried[i]) store_carried(*carried[i], *o.operands[kFirstInit + i], o);
  }
  TileOp loop;
  loop.kind = TileOp::Kind::kFor;
  loop.site = prepared_.site(o);
  loop.regions.resize(1);
  TileRegion* outer = build_.enter(&loop.regions[0]);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]) known(*body.args[1 + i]) = load_carried(*carried[i]);
  }
  std::vector<std::int32_t> streams;
  std::vector<std::int32_t>* around = std::exchange(ahead_, &streams);
  ++loops_;
  block(body);
  --loops_;
  ahead_ = around;
  build_.at_line(line);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]) store_carried(*carried[i], *next[i], o);
  }
  build_.enter(outer);
  run_ahead(streams, loop.regions[0]);
  build_.control(std::move(loop));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]) known(*o.result(i)) = load_carried(*carried[i]);
  }
}

/// The DMAs of a loop's first trips start before it; each trip starts one more and waits for its
/// own.
void TritonFront::run_ahead(const std::vector<std::int32_t>& streams, TileRegion& body) {
  std::vector<TileOp> starts, waits;
  for (const std::int32_t s : streams) {
    const StreamPlan& stream = plan_.streams[static_cast<std::size_t>(s)];
    TileOp dma;
    dma.line = build_.line();
    dma.kind = TileOp::Kind::kStartDma;
    dma.site = static_cast<std::uint32_t>(s) + 1;
    dma.ahead = plan_.program.buffers[stream.buffer].copies;
    starts.push_back(dma);
    dma.ahead -= 1;
    build_.control(dma);
    dma.kind = TileOp::Kind::kWaitDma;
    dma.ahead = 0;
    waits.push_back(dma);
  }
  starts.insert(starts.end(), waits.begin(), waits.end());
  body.ops.insert(body.ops.begin(), starts.begin(), starts.end());
}

void TritonFront::if_else(const Op& o) {
  const std::uint32_t line = build_.line();
  std::vector<std::optional<Carried>> carried;
  for (std::size_t i = 0; i < o.results.size(); ++i) {
    const Value& first = *yielded(*o.regions[0]->blocks[0])[i];
    carried.push_back(carry(*o.result(i), first));
  }
  TileOp branch;
  branch.kind = TileOp::Kind::kIf;
  branch.site = prepared_.site(o);
  branch.regions.resize(o.regions.size());
  ++branches_;
  for (std::size_t r = 0; r < o.regions.size(); ++r) {
    if (o.regions[r]->blocks.empty()) continue;
    const kernel::Block& body = *o.regions[r]->blocks[0];
    TileRegion* outer = build_.enter(&branch.regions[r]);
    block(body);
    const auto results = yielded(body);
    for (std::size_t i = 0; i < carried.size(); ++i) {
      if (carried[i]) store_carried(*carried[i], *results[i], o);
    }
    build_.enter(outer);
  }
  --branches_;
  build_.at_line(line);
  build_.control(std::move(branch));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i]) known(*o.result(i)) = load_carried(*carried[i]);
  }
}

}  // namespace xpusim::tpu
