#pragma once

// The state of one running block, and what handlers use to reach it.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/exec/code.h"
#include "sim/exec/descriptor.h"
#include "sim/exec/handlers/barriers.h"
#include "sim/exec/intervals.h"
#include "sim/exec/step_interpreter.h"

namespace xpusim::exec {

class ProductListener;

struct Frame {
  Frame(std::shared_ptr<const Code> prepared, DeviceMemory* device, bool evaluates_values);

  std::shared_ptr<const Code> code;
  DeviceMemory* memory = nullptr;
  bool values = true;
  ProductListener* products = nullptr;
  std::array<std::int64_t, 3> id{}, grid{1, 1, 1};

  std::vector<Instruction> preamble, body;  ///< as in `code`, with skipped ops replaced
  std::vector<Tile> slots;             ///< shape and dtype fixed, form and payload as they come
  std::vector<std::int64_t> live;      ///< elements of a slot that no mask has left out
  std::vector<std::int64_t> counters;  ///< iterations left, a loop
  std::vector<View> views;             ///< memrefs and memdescs, by slot
  std::vector<TensorDescriptor> descriptors;             ///< tensor descriptors, by slot
  std::map<std::int64_t, TensorDescriptor> tensor_maps;  ///< those made on the device, by address
  std::vector<std::vector<std::byte>> shared;            ///< shared memory, an allocation
  std::vector<Intervals> shared_written;                 ///< the elements with a value, likewise
  Barriers barriers;
  Tile held[2];  ///< what ops read from or write to shared memory; kept for their storage
  /// One end of an asynchronous copy that no wait has covered: elements begin .. end-1 of a buffer
  /// (View::argument). `group`: a group of copies, an mbarrier or a semaphore.
  struct AsyncCopy {
    std::uint32_t buffer;
    std::int64_t group, begin, end;
    const kernel::Op* op;
    bool writes;
    Shape shape, strides;    ///< which of the elements begin .. end-1: those of the view
    std::int64_t bytes = 0;  ///< what its semaphore counts when it has arrived (a DMA's target)
    std::int64_t phase = 0;  ///< of the mbarrier that covers it
  };
  std::vector<AsyncCopy> copies;
  struct Semaphore {
    std::int64_t key, count;  ///< of a DMA: bytes that have arrived and no wait has taken
  };
  std::vector<Semaphore> semaphores;      ///< those of this core; live as long as the launch
  std::uint32_t device = 0, devices = 1;  ///< which of how many run the program
  std::optional<Outgoing> outgoing;       ///< of the effect that was just performed
  std::uint64_t random_key = 0;           ///< of the core's random bits, from their seed
  std::uint64_t random_index = 0;         ///< elements drawn since the seed
  bool random_seeded = false;
  std::vector<std::int64_t> bounds;  ///< of a Mosaic kernel's grid, where the text leaves it open
  /// Warps that run code of their own (ttg.warp_specialize): all but one stand still meanwhile.
  struct Strand {
    std::uint32_t pc = 0;
    Step stopped = Step::kNext;    ///< why it does not run: kEffect, kWait, kDone
    std::int64_t open_group = 0;   ///< groups of copies committed so far
    std::int64_t bulk_stores = 0;  ///< copies by TMA from shared memory begun so far
  };
  std::vector<Strand> strands;       ///< the block's own warps first
  std::uint32_t running = 0;         ///< whose state `strand` and `pc` are
  Strand strand;                     ///< but for its pc
  std::vector<std::uint32_t> hints;  ///< the allocation that a site touched last
  BlockTrace trace;
  WorkCounts counts;
  ExecError error;
  std::uint32_t pc = 0;

  std::uint32_t slot(const Instruction& in, std::size_t k) const {
    return code->operand_slots[in.operands + k];
  }
  bool has(const Instruction& in, std::size_t k) const {
    return k < in.operand_count && slot(in, k) != kNoSlot;
  }
  Tile& operand(const Instruction& in, std::size_t k) { return slots[slot(in, k)]; }
  Tile& result(const Instruction& in, std::size_t k = 0) { return slots[in.result + k]; }
  bool wants(const Instruction& in) const { return values || in.evaluate; }

  Step fail(const Instruction& in, std::string message);
  /// Runs the instructions that do not depend on the block.
  bool run_preamble();
  void start();
  void start_block();  ///< start(), with nothing left of the block before but the storage
  Interpreter::State advance();
  void perform();
  /// More warps, which begin at an instruction.
  void add_strand(std::uint32_t first);
  /// Whether all warps but the block's own have ended; these are forgotten then.
  bool join_strands();
  /// Groups of copies are numbered by the warps that commit them.
  static constexpr std::int64_t kStrandGroups = std::int64_t{1} << 40;
  const kernel::Op* effect() const { return body[pc].op; }

 private:
  bool run_strand();
  bool pick_strand();
  void switch_to(std::uint32_t next);
  Interpreter::State deadlock();
};

/// Counts the floating-point work of an element-wise op and passes on how much of it is not masked.
void count_elementwise(Frame& f, const Instruction& in);

}  // namespace xpusim::exec
