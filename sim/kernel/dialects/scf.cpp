// scf: structured control flow.
//
//   scf.for        lb, ub, step, inits*; region: block of the induction variable, then the
//   iteration
//                  arguments, ending in scf.yield of the next ones; results: their last values
//   scf.if         condition; two regions (the second has no blocks where there is no else)
//   scf.while      inits*; region 0 "before" ends in scf.condition, region 1 "after" in scf.yield
//   scf.condition  condition, args*
//   scf.yield      results*

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/printer/printer.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

/// "%x = %init, ...": loop-carried values with what they begin with.
bool parse_carried(Parser& p, std::vector<ArgumentDecl>& args, std::vector<Value*>& inits) {
  if (!p.expect("(", "before loop-carried values")) return false;
  for (bool first = true; !p.at(")"); first = false) {
    if (!first && !p.expect(",", "between loop-carried values")) return false;
    if (!p.parse_argument_decl(args.emplace_back(), false)) return false;
    if (!p.expect("=", "and an initial value")) return false;
    Value* init = p.parse_operand();
    if (!init) return false;
    inits.push_back(init);
  }
  p.advance();
  return true;
}

void print_carried(Printer& p, const Block& block, std::size_t first_arg,
                   std::span<Value* const> inits) {
  p.out() += '(';
  for (std::size_t i = 0; i < inits.size(); ++i) {
    if (i) p.out() += ", ";
    p.argument_name(*block.args[first_arg + i]);
    p.out() += " = ";
    p.operand(inits[i]);
  }
  p.out() += ')';
}

std::vector<Type> result_types(const Op& op) {
  std::vector<Type> types;
  for (const auto& r : op.results) types.push_back(r->type);
  return types;
}

/// A text may leave out the last scf.yield of a region that yields nothing.
void ensure_yield(Op& op, Region& region) {
  if (region.blocks.empty()) return;
  Block& block = *region.blocks.back();
  if (!block.ops.empty() && block.ops.back()->info->has(kTerminator)) return;
  auto yield = std::make_unique<Op>();
  yield->info = find_op("scf.yield");
  yield->parent = &block;
  yield->segments = {0};
  yield->text = op.text;
  block.ops.push_back(std::move(yield));
}

/// scf.for %i = %lb to %ub step %s [iter_args(%x = %init, ...) -> (types)] [: type] { ... }
class ForGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    std::vector<ArgumentDecl> args(1);
    std::vector<Value*> inits;
    std::vector<Type> types;
    const Token bounds = p.token();
    const auto bound = [&] {
      Value* v = p.parse_operand();
      op.operands.push_back(v);
      return v != nullptr;
    };
    const bool is_unsigned = p.accept("unsigned");
    if (!p.parse_argument_decl(args[0], false) || !p.expect("=", "after the induction variable") ||
        !bound() || !p.expect("to", "after the lower bound") || !bound() ||
        !p.expect("step", "after the upper bound") || !bound()) {
      return false;
    }
    const Token carried = p.token();
    if (p.accept("iter_args")) {
      if (!parse_carried(p, args, inits) ||
          !p.expect("->", "and the types of the loop-carried values") ||
          !p.parse_result_types(types)) {
        return false;
      }
      if (types.size() != inits.size()) {
        return p.error(carried, "'scf.for' carries " + std::to_string(inits.size()) +
                                    " values, but has " + std::to_string(types.size()) +
                                    " types for them");
      }
    }
    args[0].type = p.context().scalar(DType::kIndex);
    if (p.accept(":") && !(args[0].type = p.parse_type())) return false;
    if (is_unsigned) op.attrs.emplace_back("unsignedCmp", p.context().unit());
    for (Value* v : op.operands) p.check_type(*v, args[0].type, bounds, op);
    for (std::size_t i = 0; i < inits.size(); ++i) {
      p.check_type(*inits[i], types[i], carried, op);
      args[i + 1].type = types[i];
      op.operands.push_back(inits[i]);
    }
    op.segments = {1, 1, 1, static_cast<std::uint32_t>(inits.size())};
    p.add_results(op, types);
    if (!p.parse_region(op, std::move(args))) return false;
    ensure_yield(op, *op.regions[0]);
    return p.parse_optional_attr_dict(op.attrs);
  }

  void print(Printer& p, const Op& op) const override {
    std::string& out = p.out();
    const Block& body = *op.regions[0]->blocks[0];
    if (op.attr("unsignedCmp")) out += " unsigned";
    out += ' ';
    p.argument_name(*body.args[0]);
    out += " = ";
    p.operand(op.operands[0]);
    out += " to ";
    p.operand(op.operands[1]);
    out += " step ";
    p.operand(op.operands[2]);
    const auto inits = op.group(3);
    if (!inits.empty()) {
      out += " iter_args";
      print_carried(p, body, 1, inits);
      out += " -> (";
      p.types(result_types(op));
      out += ')';
    }
    out += ' ';
    if (body.args[0]->type->dtype != DType::kIndex) {
      out += " : ";
      p.type(body.args[0]->type);
      out += ' ';
    }
    p.region(*op.regions[0], false, op.results.empty());
    const std::string elided[] = {"unsignedCmp"};
    p.attr_dict(op, elided);
  }
};

