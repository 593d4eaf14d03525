// The energy tables of configs/energy: they bind, and they give the energy that a real chip took.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
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
  EXPECT_EQ(bind_table<TpuEnergyParams>("tpu_v5e").power.nominal_clock_hz, 1.5e9);
  EXPECT_LT(bind_table<TpuEnergyParams>("tpu_v6e").mxu_pass_bf16, TpuEnergyParams{}.mxu_pass_bf16);
}

TEST(EnergyTables, NameAComponentForEveryEvent) {
  for (const EventKind& kind : event_table(GpuEnergyParams{})) EXPECT_FALSE(kind.component.empty());
  for (const EventKind& kind : event_table(TpuEnergyParams{})) EXPECT_FALSE(kind.component.empty());
}

using Json = nlohmann::json;

std::uint64_t counter(const Json& launch, const char* name) {
  return launch.at("counters").at(name).get<std::uint64_t>();
}

/// Counts the events of a measured launch from its hardware counters.
EnergyMeter<GpuEvent> count_events(const Json& launch, std::uint64_t output_bytes) {
  EnergyMeter<GpuEvent> meter(event_table(GpuEnergyParams{}), GpuEnergyParams{}.power);
  const auto c = [&](const char* name) { return counter(launch, name); };
  const std::uint64_t fma = c("inst_fma"), xu = c("inst_xu"), lsu = c("inst_lsu");
  meter.add(GpuEvent::kFma, fma);
  meter.add(GpuEvent::kXu, xu);
  meter.add(GpuEvent::kLsu, lsu);
  meter.add(GpuEvent::kAlu, c("warp_instructions") - fma - xu - lsu);
  if (c("inst_tensor") > 0) {
    meter.add(GpuEvent::kMac16Bit,
              static_cast<std::uint64_t>(launch.at("flops").get<double>() / 2));
  }
  const std::uint64_t loads = c("l1_sectors_global_load"), stores = c("l1_sectors_global_store");
  meter.add(GpuEvent::kL1Sector, loads + stores);
  meter.add(GpuEvent::kNocSector, loads - c("l1_sectors_global_load_hit") + stores);
  meter.add(GpuEvent::kL2Sector, c("l2_sectors_read") + c("l2_sectors_write"));
  meter.add(GpuEvent::kSharedWavefront, c("shared_wavefronts"));
  const std::uint64_t read = c("dram_read_bytes");
  // What stays dirty in the L2 is written by the next launch of the loop.
  const std::uint64_t written = std::max(c("dram_write_bytes"), output_bytes);
  meter.add(GpuEvent::kHbmReadByte, read);
  meter.add(GpuEvent::kHbmWriteByte, written);
  meter.add(GpuEvent::kHbmActivate, (read + written) / 1024);  // streams open each 1 KiB row once
  return meter;
}

/// Bytes of the tensor that a launch writes: the last one among its arguments.
std::uint64_t output_bytes(const Json& launch) {
  for (const char* name : {"out_ptr", "c_ptr", "y_ptr", "o_ptr", "out"}) {
    if (!launch.at("args").contains(name)) continue;
    const Json& tensor = launch["args"][name];
    std::uint64_t bytes = tensor.at("dtype") == "f32" ? 4 : 2;
    for (const Json& extent : tensor.at("shape")) bytes *= extent.get<std::uint64_t>();
    return bytes;
  }
  return 0;
}

TEST(EnergyTables, OfHopperGiveTheMeasuredEnergyOfTheLaunchesTheyWereFittedTo) {
  std::ifstream file(XPUSIM_SOURCE_DIR "/traces/h200/cases.json");
  const Json cases = Json::parse(file);
  int measured = 0;
  for (const Json& launch : cases) {
    const Json& m = launch.at("measured");
    if (!m.contains("energy_uj_per_launch") || m["energy_uj_per_launch"].is_null()) continue;
    ++measured;
    const double expected = m["energy_uj_per_launch"].get<double>();
    const double loop_ns = m["loop_us"].get<double>() * 1e3;
    const double clock_hz = m["clock_mhz"].get<double>() * 1e6;
    const EnergyReport report =
        count_events(launch, output_bytes(launch)).report(loop_ns, clock_hz);
    EXPECT_NEAR(report.total_microjoules / expected, 1, 0.03) << launch.at("name");
    EXPECT_NEAR(report.mean_watts / m["mean_power_w"].get<double>(), 1, 0.06) << launch.at("name");
  }
  EXPECT_EQ(measured, 10);
}

}  // namespace
}  // namespace xpusim::energy
