#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/assembler/liveness.h"

namespace xpusim::gpu {
namespace {

/// Half-cycle positions: instruction i reads at 2 i and writes at 2 i + 1.
struct Interval {
  std::size_t begin = ~std::size_t{0}, end = 0;
  bool used() const { return begin <= end; }
};

/// How long sources of special functions and shuffles, which read late, stay untouched:
/// reusing them at once would cost a wait. In half positions; chosen so that registers of measured
/// kernels agree (between 6 and 8 instructions they do equally well).
constexpr std::size_t kLinger = 2 * 7 + 1;

/// The same of asynchronous copies' addresses (in the measured listings they are seldom written
/// again sooner).
constexpr std::size_t kLingerOfCopy = 2 * 4 + 1;

std::size_t linger(Opcode op) {
  if (op == Opcode::kLdgsts) return kLingerOfCopy;
  return op == Opcode::kMufu || op == Opcode::kShfl ? kLinger : 0;
}

/// Wider groups of registers (accumulators of wgmma) begin at multiples of this.
constexpr std::size_t kWidestAlignment = 8;
/// ... and stand above these, which the vendor's compiler leaves to everything else (measured
/// listings with wgmma: their accumulators begin at R24).
constexpr std::size_t kBelowWidest = 24;

constexpr std::size_t kVector = 4;  ///< registers of the widest access to memory
constexpr std::size_t kNowhere = ~std::size_t{0};
constexpr int kNoLimit = std::numeric_limits<int>::max();

/// When a register holds something that will be read: one interval from its first touch to its
/// last, but for what lies between a read and the write in the same block that replaces the value
/// in all lanes.
using Lifetime = std::vector<Interval>;

constexpr int kFileSizes[] = {255, kUniformRegisters, kPredicates};

std::vector<Interval> live_intervals(const MachineCode& code, bool lingering) {
  std::vector<Interval> live(code.registers.size());
  std::vector<std::size_t> block_begin, block_end;
  std::size_t position = 0;
  auto touch = [&](VReg r, std::size_t at) {
    live[r].begin = std::min(live[r].begin, at);
    live[r].end = std::max(live[r].end, at);
  };
  for (const auto& block : code.blocks) {
    block_begin.push_back(2 * position);
    for (const auto& i : block.code) {
      for (VReg r : i.uses) {
        const bool lingers = lingering && code.registers[r] == RegFile::kGeneral;
        touch(r, 2 * position + (lingers ? linger(i.op) : 0));
      }
      if (i.guard != kNoVReg) touch(i.guard, 2 * position);
      for (VReg r : i.defs) touch(r, 2 * position + 1);
      ++position;
    }
    block_end.push_back(2 * position);
  }
  const std::vector<bool> undefined = find_liveness(code).in.front();
  std::vector<bool> in_loop(live.size());
  // What a loop's body shares with the code around it lives through the whole loop.
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    if (code.blocks[b].loop_begin < 0) continue;
    const std::size_t begin = block_begin[static_cast<std::size_t>(code.blocks[b].loop_begin)];
    for (VReg r = 0; r < live.size(); ++r) {
      Interval& i = live[r];
      const bool touches = i.used() && i.begin < block_end[b] && i.end >= begin;
      const bool kept = touches && undefined[r] && i.begin >= begin;
      const bool shared = touches && (kept || i.begin < begin || i.end >= block_end[b]);
      in_loop[r] = in_loop[r] || kept;
      if (shared && (kept || i.begin < begin)) i.end = std::max(i.end, block_end[b]);
      if (shared && (kept || i.end >= block_end[b])) i.begin = std::min(i.begin, begin);
    }
  }
  // What nothing defines where a guarded load leaves it as it was is alive from the first
  // instruction on, or through the loop that it is in: in 26 listings with such loads, no register
  // of theirs (out of a loop) stands before them.
  for (VReg r = 0; r < live.size(); ++r) {
    if (undefined[r] && live[r].used() && !in_loop[r]) live[r].begin = 0;
  }
  return live;
}

/// A register's value is dead from its last read to the next write of a block.
std::vector<Lifetime> lifetimes(const MachineCode& code, bool lingering) {
  const std::vector<Interval> whole = live_intervals(code, lingering);
  std::vector<Lifetime> lives(whole.size());
  for (VReg r = 0; r < whole.size(); ++r) {
    if (whole[r].used()) lives[r] = {whole[r]};
  }
  constexpr std::size_t kNotRead = ~std::size_t{0};
  std::vector<std::size_t> read(whole.size(), kNotRead);
  std::size_t position = 0;
  for (const auto& block : code.blocks) {
    std::fill(read.begin(), read.end(), kNotRead);
    for (const auto& i : block.code) {
      for (VReg r : i.uses) {
        const bool lingers = lingering && code.registers[r] == RegFile::kGeneral;
        // Tensor cores read and write registers until their wait: no hole begins there.
        const bool stays = i.op == Opcode::kWgmma;
        const std::size_t until =
            stays ? kNotRead - 1 : 2 * position + (lingers ? linger(i.op) : 0);
        read[r] = read[r] == kNotRead ? until : std::max(read[r], until);
      }
      if (i.guard != kNoVReg) read[i.guard] = 2 * position;
      for (VReg r : i.defs) {
        const std::size_t written = 2 * position + 1;
        if (i.guard == kNoVReg && read[r] != kNotRead && read[r] + 1 < written) {
          Interval& last = lives[r].back();
          const Interval after{written, last.end};
          last.end = read[r];
          lives[r].push_back(after);
        }
        read[r] = kNotRead;
      }
      ++position;
    }
  }
  return lives;
}

/// The registers of one file, each with the intervals in which it is taken: disjoint, in order.
class File {
 public:
  explicit File(int size) : taken_(static_cast<std::size_t>(size)) {}

