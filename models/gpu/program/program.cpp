#include "models/gpu/program/program.h"

#include <array>

namespace xpusim::gpu {
namespace {

struct OpcodeRow {
  std::string_view name;
  Pipe pipe;
};

constexpr std::array<OpcodeRow, static_cast<std::size_t>(Opcode::kCount)> kOpcodes = {{
    {"alu", Pipe::kAlu},           {"fma", Pipe::kFma},         {"fp64", Pipe::kFp64},
    {"mufu", Pipe::kXu},           {"uniform", Pipe::kUniform}, {"s2r", Pipe::kLsu},
    {"ldc", Pipe::kControl},       {"ldg", Pipe::kLsu},         {"stg", Pipe::kLsu},
    {"atom", Pipe::kLsu},          {"red", Pipe::kLsu},         {"lds", Pipe::kLsu},
    {"sts", Pipe::kLsu},           {"shfl", Pipe::kLsu},        {"bar", Pipe::kControl},
    {"bra", Pipe::kControl},       {"exit", Pipe::kControl},    {"nop", Pipe::kControl},
    {"s2ur", Pipe::kUniform},      {"hfma2", Pipe::kTensor},    {"membar", Pipe::kLsu},
    {"cctl", Pipe::kLsu},          {"ldgsts", Pipe::kLsu},      {"ldgdepbar", Pipe::kLsu},
    {"depbar", Pipe::kControl},    {"ldsm", Pipe::kLsu},        {"stsm", Pipe::kLsu},
    {"mma", Pipe::kTensor},        {"wgmma", Pipe::kTensor},    {"wgarrive", Pipe::kControl},
    {"wgdepbar", Pipe::kControl},  {"utma", Pipe::kUniform},    {"syncs", Pipe::kControl},
    {"syncswait", Pipe::kControl}, {"fence", Pipe::kLsu},       {"utmawait", Pipe::kLsu},
    {"setmaxreg", Pipe::kUniform},
}};
constexpr std::array<std::string_view, static_cast<std::size_t>(Pipe::kCount)> kPipes = {
    "alu", "fma", "xu", "lsu", "fp64", "tensor", "uniform", "control"};
constexpr std::array<std::string_view, static_cast<std::size_t>(Branch::kCount)> kBranches = {
    "always", "loop_entry", "loop_back", "if_zero", "if_set", "to_group"};

}  // namespace

std::string_view name(Opcode op) {
  return op < Opcode::kCount ? kOpcodes[static_cast<std::size_t>(op)].name : "?";
}

Pipe pipe_of(Opcode op) {
  return op < Opcode::kCount ? kOpcodes[static_cast<std::size_t>(op)].pipe : Pipe::kControl;
}

std::string_view name(Pipe pipe) {
  return pipe < Pipe::kCount ? kPipes[static_cast<std::size_t>(pipe)] : "?";
}

std::string_view name(Branch branch) { return kBranches[static_cast<std::size_t>(branch)]; }

PipeCounts count_pipes(const Program& program) {
  PipeCounts counts;
  for (const auto& i : program.code) {
    ++counts.total;
    ++counts.by_pipe[static_cast<int>(pipe_of(i.op))];
  }
  return counts;
}

std::vector<std::int64_t> SharedLanes::at(std::uint32_t offset, std::uint32_t warp) const {
  std::vector<std::int64_t> result;
  for (const std::int64_t lane : lanes) {
    std::int64_t plain = lane ^ offset;
    for (std::size_t bit = 0; bit < warps.size(); ++bit) {
      if (((warp >> bit) & 1u) != 0) plain ^= warps[bit];
    }
    std::int64_t padded = plain + base;
    for (const auto& p : paddings) padded += plain / p[0] * p[1];
    result.push_back(lane == kOff ? kOff : padded);
  }
  return result;
}

}  // namespace xpusim::gpu
