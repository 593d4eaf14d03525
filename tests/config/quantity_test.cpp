#include "sim/config/quantity.h"

#include <gtest/gtest.h>

namespace xpusim::config {
namespace {

double read(std::string_view text, Unit unit) {
  const auto value = parse_quantity(text, unit, {});
  EXPECT_TRUE(value) << text << ": " << value.error().str();
  return value.value_or(-1);
}

TEST(ParseQuantity, ConvertsToTheUnitAskedFor) {
  EXPECT_EQ(read("1.755 GHz", Unit::kHertz), 1.755e9);
  EXPECT_EQ(read("1.755GHz", Unit::kHertz), 1.755e9);
  EXPECT_EQ(read("228 KiB", Unit::kBytes), 228 * 1024);
  EXPECT_EQ(read("141 GB", Unit::kBytes), 141e9);
  EXPECT_EQ(read("4.8 TB/s", Unit::kBytesPerSecond), 4.8e12);
  EXPECT_EQ(read("500 ps", Unit::kNanoseconds), 0.5);
  EXPECT_EQ(read("2 us", Unit::kNanoseconds), 2000);
  EXPECT_EQ(read("1.5 nJ", Unit::kPicojoules), 1500);
  EXPECT_EQ(read("700 W", Unit::kWatts), 700);
  EXPECT_EQ(read("2.5 USD/h", Unit::kDollarsPerHour), 2.5);
  EXPECT_EQ(read("989 TFLOP/s", Unit::kFlopsPerSecond), 989e12);
}

TEST(ParseQuantity, TakesPlainNumbersWhereThereIsNoDimension) {
  EXPECT_EQ(read("132", Unit::kCount), 132);
  EXPECT_EQ(read("-1.5e3", Unit::kNone), -1500);
  EXPECT_EQ(read("+2", Unit::kCount), 2);
  EXPECT_EQ(read("0.85", Unit::kRatio), 0.85);
  EXPECT_EQ(read("85 %", Unit::kRatio), 0.85);
  EXPECT_EQ(read("30", Unit::kCycles), 30);
  EXPECT_EQ(read("30 cycles", Unit::kCycles), 30);
  EXPECT_EQ(read("64", Unit::kBytesPerCycle), 64);
  EXPECT_EQ(read("64 B/cycle", Unit::kBytesPerCycle), 64);
}

struct BadQuantity {
  const char* text;
  Unit unit;
  const char* message;
};

TEST(ParseQuantity, SaysWhatIsWrongAndHowToWriteIt) {
  const BadQuantity cases[] = {
      {"1755", Unit::kHertz, "'1755' has no unit; write it with a unit, such as 1.755 GHz"},
      {"0", Unit::kBytes, "'0' has no unit; write it with a unit, such as 228 KiB"},
      {"30 ns", Unit::kHertz, "'30 ns' is a time, but a frequency is expected, such as 1.755 GHz"},
      {"4 GiB", Unit::kBytesPerSecond,
       "'4 GiB' is a size, but a bandwidth is expected, such as 4.8 TB/s"},
      {"4 GB", Unit::kCount, "'4 GB' is a size, but a count is expected, such as 16"},
      {"1 Ghz", Unit::kHertz, "unknown unit 'Ghz'; did you mean 'GHz'?"},
      {"1 KB", Unit::kBytes, "unknown unit 'KB'; did you mean 'kB'?"},
      {"1 parsec", Unit::kBytes, "unknown unit 'parsec'"},
      {"1 2 ns", Unit::kNanoseconds, "unknown unit '2 ns'"},
      {"fast", Unit::kHertz, "'fast' is not a frequency; write it like 1.755 GHz"},
      {"inf GHz", Unit::kHertz, "'inf GHz' is not a frequency; write it like 1.755 GHz"},
      {"nan", Unit::kRatio, "'nan' is not a ratio; write it like 0.85"},
      {"1e999", Unit::kCount, "'1e999' is not a count; write it like 16"},
      {"1e300 TB", Unit::kBytes, "'1e300 TB' is too large"},
      {"010 ns", Unit::kNanoseconds, "'010 ns' is not a time; write it like 30 ns"},
      {"x", Unit::kNone, "'x' is not a number"},
      {"", Unit::kCount, "'' is not a count; write it like 16"},
      {"-", Unit::kCount, "'-' is not a count; write it like 16"},
      {"+-1", Unit::kCount, "'+-1' is not a count; write it like 16"},
  };
  for (const BadQuantity& bad : cases) {
    const auto value = parse_quantity(bad.text, bad.unit, {"f", 1, 2});
    ASSERT_FALSE(value) << bad.text;
    const std::string message = std::string("f:1:2: error: ") + bad.message + "\n";
    EXPECT_EQ(value.error().str(), message);
  }
}

TEST(FormatQuantity, PicksTheUsualUnit) {
  EXPECT_EQ(format_quantity(1.755e9, Unit::kHertz), "1.755 GHz");
  EXPECT_EQ(format_quantity(228 * 1024, Unit::kBytes), "228 KiB");
  EXPECT_EQ(format_quantity(141e9, Unit::kBytes), "141 GB");
  EXPECT_EQ(format_quantity(50 << 20, Unit::kBytes), "50 MiB");
  EXPECT_EQ(format_quantity(32, Unit::kBytes), "32 B");
  EXPECT_EQ(format_quantity(4.8e12, Unit::kBytesPerSecond), "4.8 TB/s");
  EXPECT_EQ(format_quantity(30, Unit::kNanoseconds), "30 ns");
  EXPECT_EQ(format_quantity(0.5, Unit::kNanoseconds), "500 ps");
  EXPECT_EQ(format_quantity(0, Unit::kBytes), "0 B");
  EXPECT_EQ(format_quantity(132, Unit::kCount), "132");
  EXPECT_EQ(format_quantity(0.85, Unit::kRatio), "0.85");
}

TEST(FormatQuantity, IsReadBackAsTheSameValue) {
  for (const Unit unit : {Unit::kBytes, Unit::kHertz, Unit::kBytesPerSecond, Unit::kNanoseconds,
                          Unit::kPicojoules, Unit::kWatts, Unit::kFlopsPerSecond}) {
    for (const double value : {0.0, 1.0, 1024.0, 999.0, 1e6, 123456.0, 3.5e12}) {
      EXPECT_EQ(read(format_quantity(value, unit), unit), value) << value;
    }
  }
}

}  // namespace
}  // namespace xpusim::config
