#include "models/gpu/compiler/assembler/assembler.h"

#include <algorithm>
#include <utility>

namespace xpusim::gpu {
namespace {

constexpr int kFewestRegisters = 16;  ///< what the vendor's assembler reports at least

Instruction finish(const MachineInstruction& from, const MachineCode& code,
                   const Allocation& where) {
  Instruction i;
  i.op = from.op;
  i.mnemonic = from.mnemonic;
  auto place = [&](VReg r, std::vector<std::uint16_t>& general, std::vector<std::uint16_t>& uniform,
                   std::vector<std::uint8_t>& predicate) {
    const std::uint16_t n = where.number[r];
    switch (code.registers[r]) {
      case RegFile::kGeneral:
        general.push_back(n);
        break;
      case RegFile::kUniform:
        uniform.push_back(n);
        break;
      case RegFile::kPredicate:
        predicate.push_back(static_cast<std::uint8_t>(n));
        break;
    }
  };
  for (VReg r : from.defs) place(r, i.dst, i.udst, i.pdst);
  for (VReg r : from.uses) place(r, i.src, i.usrc, i.psrc);
  if (from.guard != kNoVReg) {
    i.guard = static_cast<std::uint8_t>(where.number[from.guard]);
    i.guard_negated = from.guard_negated;
  }
  i.site = from.site;
  i.vector = from.vector;
  i.width = from.width;
  i.copy = from.copy;
  i.line = from.line;
  i.active_warps = from.active_warps;
  i.active_lanes = from.active_lanes;
  i.branch = from.branch;
  i.target = from.target;
  i.extra_passes = from.extra_passes;
  i.shared_lanes = from.shared_lanes;
  i.shared_offset = from.shared_offset;
  i.barrier = from.barrier;
  i.meeting = from.meeting;
  i.pending = from.pending;
  i.mma = from.mma;
  return i;
}

/// Whether a value that is handed on already lies where the other block wants it.
bool stays(const MachineInstruction& i, const MachineCode& code, const Allocation& where) {
  if (!i.hands_on || i.guard != kNoVReg || i.uses.size() != 1) return false;
  const VReg to = i.defs[0], from = i.uses[0];
  return code.registers[to] == code.registers[from] && where.number[to] == where.number[from];
}

}  // namespace

int most_registers(int warps) {
  const int of_block = kRegistersOfSm / (warps * kWarpLanes) / kGranule * kGranule;
  return std::min(kRegistersOfInstruction, of_block);
}

bool has_variable_latency(Opcode op) {
  switch (op) {
    case Opcode::kMufu:
    case Opcode::kS2r:
    case Opcode::kS2ur:
    case Opcode::kLdc:
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

std::int64_t fixed_latency(Opcode op, RegFile result, const CompilerParams& params) {
  if (result == RegFile::kPredicate) return params.predicate_latency;
  switch (op) {
    case Opcode::kFma:
    case Opcode::kHfma2:
      return params.fma_latency;
    case Opcode::kFp64:
      return params.fp64_latency;
    case Opcode::kMma:
      return params.mma_latency;
    case Opcode::kUniform:
      return params.uniform_latency;
    default:
      return params.alu_latency;
  }
}

Assembled assemble(MachineCode code, const CompilerParams& params, int most, int warps) {
  simplify(code);
  combine_logic(code);
  combine_sums(code);
  pair_zeros(code);
  contract(code);
  simplify(code);
  choose_addresses(code);
  hoist(code);
  simplify(code);
  balance_pipes(code);
  const Placed placed = place(code, params, most, warps);
  const Allocation& where = placed.where;
  Assembled out;
  std::vector<std::int32_t> first;
  for (const auto& block : placed.code.blocks) {
    first.push_back(static_cast<std::int32_t>(out.code.size()));
    for (const auto& i : block.code) {
      if (!stays(i, placed.code, where)) out.code.push_back(finish(i, placed.code, where));
    }
  }
  for (auto& i : out.code) {
    if (i.op == Opcode::kBra) i.target = first[static_cast<std::size_t>(i.target)];
  }
  set_control(out.code, params);
  const int wanted = where.general + static_cast<int>(params.reserved_registers);
  out.registers = std::clamp(wanted, kFewestRegisters, most);
  return out;
}

}  // namespace xpusim::gpu
