#include "sim/kernel/printer/printer.h"

#include <algorithm>

#include "sim/kernel/grammar/grammar.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel {
namespace {

/// Results that share a name are one group, printed "%name:3" and used as "%name#1".
std::size_t group_end(const Op& op, std::size_t first) {
  std::size_t end = first + 1;
  while (end < op.results.size() && op.results[end]->name == op.results[first]->name) ++end;
  return end;
}

std::size_t group_begin(const Op& op, std::size_t index) {
  while (index > 0 && op.results[index - 1]->name == op.results[index]->name) --index;
  return index;
}

bool is_number(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Printer::Printer(const Module& module) : module_(module) {
  for (const auto& [name, attr] : module.aliases) {
    names_.attrs.emplace(attr, name);
    alias_attrs_.emplace(name, attr);
  }
  for (const auto& [name, type] : module.type_aliases) {
    names_.types.emplace(type, name);
    alias_types_.emplace(name, type);
  }
  for (const auto& [name, loc] : module.loc_aliases) {
    names_.locs.emplace(loc, name);
    alias_locs_.emplace(name, loc);
  }
}

void Printer::alias_line(const std::string& name) {
  out_ += name + " = ";
  if (const auto it = alias_attrs_.find(name); it != alias_attrs_.end()) {
    spell_attr_body(out_, *it->second, &names_);
  } else if (const auto type = alias_types_.find(name); type != alias_types_.end()) {
    spell_type_body(out_, *type->second, &names_);
  } else if (const auto loc = alias_locs_.find(name); loc != alias_locs_.end()) {
    out_ += "loc(";
    spell_loc_body(out_, *loc->second, &names_);
    out_ += ')';
  }
  out_ += '\n';
}

/// Attributes and types that the text did not have come first, then what stood before the module.
void Printer::leading_aliases() {
  const auto& leading = module_.leading_aliases;
  const auto is_new = [&](const std::string& name) {
    return std::find(leading.begin(), leading.end(), name) == leading.end();
  };
  for (const auto& [name, attr] : module_.aliases) {
    if (is_new(name)) alias_line(name);
  }
  for (const auto& [name, type] : module_.type_aliases) {
    if (is_new(name)) alias_line(name);
  }
  for (const auto& name : leading) alias_line(name);
}

void Printer::trailing_aliases() {
  const std::unordered_set<std::string_view> printed(module_.leading_aliases.begin(),
                                                     module_.leading_aliases.end());
  for (const auto& [name, loc] : module_.loc_aliases) {
    if (!printed.contains(name)) alias_line(name);
  }
}

std::string Printer::print() {
  leading_aliases();
  name_op(*module_.op);
  operation(*module_.op);
  trailing_aliases();
  return std::move(out_);
}

// --- names -------------------------------------------------------------------------------------

/// Gives a value the name of its text, or a free one.
void Printer::claim(const Value& value, std::vector<std::string>& claimed) {
  std::string name = value.name;
  if (name.empty() || (is_number(name) && visible_.contains(name))) {
    do name = std::to_string(next_number_++);
    while (visible_.contains(name));
  } else if (visible_.contains(name)) {
    std::uint64_t suffix = 0;
    do name = value.name + "_" + std::to_string(suffix++);
    while (visible_.contains(name));
  }
  visible_.insert(name);
  claimed.push_back(name);
  value_names_[&value] = std::move(name);
}

void Printer::name_op(const Op& op) {
  for (std::size_t i = 0; i < op.regions.size(); ++i) {
    if (!op.info->isolates(i)) {
      name_region(*op.regions[i]);
      continue;
    }
    auto visible = std::move(visible_);
    const auto number = next_number_;
    visible_.clear();
    next_number_ = 0;
    name_region(*op.regions[i]);
    visible_ = std::move(visible);
    next_number_ = number;
  }
}

void Printer::name_region(const Region& region) {
  std::vector<std::string> claimed;
  const auto number = next_number_;
  std::size_t unlabelled = 0;
  for (const auto& block : region.blocks) {
    labels_[block.get()] = block->label.empty() ? "bb" + std::to_string(unlabelled) : block->label;
    ++unlabelled;
    if (!block->ops.empty()) {
      for (const Block* to : block->ops.back()->successors)
        predecessors_[to].push_back(block.get());
    }
    for (const auto& arg : block->args) claim(*arg, claimed);
    for (const auto& op : block->ops) {
      for (std::size_t i = 0; i < op->results.size(); i = group_end(*op, i))
        claim(*op->results[i], claimed);
      name_op(*op);
    }
  }
  for (const auto& name : claimed) visible_.erase(name);
  next_number_ = number;
}

// --- values, types, attributes -----------------------------------------------------------------

void Printer::operand(const Value* value) {
  if (!value->def) {
    argument_name(*value);
    return;
  }
  const Op& def = *value->def;
  const std::size_t first = group_begin(def, value->index);
  out_ += '%';
  out_ += value_names_[def.results[first].get()];
  if (group_end(def, first) - first > 1) out_ += '#' + std::to_string(value->index - first);
}

void Printer::operands(std::span<Value* const> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out_ += ", ";
    operand(values[i]);
  }
}

void Printer::argument_name(const Value& value) {
  out_ += '%';
  out_ += value_names_[&value];
}

void Printer::types(const std::vector<Type>& types) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i) out_ += ", ";
    type(types[i]);
  }
}

