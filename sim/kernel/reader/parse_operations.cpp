#include <algorithm>

#include "sim/kernel/grammar/grammar.h"
#include "sim/kernel/grammar/type_rules.h"
#include "sim/kernel/reader/nesting.h"

namespace xpusim::kernel {

void Parser::add_results(Op& op, const std::vector<Type>& types) {
  for (const Type type : types) {
    auto value = std::make_unique<Value>();
    value->type = type;
    value->def = &op;
    value->index = static_cast<std::uint32_t>(op.results.size());
    op.results.push_back(std::move(value));
  }
}

const OpInfo* Parser::lookup_op(const Token& name, std::string_view text, bool custom) {
  const OpInfo* info = find_op(text);
  if (!info && custom && text.find('.') == std::string_view::npos) {
    info = find_op("builtin." + std::string(text));
    if (!info) info = find_op("func." + std::string(text));
  }
  if (!info) error(name, "unknown op '" + std::string(text) + "'" + did_you_mean(text, op_names()));
  return info;
}

/// "%a, %b:2 =" or nothing.
bool Parser::parse_result_names(std::vector<ResultNames>& names) {
  if (!at(TokenKind::kPercent)) return true;
  do {
    ResultNames entry;
    entry.name = token_;
    if (!at(TokenKind::kPercent)) return expected("a value's name such as %x");
    advance();
    if (accept(":")) {
      std::int64_t count = 0;
      const Token where = token_;
      if (!parse_int(count, "the number of results")) return false;
      if (count < 1 || count > 0xFFFF) return error(where, "number of results out of range");
      entry.count = static_cast<std::uint32_t>(count);
    }
    names.push_back(entry);
  } while (accept(","));
  return expect("=", "after the names of results");
}

bool Parser::name_results(Op& op, const std::vector<ResultNames>& names) {
  std::size_t named = 0;
  for (const auto& entry : names) named += entry.count;
  if (named != op.results.size() && !names.empty()) {
    return error(names[0].name, "'" + op.info->name + "' has " + std::to_string(op.results.size()) +
                                    " results, but " + std::to_string(named) + " are named");
  }
  std::size_t next = 0;
  for (const auto& entry : names) {
    Value* first = op.results[next].get();
    for (std::uint32_t i = 0; i < entry.count; ++i) {
      op.results[next]->name = entry.name.text;
      op.results[next++]->loc = op.loc;
    }
    define(entry.name, first, entry.count);
  }
  return true;
}

void Parser::verify(const Op& op, const Token& where) {
  const auto untyped = [](const Value* v) { return v->type == nullptr; };
  if (std::any_of(op.operands.begin(), op.operands.end(), untyped)) return;
  std::string problem = check_types(op);
  if (problem.empty() && op.info->verify) problem = op.info->verify(op);
  if (!problem.empty()) error(where, "'" + op.info->name + "' " + problem);
}

bool Parser::parse_operation(Block& block) {
  const Token start = token_;
  std::vector<ResultNames> names;
  if (!parse_result_names(names)) return false;
  const Token name = token_;
  auto op = std::make_unique<Op>();
  op->parent = &block;
  op->text = position(start);
  const auto problems = diagnostics_.list().size();
  if (at(TokenKind::kString)) {
    op->generic_form = true;
    if (!(op->info = lookup_op(name, name.text, false))) return false;
    advance();
    if (!parse_generic(*op)) return false;
  } else if (at(TokenKind::kWord)) {
    if (!(op->info = lookup_op(name, name.text, true))) return false;
    advance();
    if (!parse_custom(*op, name)) return false;
  } else {
    return expected("an op");
  }
  if (!parse_optional_loc(op->loc) || !name_results(*op, names)) return false;
  if (diagnostics_.list().size() == problems) verify(*op, name);
  block.ops.push_back(std::move(op));
  return true;
}

/// Goes on behind an op that could not be read, at the next line that is at the same depth.
void Parser::recover(const Mark& start) {
  rewind(start);
  // Its results exist all the same.
  std::vector<ResultNames> names;
  if (at(TokenKind::kPercent)) {
    const Diagnostics before = diagnostics_;
    if (parse_result_names(names)) {
      for (const auto& entry : names) {
        const auto it = values_.find(entry.name.text);
        if (it == values_.end() || !it->second.value) define(entry.name, stand_in(), 0xFFFF);
      }
    }
    diagnostics_ = before;
  }
  rewind(start);
  int depth = 0;
  std::uint32_t line = token_.line;
  while (!at(TokenKind::kEnd)) {
    if (depth == 0 &&
        (at("}") || (token_.line > line && (at(TokenKind::kPercent) || at(TokenKind::kString) ||
                                            at(TokenKind::kWord) || at(TokenKind::kCaret))))) {
      return;
    }
    if (at("{") || at("(") || at("[")) ++depth;
    if (depth && (at("}") || at(")") || at("]"))) --depth;
    line = token_.line;
    advance();
  }
}

bool Parser::parse_operation_or_recover(Block& block) {
  const Mark start = mark();
  if (parse_operation(block)) return true;
  if (fatal_) return false;
  recover(start);
  return !fatal_;
}

bool Parser::parse_custom(Op& op, const Token& name) {
  if (!op.info->grammar) {
    return error(name, "'" + op.info->name + "' has no custom form; write it as \"" +
                           op.info->name + "\"(...)");
  }
  return op.info->grammar->parse(*this, op);
}

bool Parser::parse_generic_regions(Op& op) {
  if (!accept("(")) return true;
  do {
    if (!parse_region(op, {}, op.info->isolates(op.regions.size()))) return false;
  } while (accept(","));
  return expect(")", "after the regions of an op");
}

/// "name"(%a, %b) [^bb1] <{properties}> ({regions}) {attributes} : (types) -> types
bool Parser::parse_generic(Op& op) {
  if (!expect("(", "after the name of an op in generic form")) return false;
  std::vector<Token> uses;
  while (!at(")")) {
    if (!op.operands.empty() && !expect(",", "between operands")) return false;
    uses.push_back(token_);
    Value* operand = parse_operand();
    if (!operand) return false;
    op.operands.push_back(operand);
  }
  advance();
  if (accept("[")) {
    do {
      Block* block = parse_successor(op);
      if (!block) return false;
      op.successors.push_back(block);
    } while (accept(","));
    if (!expect("]", "after successors")) return false;
  }
  if (accept("<")) {
    if (!parse_attr_dict(op.attrs) || !expect(">", "after properties")) return false;
    op.property_count = static_cast<std::uint32_t>(op.attrs.size());
  }
  if (!parse_generic_regions(op) || !parse_optional_attr_dict(op.attrs)) return false;
  if (!expect(":", "and the types of an op in generic form")) return false;
  std::vector<Type> inputs, results;
  if (!parse_parenthesized_types(inputs) || !expect("->", "before the types of results") ||
      !parse_result_types(results)) {
    return false;
  }
  add_results(op, results);
  return resolve_generic(op, uses, inputs);
}

bool Parser::resolve_generic(Op& op, const std::vector<Token>& uses,
                             const std::vector<Type>& inputs) {
  if (inputs.size() != op.operands.size()) {
    return error(token_, "'" + op.info->name + "' has " + std::to_string(op.operands.size()) +
                             " operands, but " + std::to_string(inputs.size()) + " types for them");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check_type(*op.operands[i], inputs[i], uses[i], op);
  const std::string problem = assign_segments(op);
  return problem.empty() ||
         error(uses.empty() ? token_ : uses[0], "'" + op.info->name + "' " + problem);
}

}  // namespace xpusim::kernel
