// math: element-wise functions. One result of the operands' type; "fastmath" as in arith.

#include "sim/kernel/dialects/define.h"

namespace xpusim::kernel {

void define_math(Definitions& ops) {
  Dialect d("math", ops);
  constexpr const char* kTail =
      "(`fastmath` `` $fastmath:#arith.fastmath^ )? attr-dict `:` type($result)";
  for (const auto mnemonic :
       {"absf",  "acos", "acosh", "asin",  "asinh", "atan",  "atanh",     "cbrt",
        "ceil",  "cos",  "cosh",  "erf",   "erfc",  "exp",   "exp2",      "expm1",
        "floor", "log",  "log10", "log1p", "log2",  "round", "roundeven", "rsqrt",
        "sin",   "sinh", "sqrt",  "tan",   "tanh",  "trunc"}) {
    d.op(mnemonic)
        .in("operand:float")
        .out("result:float")
        .types("operand = result")
        .format(std::string("$operand ") + kTail)
        .effects(kElementwise);
  }
  for (const auto mnemonic : {"absi", "ctlz", "cttz", "ctpop"}) {
    d.op(mnemonic)
        .in("operand:int")
        .out("result:int")
        .types("operand = result")
        .format("$operand attr-dict `:` type($result)")
        .effects(kElementwise);
  }
  for (const auto mnemonic : {"atan2", "copysign", "powf"}) {
    d.op(mnemonic)
        .in("lhs:float, rhs:float")
        .out("result:float")
        .types("lhs = result; rhs = result")
        .format(std::string("$lhs `,` $rhs ") + kTail)
        .effects(kElementwise);
  }
  d.op("ipowi")
      .in("lhs:int, rhs:int")
      .out("result:int")
      .types("lhs = result; rhs = result")
      .format("$lhs `,` $rhs attr-dict `:` type($result)")
      .effects(kElementwise);
  d.op("fpowi")
      .in("lhs:float, rhs:int")
      .out("result:float")
      .types("lhs = result")
      .format(
          std::string("$lhs `,` $rhs (`fastmath` `` $fastmath:#arith.fastmath^ )? attr-dict `:` "
                      "type($lhs) `,` type($rhs)"))
      .effects(kElementwise);
  d.op("fma")
      .in("a:float, b:float, c:float")
      .out("result:float")
      .types("a = result; b = result; c = result")
      .format(std::string("$a `,` $b `,` $c ") + kTail)
      .effects(kElementwise);
}

}  // namespace xpusim::kernel
