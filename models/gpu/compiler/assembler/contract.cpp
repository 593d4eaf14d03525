#include <algorithm>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

bool is_plain(const MachineInstruction& i, std::string_view mnemonic) {
  return i.mnemonic == mnemonic && i.guard == kNoVReg && i.defs.size() == 1;
}

/// Where registers are read and written, by position in a block.
struct Places {
  std::vector<std::vector<std::size_t>> reads, writes;
};

Places find_places(const MachineCode& code, const MachineBlock& block) {
  Places p;
  p.reads.resize(code.registers.size());
  p.writes.resize(code.registers.size());
  for (std::size_t at = 0; at < block.code.size(); ++at) {
    for (VReg r : block.code[at].uses) p.reads[r].push_back(at);
    for (VReg r : block.code[at].defs) p.writes[r].push_back(at);
  }
  return p;
}

/// A product that only sums read, of sources that stay as they are until the last of these.
bool may_contract(const MachineBlock& block, const Places& p, std::size_t at) {
  const MachineInstruction& product = block.code[at];
  if (!is_plain(product, "FMUL") || p.writes[product.defs[0]].size() != 1) return false;
  const auto& reads = p.reads[product.defs[0]];
  if (reads.empty() || reads.front() < at) return false;
  for (std::size_t reader : reads) {
    const MachineInstruction& sum = block.code[reader];
    if (!is_plain(sum, "FADD")) return false;
    if (std::count(sum.uses.begin(), sum.uses.end(), product.defs[0]) != 1) return false;
  }
  return std::all_of(product.uses.begin(), product.uses.end(), [&](VReg r) {
    return std::none_of(p.writes[r].begin(), p.writes[r].end(),
                        [&](auto w) { return w >= at && w < reads.back(); });
  });
}

/// a * b + c: at most one of the sources is an immediate, so a second one goes to a register.
MachineInstruction fuse(MachineCode& code, const MachineInstruction& product,
                        const MachineInstruction& sum, std::vector<MachineInstruction>& before) {
  MachineInstruction fused = sum;
  fused.mnemonic = "FFMA";
  fused.uses = product.uses;
  fused.immediate = product.immediate ^ sum.immediate;
  for (VReg r : sum.uses) {
    if (r != product.defs[0]) fused.uses.push_back(r);
  }
  if (product.uses.size() == 1 && sum.uses.size() == 1) {
    MachineInstruction constant;
    constant.op = Opcode::kHfma2;
    constant.mnemonic = "HFMA2.MMA";
    constant.defs = {code.add(RegFile::kGeneral)};
    constant.immediate = sum.immediate;
    constant.line = sum.line;
    fused.uses.push_back(constant.defs[0]);
    before.push_back(constant);
  }
  return fused;
}

void contract_block(MachineCode& code, MachineBlock& block) {
  const Places p = find_places(code, block);
  std::vector<std::size_t> product_of(block.code.size(), block.code.size());
  for (std::size_t at = 0; at < block.code.size(); ++at) {
    if (!may_contract(block, p, at)) continue;
    // A sum takes one product; another one that it also reads stays a product.
    const auto& reads = p.reads[block.code[at].defs[0]];
    const bool free = std::all_of(reads.begin(), reads.end(), [&](std::size_t r) {
      return product_of[r] == block.code.size();
    });
    if (!free) continue;
    for (std::size_t r : reads) product_of[r] = at;
  }
  std::vector<MachineInstruction> result;
  for (std::size_t at = 0; at < block.code.size(); ++at) {
    if (product_of[at] == block.code.size()) {
      result.push_back(block.code[at]);
    } else {
      const auto fused = fuse(code, block.code[product_of[at]], block.code[at], result);
      result.push_back(fused);
    }
  }
  block.code = std::move(result);
}

}  // namespace

void contract(MachineCode& code) {
  for (auto& block : code.blocks) contract_block(code, block);
}

}  // namespace xpusim::gpu
