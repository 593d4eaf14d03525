#include "sim/kernel/grammar/type_rules.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace xpusim::kernel {
namespace {

[[noreturn]] void bad_definition(const std::string& what) {
  std::fprintf(stderr, "kernel: bad op definition: %s\n", what.c_str());
  std::abort();
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!trim(text).empty()) {
    const auto at = text.find(separator);
    parts.push_back(trim(text.substr(0, at)));
    if (at == std::string_view::npos) break;
    text.remove_prefix(at + 1);
  }
  return parts;
}

constexpr std::pair<std::string_view, TypeClass> kClassNames[] = {
    {"any", TypeClass::kAny},       {"int", TypeClass::kInt},
    {"float", TypeClass::kFloat},   {"number", TypeClass::kNumber},
    {"bool", TypeClass::kBool},     {"ptr", TypeClass::kPointer},
    {"shaped", TypeClass::kShaped}, {"tensor", TypeClass::kTensor},
    {"vector", TypeClass::kVector}, {"memdesc", TypeClass::kMemDesc},
    {"memref", TypeClass::kMemRef}, {"tensordesc", TypeClass::kTensorDesc},
    {"token", TypeClass::kToken},
};

TypeClass class_named(std::string_view name) {
  for (const auto& [known, type_class] : kClassNames) {
    if (known == name) return type_class;
  }
  bad_definition("no type class '" + std::string(name) + "'");
}

std::uint8_t slot_named(std::string_view name, const OpInfo& info) {
  for (std::size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].name == name) return static_cast<std::uint8_t>(i);
  }
  for (std::size_t i = 0; i < info.results.size(); ++i) {
    if (info.results[i].name == name) return static_cast<std::uint8_t>(info.operands.size() + i);
  }
  bad_definition("'" + info.name + "' has no group '" + std::string(name) + "'");
}

bool is_slot(std::string_view name, const OpInfo& info) {
  for (const auto& g : info.operands) {
    if (g.name == name) return true;
  }
  for (const auto& g : info.results) {
    if (g.name == name) return true;
  }
  return false;
}

/// `map` applied to a type, or null where it does not apply.
Type apply(Context& context, const TypeRule& rule, Type source) {
  switch (rule.map) {
    case TypeRule::Map::kSame:
      return source;
    case TypeRule::Map::kBool:
      return context.like(source, context.scalar(DType::kI1));
    case TypeRule::Map::kPointee: {
      const Type pointee = source->pointee();
      return pointee ? context.like(source, pointee) : nullptr;
    }
    case TypeRule::Map::kElement:
      return source->is_shaped() ? source->element : source;
    case TypeRule::Map::kBlock:
      return source->element;
    case TypeRule::Map::kFixed:
      return rule.fixed == "!token" ? context.token() : context.scalar(dtype_named(rule.fixed));
  }
  return nullptr;
}

bool same_frame(Type a, Type b) {
  return a->is_shaped() == b->is_shaped() && a->shape == b->shape && a->encoding == b->encoding &&
         (!a->is_shaped() || a->kind == b->kind);
}

/// Whether `target` is what the rule makes of `source`, without making it.
bool holds(const TypeRule& rule, Type target, Type source) {
  switch (rule.map) {
    case TypeRule::Map::kSame:
      return target == source;
    case TypeRule::Map::kBool:
      return same_frame(target, source) && target->dtype == DType::kI1;
    case TypeRule::Map::kPointee: {
      const Type pointee = source->pointee();
      if (!pointee) return false;
      return source->is_shaped() ? same_frame(target, source) && target->element == pointee
                                 : target == pointee;
    }
    case TypeRule::Map::kElement:
      return target == (source->is_shaped() ? source->element : source);
    case TypeRule::Map::kBlock:
      // The register tile of a block has a layout of its own.
      return source->element && source->element->shape == target->shape &&
             source->element->element == target->element;
    case TypeRule::Map::kFixed:
      return rule.fixed == "!token" ? target->kind == TypeKind::kToken : target->text == rule.fixed;
  }
  return true;
}

std::string what_is_right(const TypeRule& rule, const std::string& source_name, Type source) {
  switch (rule.map) {
    case TypeRule::Map::kSame:
      return "'" + source->text + "' like '" + source_name + "'";
    case TypeRule::Map::kBool:
      return "i1 in the shape and layout of '" + source_name + "'";
    case TypeRule::Map::kPointee:
      return "what '" + source_name + "' of type '" + source->text + "' points to";
    case TypeRule::Map::kElement:
      return "the element type of '" + source_name + "'";
    case TypeRule::Map::kBlock:
      return "the block of the descriptor '" + source_name + "'";
    case TypeRule::Map::kFixed:
      return "'" + rule.fixed + "'";
  }
  return "";
}

const ValueGroup& group_at(const OpInfo& info, std::size_t slot) {
  return slot < info.operands.size() ? info.operands[slot]
                                     : info.results[slot - info.operands.size()];
}

