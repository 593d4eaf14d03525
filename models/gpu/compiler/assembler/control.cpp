#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/assembler/stalls.h"

namespace xpusim::gpu {
namespace {

/// General, uniform and predicate registers in one range: predicates first, then the other two in
/// turn, as many as a kernel has (before what it would spill).
constexpr std::size_t kPredicateNumbers = 256;
std::size_t of_predicate(std::size_t r) { return r; }
std::size_t of_uniform(std::size_t r) { return kPredicateNumbers + 2 * r; }
std::size_t of_general(std::size_t r) { return kPredicateNumbers + 2 * r + 1; }

/// Calls f for every register that the instruction reads (or writes).
template <class F>
void for_each_read(const Instruction& i, F&& f) {
  for (auto r : i.src) f(of_general(r));
  for (auto r : i.usrc) f(of_uniform(r));
  for (auto r : i.psrc) f(of_predicate(r));
  if (i.guard != kNoGuard) f(of_predicate(i.guard));
}
template <class F>
void for_each_write(const Instruction& i, F&& f) {
  for (auto r : i.dst) f(of_general(r));
  for (auto r : i.udst) f(of_uniform(r));
  for (auto r : i.pdst) f(of_predicate(r));
}

/// Walks the code in order and keeps, for every register, who writes it with fixed latency and
/// which scoreboard stands for a variable-latency result; and when units take new work (stalls.h).
/// Loops: their branches wait for everything under way.
class Control {
 public:
  Control(std::vector<Instruction>& code, const CompilerParams& params)
      : code_(code), params_(params) {
    std::size_t registers = kPredicateNumbers;
    const auto count = [&](std::size_t r) { registers = std::max(registers, r + 1); };
    for (const Instruction& i : code_) {
      for_each_read(i, count);
      for_each_write(i, count);
    }
    result_of_.assign(registers, kNone);
    reader_of_.assign(registers, kNone);
    read_in_order_.assign(registers, false);
    writer_of_.assign(registers, kNobody);
    issued_.assign(registers, 0);
  }

  void run() {
    for (at_ = 0; at_ < code_.size(); ++at_) {
      const Instruction& i = code_[at_];
      if (has_variable_latency(i.op) && sources_overwritten(i)) readings_.push_back(at_);
    }
    for (at_ = 0; at_ < code_.size(); ++at_) {
      Instruction& i = code_[at_];
      i.wait_mask = waits(i);
      if (i.op == Opcode::kBra && i.branch != Branch::kAlways) i.wait_mask = under_way();
      clear(i.wait_mask);
      stall_for(i);
      if (has_variable_latency(i.op)) raise(i);
      for_each_write(i, [&](std::size_t r) { note_result(i, r); });
      ++now_;
    }
    if (!code_.empty()) code_.back().stall = 1;
  }

 private:
  static constexpr std::uint8_t kNone = kNoScoreboard;
  static constexpr std::size_t kNobody = ~std::size_t{0};

