#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWordBytes = 4;

}  // namespace

MachineInstruction& store_shared(Lowering& l, VReg address, std::vector<VReg> words,
                                 std::uint32_t slot, std::uint32_t bytes) {
  Builder& b = l.builder();
  if (bytes == 0) bytes = kWordBytes * static_cast<std::uint32_t>(words.size());
  if (words.size() > 1 && !b.code().tie(words)) {
    for (auto& w : words) w = b.move(w);
    b.code().tie(words);
  }
  MachineInstruction& i = b.emit(Opcode::kSts, memory_mnemonic(Opcode::kSts, bytes), {},
                                 {address, l.shared_base()}, slot);
  i.uses.insert(i.uses.end(), words.begin(), words.end());
  i.width = static_cast<std::uint16_t>(bytes);
  i.effect = MemoryEffect::kSharedStore;
  return i;
}

std::vector<VReg> load_shared(Lowering& l, VReg address, std::uint32_t words, std::uint32_t slot,
                              std::uint32_t bytes) {
  Builder& b = l.builder();
  if (bytes == 0) bytes = kWordBytes * words;
  std::vector<VReg> loaded(words);
  for (auto& w : loaded) w = b.general();
  if (words > 1) b.code().tie(loaded);
  MachineInstruction& i = b.emit(Opcode::kLds, memory_mnemonic(Opcode::kLds, bytes), {},
                                 {address, l.shared_base()}, slot);
  i.defs.assign(loaded.begin(), loaded.end());
  i.width = static_cast<std::uint16_t>(bytes);
  i.effect = MemoryEffect::kSharedLoad;
  return loaded;
}

std::vector<VReg> words_of(Lowering& l, const Element& element, bool wide) {
  std::vector<VReg> words{l.in_register(element)};
  if (wide) words.push_back(l.high_half(element));
  return words;
}

Element element_of(const std::vector<VReg>& words) {
  return {words[0], 0, 0, words.size() > 1 ? words[1] : kNoVReg};
}

void barrier_before_loads(Lowering& l) {
  l.barrier();
  l.take_shared_dirty();
}

}  // namespace xpusim::gpu
