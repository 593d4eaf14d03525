#include "models/tpu/compiler/triton_front.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::TypeKind;
using kernel::Value;

bool is_tensor(const Value& v) { return v.type->kind == TypeKind::kTensor; }

bool divides_integers(std::string_view op) {
  return op == "arith.divsi" || op == "arith.remsi" || op == "arith.divui" || op == "arith.remui";
}

}  // namespace

TritonFront::TritonFront(const exec::Launch& launch, const exec::Prepared& prepared,
                         const CoreParams& core)
    : launch_(launch),
      prepared_(prepared),
      function_(*launch.function),
      core_(core),
      values_(function_),
      lines_(plan_.program),
      build_(plan_.function, core) {
  plan_.program.name = launch.function->name;
  known_.resize(function_.value_count);
  plan_.grid = {launch.grid[2], launch.grid[1], launch.grid[0]};  // x runs fastest
}

Expected<KernelPlan> TritonFront::run() {
  block(function_.entry());
  for (std::size_t s = 0; s < plan_.streams.size(); ++s) {
    if (!plan_.streams[s].output) continue;
    TileOp drain;
    drain.kind = TileOp::Kind::kWaitDma;
    drain.site = static_cast<std::uint32_t>(s) + 1;
    build_.control(std::move(drain));
  }
  if (problems_.has_errors()) return fail(std::move(problems_));
  return std::move(plan_);
}

void TritonFront::refuse(const Op& op, std::string reason) {
  problems_.error(op.line(), fmt::format("'{}': {}", op.name(), reason));
}

VregGrid TritonFront::grid_of(const kernel::TypeData& type, Layout layout, Element e) {
  const auto& s = type.shape;
  const std::int64_t per_register = kLanes * kSublanes;
  switch (layout) {
    case Layout::kUniform:
      return {};
    case Layout::kFlat:
      return {1, (type.count() + per_register - 1) / per_register};
    case Layout::kColumn:
      return vreg_grid(s[0], 1, e);
    case Layout::kRow:
      return vreg_grid(1, s[0], e);
    case Layout::kTransposed:
      return vreg_grid(s[1], s[0], e);
    case Layout::kTiled:
      return vreg_grid(s[0], s[1], e);
  }
  return {};
}

TritonFront::Layout TritonFront::natural(const kernel::TypeData& type) {
  if (type.kind != TypeKind::kTensor || type.shape.empty()) return Layout::kUniform;
  return type.shape.size() == 1 ? Layout::kFlat : Layout::kTiled;
}

Element TritonFront::element(const Value& v, const Op& o) {
  const Element e = element_of(v.type->dtype);
  if (e == Element::kNone && is_tensor(v)) {
    refuse(o, fmt::format("the TPU's vector unit has no {}", kernel::name(v.type->dtype)));
    return Element::kF32;
  }
  return e;
}

void TritonFront::block(const kernel::Block& b) {
  for (const auto& o : b.ops) op(*o);
}

/// Ops whose results stay addresses, masks and indices are no instructions of the vector unit.
void TritonFront::op(const Op& o) {
  build_.at_line(lines_.line(o.line()));
  for (const auto& r : o.results) {
    if (r->type->is_shaped() && r->type->shape.size() > 2 && values_.is_needed(*r)) {
      return refuse(o, "tiles of more than two dimensions are not modelled");
    }
  }
  if (const std::string why = refuse_triton(o); !why.empty()) return refuse(o, why);
  const Handler h = handler(o.name());
  const bool walks = !o.regions.empty() && o.name() != "tt.reduce";
  const bool touches = o.name() == "tt.load" || o.name() == "tt.store" ||
                       o.name() == "tt.atomic_rmw" || o.results.empty();
  if (h && (walks || touches)) return (this->*h)(o);
  const bool wanted = std::any_of(o.results.begin(), o.results.end(), [&](const auto& r) {
    return values_.is_needed(*r) && !is_index(*r);
  });
  if (!wanted) return;
  if (h) return (this->*h)(o);
  if (elementwise_handler(o.name())) return elementwise(o);
  if (divides_integers(o.name())) return integer_division(o);
  refuse(o, "the vector unit has no code for it");
}

/// Indices, and what is compared of them: they follow from lane numbers.
bool TritonFront::is_index(const Value& v) const {
  return !values_.is_loaded(v) && kernel::is_integer(v.type->dtype);
}

/// The layout of an element-wise result: that of its operands, if there is one.
TritonFront::Layout TritonFront::joined_layout(const Op& o) {
  Layout layout = Layout::kUniform;
  for (const Value* v : o.operands) {
    if (is_index(*v)) continue;
    const Layout own = (get(*v, o), known(*v).layout);
    if (own == Layout::kUniform) continue;
    if (layout == Layout::kUniform || own == Layout::kTiled) layout = own;
  }
  return layout == Layout::kUniform ? natural(*o.result()->type) : layout;
}

