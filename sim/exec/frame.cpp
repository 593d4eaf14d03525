#include "sim/exec/frame.h"

#include <algorithm>

namespace xpusim::exec {
namespace {

/// Results of an op without work of its own are as far unmasked as the least of its operands.
void pass_on_live(Frame& f, const Instruction& in) {
  std::int64_t live = 1, count = 1;
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    if (!f.has(in, k)) continue;
    const std::int64_t n = f.operand(in, k).count(), l = f.live[f.slot(in, k)];
    if (l * count < live * n) live = l, count = n;
  }
  for (std::uint32_t k = 0; k < in.result_count; ++k) {
    f.live[in.result + k] = f.result(in, k).count() * live / std::max<std::int64_t>(count, 1);
  }
}

/// Stands for a pure op whose result nothing but floating-point payload needs.
Step skip(Frame& f, const Instruction& in) {
  in.flops == 0 ? pass_on_live(f, in) : count_elementwise(f, in);
  for (std::uint32_t k = 0; k < in.result_count; ++k) f.result(in, k).form = TileForm::kUnknown;
  return Step::kNext;
}

std::vector<Instruction> without_payload(std::vector<Instruction> list) {
  for (Instruction& in : list) {
    if (in.pure && !in.evaluate) in.run = skip;
  }
  return list;
}

}  // namespace

Frame::Frame(std::shared_ptr<const Code> prepared, DeviceMemory* device, bool evaluates_values)
    : code(std::move(prepared)), memory(device), values(evaluates_values) {
  preamble = values ? code->preamble : without_payload(code->preamble);
  body = values ? code->body : without_payload(code->body);
  slots.resize(code->slots.size());
  live.resize(slots.size(), 1);
  bool has_views = false, has_descriptors = false;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const SlotInfo& info = code->slots[i];
    slots[i].shape = info.shape;
    slots[i].dtype = info.dtype;
    slots[i].is_pointer = info.is_pointer;
    live[i] = slots[i].count();
    has_views = has_views || info.is_view;
    has_descriptors = has_descriptors || info.is_descriptor;
  }
  if (has_views) views.resize(slots.size());
  if (has_descriptors) descriptors.resize(slots.size());
  counters.resize(code->loops);
  shared.resize(code->shared_allocations);
  shared_written.resize(code->shared_allocations);
  hints.resize(code->sites.size(), 0);
  if (memory) counts.tensors.resize(memory->allocations().size());
}

Step Frame::fail(const Instruction& in, std::string message) {
  error.message = std::move(message);
  error.line = in.op ? in.op->line() : SourcePosition{};
  return Step::kFail;
}

bool Frame::run_preamble() {
  return std::all_of(preamble.begin(), preamble.end(),
                     [this](const Instruction& in) { return in.run(*this, in) == Step::kNext; });
}

void Frame::start() {
  trace.reset(code->sites.size());
  error = {};
  pc = 0;
  strands.assign(1, {});
  strand = {};
  running = 0;
}

void Frame::start_block() {
  copies.clear();
  barriers.clear();
  tensor_maps.clear();
  start();
}

/// Runs the present warps until they stop. Whether they have done anything.
bool Frame::run_strand() {
  for (bool moved = false;; moved = true) {
    const Instruction& in = body[pc];
    strand.stopped = in.run(*this, in);
    if (strand.stopped == Step::kNext) {
      ++pc;
    } else if (strand.stopped == Step::kJump) {
      pc = in.target;
    } else {
      return moved || strand.stopped != Step::kWait;
    }
  }
}

void Frame::switch_to(std::uint32_t next) {
  if (next == running) return;
  strand.pc = pc;
  strands[running] = strand;
  strand = strands[next];
  pc = strand.pc;
  running = next;
}

/// Goes on with the next warps that can; those that wait are tried again once others have run.
bool Frame::pick_strand() {
  const auto count = static_cast<std::uint32_t>(strands.size());
  strands[running].stopped = strand.stopped;
  for (std::uint32_t n = 1; n <= count; ++n) {
    const std::uint32_t next = (running + n) % count;
    if (strands[next].stopped != Step::kNext) continue;
    switch_to(next);
    return true;
  }
  return false;
}

Interpreter::State Frame::advance() {
  if (!error.message.empty()) return Interpreter::State::kFailed;
  do {
    const bool moved = run_strand();
    if (strand.stopped == Step::kFail) return Interpreter::State::kFailed;
    for (Strand& other : strands) {
      if (moved && other.stopped == Step::kWait) other.stopped = Step::kNext;
    }
  } while (pick_strand());
  std::uint32_t waits = ~0u;
  for (std::uint32_t n = 0; n < strands.size(); ++n) {
    if (strands[n].stopped == Step::kWait) waits = n;
    if (strands[n].stopped != Step::kEffect) continue;
    switch_to(n);
    return Interpreter::State::kAtEffect;
  }
  return waits == ~0u ? Interpreter::State::kDone : deadlock();
}

/// All warps that are left wait for one another.
Interpreter::State Frame::deadlock() {
  std::string others;
  const Instruction* first = nullptr;
  for (std::uint32_t n = 0; n < strands.size(); ++n) {
    if (strands[n].stopped != Step::kWait) continue;
    const Instruction& in = body[n == running ? pc : strands[n].pc];
    if (in.op->name() == "ttg.warp_specialize") continue;  // waits for the others
    if (first != nullptr) {
      others += others.empty() ? "; so does line " : ", line ";
      others += std::to_string(in.op->line().line);
    } else {
      first = &in;
    }
  }
  fail(*first, "deadlock: waits for a phase of the mbarrier that nothing completes" + others);
  return Interpreter::State::kFailed;
}

void Frame::perform() {
  const Instruction& in = body[pc];
  if (in.perform) in.perform(*this, in);  // a failure is found by the next advance()
  ++pc;
  strand.stopped = strands[running].stopped = Step::kNext;
}

void Frame::add_strand(std::uint32_t first) {
  const auto base = static_cast<std::int64_t>(strands.size()) * kStrandGroups;
  strands.push_back({first, Step::kNext, base, base});
}

bool Frame::join_strands() {
  for (std::size_t n = 1; n < strands.size(); ++n) {
    if (strands[n].stopped != Step::kDone) return false;
  }
  strands.resize(1);
  return true;
}

void count_elementwise(Frame& f, const Instruction& in) {
  if (in.flops == 0) return;
  const Tile& out = f.result(in);
  std::int64_t live = out.count();
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    const std::uint32_t s = f.slot(in, k);
    if (s != kNoSlot && f.slots[s].shape.size() == out.shape.size())
      live = std::min(live, f.live[s]);
  }
  f.live[in.result] = live;
  f.counts.flops += static_cast<std::uint64_t>(live) * in.flops;
}

}  // namespace xpusim::exec
