#include <algorithm>

#include "sim/kernel/grammar/enums.h"
#include "sim/kernel/grammar/format_element.h"
#include "sim/kernel/grammar/type_rules.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

/// What one op's text has given so far.
struct Reading {
  Parser& parser;
  Op& op;
  std::vector<std::vector<Value*>> operands;  ///< by group
  std::vector<Token> first;                   ///< where each operand group begins
  GroupTypes types;
  std::vector<bool> typed;  ///< groups whose types the text has given
};

bool parse_keyword(Reading& r, const Element& e) {
  Parser& p = r.parser;
  const Token word = p.token();
  std::string choices;
  std::vector<std::string> known;
  for (const EnumCase& c : e.table->cases) {
    if ((p.at(TokenKind::kWord) || p.at(TokenKind::kString)) && word.text == c.keyword) {
      p.advance();
      r.op.attrs.emplace_back(e.text,
                              p.context().integer(c.value, p.context().scalar(e.table->type)));
      return true;
    }
    choices += (choices.empty() ? "" : ", ") + std::string(c.keyword);
    known.emplace_back(c.keyword);
  }
  if (!p.at(TokenKind::kWord)) return p.expected(e.text + ", one of: " + choices);
  return p.error(word, "unknown " + e.text + " '" + std::string(word.text) + "'" +
                           did_you_mean(word.text, known) + "; it is one of: " + choices);
}

/// <fast> or <fast,nnan>: the parameters of a dialect attribute, as they stand.
bool parse_params(Reading& r, const Element& e) {
  Parser& p = r.parser;
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = e.dialect_attr;
  if (!p.expect("<", "after '" + e.text + "'")) return false;
  while (!p.at(">")) {
    if (!p.at(TokenKind::kWord)) return p.expected("a flag of " + e.text);
    if (!data.body.empty()) data.body += ',';
    data.body += p.token().text;
    p.advance();
    if (!p.at(">") && !p.expect(",", "or '>' after a flag")) return false;
  }
  p.advance();
  r.op.attrs.emplace_back(e.text, p.context().attr(std::move(data)));
  return true;
}

bool parse_int_list(Reading& r, const Element& e) {
  Parser& p = r.parser;
  std::vector<std::int64_t> values;
  if (!p.expect("[", "before a list of numbers")) return false;
  while (!p.at("]")) {
    if (!values.empty() && !p.expect(",", "between numbers")) return false;
    if (!p.parse_int(values.emplace_back(), "a number")) return false;
  }
  p.advance();
  r.op.attrs.emplace_back(e.text,
                          p.context().int_array(std::move(values), p.context().scalar(e.number)));
  return true;
}

bool parse_attribute(Reading& r, const Element& e) {
  Parser& p = r.parser;
  Context& c = p.context();
  const auto add = [&](Attr attr) {
    if (attr) r.op.attrs.emplace_back(e.text, attr);
    return attr != nullptr;
  };
  std::string text;
  std::int64_t number = 0;
  switch (e.style) {
    case Style::kAny:
      return add(p.parse_attr());
    case Style::kEnum:
      return parse_keyword(r, e);
    case Style::kNumber:
      return p.parse_int(number, "a number") && add(c.integer(number, c.scalar(e.number)));
    case Style::kSymbol:
      return p.parse_symbol(text) && add(c.symbol(std::move(text)));
    case Style::kString:
      return p.parse_string(text, "a string") && add(c.string(std::move(text)));
    case Style::kType: {
      const Type type = p.parse_type();
      return type && add(c.type_attr(type));
    }
    case Style::kUnit:
      return add(c.unit());
    case Style::kIntList:
      return parse_int_list(r, e);
    case Style::kParams:
      return parse_params(r, e);
  }
  return false;
}

bool parse_group(Reading& r, const Element& e) {
  Parser& p = r.parser;
  r.first[e.slot] = p.token();
  const Arity arity = r.op.info->operands[e.slot].arity;
  if (arity != Arity::kOne && !p.at(TokenKind::kPercent)) return true;
  if (arity == Arity::kVariadic) return p.parse_operands(r.operands[e.slot]);
  Value* value = p.parse_operand();
  if (value) r.operands[e.slot].push_back(value);
  return value != nullptr;
}

