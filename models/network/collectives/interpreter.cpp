#include "models/network/collectives/interpreter.h"

#include <algorithm>

#include "sim/engine/check.h"

namespace xpusim::network {
namespace {

std::span<std::byte> bytes_at(ChipMemory& chip, const Place& place, std::uint64_t offset,
                              std::uint64_t size) {
  std::vector<std::byte>& memory = place.space == Space::kInput    ? chip.input
                                   : place.space == Space::kOutput ? chip.output
                                                                   : chip.scratch;
  const std::uint64_t begin = place.offset + offset;
  if (begin + size > memory.size() || begin + size < begin)
    engine::broken("collective", 0, "a transfer reaches outside its memory");
  return {memory.data() + begin, size};
}

}  // namespace

void move_bytes(const Transfer& t, std::uint64_t begin, std::uint64_t end,
                std::vector<ChipMemory>& chips, const AddBytes& add) {
  std::vector<std::byte> sum;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t left = t.row == 0 ? end - at : t.row - at % t.row;
    const std::uint64_t size = std::min(left, end - at), offset = t.offset(at);
    const auto from = bytes_at(chips[t.src], t.from, offset, size);
    sum.assign(from.begin(), from.end());
    if (t.reduces) add(sum, bytes_at(chips[t.dst], t.addend, offset, size));
    std::copy(sum.begin(), sum.end(), bytes_at(chips[t.dst], t.to, offset, size).begin());
    at += size;
  }
}

void interpret(const Schedule& schedule, std::vector<ChipMemory>& chips, const AddBytes& add) {
  for (ChipMemory& chip : chips) chip.scratch.resize(schedule.scratch_bytes);
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& t = schedule.transfers[i];
    for (std::uint32_t k = 0; k < t.needs; ++k)
      if (schedule.needs[t.first_need + k].transfer >= i)
        engine::broken("collective", 0, "a transfer needs a later one");
    if (t.to.space == Space::kInput) engine::broken("collective", 0, "a transfer writes an input");
    move_bytes(t, 0, t.bytes, chips, add);
  }
}

}  // namespace xpusim::network
