#include "models/gpu/compiler/lowering/shared_words.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWordBytes = 4;

}  // namespace

std::string_view shared_store_mnemonic(std::uint32_t bytes) {
  return bytes == 16  ? "STS.128"
         : bytes == 8 ? "STS.64"
         : bytes == 4 ? "STS"
         : bytes == 2 ? "STS.U16"
                      : "STS.U8";
}
std::string_view shared_load_mnemonic(std::uint32_t bytes) {
  return bytes == 16  ? "LDS.128"
         : bytes == 8 ? "LDS.64"
         : bytes == 4 ? "LDS"
         : bytes == 2 ? "LDS.U16"
                      : "LDS.U8";
}

MachineInstruction& store_shared(Lowering& l, VReg address, std::vector<VReg> words,
                                 std::uint32_t slot, std::uint32_t bytes) {
  Builder& b = l.builder();
  if (bytes == 0) bytes = kWordBytes * static_cast<std::uint32_t>(words.size());
  if (words.size() > 1 && !b.code().tie(words)) {
    for (auto& w : words) w = b.move(w);
    b.code().tie(words);
  }
  MachineInstruction& i =
      b.emit(Opcode::kSts, shared_store_mnemonic(bytes), {}, {address, l.shared_base()}, slot);
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
  MachineInstruction& i =
      b.emit(Opcode::kLds, shared_load_mnemonic(bytes), {}, {address, l.shared_base()}, slot);
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
