#include "models/tpu/compiler/scheduler.h"

#include <algorithm>
#include <unordered_map>

#include "models/tpu/core/matrix_unit.h"

namespace xpusim::tpu {
namespace {

constexpr std::size_t kWindow = 256;  ///< instructions looked at in a cycle
constexpr int kReserve = 8;           ///< registers kept for the oldest instruction

std::uint64_t place_key(const Address& a) {
  return (static_cast<std::uint64_t>(a.buffer) << 32) | static_cast<std::uint32_t>(a.offset);
}

/// The free registers of one file, lowest first.
class RegisterPool {
 public:
  RegisterPool(Reg first, int count)
      : first_(first), free_((count == 64 ? 0 : 1ull << count) - 1) {}
  int free_count() const { return __builtin_popcountll(free_); }
  Reg take() {
    const int i = __builtin_ctzll(free_);
    free_ &= free_ - 1;
    return static_cast<Reg>(first_ + i);
  }
  void give(Reg r) { free_ |= 1ull << (r - first_); }

 private:
  Reg first_;
  std::uint64_t free_;
};

/// What goes to the matrix units and comes from them, in order: an instruction may go when those of
/// its kind before it are gone, and those that it depends on: weights replace others once all rows
/// for those are in, rows need all of their weights.
class MatrixOrder {
 public:
  MatrixOrder(const DraftBlock& block, const MatrixParams& params)
      : results_(static_cast<std::size_t>(params.results)),
        units_(static_cast<std::size_t>(params.count), Unit{MatrixUnit(params), {}, {}}) {
    turn_.resize(block.code.size());
    after_.resize(block.code.size());
    for (std::size_t i = 0; i < block.code.size(); ++i) {
      const Draft& d = block.code[i];
      if (!is_matrix(d.op)) continue;
      Unit& u = units_[d.unit];
      turn_[i] = u.count[kind(d.op)]++;
      if (d.op == Opcode::kVMatPop) continue;
      const bool push = d.op == Opcode::kVMatPush;
      after_[i] = u.last[d.set][push ? 1 : 0];
      u.last[d.set][push ? 0 : 1] = turn_[i] + 1;
    }
    for (Unit& u : units_) u.count = {};
  }

  static bool is_matrix(Opcode op) {
    const Slot slot = info(op).slot;
    return slot == Slot::kMatrix || slot == Slot::kMatrixPop;
  }

  /// When draft `i` can go: never (before others have) is the largest number.
  std::int64_t ready(std::size_t i, const Draft& d) const {
    const Unit& u = units_[d.unit];
    const MatrixUnit& t = u.time;
    if (u.count[kind(d.op)] != turn_[i]) return kNot;
    switch (d.op) {
      case Opcode::kVMatPush:
        if (u.count[1] < after_[i]) return kNot;
        return static_cast<std::int64_t>(std::max({t.push_free(), t.set_free(d.set), u.next[0]}));
      case Opcode::kVMatMul:
        if (u.count[0] < after_[i] || t.results() >= results_) return kNot;
        return static_cast<std::int64_t>(
            std::max({t.path_free(), t.weights_ready(d.set), u.next[1]}));
      default:
        return t.has_result() ? static_cast<std::int64_t>(std::max(t.result_ready(), u.next[2]))
                              : kNot;
    }
  }

  /// It goes; returns the cycle at which the unit is through with it.
  std::int64_t go(const Draft& d, std::int64_t at) {
    Unit& u = units_[d.unit];
    const auto cycle = static_cast<Cycle>(at);
    Instruction i;
    i.op = d.op;
    i.element = d.element;
    i.transposed = d.transposed;
    i.keep = d.keep;
    i.set = d.set;
    ++u.count[kind(d.op)];
    u.next[kind(d.op)] = cycle + 1;
    if (d.op == Opcode::kVMatPush) u.time.push(i, cycle);
    if (d.op == Opcode::kVMatMul) u.time.multiply(i, cycle);
    if (d.op == Opcode::kVMatPop) u.time.pop();
    if (d.op == Opcode::kVMatPush) return static_cast<std::int64_t>(u.time.push_free());
    return at + static_cast<std::int64_t>(u.time.latency(d.element));
  }

