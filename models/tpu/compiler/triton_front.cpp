#include "models/tpu/compiler/triton_front.h"

#include <fmt/format.h>

#include <algorithm>

namespace xpusim::tpu {
namespace {

using kernel::Op;
using kernel::TypeKind;
using kernel::Value;

bool is_tensor(const Value& v) { return v.type->kind == TypeKind::kTensor; }

/// arith.cmpi predicates, as MLIR numbers them.
enum Predicate : std::int64_t { kEq, kNe, kSlt, kSle, kSgt, kSge, kUlt, kUle, kUgt, kUge };

std::int64_t predicate_of(const Op& op) {
  const kernel::Attr a = op.attr("predicate");
  if (!a) return -1;
  if (a->kind == kernel::AttrKind::kInteger) return a->integer;
  static constexpr std::array<std::string_view, 10> kNames = {"eq",  "ne",  "slt", "sle", "sgt",
                                                              "sge", "ult", "ule", "ugt", "uge"};
  const std::string_view text = a->string.empty() ? std::string_view(a->text) : a->string;
  const auto it = std::find(kNames.begin(), kNames.end(), text);
  return it == kNames.end() ? -1 : it - kNames.begin();
}

}  // namespace

TritonFront::TritonFront(const exec::Launch& launch, const CoreParams& core)
    : launch_(launch),
      function_(*launch.function),
      lines_(plan_.program),
      build_(plan_.function, core) {
  plan_.program.name = launch.function->name;
  known_.resize(function_.value_count);
  plan_.grid = {launch.grid[2], launch.grid[1], launch.grid[0]};  // x runs fastest
}

Expected<KernelPlan> TritonFront::run() {
  arguments();
  for (const auto& o : function_.entry().ops) op(*o);
  if (problems_.has_errors()) return fail(std::move(problems_));
  return std::move(plan_);
}

void TritonFront::refuse(const Op& op, std::string reason) {
  problems_.error(op.line(), fmt::format("'{}': {}", op.name(), reason));
}

void TritonFront::arguments() {
  for (std::size_t a = 0; a < function_.arg_count(); ++a) {
    const Value& v = *function_.entry().args[a];
    if (a >= launch_.args.size()) continue;
    const exec::Argument& argument = launch_.args[a];
    if (argument.kind == exec::Argument::Kind::kFloat) {
      known(v).data = build_.scalar(Element::kF32);
      continue;
    }
    AffineForm f;
    if (argument.kind == exec::Argument::Kind::kPointer) {
      f.pointer = static_cast<std::int32_t>(a);
    } else {
      f.base = argument.bits;
    }
    known(v).form = f;
  }
}

VregGrid TritonFront::grid_of(const kernel::TypeData& type) {
  const std::int64_t per_register = kLanes * kSublanes;
  if (type.shape.size() <= 1) return {1, (type.count() + per_register - 1) / per_register};
  return vreg_grid(type.shape[0], type.shape[1], element_of(type.dtype));
}

TritonFront::Layout TritonFront::layout_of(const kernel::TypeData& type) {
  if (type.kind != TypeKind::kTensor) return Layout::kUniform;
  return type.shape.size() <= 1 ? Layout::kFlat : Layout::kTiled;
}

void TritonFront::op(const Op& o) {
  build_.at_line(lines_.line(o.line()));
  if (affine_arithmetic(o)) return;
  if (Handler h = handler(o.name())) return (this->*h)(o);
  if (elementwise_handler(o.name())) return elementwise(o);
  refuse(o, refuse_triton(o));
}

/// Integer arithmetic whose result is still affine costs nothing here: it becomes the address of a
/// window.
bool TritonFront::affine_arithmetic(const Op& o) {
  if (o.operands.size() != 2 || o.results.size() != 1) return false;
  const auto &a = known(*o.operands[0]).form, &b = known(*o.operands[1]).form;
  if (!a || !b) return false;
  std::optional<AffineForm> r;
  if (o.name() == "arith.addi" || o.name() == "tt.addptr") r = add(*a, *b);
  if (o.name() == "arith.subi") r = add(*a, *b, -1);
  if (o.name() == "arith.muli") r = multiply(*a, *b);
  if (!r) return false;
  known(*o.result()).form = r;
  return true;
}

void TritonFront::elementwise(const Op& o) {
  std::vector<ValueId> operands;
  Layout layout = Layout::kUniform;
  for (const Value* v : o.operands) {
    operands.push_back(data(*v, o));
    const Layout own = known(*v).layout;
    if (layout != Layout::kUniform && own != Layout::kUniform && own != layout &&
        layout != Layout::kTiled && own != Layout::kTiled) {
      return refuse(o, "its operands lie differently over the lanes; moving them is not modelled");
    }
    if (layout == Layout::kUniform || own == Layout::kTiled) layout = own;
  }
  const Element e = element_of(o.result()->type->dtype);
  if (e == Element::kNone && is_tensor(*o.result())) {
    return refuse(
        o, fmt::format("the TPU's vector unit has no {}", kernel::name(o.result()->type->dtype)));
  }
  known(*o.result()).data = elementwise_handler(o.name())(build_, operands, e);
  known(*o.result()).layout = layout;
}

void TritonFront::constant(const Op& o) {
  const kernel::Attr value = o.attr("value");
  const kernel::DType dtype = o.result()->type->dtype;
  std::optional<std::int64_t> integer;
  if (value && value->kind == kernel::AttrKind::kInteger) integer = value->integer;
  if (value && value->kind == kernel::AttrKind::kBool) integer = value->integer;
  if (value && value->kind == kernel::AttrKind::kDenseElements) {
    if (!value->splat && value->ints.size() > 1) {
      return refuse(o, "only constants that are the same in every lane can be made without VMEM");
    }
    if (!value->ints.empty()) integer = value->ints[0];
  }
  if (kernel::is_integer(dtype) && integer) {
    AffineForm f;
    f.base = *integer;
    f.element.resize(o.result()->type->shape.size(), 0);
    known(*o.result()).form = f;
  } else {
    known(*o.result()).data = build_.constant(element_of(dtype));
  }
}

void TritonFront::program_id(const Op& o) {
  AffineForm f;
  const kernel::Attr axis = o.attr("axis");
  std::int64_t k = axis ? axis->integer : 0;
  if (axis && (axis->text == "y" || axis->string == "y")) k = 1;
  if (axis && (axis->text == "z" || axis->string == "z")) k = 2;
  if (k < 0 || k > 2) return refuse(o, "a grid has three dimensions");
  f.program[static_cast<std::size_t>(k)] = 1;
  known(*o.result()).form = f;
}

void TritonFront::make_range(const Op& o) {
  AffineForm f;
  f.base = o.int_attr("start");
  f.element = {1};
  known(*o.result()).form = f;
}

void TritonFront::splat(const Op& o) {
  known(*o.result()) = known(*o.operands[0]);
  if (known(*o.result()).form) {
    known(*o.result()).form->element.resize(o.result()->type->shape.size(), 0);
  }
}

void TritonFront::expand_dims(const Op& o) {
  const Known from = known(*o.operands[0]);
  const auto axis = static_cast<std::size_t>(o.int_attr("axis"));
  const auto insert = [&](AffineForm f) {
    f.element.resize(o.operands[0]->type->shape.size(), 0);
    f.element.insert(f.element.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    return f;
  };
  Known& to = known(*o.result());
  if (from.form) {
    to.form = insert(*from.form);
  } else if (from.mask) {
    to.mask.emplace();
    for (const AffineForm& f : from.mask->below) to.mask->below.push_back(insert(f));
  } else {
    to = from;
    const bool column = from.layout == Layout::kColumn && axis == 1;
    const bool row = from.layout == Layout::kRow && axis == 0;
    if (!column && !row && from.layout != Layout::kUniform) {
      refuse(o,
             "making rows or columns of a flat tile moves data between lanes, which is not "
             "modelled");
    }
  }
}

/// What changes neither an address nor a mask; data is converted.
void TritonFront::same(const Op& o) {
  const Known& from = known(*o.operands[0]);
  if (!from.form && !from.mask && elementwise_handler(o.name())) return elementwise(o);
  known(*o.result()) = Known(from);
}

/// Comparisons of affine values are masks: below zero where they hold.
void TritonFront::compare(const Op& o) {
  const auto &a = known(*o.operands[0]).form, &b = known(*o.operands[1]).form;
  if (!a || !b) return elementwise(o);
  const std::int64_t p = predicate_of(o);
  const bool less = p == kSlt || p == kSle || p == kUlt || p == kUle;
  const bool greater = p == kSgt || p == kSge || p == kUgt || p == kUge;
  std::optional<AffineForm> f = less ? add(*a, *b, -1) : greater ? add(*b, *a, -1) : std::nullopt;
  if (!f) return elementwise(o);
  if (p == kSle || p == kSge || p == kUle || p == kUge) f->base -= 1;
  known(*o.result()).mask = AffineMask{{*f}};
}

void TritonFront::both(const Op& o) {
  const auto &a = known(*o.operands[0]).mask, &b = known(*o.operands[1]).mask;
  if (!a || !b) return elementwise(o);
  AffineMask m = *a;
  m.below.insert(m.below.end(), b->below.begin(), b->below.end());
  known(*o.result()).mask = std::move(m);
}

/// A value as data in registers; what was only an address or a mask so far is computed now.
ValueId TritonFront::data(const Value& v, const Op& op) {
  Known& k = known(v);
  if (k.data != kNoValue) return k.data;
  const VregGrid grid = grid_of(*v.type);
  if (k.form && k.form->pointer >= 0) {
    refuse(op, "addresses as data are not modelled");
  } else if (k.form && k.form->is_constant()) {
    k.data = build_.constant(element_of(v.type->dtype));
    return k.data;
  } else if (k.form && !is_tensor(v)) {
    k.data = build_.scalar(Element::kI32);
    build_.scalar_op(Opcode::kSAdd, {}, k.data);
    return k.data;
  }
  if (!is_tensor(v) || (!k.form && !k.mask)) {
    k.data = build_.scalar(Element::kI32);
    return k.data;
  }
  const ValueId lane = build_.generate(Opcode::kVLaneId, Element::kI32, grid);
  const ValueId offset = build_.scalar(Element::kI32);
  k.layout = layout_of(*v.type);
  k.data = k.mask ? build_.compare(Opcode::kVCompare, Element::kI32, {lane, offset})
                  : build_.compute(Opcode::kVAdd, Element::kI32, {lane, offset});
  return k.data;
}

void TritonFront::nothing(const Op&) {}

TritonFront::Handler TritonFront::handler(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Handler>> kHandlers = {
      {"arith.constant", &TritonFront::constant},
      {"arith.cmpi", &TritonFront::compare},
      {"arith.andi", &TritonFront::both},
      {"arith.extsi", &TritonFront::same},
      {"arith.extui", &TritonFront::same},
      {"arith.trunci", &TritonFront::same},
      {"arith.index_cast", &TritonFront::same},
      {"tt.get_program_id", &TritonFront::program_id},
      {"tt.make_range", &TritonFront::make_range},
      {"tt.splat", &TritonFront::splat},
      {"tt.expand_dims", &TritonFront::expand_dims},
      {"tt.broadcast", &TritonFront::same},
      {"tt.addptr", &TritonFront::nothing},  // an address that is not affine: its use is refused
      {"tt.load", &TritonFront::load},
      {"tt.store", &TritonFront::store},
      {"tt.reduce", &TritonFront::reduce},
      {"tt.return", &TritonFront::nothing},
  };
  const auto it = std::find_if(kHandlers.begin(), kHandlers.end(),
                               [&](const auto& h) { return h.first == name; });
  return it == kHandlers.end() ? nullptr : it->second;
}

std::string refuse_triton(const Op& op) {
  if (elementwise_handler(op.name()) || TritonFront::handler(op.name())) return "";
  if (op.name() == "tt.reduce.return") return "";
  if (op.name() == "tt.dot") return "the matrix unit is not modelled";
  if (op.name().substr(0, 4) == "scf." || op.name().substr(0, 3) == "cf.") {
    return "windows follow the grid alone; loops and branches of a Triton program are not modelled "
           "on the TPU";
  }
  return "this TPU model has no code for it";
}

Expected<KernelPlan> plan_triton(const exec::Launch& launch, const CoreParams& core) {
  return TritonFront(launch, core).run();
}

}  // namespace xpusim::tpu
