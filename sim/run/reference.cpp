#include "sim/run/reference.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "sim/run/collective.h"
#include "sim/run/npy.h"
#include "sim/run/reference_lookup.h"

namespace xpusim::run {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Evaluator = std::function<const Array*(const std::string&)>;

std::string text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Row-major strides of `shape` seen with the rank of `out`, 0 along broadcast dimensions.
std::vector<std::int64_t> broadcast_strides(const std::vector<std::int64_t>& shape,
                                            std::size_t rank) {
  std::vector<std::int64_t> strides(rank, 0);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t d = shape.size() - 1 - i;
    if (shape[d] != 1) strides[rank - 1 - i] = step;
    step *= shape[d];
  }
  return strides;
}

/// The broadcast shape of two, or none.
std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                   const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = std::max(x, y);
  }
  return out;
}

template <class F>
Expected<Array> binary(const Expression& e, const Array& a, const Array& b, F f) {
  auto shape = broadcast(a.shape, b.shape);
  if (!shape)
    return fail(e.where,
                fmt::format("'{}' of shapes {} and {}", e.name, text(a.shape), text(b.shape)));
  Array out{*shape, {}};
  std::size_t count = 1;
  for (auto d : *shape) count *= static_cast<std::size_t>(d);
  out.values.resize(count);
  if (a.shape == b.shape) {
    for (std::size_t i = 0; i < count; ++i) out.values[i] = f(a.values[i], b.values[i]);
    return out;
  }
  const auto sa = broadcast_strides(a.shape, shape->size());
  const auto sb = broadcast_strides(b.shape, shape->size());
  std::vector<std::int64_t> index(shape->size(), 0);
  std::int64_t at = 0, bt = 0;
  for (std::size_t i = 0; i < count; ++i) {
    out.values[i] =
        f(a.values[static_cast<std::size_t>(at)], b.values[static_cast<std::size_t>(bt)]);
    for (std::size_t d = shape->size(); d-- > 0;) {
      at += sa[d];
      bt += sb[d];
      if (++index[d] < (*shape)[d]) break;
      at -= sa[d] * (*shape)[d];
      bt -= sb[d] * (*shape)[d];
      index[d] = 0;
    }
  }
  return out;
}