 private:
  static constexpr std::int64_t kNot = std::int64_t{1} << 60;
  struct Unit {
    MatrixUnit time;
    std::array<std::int32_t, 3> count{};                ///< gone (first: in all) of each kind
    std::array<std::array<std::int32_t, 2>, 2> last{};  ///< [set]: pushes, rows drawn up so far
    std::array<Cycle, 3> next{};
  };
  static std::size_t kind(Opcode op) {
    return op == Opcode::kVMatPush ? 0 : op == Opcode::kVMatMul ? 1 : 2;
  }

  std::size_t results_;
  std::vector<Unit> units_;
  std::vector<std::int32_t> turn_;   ///< by draft: how many of its kind go before it
  std::vector<std::int32_t> after_;  ///< by draft: how many of the other kind do
};

class ListScheduler {
 public:
  ListScheduler(const DraftBlock& block, const CoreParams& core)
      : block_(block), core_(core), matrix_(block, core.mxu) {
    const std::size_t virtuals = block.files.size();
    uses_.assign(virtuals, 0);
    ready_.assign(virtuals, -1);
    place_.assign(virtuals, kNoReg);
    for (const Draft& d : block.code) {
      for (Virtual s : d.src) {
        if (s != kNoVirtual) ++uses_[s];
      }
    }
    for (std::size_t s = 0; s < unit_free_.size(); ++s) {
      unit_free_[s].assign(slot_count(core.slots, static_cast<Slot>(s)), 0);
    }
    link_memory();
  }

  std::optional<std::vector<ScheduledBundle>> run() {
    std::vector<std::uint32_t> waiting(block_.code.size());
    for (std::uint32_t i = 0; i < waiting.size(); ++i) waiting[i] = i;
    std::vector<ScheduledBundle> bundles;
    for (std::int64_t cycle = 0; !waiting.empty(); ++cycle) {
      free_dead(cycle);
      ScheduledBundle bundle;
      fill(waiting, cycle, bundle);
      if (!bundle.instructions.empty()) {
        bundles.push_back(std::move(bundle));
      } else if (cycle > busy_until_) {
        return std::nullopt;
      }
    }
    return bundles;
  }

 private:
  /// A load after a store to the same place waits for it.
  void link_memory() {
    after_.assign(block_.code.size(), -1);
    issued_at_.assign(block_.code.size(), -1);
    std::unordered_map<std::uint64_t, std::int32_t> last_store;
    for (std::size_t i = 0; i < block_.code.size(); ++i) {
      const Draft& d = block_.code[i];
      if (d.op == Opcode::kVStore) last_store[place_key(d.address)] = static_cast<std::int32_t>(i);
      if (d.op != Opcode::kVLoad) continue;
      if (auto it = last_store.find(place_key(d.address)); it != last_store.end()) {
        after_[i] = it->second;
      }
    }
  }

  void fill(std::vector<std::uint32_t>& waiting, std::int64_t cycle, ScheduledBundle& bundle) {
    std::array<std::int64_t, static_cast<std::size_t>(Slot::kCount)> used{};
    const std::size_t limit = std::min(kWindow, waiting.size());
    std::size_t kept = 0;
    for (std::size_t k = 0; k < limit; ++k) {
      const std::uint32_t i = waiting[k];
      if (try_issue(i, kept == 0, cycle, used)) {
        if (bundle.instructions.empty()) bundle.line = block_.code[i].line;
        bundle.instructions.push_back(placed(block_.code[i]));
        finish(i, cycle);
      } else {
        waiting[kept++] = i;
      }
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(kept),
                  waiting.begin() + static_cast<std::ptrdiff_t>(limit));
  }

  bool operands_ready(std::uint32_t i, std::int64_t cycle) const {
    for (Virtual s : block_.code[i].src) {
      if (s != kNoVirtual && (ready_[s] < 0 || ready_[s] > cycle)) return false;
    }
    if (after_[i] < 0) return true;
    const std::int64_t stored = issued_at_[static_cast<std::size_t>(after_[i])];
    return stored >= 0 && stored < cycle;
  }

