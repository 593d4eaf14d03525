// memref: scalar accesses of Mosaic kernels, in SMEM.
//
//   memref.load   memref, indices*
//   memref.store  value, memref, indices*

#include "sim/kernel/dialects/define.h"

namespace xpusim::kernel {

void define_memref(Definitions& ops) {
  Dialect d("memref", ops);
  const auto indices = [](const Op& op, std::size_t memref) -> std::string {
    const std::size_t rank = op.operands[memref]->type->shape.size();
    return op.operands.size() == memref + 1 + rank
               ? ""
               : "needs an index for each of the " + std::to_string(rank) +
                     " dimensions of its memref";
  };
  static const auto check = indices;
  d.op("load")
      .in("memref:memref, indices*:int")
      .out("result")
      .types("indices = index; result = element(memref)")
      .format("$memref `[` $indices `]` attr-dict `:` type($memref)")
      .verify([](const Op& op) { return check(op, 0); })
      .effects(kReadsShared);
  d.op("store")
      .in("value, memref:memref, indices*:int")
      .types("value = element(memref); indices = index")
      .format("$value `,` $memref `[` $indices `]` attr-dict `:` type($memref)")
      .verify([](const Op& op) { return check(op, 1); })
      .effects(kWritesShared);
  // source; "index".
  d.op("dim")
      .in("source:memref, index:int")
      .out("result")
      .types("index = index; result = index")
      .format("attr-dict $source `,` $index `:` type($source)");
  d.op("cast")
      .in("source:memref")
      .out("dest:memref")
      .format("$source attr-dict `:` type($source) `to` type($dest)");
  // dynamicSizes*, symbolOperands*: only static allocations are read in custom form.
  d.op("alloca")
      .in("dynamicSizes*:int, symbolOperands*:int")
      .out("memref:memref")
      .types("dynamicSizes = index; symbolOperands = index")
      .format("`(` $dynamicSizes `)` (`[` $symbolOperands^ `]` )? attr-dict `:` type($memref)");
}

}  // namespace xpusim::kernel
