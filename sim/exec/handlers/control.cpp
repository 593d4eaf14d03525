#include "sim/exec/handlers/control.h"

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

constexpr const char* kSkipped =
    "control flow depends on floating-point values that --values off does not hold";

/// tt.assert and cf.assert: a mask of which no element may be false.
Step check_assertion(Frame& f, const Instruction& in) {
  const Tile& t = f.operand(in, 0);
  if (is_unknown(t)) return Step::kNext;
  bool holds = true;
  ChunkReader<std::int64_t> reader(t);
  for_chunks(t.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* v = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) holds = holds && v[i] != 0;
  });
  if (holds) return Step::kNext;
  std::string_view text = in.op->str_attr("message");
  if (text.empty()) text = in.op->str_attr("msg");
  return f.fail(in, "assertion failed: " + std::string(text));
}

/// A barrier of all threads of the block. The executor runs a block as one, so nothing is left to
/// do.
Step stop(Frame&, const Instruction&) { return Step::kEffect; }
Step nothing(Frame&, const Instruction&) { return Step::kNext; }

}  // namespace

Step jump(Frame&, const Instruction&) { return Step::kJump; }

Step branch_if_false(Frame& f, const Instruction& in) {
  const Tile& condition = f.operand(in, 0);
  if (is_unknown(condition)) return f.fail(in, kSkipped);
  const bool taken = condition.bits != 0;
  f.trace.add_decision(in.site, taken);
  return taken ? Step::kNext : Step::kJump;
}

Step copy_slots(Frame& f, const Instruction& in) {
  for (std::size_t k = 0; k < in.operand_count; k += 2) {
    const std::uint32_t from = f.slot(in, k), to = f.slot(in, k + 1);
    assign(f.slots[to], f.slots[from]);
    f.live[to] = f.live[from];
    if (f.code->slots[from].is_view) f.views[to] = f.views[from];
    if (f.code->slots[from].is_descriptor) f.descriptors[to] = f.descriptors[from];
  }
  return Step::kNext;
}

Step enter_for(Frame& f, const Instruction& in) {
  const Tile& low = f.operand(in, 0);
  const Tile& high = f.operand(in, 1);
  const Tile& step = f.operand(in, 2);
  if (is_unknown(low) || is_unknown(high) || is_unknown(step)) return f.fail(in, kSkipped);
  if (step.bits <= 0) {
    return f.fail(in, "the step of a loop must be positive; it is " + std::to_string(step.bits));
  }
  const std::int64_t trips =
      high.bits <= low.bits ? 0
                            : static_cast<std::int64_t>((static_cast<std::uint64_t>(high.bits) -
                                                         static_cast<std::uint64_t>(low.bits) - 1) /
                                                        static_cast<std::uint64_t>(step.bits)) +
                                  1;
  f.trace.add_decision(in.site, trips);
  f.counters[in.index] = trips;
  set_integer(f.result(in), low.bits);
  return trips == 0 ? Step::kJump : Step::kNext;
}

Step next_for(Frame& f, const Instruction& in) {
  if (--f.counters[in.index] == 0) return Step::kNext;
  Tile& variable = f.result(in);
  variable.bits += f.operand(in, 0).bits;
  return Step::kJump;
}

Step finish(Frame&, const Instruction&) { return Step::kDone; }

Step fork_warps(Frame& f, const Instruction& in) {
  if (f.running != 0) return f.fail(in, "ttg.warp_specialize inside a partition of another");
  f.add_strand(in.target);
  return Step::kNext;
}

Step join_warps(Frame& f, const Instruction&) {
  return f.join_strands() ? Step::kNext : Step::kWait;
}

void add_control(OpTable& table) {
  for (const auto* name :
       {"scf.for", "scf.while", "scf.if", "scf.yield", "scf.condition", "cf.br", "cf.cond_br",
        "tt.call", "func.call", "tt.return", "func.return", "tt.reduce.return", "tpu.region",
        "tpu.trace", "tpu.yield", "ttg.warp_specialize", "ttg.warp_yield", "ttg.warp_return"}) {
    table.add({.name = name, .pure = false});
  }
  for (const auto* name : {"cf.assert", "tt.assert"}) {
    table.add({.name = name, .run = check_assertion, .pure = false});
  }
  // Spans of a trace, what a kernel prints for its author, and waiting itself change nothing.
  for (const auto* name : {"tpu.trace_start", "tpu.trace_stop", "tpu.trace_value", "tpu.log",
                           "tpu.log_buffer", "tpu.delay"}) {
    table.add({.name = name, .run = nothing, .pure = false});
  }
  // What is printed goes nowhere, and a promise to the compiler is not checked.
  for (const auto* name : {"tt.print", "llvm.intr.assume"}) {
    table.add({.name = name, .run = nothing, .pure = false});
  }
  for (const auto* name : {"gpu.barrier", "ttg.barrier"}) {
    table.add({.name = name, .run = stop, .pure = false, .perform = nothing});
  }
}

}  // namespace xpusim::exec