using Unary = double (*)(double);
Unary find_unary(const std::string& name) {
  static const std::map<std::string, Unary> kFunctions = {
      {"neg", [](double x) { return -x; }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"abs", [](double x) { return std::abs(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},  // ties to even
      {"sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }}};
  auto it = kFunctions.find(name);
  return it == kFunctions.end() ? nullptr : it->second;
}

using Binary = double (*)(double, double);
Binary find_binary(const std::string& name) {
  static const std::map<std::string, Binary> kFunctions = {
      {"add", [](double x, double y) { return x + y; }},
      {"sub", [](double x, double y) { return x - y; }},
      {"mul", [](double x, double y) { return x * y; }},
      {"div", [](double x, double y) { return x / y; }},
      {"floordiv", [](double x, double y) { return std::floor(x / y); }},
      {"mod", [](double x, double y) { return x - std::floor(x / y) * y; }},
      {"pow", [](double x, double y) { return std::pow(x, y); }},
      {"maximum", [](double x, double y) { return std::max(x, y); }},
      {"minimum", [](double x, double y) { return std::min(x, y); }},
      {"lt", [](double x, double y) { return double(x < y); }},
      {"le", [](double x, double y) { return double(x <= y); }},
      {"gt", [](double x, double y) { return double(x > y); }},
      {"ge", [](double x, double y) { return double(x >= y); }},
      {"eq", [](double x, double y) { return double(x == y); }},
      {"ne", [](double x, double y) { return double(x != y); }}};
  auto it = kFunctions.find(name);
  return it == kFunctions.end() ? nullptr : it->second;
}

/// A shape split around one axis: outer x length x inner.
struct AxisSplit {
  std::size_t outer = 1, length = 1, inner = 1;
  std::size_t axis = 0;
};
Expected<AxisSplit> split(const Expression& e, const Array& a, double default_axis) {
  auto it = e.keywords.find("axis");
  const double wanted = it == e.keywords.end() ? default_axis : it->second;
  const double rank = static_cast<double>(a.shape.size());
  const double axis = wanted < 0 ? wanted + rank : wanted;
  if (!(axis >= 0 && axis < rank))
    return fail(e.where, fmt::format("no axis {} in shape {}", wanted, text(a.shape)));
  AxisSplit s;
  s.axis = static_cast<std::size_t>(axis);
  for (std::size_t d = 0; d < a.shape.size(); ++d)
    (d < s.axis    ? s.outer
     : d == s.axis ? s.length
                   : s.inner) *= static_cast<std::size_t>(a.shape[d]);
  return s;
}

/// sum, mean, max or min of all elements, or along an axis.
Expected<Array> reduce(const Expression& e, const Array& a) {
  const bool is_max = e.name == "max", is_min = e.name == "min";
  const double start = is_max ? -INFINITY : is_min ? INFINITY : 0;
  const auto combine = [&](double r, double v) {
    return is_max ? std::max(r, v) : is_min ? std::min(r, v) : r + v;
  };
  AxisSplit s;
  s.length = a.values.size();
  Array out;
  if (e.keywords.count("axis")) {
    auto along = split(e, a, -1);
    if (!along) return fail(along.error());
    s = *along;
    out.shape = a.shape;
    out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(s.axis));
  }
  out.values.assign(s.outer * s.inner, start);
  for (std::size_t o = 0; o < s.outer; ++o)
    for (std::size_t k = 0; k < s.length; ++k)
      for (std::size_t i = 0; i < s.inner; ++i) {
        double& r = out.values[o * s.inner + i];
        r = combine(r, a.values[(o * s.length + k) * s.inner + i]);
      }
  if (e.name == "mean")
    for (double& r : out.values) r /= static_cast<double>(s.length);
  return out;
}

/// With `causal=1`: -inf for what lies right of the diagonal of the last two dimensions.
void hide_future(const Expression& e, Array& a) {
  const auto it = e.keywords.find("causal");
  if (it == e.keywords.end() || it->second == 0 || a.shape.size() < 2) return;
  const auto rows = static_cast<std::size_t>(a.shape[a.shape.size() - 2]);
  const auto cols = static_cast<std::size_t>(a.shape.back());
  for (std::size_t i = 0; i < a.values.size(); ++i)
    if (i % cols > i / cols % rows) a.values[i] = -INFINITY;
}

Expected<Array> softmax(const Expression& e, Array a) {
  auto s = split(e, a, -1);
  if (!s) return fail(s.error());
  hide_future(e, a);
  for (std::size_t o = 0; o < s->outer; ++o)
    for (std::size_t i = 0; i < s->inner; ++i) {
      const auto at = [&](std::size_t k) -> double& {
        return a.values[(o * s->length + k) * s->inner + i];
      };
      double top = -INFINITY, sum = 0;
      for (std::size_t k = 0; k < s->length; ++k) top = std::max(top, at(k));
      for (std::size_t k = 0; k < s->length; ++k) sum += at(k) = std::exp(at(k) - top);
      for (std::size_t k = 0; k < s->length; ++k) at(k) /= sum;
    }
  return a;
}

/// layer_norm(x, w, b, eps=1e-5) over the last dimension.
Expected<Array> layer_norm(const Expression& e, const Array& x, const Array& w, const Array& b) {
  const std::size_t n = x.shape.empty() ? 1 : static_cast<std::size_t>(x.shape.back());
  if (w.values.size() != n || b.values.size() != n)
    return fail(e.where, fmt::format("layer_norm wants {} weights and biases", n));
  auto it = e.keywords.find("eps");
  const double eps = it == e.keywords.end() ? 1e-5 : it->second;
  Array out = x;
  for (std::size_t row = 0; row < x.values.size() / n; ++row) {
    double* v = out.values.data() + row * n;
    double mean = 0, var = 0;
    for (std::size_t k = 0; k < n; ++k) mean += v[k];
    mean /= static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) var += (v[k] - mean) * (v[k] - mean);
    const double r = 1 / std::sqrt(var / static_cast<double>(n) + eps);
    for (std::size_t k = 0; k < n; ++k) v[k] = (v[k] - mean) * r * w.values[k] + b.values[k];
  }
  return out;
}

Expected<Array> transpose(const Expression& e, const Array& a) {
  if (a.shape.size() < 2) return fail(e.where, "transpose wants two dimensions or more");
  const auto rows = static_cast<std::size_t>(a.shape[a.shape.size() - 2]);
  const auto cols = static_cast<std::size_t>(a.shape.back());
  Array out = a;
  std::swap(out.shape[out.shape.size() - 2], out.shape.back());
  for (std::size_t base = 0; base < a.values.size(); base += rows * cols)
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c)
        out.values[base + c * rows + r] = a.values[base + r * cols + c];
  return out;
}

/// Matrix product over the last two dimensions; leading dimensions must be equal.
Expected<Array> matmul(const Expression& e, const Array& a, const Array& b) {
  const std::size_t rank = a.shape.size();
  const bool fits = rank >= 2 && b.shape.size() == rank && a.shape[rank - 1] == b.shape[rank - 2] &&
                    std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin());
  if (!fits) return fail(e.where, fmt::format("matmul of {} and {}", text(a.shape), text(b.shape)));
  const auto m = a.shape[rank - 2], k = a.shape[rank - 1], n = b.shape[rank - 1];
  const auto batches = static_cast<std::int64_t>(a.values.size()) / (m * k);
  Array out;
  out.shape = a.shape;
  out.shape.back() = n;
  out.values.resize(static_cast<std::size_t>(batches * m * n));
  for (std::int64_t i = 0; i < batches; ++i)
    Eigen::Map<Matrix>(out.values.data() + i * m * n, m, n).noalias() =
        Eigen::Map<const Matrix>(a.values.data() + i * m * k, m, k) *
        Eigen::Map<const Matrix>(b.values.data() + i * k * n, k, n);
  return out;
}

