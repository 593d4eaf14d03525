#pragma once

// The executor's table of handlers, by OpId. Each file under handlers/ adds the ops of one kind.

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/exec/code.h"

namespace xpusim::exec {

/// How the executor runs an op.
struct OpEntry {
  std::string_view name;
  Handler run = nullptr;   ///< null: the code builder makes jumps and copies of it
  std::uint8_t code = 0;   ///< Instruction::code
  std::uint8_t flops = 0;  ///< floating-point operations an element of the result
  bool pure = true;        ///< no effect, never fails: may be skipped or moved out of the block
  Handler perform = nullptr;
  /// Decodes attributes into the instruction; the result is what is wrong, or "".
  std::string_view (*prepare)(const kernel::Op& op, Instruction& in) = nullptr;
  bool leaves_record = false;  ///< has a site in the block's trace
  bool allocates = false;      ///< takes shared memory: Instruction::index numbers it
  bool per_block = false;      ///< pure, but another value in each block
};

class OpTable {
 public:
  OpTable();
  void add(const OpEntry& entry);  ///< ignores ops that no dialect defines
  const OpEntry* find(kernel::OpId id) const {
    return id < entries_.size() && !entries_[id].name.empty() ? &entries_[id] : nullptr;
  }

 private:
  std::vector<OpEntry> entries_;
};

const OpTable& op_table();

void add_arithmetic(OpTable& table);  // arith.*, math.*
void add_shapes(OpTable& table);      // splat, broadcast, reshape, ranges, program ids, constants
void add_memory(OpTable& table);      // tt.load, tt.store
void add_atomics(OpTable& table);     // tt.atomic_rmw, tt.atomic_cas
void add_reductions(OpTable& table);  // tt.reduce, vector.multi_reduction
void add_buffers(OpTable& table);     // vector.load, tpu.vector_store, memref.load, ...
void add_memrefs(OpTable& table);     // slices and views of memrefs, allocations
void add_lanes(OpTable& table);       // tpu.dynamic_rotate, concatenate, dynamic_gather, extracts
void add_vectors(OpTable& table);     // tpu.* element by element: casts, packing, masks
void add_lane_reductions(OpTable& table);  // tpu.reduce_index, all_reduce, scan
void add_semaphores(OpTable& table);       // tpu.sem_*
void add_random(OpTable& table);           // tpu.prng_*
void add_products(OpTable& table);         // tt.dot, warp_group_dot, tpu.matmul
void add_shared(OpTable& table);           // shared memory and asynchronous copies
void add_dma(OpTable& table);              // tpu.enqueue_dma, tpu.wait_dma2
void add_collectives(OpTable& table);      // tt.scan, tt.gather, tt.histogram, library functions
void add_pairs(OpTable& table);            // tt.join, tt.split, tt.cat
void add_external(OpTable& table);         // functions of the vendor's library
void add_inline_assembly(OpTable& table);
void add_descriptors(OpTable& table);  // tensor descriptors, tensor maps
void add_tma(OpTable& table);          // copies by TMA
void add_barriers(OpTable& table);     // mbarriers
void add_control(OpTable& table);      // scf.*, cf.*, calls, returns, barriers, asserts

}  // namespace xpusim::exec
