// Reads launch files.

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sim/run/collective_reader.h"
#include "sim/run/file_parts.h"
#include "sim/run/launch_choices.h"
#include "sim/run/launch_order.h"
#include "sim/run/machine.h"
#include "sim/run/npy.h"
#include "sim/run/workload.h"

namespace xpusim::run {
using config::Node;
using kernel::DType;

namespace {

std::optional<std::int64_t> as_integer(std::string_view s) {
  std::int64_t v = 0;
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}
std::optional<double> as_real(std::string_view s) {
  double v = 0;
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

/// Where the text of a scalar begins: behind its quote, if it has one.
SourcePosition text_start(const Node& node) {
  SourcePosition p = node.origin;
  if (node.quoted) ++p.column;
  return p;
}

/// Reads the parts of a launch file, collecting every problem.
class Reader {
 public:
  explicit Reader(std::string path) { out_.path = std::move(path); }

  Expected<Workload> read(const Node& root) {
    static const std::vector<std::string> kKeys = {"schema",   "name",  "tensors", "launches",
                                                   "variants", "sizes", "expect"};
    if (root.kind != Node::Kind::kMap) return fail(root.origin, "a launch file is a map");
    check_keys(root, kKeys, "a launch file", problems_);
    out_.name = read_head(root, "xpusim.workload/1", out_.path, problems_);
    if (const Node* t = map_at(root, "tensors")) {
      for (const auto& [key, node] : t->entries) tensor(key, node);
    }
    if (const Node* l = root.find("launches");
        l && l->kind == Node::Kind::kList && !l->items.empty()) {
      for (const auto& item : l->items) launch(item);
    } else {
      problems_.error(l ? l->origin : root.origin,
                      "expected 'launches:', a list with at least one");
    }
    if (!problems_.has_errors()) check_order(out_.launches, problems_);
    check_choices(root, out_, problems_);
    if (const Node* e = map_at(root, "expect")) {
      for (const auto& [key, node] : e->entries) expect(key, node);
    }
    if (problems_.has_errors()) return fail(problems_);
    return std::move(out_);
  }

 private:
  const Node* map_at(const Node& node, std::string_view key) {
    const Node* n = node.find(key);
    if (!n) return nullptr;
    if (n->kind == Node::Kind::kMap) return n;
    problems_.error(n->origin, fmt::format("'{}' must be a map", key));
    return nullptr;
  }

  void tensor(const std::string& name, const Node& node) {
    static const std::vector<std::string> kKeys = {"dtype", "shape",      "init",
                                                   "seed",  "replicated", "shard"};
    TensorSpec t;
    t.name = name;
    t.where = node.key_origin;
    if (node.kind != Node::Kind::kMap) {
      problems_.error(node.origin,
                      fmt::format("tensor '{}' must be a map with dtype and shape", name));
      return;
    }
    check_keys(node, kKeys, fmt::format("tensor '{}'", name), problems_);
    const Node* dtype = node.find("dtype");
    auto parsed = dtype ? parse_dtype(dtype->scalar) : std::nullopt;
    if (!parsed)
      problems_.error(
          dtype ? dtype->origin : node.origin,
          fmt::format("tensor '{}' {}: f64 f32 f16 bf16 f8 f8E5M2 i64 i32 i16 i8 i1 (or uN)", name,
                      dtype ? fmt::format("has the unknown dtype '{}'; it is one of", dtype->scalar)
                            : "needs a dtype"));
    t.dtype = parsed.value_or(DType::kF32);
    shape(t, node);
    init(t, node);
    if (const Node* seed = node.find("seed")) {
      auto v = as_integer(seed->scalar);
      if (!v || *v < 0) problems_.error(seed->origin, "a seed is a whole number, 0 or more");
      t.init.seed = static_cast<std::uint64_t>(v.value_or(0));
    } else {
      t.init.seed = out_.tensors.size() + 1;
    }
    across_chips(t, node);
    out_.tensors.push_back(std::move(t));
  }

  /// Which part of it each of several chips has.
  void across_chips(TensorSpec& t, const Node& node) {
    const Node* own = node.find("replicated");
    const Node* shard = node.find("shard");
    if (own) {
      t.replicated = own->scalar == "true";
      if (!t.replicated && own->scalar != "false")
        problems_.error(own->origin, "replicated is true or false");
    }
    if (!shard) return;
    t.shard_where = shard->origin;
    const auto axis = as_integer(shard->scalar);
    const auto rank = static_cast<std::int64_t>(t.shape.size());
    if (!axis || *axis < 0 || *axis >= rank) {
      problems_.error(shard->origin, fmt::format("shard is one of the {} dimensions of tensor "
                                                 "'{}', counted from 0",
                                                 rank, t.name));
      return;
    }
    if (t.replicated)
      problems_.error(shard->origin,
                      "a tensor has parts (shard), or is the same on all chips (replicated)");
    t.shard = axis;
  }

  void shape(TensorSpec& t, const Node& node) {
    const Node* shape = node.find("shape");
    if (!shape || shape->kind != Node::Kind::kList) {
      problems_.error(shape ? shape->origin : node.origin,
                      fmt::format("tensor '{}' needs a shape, such as [1024, 64]", t.name));
      return;
    }
    for (const auto& item : shape->items) {
      auto v = as_integer(item.scalar);
      if (!v || *v < 1 || *v > (std::int64_t{1} << 40)) {
        problems_.error(item.origin,
                        fmt::format("'{}' is no dimension: whole numbers from 1", item.scalar));
        return;
      }
      t.shape.push_back(*v);
    }
    double count = 1;
    for (auto d : t.shape) count *= static_cast<double>(d);
    if (count > 1e13)
      problems_.error(shape->origin, fmt::format("tensor '{}' has too many elements", t.name));
  }

  void init(TensorSpec& t, const Node& node) {
    const Node* init = node.find("init");
    if (!init) {
      t.init.kind = exec::Init::Kind::kRandn;
      return;
    }
    if (init->kind == Node::Kind::kMap) {
      const Node* file = init->find("file");
      if (!file) {
        problems_.error(init->origin, "expected 'init: {file: x.npy}' or a word such as randn");
        return;
      }
      static const std::vector<std::string> kKeys = {"file"};
      check_keys(*init, kKeys, "an init", problems_);
      auto data = read_npy(relative_to(out_.path, file->scalar), t.dtype, t.shape, file->origin);
      if (!data) return problems_.append(data.error());
      t.init.kind = exec::Init::Kind::kData;
      t.init.data = *data;
      return;
    }
    auto parsed = parse_init(init->scalar);
    if (!parsed)
      problems_.error(init->origin,
                      fmt::format("unknown init '{}': randn, zeros, ones, full V, arange, "
                                  "randint N or {{file: x.npy}}",
                                  init->scalar));
    t.init = parsed.value_or(exec::Init{});
  }

  std::optional<std::int64_t> count(const Node& node, const char* key) {
    const Node* given = node.find(key);
    if (!given) return std::nullopt;
    const auto n = as_integer(given->scalar);
    if (!n) problems_.error(given->origin, fmt::format("{} is a whole number", key));
    return n;
  }

  void launch(const Node& node) {
    static const std::vector<std::string> kKeys = {
        "kernel", "grid", "constexprs", "args", "num_warps", "num_stages", "name", "after"};
    LaunchSpec l;
    l.where = node.origin;
    if (node.kind != Node::Kind::kMap) return problems_.error(node.origin, "a launch is a map");
    read_order(node, out_.launches, l, problems_);
    if (node.find("collective")) {
      l.collective = read_collective(node, problems_);
      out_.launches.push_back(std::move(l));
      return;
    }
    check_keys(node, kKeys, "a launch", problems_);
    kernel(l, node);
    if (const Node* grid = node.find("grid")) {
      if (grid->kind == Node::Kind::kList) {
        for (const auto& g : grid->items) grid_dimension(l, g);
      } else {
        grid_dimension(l, *grid);
      }
      if (l.grid.empty() || l.grid.size() > 3)
        problems_.error(grid->origin, "a grid has one to three dimensions");
    }
    if (const Node* c = map_at(node, "constexprs")) {
      for (const auto& [key, value] : c->entries) {
        l.constexprs[key] = value.scalar;
        l.constexpr_where[key] = value.key_origin;
        if (value.kind != Node::Kind::kScalar)
          problems_.error(value.origin,
                          fmt::format("constexpr '{}' must be a number or a word", key));
      }
    }
    l.num_warps = count(node, "num_warps");
    l.num_stages = count(node, "num_stages");
    if (const Node* args = node.find("args")) {
      if (args->kind == Node::Kind::kScalar && !args->is_null())
        problems_.error(args->origin, "'args' is a map by parameter (Triton) or a list (Mosaic)");
      for (const auto& [key, value] : args->entries) argument(l, key, value);
      for (const auto& item : args->items) argument(l, "", item);
    }
    out_.launches.push_back(std::move(l));
  }

  void grid_dimension(LaunchSpec& l, const Node& g) {
    if (g.kind != Node::Kind::kScalar)
      problems_.error(g.origin, "a grid dimension is a number or an expression");
    l.grid.push_back(g.scalar);
    l.grid_where.push_back(text_start(g));
  }

  void kernel(LaunchSpec& l, const Node& node) {
    const Node* k = node.find("kernel");
    if (!k) return problems_.error(node.origin, "a launch needs a 'kernel'");
    l.kernel_where = k->origin;
    bool fits = is_text(*k);
    if (fits) {
      l.kernel[""] = k->scalar;
    } else if (k->kind == Node::Kind::kMap) {
      fits = !k->entries.empty();
      for (const auto& [family, path] : k->entries) {
        fits &= is_text(path);
        l.kernel[family] = path.scalar;
        check_family(family, path.key_origin);
      }
    }
    if (!fits) problems_.error(k->origin, "a kernel is a stem, a file, or {gpu: a, tpu: b}");
  }

  void check_family(const std::string& name, const SourcePosition& where) {
    std::vector<std::string> known;
    for (const auto& f : families()) known.push_back(f.name);
    if (known.empty() || find_family(name)) return;
    problems_.error(where,
                    fmt::format("no family of machines '{}'{}", name, did_you_mean(name, known)));
  }

  void argument(LaunchSpec& l, const std::string& key, const Node& value) {
    ArgSpec a;
    a.name = key;
    a.where = value.origin;
    if (value.kind == Node::Kind::kMap) {
      static const std::vector<std::string> kKeys = {"descriptor", "block", "strides", "padding"};
      check_keys(value, kKeys, "a descriptor", problems_);
      const Node* d = value.find("descriptor");
      if (!d) return problems_.error(value.origin, "expected {descriptor: tensor, block: [..]}");
      a.kind = ArgSpec::Kind::kDescriptor;
      a.tensor = d->scalar;
      if (const Node* block = value.find("block"))
        for (const auto& b : block->items) a.block.push_back(as_integer(b.scalar).value_or(0));
      if (const Node* strides = value.find("strides"))
        for (const auto& s : strides->items) a.strides.push_back(as_integer(s.scalar).value_or(0));
      if (const Node* padding = value.find("padding")) {
        a.nan_padding = padding->scalar == "nan";
        if (!a.nan_padding && padding->scalar != "zero")
          return problems_.error(padding->origin, "a descriptor's padding is zero or nan");
      }
    } else if (value.kind == Node::Kind::kList) {
      return problems_.error(value.origin,
                             "an argument is a tensor, a number, null, or {descriptor: tensor}");
    } else if (value.scalar == "null" || value.scalar == "~" || value.scalar.empty()) {
      a.kind = ArgSpec::Kind::kNull;
    } else if (auto i = as_integer(value.scalar); i && !value.quoted) {
      a.kind = ArgSpec::Kind::kInteger;
      a.integer = *i;
      a.real = static_cast<double>(*i);
    } else if (auto r = as_real(value.scalar); r && !value.quoted) {
      a.kind = ArgSpec::Kind::kReal;
      a.real = *r;
    } else {
      a.kind = ArgSpec::Kind::kTensor;
      a.tensor = value.scalar;
    }
    if (!a.tensor.empty() && !out_.tensor(a.tensor))
      problems_.error(a.where, fmt::format("no tensor '{}'{}", a.tensor, nearest_tensor(a.tensor)));
    l.args.push_back(std::move(a));
  }

  std::string nearest_tensor(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& t : out_.tensors) names.push_back(t.name);
    return did_you_mean(name, names);
  }

  void expect(const std::string& tensor, const Node& node) {
    static const std::vector<std::string> kKeys = {"reference", "rtol", "atol"};
    ExpectSpec e;
    e.tensor = tensor;
    e.where = node.key_origin;
    if (node.kind != Node::Kind::kMap || !node.find("reference"))
      return problems_.error(node.origin, fmt::format("'{}' needs a reference", tensor));
    check_keys(node, kKeys, "an expectation", problems_);
    if (!out_.tensor(tensor))
      problems_.error(e.where, fmt::format("no tensor '{}'{}", tensor, nearest_tensor(tensor)));
    for (auto [key, member] : {std::pair{"rtol", &e.rtol}, std::pair{"atol", &e.atol}}) {
      if (const Node* n = node.find(key)) {
        auto v = as_real(n->scalar);
        if (!v || !(*v >= 0) || !std::isfinite(*v))
          problems_.error(n->origin, fmt::format("{} is a number, 0 or more", key));
        *member = v.value_or(0);
      }
    }
    const Node* reference = node.find("reference");
    if (reference->kind == Node::Kind::kMap) {
      check_keys(*reference, {"file"}, "a reference", problems_);
      const Node* file = reference->find("file");
      if (!file || file->scalar.empty())
        return problems_.error(reference->origin, "a reference is an expression or {file: x.npy}");
      e.file = relative_to(out_.path, file->scalar);
      e.file_where = file->origin;
      out_.expect.push_back(std::move(e));
      return;
    }
    e.text = reference->scalar;
    auto parsed = parse_expression(e.text, text_start(*reference));
    if (!parsed) return problems_.append(parsed.error());
    e.reference = std::move(*parsed);
    out_.expect.push_back(std::move(e));
  }

  Workload out_;
  Diagnostics problems_;
};

}  // namespace

Expected<Workload> parse_workload(const Node& root, const std::string& path) {
  return Reader(path).read(root);
}

Expected<Workload> load_workload(const std::string& path) {
  for (const std::string_view kernel : {".ttir", ".ttgir", ".mlir"}) {
    if (path.ends_with(kernel))
      return fail({path, 0, 0},
                  "this is the text of a kernel; a launch file (workloads/README.md) says on which "
                  "tensors it runs");
  }
  auto root = config::read_yaml_file(path);
  if (!root) return fail(root.error());
  return parse_workload(*root, path);
}

}  // namespace xpusim::run