/// scf.if %c [-> (types)] { ... } [else { ... }]
class IfGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    const Token where = p.token();
    Value* condition = p.parse_operand();
    if (!condition) return false;
    p.check_type(*condition, p.context().scalar(DType::kI1), where, op);
    op.operands.push_back(condition);
    std::vector<Type> types;
    if (p.accept("->") && !p.parse_result_types(types)) return false;
    p.add_results(op, types);
    if (!p.parse_region(op)) return false;
    if (p.accept("else")) {
      if (!p.parse_region(op)) return false;
    } else {
      op.regions.push_back(std::make_unique<Region>());
      op.regions.back()->parent = &op;
    }
    for (const auto& region : op.regions) ensure_yield(op, *region);
    return p.parse_optional_attr_dict(op.attrs);
  }

  void print(Printer& p, const Op& op) const override {
    p.out() += ' ';
    p.operand(op.operands[0]);
    if (!op.results.empty()) {
      p.out() += " -> (";
      p.types(result_types(op));
      p.out() += ')';
    }
    p.out() += ' ';
    p.region(*op.regions[0], false, op.results.empty());
    if (!op.regions[1]->blocks.empty()) {
      p.out() += " else ";
      p.region(*op.regions[1], false, op.results.empty());
    }
    p.attr_dict(op, {});
  }
};

/// scf.while [(%x = %init, ...)] : (types) -> types { ... } do { ... }
class WhileGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    std::vector<ArgumentDecl> args;
    std::vector<Type> inputs, results;
    const Token where = p.token();
    if (p.at("(") && !parse_carried(p, args, op.operands)) return false;
    if (!p.expect(":", "and the type of 'scf.while'") || !p.parse_parenthesized_types(inputs) ||
        !p.expect("->", "before the types of results") || !p.parse_result_types(results)) {
      return false;
    }
    if (inputs.size() != op.operands.size()) {
      return p.error(where, "'scf.while' carries " + std::to_string(op.operands.size()) +
                                " values, but has " + std::to_string(inputs.size()) +
                                " types for them");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      p.check_type(*op.operands[i], inputs[i], where, op);
      args[i].type = inputs[i];
    }
    op.segments = {static_cast<std::uint32_t>(inputs.size())};
    p.add_results(op, results);
    if (!p.parse_region(op, std::move(args)) || !p.expect("do", "and the loop's body") ||
        !p.parse_region(op))
      return false;
    ensure_yield(op, *op.regions[1]);
    return !p.accept("attributes") || p.parse_attr_dict(op.attrs);
  }

  void print(Printer& p, const Op& op) const override {
    if (!op.operands.empty()) {
      p.out() += ' ';
      print_carried(p, *op.regions[0]->blocks[0], 0, op.operands);
    }
    p.out() += " : ";
    p.signature(op);
    p.out() += ' ';
    p.region(*op.regions[0], false);
    p.out() += " do ";
    p.region(*op.regions[1], true);
    p.attr_dict(op, {}, "attributes");
  }
};

