#pragma once

// The executable form of a function: a flat list of instructions over dense value slots. Structured
// control flow has become jumps and copies, so a block can stop anywhere and go on later.

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/exec/interpreter.h"

namespace xpusim::exec {

struct Frame;
struct Instruction;

enum class Step : std::uint8_t {
  kNext,    ///< go on with the next instruction
  kJump,    ///< go on at Instruction::target
  kEffect,  ///< stop: the rest of this instruction takes place in perform()
  kWait,    ///< not yet: the same instruction again once other warps have gone on
  kDone,
  kFail,  ///< Frame::error says why
};
using Handler = Step (*)(Frame&, const Instruction&);

inline constexpr std::uint32_t kNoSlot = ~0u;

struct Instruction {
  Handler run = nullptr;
  Handler perform = nullptr;  ///< the part of a visible effect that others can see
  const kernel::Op* op = nullptr;
  std::uint32_t operands = 0;  ///< its operands' slots begin here in Code::operand_slots
  std::uint32_t operand_count = 0;
  std::uint32_t result = kNoSlot;  ///< slot of the first result; the others follow
  std::uint32_t result_count = 0;
  std::uint32_t site = Prepared::kNoSite;
  std::uint32_t target = 0;    ///< where kJump leads
  std::uint32_t index = 0;     ///< loop counter, region or constant
  std::int64_t immediate = 0;  ///< decoded from attributes: a predicate, an axis, ...
  std::uint8_t code = 0;       ///< which of its handler's ops
  std::uint8_t flops = 0;      ///< floating-point operations an element
  bool evaluate = true;        ///< needed for addresses, masks, control or integer results
  bool pure = false;
  bool visible = false;  ///< stops the block: its effect takes place in step with time
};

/// What is known of a slot before anything runs.
struct SlotInfo {
  Shape shape;
  DType dtype = DType::kNone;
  bool is_pointer = false;
  bool is_view = false;        ///< a memref or memdesc: its View lies in Frame::views
  bool is_descriptor = false;  ///< a tensor descriptor, in Frame::descriptors
};

/// A region that an op runs by itself (the combination of a reduction), over whole tiles at a time.
struct RegionCode {
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> arguments, results;  ///< slots
  std::vector<std::uint32_t> slots;               ///< all slots that it writes or takes
  std::uint32_t flops = 0;                        ///< an element, over all its ops
};

class Code final : public Prepared {
 public:
  std::uint32_t site(const kernel::Op& op) const override {
    const auto it = sites.find(&op);
    return it == sites.end() ? kNoSite : it->second;
  }
  std::size_t site_count() const override { return sites.size(); }
  const kernel::Function& function() const override { return *entry; }

  std::shared_ptr<const kernel::Module> module;
  const kernel::Function* entry = nullptr;
  std::vector<Instruction> preamble;  ///< what does not depend on the block: run once a launch
  std::vector<Instruction> body;
  std::vector<std::uint32_t> operand_slots;
  std::vector<SlotInfo> slots;
  std::vector<std::uint32_t> arguments;  ///< slots of the function's arguments
  std::vector<RegionCode> regions;
  std::vector<Tile> constants;
  std::uint32_t loops = 0;
  std::uint32_t shared_allocations = 0;
  std::unordered_map<const kernel::Op*, std::uint32_t> sites;
  std::unordered_map<const kernel::Value*, std::uint32_t> slot_of;
};

}  // namespace xpusim::exec
