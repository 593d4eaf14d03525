#include "models/tpu/compiler/mosaic_front.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::TypeKind;
using kernel::Value;

bool is_vector(const Value& v) { return v.type->kind == TypeKind::kVector; }
bool is_memref(const Value& v) { return v.type->kind == TypeKind::kMemRef; }

bool in_space(const Value& memref, std::string_view space) {
  const kernel::Attr a = memref.type->memory_space;
  return a && a->text.find(space) != std::string::npos;
}

}  // namespace

MosaicFront::MosaicFront(const exec::Launch& launch, const exec::Prepared& prepared,
                         const CoreParams& core, bool joined)
    : launch_(launch),
      prepared_(prepared),
      function_(*launch.function),
      core_(core),
      joined_(joined),
      lines_(plan_.program),
      build_(plan_.function, core) {
  plan_.program.name = launch.function->name;
  values_.assign(function_.value_count, kNoValue);
  buffers_.assign(function_.value_count, kNoBuffer);
}

Expected<KernelPlan> MosaicFront::run() {
  arguments();
  block(function_.entry());
  if (problems_.has_errors()) return fail(std::move(problems_));
  return std::move(plan_);
}

MosaicFront::Extent MosaicFront::extent(const kernel::TypeData& type) {
  Extent e;
  const auto& s = type.shape;
  if (!s.empty()) e.cols = s[s.size() - 1];
  if (s.size() >= 2) e.rows = s[s.size() - 2];
  for (std::size_t i = 0; i + 2 < s.size(); ++i) e.slabs *= s[i];
  return e;
}

VregGrid MosaicFront::grid_of(const Extent& e, Element element) {
  VregGrid g = vreg_grid(e.rows, e.cols, element);
  g.rows *= e.slabs;
  return g;
}

void MosaicFront::cover(const Extent& e, Element element, TileOp& op) {
  const std::int64_t tile_rows = is_8bit(element) ? 4 * kSublanes : kSublanes;
  op.grid = grid_of(e, element);
  op.ragged_rows = e.rows % tile_rows != 0;
  op.ragged_cols = e.cols % kLanes != 0;
}

void MosaicFront::refuse(const Op& op, std::string reason) {
  problems_.error(op.line(), fmt::format("'{}': {}", op.name(), reason));
}

ValueId MosaicFront::get(const Value& v) {
  if (values_[v.id] == kNoValue) values_[v.id] = build_.scalar(Element::kI32);
  return values_[v.id];
}

void MosaicFront::set(const Value& v, ValueId id) { values_[v.id] = id; }

Element MosaicFront::element(const Value& v, const Op& op) {
  const Element e = element_of(v.type->dtype);
  if (e == Element::kNone && is_vector(v)) {
    refuse(op, fmt::format("the TPU's vector unit has no {}", kernel::name(v.type->dtype)));
  }
  return e;
}

void MosaicFront::block(const kernel::Block& b) {
  for (const auto& o : b.ops) op(*o);
}

void MosaicFront::op(const Op& o) {
  build_.at_line(lines_.line(o.line()));
  if (elementwise_handler(o.name())) return elementwise(o);
  if (Handler h = handler(o.name())) return (this->*h)(o);
  refuse(o, refuse_mosaic(o));
}

void MosaicFront::elementwise(const Op& o) {
  std::vector<ValueId> operands;
  for (const Value* v : o.operands) operands.push_back(get(*v));
  set(*o.result(), elementwise_handler(o.name())(build_, operands, element(*o.result(), o)));
}

void MosaicFront::constant(const Op& o) {
  const kernel::Attr value = o.attr("value");
  const Element e = element(*o.result(), o);
  if (is_vector(*o.result()) && value && value->kind == kernel::AttrKind::kDenseElements &&
      !value->splat && value->ints.size() > 1) {
    return refuse(o, "only constants that are the same in every lane can be made without VMEM");
  }
  set(*o.result(), build_.constant(e));
}

