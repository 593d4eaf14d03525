#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "models/gpu/compiler/assembler/dependence_graph.h"
#include "models/gpu/compiler/assembler/liveness.h"
#include "models/gpu/compiler/assembler/stalls.h"

namespace xpusim::gpu {
namespace {

/// How far ahead of the first instruction that waits others may be taken up: so far that a few
/// loads are under way, not so far that registers fill with what is used much later.
constexpr std::size_t kWindow = 64;
/// The same of work that fills stalls: eight rows of a reduction run abreast, but addresses of
/// stores wait behind it (FIT: exp_and_sum and a transpose of 16 x 256, 64 to 96 and to 128).
constexpr std::size_t kFillingWindow = 96;

/// Registers alive while a block is put in order, counted as instructions are placed: from those
/// that are alive at its begin (`in`) to those alive at its end (`out`). The destination of a
/// vector load takes all its registers at once, when the first of them is written.
class Pressure {
 public:
  Pressure(const MachineCode& code, const MachineBlock& block, const std::vector<bool>& in,
           const std::vector<bool>& out)
      : code_(code),
        left_(code.registers.size()),
        alive_(code.registers.size()),
        whole_(code.tuples.size()) {
    for (const auto& i : block.code) {
      if (i.op != Opcode::kLdg) continue;
      for (VReg r : i.defs) {
        if (code.tuple_of[r] >= 0) whole_[static_cast<std::size_t>(code.tuple_of[r])] = true;
      }
    }
    find_rewritten(block, in, out);
    for (const auto& i : block.code) {
      for_each_touched(i, [&](VReg r) { left_[r] += !rewrites(i, r); });
    }
    for (VReg r = 0; r < left_.size(); ++r) {
      if (out[r] && !rewritten_[r]) ++left_[r];  // never the last touch
      if (in[r]) begin(r);
    }
    peak_ = general();
  }
  /// Change of the number of live registers of a file if this instruction were next.
  int change(const MachineInstruction& i, RegFile file) const {
    int delta = 0;
    const Tuple* begun = nullptr;
    for_each_touched(i, [&](VReg r) {
      if (code_.registers[r] != file) return;
      if (rewrites(i, r)) {
        delta += !alive_[r];
        return;
      }
      if (left_[r] == 1 && alive_[r]) --delta;
      if (left_[r] == 1 || alive_[r]) return;
      const Tuple* tuple = whole_tuple(r);
      if (tuple && tuple == begun) return;
      begun = tuple;
      delta += tuple ? static_cast<int>(tuple->size()) : 1;
    });
    return delta;
  }
  void place(const MachineInstruction& i) {
    for_each_touched(i, [&](VReg r) {
      if (rewrites(i, r)) {
        begin(r);
        return;
      }
      if (--left_[r] == 0) {
        if (alive_[r]) --live_[file(r)];
        alive_[r] = false;
      } else if (const Tuple* tuple = whole_tuple(r); tuple && !alive_[r]) {
        for (VReg member : *tuple) begin(member);
      } else {
        begin(r);
      }
    });
    peak_ = std::max(peak_, general());
  }
  int general() const { return live_[file_of(RegFile::kGeneral)]; }
  int predicate() const { return live_[file_of(RegFile::kPredicate)]; }
  int peak() const { return peak_; }

 private:
  /// Registers whose one write comes after all reads, as of what a loop carries: what they held is
  /// dead between.
  void find_rewritten(const MachineBlock& block, const std::vector<bool>& in,
                      const std::vector<bool>& out) {
    std::vector<int> writes(left_.size());
    rewritten_.assign(left_.size(), false);
    for (const auto& i : block.code) {
      const auto read = [&](VReg r) {
        if (r != kNoVReg) rewritten_[r] = false;
      };
      for (VReg r : i.uses) read(r);
      read(i.guard);
      for (VReg r : i.defs) {
        const bool in_place = std::find(i.uses.begin(), i.uses.end(), r) != i.uses.end();
        rewritten_[r] = ++writes[r] == 1 && i.guard == kNoVReg && !in_place;
      }
    }
    for (VReg r = 0; r < left_.size(); ++r) {
      rewritten_[r] = rewritten_[r] && in[r] && out[r] && !whole_tuple(r);
    }
  }
  bool rewrites(const MachineInstruction& i, VReg r) const {
    return rewritten_[r] && std::find(i.defs.begin(), i.defs.end(), r) != i.defs.end();
  }
  static std::size_t file_of(RegFile f) { return static_cast<std::size_t>(f); }
  std::size_t file(VReg r) const { return file_of(code_.registers[r]); }
  const Tuple* whole_tuple(VReg r) const {
    const std::int32_t t = code_.tuple_of[r];
    return t >= 0 && whole_[static_cast<std::size_t>(t)]
               ? &code_.tuples[static_cast<std::size_t>(t)]
               : nullptr;
  }
  void begin(VReg r) {
    if (alive_[r]) return;
    alive_[r] = true;
    ++live_[file(r)];
  }
  /// Visits every register once.
  template <class F>
  static void for_each_touched(const MachineInstruction& i, F&& f) {
    VRegList seen;
    auto visit = [&](VReg r) {
      if (r == kNoVReg || std::find(seen.begin(), seen.end(), r) != seen.end()) return;
      seen.push_back(r);
      f(r);
    };
    for (VReg r : i.uses) visit(r);
    visit(i.guard);
    for (VReg r : i.defs) visit(r);
  }

