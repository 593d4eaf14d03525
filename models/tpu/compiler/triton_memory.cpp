// Loads, stores and atomics of a Triton program on the TPU: windows, and streams of DMAs in loops.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/tpu/compiler/triton_front.h"

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::Value;

constexpr std::int64_t kDescriptorWords = 4;

/// Ops that give an address another value, not only another shape.
bool changes_address(std::string_view op) {
  return op.substr(0, 6) == "arith." && op != "arith.constant" && op != "arith.extsi";
}

/// Instructions of the scalar unit that an address or mask asks for: one an op on the way to it,
/// whatever the op's shape, since a descriptor holds a base, strides and limits.
void count_ops(const Value& v, std::set<const Op*>& seen, std::int64_t& count) {
  if (!v.def || !seen.insert(v.def).second || !v.def->regions.empty()) return;
  if (changes_address(v.def->name()) || v.def->name() == "tt.addptr") ++count;
  if (v.def->name() == "tt.load") return;
  for (const Value* operand : v.def->operands) count_ops(*operand, seen, count);
}

}  // namespace

/// The argument that a pointer comes from.
std::size_t TritonFront::tensor_of(const Value& pointer) const {
  const Value* v = &pointer;
  while (true) {
    if (v->def && v->def->name() != "scf.for" && !v->def->operands.empty()) {
      v = v->def->operands[v->def->name() == "arith.select" ? 1 : 0];
      continue;
    }
    const Op* loop = v->def;
    std::size_t i = v->index;
    if (!loop && v->owner && v->owner->parent) {
      loop = v->owner->parent->parent;
      if (v->index == 0) break;
      --i;
    }
    if (!loop || loop->name() != "scf.for" || 3 + i >= loop->operands.size()) break;
    v = loop->operands[3 + i];
  }
  const auto& args = function_.entry().args;
  const auto at =
      std::find_if(args.begin(), args.end(), [&](const auto& a) { return a.get() == v; });
  return at == args.end() ? args.size() : static_cast<std::size_t>(at - args.begin());
}

bool TritonFront::is_gather(const Op& o) const {
  return std::any_of(o.operands.begin(), o.operands.end(), [&](const Value* v) {
    const bool address = v == o.operands[0] || v->type->dtype == kernel::DType::kI1;
    return address && values_.is_loaded(*v);
  });
}

/// The scalar instructions that make an element's address of what was loaded.
std::int64_t TritonFront::pointer_ops(const Value& pointer) {
  std::set<const Op*> seen;
  std::int64_t ops = 0;
  count_ops(pointer, seen, ops);
  return ops;
}

/// The scalar instructions of its descriptors: gathered rows have one each, and an index to load.
std::int64_t TritonFront::address_ops(const Op& o) const {
  std::set<const Op*> seen;
  std::int64_t ops = 0;
  for (const Value* v : o.operands) {
    const bool mask = v->type->dtype == kernel::DType::kI1;
    if (v == o.operands[0] || mask) count_ops(*v, seen, ops);
  }
  const auto& shape = o.operands[0]->type->shape;
  const bool rows = is_gather(o) && shape.size() == 2;
  return rows ? shape[0] * (kDescriptorWords + 3) + ops : kDescriptorWords + ops;
}

/// How a load or store lies in VMEM: as its rows lie in memory.
std::optional<TritonFront::Place> TritonFront::place(const Op& o, const kernel::Type accessed,
                                                     bool output) {
  const Value& pointer = *o.operands[0];
  const kernel::Type pointee = pointer.type->pointee();
  const kernel::DType dtype = pointee ? pointee->dtype : kernel::DType::kNone;
  const Element e = element_of(dtype);
  std::string problem;
  if (e == Element::kNone) {
    problem = fmt::format("the TPU's vector unit has no {}", kernel::name(dtype));
  } else if (accessed->shape.size() > 2) {
    problem = "tiles of more than two dimensions are not modelled";
  } else if (tensor_of(pointer) >= launch_.args.size()) {
    problem = "which tensor it points into is not known before it runs";
  } else if (prepared_.site(o) == exec::Prepared::kNoSite) {
    problem = "where its elements lie is not known before it runs";
  }
  if (!problem.empty()) {
    refuse(o, problem);
    return std::nullopt;
  }
  Place p;
  p.layout = natural(*accessed);
  if (p.layout == Layout::kTiled) {
    const auto& contiguity = axes_.of(pointer).contiguity;
    if (contiguity.size() == 2 && contiguity[0] > contiguity[1]) p.layout = Layout::kTransposed;
  }
  p.grid = grid_of(*accessed, p.layout, e);
  if (loops_ + branches_ > 0) {
    add_stream(o, p, output);
  } else {
    add_window(o, p, output);
  }
  return p;
}

