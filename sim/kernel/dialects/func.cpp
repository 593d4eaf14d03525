// func: functions of Mosaic modules. func.func: see FunctionGrammar; Mosaic prints it in generic
// form, with the grid ("iteration_bounds"), the windows ("window_params"), "dimension_semantics",
// "scalar_prefetch" and "scratch_operands" among its attributes. func.return, func.call: one group.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/function_grammar.h"

namespace xpusim::kernel {

void define_func(Definitions& ops) {
  Dialect d("func", ops);
  d.op("func").grammar(std::make_unique<FunctionGrammar>()).verify(verify_function).isolated();
  d.op("return")
      .spelled("return")
      .in("operands*")
      .format("attr-dict ($operands^ `:` type($operands) )?")
      .effects(kTerminator);
  d.op("call")
      .spelled("call")
      .in("operands*")
      .out("results*")
      .format("$callee:symbol `(` $operands `)` attr-dict `:` signature")
      .effects(kControl);
}

}  // namespace xpusim::kernel
