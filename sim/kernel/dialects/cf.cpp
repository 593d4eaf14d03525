// cf: branches between blocks, and run-time assertions.
//
//   cf.br       dest_operands*; successor 0
//   cf.cond_br  condition, true_operands*, false_operands*; successors 0 (true) and 1 (false)
//   cf.assert   arg; "msg"

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/printer/printer.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

/// "^bb1(%a, %b : i32, f32)"
bool parse_destination(Parser& p, Op& op) {
  Block* block = p.parse_successor(op);
  if (!block) return false;
  op.successors.push_back(block);
  std::vector<Value*> values;
  std::vector<Type> types;
  const Token where = p.token();
  if (p.accept("(")) {
    if (!p.parse_operands(values) || !p.expect(":", "and the types of a branch's values") ||
        !p.parse_types(types) || !p.expect(")", "after the values of a branch")) {
      return false;
    }
    if (types.size() != values.size())
      return p.error(where, "a branch passes " + std::to_string(values.size()) +
                                " values, but has " + std::to_string(types.size()) +
                                " types for them");
  }
  for (std::size_t i = 0; i < values.size(); ++i) p.check_type(*values[i], types[i], where, op);
  op.operands.insert(op.operands.end(), values.begin(), values.end());
  op.segments.push_back(static_cast<std::uint32_t>(values.size()));
  return true;
}

void print_destination(Printer& p, const Block& block, std::span<Value* const> values) {
  p.successor(block);
  if (values.empty()) return;
  p.out() += '(';
  p.operands(values);
  p.out() += " : ";
  p.types_of(values);
  p.out() += ')';
}

class BranchGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    return parse_destination(p, op) && p.parse_optional_attr_dict(op.attrs);
  }
  void print(Printer& p, const Op& op) const override {
    p.out() += ' ';
    print_destination(p, *op.successors[0], op.operands);
    p.attr_dict(op, {});
  }
};

class CondBranchGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    const Token where = p.token();
    Value* condition = p.parse_operand();
    if (!condition) return false;
    p.check_type(*condition, p.context().scalar(DType::kI1), where, op);
    op.operands.push_back(condition);
    op.segments.push_back(1);
    return p.expect(",", "after the condition of a branch") && parse_destination(p, op) &&
           p.expect(",", "before the second block") && parse_destination(p, op) &&
           p.parse_optional_attr_dict(op.attrs);
  }
  void print(Printer& p, const Op& op) const override {
    p.out() += ' ';
    p.operand(op.operands[0]);
    p.out() += ", ";
    print_destination(p, *op.successors[0], op.group(1));
    p.out() += ", ";
    print_destination(p, *op.successors[1], op.group(2));
    p.attr_dict(op, {});
  }
};

std::string verify_successors(const Op& op, std::size_t count) {
  return op.successors.size() == count ? ""
                                       : "needs " + std::to_string(count) + " successors, has " +
                                             std::to_string(op.successors.size());
}

}  // namespace

void define_cf(Definitions& ops) {
  Dialect d("cf", ops);
  d.op("br")
      .in("dest_operands*")
      .grammar(std::make_unique<BranchGrammar>())
      .verify([](const Op& op) { return verify_successors(op, 1); })
      .effects(kTerminator | kControl);
  d.op("cond_br")
      .in("condition:bool, true_operands*, false_operands*")
      .grammar(std::make_unique<CondBranchGrammar>())
      .verify([](const Op& op) { return verify_successors(op, 2); })
      .effects(kTerminator | kControl);
  d.op("assert")
      .in("arg:bool")
      .types("arg = i1")
      .format("$arg `,` $msg:string attr-dict")
      .effects(kVisible);
}

}  // namespace xpusim::kernel
