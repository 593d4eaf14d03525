// Program, execution trace and footprints together: what a block asks of L1, against the counters
// of a real H200.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/gpu/compiler/compiler.h"
#include "models/gpu/program/footprint.h"
#include "sim/exec/interpreter.h"

namespace xpusim::gpu {
namespace {

const std::filesystem::path kSource = XPUSIM_SOURCE_DIR;

exec::DType dtype_of(const std::string& name) {
  return name == "f32"    ? exec::DType::kF32
         : name == "bf16" ? exec::DType::kBF16
         : name == "f16"  ? exec::DType::kF16
                          : exec::DType::kI32;
}

exec::Init init_of(const std::string& text) {
  exec::Init init;
  init.kind = exec::Init::Kind::kRandn;
  if (text.rfind("randint ", 0) == 0) {
    init.kind = exec::Init::Kind::kRandint;
    init.value = std::stod(text.substr(8));
  }
  return init;
}

/// A measured case, bound and ready.
struct Case {
  std::shared_ptr<kernel::Module> module;
  std::shared_ptr<const exec::Prepared> prepared;
  exec::Launch launch;
  exec::DeviceMemory memory{std::uint64_t{1} << 38};
  Program program;
};

bool prepare(const nlohmann::json& c, Case& out) {
  auto module = kernel::read_module_file(kSource / "workloads/triton" /
                                         (c.at("ir").get<std::string>() + ".ttgir"));
  if (!module || !unsupported_ops(*module).empty()) return false;
  out.module = std::make_shared<kernel::Module>(std::move(*module));
  const kernel::Function& function = *out.module->kernel();
  auto prepared = exec::Prepared::make(out.module, function);
  if (!prepared) return false;
  out.prepared = *prepared;
  out.launch.module = out.module;
  out.launch.function = &function;
  for (std::size_t d = 0; d < 3; ++d) out.launch.grid[d] = c.at("grid").at(d);
  for (const auto& parameter : function.entry().args) {
    const auto& given = c.at("args").at(parameter->name);
    exec::Argument argument;
    if (given.is_object()) {
      argument.kind = exec::Argument::Kind::kPointer;
      argument.tensor = parameter->name;
      argument.bits = static_cast<std::int64_t>(
          *out.memory.allocate(parameter->name, dtype_of(given.at("dtype")), given.at("shape"),
                               init_of(given.value("init", "randn"))));
    } else if (given.is_number_float()) {
      argument.kind = exec::Argument::Kind::kFloat;
      argument.real = given;
    } else {
      argument.bits = given;
    }
    out.launch.args.push_back(argument);
  }
  auto program = compile(*out.module, function,
                         [&](const kernel::Op& op) { return out.prepared->site(op); }, {});
  if (!program) return false;
  out.program = std::move(*program);
  return true;
}

struct Traffic {
  double requests = 0, load_sectors = 0, store_sectors = 0;
};

/// What one block asks for, instruction by instruction and warp by warp.
bool run_block(Case& c, std::array<std::int64_t, 3> block, Traffic& sum) {
  auto interpreter = exec::Interpreter::make(c.prepared, c.launch, c.memory, {.values = false});
  interpreter->start(block);
  while (true) {
    const auto state = interpreter->advance();
    if (state == exec::Interpreter::State::kFailed) return false;
    if (state == exec::Interpreter::State::kDone) break;
    interpreter->perform();
  }
  std::vector<Footprint> footprints;
  for (const auto& layout : c.program.sites) footprints.emplace_back(layout);
  WarpFootprint touched;
  for (const auto& i : c.program.code) {
    const bool loads = i.op == Opcode::kLdg || i.op == Opcode::kLdgsts;
    if (!loads && i.op != Opcode::kStg) continue;
    // In a loop, once an iteration; of copies of a body, each its own share.
    for (std::uint32_t n = i.copy; n < interpreter->trace().access_count(i.site);
         n += c.program.sites[i.site].copies) {
      const exec::Access& access = interpreter->trace().access(i.site, n);
      for (int w = 0; w < c.program.num_warps; ++w) {
        footprints[i.site].touch(access, static_cast<unsigned>(w), i.vector, touched);
        if (loads) {
          sum.requests += touched.count != 0;
          sum.load_sectors += touched.sectors;
        } else {
          sum.store_sectors += touched.sectors;
        }
      }
    }
  }
  return true;
}

TEST(CompilerTrace, RequestsAndSectorsOfMeasuredLaunchesAgreeWithTheHardware) {
  std::ifstream in(kSource / "traces/h200/cases.json");
  const auto file = nlohmann::json::parse(in);
  const auto& cases = file.is_array() ? file : file.at("cases");
  int launches = 0;
  for (const auto& json : cases) {
    const std::array<std::int64_t, 3> grid = json.at("grid");
    const double blocks = static_cast<double>(grid[0] * grid[1] * grid[2]);
    if (blocks < 256) continue;  // the last, partly masked block would weigh too much
    Case c;
    if (!prepare(json, c)) continue;
    // Blocks of one row of the grid may be of unequal length (causal attention): their mean.
    const std::int64_t row = grid[1] > 1 ? grid[0] : 1;
    Traffic t;
    for (std::int64_t x = 0; x < row; ++x) {
      const std::int64_t at = row > 1 ? x : grid[0] / 3;
      ASSERT_TRUE(run_block(c, {at, grid[1] / 3, grid[2] / 3}, t)) << json.at("name");
    }
    t.requests /= static_cast<double>(row);
    t.load_sectors /= static_cast<double>(row);
    t.store_sectors /= static_cast<double>(row);
    const auto& k = json.at("counters");
    auto measured = [&](const char* name) { return k.at(name).get<double>() / blocks; };
    fmt::print("{:30} requests {:5} {:7.1f} load sectors {:6} {:8.1f} store sectors {:6} {:8.1f}\n",
               json.at("name").get<std::string>(), t.requests, measured("l1_requests_global_load"),
               t.load_sectors, measured("l1_sectors_global_load"), t.store_sectors,
               measured("l1_sectors_global_store"));
    EXPECT_NEAR(t.requests, measured("l1_requests_global_load"), 0.02 * t.requests + 0.1);
    EXPECT_NEAR(t.load_sectors, measured("l1_sectors_global_load"), 0.02 * t.load_sectors + 0.1);
    EXPECT_NEAR(t.store_sectors, measured("l1_sectors_global_store"), 0.02 * t.store_sectors + 0.1);
    ++launches;
  }
  EXPECT_GE(launches, 25);
}

}  // namespace
}  // namespace xpusim::gpu
