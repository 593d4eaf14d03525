// The assembler's passes one by one, on a few instructions each.

#include <gtest/gtest.h>

#include <algorithm>

#include "models/gpu/compiler/assembler/assembler.h"
#include "models/gpu/compiler/lowering/builder.h"

namespace xpusim::gpu {
namespace {

int count(const MachineCode& code, std::string_view mnemonic) {
  int n = 0;
  for (const auto& block : code.blocks) {
    for (const auto& i : block.code) n += i.mnemonic == mnemonic;
  }
  return n;
}

VReg load(Builder& b, VReg address) {
  const VReg to = b.general();
  b.emit(Opcode::kLdg, "LDG.E", {to}, {address}).effect = MemoryEffect::kGlobalLoad;
  return to;
}

void store(Builder& b, VReg address, VReg value, VReg guard = kNoVReg) {
  MachineInstruction& i = b.emit(Opcode::kStg, "STG.E", {}, {address, value});
  i.effect = MemoryEffect::kGlobalStore;
  i.guard = guard;
}

TEST(Assembler, WhatIsComputedTwiceIsComputedOnce) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  const VReg x = b.value(Opcode::kAlu, "LOP3", {tid}, 31);
  const VReg y = b.value(Opcode::kAlu, "LOP3", {tid}, 31);
  const VReg z = b.value(Opcode::kAlu, "LOP3", {tid}, 63);
  store(b, x, y);
  store(b, x, z);
  simplify(code);
  EXPECT_EQ(count(code, "LOP3"), 2);
}

TEST(Assembler, APredicateIsNotTakenForANumberOfTheSameSources) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  const VReg x = b.value(Opcode::kAlu, "LOP3", {tid}, 31);
  const VReg p = b.predicate();
  b.emit(Opcode::kAlu, "LOP3", {p}, {tid}, 31);
  store(b, tid, x, p);
  simplify(code);
  EXPECT_EQ(count(code, "LOP3"), 2);
}

TEST(Assembler, WhatNobodyReadsGoes) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  b.value(Opcode::kFma, "IMAD", {b.value(Opcode::kAlu, "LOP3", {tid})});
  simplify(code);
  EXPECT_TRUE(code.blocks[0].code.empty());
}

Schedule schedule(MachineCode& code, const CompilerParams& params, const ScheduleGoal& goal) {
  const Schedules schedules(code, params);
  Schedule found = schedules.under(goal);
  code = schedules.ordered(found.order);
  return found;
}

TEST(Assembler, IndependentLoadsIssueBeforeTheFirstUse) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  std::vector<VReg> sums;
  for (int n = 0; n < 4; ++n) {
    const VReg x = load(b, tid);
    sums.push_back(b.value(Opcode::kFma, "FADD", {x, x}));
  }
  for (VReg s : sums) store(b, tid, s);
  schedule(code, {}, {});
  const auto& c = code.blocks[0].code;
  const auto first_use =
      std::find_if(c.begin(), c.end(), [](auto& i) { return i.mnemonic == "FADD"; });
  EXPECT_EQ(std::count_if(c.begin(), first_use, [](auto& i) { return i.op == Opcode::kLdg; }), 4);
}

TEST(Assembler, ABudgetOfRegistersHoldsLoadsBack) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  VReg sum = b.value(Opcode::kAlu, "MOV", {tid});
  for (int n = 0; n < 16; ++n) sum = b.value(Opcode::kFma, "FADD", {sum, load(b, tid)});
  store(b, tid, sum);
  MachineCode free = code;
  EXPECT_GT(schedule(free, {}, {}).peak, 12);
  EXPECT_LE(schedule(code, {}, {.budget = 6}).peak, 6);
}

