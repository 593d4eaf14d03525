// Counts of instructions and registers against a real H200, for every measured kernel that the
// compiler takes. The table is the point; the limits catch what breaks.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/gpu/compiler/compiler.h"

namespace xpusim::gpu {
namespace {

const std::filesystem::path kSource = XPUSIM_SOURCE_DIR;

/// Sites numbered as they are asked for: enough where nothing runs.
SiteOf counting_sites(std::map<const kernel::Op*, std::uint32_t>& known) {
  return [&known](const kernel::Op& op) {
    return known.emplace(&op, static_cast<std::uint32_t>(known.size())).first->second;
  };
}

Expected<Program> compile_file(const std::string& path) {
  auto module = kernel::read_module_file(path);
  if (!module) return fail(std::move(module.error()));
  std::map<const kernel::Op*, std::uint32_t> sites;
  return compile(*module, *module->kernel(), counting_sites(sites), {});
}

struct Measured {
  std::string name;
  double total, alu, fma, xu, lsu;
  int registers;
};

double off(double ours, double measured) { return 100 * (ours / measured - 1); }

TEST(CompilerCounts, InstructionsAndRegistersOfMeasuredKernelsAgreeWithTheHardware) {
  std::ifstream in(kSource / "traces/h200/cases.json");
  const auto file = nlohmann::json::parse(in);
  const auto& cases = file.is_array() ? file : file.at("cases");
  std::set<std::string> seen;
  double instruction_error = 0, register_error = 0;
  int kernels = 0;
  fmt::print("{:30} {:>15} {:>11} {:>11} {:>9} {:>9} {:>9}\n", "ours measured", "total", "alu",
             "fma", "xu", "lsu", "registers");
  for (const auto& c : cases) {
    const std::string ir = c.at("ir");
    if (!seen.insert(ir).second) continue;
    auto module = kernel::read_module_file(kSource / "workloads/triton" / (ir + ".ttgir"));
    ASSERT_TRUE(module) << module.error().str();
    if (!unsupported_ops(*module).empty()) continue;
    std::map<const kernel::Op*, std::uint32_t> sites;
    const auto program = compile(*module, *module->kernel(), counting_sites(sites), {});
    if (!program) {
      fmt::print("{:30} {}\n", c.at("name").get<std::string>(), program.error().list()[0].message);
      continue;
    }
    const bool loops = std::any_of(program->code.begin(), program->code.end(), [](const auto& i) {
      return i.op == Opcode::kBra && i.branch == Branch::kLoopBack;
    });
    if (loops) continue;  // the counters say how often it ran, the program does not
    double warps = c.at("num_warps");
    for (double n : c.at("grid")) warps *= n;
    const auto& k = c.at("counters");
    auto per_warp = [&](const char* counter) { return k.at(counter).get<double>() / warps; };
    const Measured m{c.at("name"),
                     per_warp("warp_instructions"),
                     per_warp("inst_alu"),
                     per_warp("inst_fma"),
                     per_warp("inst_xu"),
                     per_warp("inst_lsu"),
                     c.at("registers_per_thread")};
    const PipeCounts ours = count_pipes(*program);
    fmt::print(
        "{:30} {:5} {:6.1f}{:+4.0f}% {:4} {:6.1f} {:4} {:6.1f} {:3} {:5.0f} {:3} {:5.1f} {:4} "
        "{:4}\n",
        m.name, ours.total, m.total, off(ours.total, m.total), ours[Pipe::kAlu], m.alu,
        ours[Pipe::kFma], m.fma, ours[Pipe::kXu], m.xu, ours[Pipe::kLsu], m.lsu,
        program->registers_per_thread, m.registers);
    EXPECT_LT(std::abs(off(ours.total, m.total)), 15) << m.name;
    EXPECT_LT(std::abs(off(program->registers_per_thread, m.registers)), 40) << m.name;
    instruction_error += std::abs(off(ours.total, m.total));
    register_error += std::abs(off(program->registers_per_thread, m.registers));
    ++kernels;
  }
  fmt::print("{} kernels: mean error {:.1f} % in instructions, {:.1f} % in registers\n", kernels,
             instruction_error / kernels, register_error / kernels);
  EXPECT_GE(kernels, 39);
  EXPECT_LT(instruction_error / kernels, 2.5);
  EXPECT_LT(register_error / kernels, 10);
}

TEST(CompilerCounts, VectorAddWithTwoVectorsAThreadIsExactOnEveryPipe) {
  const auto program = compile_file(kSource / "workloads/triton/ir/vector_add_9450e7f62b.ttgir");
  ASSERT_TRUE(program) << program.error().str();
  const PipeCounts n = count_pipes(*program);
  EXPECT_EQ(n.total, 41);
  EXPECT_EQ(n[Pipe::kAlu], 14);
  EXPECT_EQ(n[Pipe::kFma], 11);
  EXPECT_EQ(n[Pipe::kLsu], 7);
}

/// One test, so that each kernel is compiled once: its program's text reads back the same, and no
/// instruction counts for a line of the IR.
TEST(CompilerCounts, EveryKernelIsCompiledToTextWithLinesOfItsSourceOrRefusedByName) {
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "workloads/triton/ir")) {
    if (entry.path().extension() != ".ttgir") continue;
    const auto module = kernel::read_module_file(entry.path());
    ASSERT_TRUE(module) << module.error().str();
    std::map<const kernel::Op*, std::uint32_t> sites;
    const auto program = compile(*module, *module->kernel(), counting_sites(sites), {});
    if (program) {
      const auto again = parse_program(print(*program), "again");
      ASSERT_TRUE(again) << entry.path() << again.error().str();
      EXPECT_EQ(again->code, program->code) << entry.path();
      for (const auto& at : program->lines) {
        EXPECT_NE(std::filesystem::path(at.file).extension(), ".ttgir") << at.file << at.line;
      }
      continue;
    }
    EXPECT_FALSE(program.error().list().empty());
    for (const auto& d : program.error().list()) EXPECT_GT(d.where.line, 0) << d.str();
  }
}

}  // namespace
}  // namespace xpusim::gpu
