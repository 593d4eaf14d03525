// Loads and stores of global memory: a tile access becomes one instruction a vector, as
// wide as layout, contiguity and alignment allow.

#include <algorithm>
#include <bit>

#include "models/gpu/compiler/lowering/elementwise.h"
#include "models/gpu/compiler/lowering/memory_vectors.h"

namespace xpusim::gpu {
namespace {

constexpr std::uint32_t kWordBytes = 4;
constexpr std::int64_t kEvictNormal = 1;  ///< of the attribute "evict", as in grammar/enums.h

/// Which element's bits a word of a vector holds; upper halves of 64-bit elements come second.
Element element_of_word(Lowering& l, const Vectors& v, const std::vector<Element>& values,
                        std::uint32_t first, std::size_t word) {
  const std::size_t at = first + word * v.elements / v.words;
  const Element& e = values[values.size() == 1 ? 0 : at];
  const bool upper = v.words > v.elements && word % 2 == 1;
  if (!upper) return e;
  if (e.is_constant() && e.high == kNoVReg) return {kNoVReg, e.bits >> 31 != 0 ? ~0u : 0};
  return {l.high_half(e)};
}

/// Gives the destination of a masked load what its idle lanes shall hold: zeros two words at once.
void initialise(Lowering& l, const Vectors& v, const std::vector<VReg>& words,
                const kernel::Value* other, std::uint32_t first) {
  Builder& b = l.builder();
  const std::vector<Element> values = other ? l.elements(*other) : std::vector<Element>{};
  for (std::size_t w = 0; w < words.size(); ++w) {
    const Element e = other ? element_of_word(l, v, values, first, w) : Element{};
    if (!e.is_constant()) {
      b.emit(Opcode::kAlu, "MOV", {words[w]}, {e.reg});
    } else if (e.bits != 0) {
      b.emit(Opcode::kAlu, "MOV", {words[w]}, {}, e.bits);
    } else if (w % 2 == 0 && w + 1 < words.size()) {
      b.emit(Opcode::kAlu, "CS2R", {words[w], words[w + 1]}, {});
      ++w;
    } else {
      b.emit(Opcode::kAlu, "CS2R.32", {words[w]}, {});
    }
  }
}

/// What says how a load treats the caches, in one uniform register or two.
std::pair<VReg, VReg> load_descriptor(Lowering& l, const kernel::Op& op, bool guarded) {
  const std::int64_t evict = op.int_attr("evict", kEvictNormal);
  if (evict == kEvictNormal) return {l.descriptor(), kNoVReg};
  return l.cache_policies().descriptor(evict, guarded);
}

void load_vector(Lowering& l, const kernel::Op& op, const Vectors& v, std::uint32_t number,
                 const kernel::Value* mask, const kernel::Value* other,
                 std::vector<Element>& result) {
  Builder& b = l.builder();
  const std::uint32_t first = v.first[number];
  const Address at = address(l, *op.operands[0], first);
  const VReg guard = mask ? l.predicate(*mask, first) : kNoVReg;
  std::vector<VReg> words(v.words);
  for (auto& w : words) w = b.general();
  if (v.words > 1) b.code().tie(words);
  if (guard != kNoVReg) initialise(l, v, words, other, first);
  const std::pair<VReg, VReg> descriptor = load_descriptor(l, op, guard != kNoVReg);
  MachineInstruction& i = b.emit(Opcode::kLdg, memory_mnemonic(Opcode::kLdg, v.bytes), {},
                                 {at.low, at.high, descriptor.first, descriptor.second},
                                 static_cast<std::uint32_t>(at.immediate));
  i.defs.assign(words.begin(), words.end());
  if (guard != kNoVReg) i.uses.insert(i.uses.end(), words.begin(), words.end());
  i.guard = guard;
  const bool is_volatile = op.int_attr("isVolatile") != 0;  // keeps its place, and is not shared
  i.effect = is_volatile ? MemoryEffect::kBarrier : MemoryEffect::kGlobalLoad;
  i.site = l.site(op);
  i.copy = static_cast<std::uint16_t>(l.copy.number);
  i.vector = static_cast<std::uint16_t>(number);
  i.width = static_cast<std::uint16_t>(v.bytes);
  const std::uint32_t bits = v.bytes * 8 / v.elements;
  for (std::uint32_t e = 0; e < v.elements; ++e) {
    const std::size_t word = std::size_t{e} * v.words / v.elements;
    result[first + e] = {words[word], 0, bits < 32 ? e * bits % 32 : 0,
                         bits > 32 ? words[word + 1] : kNoVReg};
  }
}

/// What a vector holds that no lane loads.
void idle_vector(Lowering& l, const Vectors& v, std::uint32_t number, const kernel::Value* other,
                 std::vector<Element>& result) {
  const std::vector<Element> values = other ? l.elements(*other) : std::vector<Element>(1);
  for (std::uint32_t e = 0; e < v.elements; ++e) {
    const std::uint32_t at = v.first[number] + e;
    result[at] = values[values.size() == 1 ? 0 : at];
  }
}

/// Fills registers that hold copies from those that were loaded.
void fill_copies(const Vectors& v, std::vector<Element>& result) {
  if (!v.layout) return;
  const std::uint32_t copies = v.layout->copy_registers();
  for (std::uint32_t r = 0; r < result.size(); ++r) result[r] = result[r & ~copies];
}

}  // namespace

bool cut_access(Lowering& l, const kernel::Op& op, const kernel::Value& pointer,
                const kernel::Value* mask, std::uint32_t most_elements, Vectors& v) {
  v = {};
  const std::int64_t bytes = kernel::pointee_bytes(pointer.type);
  if (bytes == 0 || bytes > 2 * kWordBytes) {
    return l.error(op, "memory accesses of such elements are not yet lowered for the GPU");
  }
  SiteLayout& site = l.site_layout(l.site(op));
  site = {};
  site.copies = l.copy.of;
  v.first = {0};
  if (pointer.type->kind == kernel::TypeKind::kTensor) {
    v.layout = l.layout(pointer.type, op);
    if (!v.layout) return false;
    const std::uint32_t dim = v.layout->fastest_dim();
    if (most_elements > 1) {
      v.elements = std::min(most_elements, kernel::vector_width(l.axes(), pointer, mask,
                                                                v.layout->contiguous(dim), dim));
    }
    site.shape = v.layout->shape;
    site.vector_dim = dim;
    site.lane_bases = v.layout->lanes;
    site.warp_bases = v.layout->warps;
    site.skip_lanes = v.layout->copy_lanes();
    site.skip_warps = v.layout->copy_warps();
    const auto skip = static_cast<std::size_t>(std::countr_zero(v.elements));
    for (std::size_t bit = skip; bit < v.layout->registers.size(); ++bit) {
      if ((v.layout->copy_registers() >> bit) & 1u) continue;
      site.reg_bases.push_back(v.layout->registers[bit]);
      const std::size_t known = v.first.size();
      for (std::size_t i = 0; i < known; ++i) v.first.push_back(v.first[i] | (1u << bit));
    }
  }
  v.bytes = v.elements * static_cast<std::uint32_t>(bytes);
  v.words = std::max(1u, v.bytes / kWordBytes);
  site.vector_elements = v.elements;
  site.vectors = static_cast<std::uint32_t>(v.first.size());
  return true;
}

VReg word_of(Lowering& l, const std::vector<Element>& elements, std::size_t first,
             std::uint32_t count, std::uint32_t bits) {
  const Element& lowest = elements[first];
  if (count == 1) return l.in_register(lowest);
  bool together = !lowest.is_constant();
  for (std::uint32_t e = 0; e < count; ++e) {
    const Element& one = elements[first + e];
    together = together && one.reg == lowest.reg && one.shift == e * bits;
  }
  if (together) return lowest.reg;
  const bool constant =
      std::all_of(elements.begin() + static_cast<std::ptrdiff_t>(first),
                  elements.begin() + static_cast<std::ptrdiff_t>(first + count),
                  [&](const Element& e) { return e.is_constant() && e.bits == lowest.bits; });
  if (constant) return l.in_register(lowest);
  VReg word = lowest.is_constant() ? l.in_register(lowest) : lowest.reg;
  for (std::uint32_t e = 1; e < count; ++e) {
    const Element& one = elements[first + e];
    const VReg next = one.is_constant() ? l.in_register(one) : one.reg;
    word = l.builder().value(Opcode::kAlu, "PRMT", {word, next}, e << 16 | one.shift);
  }
  return word;
}

Address address(Lowering& l, const kernel::Value& pointer, std::uint32_t reg) {
  const ValueState& s = l.state(pointer);
  if (!s.elements.empty()) {
    const Element& e = s.elements[s.elements.size() == 1 ? 0 : reg];
    Address at = s.base == kNoScalar ? Address{e.reg, e.high, 0}
                                     : l.index_math().address_of(e, s.base, s.bytes);
    at.immediate += s.index.offset * s.bytes;
    return at;
  }
  if (!s.index.layout) {
    const auto [low, high] = l.scalars().pointer(s.base);
    return {low, high, 0};
  }
  return l.index_math().address(s.index, s.base, s.bytes, reg);
}

const kernel::Value* mask_of(const kernel::Op& op, std::size_t position) {
  if (op.operands.size() <= position) return nullptr;
  const kernel::Value* mask = op.operands[position];
  return kernel::integer_constant(*mask).value_or(0) != 0 ? nullptr : mask;
}

std::vector<VReg> stored_words(Lowering& l, const Vectors& v, const std::vector<Element>& elements,
                               std::uint32_t first) {
  std::vector<VReg> words;
  for (std::uint32_t w = 0; w < v.words; ++w) {
    if (v.words > v.elements) {
      words.push_back(l.in_register(element_of_word(l, v, elements, first, w)));
      continue;
    }
    const std::uint32_t a_word = v.elements / v.words;
    words.push_back(elements.size() == 1 ? l.in_register(elements[0])
                                         : word_of(l, elements, first + w * a_word, a_word,
                                                   v.bytes * 8 / v.elements));
  }
  if (v.words == 1 || l.builder().code().tie(words)) return words;
  for (auto& w : words) w = l.builder().move(w);
  l.builder().code().tie(words);
  return words;
}

VReg store_guard(Lowering& l, const Vectors& v, const kernel::Value* mask, std::uint32_t first,
                 bool scalar) {
  Builder& b = l.builder();
  const VReg masked = mask ? l.predicate(*mask, first) : kNoVReg;
  std::uint32_t copies = scalar ? static_cast<std::uint32_t>(l.num_warps() * kWarpLanes - 1) : 0;
  if (v.layout) copies = v.layout->copy_lanes() | (v.layout->copy_warps() << 5);
  if (copies == 0) return masked;
  const VReg one = l.tid_bits_clear(copies);
  if (masked == kNoVReg) return one;
  const VReg both = b.predicate();
  b.emit(Opcode::kAlu, "PLOP3", {both}, {masked, one});
  return both;
}

bool lower_load(Lowering& l, const kernel::Op& op) {
  const kernel::Value* mask = mask_of(op, 1);
  const kernel::Value* other = op.operands.size() > 2 ? op.operands[2] : nullptr;
  Vectors v;
  if (!cut_access(l, op, *op.operands[0], mask, kAnyWidth, v)) return false;
  std::vector<Element> result(v.layout ? v.layout->register_count() : 1);
  for (std::uint32_t n = 0; n < v.first.size(); ++n) {
    if (mask && l.never_holds(*mask, v.first[n])) {
      idle_vector(l, v, n, other, result);
    } else {
      load_vector(l, op, v, n, mask, other, result);
    }
  }
  fill_copies(v, result);
  l.set_elements(*op.result(), v.layout, std::move(result));
  return true;
}

/// Whether a vector is zeros, which a store takes from RZ.
static bool all_zero(const Vectors& v, const std::vector<Element>& values, std::uint32_t first) {
  const std::size_t one = values.size() == 1 ? 0 : first;
  const std::size_t count = values.size() == 1 ? 1 : v.elements;
  return std::all_of(
      values.begin() + static_cast<std::ptrdiff_t>(one),
      values.begin() + static_cast<std::ptrdiff_t>(one + count),
      [](const Element& e) { return e.is_constant() && e.bits == 0 && e.high == kNoVReg; });
}

bool lower_store(Lowering& l, const kernel::Op& op) {
  const kernel::Value* mask = mask_of(op, 2);
  Vectors v;
  if (!cut_access(l, op, *op.operands[0], mask, kAnyWidth, v)) return false;
  if (!v.layout) {
    SiteLayout& site = l.site_layout(l.site(op));
    site.lane_zero_only = site.warp_zero_only = true;
  }
  const std::vector<Element> values = l.elements(*op.operands[1]);
  for (std::uint32_t n = 0; n < v.first.size(); ++n) {
    if (mask && l.never_holds(*mask, v.first[n])) continue;
    const VReg guard = store_guard(l, v, mask, v.first[n], !v.layout);
    const Address at = address(l, *op.operands[0], v.first[n]);
    const std::vector<VReg> words = all_zero(v, values, v.first[n])
                                        ? std::vector<VReg>{}  // RZ
                                        : stored_words(l, v, values, v.first[n]);
    MachineInstruction& i = l.builder().emit(Opcode::kStg, memory_mnemonic(Opcode::kStg, v.bytes),
                                             {}, {at.low, at.high, l.descriptor()},
                                             static_cast<std::uint32_t>(at.immediate));
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.guard = guard;
    i.guards_early_exit = guard != kNoVReg;
    i.effect = MemoryEffect::kGlobalStore;
    i.site = l.site(op);
    i.copy = static_cast<std::uint16_t>(l.copy.number);
    i.vector = static_cast<std::uint16_t>(n);
    i.width = static_cast<std::uint16_t>(v.bytes);
  }
  return true;
}

void end_program(Lowering& l) {
  const auto& code = l.builder().code().blocks.back().code;
  if (!code.empty() && code.back().op == Opcode::kExit) return;
  l.builder().emit(Opcode::kExit, "EXIT", {}, {}).effect = MemoryEffect::kEnd;
}

bool lower_return(Lowering& l, const kernel::Op&) {
  if (l.groups().specialize) end_other_warps(l);
  end_program(l);
  return true;
}

}  // namespace xpusim::gpu
