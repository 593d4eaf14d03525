#pragma once

// Functional execution of one block (a Triton program, a Pallas grid step), resumable: it runs
// ahead of the timing model up to the next op whose effect others can see or whose result depends
// on them.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/exec/descriptor.h"
#include "sim/exec/memory.h"
#include "sim/exec/tile.h"
#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"

namespace xpusim::exec {

/// The value bound to one parameter of a kernel.
struct Argument {
  enum class Kind { kPointer, kInteger, kFloat, kDescriptor } kind = Kind::kInteger;
  std::int64_t bits = 0;  ///< address or integer
  double real = 0;
  std::string tensor;  ///< kPointer, kDescriptor: the allocation's name
  std::shared_ptr<const TensorDescriptor> descriptor;  ///< kDescriptor
};

/// A kernel with its arguments bound, ready to be run by a machine.
struct Launch {
  std::string name;
  std::shared_ptr<const kernel::Module> module;
  const kernel::Function* function = nullptr;
  std::vector<Argument> args;  ///< in the order of the function's data parameters
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::map<std::string, std::int64_t> constexprs;
};

/// A run-time error of the kernel (out of bounds, unwritten read, race, assert), with its source
/// line.
struct ExecError {
  std::string message;
  SourcePosition line;
};

enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic, kAsyncCopy };

inline constexpr std::int64_t kNoPhase = -1;

/// One executed memory op of a block, as the timing model needs it.
struct Access {
  const kernel::Op* op = nullptr;
  AccessKind kind = AccessKind::kLoad;
  std::uint32_t element_bytes = 0;
  bool masked = false;  ///< has a mask operand
  Tile pointers;        ///< byte addresses: splat, affine or dense
  Tile mask;            ///< i1: splat, box or dense; unset without mask
  /// A copy by TMA into shared memory: the phase that it helps to complete (BlockTrace), or
  /// kNoPhase where its predicate is off (then nothing is active either).
  std::int64_t phase = kNoPhase;
};

/// The accesses of a site, in order. Those that follow one another often differ only in where they
/// begin and in their phase: the rest is kept once, and an access is put together when it is asked
/// for.
class AccessList {
 public:
  std::size_t size() const { return items_.size(); }
  void clear();
  Access& add();                            ///< to be filled in before anything else is asked
  Access& last() { return forms_.back(); }  ///< the one that was added last
  /// Valid until the next call.
  const Access& at(std::size_t number) const {
    if (number + 1 == items_.size()) return forms_.back();
    const Item& item = items_[number];
    Access& access = forms_[item.form];
    access.pointers.affine.base = item.base;
    access.phase = item.phase;
    return access;
  }

 private:
  struct Item {
    std::int64_t base = 0, phase = kNoPhase;
    std::uint32_t form = 0;
  };
  void settle_last();

  mutable std::vector<Access> forms_;  ///< the last one is that of the last item only
  std::vector<Item> items_;            ///< the last one is not filled in yet
};

/// What a block's execution leaves for the timing model, per site (memory or control op) and in the
/// order of its executions there.
class BlockTrace {
 public:
  /// Valid until the next one of the site is asked for.
  const Access& access(std::uint32_t site, std::uint32_t occurrence) const {
    return accesses_[site].at(occurrence);
  }
  std::size_t access_count(std::uint32_t site) const { return accesses_[site].size(); }
  /// Control sites: scf.if the branch taken (1 then, 0 else), scf.for its trip count, scf.while and
  /// cf.cond_br 1 or 0 each time the condition is evaluated. ttng.barrier_expect and arrive_barrier
  /// the phase that they help to complete, ttng.wait_barrier the phase that it waits for; kNoPhase
  /// where their predicate is off, or the wait is for what was before the first phase.
  std::int64_t decision(std::uint32_t site, std::uint32_t occurrence) const {
    return decisions_[site][occurrence];
  }
  std::size_t decision_count(std::uint32_t site) const { return decisions_[site].size(); }
  /// Phases of the block's mbarriers have numbers of their own, from 0. How many arrivals and
  /// copies complete one: known when a wait for it is on record.
  std::uint32_t phase_events(std::int64_t phase) const {
    return phase_events_[static_cast<std::size_t>(phase)];
  }

