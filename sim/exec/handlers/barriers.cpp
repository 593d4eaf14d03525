// mbarriers: ttng.init_barrier, barrier_expect, wait_barrier, arrive_barrier, inval_barrier.

#include "sim/exec/handlers/barriers.h"

#include <algorithm>
#include <utility>

#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {

void Barriers::init(const View& place, std::int64_t count) {
  invalidate(place);
  all_.push_back({place.argument, place.offset, count, count, 0, 0, phases_++, kNoPhase});
}

void Barriers::invalidate(const View& place) {
  std::erase_if(all_, [&](const Barrier& b) {
    return b.buffer == place.argument && b.offset == place.offset;
  });
}

Barriers::Barrier* Barriers::find(const View& place) {
  const auto it = std::find_if(all_.begin(), all_.end(), [&](const Barrier& b) {
    return b.buffer == place.argument && b.offset == place.offset;
  });
  return it == all_.end() ? nullptr : &*it;
}

bool Barriers::arrive(Barrier& b, std::int64_t arrivals) {
  if (arrivals > b.pending) return false;
  b.pending -= arrivals;
  settle(b);
  return true;
}

void Barriers::complete(Barrier& b, std::int64_t bytes) {
  b.bytes -= bytes;
  settle(b);
}

void Barriers::settle(Barrier& b) {
  if (b.pending > 0 || b.bytes != 0) return;
  b.pending = b.count;
  ++b.phase;
  b.last = std::exchange(b.number, phases_++);
}

namespace {

constexpr const char* kNone = "this mbarrier has not been initialised, or no longer is one";

Barriers::Barrier* barrier_of(Frame& f, const Instruction& in) {
  return f.barriers.find(f.views[f.slot(in, 0)]);
}

/// A predicate operand that says no.
bool is_off(Frame& f, const Instruction& in, std::size_t k) {
  return f.has(in, k) && !is_unknown(f.operand(in, k)) && f.operand(in, k).bits == 0;
}

std::string_view prepare_count(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("count", 1);
  return in.immediate > 0 ? "" : "an mbarrier counts at least one arrival";
}

std::string_view prepare_size(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("size");
  return in.immediate >= 0 ? "" : "a negative number of bytes";
}

Step init(Frame& f, const Instruction& in) {
  f.barriers.init(f.views[f.slot(in, 0)], in.immediate);
  return Step::kNext;
}

Step invalidate(Frame& f, const Instruction& in) {
  if (!barrier_of(f, in)) return f.fail(in, kNone);
  f.barriers.invalidate(f.views[f.slot(in, 0)]);
  return Step::kNext;
}

Step arrive_at(Frame& f, const Instruction& in, std::int64_t arrivals) {
  Barriers::Barrier* b = barrier_of(f, in);
  if (!b) return f.fail(in, kNone);
  f.trace.add_decision(in.site, b->number);
  f.trace.add_phase_event(b->number);
  if (f.barriers.arrive(*b, arrivals)) return Step::kNext;
  return f.fail(in, "more arrivals than this phase of the mbarrier counts");
}

/// An op whose predicate is off leaves a record all the same: the timing model counts its turns.
Step pass(Frame& f, const Instruction& in) {
  f.trace.add_decision(in.site, kNoPhase);
  return Step::kNext;
}

/// Announces bytes, and arrives.
Step expect(Frame& f, const Instruction& in) {
  if (is_off(f, in, 1)) return pass(f, in);
  if (Barriers::Barrier* b = barrier_of(f, in)) Barriers::expect(*b, in.immediate);
  return arrive_at(f, in, 1);
}

Step arrive(Frame& f, const Instruction& in) {
  return is_off(f, in, 1) ? pass(f, in) : arrive_at(f, in, in.immediate);
}

/// Operands: the barrier, a parity, a predicate. Passes when the phase of that parity is over; then
/// the copies of all phases that are over have arrived.
Step wait(Frame& f, const Instruction& in) {
  if (is_off(f, in, 2)) return pass(f, in);
  const Barriers::Barrier* b = barrier_of(f, in);
  if (!b) return f.fail(in, kNone);
  const Tile& parity = f.operand(in, 1);
  if (is_unknown(parity)) return f.fail(in, "the phase is not known with --values off");
  if ((b->phase & 1) == (parity.bits & 1)) return Step::kWait;
  f.trace.add_decision(in.site, b->last);
  const std::int64_t group = group_of(*b), phase = b->phase;
  std::erase_if(f.copies,
                [&](const Frame::AsyncCopy& c) { return c.group == group && c.phase < phase; });
  return Step::kNext;
}

}  // namespace

void add_barriers(OpTable& table) {
  table.add({.name = "ttng.init_barrier", .run = init, .pure = false, .prepare = prepare_count});
  table.add({.name = "ttng.inval_barrier", .run = invalidate, .pure = false});
  table.add({.name = "ttng.barrier_expect",
             .run = expect,
             .pure = false,
             .prepare = prepare_size,
             .leaves_record = true});
  table.add({.name = "ttng.arrive_barrier",
             .run = arrive,
             .pure = false,
             .prepare = prepare_count,
             .leaves_record = true});
  table.add({.name = "ttng.wait_barrier", .run = wait, .pure = false, .leaves_record = true});
}

}  // namespace xpusim::exec