/// The kind of type whose mnemonic `params` leaves out.
TypeKind kind_of(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::kPointer:
      return TypeKind::kPointer;
    case TypeClass::kTensorDesc:
      return TypeKind::kTensorDesc;
    default:
      return TypeKind::kMemDesc;
  }
}

bool parse_type_of(Reading& r, const Element& e) {
  Parser& p = r.parser;
  const OpInfo& info = *r.op.info;
  auto& types = r.types[e.slot];
  const bool operand = e.slot < info.operands.size();
  const ValueGroup& group =
      operand ? info.operands[e.slot] : info.results[e.slot - info.operands.size()];
  const Arity arity = group.arity;
  r.typed[e.slot] = true;
  if (operand && arity != Arity::kOne && r.operands[e.slot].empty()) return true;
  if (arity == Arity::kVariadic) return p.parse_types(types);
  const bool bare = e.kind == Element::Kind::kTypeParams && p.at("<");
  const Type type = bare ? p.parse_type_params(kind_of(group.type_class)) : p.parse_type();
  if (type) types.push_back(type);
  return type != nullptr;
}

bool parse_signature(Reading& r) {
  Parser& p = r.parser;
  std::vector<Type> inputs, results;
  const Token where = p.token();
  if (!p.parse_parenthesized_types(inputs) || !p.expect("->", "before the types of results") ||
      !p.parse_result_types(results)) {
    return false;
  }
  std::size_t count = 0, next = 0;
  for (const auto& group : r.operands) count += group.size();
  if (count != inputs.size()) {
    return p.error(where, "'" + r.op.info->name + "' has " + std::to_string(count) +
                              " operands, but " + std::to_string(inputs.size()) +
                              " types for them");
  }
  const std::size_t groups = r.operands.size();
  for (std::size_t i = 0; i < groups; ++i) {
    r.typed[i] = true;
    for (std::size_t k = 0; k < r.operands[i].size(); ++k) r.types[i].push_back(inputs[next++]);
  }
  if (r.op.info->results.empty())
    return results.empty() || p.error(where, "'" + r.op.info->name + "' has no results");
  if (r.op.info->results.size() > 1 && results.size() == r.op.info->results.size()) {
    for (std::size_t i = 0; i < results.size(); ++i) r.types[groups + i] = {results[i]};
  } else {
    r.types[groups] = std::move(results);
  }
  return true;
}

bool is_keyword(const Token& token, const EnumTable& table) {
  return token.kind == TokenKind::kWord &&
         std::any_of(table.cases.begin(), table.cases.end(),
                     [&](const EnumCase& c) { return c.keyword == token.text; });
}

/// Whether the text goes on as the group begins: its leading literals, then an operand or a
/// keyword.
bool group_begins(Parser& p, const Element& group) {
  const Parser::Mark back = p.mark();
  bool begins = true;
  for (const Element& e : group.children) {
    if (e.kind == Element::Kind::kLiteral) {
      begins = e.text.empty() || p.accept(e.text);
      if (!begins) break;
      continue;
    }
    if (e.kind == Element::Kind::kOperand) begins = p.at(TokenKind::kPercent);
    if (e.style == Style::kEnum) begins = is_keyword(p.token(), *e.table);
    break;
  }
  p.rewind(back);
  return begins;
}

bool parse_elements(Reading& r, const std::vector<Element>& elements) {
  for (const Element& e : elements) {
    bool good = true;
    switch (e.kind) {
      case Element::Kind::kLiteral:
        good = e.text.empty() || r.parser.expect(e.text, "in '" + r.op.info->name + "'");
        break;
      case Element::Kind::kOperand:
        good = parse_group(r, e);
        break;
      case Element::Kind::kAttribute:
        good = parse_attribute(r, e);
        break;
      case Element::Kind::kType:
      case Element::Kind::kTypeParams:
        good = parse_type_of(r, e);
        break;
      case Element::Kind::kSignature:
        good = parse_signature(r);
        break;
      case Element::Kind::kRegion:
        good = r.parser.parse_region(r.op);
        break;
      case Element::Kind::kAttrDict:
        good = r.parser.parse_optional_attr_dict(r.op.attrs);
        break;
      case Element::Kind::kOptional:
        good = !group_begins(r.parser, e) || parse_elements(r, e.children);
        break;
    }
    if (!good) return false;
  }
  return true;
}

