// arith: scalar and element-wise arithmetic. Operand groups are single values throughout.
//
// Attributes: constant "value" (typed number, or dense elements); cmpi and cmpf "predicate" (MLIR's
// numbers: eq 0, ne 1, slt 2, ...; false 0, oeq 1, ogt 2, ...); "fastmath" (#arith.fastmath<...>)
// and "overflowFlags" (#arith.overflow<...>), absent where they are none in custom form.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/shapes.h"
#include "sim/kernel/printer/printer.h"
#include "sim/kernel/reader/parser.h"

namespace xpusim::kernel {
namespace {

/// arith.constant and stablehlo.constant.
class ConstantGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    if (!p.parse_optional_attr_dict(op.attrs)) return false;
    const Token where = p.token();
    const Attr value = p.parse_attr();
    if (!value) return false;
    if (!value->type)
      return p.error(where, "the value of a constant needs a type, such as 1 : i32");
    op.attrs.emplace_back("value", value);
    p.add_results(op, {value->type});
    return true;
  }
  void print(Printer& p, const Op& op) const override {
    const std::string elided[] = {"value"};
    p.attr_dict(op, elided);
    p.out() += ' ';
    p.attr(op.attr("value"));
  }
};

/// arith.select %c, %a, %b : i32, or with the condition's type first where it is a tensor.
class SelectGrammar : public OpGrammar {
 public:
  bool parse(Parser& p, Op& op) const override {
    const Token where = p.token();
    if (!p.parse_operands(op.operands)) return false;
    if (op.operands.size() != 3) return p.error(where, "'arith.select' needs 3 operands");
    if (!p.parse_optional_attr_dict(op.attrs) || !p.expect(":", "and the type of 'arith.select'"))
      return false;
    Type type = p.parse_type();
    if (!type) return false;
    Type condition = p.context().scalar(DType::kI1);
    if (p.accept(",")) {
      condition = type;
      if (!(type = p.parse_type())) return false;
    }
    p.check_type(*op.operands[0], condition, where, op);
    p.check_type(*op.operands[1], type, where, op);
    p.check_type(*op.operands[2], type, where, op);
    p.add_results(op, {type});
    return true;
  }
  void print(Printer& p, const Op& op) const override {
    p.out() += ' ';
    p.operands(op.operands);
    p.attr_dict(op, {});
    p.out() += " : ";
    if (op.operands[0]->type->is_shaped()) {
      p.type(op.operands[0]->type);
      p.out() += ", ";
    }
    p.type(op.result()->type);
  }
};

std::string verify_constant(const Op& op) {
  const Attr value = op.attr("value");
  if (!value) return "needs the attribute 'value'";
  const bool matches =
      value->type == op.result()->type || (!value->type && value->kind == AttrKind::kInteger);
  return matches ? ""
                 : "has a value of type '" + (value->type ? value->type->text : value->text) +
                       "' and a result of type '" + op.result()->type->text + "'";
}

std::string verify_select(const Op& op) {
  const Type condition = op.operands[0]->type;
  return condition->is_shaped() ? check_same_frame(condition, op.result()->type) : "";
}

std::string verify_cast(const Op& op) {
  return check_same_frame(op.operands[0]->type, op.result()->type);
}

std::string verify_wider(const Op& op) {
  const DType from = op.operands[0]->type->dtype, to = op.result()->type->dtype;
  if (bit_width(from) >= bit_width(to))
    return "must make its operand wider, '" + std::string(name(from)) + "' to '" +
           std::string(name(to)) + "' does not";
  return verify_cast(op);
}

std::string verify_narrower(const Op& op) {
  const DType from = op.operands[0]->type->dtype, to = op.result()->type->dtype;
  if (bit_width(from) <= bit_width(to))
    return "must make its operand narrower, '" + std::string(name(from)) + "' to '" +
           std::string(name(to)) + "' does not";
  return verify_cast(op);
}

std::string verify_bitcast(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (bit_width(from->dtype) != bit_width(to->dtype))
    return "cannot reinterpret '" + from->text + "' as '" + to->text + "'";
  return verify_cast(op);
}

std::string verify_cmpi(const Op& op) {
  const Attr predicate = op.attr("predicate");
  return predicate && predicate->integer >= 0 && predicate->integer <= 9
             ? ""
             : "needs a predicate from 0 to 9";
}

