#include "models/energy/meter.h"

#include <gtest/gtest.h>

namespace xpusim::energy {
namespace {

enum class Event { kRead, kAdd, kMultiply, kCount };

const EventTable<Event> kTable = {EventKind{"memory", 10, Domain::kFixed},
                                  EventKind{"core", 2, Domain::kCore},
                                  EventKind{"core", 3, Domain::kCore}};

TEST(EnergyMeter, ChargesEachEventToItsComponent) {
  EnergyMeter<Event> meter(kTable, PowerParams{});
  meter.add(Event::kRead, 1'000'000);
  meter.add(Event::kAdd, 500'000);
  meter.add(Event::kAdd, 500'000);
  meter.add(Event::kMultiply, 2'000'000);
  EXPECT_EQ(meter.count(Event::kAdd), 1'000'000u);
  const EnergyReport report = meter.report(1000, 1e9);
  ASSERT_EQ(report.entries.size(), 4u);
  EXPECT_EQ(report.entries[0].component, "memory");
  EXPECT_DOUBLE_EQ(report.entries[0].microjoules, 10);
  EXPECT_EQ(report.entries[1].component, "core");
  EXPECT_DOUBLE_EQ(report.entries[1].microjoules, 8);  // 2 + 2 * 3
  EXPECT_EQ(report.entries[2].component, "clock");
  EXPECT_EQ(report.entries[3].component, "idle");
  EXPECT_DOUBLE_EQ(report.total_microjoules, 18);
  EXPECT_DOUBLE_EQ(report.mean_watts, 18);  // 18 uJ in 1 us
}

TEST(EnergyMeter, AddsStandingPowerOfEveryChip) {
  const PowerParams power{100, 50, 2e9, 0};
  const EnergyReport report = EnergyMeter<Event>(kTable, power).report(1000, 1e9, 4);
  EXPECT_DOUBLE_EQ(report.entries[2].microjoules, 100);  // 50 W * half the clock * 1 us * 4
  EXPECT_DOUBLE_EQ(report.entries[3].microjoules, 400);
  EXPECT_DOUBLE_EQ(report.mean_watts, 500);
}

TEST(EnergyMeter, LowersTheCoreWithTheVoltageAndNothingElse) {
  const PowerParams power{0, 10, 2e9, 0.5};
  EXPECT_DOUBLE_EQ(voltage_ratio(power, 2e9), 1);
  EXPECT_DOUBLE_EQ(voltage_ratio(power, 1e9), 0.75);
  EnergyMeter<Event> meter(kTable, power);
  meter.add(Event::kRead, 1'000'000);
  meter.add(Event::kAdd, 1'000'000);
  const EnergyReport report = meter.report(1000, 1e9);
  EXPECT_DOUBLE_EQ(report.entries[0].microjoules, 10);          // memory keeps its supply
  EXPECT_DOUBLE_EQ(report.entries[1].microjoules, 2 * 0.5625);  // 0.75 squared
  EXPECT_DOUBLE_EQ(report.entries[2].microjoules, 5 * 0.5625);  // half the clock besides
}

TEST(EnergyMeter, TakesTheVoltageFromTheClockItBelongsTo) {
  EnergyMeter<Event> meter(kTable, PowerParams{0, 10, 2e9, 0.5});
  meter.add(Event::kAdd, 1'000'000);
  const EnergyReport report = meter.report(Operation{1000, 1e9, 2e9});
  EXPECT_DOUBLE_EQ(report.entries[1].microjoules, 2);  // the full voltage
  EXPECT_DOUBLE_EQ(report.entries[2].microjoules, 5);  // half the ticks
}

TEST(EnergyMeter, ReportsNoPowerWhenNoTimePassed) {
  EXPECT_EQ(EnergyMeter<Event>(kTable, PowerParams{}).report(0, 1e9).mean_watts, 0);
}

TEST(EnergyMeter, TotalsWhatItsEntriesSay) {
  EnergyMeter<Event> meter(kTable, PowerParams{75, 45, 1.98e9, 0.7});
  for (const Event e : {Event::kRead, Event::kAdd, Event::kMultiply}) meter.add(e, 123456789);
  const EnergyReport report = meter.report(98765.4, 1.5e9);
  double sum = 0;
  for (const EnergyEntry& entry : report.entries) sum += entry.microjoules;
  EXPECT_NEAR(report.total_microjoules, sum, 1e-9 * sum);
}

}  // namespace
}  // namespace xpusim::energy
