#include "sim/run/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace xpusim::run {
namespace fs = std::filesystem;
using kernel::DType;

namespace {

std::optional<double> as_real(std::string_view s) {
  double v = 0;
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

}  // namespace

std::int64_t TensorSpec::count() const {
  std::int64_t n = 1;
  for (auto d : shape) n *= d;
  return n;
}

const TensorSpec* Workload::tensor(std::string_view wanted) const {
  for (const auto& t : tensors)
    if (t.name == wanted) return &t;
  return nullptr;
}

std::optional<DType> parse_dtype(std::string_view n) {
  static constexpr std::pair<std::string_view, DType> kNames[] = {
      {"f64", DType::kF64},       {"f32", DType::kF32},     {"f16", DType::kF16},
      {"bf16", DType::kBF16},     {"f8", DType::kF8E4M3FN}, {"f8E4M3FN", DType::kF8E4M3FN},
      {"f8E5M2", DType::kF8E5M2}, {"i64", DType::kI64},     {"i32", DType::kI32},
      {"i16", DType::kI16},       {"i8", DType::kI8},       {"i1", DType::kI1},
      {"u64", DType::kI64},       {"u32", DType::kI32},     {"u16", DType::kI16},
      {"u8", DType::kI8}};
  for (const auto& [key, value] : kNames)
    if (key == n) return value;
  return std::nullopt;
}

std::optional<exec::Init> parse_init(std::string_view text) {
  using K = exec::Init::Kind;
  exec::Init init;
  const auto space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  std::optional<double> value;
  if (space != std::string_view::npos) value = as_real(text.substr(space + 1));
  const bool plain = space == std::string_view::npos;
  if (word == "randn" && plain)
    init.kind = K::kRandn;
  else if (word == "zeros" && plain)
    init.kind = K::kZeros;
  else if (word == "ones" && plain)
    init.kind = K::kOnes;
  else if (word == "arange" && plain)
    init.kind = K::kArange;
  else if (word == "full" && value)
    init.kind = K::kFull;
  else if (word == "randint" && value && *value >= 1 && *value <= 0x1p53 &&
           *value == std::floor(*value))
    init.kind = K::kRandint;
  else
    return std::nullopt;
  init.value = value.value_or(0);
  return init;
}

std::string_view file_ending(kernel::Form form) {
  switch (form) {
    case kernel::Form::kTtir:
      return "ttir";
    case kernel::Form::kTtgir:
      return "ttgir";
    case kernel::Form::kMosaic:
      return "mlir";
    case kernel::Form::kStableHlo:
      return "stablehlo.mlir";
  }
  return "";
}

std::string relative_to(const std::string& file, const std::string& path) {
  if (fs::path(path).is_absolute()) return path;
  return (fs::path(file).parent_path() / path).lexically_normal().string();
}

namespace {

/// The names without endings of the files in a path's folder.
std::vector<std::string> stems_beside(const std::string& path) {
  std::vector<std::string> stems;
  std::error_code ec;
  for (fs::directory_iterator it(fs::path(path).parent_path(), ec), end; !ec && it != end;
       it.increment(ec))
    if (it->path().stem() != fs::path(path).filename()) stems.push_back(it->path().stem().string());
  return stems;
}

}  // namespace

Expected<std::string> find_kernel_file(const std::string& stem,
                                       const std::vector<kernel::Form>& forms,
                                       const SourcePosition& where) {
  std::error_code ec;
  if (fs::is_regular_file(stem, ec)) return stem;
  std::string tried;
  for (auto form : forms) {
    const std::string file = stem + "." + std::string(file_ending(form));
    if (fs::is_regular_file(file, ec)) return file;
    tried += (tried.empty() ? "" : ", ") + file;
  }
  return fail(where,
              fmt::format("no kernel '{}' (tried {}){}", stem, tried,
                          did_you_mean(fs::path(stem).filename().string(), stems_beside(stem))));
}

}  // namespace xpusim::run
