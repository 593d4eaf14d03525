// The loops of matrix products and attention, against listings of the vendor's assembler: the
// numbers are those of one pass through the loop's body.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "models/gpu/compiler/compiler.h"

namespace xpusim::gpu {
namespace {

const std::filesystem::path kKernels =
    std::filesystem::path(XPUSIM_SOURCE_DIR) / "workloads/triton/ir";

/// A measured kernel, and its loop's body by the first part of each mnemonic.
struct Loop {
  Program program;
  std::vector<Instruction> body;
  std::map<std::string, int> count;
};

Loop loop_of(const std::string& stem) {
  Loop loop;
  const auto module = kernel::read_module_file(kKernels / (stem + ".ttgir"));
  EXPECT_TRUE(module) << module.error().str();
  std::map<const kernel::Op*, std::uint32_t> sites;
  auto program =
      compile(*module, *module->kernel(),
              [&](const kernel::Op& op) {
                return sites.emplace(&op, static_cast<std::uint32_t>(sites.size())).first->second;
              },
              {});
  EXPECT_TRUE(program) << program.error().str();
  if (!program) return loop;
  loop.program = std::move(*program);
  const auto& code = loop.program.code;
  const auto back = std::find_if(code.begin(), code.end(), [](const Instruction& i) {
    return i.op == Opcode::kBra && i.branch == Branch::kLoopBack;
  });
  EXPECT_NE(back, code.end());
  if (back == code.end()) return loop;
  loop.body.assign(code.begin() + back->target, back + 1);
  for (const Instruction& i : loop.body) ++loop.count[i.mnemonic.substr(0, i.mnemonic.find('.'))];
  return loop;
}

TEST(LowerDot, APipelinedProductHasTheListingsLoop) {
  Loop l = loop_of("matmul_bc2e0095b8");  // 128x128x64, four warps, four stages
  EXPECT_EQ(l.program.shared_bytes, 131072);
  EXPECT_EQ(l.count["HGMMA"], 8);  // two of 64 rows, four of k each
  EXPECT_EQ(l.count["LDGSTS"], 16);
  EXPECT_EQ(l.count["LDGDEPBAR"], 2);
  EXPECT_EQ(l.count["LDS"], 3);  // switched off
  EXPECT_EQ(l.count["DEPBAR"], 1);
  EXPECT_EQ(l.count["BAR"], 2);  // after the wait for copies; before what was read is overwritten
  EXPECT_EQ(l.count["WARPGROUP"], 2);
  EXPECT_EQ(l.count["UISETP"], 2);  // two buffer numbers, on the uniform datapath
  EXPECT_EQ(l.count["USEL"], 2);
  EXPECT_NEAR(static_cast<double>(l.body.size()), 131, 9);
}

TEST(LowerDot, DescriptorsOfTwoPartsAddConstantsOfTwoRegisters) {
  Loop l = loop_of("matmul_9b0927d743");  // 128x128x32, eight warps: two parts of each factor
  EXPECT_EQ(l.count["HGMMA"], 2);
  EXPECT_EQ(l.count["UMOV"], 10);  // upper halves 2, copies 2, zeros 2, constants 4
  EXPECT_EQ(l.count["ULOP3"], 3);  // the warpgroup's offset, 14 bits of a sum, atoms apart
  EXPECT_EQ(l.count["USHF"], 2);
  EXPECT_EQ(l.count["USGXT"], 1);
}

TEST(LowerDot, DescriptorsOfMoreGoOnFromTheSecond) {
  Loop l = loop_of("matmul_b428af3ccb");  // 256x64x64, four warps: 16 parts and 4
  EXPECT_EQ(l.count["HGMMA"], 16);
  // Upper halves 2, zeros 2; the second of the right factor stays to add to: copied for each of
  // three more tiles. (The listing copies another one once.)
  EXPECT_EQ(l.count["UMOV"], 10);
  EXPECT_EQ(l.count["USGXT"], 2);
  EXPECT_EQ(l.count["ULOP3"], 0);
}

TEST(LowerDot, AccumulatorsStayWhereTheyAre) {
  const Loop l = loop_of("matmul_bc2e0095b8");
  std::map<std::vector<std::uint16_t>, int> written;
  for (const Instruction& i : l.body) {
    if (i.op != Opcode::kWgmma) continue;
    EXPECT_EQ(i.dst.size(), 64u);  // 64 x 128 f32 of 128 threads
    EXPECT_EQ(i.mma.m, 64);
    EXPECT_EQ(i.mma.n, 128);
    EXPECT_EQ(i.mma.k, 16);
    EXPECT_TRUE(i.mma.a_in_shared);
    ++written[i.dst];
  }
  ASSERT_EQ(written.size(), 2u);
  for (const auto& [registers, times] : written) {
    EXPECT_EQ(times, 4);
    for (std::size_t n = 1; n < registers.size(); ++n) {
      EXPECT_EQ(registers[n], registers[0] + n);  // side by side
    }
  }
}

TEST(LowerDot, AttentionHasTheListingsLoop) {
  Loop l = loop_of("flash_attention_d3bc0740a2");  // 128x64, head of 64, four warps
  EXPECT_EQ(l.count["HGMMA"], 16);
  EXPECT_EQ(l.count["MUFU"], 68);
  EXPECT_EQ(l.count["SHFL"], 16);
  EXPECT_EQ(l.count["LDGSTS"], 8);
  EXPECT_EQ(l.count["FMNMX"], 72);
  EXPECT_EQ(l.count["F2FP"], 32);
  EXPECT_EQ(l.count["CS2R"], 0);  // the first product of a chain needs no zeros
  EXPECT_NEAR(static_cast<double>(l.body.size()), 649, 20);
  const auto from_registers = std::count_if(l.body.begin(), l.body.end(), [](const auto& i) {
    return i.op == Opcode::kWgmma && !i.mma.a_in_shared;
  });
  EXPECT_EQ(from_registers, 8);
}

TEST(LowerDot, SmallProductsReadTheirFactorsByLdsm) {
  Loop l = loop_of("typed_matmul_17b0f7ef1d");  // 16 rows: mma.sync
  EXPECT_EQ(l.count["HMMA"], 16);
  EXPECT_EQ(l.count["LDSM"], 16);
  EXPECT_EQ(l.count["LDGSTS"], 10);
  EXPECT_EQ(l.count["BAR"], 2);
  for (const Instruction& i : l.body) {
    if (i.op != Opcode::kLdsm) continue;
    EXPECT_EQ(i.extra_passes, 0);
  }
}

}  // namespace
}  // namespace xpusim::gpu