/// Masked loads of values that stay alive until they are stored, each added to a running sum.
MachineCode kept_loads(int loads) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  VReg sum = b.value(Opcode::kAlu, "MOV", {tid});
  std::vector<VReg> values;
  for (int n = 0; n < loads; ++n) {
    const VReg mask = b.predicate();
    b.emit(Opcode::kAlu, "ISETP", {mask}, {tid}, static_cast<std::uint32_t>(n));
    std::vector<VReg> words;
    for (int w = 0; w < 4; ++w) words.push_back(b.value(Opcode::kAlu, "MOV", {}, 0xff800000));
    b.code().tie(words);
    MachineInstruction& i = b.emit(Opcode::kLdg, "LDG.E.128", {}, {tid});
    i.defs.assign(words.begin(), words.end());
    i.uses.insert(i.uses.end(), words.begin(), words.end());
    i.guard = mask;
    i.effect = MemoryEffect::kGlobalLoad;
    for (VReg w : words) sum = b.value(Opcode::kAlu, "FMNMX", {sum, w});
    values.insert(values.end(), words.begin(), words.end());
  }
  for (VReg v : values) store(b, sum, v);
  return code;
}

/// Loads before the first FMNMX.
std::ptrdiff_t loads_up_front(const MachineCode& code) {
  const auto& c = code.blocks[0].code;
  const auto use = std::find_if(c.begin(), c.end(), [](auto& i) { return i.mnemonic == "FMNMX"; });
  return std::count_if(c.begin(), use, [](auto& i) { return i.op == Opcode::kLdg; });
}

TEST(Assembler, LoadsOfValuesThatStayAliveFlowAheadOfTheirUses) {
  MachineCode near = kept_loads(16), flowing = near;
  const Schedule first = schedule(near, {}, {});
  const Schedule second = schedule(flowing, {}, {.budget = first.peak, .loads_flow = true});
  EXPECT_LT(loads_up_front(near), 8);
  EXPECT_GE(loads_up_front(flowing), 12);
  EXPECT_LE(second.peak, first.peak + 1);
  EXPECT_LT(second.memory_length, first.memory_length);
  const Placed placed = place(kept_loads(16), {}, 255, 4);
  EXPECT_GE(loads_up_front(placed.code), 12);
}

/// Rows that are each reduced by a chain of shuffles and sums, and stored.
MachineCode reduced_rows(int rows) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  for (int row = 0; row < rows; ++row) {
    VReg x = b.value(Opcode::kFma, "IMAD", {tid}, static_cast<std::uint32_t>(row));
    for (std::uint32_t distance = 16; distance != 0; distance /= 2) {
      x = b.value(Opcode::kFma, "FADD", {x, b.value(Opcode::kShfl, "SHFL.BFLY", {x}, distance)});
    }
    MachineInstruction& i = b.emit(Opcode::kSts, "STS", {}, {tid, x});
    i.effect = MemoryEffect::kSharedStore;
  }
  return code;
}

TEST(Assembler, ChainsThatDoNotDependOnOneAnotherRunAbreastWhileRegistersLast) {
  MachineCode one = reduced_rows(1), serial = reduced_rows(8), abreast = serial;
  const auto alone = schedule(one, {}, {}).length;
  EXPECT_GT(schedule(serial, {}, {}).length, 6 * alone);
  EXPECT_LT(schedule(abreast, {}, {.relaxed = 29}).length, 2 * alone);
  const auto& c = abreast.blocks[0].code;
  const auto sum = std::find_if(c.begin(), c.end(), [](auto& i) { return i.mnemonic == "FADD"; });
  EXPECT_EQ(std::count_if(c.begin(), sum, [](auto& i) { return i.op == Opcode::kShfl; }), 8);
}

TEST(Assembler, RowsOfAReductionTakeTheRegistersThatAllWarpsHave) {
  const Placed placed = place(reduced_rows(8), {}, 255, 4);
  MachineCode one = reduced_rows(1);
  EXPECT_LT(placed.length, 2 * schedule(one, {}, {}).length);
  EXPECT_LE(placed.where.general, 30);
}

/// A predicate guards thirteen cycles later, and is an operand four cycles later.
TEST(Assembler, TheSchedulerKnowsHowAPredicateIsRead) {
  const auto length = [](bool guards) {
    MachineCode code;
    Builder b(code);
    const VReg x = b.value(Opcode::kAlu, "MOV", {}, 1), p = b.predicate();
    b.emit(Opcode::kAlu, "FSETP", {p}, {x});
    MachineInstruction& i = b.emit(Opcode::kAlu, "FSEL", {x}, {x});
    guards ? void(i.guard = p) : i.uses.push_back(p);
    return schedule(code, {}, {}).length;
  };
  EXPECT_EQ(length(false), 4 + 4 + 1);
  EXPECT_EQ(length(true), 4 + 13 + 1);
}

