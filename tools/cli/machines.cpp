// The machines that this binary knows: one line a family.

#include "models/gpu/machine.h"
#include "models/roofline/machine.h"
#include "models/system/machine.h"
#include "models/tpu/machine.h"
#include "tools/cli/verbs.h"

namespace xpusim::cli {

void register_machines() {
  run::register_family(gpu::family());
  run::register_family(tpu::family());
  run::register_family(roofline::family());
  run::register_family(system::family());
}

}  // namespace xpusim::cli
