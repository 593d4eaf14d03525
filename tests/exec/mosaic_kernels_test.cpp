// Grid steps of Mosaic kernels over buffers that the test owns, and the transforms of their
// windows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sim/exec/generator.h"
#include "sim/exec/step_interpreter.h"
#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

using testing::ElementsAre;
using Values = std::vector<double>;

std::shared_ptr<const kernel::Module> pallas(const std::string& stem) {
  return read_kernel(std::string(XPUSIM_SOURCE_DIR) + "/workloads/pallas/ir/" + stem + ".mlir");
}

/// A buffer for a memref argument, with its storage.
struct Window {
  Buffer buffer;
  std::vector<std::byte> storage;

  Window(kernel::Type memref, const Init& init) {
    buffer.dtype = memref->dtype;
    buffer.shape.assign(memref->shape.begin(), memref->shape.end());
    const auto count = static_cast<std::size_t>(memref->count());
    storage.resize(count * static_cast<std::size_t>(kernel::byte_size(buffer.dtype)));
    generate(init, buffer.dtype, 0, count, storage.data());
    buffer.bytes = storage;
  }
  Values values() const {
    const auto size = static_cast<std::size_t>(kernel::byte_size(buffer.dtype));
    Values v(storage.size() / size);
    for (std::size_t i = 0; i < v.size(); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &storage[i * size], size);
      v[i] = decode(buffer.dtype, bits);
    }
    return v;
  }
};

/// One step of a kernel with randn inputs and zero outputs.
class Step {
 public:
  explicit Step(const std::string& stem, bool values = true) : module(pallas(stem)) {
    auto prepared = Prepared::make(module, *module->kernel());
    if (!prepared) ADD_FAILURE() << prepared.error().str();
    interpreter = StepInterpreter::make(*prepared, {.values = values});
    const auto& args = module->kernel()->entry().args;
    windows.reserve(args.size());
    for (std::size_t k = 0; k < args.size(); ++k) {
      if (args[k]->type->kind != kernel::TypeKind::kMemRef) continue;
      const bool output = k + 1 == args.size();
      windows.emplace_back(args[k]->type, output ? zeros() : randn(k));
      if (!values) windows.back().buffer.bytes = {};
      interpreter->bind(k, windows.back().buffer);
    }
  }
  void run(std::vector<std::int64_t> grid) {
    interpreter->start(grid);
    ASSERT_EQ(interpreter->advance(), StepInterpreter::State::kDone)
        << interpreter->error().message;
  }
  std::shared_ptr<const kernel::Module> module;
  std::unique_ptr<StepInterpreter> interpreter;
  std::vector<Window> windows;
};

void expect_near(const Values& actual, const Values& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::fabs(expected[i]))) << i;
  }
}

TEST(MosaicKernels, DoesAddAdd) {
  Step s("add");
  s.run({3});
  Values expected = s.windows[0].values();
  const Values y = s.windows[1].values();
  for (std::size_t i = 0; i < y.size(); ++i) expected[i] += y[i];
  expect_near(s.windows[2].values(), expected);
  EXPECT_EQ(s.interpreter->counts().flops, 512u * 1024);
}

TEST(MosaicKernels, DoesMulAddReluAgree) {
  Step s("mul_add_relu");
  s.run({0});
  Values expected = s.windows[0].values();
  const Values w = s.windows[1].values(), b = s.windows[2].values();
  for (std::size_t i = 0; i < w.size(); ++i) expected[i] = std::max(expected[i] * w[i] + b[i], 0.0);
  expect_near(s.windows[3].values(), expected);
}

TEST(MosaicKernels, DoesACopyCopyBf16) {
  Step s("hbm_copy_r256");
  s.run({0});
  EXPECT_EQ(s.windows[1].storage, s.windows[0].storage);
}

