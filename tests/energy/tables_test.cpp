// The energy tables of configs/energy: they bind, and they give the energy that a real chip took.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "models/energy/gpu_events.h"
#include "models/energy/tpu_events.h"
#include "sim/config/tree.h"

namespace xpusim::energy {
namespace {

/// Binds a table the way a machine does: as what its `energy` map extends.
template <class Params>
Params bind_table(const std::string& stem) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("energy_test_" + std::to_string(getpid()) + ".yaml"))
                               .string();
  std::ofstream(path) << "energy: {extends: " << XPUSIM_SOURCE_DIR << "/configs/energy/" << stem
                      << "}\n";
  const auto tree = config::load(path);
  std::filesystem::remove(path);
  Params params;
  EXPECT_TRUE(tree) << tree.error().str();
  if (!tree) return params;
  Diagnostics problems;
  config::bind(tree->find("energy"), "energy", params, problems);
  EXPECT_EQ(problems.str(), "");
  return params;
}

void expect_same_power(const PowerParams& a, const PowerParams& b) {
  EXPECT_EQ(a.idle_w, b.idle_w);
  EXPECT_EQ(a.clocked_w, b.clocked_w);
  EXPECT_EQ(a.nominal_clock_hz, b.nominal_clock_hz);
  EXPECT_EQ(a.voltage_slope, b.voltage_slope);
}

template <class Params>
void expect_defaults(const Params& bound) {
  const auto expected = event_table(Params{});
  const auto table = event_table(bound);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i].picojoules, expected[i].picojoules) << table[i].component << " " << i;
  }
  expect_same_power(bound.power, Params{}.power);
}

TEST(EnergyTables, OfHopperAndSevenNanometresAreTheDefaults) {
  expect_defaults(bind_table<GpuEnergyParams>("hopper_4n"));
  expect_defaults(bind_table<TpuEnergyParams>("tpu_7nm"));
}

TEST(EnergyTables, OfOtherTpusBind) {
  EXPECT_EQ(bind_table<TpuEnergyParams>("tpu_v3").power.idle_w, 123.0 / 2);  // one core of two
  EXPECT_EQ(bind_table<TpuEnergyParams>("tpu_v4").power.idle_w, 90);
  EXPECT_EQ(bind_table<TpuEnergyParams>("tpu_v5p").power.nominal_clock_hz, 1.75e9);
  EXPECT_EQ(bind_table<TpuEnergyParams>("tpu_v7x").power.nominal_clock_hz, 1.9e9);
  EXPECT_EQ(bind_table<TpuEnergyParams>("tpu_v5e").power.nominal_clock_hz, 1.5e9);
  EXPECT_LT(bind_table<TpuEnergyParams>("tpu_v6e").mxu_pass_bf16, TpuEnergyParams{}.mxu_pass_bf16);
}

TEST(EnergyTables, NameAComponentForEveryEvent) {
  for (const EventKind& kind : event_table(GpuEnergyParams{})) EXPECT_FALSE(kind.component.empty());
  for (const EventKind& kind : event_table(TpuEnergyParams{})) EXPECT_FALSE(kind.component.empty());
}

using Json = nlohmann::json;

Json read_traces(const std::string& file) {
  std::ifstream in(XPUSIM_SOURCE_DIR "/traces/h200/" + file);
  return Json::parse(in);
}

/// The hardware counters of single launches, by the launch's name.
std::map<std::string, Json> counters_by_name() {
  std::map<std::string, Json> out;
  for (const char* file : {"cases.json", "ops_cases.json"})
    for (const Json& launch : read_traces(file)) out[launch.at("name")] = launch.at("counters");
  return out;
}

GpuEvent products_of(const Json& launch) {
  for (const auto& [name, argument] : launch.at("args").items()) {
    if (!argument.is_object()) continue;
    const std::string type = argument.at("dtype");
    if (type == "f64") return GpuEvent::kMacF64;
    if (type == "f32") return GpuEvent::kMacTf32;
    return type == "i8" || type == "f8" ? GpuEvent::kMac8Bit : GpuEvent::kMac16Bit;
  }
  return GpuEvent::kMac16Bit;
}

bool has_products(const Json& counters) { return counters.at("tensor_active_pct") > 5; }

/// Counts the events of a measured launch from its hardware counters.
EnergyMeter<GpuEvent> count_events(const Json& launch, const Json& counters) {
  EnergyMeter<GpuEvent> meter(event_table(GpuEnergyParams{}), GpuEnergyParams{}.power);
  const auto c = [&](const char* name) { return counters.at(name).get<std::uint64_t>(); };
  const std::uint64_t alu = c("inst_alu"), fma = c("inst_fma"), xu = c("inst_xu");
  const std::uint64_t lsu = c("inst_lsu");
  meter.add(GpuEvent::kAlu, alu);
  meter.add(GpuEvent::kFma, fma);
  meter.add(GpuEvent::kXu, xu);
  meter.add(GpuEvent::kLsu, lsu);
  meter.add(GpuEvent::kControl, c("warp_instructions") - alu - fma - xu - lsu);
  if (has_products(counters)) {
    const double macs = launch.at("flops").get<double>() / 2;
    meter.add(products_of(launch), static_cast<std::uint64_t>(macs));
  }
  const std::uint64_t loads = c("l1_sectors_global_load"), stores = c("l1_sectors_global_store");
  meter.add(GpuEvent::kL1Sector, loads + stores);
  meter.add(GpuEvent::kNocSector, loads - c("l1_sectors_global_load_hit") + stores);
  meter.add(GpuEvent::kL2Sector,
            c("l2_sectors_read") + c("l2_sectors_write") + c("l2_sectors_atom"));
  meter.add(GpuEvent::kSharedWavefront, c("shared_wavefronts"));
  const std::uint64_t read = c("dram_read_bytes"), written = c("dram_write_bytes");
  meter.add(GpuEvent::kHbmReadByte, read);
  meter.add(GpuEvent::kHbmWriteByte, written);
  meter.add(GpuEvent::kHbmActivate, (read + written) / 1024);  // streams open each 1 KiB row once
  return meter;
}

TEST(EnergyTables, OfHopperGiveTheMeasuredEnergyFromTheChipsOwnCounters) {
  const auto counters = counters_by_name();
  const ClockParams rules = bind_table<GpuEnergyParams>("hopper_4n").clock;
  const double nominal_hz = GpuEnergyParams{}.power.nominal_clock_hz;
  const Json loops = read_traces("energy_cases.json");
  double sum = 0;
  int launches = 0;
  for (const Json& launch : loops.at("cases")) {
    const Json& m = launch.at("measured");
    const double loop_us = m.at("loop_us");
    if (loop_us < 30) continue;  // the counters are of cold caches: the loop of a small one is not
    const Json& c = counters.at(launch.at("name"));
    const double clock_hz = m.at("clock_mhz").get<double>() * 1e6;
    const bool held_back = has_products(c) && products_of(launch) != GpuEvent::kMacF64;
    const double ceiling_hz = held_back ? rules.tensor_clock_hz : nominal_hz;
    const EnergyReport report = count_events(launch, c).report(
        Operation{loop_us * 1e3, clock_hz, nominal_hz * clock_hz / ceiling_hz});
    const double error = report.total_microjoules / m.at("energy_uj_per_launch").get<double>() - 1;
    EXPECT_LT(std::abs(error), 0.16) << launch.at("name");
    sum += std::abs(error);
    ++launches;
  }
  EXPECT_EQ(launches, 39);
  EXPECT_LT(sum / launches, 0.055);
}

}  // namespace
}  // namespace xpusim::energy