void Printer::types_of(std::span<Value* const> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) out_ += ", ";
    type(values[i]->type);
  }
}

void Printer::result_types(const std::vector<Type>& list) {
  const bool bare = list.size() == 1 && list[0]->kind != TypeKind::kFunction;
  if (!bare) out_ += '(';
  types(list);
  if (!bare) out_ += ')';
}

void Printer::signature(const Op& op) {
  out_ += '(';
  types_of(op.operands);
  out_ += ") -> ";
  std::vector<Type> results;
  for (const auto& r : op.results) results.push_back(r->type);
  result_types(results);
}

void Printer::attr_dict(const Op& op, std::span<const std::string> elided,
                        std::string_view keyword) {
  std::vector<std::pair<std::string, Attr>> shown;
  for (const auto& entry : op.attrs) {
    if (entry.first == "operandSegmentSizes") continue;
    if (std::find(elided.begin(), elided.end(), entry.first) == elided.end())
      shown.push_back(entry);
  }
  if (shown.empty()) return;
  if (!keyword.empty()) {
    out_ += ' ';
    out_ += keyword;
  }
  out_ += ' ';
  spell_fields(out_, shown, &names_);
}

// --- ops and regions ---------------------------------------------------------------------------

void Printer::location(Loc loc) {
  if (!loc) return;
  out_ += ' ';
  spell_loc(out_, loc, &names_);
}

void Printer::argument(const Value& value, Attr attrs) {
  argument_name(value);
  out_ += ": ";
  type(value.type);
  if (attrs && !attrs->fields.empty()) {
    out_ += ' ';
    spell_fields(out_, attrs->fields, &names_);
  }
  if (!value.loc) return;
  out_ += " loc(";  // an argument's own location is always written out
  spell_loc_body(out_, *value.loc, &names_);
  out_ += ')';
}

void Printer::new_line() {
  out_ += '\n';
  indent();
}

void Printer::successor(const Block& block) {
  out_ += '^';
  out_ += labels_[&block];
}

void Printer::block_label(const Block& block) {
  indent();
  successor(block);
  if (!block.args.empty()) {
    out_ += '(';
    for (std::size_t i = 0; i < block.args.size(); ++i) {
      if (i) out_ += ", ";
      argument(*block.args[i]);
    }
    out_ += ')';
  }
  out_ += ':';
  predecessors(block);
  out_ += '\n';
}

void Printer::predecessors(const Block& block) {
  const std::vector<const Block*>& from = predecessors_[&block];
  if (from.empty()) {
    const bool is_entry = block.parent && block.parent->blocks.front().get() == &block;
    if (!is_entry) out_ += "  // no predecessors";
    return;
  }
  out_ += from.size() == 1 ? "  // pred: " : "  // " + std::to_string(from.size()) + " preds: ";
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i) out_ += ", ";
    successor(*from[i]);
  }
}

void Printer::region(const Region& region, bool show_entry, bool hide_yield) {
  out_ += "{\n";
  for (std::size_t i = 0; i < region.blocks.size(); ++i) {
    const Block& block = *region.blocks[i];
    if (i > 0 || (show_entry && !block.args.empty())) block_label(block);
    ++depth_;
    for (const auto& op : block.ops) {
      if (hide_yield && op == block.ops.back() && op->operands.empty() && op->attrs.empty() &&
          !op->loc)
        continue;
      indent();
      operation(*op);
    }
    --depth_;
  }
  indent();
  out_ += '}';
}

void Printer::result_names(const Op& op) {
  if (op.results.empty()) return;
  for (std::size_t i = 0; i < op.results.size();) {
    const std::size_t end = group_end(op, i);
    if (i) out_ += ", ";
    out_ += '%' + value_names_[op.results[i].get()];
    if (end - i > 1) out_ += ':' + std::to_string(end - i);
    i = end;
  }
  out_ += " = ";
}

void Printer::generic(const Op& op) {
  out_ += '"' + op.info->name + "\"(";
  operands(op.operands);
  out_ += ')';
  for (std::size_t i = 0; i < op.successors.size(); ++i) {
    out_ += i ? ", " : "[";
    successor(*op.successors[i]);
  }
  if (!op.successors.empty()) out_ += ']';
  const auto split =
      op.attrs.begin() + std::min<std::ptrdiff_t>(op.property_count, std::ssize(op.attrs));
  if (split != op.attrs.begin()) {
    out_ += " <";
    spell_fields(out_, {op.attrs.begin(), split}, &names_);
    out_ += '>';
  }
  for (std::size_t i = 0; i < op.regions.size(); ++i) {
    out_ += i ? ", " : " (";
    region(*op.regions[i], true);
  }
  if (!op.regions.empty()) out_ += ')';
  if (split != op.attrs.end()) {
    out_ += ' ';
    spell_fields(out_, {split, op.attrs.end()}, &names_);
  }
  out_ += " : ";
  signature(op);
}

void Printer::operation(const Op& op) {
  result_names(op);
  if (op.generic_form || !op.info->grammar) {
    generic(op);
  } else {
    out_ += op.info->spelling;
    op.info->grammar->print(*this, op);
  }
  location(op.loc);
  out_ += '\n';
}

std::string print_module(const Module& module) { return Printer(module).print(); }

}  // namespace xpusim::kernel
