#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "models/gpu/compiler/assembler/assembler.h"

namespace xpusim::gpu {
namespace {

/// What must come before an instruction, and how long before.
struct Edge {
  std::uint32_t to;
  std::int32_t latency;
};

struct Node {
  std::vector<Edge> after;    // who waits for this one
  int waiting_for = 0;        // predecessors not yet scheduled
  std::int64_t earliest = 0;  // cycle
  std::int64_t path = 0;      // guessed cycles from its issue to the block's end
};

std::int64_t guess(const MachineInstruction& i, VReg result, const MachineCode& code,
                   const CompilerParams& params) {
  switch (i.op) {
    case Opcode::kLdg:
    case Opcode::kAtom:
      return params.load_guess;
    case Opcode::kMufu:
      return params.mufu_guess;
    case Opcode::kLds:
    case Opcode::kShfl:
    case Opcode::kS2r:
    case Opcode::kS2ur:
    case Opcode::kLdc:
      return params.shared_guess;
    default:
      return fixed_latency(i.op, code.registers[result], params);
  }
}

/// The dependences of one block, by registers and by effects on memory.
class Graph {
 public:
  Graph(const MachineCode& code, const MachineBlock& block, const CompilerParams& params)
      : code_(code), block_(block), params_(params), nodes_(block.code.size()) {
    last_write_.assign(code.registers.size(), kNobody);
    readers_.resize(code.registers.size());
    for (std::uint32_t at = 0; at < nodes_.size(); ++at) {
      order_registers(at);
      order_effects(at);
    }
    for (std::size_t at = nodes_.size(); at-- > 0;) {
      for (const Edge& e : nodes_[at].after) {
        nodes_[at].path = std::max(nodes_[at].path, e.latency + nodes_[e.to].path);
      }
    }
  }
  std::vector<Node>& nodes() { return nodes_; }

 private:
  static constexpr std::uint32_t kNobody = ~0u;

  void add(std::uint32_t from, std::uint32_t to, std::int64_t latency) {
    if (from == to || from == kNobody) return;
    nodes_[from].after.push_back({to, static_cast<std::int32_t>(latency)});
    ++nodes_[to].waiting_for;
  }
  void read(std::uint32_t at, VReg r) {
    if (last_write_[r] != kNobody) {
      add(last_write_[r], at, guess(block_.code[last_write_[r]], r, code_, params_));
    }
    readers_[r].push_back(at);
  }
  void order_registers(std::uint32_t at) {
    const MachineInstruction& i = block_.code[at];
    for (VReg r : i.uses) read(at, r);
    if (i.guard != kNoVReg) read(at, i.guard);
    for (VReg r : i.defs) {
      for (std::uint32_t reader : readers_[r]) add(reader, at, 0);
      if (last_write_[r] != kNobody && readers_[r].empty()) add(last_write_[r], at, 1);
      readers_[r].clear();
      last_write_[r] = at;
    }
  }
  void after_all(const std::vector<std::uint32_t>& earlier, std::uint32_t at) {
    for (std::uint32_t e : earlier) add(e, at, 1);
  }
  void order_effects(std::uint32_t at) {
    const MemoryEffect effect = block_.code[at].effect;
    if (effect == MemoryEffect::kNone) return;
    add(barrier_, at, 1);
    switch (effect) {
      case MemoryEffect::kGlobalLoad:
        after_all(global_stores_, at);
        global_loads_.push_back(at);
        break;
      case MemoryEffect::kGlobalStore:
        after_all(global_loads_, at);
        global_stores_.push_back(at);
        break;
      case MemoryEffect::kSharedLoad:
        after_all(shared_stores_, at);
        shared_loads_.push_back(at);
        break;
      case MemoryEffect::kSharedStore:
        after_all(shared_loads_, at);
        shared_stores_.push_back(at);
        break;
      default:
        for (auto* list : {&global_loads_, &global_stores_, &shared_loads_, &shared_stores_}) {
          after_all(*list, at);
          list->clear();
        }
        if (effect == MemoryEffect::kEnd) {
          for (std::uint32_t e = 0; e < at; ++e) add(e, at, 0);
        }
        barrier_ = at;
    }
  }