/// The vector unit has no integer division: a quotient of floats, rounded, and its remainder put
/// right. (Exact up to 2^24; what larger numbers take beyond it is left out.)
void TritonFront::integer_division(const Op& o) {
  const Layout layout = joined_layout(o);
  const ValueId a = get(*o.operands[0], o, layout), b = get(*o.operands[1], o, layout);
  const Element e = element(*o.result(), o);
  const auto real = [&](ValueId v) {
    return build_.convert(Opcode::kVConvert, e, Element::kF32, v);
  };
  const ValueId inverse = build_.compute(Opcode::kVReciprocal, Element::kF32, {real(b)});
  const ValueId quotient = build_.compute(Opcode::kVMul, Element::kF32, {real(a), inverse});
  const ValueId whole = build_.convert(Opcode::kVConvert, Element::kF32, e, quotient);
  const ValueId product = build_.compute(Opcode::kVMul, e, {whole, b});
  const ValueId rest = build_.compute(Opcode::kVSub, e, {a, product});
  const ValueId over = build_.compare(Opcode::kVCompare, e, {rest, b});
  const bool remainder = o.name() == "arith.remsi" || o.name() == "arith.remui";
  const ValueId right =
      build_.compute(Opcode::kVSelect, e, {over, remainder ? rest : whole, product});
  known(*o.result()) = {right, build_.is_uniform(right) ? Layout::kUniform : layout};
}

void TritonFront::elementwise(const Op& o) {
  const Layout layout = joined_layout(o);
  std::vector<ValueId> operands;
  for (const Value* v : o.operands) operands.push_back(get(*v, o, layout));
  const Element e = element(*o.result(), o);
  known(*o.result()) = {elementwise_handler(o.name())(build_, operands, e), layout};
  if (build_.is_uniform(known(*o.result()).data)) known(*o.result()).layout = Layout::kUniform;
}

/// The value in registers. A tile that lies otherwise is moved where a transpose does it.
ValueId TritonFront::get(const Value& v, const Op& o, Layout want) {
  const bool scalar = !is_tensor(v);
  if (is_index(v)) return index_tile(v, want);
  Known& k = known(v);
  if (k.data == kNoValue) k.data = build_.scalar(element_of(v.type->dtype));  // an argument
  if (scalar || want == Layout::kUniform || k.layout == want || build_.is_uniform(k.data)) {
    return k.data;
  }
  const auto pair = [&](Layout a, Layout b) { return k.layout == a && want == b; };
  if (pair(Layout::kTransposed, Layout::kTiled) || pair(Layout::kTiled, Layout::kTransposed)) {
    const Element e = element(v, o);
    return build_.transpose(e, grid_of(*v.type, want, e), k.data);
  }
  if (build_.value(k.data).grid.count() > 1) {
    refuse(o, "its operands lie differently over the lanes; moving them is not modelled");
  }
  return k.data;
}

/// An index or a mask of one: lane numbers and an offset, and a comparison.
ValueId TritonFront::index_tile(const Value& v, Layout layout) {
  if (!is_tensor(v)) return build_.scalar(Element::kI32);
  if (layout == Layout::kUniform) layout = natural(*v.type);
  const kernel::Attr value = v.def ? v.def->attr("value") : nullptr;
  if (value && (value->splat || value->ints.size() == 1)) return build_.constant(Element::kI32);
  const VregGrid grid = grid_of(*v.type, layout, Element::kI32);
  const ValueId lane = build_.generate(Opcode::kVLaneId, Element::kI32, grid);
  const ValueId offset = build_.scalar(Element::kI32);
  if (v.type->dtype == kernel::DType::kI1) {
    return build_.compare(Opcode::kVCompare, Element::kI32, {lane, offset});
  }
  return build_.compute(Opcode::kVAdd, Element::kI32, {lane, offset});
}

void TritonFront::constant(const Op& o) {
  const kernel::Attr value = o.attr("value");
  if (value && value->kind == kernel::AttrKind::kDenseElements && !value->splat &&
      value->ints.size() > 1) {
    return refuse(o, "only constants that are the same in every lane can be made without VMEM");
  }
  known(*o.result()) = {build_.constant(element(*o.result(), o)), Layout::kUniform};
}

/// What does not change how its operand lies.
void TritonFront::same(const Op& o) {
  get(*o.operands[0], o);
  known(*o.result()) = known(*o.operands[0]);
}

