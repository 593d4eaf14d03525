// Kernels over the rest of Triton's language, with the arguments that a real GPU had: do they
// compute what it computed, from TTIR and from the TTGIR of two GPU generations?

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {
namespace {

using nlohmann::json;
using Values = std::vector<double>;
using Bytes = std::vector<std::byte>;

const std::string kFolder = std::string(XPUSIM_SOURCE_DIR) + "/workloads/triton/language/";

const json& launches() {
  static const json all = [] {
    std::ifstream in(kFolder + "launches.json");
    return json::parse(in).at("launches");
  }();
  return all;
}

/// The elements of a .npy file, as stored.
Bytes npy(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  const auto header =
      static_cast<unsigned char>(all.at(8)) + 256u * static_cast<unsigned char>(all.at(9));
  const auto* data = reinterpret_cast<const std::byte*>(all.data()) + 10 + header;
  return {data, reinterpret_cast<const std::byte*>(all.data()) + all.size()};
}

DType dtype_of(const std::string& name) {
  static const std::map<std::string, DType> kNames = {
      {"f64", DType::kF64},   {"f32", DType::kF32},     {"f16", DType::kF16},
      {"bf16", DType::kBF16}, {"f8", DType::kF8E4M3FN}, {"f8e5", DType::kF8E5M2},
      {"i64", DType::kI64},   {"i32", DType::kI32},     {"i16", DType::kI16},
      {"i8", DType::kI8},     {"u8", DType::kI8},       {"i1", DType::kI1}};
  return kNames.at(name);
}

Values decoded(DType d, const Bytes& bytes) {
  const auto size = static_cast<std::size_t>(kernel::byte_size(d));
  Values out;
  for (std::size_t i = 0; i + size <= bytes.size(); i += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i, size);
    out.push_back(decode(d, bits));
  }
  return out;
}

/// How far a float result may lie from the GPU's: |difference| <= relative * |value| + absolute.
/// Integers have to be equal.
struct Tolerance {
  double relative = 0, absolute = 0;
};

// Why a GPU's float differs from ours: its compiler contracts a product and a sum into one fma
// (one rounding fewer; where terms cancel, by the last place of the terms); f32 division and the
// functions of its library are within 2 units of the last place, not correctly rounded; reductions,
// scans, products and atomics add in another order (n terms: n units of the last place of their
// magnitudes).
constexpr Tolerance kContracted{1e-6, 1e-6};
constexpr Tolerance kDivided{3e-7, 0};
constexpr Tolerance kSummed{1e-6, 1e-5};     // some hundred terms of magnitude 1
constexpr Tolerance kMultiplied{1.2e-5, 0};  // 200 factors near 1
// 128 exact products of magnitude 1 to 10; the tensor cores cut off what does not fit beside the
// largest of the terms that they add at a time.
constexpr Tolerance kDot{2e-6, 3e-5};
constexpr Tolerance kDot64{1e-15, 1e-13};
// f16 accumulators: the hardware rounds them after every 16 products, we once a tt.dot.
constexpr Tolerance kDotIntoHalf{2e-3, 0.04};
constexpr Tolerance kHalf{1.5e-3, 1e-2};  // a result in f16, from f16 values in between

/// By launch and tensor, or by launch; what is not listed has to be exact.
Tolerance tolerance(const std::string& launch, const std::string& tensor) {
  static const std::map<std::string, Tolerance> kTolerances = {
      {"complex_multiply", kContracted},
      {"quantize_rows.back_ptr", kContracted},
      {"quantize_rows.scale_ptr", kDivided},
      {"random_dropout", kDivided},
      {"scans.sum_ptr", kSummed},
      {"scans.prod_ptr", kMultiplied},
      {"segmented_sum", kSummed},
      {"variance", kSummed},
      {"bag_of_rows", kSummed},
      {"functions.out_ptr", kSummed},
      {"functions.d_ptr", {1e-15, 0}},
      {"call_a_function", kContracted},
      {"early_return", kSummed},
      {"device_descriptor.sum_ptr", kContracted},
      {"dot_f16", kDot},
      {"dot_bf16", kDot},
      {"dot_f8", kDot},
      {"dot_f8e5", kDot},
      {"dot_f32", kDot},
      {"dot_f32_ieee", kDot},
      {"dot_f32_tf32x3", kDot},
      {"dot_f64", kDot64},
      {"dot_f16_into_f16", kDotIntoHalf},
      {"batched_dot", kDot},
      {"scaled_dot", kDot},
      {"pair_of_dots", kHalf},
      {"loop_forms", kContracted},
  };
  for (const auto& key : {launch + "." + tensor, launch}) {
    if (const auto it = kTolerances.find(key); it != kTolerances.end()) return it->second;
  }
  return {};
}

void expect_close(const Values& actual, const Values& gpu, DType d, const Tolerance& t) {
  ASSERT_EQ(actual.size(), gpu.size());
  double worst = 0;
  std::size_t differ = 0, at = 0;
  for (std::size_t i = 0; i < gpu.size(); ++i) {
    if ((std::isnan(actual[i]) && std::isnan(gpu[i])) || actual[i] == gpu[i]) continue;
    const double off = std::fabs(actual[i] - gpu[i]);
    const double allowed = kernel::is_float(d) ? t.relative * std::fabs(gpu[i]) + t.absolute : 0;
    if (off <= allowed) continue;
    ++differ;
    if (!(off <= worst)) worst = off, at = i;
  }
  EXPECT_EQ(differ, 0u) << "worst at element " << at << ": " << actual[at] << ", the GPU has "
                        << gpu[at];
}

struct Case {
  const json* launch;
  std::string extension;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.launch->at("name").get<std::string>() << c.extension;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const json& launch : launches()) {
    for (const char* extension : {".ttir", ".ttgir", ".sm80.ttgir"}) {
      const std::string file = kFolder + "ir/" + launch.at("name").get<std::string>() + extension;
      if (std::filesystem::exists(file)) all.push_back({&launch, extension});
    }
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.launch->at("name").get<std::string>() + info.param.extension;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class Language : public testing::TestWithParam<Case> {
 protected:
  std::string name() const { return GetParam().launch->at("name"); }
  std::string data(const std::string& tensor, const char* suffix) const {
    return kFolder + "data/" + name() + "." + tensor + suffix;
  }
  void bind(KernelRun& k, const kernel::Module& module) const {
    const json& args = GetParam().launch->at("args");
    for (const auto& parameter : module.kernel()->entry().args) {
      const std::string named(kernel::parameter_name(*parameter));
      const json& a = args.at(named);
      if (a.is_object()) {
        Init init;
        init.kind = Init::Kind::kData;
        init.data = std::make_shared<const Bytes>(npy(data(named, ".npy")));
        k.tensor(named, dtype_of(a.at("dtype")), a.at("shape"), init);
      } else if (kernel::is_float(parameter->type->dtype)) {
        k.real(named, a);
      } else {
        k.integer(named, a);
      }
    }
  }
};

bool reorders(const kernel::Module& module) {
  const auto& ops = module.kernel()->entry().ops;
  return module.form == kernel::Form::kTtir &&
         std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op->name() == "tt.cat"; });
}

