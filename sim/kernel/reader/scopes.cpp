#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {

void Parser::define(const Token& name, Value* value, std::uint32_t count) {
  Definition& entry = values_[name.text];
  if (entry.value) {
    error(name, "redefinition of value '%" + std::string(name.text) + "', first defined at line " +
                    std::to_string(entry.where.line));
    return;
  }
  undo_.emplace_back(name.text, entry);
  entry = {value, count, name};
}

void Parser::close_scope(std::size_t size) {
  while (undo_.size() > size) {
    values_[undo_.back().first] = undo_.back().second;
    undo_.pop_back();
  }
}

/// A value to go on with after an unknown name; it has no type, so nothing more is said about it.
Value* Parser::stand_in() { return stand_ins_.emplace_back(std::make_unique<Value>()).get(); }

Value* Parser::lookup(const Token& name, std::uint32_t number) {
  const auto it = values_.find(name.text);
  if (it == values_.end() || !it->second.value) {
    std::vector<std::string> known;
    for (const auto& [other, definition] : values_) {
      if (definition.value) known.push_back("%" + std::string(other));
    }
    const std::string spelled = "%" + std::string(name.text);
    error(name, "use of undefined value '" + spelled + "'" + did_you_mean(spelled, known));
    return stand_in();
  }
  const Definition& definition = it->second;
  if (number >= definition.count) {
    error(name, "'%" + std::string(name.text) + "' has " + std::to_string(definition.count) +
                    " results; there is no '#" + std::to_string(number) + "'");
    return stand_in();
  }
  Value* first = definition.value;
  return first->def ? first->def->results[first->index + number].get() : first;
}

Value* Parser::parse_operand() {
  if (!at(TokenKind::kPercent)) {
    expected("a value such as %x");
    return nullptr;
  }
  const Token name = token_;
  advance();
  std::uint32_t number = 0;
  if (at(TokenKind::kHash) && token_.offset == name.end) {
    const auto parsed = parse_magnitude(token_.text);
    if (!parsed || *parsed > 0xFFFF) {
      expected("a result's number behind '#'");
      return nullptr;
    }
    number = static_cast<std::uint32_t>(*parsed);
    advance();
  }
  return lookup(name, number);
}

bool Parser::parse_operands(std::vector<Value*>& operands) {
  do {
    Value* value = parse_operand();
    if (!value) return false;
    operands.push_back(value);
  } while (accept(","));
  return true;
}

void Parser::check_type(const Value& operand, Type expected, const Token& where, const Op& user) {
  if (!operand.type || !expected || operand.type == expected) return;
  error(where, "'%" + operand.name + "' is of type '" + operand.type->text + "', but '" +
                   user.info->name + "' uses it as '" + expected->text + "'");
}

}  // namespace xpusim::kernel