  const MachineCode& code_;
  std::vector<int> left_;        // touches not yet placed
  std::vector<bool> rewritten_;  // by one write behind all reads, which `left_` does not count
  std::vector<bool> alive_;
  std::vector<bool> whole_;  // [tuple] destination of a load
  int live_[3] = {};
  int peak_ = 0;
};

/// The order in which values are needed: effects in program order, before each what it depends on.
class StreamOrder {
 public:
  StreamOrder(const MachineBlock& block, const std::vector<Node>& nodes)
      : block_(block), nodes_(nodes), rank_(nodes.size(), kNoRank), visited_(nodes.size(), 0) {}

  std::vector<std::uint32_t> run() {
    const std::vector<bool> stored = feeds_stores();
    std::vector<std::uint32_t> loads;  // of the block so far, that no store waits for
    for (std::uint32_t root = 0; root < nodes_.size(); ++root) {
      const MachineInstruction& i = block_.code[root];
      if (i.effect == MemoryEffect::kGlobalLoad && !stored[root]) loads.push_back(root);
      if (!is_root(i)) continue;
      visit_sources(root);
      // What comes before a store in memory's order may not be left for later.
      if (i.effect == MemoryEffect::kGlobalStore) {
        for (std::uint32_t load : loads) visit(load);
        loads.clear();
      }
      visit(root);
    }
    for (std::uint32_t at = 0; at < nodes_.size(); ++at) {  // what only other blocks read
      if (!others_follow(at)) visit(at);
    }
    return rank_;
  }

 private:
  static constexpr std::uint32_t kNoRank = ~0u;

  static bool is_root(const MachineInstruction& i) {
    return i.op == Opcode::kMma || i.defs.empty() ||
           (i.effect != MemoryEffect::kNone && i.effect != MemoryEffect::kGlobalLoad &&
            i.op != Opcode::kLdsm);
  }
  const std::uint32_t& source(std::uint32_t at, std::size_t n) const {
    const auto& before = nodes_[at].before;
    const bool data_first = block_.code[at].effect == MemoryEffect::kGlobalStore;
    return before[data_first ? before.size() - 1 - n : n];
  }
  /// Whether an instruction of this block comes after it for the sake of a register.
  bool others_follow(std::uint32_t at) const {
    return std::any_of(nodes_[at].after.begin(), nodes_[at].after.end(),
                       [](const Edge& e) { return !e.memory; });
  }
  /// Which instructions global stores depend on.
  std::vector<bool> feeds_stores() const {
    std::vector<bool> feeds(nodes_.size());
    for (std::size_t at = nodes_.size(); at-- > 0;) {
      if (block_.code[at].effect == MemoryEffect::kGlobalStore) feeds[at] = true;
      if (!feeds[at]) continue;
      for (std::uint32_t from : nodes_[at].before) feeds[from] = true;
    }
    return feeds;
  }
  void visit_sources(std::uint32_t at) {
    for (std::size_t n = 0; n < nodes_[at].before.size(); ++n) visit(source(at, n));
  }
  /// Depth first.
  void visit(std::uint32_t root) {
    if (visited_[root] != 0) return;
    stack_.push_back(root);
    while (!stack_.empty()) {
      const std::uint32_t at = stack_.back();
      const std::size_t n = visited_[at]++;
      if (n < nodes_[at].before.size()) {
        const std::uint32_t to = source(at, n);
        if (visited_[to] == 0) stack_.push_back(to);
      } else {
        rank_[at] = next_++;
        stack_.pop_back();
      }
    }
  }

