#include "models/gpu/compiler/lowering/lowering.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/merge.h"

namespace xpusim::gpu {
namespace {

void walk(const kernel::Region& region, const std::function<void(const kernel::Op&)>& visit) {
  for (const auto& block : region.blocks) {
    for (const auto& op : block->ops) {
      visit(*op);
      for (const auto& inner : op->regions) walk(*inner, visit);
    }
  }
}

/// Whether a form is one number in all threads and registers: instructions take it as an immediate.
bool is_constant(const IndexForm& form) {
  return form.scalar == kNoScalar && std::all_of(form.factors.begin(), form.factors.end(),
                                                 [](std::int64_t f) { return f == 0; });
}

}  // namespace

Lowering::Lowering(const kernel::Module& module, const kernel::Function& function,
                   const SiteOf& site_of, const WarpGroups& groups, std::size_t group,
                   KernelTables& tables)
    : module_(module),
      function_(function),
      site_of_(site_of),
      groups_(groups),
      group_(groups.groups[group]),
      out_(tables),
      builder_(code_),
      scalars_(builder_),
      index_math_(builder_, scalars_, groups.specialize ? &group_ : nullptr),
      cache_policies_(builder_),
      shared_plan_(function),
      uniform_(function),
      even_(function),
      states_(function.value_count),
      uses_(function.value_count) {}

int Lowering::capability() const {
  const std::string_view target = module_.op->str_attr("ttg.target");
  int number = 0;
  for (char c : target.substr(std::min(target.size(), target.find(':') + 1))) {
    number = number * 10 + (c - '0');
  }
  return number;
}

bool Lowering::error(const kernel::Op& op, std::string message) {
  diagnostics_.error(op.text, std::move(message));
  return false;
}

void Lowering::count_uses(const kernel::Region& body) {
  walk(body, [&](const kernel::Op& op) {
    for (const kernel::Value* v : op.operands) uses_[v->id].push_back(&op);
  });
}

bool Lowering::is_last_use(const kernel::Value& value, const kernel::Op& op) const {
  for (const kernel::Op* user : uses_[value.id]) {
    if (user->id > op.id) return false;
  }
  return true;
}

void Lowering::bind_arguments() {
  for (const auto& arg : function_.entry().args) {
    ValueState& s = states_[arg->id];
    const ScalarId id = scalars_.parameter(arg->index);
    if (arg->type->is_pointer_like()) {
      s.kind = ValueKind::kPointer;
      s.base = id;
      s.bytes = kernel::pointee_bytes(arg->type);
    } else if (arg->type->kind == kernel::TypeKind::kTensorDesc) {
      s.kind = ValueKind::kPointer;
      s.base = id;
      s.bytes = 1;
    } else if (kernel::is_integer(arg->type->dtype)) {
      s.kind = ValueKind::kIndex;
      s.index.scalar = id;
    } else {
      // A float parameter: one constant load where it is used.
      s.kind = ValueKind::kElements;
      s.elements = {};
    }
  }
}

const kernel::Op* Lowering::first_located(const kernel::Op& op) {
  if (!kernel::user_line(op.loc).file.empty()) return &op;
  if (const auto known = located_.find(&op); known != located_.end()) return known->second;
  const kernel::Op* found = nullptr;
  for (const auto& result : op.results) {
    for (const kernel::Op* user : uses_[result->id]) {
      if (!found) found = first_located(*user);
    }
  }
  return located_[&op] = found;
}

std::uint32_t Lowering::line_of(const kernel::Op& op) {
  if (const kernel::Op* located = first_located(op)) return line_number(located->line());
  const SourcePosition function = kernel::user_line(function_.op->loc);
  return line_number(function.file.empty() ? op.text : function);
}

std::uint32_t Lowering::line_number(const SourcePosition& at) {
  auto& lines = out_.lines;
  for (std::size_t i = lines.size(); i-- > 0;) {
    if (lines[i].line == at.line && lines[i].column == at.column && lines[i].file == at.file) {
      return static_cast<std::uint32_t>(i);
    }
  }
  lines.push_back(at);
  return static_cast<std::uint32_t>(lines.size() - 1);
}

bool Lowering::lower(const kernel::Op& op) {
  builder_.set_line(line_of(op));
  current_ = &op;
  return find_lowering(op.name())(*this, op);
}

bool Lowering::refuse_unknown_ops(const kernel::Region& body) {
  bool fine = true;
  walk(body, [&](const kernel::Op& op) {
    if (!is_lowered(op.name())) {
      fine = error(op, fmt::format("'{}' is not yet lowered for the GPU", op.name()));
    }
  });
  return fine;
}

void Lowering::lower_function() {
  builder_.set_line(line_of(*function_.op));
  builder_.emit(Opcode::kLdc, "LDC", {}, {}, kStackPointerParameter);  // the stack pointer, R1
  if (groups_.specialize != nullptr) begin_function_warps(*this);
  if (function_.op->regions[0]->blocks.size() != 1) {
    lower_blocks(*this, *function_.op->regions[0]);
    return;
  }
  for (const auto& op : function_.entry().ops) {
    if (!lower(*op)) return;  // what follows may need what is missing
  }
}

Expected<MachineCode> Lowering::run() {
  count_uses(*function_.op->regions[0]);
  refuse_unknown_ops(*function_.op->regions[0]);
  if (diagnostics_.has_errors()) return fail(std::move(diagnostics_));
  bind_arguments();
  if (&group_ == groups_.groups.data()) {
    lower_function();
  } else {
    builder_.set_line(line_of(*groups_.specialize));
    lower_partition(*this);
  }
  if (diagnostics_.has_errors()) return fail(std::move(diagnostics_));
  lift_shared_values(code_, conditional_blocks);
  out_.shared_bytes = std::max({out_.shared_bytes, shared_bytes_, shared_plan_.bytes()});
  return std::move(code_);
}

const kernel::LinearLayout* Lowering::layout(kernel::Type type, const kernel::Op& op) {
  auto& slot = layouts_[{type->encoding, type->shape}];
  if (!slot) {
    auto made = kernel::linear_layout(type->encoding, type->shape, op.text);
    if (!made) {
      diagnostics_.append(made.error());
      return nullptr;
    }
    if (static_cast<int>(made->warp_count()) != group_.warps ||
        made->lane_count() != static_cast<std::uint32_t>(kWarpLanes)) {
      error(op, fmt::format("the layout {} is for {} warps of {} lanes, not {} of {}",
                            type->encoding->text, made->warp_count(), made->lane_count(),
                            group_.warps, kWarpLanes));
      return nullptr;
    }
    slot = std::make_unique<kernel::LinearLayout>(std::move(*made));
  }
  return slot.get();
}

void Lowering::set_elements(const kernel::Value& value, const kernel::LinearLayout* layout,
                            std::vector<Element> elements) {
  ValueState& s = state(value);
  s.kind = ValueKind::kElements;
  s.layout = layout;
  s.elements = std::move(elements);
}

const std::vector<Element>& Lowering::elements(const kernel::Value& value) {
  ValueState& s = state(value);
  if (s.kind == ValueKind::kElements && s.elements.empty() && !value.def) {
    const std::uint32_t number = kernel::source_of(value).index;
    s.elements = {{builder_.value(Opcode::kLdc, "LDC", {}, number)}};
  }
  if (s.kind == ValueKind::kPointer) return no_elements_;
  const bool is_assumed = s.kind == ValueKind::kMask && !assumed.empty();
  std::vector<Element>& made = is_assumed ? assumed_elements[&value] : s.elements;
  if (s.kind == ValueKind::kElements || !made.empty()) return made;
  const std::uint32_t count = s.layout ? s.layout->register_count() : 1;
  for (std::uint32_t r = 0; r < count; ++r) {
    Element e;
    if (s.kind == ValueKind::kMask && never_holds(value, r)) {
      e.bits = 0;
    } else if (s.kind == ValueKind::kMask) {
      e.reg = predicate(value, r);
      e.bits = e.reg == kNoVReg ? 1 : 0;
    } else if (is_constant(s.index)) {
      e.bits = static_cast<std::uint32_t>(s.index.offset);
    } else {
      e.reg = index_math_.index(s.index, r);
    }
    made.push_back(e);
  }
  return made;
}

VReg Lowering::in_register(const Element& element) {
  return element.is_constant() ? builder_.constant(element.bits) : whole(element).reg;
}

Element Lowering::whole(const Element& element) {
  if (element.is_constant() || element.shift == 0) return element;
  auto [it, fresh] = extracted_.try_emplace(element, kNoVReg);
  if (fresh) it->second = builder_.value(Opcode::kAlu, "PRMT", {element.reg}, element.shift);
  return {it->second};
}

/// scalar + offset + thread < bound: as a multiple of M plus less than M is below a multiple of M
/// just when the former is, the compiler compares the scalar alone.
Lowering::Known Lowering::simplify(const Comparison& c, std::uint32_t reg,
                                   Comparison& simpler) const {
  if (c.how != kernel::Compare::kSlt || !is_constant(c.right) || !c.left.layout)
    return Known::kNothing;
  const std::int64_t bound = c.right.offset;
  std::int64_t most = IndexMath::register_offset(c.left, reg);
  for (const auto* bases : {&c.left.layout->lanes, &c.left.layout->warps}) {
    for (const kernel::Basis& basis : *bases) {
      for (std::size_t d = 0; d < basis.size(); ++d) {
        if (c.left.factors[d] < 0) return Known::kNothing;
        most += c.left.factors[d] * basis[d];
      }
    }
  }
  if (c.left.scalar == kNoScalar) {
    if (IndexMath::register_offset(c.left, reg) >= bound) return Known::kFails;
    return most < bound ? Known::kHolds : Known::kNothing;
  }
  const std::int64_t multiple = scalars_.multiple_of(c.left.scalar);
  if (c.left.offset < 0 || most >= multiple || bound % multiple != 0) return Known::kNothing;
  if (scalars_.is_below(c.left.scalar, bound)) return Known::kHolds;
  simpler.how = c.how;
  simpler.left.scalar = c.left.scalar;
  simpler.right.offset = bound;
  return Known::kUniform;
}

VReg Lowering::high_half(const Element& element) {
  if (element.high != kNoVReg) return element.high;
  if (element.is_constant()) return builder_.constant(element.bits >> 31 != 0 ? ~0u : 0);
  return builder_.value(Opcode::kAlu, "SHF.R.S32.HI", {element.reg}, 31);
}

VReg Lowering::predicate(const kernel::Value& mask, std::uint32_t reg) {
  ValueState& s = state(mask);
  if (s.kind != ValueKind::kMask) {
    const auto& all = elements(mask);
    return all[std::min<std::size_t>(reg, all.size() - 1)].reg;
  }
  return predicate(s.comparisons, s.layout ? same_register(mask, *s.layout, reg) : reg);
}

bool Lowering::never_holds(const kernel::Value& mask, std::uint32_t reg) {
  const ValueState& s = state(mask);
  if (s.kind != ValueKind::kMask || !s.layout) return false;
  Comparison simpler;
  return std::any_of(s.comparisons.begin(), s.comparisons.end(), [&](const Comparison& c) {
    return simplify(c, reg, simpler) == Known::kFails;
  });
}

std::uint32_t Lowering::same_register(const kernel::Value& value,
                                      const kernel::LinearLayout& layout, std::uint32_t reg) {
  const kernel::AxisInfo& axes = axes_.of(value);
  for (std::size_t bit = 0; bit < layout.registers.size(); ++bit) {
    const kernel::Basis& basis = layout.registers[bit];
    bool same = true;
    for (std::size_t d = 0; d < basis.size() && same; ++d) {
      const std::int64_t run = d < axes.constancy.size() ? axes.constancy[d] : 1;
      same = basis[d] < (run & -run);
    }
    if (same) reg &= ~(1u << bit);
  }
  return reg;
}

VReg Lowering::predicate(std::span<const Comparison> comparisons, std::uint32_t reg, VReg also) {
  VReg previous = also;
  for (const Comparison& given : comparisons) {
    if (std::find(assumed.begin(), assumed.end(), given) != assumed.end()) continue;
    Comparison simpler;
    const Known known = simplify(given, reg, simpler);
    if (known == Known::kHolds) continue;
    const Comparison& c = known == Known::kUniform ? simpler : given;
    const VReg left = index_math_.index(c.left, reg);
    const bool immediate = is_constant(c.right);
    const VReg right = immediate ? kNoVReg : index_math_.index(c.right, reg);
    const auto key = std::tuple{left, right, previous, c.how, c.right.offset};
    auto [slot, fresh] = comparisons_.try_emplace(key, kNoVReg);
    if (fresh) {
      slot->second = builder_.predicate();
      const auto bits =
          static_cast<std::uint32_t>(c.right.offset) ^ (static_cast<std::uint32_t>(c.how) << 28);
      builder_.emit(Opcode::kAlu, "ISETP", {slot->second}, {left, right, previous}, bits);
      compare_uppers(c, left, right, slot->second);
    }
    previous = slot->second;
  }
  return previous;
}

/// Of a comparison with a counter of 64 bits: its upper halves, after the lower ones.
void Lowering::compare_uppers(const Comparison& c, VReg left, VReg right, VReg& predicate) {
  const VReg of_left = scalars_.upper_of(c.left.scalar),
             of_right = scalars_.upper_of(c.right.scalar);
  if (of_left == kNoVReg && of_right == kNoVReg) return;
  const VReg lower = std::exchange(predicate, builder_.predicate());
  builder_.emit(Opcode::kAlu, "ISETP.EX", {predicate},
                {upper(c.left, left, of_left), upper(c.right, right, of_right), lower});
}

/// The upper half of an index: the counter's own, with the carry of a sum, or the sign.
VReg Lowering::upper(const IndexForm& form, VReg low, VReg of_counter) {
  if (low == kNoVReg) return kNoVReg;
  if (of_counter != kNoVReg && scalars_.is_register(form.scalar, low)) return of_counter;
  auto [slot, fresh] = uppers_.try_emplace(low, kNoVReg);
  if (!fresh) return slot->second;
  if (of_counter == kNoVReg) return slot->second = high_half({low});
  return slot->second = builder_.value(Opcode::kFma, "IMAD.X", {low, of_counter});
}

VReg Lowering::tid_bits_clear(std::uint32_t bits) {
  auto [it, fresh] = tid_predicates_.try_emplace(bits, kNoVReg);
  if (fresh) {
    it->second = builder_.predicate();
    builder_.emit(Opcode::kAlu, "LOP3", {it->second}, {index_math_.tid()}, bits);
  }
  return it->second;
}

SiteLayout& Lowering::site_layout(std::uint32_t site) {
  if (out_.sites.size() <= site) out_.sites.resize(site + 1);
  return out_.sites[site];
}

VReg Lowering::descriptor() {
  if (descriptor_ == kNoVReg) {
    descriptor_ = builder_.uniform();
    builder_.emit(Opcode::kUniform, "ULDC.64", {descriptor_}, {}, kDescriptorParameter);
  }
  return descriptor_;
}

VReg Lowering::shared_base() {
  if (shared_base_ == kNoVReg) {
    const VReg cta = builder_.uniform(), window = builder_.uniform();
    shared_base_ = builder_.uniform();
    builder_.emit(Opcode::kS2ur, "S2UR", {cta}, {}, 0x100);
    builder_.emit(Opcode::kUniform, "UMOV", {window}, {}, 0x400);
    builder_.emit(Opcode::kUniform, "ULEA", {shared_base_}, {cta, window}, 0x18);
  }
  return shared_base_;
}

VReg Lowering::warp_number() {
  if (warp_number_ == kNoVReg) {
    const VReg number = builder_.value(Opcode::kAlu, "SHF", {index_math_.tid()}, 5);
    warp_number_ = builder_.uniform();
    builder_.emit(Opcode::kAlu, "R2UR", {warp_number_}, {number});
  }
  return warp_number_;
}

bool Lowering::combine(const kernel::Op& op, std::span<const Element> left,
                       std::span<const Element> right, std::vector<Element>& result) {
  const kernel::Block& body = *op.regions[0]->blocks[0];
  if (body.args.size() != left.size() + right.size()) {
    return error(op, "the combining region needs two arguments an operand");
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    set_elements(*body.args[i], nullptr, {left[i]});
    set_elements(*body.args[left.size() + i], nullptr, {right[i]});
  }
  for (const auto& inner : body.ops) {
    if (inner->name() == "tt.reduce.return" || inner->name() == "tt.scan.return") {
      result.clear();
      for (const kernel::Value* v : inner->operands) {
        const auto& all = elements(*v);
        if (all.empty()) return error(*inner, "the combining region returns no number");
        result.push_back(all[0]);
      }
      return true;
    }
    for (const auto& r : inner->results) state(*r) = {};
    if (!lower(*inner)) return false;
  }
  return error(op, "the combining region has no return");
}

bool Lowering::take_shared_dirty() { return std::exchange(shared_dirty_, true); }

void Lowering::meet() {
  const bool named = groups_.specialize != nullptr;
  if (named && group_.warps == 1) {  // a warp alone only waits for its lanes
    builder_.emit(Opcode::kNop, "NOP", {}, {}).effect = MemoryEffect::kBarrier;
  } else {
    meet_at(group_.barrier, named ? group_.warps : 0);
  }
}

void Lowering::meet_at(int number, int warps) {
  MachineInstruction& i = builder_.emit(Opcode::kBar, "BAR.SYNC.DEFER_BLOCKING", {}, {});
  i.effect = MemoryEffect::kBarrier;
  i.barrier = static_cast<std::uint8_t>(number);
  i.meeting = static_cast<std::uint8_t>(warps);
}

std::uint32_t Lowering::add_shared_lanes(SharedLanes lanes) {
  auto& all = out_.shared_lanes;
  auto at = std::find(all.begin(), all.end(), lanes);
  if (at == all.end()) at = all.insert(all.end(), std::move(lanes));
  return static_cast<std::uint32_t>(at - all.begin());
}

void Lowering::use_shared(std::int64_t bytes) {
  const std::int64_t others = current_ ? shared_plan_.bytes_at(*current_) : 0;
  shared_bytes_ = std::max(shared_bytes_, others + bytes);
}

VReg Lowering::uniform(const IndexForm& form) {
  ScalarId id = form.scalar;
  if (id == kNoScalar) {
    id = scalars_.constant(form.offset);
  } else if (form.offset != 0) {
    id = scalars_.add(id, scalars_.constant(form.offset));
  }
  return scalars_.uniform(id);
}

}  // namespace xpusim::gpu