void TritonFront::expand_dims(const Op& o) {
  get(*o.operands[0], o);
  const Known from = known(*o.operands[0]);
  const std::int64_t axis = o.int_attr("axis");
  const bool column = from.layout == Layout::kColumn && axis == 1;
  const bool row = from.layout == Layout::kRow && axis == 0;
  known(*o.result()) = {from.data, column || row ? Layout::kTiled : from.layout};
  if (!column && !row && from.layout != Layout::kUniform) {
    refuse(o,
           "making rows or columns of a flat tile moves data between lanes, which is not modelled");
  }
}

/// A tile that lies transposed already is only called so.
void TritonFront::transpose(const Op& o) {
  const Value& from = *o.operands[0];
  get(from, o);
  const Layout layout = known(from).layout;
  Known& to = known(*o.result());
  if (layout == Layout::kTiled) to = {known(from).data, Layout::kTransposed};
  if (layout == Layout::kTransposed) to = {known(from).data, Layout::kTiled};
  if (layout == Layout::kUniform) to = known(from);
}

void TritonFront::reduce(const Op& o) {
  static const std::vector<std::pair<std::string_view, Opcode>> kCombiners = {
      {"arith.addf", Opcode::kVAdd},    {"arith.maximumf", Opcode::kVMax},
      {"arith.maxnumf", Opcode::kVMax}, {"arith.minimumf", Opcode::kVMin},
      {"arith.minnumf", Opcode::kVMin}, {"arith.addi", Opcode::kVAdd},
      {"arith.maxsi", Opcode::kVMax},   {"arith.minsi", Opcode::kVMin},
      {"arith.mulf", Opcode::kVMul}};
  const kernel::Block& body = *o.regions[0]->blocks[0];
  const auto found = std::find_if(kCombiners.begin(), kCombiners.end(), [&](const auto& c) {
    return body.ops.size() == 2 && body.ops[0]->name() == c.first;
  });
  if (o.operands.size() != 1 || found == kCombiners.end()) {
    return refuse(o, "only reductions of one tile by one sum, maximum, minimum or product");
  }
  const Value& from = *o.operands[0];
  const std::int64_t axis = o.int_attr("axis");
  const bool flat = from.type->shape.size() == 1;
  ValueId v = get(from, o, flat ? Layout::kUniform : Layout::kTiled);
  const Layout have = flat ? known(from).layout : Layout::kTiled;
  TileOp::Axis over = axis == 1 ? TileOp::Axis::kColumns : TileOp::Axis::kRows;
  if (flat) over = TileOp::Axis::kBoth;
  TileOp op;
  op.grid = flat ? build_.value(v).grid : grid_of(*from.type, have, element(from, o));
  op.operands[0] = v;
  known(*o.result()) = {build_.reduce(found->second, element(from, o), over, std::move(op)),
                        flat        ? Layout::kUniform
                        : axis == 1 ? Layout::kColumn
                                    : Layout::kRow};
}

void TritonFront::nothing(const Op&) {}

TritonFront::Handler TritonFront::handler(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Handler>> kHandlers = {
      {"arith.constant", &TritonFront::constant},
      {"tt.splat", &TritonFront::same},
      {"tt.expand_dims", &TritonFront::expand_dims},
      {"tt.broadcast", &TritonFront::same},
      {"tt.trans", &TritonFront::transpose},
      {"tt.dot", &TritonFront::dot},
      {"tt.load", &TritonFront::load},
      {"tt.store", &TritonFront::store},
      {"tt.atomic_rmw", &TritonFront::atomic},
      {"tt.reduce", &TritonFront::reduce},
      {"scf.for", &TritonFront::for_loop},
      {"scf.if", &TritonFront::if_else},
      {"scf.yield", &TritonFront::nothing},
      {"tt.return", &TritonFront::nothing},
  };
  const auto it = std::find_if(kHandlers.begin(), kHandlers.end(),
                               [&](const auto& h) { return h.first == name; });
  return it == kHandlers.end() ? nullptr : it->second;
}

std::string refuse_triton(const Op& op) {
  if (elementwise_handler(op.name()) || TritonFront::handler(op.name())) return "";
  static constexpr std::array<std::string_view, 9> kIndexOps = {
      "tt.get_program_id", "tt.get_num_programs", "tt.make_range", "tt.addptr",  "tt.reduce.return",
      "arith.divsi",       "arith.remsi",         "arith.divui",   "arith.remui"};
  if (std::find(kIndexOps.begin(), kIndexOps.end(), op.name()) != kIndexOps.end()) return "";
  if (op.name() == "scf.while" || op.name().substr(0, 3) == "cf.") {
    return "loops whose end depends on data are not modelled on the TPU";
  }
  return "this TPU model has no code for it";
}

Expected<KernelPlan> plan_triton(const exec::Launch& launch, const exec::Prepared& prepared,
                                 const CoreParams& core) {
  return TritonFront(launch, prepared, core).run();
}

}  // namespace xpusim::tpu
