// tt: Triton's language: functions, program ids and element-wise ops; see also tt_tiles.cpp and
// tt_memory.cpp. Groups and attributes are named at each op; enumerations are integers as in
// grammar/enums.h.

#include "sim/kernel/dialects/define.h"
#include "sim/kernel/dialects/function_grammar.h"
#include "sim/kernel/dialects/shapes.h"

namespace xpusim::kernel {
namespace {

std::string verify_bitcast(const Op& op) {
  const Type from = op.operands[0]->type, to = op.result()->type;
  if (std::string problem = check_same_shape(from, to, "src", "result"); !problem.empty())
    return problem;
  const auto bits = [](Type t) { return t->is_pointer_like() ? 64 : bit_width(t->dtype); };
  return bits(from) == bits(to) ? ""
                                : "cannot reinterpret '" + from->text + "' as '" + to->text + "'";
}

std::string verify_addptr(const Op& op) {
  return check_same_frame(op.operands[0]->type, op.operands[1]->type);
}

void define_structure(Dialect& d) {
  // tt.func: see FunctionGrammar. tt.call: operands*; "callee".
  d.op("func").grammar(std::make_unique<FunctionGrammar>()).verify(verify_function).isolated();
  d.op("call")
      .in("operands*")
      .out("results*")
      .format("$callee:symbol `(` $operands `)` attr-dict `:` signature")
      .effects(kControl);
  d.op("return")
      .in("operands*")
      .format("attr-dict ($operands^ `:` type($operands) )?")
      .effects(kTerminator);
  // "axis": x 0, y 1, z 2.
  d.op("get_program_id")
      .out("result")
      .types("result = i32")
      .format("$axis:program_dim attr-dict `:` type($result)");
  d.op("get_num_programs")
      .out("result")
      .types("result = i32")
      .format("$axis:program_dim attr-dict `:` type($result)");
  // condition; "message".
  d.op("assert")
      .in("condition:bool")
      .format("$condition `,` $message:string attr-dict `:` type($condition)")
      .effects(kVisible);
  // args*; "prefix", "hex", "isSigned".
  d.op("print")
      .in("args*")
      .format("$prefix:string attr-dict (`:` $args^ `:` type($args) )?")
      .effects(kVisible);
}

void define_arithmetic(Dialect& d) {
  d.op("addptr")
      .in("ptr:ptr, offset:int")
      .out("result:ptr")
      .types("ptr = result")
      .format("$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)")
      .verify(verify_addptr)
      .effects(kElementwise);
  d.op("bitcast")
      .in("src")
      .out("result")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .verify(verify_bitcast)
      .effects(kElementwise);
  d.op("int_to_ptr")
      .in("src:int")
      .out("result:ptr")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .effects(kElementwise);
  d.op("ptr_to_int")
      .in("src:ptr")
      .out("result:int")
      .format("$src attr-dict `:` type($src) `->` type($result)")
      .effects(kElementwise);
  // "rounding": rtz 0, rtne 1.
  d.op("fp_to_fp")
      .in("src:float")
      .out("result:float")
      .format(
          "$src attr-dict (`,` `rounding` `=` $rounding:fp_rounding^ )? `:` type($src) `->` "
          "type($result)")
      .verify(
          [](const Op& op) { return check_same_frame(op.operands[0]->type, op.result()->type); })
      .effects(kElementwise);
  // x, min, max; "propagateNan".
  d.op("clampf")
      .in("x:float, min:float, max:float")
      .out("result:float")
      .types("x = result; min = result; max = result")
      .format(
          "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan:propagate_nan attr-dict `:` "
          "type($result)")
      .effects(kElementwise);
  d.op("precise_sqrt")
      .in("x:float")
      .out("result:float")
      .types("x = result")
      .format("$x attr-dict `:` type($x)")
      .effects(kElementwise);
  d.op("precise_divf")
      .in("x:float, y:float")
      .out("result:float")
      .types("x = result; y = result")
      .format("$x `,` $y attr-dict `:` type($x)")
      .effects(kElementwise);
  d.op("mulhiui")
      .in("x:int, y:int")
      .out("result:int")
      .types("x = result; y = result")
      .format("$x `,` $y attr-dict `:` type($x)")
      .effects(kElementwise);
  // srcs*; "symbol", "libname", "libpath", "pure".
  d.op("extern_elementwise")
      .in("srcs*")
      .out("result")
      .format("$srcs attr-dict `:` signature")
      .effects(kElementwise);
  // args*; "asm_string", "constraints", "packed_element", "pure".
  d.op("elementwise_inline_asm")
      .in("args*")
      .out("results*")
      .format("$asm_string:string attr-dict ($args^ `:` type($args) )? `->` type($results)")
      .effects(kElementwise);
}

}  // namespace

void define_tt(Definitions& ops) {
  Dialect d("tt", ops);
  define_structure(d);
  define_arithmetic(d);
}

}  // namespace xpusim::kernel