void softmax_rows(Values& x, std::size_t columns) {
  for (std::size_t r = 0; r < x.size(); r += columns) {
    double max = -INFINITY, sum = 0;
    for (std::size_t c = 0; c < columns; ++c) max = std::max(max, x[r + c]);
    for (std::size_t c = 0; c < columns; ++c) sum += x[r + c] = std::exp(x[r + c] - max);
    for (std::size_t c = 0; c < columns; ++c) x[r + c] /= sum;
  }
}

TEST(MosaicKernels, DoesSoftmaxNormaliseRows) {
  Step s("softmax");
  s.run({0});
  Values expected = s.windows[0].values();
  softmax_rows(expected, 4096);
  expect_near(s.windows[1].values(), expected);
}

TEST(MosaicKernels, DoesACausalMaskFollowTheGridIndex) {
  Step s("causal_mask_softmax");
  s.run({5});
  Values expected = s.windows[0].values();
  for (std::size_t r = 0; r < 128; ++r) {
    for (std::size_t c = 0; c < 2048; ++c) {
      if (c > 5 * 128 + r) expected[r * 2048 + c] = -1e30;
    }
  }
  softmax_rows(expected, 2048);
  expect_near(s.windows[1].values(), expected);
}

TEST(MosaicKernels, DoesLayerNormNormalise) {
  Step s("layer_norm");
  s.run({0});
  const std::size_t columns = 4096;
  Values x = s.windows[0].values();
  const Values w = s.windows[1].values(), b = s.windows[2].values();
  for (std::size_t r = 0; r < x.size(); r += columns) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < columns; ++c) mean += x[r + c] / columns;
    for (std::size_t c = 0; c < columns; ++c) variance += std::pow(x[r + c] - mean, 2) / columns;
    for (std::size_t c = 0; c < columns; ++c) {
      x[r + c] = (x[r + c] - mean) / std::sqrt(variance + 1e-5) * w[c] + b[c];
    }
  }
  expect_near(s.windows[3].values(), x);
}

TEST(MosaicKernels, DoesAPrefetchedLengthSetTheTripCount) {
  Step s("sum_rows_by_length");
  std::int32_t lengths[64] = {};
  lengths[7] = 24;
  std::memcpy(s.windows[0].storage.data(), lengths, sizeof lengths);
  s.run({7});
  const Values x = s.windows[1].values();
  Values expected(8 * 128);
  for (std::size_t r = 0; r < 24; ++r) {
    for (std::size_t c = 0; c < 128; ++c) expected[(r % 8) * 128 + c] += x[r * 128 + c];
  }
  expect_near(s.windows[2].values(), expected);
}

TEST(MosaicKernels, DoesControlFlowNeedNoPayload) {
  Step s("sum_rows_by_length", false);
  std::int32_t lengths[64] = {};
  lengths[7] = 24;
  std::memcpy(s.windows[0].storage.data(), lengths, sizeof lengths);
  s.windows[0].buffer.bytes = s.windows[0].storage;
  s.interpreter->bind(1, s.windows[0].buffer);
  s.run({7});
  std::vector<std::int64_t> trips;
  for (std::uint32_t site = 0; site < s.interpreter->trace().decision_count(0); ++site) {
    trips.push_back(s.interpreter->trace().decision(0, site));
  }
  EXPECT_THAT(trips, ElementsAre(3));
  EXPECT_EQ(s.interpreter->counts().flops, 3u * 8 * 128);
}

