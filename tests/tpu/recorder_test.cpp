// What is recorded of a core for a page: that it is all there, in order, and changes nothing.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/tpu/core/recorder.h"
#include "models/tpu/core/simulate.h"
#include "models/tpu/launch.h"
#include "models/tpu/matrix_recording.h"
#include "models/tpu/recording.h"
#include "tests/tpu/harness.h"

namespace xpusim::tpu {
namespace {

using exec::DType;
using test::LaunchFixture;

/// A product of 1024 x 1024 matrices in blocks of 128, recorded or not.
struct Product {
  explicit Product(std::optional<CoreRecorder::Window> window, bool values = false)
      : params(test::params_of("tpu_v5e")),
        fixture("workloads/pallas/ir/matmul_1024_b128x128x128.mlir",
                {{"x", DType::kBF16, {1024, 1024}, test::randn(1)},
                 {"y", DType::kBF16, {1024, 1024}, test::randn(2)},
                 {"o", DType::kBF16, {1024, 1024}, test::zeros()}}) {
    exec::DeviceMemory* memory = &fixture.memory;
    auto prepared = prepare_mosaic(fixture.launch, {&memory, 1}, params, values);
    EXPECT_TRUE(prepared);
    ready = std::move(*prepared);
    SimulationOptions options;
    if (window) {
      recorder.emplace(*window);
      capture.emplace(*recorder, params.core.mxu);
      ready.cores[0].body->listen(&*capture);
      options.recorder = &*recorder;
    }
    const std::vector<CoreWork> work = {{ready.cores[0].windows.get(), ready.cores[0].body.get()}};
    auto ran = simulate(params, ready.program, work, options);
    EXPECT_TRUE(ran);
    result = std::move(*ran);
  }

