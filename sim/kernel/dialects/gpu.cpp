// gpu: what Triton borrows from it. gpu.barrier: all warps of the program wait for each other.

#include "sim/kernel/dialects/define.h"

namespace xpusim::kernel {

void define_gpu(Definitions& ops) {
  Dialect d("gpu", ops);
  d.op("barrier").format("attr-dict").effects(kBarrier | kVisible);
}

}  // namespace xpusim::kernel
