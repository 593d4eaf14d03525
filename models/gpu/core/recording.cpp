#include "models/gpu/core/recording.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/kernel/analysis/shared_banks.h"
#include "sim/run/recorded_lines.h"

namespace xpusim::gpu {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStates = static_cast<std::size_t>(Stall::kCount);

Json states() {
  Json list = Json::array();
  for (std::size_t s = 0; s < kStates; ++s) {
    const auto state = static_cast<Stall>(s);
    list.push_back({{"name", name(state)}, {"meaning", meaning(state)}});
  }
  return list;
}

Json code(const SmRecorder& recorder, const Recorded& of) {
  Json list = Json::array();
  for (std::size_t pc = 0; pc < of.program.code.size(); ++pc) {
    const Instruction& in = of.program.code[pc];
    list.push_back({{"text", brief(in)},
                    {"class", name(in.op)},
                    {"pipe", name(pipe_of(in.op))},
                    {"line", in.line},
                    {"issued", recorder.profile()[pc].issued},
                    {"issued_chip", of.profile.executed[pc]}});
  }
  return list;
}

Json slots(const SmRecorder& recorder) {
  Json list = Json::array();
  for (std::size_t n = 0; n < recorder.slots().size(); ++n) {
    const SmRecorder::Slot& slot = recorder.slots()[n];
    if (slot.spans.empty()) continue;
    Json spans = Json::array(), lives = Json::array();
    std::uint64_t from = recorder.first();
    for (const auto& s : slot.spans) {
      spans.push_back(s.until - from);
      spans.push_back(static_cast<int>(s.state));
      spans.push_back(s.pc == SmRecorder::kNoPc ? -1 : int{s.pc});
      from = s.until;
    }
    for (const auto& life : slot.lives) {
      if (life.begun < recorder.end()) lives.push_back({life.begun, life.block, life.in_block});
    }
    list.push_back({{"sub_core", n / kWarpsOfSubCore},
                    {"slot", n % kWarpsOfSubCore},
                    {"lives", lives},
                    {"spans", spans}});
  }
  return list;
}

/// Lanes' addresses from the lowest on, as numbers that JavaScript holds exactly.
Json execution(const SmRecorder::Execution& e, const exec::DeviceMemory& memory) {
  std::uint64_t lowest = Footprint::kNoAddress;
  for (const auto at : e.addresses) lowest = std::min(lowest, at);
  const std::uint64_t base = lowest & ~std::uint64_t{127};
  Json lanes = Json::array(), tensor = nullptr;
  for (const auto at : e.addresses) {
    lanes.push_back(at == Footprint::kNoAddress ? Json(nullptr) : Json(at - base));
  }
  for (const auto& t : memory.allocations()) {
    if (lowest < t.address || lowest >= t.address + t.bytes) continue;
    tensor = {{"name", t.name}, {"offset", lowest - t.address}};
  }
  return {{"cycle", e.cycle},     {"block", e.block},        {"warp", e.in_block},
          {"base", base},         {"lanes", lanes},          {"tensor", tensor},
          {"sectors", e.sectors}, {"least", e.least_sectors}};
}

Json accesses(const SmRecorder& recorder, const exec::DeviceMemory& memory) {
  Json list = Json::array();
  for (std::size_t pc = 0; pc < recorder.profile().size(); ++pc) {
    const SmRecorder::Profile& p = recorder.profile()[pc];
    if (p.requests == 0) continue;
    Json examples = Json::array();
    for (const auto& e : p.examples) examples.push_back(execution(e, memory));
    list.push_back({{"pc", pc},
                    {"bytes", p.lane_bytes},
                    {"requests", p.requests},
                    {"sectors", p.sectors},
                    {"least", p.least_sectors},
                    {"examples", examples}});
  }
  return list;
}

/// What moves data of shared memory by lanes.
bool is_shared(Opcode op) {
  return op == Opcode::kLds || op == Opcode::kSts || op == Opcode::kLdsm || op == Opcode::kStsm ||
         op == Opcode::kLdgsts;
}

Json bank_map(const SharedLanes& lanes, const Instruction& in) {
  const auto offsets = lanes.at(in.shared_offset, 0);
  Json map = Json::array(), offsets_json = Json::array();
  for (const auto at : offsets) {
    offsets_json.push_back(at == SharedLanes::kOff ? Json(nullptr) : Json(at));
  }
  for (const auto& wavefront : kernel::shared_bank_map(offsets, lanes.bytes)) {
    Json uses = Json::array();
    for (const auto& use : wavefront) uses.push_back({use.bank, use.word, use.lanes});
    map.push_back(uses);
  }
  return {{"offsets", offsets_json}, {"wavefronts", map}};
}

Json shared(const SmRecorder& recorder, const Recorded& of) {
  constexpr std::uint32_t kWavefrontBytes = 128;
  Json list = Json::array();
  for (std::size_t pc = 0; pc < of.program.code.size(); ++pc) {
    const Instruction& in = of.program.code[pc];
    const std::uint64_t executions = recorder.profile()[pc].acted;
    if (!is_shared(in.op) || in.width == 0 || executions == 0) continue;
    const std::uint32_t active = in.active_lanes != 0 ? in.active_lanes : kWarpLanes;
    const std::uint32_t least =
        std::max(1u, (active * in.width + kWavefrontBytes - 1) / kWavefrontBytes);
    // What passes the L1 by is charged by its bytes.
    const bool bypasses = of.image.code[pc].action == Action::kCopyBypass;
    const SharedLanes* lanes =
        in.shared_lanes != kNoLanes ? &of.program.shared_lanes[in.shared_lanes] : nullptr;
    list.push_back({{"pc", pc},
                    {"bytes", lanes ? lanes->bytes : in.width},
                    {"executions", executions},
                    {"least", least},
                    {"charged", least + (bypasses ? 0 : in.extra_passes)},
                    {"map", lanes ? bank_map(*lanes, in) : Json(nullptr)}});
  }
  return list;
}

}  // namespace

std::string to_json(const SmRecorder& recorder, const Recorded& of) {
  return Json{{"schema", "xpusim.gpu_recording/1"},
              {"unit", {{"name", "SM"}, {"number", of.sm}, {"of", of.sms}}},
              {"charged", "sub-core"},
              {"first_cycle", recorder.first()},
              {"end_cycle", recorder.end()},
              {"cut", recorder.is_cut()},
              {"warps_of_block", of.image.warps_of_block},
              {"blocks_of_sm", of.fit.blocks},
              {"registers", of.program.registers_per_thread},
              {"shared_bytes", of.program.shared_bytes},
              {"kernel", of.program.name},
              {"kernel_file", of.module.file},
              {"states", states()},
              {"code", code(recorder, of)},
              {"lines", run::recorded_lines(of.program.lines, of.module)},
              {"slots", slots(recorder)},
              {"accesses", accesses(recorder, of.memory)},
              {"shared", shared(recorder, of)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);  // names may be any bytes
}

}  // namespace xpusim::gpu
