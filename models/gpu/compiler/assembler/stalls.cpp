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

Claim claim_of(const Instruction& i, const CompilerParams& params) {
  const bool guarded = i.guard != kNoGuard;
  switch (i.op) {
    case Opcode::kAlu:
      return {Unit::kAlu, params.alu_interval};
    case Opcode::kFma: {
      const bool wide = i.mnemonic.starts_with("IMAD.WIDE");
      if (!i.mnemonic.starts_with("IMAD")) return {Unit::kMultiplier, 1};
      return {Unit::kMultiplier, wide ? 2 * params.alu_interval : params.alu_interval};
    }
    case Opcode::kMufu:
      return {Unit::kXu, params.xu_interval};
    case Opcode::kLdc:
      return {Unit::kConstants, params.constant_interval};
    case Opcode::kBar:
    case Opcode::kExit:
    case Opcode::kMembar:
      return {Unit::kAny, params.control_interval};
    default:
      return {Unit::kMemory, is_memory(i.op) && guarded ? params.guarded_memory_interval : 1};
  }
}

bool needs(const Instruction& i, Unit unit) {
  switch (unit) {
    case Unit::kAlu:
      return i.op == Opcode::kAlu;
    case Unit::kMultiplier:
      return i.op == Opcode::kFma && i.mnemonic.starts_with("IMAD");
    case Unit::kXu:
      return i.op == Opcode::kMufu;
    case Unit::kConstants:
      return i.op == Opcode::kLdc || i.mnemonic == "S2UR";
    case Unit::kMemory:
      return is_memory(i.op);
    case Unit::kAny:
    case Unit::kCount:
      break;
  }
  return true;
}

}  // namespace xpusim::gpu