  bool is_free(std::size_t number, const Lifetime& wanted) const {
    const Lifetime& taken = taken_[number];
    if (taken.empty() || wanted.empty() || taken.back().end < wanted.front().begin) return true;
    return std::none_of(wanted.begin(), wanted.end(), [&](const Interval& want) {
      const auto next = first_after(taken, want.end);
      return next != taken.begin() && std::prev(next)->end >= want.begin;
    });
  }
  void take(std::size_t number, const Lifetime& wanted) {
    if (wanted.empty()) return;
    Lifetime& taken = taken_[number];
    for (const Interval& want : wanted) taken.insert(first_after(taken, want.begin), want);
    highest_ = std::max(highest_, static_cast<int>(number) + 1);
  }
  std::size_t size() const { return taken_.size(); }
  void grow() { taken_.emplace_back(); }
  int highest() const { return highest_; }

 private:
  static Lifetime::const_iterator first_after(const Lifetime& taken, std::size_t position) {
    return std::upper_bound(taken.begin(), taken.end(), position,
                            [](std::size_t at, const Interval& i) { return at < i.begin; });
  }

  std::vector<Lifetime> taken_;
  int highest_ = 0;
};

/// Registers that are placed together.
struct Request {
  Tuple members;
  std::size_t begin = ~std::size_t{0}, end = 0;

