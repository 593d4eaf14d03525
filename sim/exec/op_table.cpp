#include "sim/exec/op_table.h"

#include "sim/kernel/op_info.h"

namespace xpusim::exec {

OpTable::OpTable() : entries_(kernel::op_count()) {
  add_arithmetic(*this);
  add_shapes(*this);
  add_memory(*this);
  add_atomics(*this);
  add_reductions(*this);
  add_buffers(*this);
  add_memrefs(*this);
  add_lanes(*this);
  add_vectors(*this);
  add_lane_reductions(*this);
  add_semaphores(*this);
  add_random(*this);
  add_products(*this);
  add_shared(*this);
  add_dma(*this);
  add_collectives(*this);
  add_pairs(*this);
  add_external(*this);
  add_inline_assembly(*this);
  add_descriptors(*this);
  add_tma(*this);
  add_barriers(*this);
  add_control(*this);
}

void OpTable::add(const OpEntry& entry) {
  if (const kernel::OpInfo* info = kernel::find_op(entry.name)) entries_[info->id] = entry;
}

const OpTable& op_table() {
  static const OpTable table;
  return table;
}

bool has_handler(kernel::OpId op) { return op_table().find(op) != nullptr; }

}  // namespace xpusim::exec
