#include "models/gpu/compiler/assembler/dependence_graph.h"

#include <algorithm>

#include "models/gpu/compiler/assembler/stalls.h"

namespace xpusim::gpu {

DependenceGraph::DependenceGraph(const MachineCode& code, const MachineBlock& block,
                                 const CompilerParams& params, std::int64_t load_guess)
    : code_(code),
      block_(block),
      params_(params),
      load_guess_(load_guess),
      has_async_products_(std::any_of(block.code.begin(), block.code.end(),
                                      [](const auto& i) { return i.op == Opcode::kWgmma; })),
      nodes_(block.code.size()) {
  last_write_.assign(code.registers.size(), kNobody);
  readers_.resize(code.registers.size());
  unit_uses_.reserve(nodes_.size());
  for (const auto& i : block.code) unit_uses_.push_back(unit_use(i.op, i.mnemonic, params));
  for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
    order_registers(at);
    order_effects(at);
  }
}

std::int64_t DependenceGraph::guess(const MachineInstruction& i, VReg result) const {
  switch (i.op) {
    case Opcode::kLdg:
    case Opcode::kAtom:
      return load_guess_;
    case Opcode::kMufu:
      return params_.mufu_guess;
    case Opcode::kLds:
    case Opcode::kLdsm:
    case Opcode::kShfl:
    case Opcode::kS2r:
    case Opcode::kS2ur:
    case Opcode::kLdc:
      return params_.shared_guess;
    default:
      return fixed_latency(i.op, code_.registers[result], params_);
  }
}

void DependenceGraph::add(std::uint32_t from, std::uint32_t to, std::int64_t latency, bool memory) {
  if (from == to || from == kNobody) return;
  nodes_[from].after.push_back({to, static_cast<std::int32_t>(latency), memory});
  ++nodes_[to].predecessors;
  if (!memory) nodes_[to].before.push_back(from);
}

void DependenceGraph::read(std::uint32_t at, VReg r, bool guards) {
  if (last_write_[r] != kNobody) {
    const bool is_source =
        code_.registers[r] == RegFile::kPredicate && !guards && !has_async_products_;
    add(last_write_[r], at,
        is_source ? params_.alu_latency : guess(block_.code[last_write_[r]], r));
  }
  readers_[r].push_back(at);
}

void DependenceGraph::order_registers(std::uint32_t at) {
  const MachineInstruction& i = block_.code[at];
  for (VReg r : i.uses) read(at, r, false);
  if (i.guard != kNoVReg) read(at, i.guard, true);
  for (VReg r : i.defs) {
    for (std::uint32_t reader : readers_[r]) add(reader, at, 0);
    if (last_write_[r] != kNobody && readers_[r].empty()) add(last_write_[r], at, 1);
    readers_[r].clear();
    last_write_[r] = at;
  }
}

void DependenceGraph::after_all(const std::vector<std::uint32_t>& earlier, std::uint32_t at) {
  for (std::uint32_t e : earlier) add(e, at, 1, true);
}

void DependenceGraph::order_effects(std::uint32_t at) {
  const MemoryEffect effect = block_.code[at].effect;
  if (effect == MemoryEffect::kNone) return;
  add(barrier_, at, 1, true);
  switch (effect) {
    case MemoryEffect::kGlobalLoad:
      after_all(global_stores_, at);
      global_loads_.push_back(at);
      break;
    case MemoryEffect::kGlobalStore:
      after_all(global_loads_, at);
      global_stores_.push_back(at);
      break;
    case MemoryEffect::kSharedLoad:
      after_all(shared_stores_, at);
      shared_loads_.push_back(at);
      break;
    case MemoryEffect::kSharedStore:
      after_all(shared_loads_, at);
      shared_stores_.push_back(at);
      break;
    default:
      for (auto* list : {&global_loads_, &global_stores_, &shared_loads_, &shared_stores_}) {
        after_all(*list, at);
        list->clear();
      }
      if (effect == MemoryEffect::kEnd) {
        for (std::uint32_t e = 0; e < at; ++e) add(e, at, 0, true);
      }
      barrier_ = at;
  }
}

std::int64_t in_order_length(const DependenceGraph& graph,
                             const std::vector<std::uint32_t>& order) {
  std::vector<std::int64_t> earliest(order.size());
  Units units;
  std::int64_t now = 0;
  for (std::uint32_t at : order) {
    now = std::max({now, earliest[at], units.free_for(graph.unit_uses()[at])});
    units.take(graph.unit_uses()[at], now);
    for (const Edge& e : graph.nodes()[at].after) {
      earliest[e.to] = std::max(earliest[e.to], now + e.latency);
    }
    ++now;
  }
  return now;
}

}  // namespace xpusim::gpu
