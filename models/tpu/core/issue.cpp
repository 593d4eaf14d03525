#include "models/tpu/core/issue.h"

#include <algorithm>

namespace xpusim::tpu {
namespace {

Reason result_wait(Slot producer) {
  switch (producer) {
    case Slot::kScalar:
      return Reason::kScalarDelayWait;
    case Slot::kEup:
      return Reason::kErfResultWait;
    case Slot::kXlu:
      return Reason::kTrfResultWait;
    case Slot::kMatrixPop:
      return Reason::kMrbResultWait;
    default:
      return Reason::kVectorDelayWait;
  }
}

Reason unit_wait(Slot slot) {
  return slot == Slot::kEup ? Reason::kEupReserved : Reason::kXluPathReserved;
}

bool is_matrix(Slot slot) { return slot == Slot::kMatrix || slot == Slot::kMatrixPop; }

/// Only these units take an instruction less often than every cycle.
bool is_slow(Slot slot) { return slot == Slot::kEup || slot == Slot::kXlu; }

MatrixWork work_of(Element element) {
  if (element == Element::kF8) return MatrixWork::kRowsF8;
  return element == Element::kI8 ? MatrixWork::kRows8Bit : MatrixWork::kRows;
}

std::uint32_t distance(Cycle at, Cycle now) {
  return at > now ? static_cast<std::uint32_t>(at - now) : 0;
}

}  // namespace

IssueState::IssueState(const CoreParams& core) {
  for (std::size_t op = 0; op < latency_.size(); ++op) {
    latency_[op] = static_cast<std::uint16_t>(result_latency(core, static_cast<Opcode>(op)));
    interval_[op] =
        static_cast<std::uint16_t>(issue_interval(core.latency, static_cast<Opcode>(op)));
  }
  for (Slot slot : {Slot::kEup, Slot::kXlu}) {
    units_[static_cast<std::size_t>(slot)].assign(
        static_cast<std::size_t>(slot_count(core.slots, slot)), 0);
  }
  matrix_units_.assign(static_cast<std::size_t>(core.mxu.count), MatrixUnit(core.mxu));
}

void IssueState::wait_for_operands(const Instruction& i, Wait& wait) const {
  for (Reg r : i.src) {
    if (r == kNoReg || ready_[r] <= wait.until) continue;
    wait = {ready_[r], result_wait(producer_[r])};
  }
}

void IssueState::wait_for_unit(Slot slot, Wait& wait) const {
  const auto& units = units_[static_cast<std::size_t>(slot)];
  const Cycle free = *std::min_element(units.begin(), units.end());
  if (free > wait.until) wait = {free, unit_wait(slot)};
}

void IssueState::wait_for_matrix_unit(const Instruction& i, Wait& wait) const {
  const MatrixUnit& unit = matrix_units_[i.unit];
  const auto until = [&](Cycle at, Reason reason) {
    if (at > wait.until) wait = {at, reason};
  };
  switch (i.op) {
    case Opcode::kVMatPush:
      until(unit.push_free(), Reason::kMsrPathReserved);
      return until(unit.set_free(i.set), Reason::kMsrReservedForLgmr);
    case Opcode::kVMatMul:
      until(unit.path_free(), Reason::kMatmulPathReserved);
      return until(unit.weights_ready(i.set), Reason::kLmrReserved);
    default:
      if (unit.has_result()) until(unit.result_ready(), Reason::kMrbResultWait);
  }
}

void IssueState::take_matrix_unit(const Instruction& i, Cycle at, Activity& activity) {
  MatrixUnit& unit = matrix_units_[i.unit];
  switch (i.op) {
    case Opcode::kVMatPush:
      activity.matrix(MatrixWork::kWeights, 1);
      return unit.push(i, at);
    case Opcode::kVMatMul:
      activity.matrix(MatrixWork::kBusyCycles, unit.row_cycles(i.element));
      activity.matrix(work_of(i.element), 1);
      return unit.multiply(i, at);
    default:
      if (unit.has_result()) unit.pop();
  }
}

void IssueState::take_unit(Opcode op, Cycle at) {
  auto& units = units_[static_cast<std::size_t>(info(op).slot)];
  *std::min_element(units.begin(), units.end()) = at + interval_[static_cast<std::size_t>(op)];
}

Cycle IssueState::issue(const Program& program, const Bundle& bundle, Cycle at,
                        Activity& activity) {
  const Instruction* first = program.code.data() + bundle.first;
  Wait wait{at, Reason::kIssued};
  for (const Instruction* i = first; i != first + bundle.count; ++i) {
    wait_for_operands(*i, wait);
    const Slot slot = info(i->op).slot;
    if (is_slow(slot)) wait_for_unit(slot, wait);
    if (is_matrix(slot)) wait_for_matrix_unit(*i, wait);
  }
  last_wait_ = wait.reason;
  if (wait.until > at) activity.charge(bundle.line, wait.reason, wait.until - at);
  for (const Instruction* i = first; i != first + bundle.count; ++i) {
    const Slot slot = info(i->op).slot;
    activity.instruction(slot);
    if (is_slow(slot)) take_unit(i->op, wait.until);
    if (is_matrix(slot)) take_matrix_unit(*i, wait.until, activity);
    if (i->dst == kNoReg) continue;
    ready_[i->dst] = wait.until + latency_[static_cast<std::size_t>(i->op)];
    producer_[i->dst] = slot;
  }
  activity.charge(bundle.line, Reason::kIssued, 1);
  activity.bundle(bundle.line);
  return wait.until + 1;
}

IssueState::Snapshot IssueState::snapshot(Cycle now) const {
  Snapshot s;
  for (std::size_t r = 0; r < ready_.size(); ++r) {
    s.ready[r] = distance(ready_[r], now);
    s.producer[r] = s.ready[r] ? static_cast<std::uint8_t>(producer_[r]) : 0;
  }
  for (const auto& units : units_) {
    const auto first = static_cast<std::ptrdiff_t>(s.units.size());
    for (Cycle free : units) s.units.push_back(distance(free, now));
    std::sort(s.units.begin() + first, s.units.end());  // which of them is which does not matter
  }
  for (const MatrixUnit& unit : matrix_units_) unit.snapshot(now, s.units);
  return s;
}

void IssueState::restore(const Snapshot& s, Cycle now) {
  for (std::size_t r = 0; r < ready_.size(); ++r) {
    ready_[r] = now + s.ready[r];
    producer_[r] = static_cast<Slot>(s.producer[r]);
  }
  std::size_t k = 0;
  for (auto& units : units_) {
    for (Cycle& free : units) free = now + s.units[k++];
  }
  const std::uint32_t* rest = s.units.data() + k;
  for (MatrixUnit& unit : matrix_units_) rest = unit.restore(rest, now);
}

}  // namespace xpusim::tpu