/// attention(q, k, v, scale=.., causal=0) over [heads, seq, dim].
Expected<Array> attention(const Expression& e, const Array& q, const Array& k, const Array& v) {
  auto kt = transpose(e, k);
  if (!kt) return kt;
  auto s = matmul(e, q, *kt);
  if (!s) return s;
  const auto dim = static_cast<double>(q.shape.back());
  auto it = e.keywords.find("scale");
  const double scale = it == e.keywords.end() ? 1 / std::sqrt(dim) : it->second;
  for (double& score : s->values) score *= scale;
  auto p = softmax(e, std::move(*s));
  if (!p) return p;
  return matmul(e, *p, v);
}

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> kNames = {
      "exp",   "exp2",    "expm1",      "log",       "log2",    "log1p",   "sqrt", "rsqrt",
      "sin",   "cos",     "tan",        "atan",      "tanh",    "erf",     "abs",  "floor",
      "ceil",  "round",   "sign",       "relu",      "sigmoid", "silu",    "gelu", "pow",
      "where", "maximum", "minimum",    "transpose", "matmul",  "sum",     "mean", "max",
      "min",   "softmax", "layer_norm", "attention", "take",    "bincount"};
  return kNames;
}

/// What is wrong with the first keyword that the function does not take, if any.
std::optional<std::string> foreign_keyword(const Expression& e) {
  static const std::map<std::string, std::vector<std::string>> kKeywords = {
      {"sum", {"axis"}},
      {"mean", {"axis"}},
      {"max", {"axis"}},
      {"min", {"axis"}},
      {"softmax", {"axis", "causal"}},
      {"layer_norm", {"eps"}},
      {"bincount", {"bins"}},
      {"attention", {"scale", "causal"}}};
  const auto it = kKeywords.find(e.name);
  const std::vector<std::string> known =
      it == kKeywords.end() ? std::vector<std::string>{} : it->second;
  for (const auto& [key, value] : e.keywords)
    if (std::find(known.begin(), known.end(), key) == known.end())
      return fmt::format("'{}' takes no '{}='{}", e.name, key, did_you_mean(key, known));
  return std::nullopt;
}

Expected<Array> call(const Expression& e, std::vector<Array> a) {
  if (const auto problem = foreign_keyword(e)) return fail(e.where, *problem);
  if (a.size() == 1) {
    if (Unary f = find_unary(e.name)) {
      for (double& v : a[0].values) v = f(v);
      return std::move(a[0]);
    }
    if (e.name == "sum" || e.name == "mean" || e.name == "max" || e.name == "min")
      return reduce(e, a[0]);
    if (e.name == "softmax") return softmax(e, std::move(a[0]));
    if (e.name == "transpose") return transpose(e, a[0]);
    if (e.name == "bincount") return bincount(e, a[0]);
  }
  if (a.size() == 2) {
    if (Binary f = find_binary(e.name)) return binary(e, a[0], a[1], f);
    if (e.name == "matmul") return matmul(e, a[0], a[1]);
    if (e.name == "take") return take(e, a[0], a[1]);
  }
  if (a.size() == 3) {
    if (e.name == "layer_norm") return layer_norm(e, a[0], a[1], a[2]);
    if (e.name == "attention") return attention(e, a[0], a[1], a[2]);
    if (e.name == "where") {
      auto yes = binary(e, a[0], a[1], [](double c, double x) { return c != 0 ? x : NAN; });
      if (!yes) return yes;
      auto no = binary(e, a[0], a[2], [](double c, double x) { return c != 0 ? NAN : x; });
      if (!no) return no;
      return binary(e, *yes, *no, [](double x, double y) { return std::isnan(x) ? y : x; });
    }
  }
  const auto& names = function_names();
  if (std::find(names.begin(), names.end(), e.name) != names.end())
    return fail(e.where, fmt::format("'{}' does not take {} arguments", e.name, a.size()));
  if (is_collective(e.name))
    return fail(e.where, fmt::format("'{}' is of a system's chips, such as --on tpu_v5e_4, not of "
                                     "one chip",
                                     e.name));
  return fail(e.where, fmt::format("no function '{}' of {} arguments{}", e.name, a.size(),
                                   did_you_mean(e.name, names)));
}

}  // namespace