  const MachineBlock& block_;
  const std::vector<Node>& nodes_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::size_t> visited_;  // predecessors looked at so far, plus one
  std::vector<std::uint32_t> stack_;
  std::uint32_t next_ = 0;
};

/// Global loads and what computes their addresses and masks may run ahead of stalled instructions;
/// other fetches too where registers are no matter.
std::vector<bool> may_run_ahead(const MachineBlock& block, const std::vector<Node>& nodes,
                                bool all_fetches) {
  std::vector<bool> ahead(nodes.size());
  for (std::size_t at = nodes.size(); at-- > 0;) {
    const Opcode op = block.code[at].op;
    const bool fetch =
        op == Opcode::kLdc || op == Opcode::kS2r || op == Opcode::kS2ur || op == Opcode::kLds;
    ahead[at] = op == Opcode::kLdg || op == Opcode::kLdgsts || (fetch && all_fetches);
    for (const Edge& e : nodes[at].after) {
      ahead[at] = ahead[at] || (ahead[e.to] && !e.memory && block.code[e.to].op != Opcode::kLds);
    }
  }
  return ahead;
}

/// One block's list scheduling, in stream order as far as latencies and registers allow. Beyond the
/// goal's registers, instructions that need more go ahead of stalled ones only if they start or
/// feed a load.
class Scheduler {
 public:
  Scheduler(const MachineCode& code, const MachineBlock& block, const std::vector<bool>& live_in,
            const std::vector<bool>& live_out, const CompilerParams& params,
            const ScheduleGoal& goal)
      : block_(block),
        params_(params),
        graph_(code, block, params, goal.loads_flow ? params.memory_guess : params.load_guess),
        pressure_(code, block, live_in, live_out),
        budget_(goal.budget),
        window_(goal.loads_flow ? block.code.size() : kWindow),
        sees_units_(goal.sees_units && !graph_.in_program_order()),
        comfortable_(goal.comfortable),
        relaxed_(graph_.in_program_order() ? 0 : goal.relaxed),
        rank_(StreamOrder(block, graph_.nodes()).run()),
        ahead_(may_run_ahead(block, graph_.nodes(), goal.budget == kNoBudget)),
        placed_(rank_.size()) {
    by_rank_.resize(rank_.size());
    for (std::uint32_t at = 0; at < rank_.size(); ++at) by_rank_[rank_[at]] = at;
  }

  std::vector<std::uint32_t> run() {
    auto& nodes = graph_.nodes();
    for (std::uint32_t at = 0; at < nodes.size(); ++at) {
      if (nodes[at].waiting_for == 0) ready_.push_back(at);
    }
    std::vector<std::uint32_t> order;
    while (!ready_.empty()) {
      const std::size_t pick = choose();
      const std::uint32_t at = ready_[pick];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(pick));
      place(at);
      order.push_back(at);
    }
    return order;
  }
  int peak() const { return pressure_.peak(); }

 private:
  void place(std::uint32_t at) {
    auto& nodes = graph_.nodes();
    const MachineInstruction& i = block_.code[at];
    now_ = std::max(now_, ready_at(at));
    units_.take(i.op, i.mnemonic, now_, params_);
    pressure_.place(i);
    for (const Edge& e : nodes[at].after) {
      nodes[e.to].earliest = std::max(nodes[e.to].earliest, now_ + e.latency);
      if (--nodes[e.to].waiting_for == 0) ready_.push_back(e.to);
    }
    ++now_;
    placed_[rank_[at]] = true;
    while (front_ < placed_.size() && (placed_[front_] || is_store(by_rank_[front_]))) ++front_;
  }

  std::int64_t ready_at(std::uint32_t at) const {
    const MachineInstruction& i = block_.code[at];
    // Addresses of loads are put first, whatever the multiplier says.
    const bool sees = sees_units_ && (!ahead_[at] || i.op != Opcode::kFma);
    const std::int64_t unit = sees ? units_.free_for(i.op, i.mnemonic) : 0;
    return std::max(graph_.nodes()[at].earliest, unit);
  }
  /// A constant that a masked load's idle lanes shall hold.
  bool is_initial(std::uint32_t at) const {
    return block_.code[at].uses.empty() && ahead_[at] && pipe_of(block_.code[at].op) == Pipe::kAlu;
  }
  /// Whether the load that this constant is for waits for nothing but constants.
  bool load_waits_only(std::uint32_t at) const {
    for (const Edge& e : graph_.nodes()[at].after) {
      for (std::uint32_t other : graph_.nodes()[e.to].before) {
        if (!placed_[rank_[other]] && !is_initial(other)) return false;
      }
    }
    return true;
  }
  bool is_store(std::uint32_t at) const {
    return block_.code[at].effect == MemoryEffect::kGlobalStore;
  }