/// The number of results of each group: all beyond the single ones belong to the group that may
/// vary.
std::vector<std::size_t> result_counts(const OpInfo& info, std::size_t total) {
  std::vector<std::size_t> counts;
  std::size_t single = 0;
  for (const auto& g : info.results) single += g.arity == Arity::kOne;
  std::size_t rest = total > single ? total - single : 0;
  for (const auto& g : info.results) {
    counts.push_back(g.arity == Arity::kOne        ? 1
                     : g.arity == Arity::kOptional ? std::min<std::size_t>(rest, 1)
                                                   : rest);
    if (g.arity != Arity::kOne) rest -= counts.back();
  }
  return counts;
}

GroupTypes types_of(const Op& op) {
  GroupTypes types;
  for (std::size_t i = 0; i < op.info->operands.size(); ++i) {
    auto& list = types.emplace_back();
    for (const Value* v : op.group(i)) list.push_back(v->type);
  }
  std::size_t next = 0;
  for (const std::size_t count : result_counts(*op.info, op.results.size())) {
    auto& list = types.emplace_back();
    for (std::size_t i = 0; i < count && next < op.results.size(); ++i)
      list.push_back(op.results[next++]->type);
  }
  return types;
}

std::string check_counts(const Op& op) {
  const OpInfo& info = *op.info;
  std::size_t least = 0;
  bool open = false;
  for (const auto& g : info.operands) {
    least += g.arity == Arity::kOne;
    open = open || g.arity != Arity::kOne;
  }
  if (op.operands.size() < least || (!open && op.operands.size() > least)) {
    return "needs " + std::string(open ? "at least " : "") + std::to_string(least) +
           " operands, has " + std::to_string(op.operands.size());
  }
  std::size_t results = 0;
  for (const std::size_t count : result_counts(info, op.results.size())) results += count;
  if (results != op.results.size()) {
    return "has " + std::to_string(op.results.size()) + " results, should have " +
           std::to_string(results);
  }
  return "";
}

}  // namespace

std::vector<ValueGroup> parse_groups(std::string_view text) {
  std::vector<ValueGroup> groups;
  for (std::string_view part : split(text, ',')) {
    ValueGroup g;
    if (const auto colon = part.find(':'); colon != std::string_view::npos) {
      g.type_class = class_named(trim(part.substr(colon + 1)));
      part = trim(part.substr(0, colon));
    }
    if (part.ends_with('?')) g.arity = Arity::kOptional;
    if (part.ends_with('*')) g.arity = Arity::kVariadic;
    if (g.arity != Arity::kOne) part.remove_suffix(1);
    g.name = part;
    groups.push_back(std::move(g));
  }
  return groups;
}

std::vector<TypeRule> parse_type_rules(std::string_view text, const OpInfo& info) {
  using Map = TypeRule::Map;
  constexpr std::pair<std::string_view, Map> kMaps[] = {{"bool", Map::kBool},
                                                        {"pointee", Map::kPointee},
                                                        {"element", Map::kElement},
                                                        {"block", Map::kBlock}};
  std::vector<TypeRule> rules;
  for (const std::string_view part : split(text, ';')) {
    const auto equal = part.find('=');
    if (equal == std::string_view::npos)
      bad_definition("'" + info.name + "': type rule '" + std::string(part) + "'");
    TypeRule rule;
    rule.target = slot_named(trim(part.substr(0, equal)), info);
    const std::string_view value = trim(part.substr(equal + 1));
    if (const auto open = value.find('('); open != std::string_view::npos) {
      const std::string_view map = value.substr(0, open);
      for (const auto& [known, kind] : kMaps) {
        if (known == map) rule.map = kind;
      }
      if (rule.map == Map::kSame)
        bad_definition("'" + info.name + "': no type map '" + std::string(map) + "'");
      rule.source = slot_named(value.substr(open + 1, value.size() - open - 2), info);
    } else if (is_slot(value, info)) {
      rule.source = slot_named(value, info);
    } else {
      if (value != "!token" && dtype_named(value) == DType::kNone) {
        bad_definition("'" + info.name + "': no group or type '" + std::string(value) + "'");
      }
      rule.map = Map::kFixed;
      rule.source = rule.target;
      rule.fixed = value;
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

void infer_types(Context& context, const OpInfo& info, const std::vector<std::size_t>& counts,
                 GroupTypes& types) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const TypeRule& rule : info.type_rules) {
      auto& target = types[rule.target];
      auto& source = types[rule.source];
      const std::size_t count = counts[rule.target];
      if (rule.map == TypeRule::Map::kSame && source.empty() && !target.empty() &&
          counts[rule.source] == target.size()) {  // an equation holds both ways
        source = target;
        changed = true;
      }
      if (!target.empty() || count == 0) continue;
      if (rule.map != TypeRule::Map::kFixed && source.empty()) continue;
      std::vector<Type> inferred;
      for (std::size_t i = 0; i < count; ++i) {
        const Type from =
            rule.map == TypeRule::Map::kFixed ? nullptr : source[std::min(i, source.size() - 1)];
        const Type type = apply(context, rule, from);
        if (!type) break;
        inferred.push_back(type);
      }
      if (inferred.size() != count) continue;
      target = std::move(inferred);
      changed = true;
    }
  }
}