std::uint16_t TritonFront::add_buffer(const Op& o, const Place& place, Element e, bool output,
                                      std::int32_t copies) {
  Buffer b;
  const Value& argument = *function_.entry().args[tensor_of(*o.operands[0])];
  b.name = fmt::format("{}{}", kernel::loc_name(argument.loc), output ? ".out" : "");
  b.kind = output ? BufferKind::kOutput : BufferKind::kInput;
  b.bytes = place.whole ? 0 : place.grid.count() * tile_bytes(e);  // a whole table is in SMEM
  b.copies = copies;
  plan_.program.buffers.push_back(b);
  return static_cast<std::uint16_t>(plan_.program.buffers.size() - 1);
}

void TritonFront::add_window(const Op& o, Place& place, bool output) {
  WindowPlan w;
  w.operand = w.argument = tensor_of(*o.operands[0]);
  w.output = output;
  w.whole = place.whole;
  w.element = element_of(o.operands[0]->type->pointee()->dtype);
  w.dependent = is_gather(o) && !place.whole;  // its index has to come first
  w.synchronous = w.dependent && !output;
  w.site = prepared_.site(o);
  w.scalar_ops = place.whole ? kDescriptorWords : address_ops(o);
  w.line = build_.line();
  const bool one = w.synchronous || place.whole;
  w.buffer = place.buffer = add_buffer(o, place, w.element, output, one ? 1 : 2);
  plan_.windows.push_back(std::move(w));
}

/// In a loop the DMA of a later trip is under way while this one computes; in a branch, or where
/// the address is loaded itself, it starts where the load stands.
void TritonFront::add_stream(const Op& o, Place& place, bool output) {
  const std::int64_t stages = launch_.module->op->int_attr(kStagesAttribute, 2);
  const bool ahead = !output && branches_ == 0 && !is_gather(o) && ahead_;
  StreamPlan s;
  s.operand = tensor_of(*o.operands[0]);
  s.site = prepared_.site(o);
  s.output = output;
  const auto copies = static_cast<std::int32_t>(output  ? 2
                                                : ahead ? std::max<std::int64_t>(stages, 2)
                                                        : 1);
  s.buffer = place.buffer =
      add_buffer(o, place, element_of(o.operands[0]->type->pointee()->dtype), output, copies);
  place.stream = static_cast<std::int32_t>(plan_.streams.size());
  plan_.streams.push_back(s);
  if (ahead) ahead_->push_back(place.stream);
  for (std::int64_t n = address_ops(o); n > 0; --n) {
    build_.scalar_op(n % 3 == 0 ? Opcode::kSMul : Opcode::kSAdd, {}, build_.scalar(Element::kI32));
  }
  TileOp dma;
  dma.site = static_cast<std::uint32_t>(place.stream) + 1;
  if (output) {
    dma.kind = TileOp::Kind::kWaitDma;  // until a copy is free; the store starts its DMA
    dma.ahead = 1;
    return build_.control(std::move(dma));
  }
  if (ahead) return;  // the loop starts and awaits it
  dma.kind = TileOp::Kind::kStartDma;
  dma.ahead = 1;
  build_.control(dma);
  dma.kind = TileOp::Kind::kWaitDma;
  build_.control(std::move(dma));
}

void TritonFront::load(const Op& o) {
  const kernel::TypeData& type = *o.result()->type;
  const auto p = place(o, &type, false);
  if (!p) return;
  Known& k = known(*o.result());
  if (!type.is_shaped()) {
    k.data = build_.scalar(element_of(type.dtype));
    return build_.scalar_op(Opcode::kSLoad, {}, k.data);
  }
  if (!values_.is_needed(*o.result())) return;  // indices: scalar loads of what they address
  TileOp op;
  op.buffer = p->buffer;
  op.element = element(*o.result(), o);
  op.pitch = p->grid.cols;
  k = {build_.load(op, p->grid), p->layout};
  if (o.operands.size() < 3) return;
  // Lanes that the mask leaves out take the other value: one select a register. In a loop, where
  // nearly all blocks are whole, a branch goes around it; its cost in the others is left out.
  if (p->stream >= 0 && is_index(*o.operands[1])) {
    return build_.scalar_op(Opcode::kSCompare, {}, build_.scalar(Element::kI32));
  }
  const ValueId mask = get(*o.operands[1], o, p->layout);
  const ValueId other = get(*o.operands[2], o, p->layout);
  k.data = build_.compute(Opcode::kVSelect, op.element, {mask, k.data, other});
}

void TritonFront::store(const Op& o) {
  const Value& value = *o.operands[1];
  const auto p = place(o, value.type, true);
  if (!p) return;
  const ValueId v = get(value, o, p->layout);
  TileOp op;
  op.kind = TileOp::Kind::kStore;
  op.buffer = p->buffer;
  op.element = element_of(o.operands[0]->type->pointee()->dtype);
  op.grid = p->grid;
  op.pitch = op.grid.cols;
  op.ragged_cols = !value.type->is_shaped();  // one element of a register
  op.operands[0] = v;
  build_.store(op);
  if (p->stream < 0) return;
  TileOp dma;
  dma.kind = TileOp::Kind::kStartDma;
  dma.site = static_cast<std::uint32_t>(p->stream) + 1;
  dma.ahead = 1;
  build_.control(std::move(dma));
}

}  // namespace xpusim::tpu