/// "" if the region ends in `terminator` and its operands from `first` on are of these types.
std::string check_end(const Region& region, std::string_view terminator, std::size_t first,
                      const std::vector<Type>& types) {
  if (region.blocks.size() != 1) return "needs regions of one block";
  const Block& block = *region.blocks[0];
  if (block.ops.empty() || block.ops.back()->name() != terminator)
    return "needs a region that ends with '" + std::string(terminator) + "'";
  const Op& last = *block.ops.back();
  const std::string at = " at line " + std::to_string(last.text.line);
  if (last.operands.size() != types.size() + first) {
    return "expects " + std::to_string(types.size()) + " values from '" + std::string(terminator) +
           "'" + at + ", which has " +
           std::to_string(last.operands.size() - std::min(first, last.operands.size()));
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Type type = last.operands[first + i]->type;
    if (type && type != types[i])
      return "expects '" + types[i]->text + "' as value " + std::to_string(i) + " of '" +
             std::string(terminator) + "'" + at + ", which has '" + type->text + "'";
  }
  return "";
}

std::string verify_for(const Op& op) {
  if (op.regions.size() != 1 || op.regions[0]->blocks.size() != 1)
    return "needs one region of one block";
  const Block& body = *op.regions[0]->blocks[0];
  const auto inits = op.group(3);
  if (body.args.size() != inits.size() + 1)
    return "needs a block of the induction variable and the loop-carried values";
  if (op.results.size() != inits.size()) return "needs as many results as loop-carried values";
  for (std::size_t i = 0; i < inits.size(); ++i) {
    if (inits[i]->type != op.results[i]->type || inits[i]->type != body.args[i + 1]->type)
      return "needs one type for loop-carried value " + std::to_string(i) + " throughout";
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (op.operands[i]->type != body.args[0]->type)
      return "needs bounds and step of the induction variable's type";
  }
  return check_end(*op.regions[0], "scf.yield", 0, result_types(op));
}

std::string verify_if(const Op& op) {
  if (op.regions.size() != 2 || op.regions[0]->blocks.size() != 1)
    return "needs two regions, the first of one block";
  if (std::string problem = check_end(*op.regions[0], "scf.yield", 0, result_types(op));
      !problem.empty())
    return problem;
  if (op.regions[1]->blocks.empty())
    return op.results.empty() ? "" : "has results and needs an else";
  return check_end(*op.regions[1], "scf.yield", 0, result_types(op));
}

std::string verify_while(const Op& op) {
  if (op.regions.size() != 2) return "needs two regions";
  std::vector<Type> inputs;
  for (const Value* v : op.operands) inputs.push_back(v->type);
  if (std::string problem = check_end(*op.regions[0], "scf.condition", 1, result_types(op));
      !problem.empty())
    return problem;
  if (std::string problem = check_end(*op.regions[1], "scf.yield", 0, inputs); !problem.empty())
    return problem;
  const auto matches = [](const Block& block, const std::vector<Type>& types) {
    bool same = block.args.size() == types.size();
    for (std::size_t i = 0; same && i < types.size(); ++i) same = block.args[i]->type == types[i];
    return same;
  };
  if (!matches(*op.regions[0]->blocks[0], inputs))
    return "needs a first block with the types of its operands";
  return matches(*op.regions[1]->blocks[0], result_types(op))
             ? ""
             : "needs a second block with the types of its results";
}

}  // namespace

void define_scf(Definitions& ops) {
  Dialect d("scf", ops);
  d.op("for")
      .in("lb:int, ub:int, step:int, inits*")
      .out("results*")
      .grammar(std::make_unique<ForGrammar>())
      .verify(verify_for)
      .effects(kControl);
  d.op("if")
      .in("condition:bool")
      .out("results*")
      .grammar(std::make_unique<IfGrammar>())
      .verify(verify_if)
      .effects(kControl);
  d.op("while")
      .in("inits*")
      .out("results*")
      .grammar(std::make_unique<WhileGrammar>())
      .verify(verify_while)
      .effects(kControl);
  d.op("condition")
      .in("condition:bool, args*")
      .types("condition = i1")
      .format("`(` $condition `)` attr-dict ($args^ `:` type($args) )?")
      .effects(kTerminator);
  d.op("yield")
      .in("results*")
      .format("attr-dict ($results^ `:` type($results) )?")
      .effects(kTerminator);
}

}  // namespace xpusim::kernel
