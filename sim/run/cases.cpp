#include "sim/run/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace xpusim::run {
namespace {

using Json = nlohmann::ordered_json;

/// Reads one case; problems are thrown as strings inside this file only.
class CaseReader {
 public:
  CaseReader(const std::string& path, const Json& json) : path_(path), json_(json) {}

  Expected<Case> read() {
    if (!json_.is_object() || !json_.contains("name") || !json_["name"].is_string())
      return fail({path_, 0, 0}, "a case must be a map with a name");
    out_.name = json_["name"];
    out_.kernel = json_.value("kernel", out_.name);
    out_.machine = json_.value("machine", "");
    out_.group = json_.value("group", "");
    out_.gate = json_.value("gate", true);
    if (json_.contains("collective"))
      collective();
    else if (json_.contains("kernels"))
      tpu();
    else
      gpu();
    counters();
    if (problems_.has_errors()) return fail(problems_);
    return std::move(out_);
  }

 private:
  void error(const std::string& what) {
    problems_.error({path_, 0, 0}, fmt::format("case '{}': {}", out_.name, what));
  }

  /// The map or list at a key; an empty one if there is none.
  Json part(const char* key, Json::value_t type) {
    const auto found = json_.find(key);
    if (found == json_.end()) return Json(type);
    if (found->type() == type) return *found;
    error(fmt::format("'{}' must be {}", key, type == Json::value_t::object ? "a map" : "a list"));
    return Json(type);
  }

  std::optional<TensorSpec> tensor(const std::string& name, const Json& j) {
    TensorSpec t;
    t.name = name;
    t.where = {path_, 0, 0};
    auto dtype = parse_dtype(j.value("dtype", ""));
    auto init = parse_init(j.value("init", "randn"));
    if (!dtype || !init || !j.contains("shape") || !j["shape"].is_array()) {
      error(fmt::format("argument '{}' needs a known dtype, a shape and a known init", name));
      return std::nullopt;
    }
    t.dtype = *dtype;
    t.init = *init;
    t.init.seed = next_seed_++;
    for (const auto& d : j["shape"]) {
      if (!d.is_number_integer() || d.get<std::int64_t>() < 1) {
        error(fmt::format("argument '{}' has a shape that is none", name));
        return std::nullopt;
      }
      t.shape.push_back(d.get<std::int64_t>());
    }
    return t;
  }

  void argument(Workload& w, LaunchSpec& l, const std::string& name, const std::string& tensor_name,
                const Json& j) {
    ArgSpec a;
    a.name = name;
    a.where = {path_, 0, 0};
    if (j.is_object()) {
      auto t = tensor(tensor_name, j);
      if (!t) return;
      w.tensors.push_back(std::move(*t));
      a.tensor = tensor_name;
      a.kind = ArgSpec::Kind::kTensor;
      if (j.contains("descriptor_block")) {
        a.kind = ArgSpec::Kind::kDescriptor;
        for (const auto& b : j["descriptor_block"]) a.block.push_back(b.get<std::int64_t>());
      }
    } else if (j.is_number_integer()) {
      a.kind = ArgSpec::Kind::kInteger;
      a.integer = j.get<std::int64_t>();
      a.real = static_cast<double>(a.integer);
    } else if (j.is_number()) {
      a.kind = ArgSpec::Kind::kReal;
      a.real = j.get<double>();
    } else if (!j.is_null()) {
      return error(fmt::format("argument '{}' is neither tensor nor number", name));
    }
    l.args.push_back(std::move(a));
  }

  void gpu() {
    Workload w;
    w.name = out_.name;
    w.path = path_;
    LaunchSpec l;
    l.where = {path_, 0, 0};
    l.kernel[""] = json_.value("ir", "");
    if (l.kernel[""].empty()) error("needs 'ir'");
    for (const auto& g : part("grid", Json::value_t::array)) {
      if (!g.is_string() && !g.is_number_integer())
        error("a grid dimension is a number or an expression");
      l.grid.push_back(g.is_string() ? g.get<std::string>() : g.dump());
    }
    const Json constexprs = part("constexprs", Json::value_t::object);
    for (const auto& [key, value] : constexprs.items())
      l.constexprs[key] = value.is_string() ? value.get<std::string>() : value.dump();
    if (json_.contains("num_warps")) l.num_warps = json_["num_warps"].get<std::int64_t>();
    if (json_.contains("num_stages")) l.num_stages = json_["num_stages"].get<std::int64_t>();
    const Json args = part("args", Json::value_t::object);
    for (const auto& [key, value] : args.items()) argument(w, l, key, key, value);
    out_.problem = out_.kernel + args.dump() + json_.value("flops", Json()).dump();
    w.launches.push_back(std::move(l));
    out_.workloads.push_back(std::move(w));
    const Json c = part("counters", Json::value_t::object);
    if (c.contains("duration_ns")) {
      out_.measured_ns = c["duration_ns"].get<double>();
      if (!(*out_.measured_ns > 0)) error("a measured duration_ns must be above 0");
      if (c.contains("cycles")) out_.clock_hz = c["cycles"].get<double>() / *out_.measured_ns * 1e9;
    } else {
      steady_loop(part("measured", Json::value_t::object));
    }
    if (out_.clock_hz) out_.counters["clock_mhz"] = *out_.clock_hz * 1e-6;
  }

  /// A case without counters of one launch may have a launch's share of a steady loop.
  void steady_loop(const Json& m) {
    if (!m.contains("loop_us")) return;
    out_.steady_loop = true;
    out_.measured_ns = m["loop_us"].get<double>() * 1e3;
    if (!(*out_.measured_ns > 0)) error("a measured loop_us must be above 0");
    if (m.contains("clock_mhz")) out_.clock_hz = m["clock_mhz"].get<double>() * 1e6;
    if (m.contains("energy_uj_per_launch"))
      out_.counters["energy_uj"] = m["energy_uj_per_launch"].get<double>();
  }