  std::size_t choose() {
    std::size_t best = 0;
    std::tuple<int, int, std::int64_t, std::uint32_t> best_key{};
    for (std::size_t n = 0; n < ready_.size(); ++n) {
      const std::uint32_t at = ready_[n];
      const MachineInstruction& i = block_.code[at];
      const int predicates = pressure_.change(i, RegFile::kPredicate);
      const int general = pressure_.change(i, RegFile::kGeneral);
      // A load's predicate that is needed again later can be packed away (spill_predicates).
      const bool no_predicate =
          predicates > 0 && !ahead_[at] && pressure_.predicate() + predicates > kPredicates;
      // What matrix units and barriers wait for comes in program order: no other order saves it.
      const bool in_order = i.effect == MemoryEffect::kBarrier;
      const bool no_register = !in_order && general > 0 && pressure_.general() + general > budget_;
      // Loads go first, and what is ready fills stalls, while registers that all warps have anyway
      // last: chains that do not depend on one another, as the rows of a reduction, run abreast.
      // Not what is used much later, as addresses of stores behind a reduction.
      const bool far = rank_[at] > front_ + kFillingWindow
                           ? predicates > 0 || !ahead_[at]
                           : predicates > 0 && rank_[at] > front_ + kWindow;
      const bool free = !far && pressure_.predicate() + predicates <= kPredicates &&
                        pressure_.general() + general <= (ahead_[at] ? comfortable_ : relaxed_);
      bool too_early = !free && (general > 0 || predicates > 0) &&
                       rank_[at] > front_ + (ahead_[at] ? window_ : 0);
      if (is_initial(at) && pressure_.general() + general > comfortable_ && !load_waits_only(at)) {
        too_early = true;
      }
      const std::int64_t wait = std::max<std::int64_t>(0, ready_at(at) - now_);
      const std::tuple key{no_predicate * 2 + (no_predicate || no_register ? general : 0),
                           too_early + 0, wait, rank_[at]};
      if (n == 0 || key < best_key) {
        best = n;
        best_key = key;
      }
    }
    return best;
  }

  const MachineBlock& block_;
  const CompilerParams& params_;
  DependenceGraph graph_;
  Pressure pressure_;
  int budget_;
  std::size_t window_;
  bool sees_units_;
  int comfortable_, relaxed_;        // registers below which waste is no matter: for loads, all
  std::vector<std::uint32_t> rank_;  // [instruction] place in the stream
  std::vector<bool> ahead_;
  std::vector<bool> placed_;  // [rank]
  std::vector<std::uint32_t> by_rank_;
  std::size_t front_ = 0;  // first rank not yet placed
  std::vector<std::uint32_t> ready_;
  Units units_;
  std::int64_t now_ = 0;
};

/// Blocks that may run more than once.
std::vector<bool> blocks_of_loops(const MachineCode& code) {
  std::vector<bool> repeated(code.blocks.size());
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    for (int n = code.blocks[b].loop_begin; n >= 0 && n <= static_cast<int>(b); ++n) {
      repeated[static_cast<std::size_t>(n)] = true;
    }
  }
  return repeated;
}

}  // namespace

ScheduleResult schedule(MachineCode& code, const CompilerParams& params, const ScheduleGoal& goal) {
  ScheduleResult result;
  const Liveness live = find_liveness(code);
  const std::vector<bool> repeated = blocks_of_loops(code);
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    MachineBlock& block = code.blocks[b];
    Scheduler scheduler(code, block, live.in[b], live.out[b], params, goal);
    const std::vector<std::uint32_t> order = scheduler.run();
    result.peak = std::max(result.peak, scheduler.peak());
    const std::int64_t guess = goal.loads_flow ? params.memory_guess : params.load_guess;
    result.length += in_order_length(DependenceGraph(code, block, params, guess), order);
    result.memory_length +=
        in_order_length(DependenceGraph(code, block, params, params.memory_guess), order);
    if (repeated[b]) {
      result.known_length += in_order_length(DependenceGraph(code, block, params, 1), order);
    }
    std::vector<MachineInstruction> ordered;
    ordered.reserve(order.size());
    for (std::uint32_t at : order) ordered.push_back(std::move(block.code[at]));
    block.code = std::move(ordered);
  }
  return result;
}

}  // namespace xpusim::gpu