/// A kernel with arguments in HBM that moves its data itself: o = reference(x).
void run_manual_dma(const std::string& stem, bool values, double (*reference)(double)) {
  const auto module = pallas(stem);
  const auto prepared = Prepared::make(module, *module->kernel());
  ASSERT_TRUE(prepared) << prepared.error().str();
  const auto interpreter = StepInterpreter::make(*prepared, {.values = values});
  DeviceMemory memory(1 << 30);
  std::vector<Window> scratch;
  scratch.reserve(8);
  std::vector<std::string> tensors;
  const auto& args = module->kernel()->entry().args;
  for (std::size_t k = 0; k < args.size(); ++k) {
    const kernel::Type t = args[k]->type;
    if (t->kind != kernel::TypeKind::kMemRef || t->dtype == DType::kNone) continue;
    if (t->memory_space && t->memory_space->body == "any") {
      tensors.push_back("t" + std::to_string(k));
      ASSERT_TRUE(memory.allocate(tensors.back(), t->dtype, t->shape,
                                  tensors.size() == 1 ? randn(1) : zeros()));
      interpreter->bind(k, memory, *memory.find(tensors.back()));
    } else {
      scratch.emplace_back(t, zeros());
      if (values) interpreter->bind(k, scratch.back().buffer);
    }
  }
  ASSERT_EQ(tensors.size(), 2u);
  interpreter->start({});
  int copies = 0, waits = 0;
  StepInterpreter::State state;
  while ((state = interpreter->advance()) == StepInterpreter::State::kAtEffect) {
    const kernel::Op& op = *interpreter->effect();
    if (op.name() == "tpu.enqueue_dma") {
      ++copies;
      const View& from = interpreter->view(*op.operands[0]);
      EXPECT_EQ(from.dtype, DType::kF32);
      EXPECT_EQ(from.shape.size(), 2u);
    } else {
      ++waits;
    }
    interpreter->perform();
  }
  ASSERT_EQ(state, StepInterpreter::State::kDone) << interpreter->error().message;
  EXPECT_GT(copies, 1);
  EXPECT_EQ(copies, waits);
  Values expected = memory.as_doubles(*memory.find(tensors[0]));
  for (double& v : expected) v = values ? reference(v) : 0;
  expect_near(memory.as_doubles(*memory.find(tensors[1])), expected);
}

TEST(MosaicKernels, DoManualDmasMoveWhatTheyCover) {
  for (const bool values : {true, false})
    run_manual_dma("manual_dma", values, [](double x) { return 2 * x; });
}

TEST(MosaicKernels, DoesADoubleBufferKeepItsTwoHalvesApart) {
  for (const bool values : {true, false})
    run_manual_dma("double_buffer", values, [](double x) { return std::tanh(x); });
}

TEST(MosaicKernels, DoesAMatmulAccumulateFromItsFirstStepOn) {
  Step s("matmul_1024_b128x128x128");
  const auto n = std::size_t{128};
  Values expected(n * n);
  for (const std::int64_t k : {0, 1}) {
    s.run({0, 0, k});
    const Values a = s.windows[0].values(), b = s.windows[1].values();
    for (std::size_t i = 0; i < n * n; ++i) {
      for (std::size_t x = 0; x < n; ++x) expected[i] += a[i / n * n + x] * b[x * n + i % n];
    }
    expect_near(s.windows[3].values(), expected);
  }
  EXPECT_EQ(s.interpreter->counts().flops, 2 * (2 * n * n * n + n * n));
}

TEST(WindowTransform, DoesABlockIndexFollowTheGrid) {
  const auto module = pallas("add");
  const auto transform = WindowTransform::make(module, *module->function("transform_0"));
  ASSERT_TRUE(transform);
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_THAT(evaluate_transform(**transform, std::array{i}), ElementsAre(i, 0));
  }
}

TEST(WindowTransform, DoesABlockIndexComeFromAPrefetchedTable) {
  const auto module = pallas("gather_blocks");
  const auto transform = WindowTransform::make(module, *module->function("transform_0"));
  ASSERT_TRUE(transform);
  std::vector<std::int32_t> table(256);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int32_t>(3 * i + 1);
  Buffer prefetch;
  prefetch.bytes = std::as_writable_bytes(std::span(table));
  prefetch.dtype = DType::kI32;
  prefetch.shape = {256};
  EXPECT_THAT(evaluate_transform(**transform, std::array{std::int64_t{5}}, {&prefetch, 1}),
              ElementsAre(16, 0));
  EXPECT_TRUE(
      evaluate_transform(**transform, std::array{std::int64_t{256}}, {&prefetch, 1}).empty());
  EXPECT_NE((*transform)->error().message, "");
}

}  // namespace
}  // namespace xpusim::exec