void MosaicFront::broadcast(const Op& o) {
  const ValueId v = get(*o.operands[0]);
  const Value& from = *o.operands[0];
  // A vector of lower rank is a row; broadcasting it adds rows.
  set(*o.result(), v);
  if (!build_.is_uniform(v) && is_vector(from) && from.type->shape.size() == 1 &&
      build_.value(v).grid.rows > 1) {
    refuse(o, "broadcasting a column as a row needs a transpose");
  }
}

void MosaicFront::shape_cast(const Op& o) {
  const ValueId v = get(*o.operands[0]);
  set(*o.result(), v);
  if (build_.is_uniform(v)) return;
  const Extent from = extent(*o.operands[0]->type), to = extent(*o.result()->type);
  const VregGrid have = build_.value(v).grid;
  const VregGrid want = grid_of(to, build_.value(v).element);
  const bool column = from.rows == 1 && to.cols == 1 && have.cols == 1;  // <N> to <Nx1>
  const bool same_tiles = from.cols == to.cols && join(have, want) == want;
  const bool scalar = have.count() == 1 && want.count() == 1;
  if (!column && !same_tiles && !scalar) {
    refuse(o, "this shape cast moves data between lanes, which is not modelled");
  }
}

void MosaicFront::reduction(const Op& o) {
  static const std::vector<std::pair<std::string_view, Opcode>> kKinds = {
      {"add", Opcode::kVAdd},     {"maximumf", Opcode::kVMax}, {"minimumf", Opcode::kVMin},
      {"maxnumf", Opcode::kVMax}, {"minnumf", Opcode::kVMin},  {"maxsi", Opcode::kVMax},
      {"minsi", Opcode::kVMin},   {"mul", Opcode::kVMul}};
  const kernel::Attr kind = o.attr("kind");
  const std::string text = kind ? kind->text : "";
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) {
    return text.find(fmt::format("<{}>", k.first)) != std::string::npos;
  });
  if (found == kKinds.end()) return refuse(o, fmt::format("no reduction of the kind {}", text));
  const kernel::TypeData& type = *o.operands[0]->type;
  const auto rank = static_cast<std::int64_t>(type.shape.size());
  const kernel::Attr attr = o.attr("reduction_dims");
  const std::vector<std::int64_t> dims = attr ? attr->int_list() : std::vector<std::int64_t>{};
  const auto has = [&](std::int64_t d) {
    return std::find(dims.begin(), dims.end(), d) != dims.end();
  };
  const bool over_cols = has(rank - 1), over_rows = rank >= 2 && has(rank - 2);
  const Extent e = extent(type);
  const auto counted = static_cast<std::size_t>(over_cols) + static_cast<std::size_t>(over_rows);
  if (counted != dims.size() || counted == 0 || (over_rows && e.slabs > 1)) {
    return refuse(o, "only the last two dimensions can be reduced");
  }
  const Element el = element(*o.operands[0], o);
  const TileOp::Axis axis = over_cols && over_rows ? TileOp::Axis::kBoth
                            : over_cols            ? TileOp::Axis::kColumns
                                                   : TileOp::Axis::kRows;
  TileOp over;
  cover(e, el, over);
  over.operands[0] = get(*o.operands[0]);
  ValueId r = build_.reduce(found->second, el, axis, std::move(over));
  if (const ValueId init = get(*o.operands[1]); !build_.is_constant(init)) {
    r = build_.compute(found->second, el, {r, init});
  }
  set(*o.result(), r);
}

void MosaicFront::iota(const Op& o) {
  const Element e = element(*o.result(), o);
  VregGrid g = grid_of(extent(*o.result()->type), e);
  const kernel::Attr dims = o.attr("dimensions");
  const auto rank = static_cast<std::int64_t>(o.result()->type->shape.size());
  const std::int64_t d = dims && !dims->int_list().empty() ? dims->int_list()[0] : rank - 1;
  if (d == rank - 1) g.rows = 1;
  if (d == rank - 2) g.cols = 1;
  set(*o.result(), build_.generate(Opcode::kVLaneId, e, g));
}