std::string verify_cmpf(const Op& op) {
  const Attr predicate = op.attr("predicate");
  return predicate && predicate->integer >= 0 && predicate->integer <= 15
             ? ""
             : "needs a predicate from 0 to 15";
}

constexpr const char* kOverflow = "(`overflow` `` $overflowFlags:#arith.overflow^ )?";
constexpr const char* kFastmath = "(`fastmath` `` $fastmath:#arith.fastmath^ )?";

}  // namespace

std::unique_ptr<OpGrammar> constant_grammar() { return std::make_unique<ConstantGrammar>(); }

void define_arith(Definitions& ops) {
  Dialect d("arith", ops);
  const auto binary = [&](std::string_view mnemonic, const std::string& type_class,
                          const std::string& flags) {
    d.op(mnemonic)
        .in("lhs:" + type_class + ", rhs:" + type_class)
        .out("result:" + type_class)
        .types("lhs = result; rhs = result")
        .format("$lhs `,` $rhs " + flags + " attr-dict `:` type($result)")
        .effects(kElementwise);
  };
  for (const auto mnemonic : {"addi", "subi", "muli", "shli"}) binary(mnemonic, "int", kOverflow);
  for (const auto mnemonic :
       {"divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui", "andi", "ori",
        "xori", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui"}) {
    binary(mnemonic, "int", "");
  }
  for (const auto mnemonic :
       {"addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"}) {
    binary(mnemonic, "float", kFastmath);
  }
  d.op("negf")
      .in("operand:float")
      .out("result:float")
      .types("operand = result")
      .format(std::string("$operand ") + kFastmath + " attr-dict `:` type($result)")
      .effects(kElementwise);

  d.op("constant").out("result").grammar(constant_grammar()).verify(verify_constant);
  d.op("select")
      .in("condition:bool, true_value, false_value")
      .out("result")
      .types("true_value = result; false_value = result")
      .grammar(std::make_unique<SelectGrammar>())
      .verify(verify_select)
      .effects(kElementwise);
  d.op("cmpi")
      .in("lhs:int, rhs:int")
      .out("result:bool")
      .types("rhs = lhs; result = bool(lhs)")
      .format("$predicate:cmpi_predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)")
      .verify(verify_cmpi)
      .effects(kElementwise);
  d.op("cmpf")
      .in("lhs:float, rhs:float")
      .out("result:bool")
      .types("rhs = lhs; result = bool(lhs)")
      .format(std::string("$predicate:cmpf_predicate `,` $lhs `,` $rhs ") + kFastmath +
              " attr-dict `:` type($lhs)")
      .verify(verify_cmpf)
      .effects(kElementwise);
  // mulsi_extended and mului_extended: the low and the high half of the product.
  for (const auto mnemonic : {"mulsi_extended", "mului_extended"}) {
    d.op(mnemonic)
        .in("lhs:int, rhs:int")
        .out("low:int, high:int")
        .types("lhs = low; rhs = low; high = low")
        .format("$lhs `,` $rhs attr-dict `:` type($low)")
        .effects(kElementwise);
  }

  const auto cast = [&](std::string_view mnemonic, const std::string& from, const std::string& to,
                        std::string (*verify)(const Op&), const std::string& flags = "") {
    d.op(mnemonic)
        .in("in:" + from)
        .out("out:" + to)
        .format("$in " + flags + " attr-dict `:` type($in) `to` type($out)")
        .verify(verify)
        .effects(kElementwise);
  };
  cast("extsi", "int", "int", verify_wider);
  cast("extui", "int", "int", verify_wider, "(`nneg` $nneg:unit^ )?");
  cast("extf", "float", "float", verify_wider, kFastmath);
  cast("trunci", "int", "int", verify_narrower, kOverflow);
  cast("truncf", "float", "float", verify_narrower,
       std::string("($roundingmode:rounding_mode^ )? ") + kFastmath);
  cast("sitofp", "int", "float", verify_cast);
  cast("uitofp", "int", "float", verify_cast);
  cast("fptosi", "float", "int", verify_cast);
  cast("fptoui", "float", "int", verify_cast);
  cast("index_cast", "int", "int", verify_cast);
  cast("index_castui", "int", "int", verify_cast);
  cast("bitcast", "number", "number", verify_bitcast);
}

}  // namespace xpusim::kernel