Expected<Array> evaluate(const Expression& e, const Evaluator& find) {
  if (e.kind == Expression::Kind::kNumber) return Array{{}, {e.number}};
  if (e.kind == Expression::Kind::kName) {
    if (const Array* a = find(e.name)) return *a;
    return fail(e.where, fmt::format("no tensor or number '{}'", e.name));
  }
  std::vector<Array> args;
  for (const auto& a : e.args) {
    auto v = evaluate(a, find);
    if (!v) return v;
    args.push_back(std::move(*v));
  }
  return call(e, std::move(args));
}

namespace {

/// What a .npy file holds, in the dtype and shape of the tensor.
Expected<Array> read_file(const std::string& path, const TensorSpec& t,
                          const SourcePosition& where) {
  auto data = read_npy(path, t.dtype, t.shape, where);
  if (!data) return fail(data.error());
  const auto size = static_cast<std::size_t>(kernel::byte_size(t.dtype));
  Array a{t.shape, {}};
  a.values.resize((*data)->size() / size);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, (*data)->data() + i * size, size);
    a.values[i] = exec::decode(t.dtype, bits);
  }
  return a;
}

}  // namespace

Expected<void> Checker::prepare(const Workload& workload, const exec::DeviceMemory& memory) {
  std::map<std::string, Array> inputs;
  const Evaluator find = [&](const std::string& name) -> const Array* {
    auto it = inputs.find(name);
    if (it != inputs.end()) return &it->second;
    const exec::Allocation* t = memory.find(std::string_view(name));
    if (!t) return nullptr;
    return &inputs.emplace(name, Array{t->shape, memory.as_doubles(*t)}).first->second;
  };
  for (const auto& spec : workload.expect) {
    const TensorSpec* t = workload.tensor(spec.tensor);
    auto want = spec.file.empty() ? evaluate(spec.reference, find)
                                  : read_file(spec.file, *t, spec.file_where);
    if (!want) return fail(want.error());
    const auto count = static_cast<std::size_t>(t->count());
    if (want->values.size() != count && want->values.size() != 1)
      return fail(spec.where, fmt::format("the reference of '{}' has shape {}, the tensor {}",
                                          spec.tensor, text(want->shape), text(t->shape)));
    references_.push_back({spec, std::move(*want)});
  }
  return {};
}

CheckResult compare(const ExpectSpec& spec, const Array& reference,
                    const exec::DeviceMemory& memory) {
  CheckResult c;
  c.tensor = spec.tensor;
  const exec::Allocation* t = memory.find(std::string_view(spec.tensor));
  const auto got = memory.as_doubles(*t);
  std::size_t worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = reference.values[reference.values.size() == 1 ? 0 : i];
    const bool same = got[i] == want || (std::isnan(got[i]) && std::isnan(want));
    const double error = same ? 0 : std::abs(got[i] - want);
    const double ratio = same ? 0 : error / (spec.atol + spec.rtol * std::abs(want));
    if (ratio > c.worst_ratio || (std::isnan(ratio) && !std::isnan(c.worst_ratio))) {
      c.worst_ratio = ratio;
      c.worst_error = error;
      worst = i;
    }
  }
  c.right = c.worst_ratio <= 1;
  for (std::size_t d = t->shape.size(), rest = worst; d-- > 0;
       rest /= static_cast<std::size_t>(t->shape[d]))
    c.worst_index.insert(c.worst_index.begin(),
                         static_cast<std::int64_t>(rest % static_cast<std::size_t>(t->shape[d])));
  return c;
}

std::vector<CheckResult> Checker::compare(const exec::DeviceMemory& memory) const {
  std::vector<CheckResult> out;
  for (const auto& r : references_) out.push_back(run::compare(r.spec, r.want, memory));
  return out;
}

}  // namespace xpusim::run