std::optional<TileOp> MosaicFront::access(const Op& o, const Value& memref,
                                          std::span<Value* const> indices,
                                          const kernel::TypeData& vector) {
  const std::uint16_t buffer = buffers_[memref.id];
  if (buffer == kNoBuffer) {
    refuse(o, "only windows and scratch in VMEM can be loaded as vectors");
    return std::nullopt;
  }
  const Element e = element_of(vector.dtype);
  const Extent whole = extent(*memref.type);
  const VregGrid slab = vreg_grid(whole.rows, whole.cols, e);
  const std::int64_t tile_rows = is_8bit(e) ? 4 * kSublanes : kSublanes;
  TileOp op;
  op.buffer = buffer;
  op.element = e;
  op.pitch = slab.cols;
  std::int64_t scale = 1;  // slabs of the leading dimensions, from the innermost outwards
  for (std::size_t k = indices.size(); k-- > 0;) {
    const std::size_t from_end = indices.size() - k;
    const std::int64_t at = constant_of(*indices[k]).value_or(0);
    const std::int64_t unit = from_end == 1 ? kLanes : from_end == 2 ? tile_rows : 1;
    if (unit > 1 && divisor_of(*indices[k]) % unit != 0) op.unaligned = true;
    if (from_end == 1) op.origin += at / unit;
    if (from_end == 2) op.origin += at / unit * slab.cols;
    if (from_end <= 2) continue;
    op.origin += at * scale * slab.count();
    scale *= memref.type->shape[k];
  }
  return op;
}

void MosaicFront::load(const Op& o) {
  const Value& memref = *o.operands[0];
  if (o.results.empty() || !is_memref(memref)) return refuse(o, "this form is not modelled");
  const Element e = element(*o.result(), o);
  const std::span<Value* const> indices = std::span(o.operands).subspan(1);
  std::optional<TileOp> op = access(o, memref, indices, *o.result()->type);
  if (!op) return;
  const Extent shape = extent(*o.result()->type);
  op->spread_lanes = shape.cols == 1 && o.result()->type->shape.size() >= 2;
  set(*o.result(), build_.load(*op, grid_of(shape, e)));
}

void MosaicFront::store(const Op& o) {
  // Operands by type: the memref, index scalars, the vector, and perhaps a mask.
  const Value *memref = nullptr, *vector = nullptr;
  std::vector<Value*> indices;
  for (Value* v : o.operands) {
    if (is_memref(*v)) memref = v;
    if (is_vector(*v) && (!vector || vector->type->dtype == kernel::DType::kI1)) vector = v;
    if (!v->type->is_shaped()) indices.push_back(v);
  }
  if (!memref || !vector) return refuse(o, "this form is not modelled");
  const Element e = element(*vector, o);
  std::optional<TileOp> op = access(o, *memref, indices, *vector->type);
  if (!op) return;
  op->kind = TileOp::Kind::kStore;
  cover(extent(*vector->type), e, *op);
  op->operands[0] = get(*vector);
  build_.store(*op);
}

void MosaicFront::scalar_load(const Op& o) {
  if (!is_memref(*o.operands[0]) || !in_space(*o.operands[0], "smem")) {
    return refuse(o, "scalars can only be loaded from SMEM");
  }
  set(*o.result(), build_.scalar(element_of(o.result()->type->dtype)));
  build_.scalar_op(Opcode::kSLoad, {}, get(*o.result()));
}

void MosaicFront::scalar_store(const Op& o) {
  const Value* memref = nullptr;
  for (const Value* v : o.operands) {
    if (is_memref(*v)) memref = v;
  }
  if (!memref || !in_space(*memref, "smem")) {
    return refuse(o, "scalars can only be stored to SMEM");
  }
  build_.scalar_op(Opcode::kSStore, {}, kNoValue);
}

