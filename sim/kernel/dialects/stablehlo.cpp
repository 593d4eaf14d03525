// stablehlo: what JAX prints for XLA. It is read, printed, and made kernels of (sim/run/stablehlo);
// the executor does not run it. The element-wise ops, constants, shapes, reductions with a named
// reducer and products of default precision; others are unknown ops.

#include "sim/kernel/dialects/define.h"

namespace xpusim::kernel {

void define_stablehlo(Definitions& ops) {
  Dialect d("stablehlo", ops);
  d.op("constant").out("output").grammar(constant_grammar());
  for (const auto mnemonic : {"add", "and", "atan2", "divide", "maximum", "minimum", "multiply",
                              "or", "power", "remainder", "subtract", "xor"}) {
    d.op(mnemonic)
        .in("lhs, rhs")
        .out("result")
        .types("lhs = result; rhs = result")
        .format("$lhs `,` $rhs attr-dict `:` type($result)");
  }
  for (const auto mnemonic : {"abs", "ceil", "cosine", "exponential", "floor", "log", "logistic",
                              "negate", "rsqrt", "sign", "sine", "sqrt", "tanh"}) {
    d.op(mnemonic)
        .in("operand")
        .out("result")
        .types("operand = result")
        .format("$operand attr-dict `:` type($result)");
  }
  for (const auto mnemonic : {"convert", "reshape"}) {
    d.op(mnemonic).in("operand").out("result").format("$operand attr-dict `:` signature");
  }
  d.op("broadcast_in_dim")
      .in("operand")
      .out("result")
      .format("$operand `,` `dims` `=` $broadcast_dimensions:i64_list attr-dict `:` signature");
  d.op("transpose")
      .in("operand")
      .out("result")
      .format("$operand `,` `dims` `=` $permutation:i64_list attr-dict `:` signature");
  d.op("dot_general")
      .in("lhs, rhs")
      .out("result")
      .format(
          "$lhs `,` $rhs `,` (`batching_dims` `=` $lhs_batching:i64_list^ `x` "
          "$rhs_batching:i64_list `,` )? `contracting_dims` `=` $lhs_contracting:i64_list `x` "
          "$rhs_contracting:i64_list `,` `precision` `=` `[` `DEFAULT` `,` `DEFAULT` `]` attr-dict "
          "`:` signature");
  // "reducer": the op that combines two elements.
  d.op("reduce")
      .in("input, init")
      .out("result")
      .format(
          "`` `(` $input `init` `` `:` $init `)` `applies` $reducer:stablehlo_reducer `across` "
          "`dimensions` `=` $dimensions:i64_list attr-dict `:` signature");
}

}  // namespace xpusim::kernel