  const MachineCode& code_;
  const MachineBlock& block_;
  const CompilerParams& params_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> last_write_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::uint32_t barrier_ = kNobody;
  std::vector<std::uint32_t> global_loads_, global_stores_, shared_loads_, shared_stores_;
};

/// Registers alive while a block is put in order, counted as instructions are placed.
class Pressure {
 public:
  Pressure(const MachineCode& code, const MachineBlock& block) : code_(code) {
    left_.resize(code.registers.size());
    alive_.resize(code.registers.size());
    for (const auto& i : block.code) {
      for_each_touched(i, [&](VReg r) { ++left_[r]; });
    }
  }
  /// Change of the number of live registers of a file if this instruction were next.
  int change(const MachineInstruction& i, RegFile file) const {
    int delta = 0;
    for_each_touched(i, [&](VReg r) {
      if (code_.registers[r] != file) return;
      if (left_[r] == 1 && alive_[r]) --delta;
      if (left_[r] > 1 && !alive_[r]) ++delta;
    });
    return delta;
  }
  void place(const MachineInstruction& i) {
    for_each_touched(i, [&](VReg r) {
      int& live = code_.registers[r] == RegFile::kGeneral     ? general_
                  : code_.registers[r] == RegFile::kPredicate ? predicate_
                                                              : other_;
      if (--left_[r] == 0) {
        if (alive_[r]) --live;
        alive_[r] = false;
      } else if (!alive_[r]) {
        alive_[r] = true;
        ++live;
      }
    });
    peak_ = std::max(peak_, general_);
  }
  int general() const { return general_; }
  int predicate() const { return predicate_; }
  int peak() const { return peak_; }

 private:
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
  std::vector<int> left_;  // touches not yet placed
  std::vector<bool> alive_;
  int general_ = 0, predicate_ = 0, other_ = 0, peak_ = 0;
};

/// One block's list scheduling.
class Scheduler {
 public:
  Scheduler(const MachineCode& code, const MachineBlock& block, const CompilerParams& params,
            int budget)
      : block_(block),
        params_(params),
        graph_(code, block, params),
        pressure_(code, block),
        budget_(budget) {}

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
    now_ = std::max(now_, nodes[at].earliest);
    if (pipe_of(i.op) == Pipe::kAlu) {
      now_ = std::max(now_, alu_free_);
      alu_free_ = now_ + params_.alu_issue;
    }
    pressure_.place(i);
    for (const Edge& e : nodes[at].after) {
      nodes[e.to].earliest = std::max(nodes[e.to].earliest, now_ + e.latency);
      if (--nodes[e.to].waiting_for == 0) ready_.push_back(e.to);
    }
    ++now_;
  }

  std::int64_t start(std::uint32_t at) {
    const std::int64_t earliest = graph_.nodes()[at].earliest;
    return pipe_of(block_.code[at].op) == Pipe::kAlu ? std::max(earliest, alu_free_) : earliest;
  }

  /// Within the budget: what can issue now, longest path first. Beyond it: what frees registers.
  std::size_t choose() {
    std::size_t best = 0;
    std::tuple<int, int, std::int64_t, std::int64_t, std::uint32_t> best_key{};
    for (std::size_t n = 0; n < ready_.size(); ++n) {
      const std::uint32_t at = ready_[n];
      const MachineInstruction& i = block_.code[at];
      const int predicates = pressure_.change(i, RegFile::kPredicate);
      const int general = pressure_.change(i, RegFile::kGeneral);
      const bool no_predicate = predicates > 0 && pressure_.predicate() + predicates > kPredicates;
      const bool no_register = general > 0 && pressure_.general() + general > budget_;
      const std::int64_t wait = std::max<std::int64_t>(0, start(at) - now_);
      const std::tuple key{no_predicate + 0, no_register ? general : 0, wait,
                           -graph_.nodes()[at].path, at};
      if (n == 0 || key < best_key) {
        best = n;
        best_key = key;
      }
    }
    return best;
  }

  const MachineBlock& block_;
  const CompilerParams& params_;
  Graph graph_;
  Pressure pressure_;
  int budget_;
  std::vector<std::uint32_t> ready_;
  std::int64_t now_ = 0, alu_free_ = 0;
};

}  // namespace

void schedule(MachineCode& code, const CompilerParams& params) {
  for (auto& block : code.blocks) {
    Scheduler scheduler(code, block, params, std::numeric_limits<int>::max() / 2);
    auto order = scheduler.run();
    std::vector<MachineInstruction> ordered;
    for (std::uint32_t at : order) ordered.push_back(std::move(block.code[at]));
    block.code = std::move(ordered);
  }
}

}  // namespace xpusim::gpu
