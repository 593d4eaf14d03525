// Small kernels over the rest of Mosaic's language, against what JAX's interpreter computed for the
// same operands.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/exec/mosaic_harness.h"

namespace xpusim::exec {
namespace {

using Values = std::vector<double>;

struct Tensor {
  DType dtype;
  std::vector<std::int64_t> shape;
};
struct Case {
  std::string name;
  std::vector<Tensor> operands, outputs;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

DType dtype_of(const std::string& name) {
  static const std::map<std::string, DType> kNames = {
      {"f32", DType::kF32},     {"bf16", DType::kBF16},     {"i32", DType::kI32},
      {"float32", DType::kF32}, {"bfloat16", DType::kBF16}, {"int32", DType::kI32}};
  const auto it = kNames.find(name);
  return it == kNames.end() ? DType::kNone : it->second;
}

std::vector<Case> all_cases() {
  std::ifstream in(pallas_path("language/launches.json"));
  std::vector<Case> cases;
  const nlohmann::json file = nlohmann::json::parse(in);
  for (const auto& launch : file.at("launches")) {
    Case c;
    c.name = launch.at("name");
    const auto take = [&](const char* key, std::vector<Tensor>& to) {
      if (!launch.contains(key)) return;
      for (const auto& t : launch.at(key))
        to.push_back({dtype_of(t.at(0)), t.at(1).get<std::vector<std::int64_t>>()});
    };
    take("operands", c.operands);
    take("outputs", c.outputs);
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string data_file(const Case& c, const char* kind, std::size_t i) {
  return pallas_path("language/data/" + c.name + "." + kind + std::to_string(i) + ".npy");
}

/// Binds recorded operands and outputs that nothing has written. Where no outputs are recorded,
/// they are the last arguments of the kernel, whole.
void bind(Case& c, MosaicKernel& k) {
  for (std::size_t i = 0; i < c.operands.size(); ++i)
    k.data(c.operands[i].dtype, c.operands[i].shape, npy_bytes(data_file(c, "IN", i)));
  const auto& args = k.module->kernel()->entry().args;
  for (std::size_t a = c.operands.size(); c.outputs.empty() && a < args.size(); ++a)
    c.outputs.push_back({args[a]->type->dtype, args[a]->type->shape});
  for (const Tensor& t : c.outputs) k.operand(t.dtype, t.shape, unwritten());
  if (c.name == "dynamic_grid") k.extent(static_cast<std::int64_t>(k.values(0)[0]));
}

Values decoded(DType d, const std::vector<std::byte>& bytes) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(d));
  Values v(bytes.size() / size);
  for (std::size_t i = 0; i < v.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * size], size);
    v[i] = kernel::is_float(d) ? decode(d, bits)
                               : static_cast<double>(static_cast<std::int32_t>(bits));
  }
  return v;
}

/// Relative to 1 + |value|. The interpreter takes an approximate reciprocal in bf16; a total over
/// thousands of values of both signs depends on the order of summation.
double tolerance(const Case& c) {
  return c.name == "reciprocals" ? 0x1p-8 : c.name == "running_total" ? 1e-4 : 1e-5;
}

class MosaicLanguage : public testing::TestWithParam<Case> {};

TEST_P(MosaicLanguage, DoesItComputeWhatTheInterpreterDid) {
  Case c = GetParam();
  MosaicKernel k("language/ir/" + c.name);
  bind(c, k);
  ASSERT_TRUE(k.run()) << k.problems;
  if (c.name == "random_bits") return;  // the chip's generator is not public
  for (std::size_t o = 0; o < c.outputs.size(); ++o) {
    const DType d = c.outputs[o].dtype;
    const Values got = k.values(c.operands.size() + o);
    Values want;
    if (c.name != "inner_pipeline") {
      want = decoded(d, npy_bytes(data_file(c, "OUT", o)));
    } else {  // the interpreter cannot run it
      const Values x = k.values(0), y = k.values(1);
      want.resize(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) want[i] = static_cast<float>(x[i] * y[i]);
    }
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!kernel::is_float(d)) {
        ASSERT_EQ(got[i], want[i]) << "output " << o << ", element " << i;
      } else {
        ASSERT_NEAR(got[i], want[i], tolerance(c) * (1 + std::fabs(want[i])))
            << "output " << o << ", element " << i;
      }
    }
  }
}

/// Without values, the kernel runs all the same, unless its control flow hangs on a float.
TEST_P(MosaicLanguage, DoesItRunWithoutValues) {
  Case c = GetParam();
  MosaicKernel k("language/ir/" + c.name);
  bind(c, k);
  if (c.name == "newton") {
    EXPECT_FALSE(k.run(false));
    EXPECT_NE(k.problems.find("--values off"), std::string::npos) << k.problems;
  } else {
    EXPECT_TRUE(k.run(false)) << k.problems;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MosaicLanguage, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param.name; });

std::vector<std::uint32_t> random_words(std::int32_t seed) {
  MosaicKernel k("language/ir/random_bits");
  k.integers({1}, {seed});
  k.operand(DType::kI32, {8, 128}, unwritten());
  EXPECT_TRUE(k.run()) << k.problems;
  const auto bytes = k.bytes(1);
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

TEST(MosaicRandom, AreBitsSpreadAndAFunctionOfTheSeed) {
  const auto first = random_words(7), again = random_words(7), other = random_words(8);
  EXPECT_EQ(first, again);
  int equal = 0, ones = 0;
  std::array<int, 32> at{};
  for (std::size_t i = 0; i < first.size(); ++i) {
    equal += first[i] == other[i];
    ones += std::popcount(first[i]);
    for (std::size_t b = 0; b < 32; ++b) at[b] += first[i] >> b & 1;
  }
  EXPECT_LE(equal, 1);
  EXPECT_NEAR(ones, 16384, 5 * 90.5);  // 32768 fair bits: a deviation of 90.5
  for (const int n : at) EXPECT_NEAR(n, 512, 5 * 16);
}

}  // namespace
}  // namespace xpusim::exec
