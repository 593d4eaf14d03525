#include "models/gpu/compiler/assembler/stalls.h"

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

bool is_memory(Opcode op) {
  switch (op) {
    case Opcode::kLdg:
    case Opcode::kStg:
    case Opcode::kAtom:
    case Opcode::kRed:
    case Opcode::kLds:
    case Opcode::kSts:
    case Opcode::kShfl:
    case Opcode::kLdgsts:
    case Opcode::kLdsm:
    case Opcode::kStsm:
      return true;
    default:
      return false;
  }
}

bool is_tma(Opcode op) {
  return op == Opcode::kUtma || op == Opcode::kSyncs || op == Opcode::kSyncsWait;
}

/// Where a warp may go another way, or another of its ways.
bool is_branch(Opcode op, std::string_view mnemonic) {
  return op == Opcode::kBra || op == Opcode::kExit || mnemonic == "BRA" || mnemonic == "BSYNC";
}

/// Whether an operand comes from a pipe of fixed latency other than the reader's own.
bool crosses(Opcode from, Opcode to) {
  if (from != Opcode::kAlu && from != Opcode::kFma) return false;
  return from != to && to != Opcode::kMufu && to != Opcode::kUniform;
}

}  // namespace

std::int64_t use_latency(const Instruction& producer, const Instruction& consumer, RegFile file,
                         Use use, const CompilerParams& params) {
  switch (file) {
    case RegFile::kPredicate:
      return use == Use::kGuard ? params.predicate_latency : params.alu_latency;
    case RegFile::kUniform:
      if (consumer.op == Opcode::kUniform) return params.uniform_latency;
      return is_memory(consumer.op) ? params.uniform_to_memory_latency
                                    : params.uniform_to_vector_latency;
    case RegFile::kGeneral:
      break;
  }
  return fixed_latency(producer.op, file, params) +
         (crosses(producer.op, consumer.op) ? params.crossing_latency : 0);
}

namespace {

/// An instruction of that unit may not follow sooner than this.
struct Claim {
  Unit unit;
  std::int64_t cycles;
};
Claim claim_of(Opcode op, std::string_view mnemonic, const CompilerParams& params) {
  if (is_branch(op, mnemonic)) return {Unit::kAny, params.branch_interval};
  switch (op) {
    case Opcode::kAlu:
      return {Unit::kAlu, params.alu_interval};
    case Opcode::kFma: {
      const bool wide = mnemonic.starts_with("IMAD.WIDE");
      if (!mnemonic.starts_with("IMAD")) return {Unit::kMultiplier, 1};
      return {Unit::kMultiplier, wide ? 2 * params.alu_interval : params.alu_interval};
    }
    case Opcode::kMufu:
      return {Unit::kXu, params.xu_interval};
    case Opcode::kLdc:
      return {Unit::kConstants, params.constant_interval};
    case Opcode::kBar:
      return {Unit::kBarrier, params.barrier_interval};
    case Opcode::kMembar:
      return {Unit::kAny, params.barrier_interval};
    case Opcode::kDepbar:
      return {Unit::kAny, params.group_interval};
    case Opcode::kLdgdepbar:
      return {Unit::kMemory, params.memory_interval};
    default:
      return {Unit::kMemory, is_memory(op) ? params.memory_interval : 1};
  }
}

/// Whether an instruction has to wait for that unit.
bool needs(Opcode op, std::string_view mnemonic, Unit unit) {
  switch (unit) {
    case Unit::kAlu:
      return op == Opcode::kAlu;
    case Unit::kMultiplier:
      return op == Opcode::kFma && mnemonic.starts_with("IMAD");
    case Unit::kXu:
      return op == Opcode::kMufu;
    case Unit::kConstants:
      return op == Opcode::kLdc || mnemonic == "S2UR";
    case Unit::kMemory:
      return is_memory(op);
    case Unit::kBarrier:
      return is_memory(op) || is_branch(op, mnemonic) || is_tma(op);
    case Unit::kAny:
    case Unit::kCount:
      break;
  }
  return true;
}

}  // namespace

static_assert(static_cast<int>(Unit::kCount) <= 8, "UnitUse::needs has a bit for each");

UnitUse unit_use(Opcode op, std::string_view mnemonic, const CompilerParams& params) {
  const auto [unit, cycles] = claim_of(op, mnemonic, params);
  UnitUse use{.claims = unit, .cycles = cycles};
  for (std::uint8_t u = 0; u < static_cast<std::uint8_t>(Unit::kCount); ++u) {
    if (needs(op, mnemonic, static_cast<Unit>(u))) use.needs |= static_cast<std::uint8_t>(1 << u);
  }
  return use;
}

}  // namespace xpusim::gpu