/// What lives long is placed before what comes early, if that saves registers; predicates never
/// take more for it.
TEST(Assembler, AnOrderThatSavesRegistersCostsNoPredicates) {
  for (int rows : {2, 4, 8}) {
    MachineCode code = reduced_rows(rows);
    const Schedule result = schedule(code, {}, {.relaxed = 29});
    const Allocation where = allocate(code, false);
    EXPECT_EQ(where.general, result.peak + 1);  // R1
    EXPECT_EQ(where.predicate, 0);
  }
}

TEST(Assembler, ABlockOfOneWarpTakesAsManyRegistersAsItsLoadsWant) {
  const Placed one = place(kept_loads(64), {}, 255, 1), four = place(kept_loads(64), {}, 255, 4);
  // Until the first has come, as guessed: five instructions of the ALU pipe a load, two cycles
  // each.
  EXPECT_GE(loads_up_front(one.code), 160 / 10);
  EXPECT_LT(loads_up_front(four.code), loads_up_front(one.code));
}

TEST(Assembler, DeadRegistersAreReusedAndR1IsTheStackPointers) {
  MachineCode code;
  Builder b(code);
  VReg x = b.value(Opcode::kS2r, "S2R", {});
  for (int n = 0; n < 10; ++n) x = b.value(Opcode::kFma, "FADD", {x, x});
  store(b, x, x);
  const Allocation where = allocate(code, false);
  EXPECT_EQ(where.general, 2);  // R0, and R1 which is taken
  EXPECT_EQ(where.number[x], 0);
}

/// A loop that carries `x`: its body reads it, computes elsewhere, and writes it anew at the end.
struct CarryingLoop {
  MachineCode code;
  VReg x, between;

  CarryingLoop() {
    Builder b(code);
    const VReg tid = b.value(Opcode::kS2r, "S2R", {});
    x = b.general();
    b.emit(Opcode::kAlu, "MOV", {x}, {tid}).hands_on = true;
    code.blocks.emplace_back();
    VReg sum = b.value(Opcode::kFma, "FADD", {x, tid});
    between = sum;
    for (int n = 0; n < 3; ++n) sum = b.value(Opcode::kFma, "FADD", {sum, tid});
    b.emit(Opcode::kFma, "FADD", {x}, {sum, tid});
    b.emit(Opcode::kBra, "BRA", {}, {}).target = 1;
    code.blocks.back().code.back().branch = Branch::kLoopBack;
    code.blocks.back().loop_begin = 1;
    code.blocks.emplace_back();
    store(b, tid, x);
  }
};

TEST(Assembler, WhatALoopCarriesLeavesItsRegisterBetweenItsLastReadAndItsNextValue) {
  const CarryingLoop loop;
  const Allocation where = allocate(loop.code, false);
  EXPECT_EQ(where.number[loop.between], where.number[loop.x]);
  EXPECT_EQ(where.general, 3);  // the thread's number, x, and R1
}

TEST(Assembler, AProductIsFusedWithTheSumThatReplacesItsSource) {
  const auto fused = [](bool replaced_before) {
    MachineCode code;
    Builder b(code);
    const VReg tid = b.value(Opcode::kS2r, "S2R", {}), x = b.general();
    b.emit(Opcode::kAlu, "MOV", {x}, {tid});
    const VReg product = b.value(Opcode::kFma, "FMUL", {x}, 0x3f000000);
    if (replaced_before) b.emit(Opcode::kAlu, "MOV", {x}, {tid}, 1);
    b.emit(Opcode::kFma, "FADD", {x}, {product, tid});
    store(b, tid, x);
    contract(code);
    return count(code, "FFMA");
  };
  EXPECT_EQ(fused(false), 1);
  EXPECT_EQ(fused(true), 0);  // its source is another value by then
}