  void cover(const Lifetime& life) {
    if (life.empty()) return;
    begin = std::min(begin, life.front().begin);
    end = std::max(end, life.back().end);
  }
  std::size_t length() const { return end - begin; }
};

/// In which order registers are placed: none is best for all code.
enum class PlacementOrder { kByBegin, kWidestFirst, kLongestFirst, kWidestThenLongest };

std::vector<Request> requests(const MachineCode& code, const std::vector<Lifetime>& live,
                              PlacementOrder order) {
  std::vector<Request> list;
  std::vector<bool> listed(code.tuples.size());
  for (VReg r = 0; r < live.size(); ++r) {
    if (live[r].empty()) continue;
    if (code.tuple_of[r] < 0) {
      list.push_back({{r}, live[r].front().begin, live[r].back().end});
      continue;
    }
    const auto t = static_cast<std::size_t>(code.tuple_of[r]);
    if (listed[t]) continue;
    listed[t] = true;
    Request request{code.tuples[t]};
    for (VReg m : request.members) request.cover(live[m]);
    list.push_back(std::move(request));
  }
  std::stable_sort(list.begin(), list.end(), [&](const Request& a, const Request& b) {
    const auto wide_a = a.members.size(), wide_b = b.members.size();
    const bool widest =
        order == PlacementOrder::kWidestFirst || order == PlacementOrder::kWidestThenLongest;
    const bool longest =
        order == PlacementOrder::kLongestFirst || order == PlacementOrder::kWidestThenLongest;
    if (widest && wide_a != wide_b) return wide_a > wide_b;
    if (longest && a.length() != b.length()) return a.length() > b.length();
    return a.begin < b.begin;
  });
  return list;
}

/// General registers alive at once, at most.
int most_alive(const MachineCode& code, const std::vector<Lifetime>& live) {
  std::vector<std::size_t> begins, ends;
  for (VReg r = 0; r < live.size(); ++r) {
    if (code.registers[r] != RegFile::kGeneral) continue;
    for (const Interval& i : live[r]) {
      begins.push_back(i.begin);
      ends.push_back(i.end);
    }
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::size_t most = 0, ended = 0;
  for (std::size_t begun = 0; begun < begins.size(); ++begun) {
    while (ends[ended] < begins[begun]) ++ended;
    most = std::max(most, begun + 1 - ended);
  }
  return static_cast<int>(most);
}

/// Places one request after another; where a source dies, its registers are tried first.
class Allocator {
 public:
  Allocator(const MachineCode& code, const std::vector<Lifetime>& live, bool packed)
      : code_(code), live_(live), packed_(packed), placed_(code.registers.size()) {
    where_.number.assign(code.registers.size(), 0);
    sources_.resize(code.registers.size());
    for (const auto& block : code.blocks) {
      for (const auto& i : block.code) {
        for (VReg d : i.defs) {
          if (sources_[d].empty()) sources_[d].assign(i.uses.begin(), i.uses.end());
        }
      }
    }
  }

  /// Nothing where it takes as many general registers as the limit, or more.
  std::optional<Allocation> run(PlacementOrder order, int limit) {
    files_[0].take(1, {{0, ~std::size_t{0} - 1}});  // R1: the stack pointer
    for (const Request& request : requests(code_, live_, order)) {
      place(request.members);
      if (files_[0].highest() >= limit) return std::nullopt;
    }
    where_.general = files_[0].highest();
    where_.uniform = files_[1].highest();
    where_.predicate = files_[2].highest();
    return where_;
  }

 private:
  File& file_of(VReg r) { return files_[static_cast<std::size_t>(code_.registers[r])]; }

  bool fits(const Tuple& members, std::size_t base) {
    File& file = file_of(members[0]);
    while (base + members.size() > file.size()) file.grow();
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (!file.is_free(base + m, live_[members[m]])) return false;
    }
    return true;
  }
  void take(const Tuple& members, std::size_t base) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      where_.number[members[m]] = static_cast<std::uint16_t>(base + m);
      placed_[members[m]] = true;
      file_of(members[m]).take(base + m, live_[members[m]]);
    }
  }
  /// Of the places below the highest register in use, that whose neighbours in its group of four
  /// are the most taken: whole groups stay free for vectors.
  std::size_t fullest_group(const Tuple& members, std::size_t step) {
    const std::size_t n = members.size();
    if (n >= kVector) return kNowhere;
    const File& file = file_of(members[0]);
    const auto highest = static_cast<std::size_t>(file.highest());
    taken_.assign((highest / kVector + 2) * kVector, true);
    for (std::size_t q = 0; q < std::min(taken_.size(), file.size()); ++q) {
      taken_[q] = !file.is_free(q, live_[members[0]]);
    }
    std::size_t best = kNowhere;
    int most = -1;
    for (std::size_t base = 0; base + n <= highest; base += step) {
      if (taken_[base] || !fits(members, base)) continue;
      int taken = 0;
      for (std::size_t q = base / kVector * kVector; q < (base / kVector + 1) * kVector; ++q) {
        const bool own = q >= base && q < base + n;
        taken += !own && taken_[q];
      }
      if (taken > most) {
        most = taken;
        best = base;
      }
    }
    return best;
  }
  void place(const Tuple& members) {
    const std::size_t n = members.size(), step = std::min(n, kWidestAlignment);
    const std::size_t first = n > kWidestAlignment ? kBelowWidest : 0;
    for (std::size_t m = 0; m < n; ++m) {
      for (VReg source : sources_[members[m]]) {
        if (!placed_[source] || code_.registers[source] != code_.registers[members[m]]) continue;
        const std::size_t at = where_.number[source];
        if (at < m + first || (at - m) % step != 0 || !fits(members, at - m)) continue;
        take(members, at - m);
        return;
      }
    }
    std::size_t base = packed_ ? fullest_group(members, step) : kNowhere;
    if (base == kNowhere) {
      for (base = first; !fits(members, base);) base += step;
    }
    take(members, base);
  }

  const MachineCode& code_;
  const std::vector<Lifetime>& live_;
  bool packed_;  // what is narrower than a vector stands close together, not lowest
  std::array<File, 3> files_{File(kFileSizes[0]), File(kFileSizes[1]), File(kFileSizes[2])};
  std::vector<bool> placed_;
  std::vector<VRegList> sources_;  // [vreg] of its first definition
  std::vector<char> taken_;        // [register] while the first of a request's members lives
  Allocation where_;
};

}  // namespace

Allocation allocate(const MachineCode& code, bool lingering) {
  const std::vector<Lifetime> live = lifetimes(code, lingering);
  const int fewest = most_alive(code, live) + 1;  // and R1
  Allocation best = *Allocator(code, live, false).run(PlacementOrder::kByBegin, kNoLimit);
  for (bool packed : {false, true}) {
    for (PlacementOrder o : {PlacementOrder::kByBegin, PlacementOrder::kWidestFirst,
                             PlacementOrder::kLongestFirst, PlacementOrder::kWidestThenLongest}) {
      if (!packed && o == PlacementOrder::kByBegin) continue;  // the first one
      if (best.general <= fewest) return best;
      std::optional<Allocation> other = Allocator(code, live, packed).run(o, best.general);
      if (!other || other->predicate > best.predicate || other->uniform > best.uniform) continue;
      best = *std::move(other);
    }
  }
  return best;
}

}  // namespace xpusim::gpu