  std::uint8_t waits(const Instruction& i) const {
    std::uint8_t mask = i.op == Opcode::kCctl ? atoms_ : 0;
    auto wait_for = [&](std::uint8_t scoreboard) {
      if (scoreboard != kNone) mask |= static_cast<std::uint8_t>(1u << scoreboard);
    };
    for_each_read(i, [&](std::size_t r) { wait_for(result_of_[r]); });
    for_each_write(i, [&](std::size_t r) {
      wait_for(result_of_[r]);
      const std::uint8_t reader = reader_of_[r];
      if (!in_order(i.op) || !read_in_order_[r]) wait_for(reader);
    });
    return mask;
  }
  /// What goes through the MIO reads its sources before those behind it write: of 70 measured LDGs
  /// whose address a later LDG overwrites, 66 raise no scoreboard for it.
  static bool in_order(Opcode op) {
    return op == Opcode::kLdg || op == Opcode::kLds || op == Opcode::kLdsm || op == Opcode::kShfl ||
           op == Opcode::kAtom;
  }
  std::uint8_t under_way() const {
    std::uint8_t mask = 0;
    for (unsigned s = 0; s < kScoreboards; ++s) {
      if (pending_[s] != 0) mask |= static_cast<std::uint8_t>(1u << s);
    }
    return mask;
  }
  void clear(std::uint8_t mask) {
    for (unsigned s = 0; s < kScoreboards; ++s) {
      if (((mask >> s) & 1u) == 0) continue;
      pending_[s] = 0;
      for_reads_[s] = false;
      atoms_ &= static_cast<std::uint8_t>(~(1u << s));
      std::replace(result_of_.begin(), result_of_.end(), static_cast<std::uint8_t>(s), kNone);
      std::replace(reader_of_.begin(), reader_of_.end(), static_cast<std::uint8_t>(s), kNone);
    }
  }
  static RegFile file_of(std::size_t r) {
    if (r < kPredicateNumbers) return RegFile::kPredicate;
    return (r - kPredicateNumbers) % 2 == 0 ? RegFile::kUniform : RegFile::kGeneral;
  }
  /// Cycles until an instruction writes its results, as far as the assembler knows.
  std::int64_t write_latency(const Instruction& i) const {
    return fixed_latency(i.op, RegFile::kGeneral, params_);
  }
  /// Whether the instruction raises one of these scoreboards, which it does a cycle after its
  /// issue.
  static bool raises(const Instruction& i, std::uint8_t wait_mask) {
    return (i.sets != kNone && (wait_mask >> i.sets & 1u) != 0) ||
           (i.reads != kNone && (wait_mask >> i.reads & 1u) != 0);
  }
  /// Delays the instruction by the stall count of the one before it.
  void stall_for(const Instruction& i) {
    const UnitUse use_of_units = unit_use(i.op, i.mnemonic, params_);
    std::int64_t from = now_;
    waits_for_matrix_ = false;
    const std::size_t guard = i.guard == kNoGuard ? kNobody : of_predicate(i.guard);
    for_each_read(i, [&](std::size_t r) {
      if (writer_of_[r] == kNobody) return;
      const Use use = r == guard ? Use::kGuard : Use::kOperand;
      waits_for_matrix_ = waits_for_matrix_ || code_[writer_of_[r]].op == Opcode::kMma;
      from = std::max(from,
                      issued_[r] + use_latency(code_[writer_of_[r]], i, file_of(r), use, params_));
    });
    // A register that is written twice must end with the later value.
    for_each_write(i, [&](std::size_t r) {
      if (writer_of_[r] == kNobody) return;
      const std::int64_t ahead = write_latency(code_[writer_of_[r]]) - write_latency(i);
      from = std::max(from, issued_[r] + std::max<std::int64_t>(1, ahead + 1));
    });
    if (at_ > 0 && raises(code_[at_ - 1], i.wait_mask)) from = std::max(from, now_ + 1);
    from = std::max(from, units_.free_for(use_of_units));
    if (at_ > 0) {
      // For results of mma.sync the assembler places idle instructions when one count is too small:
      // here the count goes beyond what a control word holds.
      const std::int64_t most = waits_for_matrix_ ? params_.mma_latency : params_.max_stall;
      const std::int64_t stall = std::min(most, 1 + from - now_);
      code_[at_ - 1].stall = static_cast<std::uint8_t>(stall);
      now_ += stall - 1;
    }
    units_.take(use_of_units, now_);
  }
  void note_result(const Instruction& i, std::size_t r) {
    const bool variable = has_variable_latency(i.op);
    if (variable) result_of_[r] = i.sets;
    writer_of_[r] = variable ? kNobody : at_;
    issued_[r] = now_;
  }
  void raise(Instruction& i) {
    const bool writes = !i.dst.empty() || !i.udst.empty() || !i.pdst.empty();
    const auto next = std::lower_bound(readings_.begin(), readings_.end(), at_);
    const bool reads = next != readings_.end() && *next == at_;
    if (writes || i.op == Opcode::kAtom) {
      i.sets = for_result(i.op, next != readings_.end() && *next < at_ + kAhead);
      if (i.op == Opcode::kAtom) atoms_ |= static_cast<std::uint8_t>(1u << i.sets);
      take(i.sets, i.op, false);
    }
    if (!reads) return;
    i.reads = for_reading(i.sets);
    take(i.reads, i.op, true);
    for (auto r : i.src) {
      reader_of_[of_general(r)] = i.reads;
      read_in_order_[of_general(r)] = in_order(i.op);
    }
  }
  void take(std::uint8_t scoreboard, Opcode op, bool reads) {
    ++pending_[scoreboard];
    last_op_[scoreboard] = op;
    for_reads_[scoreboard] = reads || for_reads_[scoreboard];
    raised_at_[scoreboard] = at_ + 1;
  }
  static bool share(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
    return std::any_of(a.begin(), a.end(),
                       [&](auto r) { return std::find(b.begin(), b.end(), r) != b.end(); });
  }
  /// Whether a later instruction writes a source before the result has been waited for.
  bool sources_overwritten(const Instruction& i) const {
    std::vector<std::uint16_t> sources = i.src;
    for (std::size_t later = at_ + 1; later < code_.size() && !sources.empty(); ++later) {
      const Instruction& next = code_[later];
      if (share(next.src, i.dst)) return false;
      const bool behind = in_order(i.op) && in_order(next.op);
      // What reads a source after this instruction stands for both.
      std::erase_if(sources, [&](auto r) {
        return behind && (share({r}, next.dst) || share({r}, next.src));
      });
      if (share(next.dst, sources)) return true;
    }
    return false;
  }
  /// The scoreboard raised last of those that `wanted` holds for, or kNone.
  template <class F>
  std::uint8_t newest(F&& wanted) const {
    std::uint8_t best = kNone;
    for (std::uint8_t s = 0; s < kScoreboards; ++s) {
      if (wanted(s) && (best == kNone || raised_at_[s] >= raised_at_[best])) best = s;
    }
    return best;
  }
  std::uint8_t oldest_but(std::uint8_t taken) const {
    std::uint8_t best = kNone;
    for (std::uint8_t s = 0; s < kScoreboards; ++s) {
      if (s != taken && (best == kNone || raised_at_[s] < raised_at_[best])) best = s;
    }
    return best;
  }
  std::uint8_t first_free() const {
    const auto free = std::find(pending_.begin(), pending_.end(), 0);
    return free == pending_.end() ? kNone : static_cast<std::uint8_t>(free - pending_.begin());
  }
  /// A free scoreboard, else one that the same kind of instruction raised last for a result, else
  /// the oldest. Where sources wait to be read, or soon will, two stay for these: in the measured
  /// listings 95 % of the scoreboards of readings stand for no result, and the results of many
  /// loads share one.
  std::uint8_t for_result(Opcode op, bool reads) const {
    constexpr std::ptrdiff_t kForReading = 2;
    for (unsigned s = 0; s < kScoreboards; ++s)
      reads = reads || (pending_[s] != 0 && for_reads_[s]);
    const auto others = std::count(pending_.begin(), pending_.end(), 0) +
                        std::count(for_reads_.begin(), for_reads_.end(), true);
    const std::uint8_t same =
        newest([&](auto s) { return pending_[s] != 0 && !for_reads_[s] && last_op_[s] == op; });
    const std::uint8_t free = first_free();
    if (free != kNone && (!reads || others > kForReading || same == kNone)) return free;
    return same != kNone ? same : oldest_but(kNone);
  }
  /// A free one, else the one that stands for the last reading, else the oldest; but not `taken`,
  /// which stands for the result of the same instruction.
  std::uint8_t for_reading(std::uint8_t taken) const {
    if (const std::uint8_t free = first_free(); free != kNone) return free;
    const std::uint8_t last = newest([&](auto s) { return for_reads_[s] && s != taken; });
    return last != kNone ? last : oldest_but(taken);
  }

  std::vector<Instruction>& code_;
  const CompilerParams& params_;
  std::size_t at_ = 0;
  bool waits_for_matrix_ = false;       // the current instruction
  std::int64_t now_ = 0;                // issue cycle, if nothing waits
  std::vector<std::size_t> writer_of_;  // [register] of a fixed-latency result
  std::vector<std::int64_t> issued_;    // when that one did
  Units units_;
  std::vector<std::uint8_t> result_of_, reader_of_;
  std::vector<bool> read_in_order_;  // by the reader that reader_of_ names
  std::array<int, kScoreboards> pending_{};
  std::uint8_t atoms_ = 0;  // scoreboards of atomics under way: what is acquired waits for them
  std::array<Opcode, kScoreboards> last_op_{};
  static constexpr std::size_t kAhead = 64;     ///< instructions that "soon" reaches
  std::vector<std::size_t> readings_;           ///< instructions whose reading needs a scoreboard
  std::array<bool, kScoreboards> for_reads_{};  // pending, and stands for readings
  std::array<std::size_t, kScoreboards> raised_at_{};
};

}  // namespace

void set_control(std::vector<Instruction>& code, const CompilerParams& params) {
  Control(code, params).run();
}

}  // namespace xpusim::gpu