  /// Whether instruction `i` may issue now; takes its slot, unit and register if so. The oldest
  /// waiting instruction may use the last registers, younger ones leave it a reserve.
  bool try_issue(std::uint32_t i, bool oldest, std::int64_t cycle,
                 std::array<std::int64_t, static_cast<std::size_t>(Slot::kCount)>& used) {
    const Draft& d = block_.code[i];
    const auto slot = static_cast<std::size_t>(info(d.op).slot);
    if (used[slot] >= slot_count(core_.slots, info(d.op).slot)) return false;
    if (!operands_ready(i, cycle)) return false;
    auto unit = std::find_if(unit_free_[slot].begin(), unit_free_[slot].end(),
                             [&](std::int64_t at) { return at <= cycle; });
    if (unit == unit_free_[slot].end()) return false;
    if (MatrixOrder::is_matrix(d.op) && matrix_.ready(i, d) > cycle) return false;
    const int dying = dying_sources(d);
    if (d.dst != kNoVirtual) {
      const int room = pool(block_.files[d.dst]).free_count() + dying;
      if (room <= (oldest || dying > 0 ? 0 : reserve(block_.files[d.dst]))) return false;
    }
    ++used[slot];
    *unit = cycle + issue_interval(core_.latency, d.op);
    return true;
  }

  /// Sources in the destination's file that this instruction reads for the last time.
  int dying_sources(const Draft& d) const {
    int dying = 0;
    if (d.dst == kNoVirtual) return 0;
    for (std::size_t k = 0; k < d.src.size(); ++k) {
      const Virtual s = d.src[k];
      if (s == kNoVirtual || block_.files[s] != block_.files[d.dst]) continue;
      const auto again = std::count(d.src.begin(), d.src.end(), s);
      const bool first = std::find(d.src.begin(), d.src.end(), s) == d.src.begin() + k;
      if (first && uses_[s] == again) ++dying;
    }
    return dying;
  }

  /// The instruction with registers in place; sources that die give theirs back first.
  Instruction placed(const Draft& d) {
    Instruction i;
    i.op = d.op;
    i.element = d.element;
    i.masked = d.masked;
    i.address = d.address;
    i.transposed = d.transposed;
    i.keep = d.keep;
    i.unit = d.unit;
    i.set = d.set;
    for (std::size_t k = 0; k < d.src.size(); ++k) {
      if (d.src[k] != kNoVirtual) i.src[k] = place_[d.src[k]];
    }
    for (Virtual s : d.src) {
      if (s != kNoVirtual && --uses_[s] == 0) pool(block_.files[s]).give(place_[s]);
    }
    if (d.dst != kNoVirtual) {
      i.dst = place_[d.dst] = pool(block_.files[d.dst]).take();
    }
    return i;
  }

  void finish(std::uint32_t i, std::int64_t cycle) {
    const Draft& d = block_.code[i];
    issued_at_[i] = cycle;
    const std::int64_t done = cycle + result_latency(core_, d.op);
    busy_until_ = std::max({busy_until_, done, cycle + issue_interval(core_.latency, d.op)});
    if (MatrixOrder::is_matrix(d.op)) busy_until_ = std::max(busy_until_, matrix_.go(d, cycle));
    if (d.dst == kNoVirtual) return;
    ready_[d.dst] = done;
    if (uses_[d.dst] == 0) dead_.push_back({done, d.dst});
  }

  /// A result that nobody reads keeps its register until it is written.
  void free_dead(std::int64_t cycle) {
    std::erase_if(dead_, [&](const auto& d) {
      if (d.first > cycle) return false;
      pool(block_.files[d.second]).give(place_[d.second]);
      return true;
    });
  }

  RegisterPool& pool(RegisterFile file) { return pools_[static_cast<std::size_t>(file)]; }
  static int reserve(RegisterFile file) { return file == RegisterFile::kVector ? kReserve : 2; }

  const DraftBlock& block_;
  const CoreParams& core_;
  MatrixOrder matrix_;
  std::vector<std::int32_t> uses_, after_;
  std::vector<std::int64_t> ready_, issued_at_;
  std::vector<Reg> place_;
  std::array<std::vector<std::int64_t>, static_cast<std::size_t>(Slot::kCount)> unit_free_;
  std::array<RegisterPool, 3> pools_ = {RegisterPool(0, kVectorRegisters),
                                        RegisterPool(kFirstMask, kMaskRegisters),
                                        RegisterPool(kFirstScalar, kScalarRegisters)};
  std::vector<std::pair<std::int64_t, Virtual>> dead_;
  std::int64_t busy_until_ = 0;
};

}  // namespace

std::optional<std::vector<ScheduledBundle>> schedule(const DraftBlock& block,
                                                     const CoreParams& core) {
  return ListScheduler(block, core).run();
}

}  // namespace xpusim::tpu