  /// A collective of a system: `bytes` is the larger of a chip's input and output, `chips` of a
  /// group.
  void collective() {
    Workload w;
    w.name = out_.name;
    w.path = path_;
    LaunchSpec l;
    l.where = {path_, 0, 0};
    CollectiveSpec c;
    c.where = c.axes_where = c.algorithm_where = l.where;
    c.op = json_.value("collective", "");
    c.algorithm = json_.value("algorithm", "auto");
    for (const auto& axis : part("axes", Json::value_t::array))
      c.axes.push_back(axis.get<std::string>());
    if (!is_collective(c.op)) error(fmt::format("no collective '{}'", c.op));
    const auto dtype = parse_dtype(json_.value("dtype", "f32"));
    const auto bytes = json_.value("bytes", std::int64_t{0}),
               chips = json_.value("chips", std::int64_t{0});
    if (!dtype || bytes <= 0 || chips <= 0) return error("needs a known dtype, bytes and chips");
    const std::int64_t whole = bytes / kernel::byte_size(*dtype), share = whole / chips;
    const auto add = [&](const char* name, std::int64_t count) {
      TensorSpec t;
      t.name = name;
      t.dtype = *dtype;
      t.shape = {count};
      t.init.seed = next_seed_++;
      t.where = l.where;
      w.tensors.push_back(std::move(t));
    };
    add("in", c.op == "all_gather" ? share : whole);
    add("out", c.op == "reduce_scatter" ? share : whole);
    c.tensor = "in";
    c.output = "out";
    l.collective = std::move(c);
    out_.kernel = l.collective->op;
    out_.problem = out_.name;
    w.launches.push_back(std::move(l));
    out_.workloads.push_back(std::move(w));
    const Json m = part("measured", Json::value_t::object);
    if (m.contains("us")) out_.measured_ns = m["us"].get<double>() * 1e3;
    out_.host_ns = m.value("host_us", 0.0) * 1e3;
  }

  void tpu() {
    const std::string measure = json_.value("measure", "single");
    out_.measure = measure == "slope"  ? Measure::kSlope
                   : measure == "best" ? Measure::kBest
                                       : Measure::kSingle;
    if (measure != "single" && measure != "slope" && measure != "best")
      error(fmt::format("unknown measure '{}'", measure));
    const Json args = part("args", Json::value_t::array);
    for (const auto& kernel : part("kernels", Json::value_t::array)) {
      Workload w;
      w.name = kernel.get<std::string>();
      w.path = path_;
      LaunchSpec l;
      l.where = {path_, 0, 0};
      l.kernel[""] = kernel.get<std::string>();
      std::size_t i = 0;
      for (const auto& a : args) argument(w, l, "", fmt::format("arg{}", i++), a);
      w.launches.push_back(std::move(l));
      out_.workloads.push_back(std::move(w));
    }
    if (out_.workloads.size() < (out_.measure == Measure::kSlope ? 2u : 1u))
      error("lists too few kernels");
    out_.problem = out_.name;
    const Json m = part("measured", Json::value_t::object);
    if (!m.contains("us")) return;
    out_.measured_ns = (m["us"].get<double>() - m.value("overhead_us", 0.0)) * 1e3;
    if (!(*out_.measured_ns > 0)) error("measured us less overhead_us must be above 0");
  }

  void counters() {
    if (!json_.contains("counters") || !json_["counters"].is_object()) return;
    const Json& c = json_["counters"];
    for (const auto& [key, value] : c.items())
      if (value.is_number()) out_.counters[key] = value.get<double>();
  }

  const std::string& path_;
  const Json& json_;
  Case out_;
  Diagnostics problems_;
  std::uint64_t next_seed_ = 1;
};

}  // namespace

Expected<std::vector<Case>> load_cases(const std::string& path) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return fail({path, 0, 0}, "this is a folder");
  std::ifstream in(path);
  if (!in) return fail({path, 0, 0}, "cannot read this file");
  Json root;
  try {
    root = Json::parse(in);
  } catch (const nlohmann::json::parse_error& e) {
    return fail({path, 0, 0}, fmt::format("no JSON: {}", e.what()));
  }
  if (root.is_object() && root.contains("cases")) root = Json(root["cases"]);
  if (!root.is_array()) return fail({path, 0, 0}, "expected a list of cases");
  const bool is_cases = std::any_of(root.begin(), root.end(), [](const Json& c) {
    return c.is_object() && c.contains("name") &&
           (c.contains("ir") || c.contains("kernels") || c.contains("collective"));
  });
  if (!is_cases)
    return fail({path, 0, 0},
                "not a cases file: no entry has a name and a kernel ('ir', 'kernels')");
  std::vector<Case> out;
  Diagnostics problems;
  for (const auto& j : root) {
    try {
      auto c = CaseReader(path, j).read();
      if (c)
        out.push_back(std::move(*c));
      else
        problems.append(c.error());
    } catch (const nlohmann::json::exception& e) {
      const std::string what = e.what();  // "[json.exception.type_error.302] type must be ..."
      const std::size_t text = what.find("] ");
      problems.error({path, 0, 0},
                     fmt::format("case '{}': {}", j.value("name", "?"),
                                 text == std::string::npos ? what : what.substr(text + 2)));
    }
  }
  if (problems.has_errors()) return fail(problems);
  return out;
}

}  // namespace xpusim::run
