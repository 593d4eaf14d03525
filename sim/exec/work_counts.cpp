#include <algorithm>

#include "sim/exec/interpreter.h"

namespace xpusim::exec {

void WorkCounts::add(const WorkCounts& other) {
  flops += other.flops;
  dot_flops += other.dot_flops;
  load_bytes += other.load_bytes;
  store_bytes += other.store_bytes;
  tensors.resize(std::max(tensors.size(), other.tensors.size()));
  for (std::size_t i = 0; i < other.tensors.size(); ++i) {
    tensors[i].loaded += other.tensors[i].loaded;
    tensors[i].stored += other.tensors[i].stored;
  }
}

WorkCounts::Bytes WorkCounts::compulsory(const DeviceMemory& memory) const {
  Bytes sum;
  const auto& all = memory.allocations();
  for (std::size_t i = 0; i < tensors.size() && i < all.size(); ++i) {
    sum.loaded += std::min(tensors[i].loaded, all[i].bytes);
    sum.stored += std::min(tensors[i].stored, all[i].bytes);
  }
  return sum;
}

}  // namespace xpusim::exec
