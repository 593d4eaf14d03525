// tpu.sem_signal, sem_wait, sem_read and the barrier semaphore. Each stops the block, so that the
// machine can give it its time. On a chip alone nothing but the core itself signals its semaphores,
// so a wait for more than has been signalled never ends: it is an error at once.

#include "sim/exec/handlers/semaphores.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/exec/dense.h"
#include "sim/exec/handlers/remote.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

constexpr std::uint32_t kBarrierArgument = View::kNoArgument - 1;
enum Operand : std::size_t { kSemaphore, kAmount, kDevice, kCore };

std::int64_t key_of(Frame& f, const Instruction& in) {
  return semaphore_key(f.views[f.slot(in, kSemaphore)]);
}

/// One counting semaphore, and a known amount.
bool check(Frame& f, const Instruction& in, bool has_amount) {
  const kernel::Type type = in.op->operands[kSemaphore]->type;
  if (type->element && type->element->text.find("dma_semaphore") != std::string::npos) {
    f.fail(in, fmt::format("{} of a DMA's semaphore: what it holds depends on time; wait for the "
                           "copy instead",
                           in.op->name()));
    return false;
  }
  if (!f.views[f.slot(in, kSemaphore)].shape.empty()) {
    f.fail(in, fmt::format("{} of an array of semaphores: it takes one", in.op->name()));
    return false;
  }
  if (has_amount && is_unknown(f.operand(in, kAmount))) {
    f.fail(in, fmt::format("{}: its amount depends on values that --values off does not hold",
                           in.op->name()));
    return false;
  }
  return true;
}

Step signal(Frame& f, const Instruction& in) {
  if (!device_of(f, in, kDevice, kCore, "a signal")) return Step::kFail;
  return check(f, in, true) ? Step::kEffect : Step::kFail;
}

Step perform_signal(Frame& f, const Instruction& in) {
  const auto device = device_of(f, in, kDevice, kCore, "a signal");
  if (device && *device != f.device) {
    Outgoing out;
    out.device = *device;
    out.semaphore = key_of(f, in);
    out.amount = f.operand(in, kAmount).bits;
    f.outgoing = std::move(out);
    return Step::kNext;
  }
  semaphore_count(f, key_of(f, in)) += f.operand(in, kAmount).bits;
  return Step::kNext;
}

Step wait(Frame& f, const Instruction& in) {
  if (!check(f, in, true)) return Step::kFail;
  if (f.devices > 1) return Step::kEffect;  // others may signal it
  const std::int64_t held = semaphore_count(f, key_of(f, in)), wanted = f.operand(in, kAmount).bits;
  if (held >= wanted) return Step::kEffect;
  return f.fail(in, fmt::format("deadlock: it waits for {} of semaphore {}, which holds {}, and "
                                "nothing else can signal it",
                                wanted, semaphore_name(*in.op->operands[kSemaphore]), held));
}

Step perform_wait(Frame& f, const Instruction& in) {
  semaphore_count(f, key_of(f, in)) -= f.operand(in, kAmount).bits;
  return Step::kNext;
}

Step read(Frame& f, const Instruction& in) {
  return check(f, in, false) ? Step::kEffect : Step::kFail;
}

Step perform_read(Frame& f, const Instruction& in) {
  set_integer(f.result(in), semaphore_count(f, key_of(f, in)));
  return Step::kNext;
}

/// tpu.sem_barrier: the one semaphore that a launch shares for barriers.
Step barrier_semaphore(Frame& f, const Instruction& in) {
  View& view = f.views[in.result];
  view = {};
  view.argument = kBarrierArgument;
  return Step::kNext;
}

}  // namespace

std::string_view semaphore_name(const kernel::Value& semaphore) {
  const kernel::Value* v = &semaphore;
  while (v->def && !v->def->operands.empty()) v = v->def->operands[0];  // of slices
  if (v->def && v->def->name() == "tpu.sem_barrier") return "barrier";
  const std::string_view named = kernel::loc_name(v->loc);
  return named.empty() ? std::string_view(v->name) : named;
}

std::int64_t& semaphore_count(Frame& f, std::int64_t key) {
  const auto it = std::find_if(f.semaphores.begin(), f.semaphores.end(),
                               [key](const Frame::Semaphore& s) { return s.key == key; });
  if (it != f.semaphores.end()) return it->count;
  f.semaphores.push_back({key, 0});
  return f.semaphores.back().count;
}

void forget_semaphores(Frame& f, std::uint32_t argument) {
  std::erase_if(f.semaphores, [argument](const Frame::Semaphore& s) {
    return static_cast<std::uint32_t>(s.key >> 32) == argument;
  });
}

void add_semaphores(OpTable& table) {
  table.add({.name = "tpu.sem_signal", .run = signal, .pure = false, .perform = perform_signal});
  table.add({.name = "tpu.sem_wait", .run = wait, .pure = false, .perform = perform_wait});
  table.add({.name = "tpu.sem_read", .run = read, .pure = false, .perform = perform_read});
  table.add({.name = "tpu.sem_barrier", .run = barrier_semaphore, .pure = false});
}

}  // namespace xpusim::exec
