#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/gpu/compiler/machine_code.h"
#include "models/gpu/compiler/params.h"
#include "models/gpu/program/program.h"

namespace xpusim::gpu {

/// Final code, whose branches count from its own beginning, and the registers of a thread.
struct Assembled {
  std::vector<Instruction> code;
  int registers = 0;
};
/// The model of the vendor's assembler: lowered code over virtual registers in, final code out,
/// with at most `most` registers a thread; `warps` of a block. Its passes, in order, one file each.
Assembled assemble(MachineCode code, const CompilerParams& params, int most, int warps);

inline constexpr int kRegistersOfInstruction = 255;  ///< that it can name
/// Registers a thread of a block that must fit the chip (64 K registers an SM, 255 a thread: CUDA
/// C++ Programming Guide, compute capabilities 8.0 and 9.0). What needs more the vendor's assembler
/// spills to local memory, whose traffic is not modelled.
int most_registers(int warps);

/// Whether an instruction does nothing but compute its results.
bool is_pure(const MachineInstruction& i);
/// Removes what is computed twice and what nobody reads.
void simplify(MachineCode& code);
/// Moves what does not change in a loop to the block before it.
void hoist(MachineCode& code);
/// Contracts products that only sums use into fused multiply-adds, as PTX's default allows.
void contract(MachineCode& code);
/// Logic of two predicates becomes part of a comparison that only it reads (FSETP.GT.OR, ...), and
/// bitwise operations of up to three sources become one (LOP3, PLOP3).
void combine_logic(MachineCode& code);
/// Integer products and shifts that only one sum reads become part of it (IMAD, LEA), and sums of
/// three one instruction (IADD3).
void combine_sums(MachineCode& code);
/// Clears two registers that must stand side by side at once (CS2R).
void pair_zeros(MachineCode& code);
/// Adds an index that only one address scales to a pointer parameter in halves, on the ALU pipe
/// from a uniform register (LEA, LEA.HI.X.SX32); what several addresses share stays a wide
/// multiply-add each (IMAD.WIDE). So do 302 of 303 single indices, and all 80 shared ones of
/// programs of one block, in the listings of torch.compile's pointwise kernels.
void choose_addresses(MachineCode& code);
/// Moves integer work from the ALU pipe to the FMA pipe (IMAD.SHL, IMAD.MOV, VIADD) while the
/// former is clearly the busier.
void balance_pipes(MachineCode& code);
inline constexpr int kNoBudget = 1 << 20;
/// What the scheduler keeps to.
struct ScheduleGoal {
  int budget = kNoBudget;   ///< lane registers
  int comfortable = 0;      ///< lane registers below which loads go first
  int relaxed = 0;          ///< lane registers below which any work may fill stalls
  bool loads_flow = false;  ///< loads go out as early as the budget allows, as if they took long
  bool sees_units = true;   ///< others fill the stalls of busy units, which may take registers
};
/// [block] its instructions, by their places in the code that is put in order.
using Order = std::vector<std::vector<std::uint32_t>>;
struct Schedule {
  Order order;
  int peak = 0;                    ///< lane registers alive at once
  std::int64_t length = 0;         ///< guessed cycles
  std::int64_t memory_length = 0;  ///< the same, with every load coming from memory
  std::int64_t known_length = 0;   ///< of loops, without waiting for global loads
};
/// Orders each block's instructions in the order in which values are needed, as far as guessed
/// latencies and a goal allow. What all goals share is found once. The code and the parameters must
/// outlive it.
class Schedules {
 public:
  Schedules(const MachineCode& code, const CompilerParams& params);
  ~Schedules();
  Schedules(const Schedules&) = delete;
  Schedules& operator=(const Schedules&) = delete;
  Schedule under(const ScheduleGoal& goal) const;
  /// The code in that order.
  MachineCode ordered(const Order& order) const;

 private:
  struct Block;
  const MachineCode& code_;
  std::vector<std::unique_ptr<const Block>> blocks_;
};
/// Registers of an SM, as the vendor's compiler knows the chips of compute capability 8.0 and 9.0:
/// a configuration with others runs the code made for these.
inline constexpr int kRegistersOfSm = 65536;
inline constexpr int kStackPointer = 1;  ///< R1 is taken from the first instruction to the last
/// Ends warps before the last store of a block that ends them anyway when none of their lanes
/// stores.
void exit_early(MachineCode& code);
/// Keeps at most seven predicates alive: others wait in lane registers (P2R, ISETP.NE).
void spill_predicates(MachineCode& code);

/// Where virtual registers live, by number in their own file.
struct Allocation {
  std::vector<std::uint16_t> number;  ///< [vreg]
  int general = 0;                    ///< lane registers in use (highest number + 1)
  int uniform = 0, predicate = 0;
};
/// Gives every virtual register a place, tuples side by side and aligned: the lowest free one, or
/// one next to others in use, whichever takes fewer in all.
/// With `lingering`, sources that are read late stay untouched for a while.
Allocation allocate(const MachineCode& code, bool lingering);

/// The chip hands out registers a thread in units of these.
inline constexpr int kGranule = 8;
/// Code in its final order with its registers.
struct Placed {
  MachineCode code;
  Allocation where;
  std::int64_t length = 0;  ///< guessed cycles
};
/// Schedules and allocates. A block of one warp lets its loads flow, with as many registers as that
/// takes (in measured listings of such blocks 34 to 191: nothing is done for more of them to fit).
/// For several warps: freely; and, if full occupancy then has too few registers, within
/// these, which stands unless the code gets too much longer. Then tries smaller budgets while they
/// save a granule of registers that fragmentation costs. Then within all registers that leave an SM
/// as many blocks (of `warps` warps), which stands if the code gets shorter. Last, lets loads flow
/// as early as the registers that are needed anyway allow, which stands if it saves waiting for
/// memory.
/// With more than `most` registers a thread (those of an instruction, or of a block that must fit
/// the chip) it goes on with ever smaller budgets.
Placed place(const MachineCode& code, const CompilerParams& params, int most, int warps);

/// Sets stall counts for fixed-latency results and scoreboards for the others.
void set_control(std::vector<Instruction>& code, const CompilerParams& params);

/// Instructions whose latency the assembler does not know: their results raise a scoreboard.
bool has_variable_latency(Opcode op);
/// Cycles from the issue of a fixed-latency instruction to its result's first use.
std::int64_t fixed_latency(Opcode op, RegFile result, const CompilerParams& params);

}  // namespace xpusim::gpu
