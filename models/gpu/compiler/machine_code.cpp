#include "models/gpu/compiler/machine_code.h"

#include <algorithm>

namespace xpusim::gpu {

bool MachineCode::tie(const Tuple& tuple) {
  const std::int32_t known = tuple_of[tuple[0]];
  if (known >= 0) return tuples[static_cast<std::size_t>(known)] == tuple;
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    if (tuple_of[tuple[i]] >= 0) return false;
    if (std::find(tuple.begin(), tuple.begin() + static_cast<std::ptrdiff_t>(i), tuple[i]) !=
        tuple.begin() + static_cast<std::ptrdiff_t>(i)) {
      return false;
    }
  }
  for (VReg r : tuple) tuple_of[r] = static_cast<std::int32_t>(tuples.size());
  tuples.push_back(tuple);
  return true;
}

}  // namespace xpusim::gpu