std::vector<std::size_t> counts_of(const Reading& r) {
  const OpInfo& info = *r.op.info;
  std::vector<std::size_t> counts;
  for (const auto& group : r.operands) counts.push_back(group.size());
  for (std::size_t i = 0; i < info.results.size(); ++i) {
    const auto& known = r.types[info.operands.size() + i];
    if (info.results[i].arity == Arity::kOne) {
      counts.push_back(1);
    } else if (!known.empty() || r.typed[info.operands.size() + i]) {
      counts.push_back(known.size());
    } else {  // as many as the group that its rule follows
      std::size_t count = 0;
      for (const TypeRule& rule : info.type_rules) {
        if (rule.target == info.operands.size() + i && rule.source < r.operands.size())
          count = r.operands[rule.source].size();
      }
      counts.push_back(count);
    }
  }
  return counts;
}

/// Reports an operand whose type the op cannot take at all.
bool check_classes(Reading& r) {
  const OpInfo& info = *r.op.info;
  for (std::size_t i = 0; i < info.operands.size(); ++i) {
    const ValueGroup& group = info.operands[i];
    for (const Type type : r.types[i]) {
      if (belongs(type, group.type_class)) continue;
      return r.parser.error(r.first[i], "'" + info.name + "' needs '" + group.name + "' to be " +
                                            describe(group.type_class) + ", it is '" + type->text +
                                            "'");
    }
  }
  return true;
}

/// Completes the op: types from the rules, uses checked against them, results made.
bool finish(Reading& r) {
  Parser& p = r.parser;
  const OpInfo& info = *r.op.info;
  infer_types(p.context(), info, counts_of(r), r.types);
  for (std::size_t i = 0; i < r.operands.size(); ++i) {
    const auto& values = r.operands[i];
    if (r.typed[i] && r.types[i].size() != values.size()) {
      return p.error(r.first[i], "'" + info.name + "' has " + std::to_string(values.size()) +
                                     " values for '" + info.operands[i].name + "', but " +
                                     std::to_string(r.types[i].size()) + " types for them");
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (k < r.types[i].size()) p.check_type(*values[k], r.types[i][k], r.first[i], r.op);
      r.op.operands.push_back(values[k]);
    }
    if (r.types[i].empty()) {
      for (const Value* v : values) {
        if (v->type) r.types[i].push_back(v->type);
      }
    }
    if (info.has_segments()) r.op.segments.push_back(static_cast<std::uint32_t>(values.size()));
  }
  if (!check_classes(r)) return false;
  const auto counts = counts_of(r);
  infer_types(p.context(), info, counts,
              r.types);  // now from the types of the values themselves too
  for (std::size_t i = info.operands.size(); i < r.types.size(); ++i) {
    if (r.types[i].size() == counts[i]) {
      p.add_results(r.op, r.types[i]);
      continue;
    }
    const auto& name = info.results[i - info.operands.size()].name;
    return p.error(p.token(), "the type of '" + name + "' of '" + info.name +
                                  "' cannot be told from its operands");
  }
  return true;
}

}  // namespace

bool read_format(Parser& parser, Op& op, const std::vector<Element>& elements) {
  const OpInfo& info = *op.info;
  const std::size_t groups = info.operands.size() + info.results.size();
  Reading r{parser, op, {}, {}, {}, {}};
  r.operands.resize(info.operands.size());
  r.first.assign(info.operands.size(), parser.token());
  r.types.resize(groups);
  r.typed.assign(groups, false);
  return parse_elements(r, elements) && finish(r);
}

}  // namespace xpusim::kernel