std::string check_types(const Op& op) {
  const OpInfo& info = *op.info;
  if (std::string problem = check_counts(op); !problem.empty()) return problem;
  if (info.has_segments() && op.segments.size() != info.operands.size())
    return "";  // built by hand, ungrouped
  const GroupTypes types = types_of(op);
  for (std::size_t slot = 0; slot < types.size(); ++slot) {
    const ValueGroup& g = group_at(info, slot);
    for (const Type type : types[slot]) {
      if (!belongs(type, g.type_class)) {
        return "needs '" + g.name + "' to be " + describe(g.type_class) + ", it is '" + type->text +
               "'";
      }
    }
  }
  for (const TypeRule& rule : info.type_rules) {
    const auto& targets = types[rule.target];
    const auto& sources = types[rule.source];
    for (std::size_t i = 0; i < targets.size() && !sources.empty(); ++i) {
      const Type source = sources[std::min(i, sources.size() - 1)];
      if (holds(rule, targets[i], source)) continue;
      return "needs '" + group_at(info, rule.target).name + "' to be " +
             what_is_right(rule, group_at(info, rule.source).name, source) + ", it is '" +
             targets[i]->text + "'";
    }
  }
  return "";
}

std::string assign_segments(Op& op) {
  const OpInfo& info = *op.info;
  if (!info.has_segments()) return "";
  const std::size_t total = op.operands.size();
  if (const Attr sizes = op.attr("operandSegmentSizes")) {
    std::size_t sum = 0;
    for (const auto size : sizes->int_list()) {
      if (size < 0 || static_cast<std::size_t>(size) > total)
        return "has wrong operandSegmentSizes";
      op.segments.push_back(static_cast<std::uint32_t>(size));
      sum += static_cast<std::size_t>(size);
    }
    const bool one_list =
        info.operands.size() == 1 && info.operands[0].arity == Arity::kVariadic && sum == total;
    if (one_list) op.segments.assign(1, static_cast<std::uint32_t>(total));
    if (op.segments.size() != info.operands.size() || sum != total)
      return "has wrong operandSegmentSizes";
    return "";
  }
  std::size_t single = 0;
  for (const auto& g : info.operands) single += g.arity == Arity::kOne;
  if (total < single)
    return "needs at least " + std::to_string(single) + " operands, has " + std::to_string(total);
  std::size_t rest = total - single;
  for (const auto& g : info.operands) {
    const std::size_t most = g.arity == Arity::kVariadic ? rest : std::min<std::size_t>(rest, 1);
    const std::size_t size = g.arity == Arity::kOne ? 1 : most;
    if (g.arity != Arity::kOne) rest -= size;
    op.segments.push_back(static_cast<std::uint32_t>(size));
  }
  return rest ? "has " + std::to_string(rest) + " operands too many" : "";
}

std::string describe(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kAny:
      return "anything";
    case TypeClass::kInt:
      return "an integer, an index, or a tensor or vector of them";
    case TypeClass::kFloat:
      return "a float, or a tensor or vector of them";
    case TypeClass::kNumber:
      return "a number, or a tensor or vector of them";
    case TypeClass::kBool:
      return "an i1, or a tensor or vector of them";
    case TypeClass::kPointer:
      return "a pointer or a tensor of pointers";
    case TypeClass::kShaped:
      return "a tensor or vector";
    case TypeClass::kTensor:
      return "a tensor";
    case TypeClass::kVector:
      return "a vector";
    case TypeClass::kMemDesc:
      return "a !ttg.memdesc";
    case TypeClass::kMemRef:
      return "a memref";
    case TypeClass::kTensorDesc:
      return "a !tt.tensordesc";
    case TypeClass::kToken:
      return "a token";
  }
  return "";
}

bool belongs(Type type, TypeClass type_class) {
  const bool values = type->kind == TypeKind::kScalar || type->kind == TypeKind::kTensor ||
                      type->kind == TypeKind::kVector;
  switch (type_class) {
    case TypeClass::kAny:
      return true;
    case TypeClass::kInt:
      return values && is_integer(type->dtype);
    case TypeClass::kFloat:
      return values && is_float(type->dtype);
    case TypeClass::kNumber:
      return values && type->dtype != DType::kNone;
    case TypeClass::kBool:
      return values && type->dtype == DType::kI1;
    case TypeClass::kPointer:
      return type->kind != TypeKind::kMemDesc && type->is_pointer_like();
    case TypeClass::kShaped:
      return type->kind == TypeKind::kTensor || type->kind == TypeKind::kVector;
    case TypeClass::kTensor:
      return type->kind == TypeKind::kTensor;
    case TypeClass::kVector:
      return type->kind == TypeKind::kVector;
    case TypeClass::kMemDesc:
      return type->kind == TypeKind::kMemDesc;
    case TypeClass::kMemRef:
      return type->kind == TypeKind::kMemRef;
    case TypeClass::kTensorDesc:
      return type->kind == TypeKind::kTensorDesc;
    case TypeClass::kToken:
      return type->kind == TypeKind::kToken;
  }
  return true;
}

}  // namespace xpusim::kernel