TEST(Assembler, ASumBeforeItsProductIsNotFusedWithIt) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {}), carried = b.general();
  const VReg sum = b.value(Opcode::kFma, "FADD", {carried, tid});
  b.emit(Opcode::kFma, "FMUL", {carried}, {sum}, 0x3f000000);
  contract(code);
  EXPECT_EQ(count(code, "FFMA"), 0);
}

TEST(Assembler, AValueThatAlreadyLiesWhereALoopWantsItIsNotCopied) {
  const CarryingLoop loop;
  const Assembled out = assemble(loop.code, {}, 255, 4);
  EXPECT_EQ(std::count_if(out.code.begin(), out.code.end(),
                          [](const Instruction& i) { return i.mnemonic == "MOV"; }),
            1);  // the thread's number is read again behind the loop: x is another register
}

TEST(Assembler, SpecialFunctionsAreSpreadOverWhatElseThereIsToDo) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  std::vector<VReg> results;
  for (std::uint32_t n = 0; n < 4; ++n)
    results.push_back(b.value(Opcode::kMufu, "MUFU.EX2", {tid}, n));
  for (std::uint32_t n = 0; n < 32; ++n) results.push_back(b.value(Opcode::kFma, "FMUL", {tid}, n));
  for (VReg r : results) store(b, tid, r);
  schedule(code, {}, {.relaxed = 64});
  std::vector<std::ptrdiff_t> at;
  for (std::size_t n = 0; n < code.blocks[0].code.size(); ++n) {
    if (code.blocks[0].code[n].op == Opcode::kMufu) at.push_back(static_cast<std::ptrdiff_t>(n));
  }
  for (std::size_t n = 1; n < at.size(); ++n) EXPECT_GE(at[n] - at[n - 1], 7);  // eight cycles each
}

TEST(Assembler, VectorsLieSideBySideAndAligned) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  Tuple words = {b.general(), b.general(), b.general(), b.general()};
  ASSERT_TRUE(code.tie(words));
  MachineInstruction& i = b.emit(Opcode::kLdg, "LDG.E.128", {}, {tid});
  i.defs.assign(words.begin(), words.end());
  for (VReg w : words) store(b, tid, w);
  const Allocation where = allocate(code, false);
  EXPECT_EQ(where.number[words[0]] % 4, 0);
  for (std::size_t n = 1; n < 4; ++n) {
    EXPECT_EQ(where.number[words[n]], where.number[words[0]] + n);
  }
}

TEST(Assembler, ARegisterIsInOneVectorOnly) {
  MachineCode code;
  Builder b(code);
  const VReg x = b.general(), y = b.general(), z = b.general();
  EXPECT_TRUE(code.tie({x, y}));
  EXPECT_TRUE(code.tie({x, y}));
  EXPECT_FALSE(code.tie({y, z}));
  EXPECT_FALSE(code.tie({z, z}));
}

TEST(Assembler, PredicatesBeyondSevenWaitInLaneRegisters) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  std::vector<VReg> predicates;
  for (std::uint32_t n = 0; n < 9; ++n) {
    predicates.push_back(b.predicate());
    b.emit(Opcode::kAlu, "ISETP", {predicates.back()}, {tid}, n);
  }
  for (VReg p : predicates) store(b, tid, tid, p);
  spill_predicates(code);
  EXPECT_EQ(count(code, "P2R"), 2);
  EXPECT_EQ(count(code, "ISETP"), 9 + 2);
  EXPECT_LE(allocate(code, false).predicate, kPredicates);
}

TEST(Assembler, AnIdleFmaPipeTakesOverShiftsAndMoves) {
  MachineCode code;
  Builder b(code);
  const VReg tid = b.value(Opcode::kS2r, "S2R", {});
  const VReg x = b.value(Opcode::kAlu, "SHF.L", {tid}, 2);
  const VReg y = b.value(Opcode::kAlu, "LOP3", {x}, 4);
  store(b, y, b.constant(7));
  balance_pipes(code);
  EXPECT_EQ(count(code, "IMAD.SHL.U32"), 1);
  EXPECT_EQ(count(code, "IMAD.MOV.U32"), 1);
  EXPECT_EQ(count(code, "LOP3"), 1);
}

}  // namespace
}  // namespace xpusim::gpu
