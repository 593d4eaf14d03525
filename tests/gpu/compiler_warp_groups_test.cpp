// Which warps of a block run what, and the code for each: ttg.warp_specialize. What Triton's own
// compiler makes of the same texts is in the vendor's listings that the numbers come from.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "models/gpu/compiler/warp_groups.h"
#include "models/gpu/core/kernel_image.h"
#include "tests/gpu/compiler_text.h"

namespace xpusim::gpu {
namespace {

const std::string kTriton = std::string(XPUSIM_SOURCE_DIR) + "/workloads/triton/";

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Program gluon_program(const std::string& name) {
  auto program = test::compile_text(file_text(kTriton + "gluon/" + name + ".ttgir"));
  EXPECT_TRUE(program) << program.error().str();
  if (!program) return {};
  const auto image = decode(*program);
  EXPECT_TRUE(image) << image.error().str();
  return std::move(*program);
}

/// A kernel of `warps` warps whose partitions have so many each.
std::string kernel_text(int warps, const std::vector<int>& partitions,
                        const std::string& registers = "", const std::string& more = "") {
  std::string text = "module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = " +
                     std::to_string(warps) + " : i32" + more +
                     ", ttg.target = \"cuda:90\", \"ttg.threads-per-warp\" = 32 : i32} {\n"
                     "  tt.func public @k(%p: !tt.ptr<i32>) {\n    ttg.warp_specialize(%p)";
  if (!registers.empty())
    text += " attributes {requestedRegisters = array<i32: " + registers + ">}";
  text += "\n    default {\n      gpu.barrier\n      ttg.warp_yield\n    }\n";
  for (std::size_t n = 0; n < partitions.size(); ++n) {
    text += "    partition" + std::to_string(n) + "(%q: !tt.ptr<i32>) num_warps(" +
            std::to_string(partitions[n]) +
            ") {\n      gpu.barrier\n      ttg.warp_return\n    }\n";
  }
  text.pop_back();
  return text + " : (!tt.ptr<i32>) -> ()\n    tt.return\n  }\n}\n";
}

WarpGroups groups_of(const std::string& text) {
  const auto module = kernel::read_module(text, "k.ttgir");
  EXPECT_TRUE(module) << module.error().str();
  if (!module) return {};
  auto groups = WarpGroups::make(*module, *module->kernel());
  EXPECT_TRUE(groups) << groups.error().str();
  return groups ? std::move(*groups) : WarpGroups{};
}

TEST(WarpGroups, LargerPartitionsComeFirstAndWarpgroupsAreFilledUp) {
  const WarpGroups all = groups_of(kernel_text(4, {1, 4, 2}));
  EXPECT_EQ(all.warps, 4 + 8);
  std::vector<int> first, warps;
  for (const WarpGroup& g : all.groups) {
    first.push_back(g.first);
    warps.push_back(g.warps);
  }
  EXPECT_THAT(warps, testing::ElementsAre(4, 1, 4, 2, 1));
  EXPECT_THAT(first, testing::ElementsAre(0, 10, 4, 8, 11));
  EXPECT_TRUE(all.groups[4].is_idle);
  EXPECT_EQ(all.launch_registers, 0);
}

TEST(WarpGroups, TheFunctionsWarpsGetWhatThePartitionsDoNotAskFor) {
  // 12 warps: 65536 / 384 is 170, so 168 at launch. (8 * 168 + 4 * (168 - 24)) / 8 = 240.
  WarpGroups all = groups_of(kernel_text(8, {1}, "24"));
  EXPECT_EQ(all.launch_registers, 168);
  EXPECT_EQ(all.groups[0].registers, 240);
  EXPECT_EQ(all.groups[1].registers, 24);
  EXPECT_EQ(all.waiting_registers, 24);
  EXPECT_EQ(all.function_registers, 240);
  // 8 warps: 256 each, the most there is; nothing need be given up before a partition runs.
  all = groups_of(kernel_text(4, {1}, "24"));
  EXPECT_EQ(all.launch_registers, 256);
  EXPECT_EQ(all.groups[0].registers, 256);
  EXPECT_EQ(all.waiting_registers, 256);
  EXPECT_EQ(all.function_registers, 256);
  // The hungriest partition of a warpgroup decides, in units of 8; a limit of the author's counts.
  all = groups_of(kernel_text(4, {2, 2}, "24, 33", ", ttg.maxnreg = 96 : i32"));
  EXPECT_EQ(all.groups[1].registers, 40);
  EXPECT_EQ(all.groups[2].registers, 40);
  EXPECT_EQ(all.groups[0].registers, 96 + 96 - 40);
}

TEST(WarpGroups, WhatIsNotModelledIsRefusedByName) {
  const auto refused = [](const std::string& text) {
    const auto program = test::compile_text(text);
    return program ? std::string() : program.error().str();
  };
  EXPECT_THAT(refused(kernel_text(32, {4})), testing::HasSubstr("a block of 36 warps: at most 32"));
  EXPECT_THAT(refused(kernel_text(4, {1, 1}, "24")),
              testing::HasSubstr("as many requestedRegisters as partitions"));
  std::string twice = kernel_text(4, {1});
  const std::size_t begin = twice.find("    ttg.warp_specialize"),
                    end = twice.find("    tt.return");
  twice.insert(end, twice.substr(begin, end - begin));
  EXPECT_THAT(refused(twice), testing::HasSubstr("more than one 'ttg.warp_specialize'"));
  std::string looped = kernel_text(4, {1});
  looped.insert(end, "    }\n");
  looped.insert(begin,
                "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
                "    scf.for %i = %c0 to %c1 step %c1  : i32 {\n");
  EXPECT_THAT(refused(looped), testing::HasSubstr("in a loop or a branch"));
  std::string cluster = kernel_text(4, {1});
  cluster.replace(cluster.find("\"ttg.num-ctas\" = 1"), 18, "\"ttg.num-ctas\" = 2");
  EXPECT_THAT(refused(cluster), testing::HasSubstr("thread-block clusters"));
}

TEST(LowerWarpSpecialize, EachGroupMeetsAtABarrierOfItsOwn) {
  const auto program = test::compile_text(kernel_text(4, {2, 1}));
  ASSERT_TRUE(program) << program.error().str();
  std::map<std::pair<int, int>, int> barriers;  // number, warps: how many
  for (const auto& i : program->code) {
    if (i.op == Opcode::kBar) ++barriers[{i.barrier, i.meeting}];
  }
  // All warps meet when told what to run, before it, after it, and at the end; of the further warps
  // each group has its own code, the idle one too. The one warp of a partition meets nobody.
  const std::map<std::pair<int, int>, int> wanted = {{{0, 4}, 1}, {{2, 2}, 1}, {{1, 0}, 4 + 3 * 4}};
  EXPECT_EQ(barriers, wanted);
  ASSERT_EQ(program->groups.size(), 4u);
  EXPECT_EQ(program->num_warps, 8);
}

TEST(LowerWarpSpecialize, RegistersAndSharedMemoryAreAsTheVendorsToolsSay) {
  const auto cases = nlohmann::json::parse(
      file_text(std::string(XPUSIM_SOURCE_DIR) + "/traces/h200/specialized_cases.json"));
  std::map<std::string, const nlohmann::json*> by_text;
  for (const auto& c : cases) {
    const std::string ir = c.at("ir");
    by_text[ir.substr(ir.rfind('/') + 1)] = &c;
  }
  EXPECT_EQ(by_text.size(), 12u);
  for (const auto& [name, c] : by_text) {
    const Program program = gluon_program(name);
    EXPECT_EQ(program.shared_bytes, c->at("shared_bytes")) << name;
    EXPECT_EQ(program.registers_per_thread, c->at("registers_per_thread")) << name;
  }
}

TEST(LowerWarpSpecialize, WarpsGiveUpRegistersAndAskForMore) {
  const Program program = gluon_program("ws_matmul_128x256x64_s3_w8");
  std::map<std::pair<std::string, int>, int> n;
  for (const auto& i : program.code) {
    if (i.op == Opcode::kSetMaxReg) ++n[{i.mnemonic.substr(11, 2), i.width}];
  }
  // The further warps fall to 24 at once (a loader's and two idle groups'), and stay there.
  const std::map<std::pair<std::string, int>, int> wanted = {
      {{"DE", 24}, 3}, {{"TR", 24}, 3 * 2}, {{"TR", 240}, 3}};
  EXPECT_EQ(n, wanted);
}

TEST(LowerWarpSpecialize, AByteAWarpTellsWhatToRun) {
  // Listings: one STS of four bytes for four further warps before the partitions, one at the end.
  const Program program = gluon_program("ws_matmul_128x128x64_s3_w4");
  int stores = 0, loads = 0;
  for (const auto& i : program.code) {
    stores += i.mnemonic == "STS";
    loads += i.mnemonic == "LDS.U8";
  }
  EXPECT_EQ(stores, 2);
  EXPECT_EQ(loads, 3 * 2);  // told once what to run, once to end
}

TEST(LowerWarpSpecialize, AWarpAloneCopiesAllPartsOfABoxItself) {
  // 64 columns of bf16 are one row of the swizzle, 128 are two: three copies an iteration, one of
  // them of A, as in the listing; the last part of the result goes out by one of the four warps.
  const Program program = gluon_program("ws_matmul_128x128x64_s3_w4");
  int loads = 0, engine = 0, elected = 0;
  for (const auto& i : program.code) {
    loads += i.mnemonic == "UTMALDG.2D";
    engine += i.op == Opcode::kUtma;
    elected += i.mnemonic == "ELECT";
  }
  EXPECT_EQ(loads, 3);
  EXPECT_EQ(engine, 2 + 1);
  EXPECT_EQ(elected, 1);
}

TEST(LowerWarpSpecialize, ANumberThatWasLoadedGoesThroughSharedMemory) {
  std::string text = kernel_text(4, {1});
  text.replace(text.find("ttg.warp_specialize(%p)"), 23,
               "%n = tt.load %p : !tt.ptr<i32>\n    ttg.warp_specialize(%n)");
  text.replace(text.find("%q: !tt.ptr<i32>"), 16, "%q: i32");
  text.replace(text.find(" : (!tt.ptr<i32>)"), 17, " : (i32)");
  const auto n = test::count_mnemonics(text);
  EXPECT_EQ(n.at("STS"), 2 + 1);
  EXPECT_EQ(n.at("LDS"), 1);
}

}  // namespace
}  // namespace xpusim::gpu