  TpuParams params;
  LaunchFixture fixture;
  PreparedLaunch ready;
  std::optional<CoreRecorder> recorder;
  std::optional<ProductCapture> capture;
  SimulationResult result;
};

CoreRecorder::Window window(Cycle first, Cycle cycles) {
  CoreRecorder::Window w;
  w.first = first;
  w.cycles = cycles;
  return w;
}

TEST(Recorder, ChangesNothing) {
  const Product plain(std::nullopt), recorded(window(50'000, 3'000));
  EXPECT_EQ(recorded.result.cycles, plain.result.cycles);
  EXPECT_EQ(recorded.result.activity, plain.result.activity);
  EXPECT_EQ(recorded.result.dma_read_bytes, plain.result.dma_read_bytes);
}

TEST(Recorder, OnlyTheWindowIsStepped) {
  const Product plain(std::nullopt), recorded(window(50'000, 3'000));
  EXPECT_GT(recorded.result.stepped_bundles, plain.result.stepped_bundles);
  EXPECT_LT(recorded.result.stepped_bundles, plain.result.stepped_bundles + 6'000);
}

TEST(Recorder, TheSpansOfTheWholeRunAreItsLedger) {
  const Product p(CoreRecorder::Window{Cycle{0}, 10'000'000, 10'000'000, 1'000'000});
  Cycle from = 0;
  std::array<std::uint64_t, kReasons> cycles{};
  for (const auto& s : p.recorder->spans()) {
    ASSERT_GT(s.until, from);
    cycles[static_cast<std::size_t>(s.state)] += s.until - from;
    from = s.until;
  }
  EXPECT_EQ(from, p.result.cycles);
  for (std::size_t r = 0; r < kReasons; ++r) {
    EXPECT_EQ(cycles[r], p.result.activity.cycles(static_cast<Reason>(r))) << r;
  }
}

TEST(Recorder, EachDmaIsIssuedTakenMovedAndSeenInThisOrder) {
  const Product p(CoreRecorder::Window{Cycle{0}, 1'000, 10'000, 1'000'000});
  std::uint64_t read = 0, written = 0;
  for (const auto& d : p.recorder->dmas()) {
    (d.write ? written : read) += d.bytes;
    EXPECT_LT(d.issued, d.taken);
    EXPECT_LE(d.taken, d.begun);
    EXPECT_LE(d.begun, d.sent);
    EXPECT_LT(d.sent, d.done);
    EXPECT_LT(d.done, d.seen);
  }
  EXPECT_EQ(read, p.result.dma_read_bytes);
  EXPECT_EQ(written, p.result.dma_write_bytes);
  EXPECT_EQ(p.recorder->steps().size(), 8u * 8 * 8);
}

TEST(Recorder, AWindowsCopiesTakeTurns) {
  const Product p(CoreRecorder::Window{Cycle{0}, 1'000, 10'000, 1'000'000});
  ASSERT_EQ(p.recorder->copies().size(), 3u);
  for (const auto& copy : p.recorder->copies()[0]) {
    Cycle last = 0;
    int in_use = 0;
    for (const auto& s : copy) {
      EXPECT_GE(s.from, last);
      last = s.from;
      in_use += s.state.kind == CopyState::Kind::kInUse;
    }
    EXPECT_GT(in_use, 100);
  }
}

TEST(Recorder, FewEventsAreThoseAroundTheWindow) {
  CoreRecorder::Window w = window(100'000, 2'000);
  w.most_events = 400;
  const Product p(w);
  EXPECT_LT(p.recorder->events_from(), 100'000u);
  EXPECT_GE(p.recorder->events_end(), 102'000u);
  EXPECT_LE(p.recorder->steps().size() + p.recorder->dmas().size(), 500u);
}

TEST(Recorder, ResultsOfTheMatrixUnitAreThoseOfTheProduct) {
  const Product p(CoreRecorder::Window{}, true);
  const auto play =
      matrix_recording(*p.recorder, *p.capture, p.ready.program, p.params.core.mxu, true);
  ASSERT_FALSE(play.contains("missing")) << play["missing"];
  const std::int64_t size = play["size"];
  const auto rows = static_cast<std::int64_t>(play["entries"].size());
  EXPECT_EQ(size, 128);
  EXPECT_GE(rows, 8);
  EXPECT_EQ(play["pushes"].size(), 16u);
  const auto x = p.fixture.values("x"), y = p.fixture.values("y");
  for (std::int64_t k = 0; k < size; ++k) {
    EXPECT_NEAR(play["weights"][static_cast<std::size_t>(k * size + 5)].get<double>(),
                y[static_cast<std::size_t>(k * 1024 + 5)], 1e-3);
    EXPECT_NEAR(play["activations"][static_cast<std::size_t>(3 * size + k)].get<double>(),
                x[static_cast<std::size_t>(3 * 1024 + k)], 1e-3);
  }
  // The last wave holds only the last row, on the last diagonal.
  EXPECT_EQ(play["waves"][play["waves"].size() - 2], nlohmann::json({rows - 1, 2 * size - 2}));
  EXPECT_TRUE(play["waves"].back().empty());
}

/// 16-bit numbers, low byte first, in base64.
std::vector<int> decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = (bits << 6) | static_cast<std::uint32_t>(digits.find(c));
    if ((held += 6) < 8) continue;
    bytes.push_back(static_cast<std::uint8_t>(bits >> (held -= 8)));
  }
  std::vector<int> numbers;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    numbers.push_back(static_cast<std::int16_t>(bytes[i] | bytes[i + 1] << 8));
  }
  return numbers;
}

TEST(Recorder, SumsThatLeaveTheMatrixUnitAreTheProduct) {
  const Product p(CoreRecorder::Window{}, true);
  const auto play =
      matrix_recording(*p.recorder, *p.capture, p.ready.program, p.params.core.mxu, true);
  ASSERT_FALSE(play.contains("missing")) << play["missing"];
  constexpr std::size_t kSize = 128;
  const std::size_t rows = play["entries"].size(), row = rows - 1;
  const std::vector<int> sums = decoded(play["sums"].get<std::string>());
  ASSERT_EQ(sums.size(), rows * kSize * kSize);  // [row][k][column]: the sum over 0 .. k
  const auto scale = play["scale"].get<double>();
  const auto x = p.fixture.values("x"), y = p.fixture.values("y");
  for (std::size_t n = 0; n < kSize; ++n) {
    double expected = 0;
    for (std::size_t k = 0; k < kSize; ++k) expected += x[row * 1024 + k] * y[k * 1024 + n];
    EXPECT_NEAR(sums[(row * kSize + kSize - 1) * kSize + n] * scale, expected, scale) << n;
  }
  // A register of 8 rows is popped when the last of them has gone through.
  const auto& pops = play["pops"];
  ASSERT_EQ(pops.size(), rows / 8);
  for (std::size_t r = 0; r < pops.size(); ++r) {
    EXPECT_GE(pops[r].get<Cycle>(), play["entries"][8 * r + 7].get<Cycle>() + kSize);
    if (r > 0) {
      EXPECT_GT(pops[r].get<Cycle>(), pops[r - 1].get<Cycle>());
    }
  }
}

TEST(Recorder, AWindowShorterThanTheLaunchBeginsWithTheFirstBundle) {
  const auto launch = static_cast<Cycle>(450);  // 300 ns at 1.5 GHz
  CoreRecorder::Window shorter;
  shorter.cycles = 100;
  const Product p(shorter);
  EXPECT_EQ(p.recorder->first(), launch);
  EXPECT_EQ(p.recorder->end(), launch + 100);
  Cycle from = launch;
  for (const auto& s : p.recorder->spans()) {
    EXPECT_NE(s.state, Reason::kLaunch);
    ASSERT_GT(s.until, from);
    from = s.until;
  }
  EXPECT_EQ(from, launch + 100);
}

TEST(Recorder, WithoutValuesThePictureSaysSo) {
  const Product p(CoreRecorder::Window{});
  const auto play =
      matrix_recording(*p.recorder, *p.capture, p.ready.program, p.params.core.mxu, false);
  EXPECT_THAT(play["missing"].get<std::string>(), testing::HasSubstr("--values off"));
}

}  // namespace
}  // namespace xpusim::tpu