void MosaicFront::scalar(const Op& o) {
  if (is_vector(*o.result())) return refuse(o, "not modelled for vectors");
  std::vector<ValueId> operands;
  bool fixed = true;
  for (const Value* v : o.operands) {
    operands.push_back(get(*v));
    fixed = fixed && build_.is_constant(operands.back());
  }
  if (fixed && !operands.empty()) return set(*o.result(), build_.constant(Element::kI32));
  set(*o.result(), build_.scalar(Element::kI32));
  build_.scalar_op(Opcode::kSDivide, operands, get(*o.result()));
}

void MosaicFront::alias(const Op& o) {
  values_[o.result()->id] = is_memref(*o.result()) ? kNoValue : get(*o.operands[0]);
  buffers_[o.result()->id] = buffers_[o.operands[0]->id];
}

void MosaicFront::nothing(const Op&) {}

MosaicFront::Handler MosaicFront::handler(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Handler>> kHandlers = {
      {"arith.constant", &MosaicFront::constant},
      {"arith.index_cast", &MosaicFront::alias},
      {"arith.divsi", &MosaicFront::scalar},
      {"arith.divui", &MosaicFront::scalar},
      {"arith.remsi", &MosaicFront::scalar},
      {"arith.remui", &MosaicFront::scalar},
      {"vector.load", &MosaicFront::load},
      {"tpu.vector_load", &MosaicFront::load},
      {"tpu.vector_store", &MosaicFront::store},
      {"vector.store", &MosaicFront::store},
      {"vector.broadcast", &MosaicFront::broadcast},
      {"vector.shape_cast", &MosaicFront::shape_cast},
      {"tpu.reshape", &MosaicFront::shape_cast},
      {"vector.multi_reduction", &MosaicFront::reduction},
      {"tpu.iota", &MosaicFront::iota},
      {"tpu.matmul", &MosaicFront::matmul},
      {"tpu.transpose", &MosaicFront::transpose},
      {"tpu.dynamic_rotate", &MosaicFront::rotate},
      {"tpu.dynamic_gather", &MosaicFront::gather},
      {"tpu.strided_load", &MosaicFront::strided_load},
      {"vector.extract", &MosaicFront::extract},
      {"tpu.assume_multiple", &MosaicFront::alias},
      {"memref.load", &MosaicFront::scalar_load},
      {"memref.store", &MosaicFront::scalar_store},
      {"tpu.trace_start", &MosaicFront::nothing},
      {"tpu.trace_stop", &MosaicFront::nothing},
      {"tpu.memref_slice", &MosaicFront::slice},
      {"tpu.memref_squeeze", &MosaicFront::alias},
      {"tpu.enqueue_dma", &MosaicFront::start_dma},
      {"tpu.wait_dma2", &MosaicFront::wait_dma},
      {"tpu.wait_dma", &MosaicFront::wait_dma},
      {"tpu.sem_signal", &MosaicFront::semaphore},
      {"tpu.sem_wait", &MosaicFront::semaphore},
      {"tpu.sem_read", &MosaicFront::semaphore},
      {"tpu.sem_alloc", &MosaicFront::nothing},
      {"tpu.sem_barrier", &MosaicFront::nothing},
      {"tpu.device_id", &MosaicFront::device_id},
      {"memref.alloca", &MosaicFront::allocate},
      {"tpu.region", &MosaicFront::region},
      {"tpu.yield", &MosaicFront::nothing},
      {"scf.for", &MosaicFront::for_loop},
      {"scf.if", &MosaicFront::if_else},
      {"scf.yield", &MosaicFront::nothing},
      {"func.return", &MosaicFront::nothing},
  };
  const auto it = std::find_if(kHandlers.begin(), kHandlers.end(),
                               [&](const auto& h) { return h.first == name; });
  return it == kHandlers.end() ? nullptr : it->second;
}

std::string refuse_mosaic(const Op& op) {
  if (elementwise_handler(op.name()) || MosaicFront::handler(op.name())) return "";
  return "this TPU model has no code for it";
}

Expected<KernelPlan> plan_mosaic(const exec::Launch& launch, const exec::Prepared& prepared,
                                 const CoreParams& core, bool joined) {
  return MosaicFront(launch, prepared, core, joined).run();
}

}  // namespace xpusim::tpu