TEST_P(Language, ComputesWhatTheGpuComputed) {
  const auto module = read_kernel(kFolder + "ir/" + name() + GetParam().extension);
  ASSERT_TRUE(module);
  KernelRun k(module);
  bind(k, *module);
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::size_t axis = 0;
  for (const json& n : GetParam().launch->at("grid")) grid.at(axis++) = n;
  ASSERT_TRUE(k.run(grid)) << k.error.line.str() << ": " << k.error.message;
  if (reorders(*module)) {
    // Without layouts, the order in which tt.cat lays its elements is open: the sum is not.
    const Values actual = k.values("out_ptr"),
                 gpu = decoded(DType::kF32, npy(data("out_ptr", ".out.npy")));
    const double sum = std::accumulate(gpu.begin(), gpu.end(), 0.0);
    EXPECT_NEAR(std::accumulate(actual.begin(), actual.end(), 0.0), sum, 1e-5);
    return;
  }
  for (const json& output : GetParam().launch->at("outputs")) {
    SCOPED_TRACE(output);
    const DType d = k.memory.find(output.get<std::string>())->dtype;
    const Values gpu = decoded(d, npy(data(output, ".out.npy")));
    expect_close(k.values(output), gpu, d, tolerance(name(), output));
  }
}

/// Addresses, masks and control are the same with --values off, or what stands in their way is
/// named.
TEST_P(Language, TouchesTheSameMemoryWithoutValues) {
  const auto module = read_kernel(kFolder + "ir/" + name() + GetParam().extension);
  ASSERT_TRUE(module);
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::size_t axis = 0;
  for (const json& n : GetParam().launch->at("grid")) grid.at(axis++) = n;
  WorkCounts counts[2];
  for (const bool values : {true, false}) {
    KernelRun k(module);
    bind(k, *module);
    if (!k.run(grid, values)) {
      EXPECT_FALSE(values);
      EXPECT_THAT(k.error.message, testing::HasSubstr("--values off does not hold"));
      return;
    }
    counts[values ? 0 : 1] = k.counts;
  }
  EXPECT_EQ(counts[1].load_bytes, counts[0].load_bytes);
  EXPECT_EQ(counts[1].store_bytes, counts[0].store_bytes);
  EXPECT_EQ(counts[1].flops, counts[0].flops);
}

INSTANTIATE_TEST_SUITE_P(Exec, Language, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace xpusim::exec
