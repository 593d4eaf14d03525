#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"
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
      first_touch_.push_back(touches_.size());
      list_touches(i);
    }
    first_touch_.push_back(touches_.size());
    for (const Touch& t : touches_) left_[t.reg] += !t.rewrites;
    for (VReg r = 0; r < left_.size(); ++r) {
      if (out[r] && !rewritten_[r]) ++left_[r];  // never the last touch
      if (in[r]) begin(r);
    }
    peak_ = general();
  }
  /// Changes of the numbers of live registers if an instruction of the block were next.
  struct Change {
    int general = 0, predicate = 0;
  };
  Change change(std::uint32_t at) const {
    int delta[3] = {};
    const Tuple* begun[3] = {};
    for (const Touch& t : touches_of(at)) {
      int& of_file = delta[file(t.reg)];
      if (t.rewrites) {
        of_file += !alive_[t.reg];
      } else if (left_[t.reg] == 1) {
        of_file -= alive_[t.reg];
      } else if (!alive_[t.reg]) {
        const Tuple* tuple = whole_tuple(t.reg);
        if (tuple && tuple == begun[file(t.reg)]) continue;
        begun[file(t.reg)] = tuple;
        of_file += tuple ? static_cast<int>(tuple->size()) : 1;
      }
    }
    return {delta[file_of(RegFile::kGeneral)], delta[file_of(RegFile::kPredicate)]};
  }
  void place(std::uint32_t at) {
    for (const Touch& t : touches_of(at)) {
      if (t.rewrites) {
        begin(t.reg);
      } else if (--left_[t.reg] == 0) {
        if (alive_[t.reg]) --live_[file(t.reg)];
        alive_[t.reg] = false;
      } else if (const Tuple* tuple = whole_tuple(t.reg); tuple && !alive_[t.reg]) {
        for (VReg member : *tuple) begin(member);
      } else {
        begin(t.reg);
      }
    }
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
  /// A register that an instruction reads, writes or is guarded by.
  struct Touch {
    VReg reg;
    bool rewrites;
  };
  std::span<const Touch> touches_of(std::uint32_t at) const {
    return {touches_.data() + first_touch_[at], touches_.data() + first_touch_[at + 1]};
  }
  /// Every register once.
  void list_touches(const MachineInstruction& i) {
    const std::size_t first = touches_.size();
    const auto list = [&](VReg r) {
      const auto is_it = [&](const Touch& t) { return t.reg == r; };
      const auto own = touches_.begin() + static_cast<std::ptrdiff_t>(first);
      if (r == kNoVReg || std::any_of(own, touches_.end(), is_it)) return;
      const bool written = std::find(i.defs.begin(), i.defs.end(), r) != i.defs.end();
      touches_.push_back({r, rewritten_[r] && written});
    };
    for (VReg r : i.uses) list(r);
    list(i.guard);
    for (VReg r : i.defs) list(r);
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

  const MachineCode& code_;
  std::vector<Touch> touches_;            // of all instructions, one after another
  std::vector<std::size_t> first_touch_;  // [instruction], and the end
  std::vector<int> left_;                 // touches not yet placed
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
  Scheduler(const MachineBlock& block, const DependenceGraph& graph, Pressure pressure,
            const ScheduleGoal& goal)
      : block_(block),
        graph_(graph),
        pressure_(std::move(pressure)),
        budget_(goal.budget),
        window_(goal.loads_flow ? block.code.size() : kWindow),
        sees_units_(goal.sees_units && !graph_.in_program_order()),
        comfortable_(goal.comfortable),
        relaxed_(graph_.in_program_order() ? 0 : goal.relaxed),
        rank_(StreamOrder(block, graph_.nodes()).run()),
        ahead_(may_run_ahead(block, graph_.nodes(), goal.budget == kNoBudget)),
        placed_(rank_.size()),
        earliest_(rank_.size()) {
    by_rank_.resize(rank_.size());
    for (std::uint32_t at = 0; at < rank_.size(); ++at) {
      by_rank_[rank_[at]] = at;
      waiting_for_.push_back(graph_.nodes()[at].predecessors);
      if (waiting_for_[at] == 0) ready_.push_back(at);
    }
  }

  std::vector<std::uint32_t> run() {
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
    now_ = std::max(now_, ready_at(at));
    units_.take(graph_.unit_uses()[at], now_);
    pressure_.place(at);
    for (const Edge& e : graph_.nodes()[at].after) {
      earliest_[e.to] = std::max(earliest_[e.to], now_ + e.latency);
      if (--waiting_for_[e.to] == 0) ready_.push_back(e.to);
    }
    ++now_;
    placed_[rank_[at]] = true;
    while (front_ < placed_.size() && (placed_[front_] || is_store(by_rank_[front_]))) ++front_;
  }

  std::int64_t ready_at(std::uint32_t at) const {
    const MachineInstruction& i = block_.code[at];
    // Addresses of loads are put first, whatever the multiplier says.
    const bool sees = sees_units_ && (!ahead_[at] || i.op != Opcode::kFma);
    const std::int64_t unit = sees ? units_.free_for(graph_.unit_uses()[at]) : 0;
    return std::max(earliest_[at], unit);
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
      const auto [general, predicates] = pressure_.change(at);
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
  const DependenceGraph& graph_;
  Pressure pressure_;
  int budget_;
  std::size_t window_;
  bool sees_units_;
  int comfortable_, relaxed_;        // registers below which waste is no matter: for loads, all
  std::vector<std::uint32_t> rank_;  // [instruction] place in the stream
  std::vector<bool> ahead_;
  std::vector<bool> placed_;  // [rank]
  std::vector<std::uint32_t> by_rank_;
  std::vector<std::int64_t> earliest_;  // [instruction] cycle at which what it needs is there
  std::vector<int> waiting_for_;        // [instruction] predecessors not yet placed
  std::size_t front_ = 0;               // first rank not yet placed
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

/// A block with all that does not change from one goal to the next.
struct Schedules::Block {
  Block(const MachineCode& all, std::size_t b, const Liveness& live, const CompilerParams& params,
        bool in_loop)
      : code(all.blocks[b]),
        pressure(all, code, live.in[b], live.out[b]),
        from_near(all, code, params, params.load_guess),
        from_memory(all, code, params, params.memory_guess) {
    if (in_loop) known.emplace(all, code, params, 1);
  }
  const DependenceGraph& guessed(const ScheduleGoal& goal) const {
    return goal.loads_flow ? from_memory : from_near;
  }

  const MachineBlock& code;
  Pressure pressure;
  DependenceGraph from_near, from_memory;
  std::optional<DependenceGraph> known;  // of a loop: global loads take no time
};

Schedules::Schedules(const MachineCode& code, const CompilerParams& params) : code_(code) {
  const Liveness live = find_liveness(code);
  const std::vector<bool> repeated = blocks_of_loops(code);
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    blocks_.push_back(std::make_unique<const Block>(code, b, live, params, repeated[b]));
  }
}
Schedules::~Schedules() = default;

Schedule Schedules::under(const ScheduleGoal& goal) const {
  Schedule result;
  for (const auto& block : blocks_) {
    Scheduler scheduler(block->code, block->guessed(goal), block->pressure, goal);
    std::vector<std::uint32_t> order = scheduler.run();
    result.peak = std::max(result.peak, scheduler.peak());
    result.length += in_order_length(block->guessed(goal), order);
    result.memory_length += in_order_length(block->from_memory, order);
    if (block->known) result.known_length += in_order_length(*block->known, order);
    result.order.push_back(std::move(order));
  }
  return result;
}

MachineCode Schedules::ordered(const Order& order) const {
  MachineCode code = code_;
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    for (std::size_t n = 0; n < order[b].size(); ++n) {
      code.blocks[b].code[n] = code_.blocks[b].code[order[b][n]];
    }
  }
  return code;
}

}  // namespace xpusim::gpu