  void reset(std::size_t sites);  ///< keeps the storage
  Access& add_access(std::uint32_t site) { return accesses_[site].add(); }
  Access& last_access(std::uint32_t site) { return accesses_[site].last(); }
  void add_decision(std::uint32_t site, std::int64_t v) { decisions_[site].push_back(v); }
  void add_phase_event(std::int64_t phase) {
    const auto p = static_cast<std::size_t>(phase);
    if (phase_events_.size() <= p) phase_events_.resize(p + 1);
    ++phase_events_[p];
  }

 private:
  std::vector<AccessList> accesses_;
  std::vector<std::vector<std::int64_t>> decisions_;
  std::vector<std::uint32_t> phase_events_;
};

/// A function made ready for execution: dense value slots, a handler an op, a site a memory or
/// control op. Shared by all blocks of a launch.
class Prepared {
 public:
  /// Fails when an op has no handler, naming each with its line.
  static Expected<std::shared_ptr<const Prepared>> make(
      std::shared_ptr<const kernel::Module> module, const kernel::Function& function);
  virtual ~Prepared() = default;
  static constexpr std::uint32_t kNoSite = ~0u;
  virtual std::uint32_t site(const kernel::Op& op) const = 0;  ///< kNoSite if it leaves no record
  virtual std::size_t site_count() const = 0;
  virtual const kernel::Function& function() const = 0;
};

/// Whether the executor has a handler for an op (a test lists those that it lacks).
bool has_handler(kernel::OpId op);

/// What the executed ops amounted to, over all blocks that one interpreter ran.
struct WorkCounts {
  struct Bytes {
    std::uint64_t loaded = 0, stored = 0;
  };
  std::uint64_t flops = 0;  ///< floating-point operations of unmasked payload: add, mul, max, ...
                            ///< 1; fma and dot 2; math functions 1
  std::uint64_t dot_flops = 0;                    ///< those of matrix products
  std::uint64_t load_bytes = 0, store_bytes = 0;  ///< unmasked elements touched in global memory
  std::vector<Bytes> tensors;  ///< the same, by index in DeviceMemory::allocations()

  void load(std::uint32_t tensor, std::uint64_t bytes) {
    load_bytes += bytes;
    if (tensor < tensors.size()) tensors[tensor].loaded += bytes;
  }
  void store(std::uint32_t tensor, std::uint64_t bytes) {
    store_bytes += bytes;
    if (tensor < tensors.size()) tensors[tensor].stored += bytes;
  }
  void add(const WorkCounts& other);
  /// Bytes that had to cross the memory at least once: a tensor's loads and stores, each capped by
  /// its size.
  Bytes compulsory(const DeviceMemory& memory) const;
};

/// Runs blocks one after another; holds no state from one block to the next but the storage.
class Interpreter {
 public:
  struct Options {
    bool values = true;  ///< false: floating-point payloads are skipped
  };
  enum class State : std::uint8_t { kAtEffect, kDone, kFailed };

  static std::unique_ptr<Interpreter> make(std::shared_ptr<const Prepared> prepared,
                                           const Launch& launch, DeviceMemory& memory,
                                           Options options);
  virtual ~Interpreter() = default;
  /// Begins block `id` (coordinates in the grid).
  virtual void start(const std::array<std::int64_t, 3>& id) = 0;
  /// Runs up to the next visible effect, the end, or an error. An effect's record is in the trace
  /// when it stops there. Effects are: atomics whose result is used (and in kernels with such, all
  /// atomics), cas, volatile loads, barriers.
  virtual State advance() = 0;
  /// The visible effect at which it stopped takes place now; then advance() goes on.
  virtual void perform() = 0;
  virtual const kernel::Op* effect() const = 0;
  virtual const BlockTrace& trace() const = 0;
  virtual BlockTrace& trace() = 0;  ///< may be swapped out by the timing model
  virtual const ExecError& error() const = 0;
  virtual const WorkCounts& counts() const = 0;
};

}  // namespace xpusim::exec
