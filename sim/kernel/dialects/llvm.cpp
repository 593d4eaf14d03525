// llvm: the few ops of it that stand in Triton's own levels.

#include "sim/kernel/dialects/define.h"

namespace xpusim::kernel {

void define_llvm(Definitions& ops) {
  Dialect d("llvm", ops);
  // A promise of the kernel's author to the compiler.
  d.op("intr.assume").in("cond:bool").format("$cond attr-dict `:` type($cond)");
}

}  // namespace xpusim::kernel
