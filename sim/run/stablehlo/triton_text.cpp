#include "sim/run/stablehlo/triton_text.h"

#include <algorithm>
#include <bit>

#include "sim/exec/memory.h"
#include "sim/run/stablehlo/triton_writer.h"

namespace xpusim::run {
namespace {

using kernel::Op;
using kernel::Value;

constexpr std::size_t kLongestText = std::size_t{1} << 20;  ///< bytes; what is computed in several
                                                            ///< places is written as often

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// What an op of two or one operands is in Triton: for floats, for integers.
struct Form {
  std::string_view name, floats, integers;
};
constexpr Form kForms[] = {
    {"stablehlo.add", "arith.addf", "arith.addi"},
    {"stablehlo.subtract", "arith.subf", "arith.subi"},
    {"stablehlo.multiply", "arith.mulf", "arith.muli"},
    {"stablehlo.divide", "arith.divf", "arith.divsi"},
    {"stablehlo.remainder", "arith.remf", "arith.remsi"},
    {"stablehlo.maximum", "arith.maximumf", "arith.maxsi"},
    {"stablehlo.minimum", "arith.minimumf", "arith.minsi"},
    {"stablehlo.and", "", "arith.andi"},
    {"stablehlo.or", "", "arith.ori"},
    {"stablehlo.xor", "", "arith.xori"},
    {"stablehlo.abs", "math.absf", "math.absi"},
    {"stablehlo.ceil", "math.ceil", ""},
    {"stablehlo.floor", "math.floor", ""},
    {"stablehlo.exponential", "math.exp", ""},
    {"stablehlo.log", "math.log", ""},
    {"stablehlo.sqrt", "math.sqrt", ""},
    {"stablehlo.rsqrt", "math.rsqrt", ""},
    {"stablehlo.sine", "math.sin", ""},
    {"stablehlo.cosine", "math.cos", ""},
};

}  // namespace

Expected<std::string> TritonWriter::run() {
  header();
  switch (kernel_.kind) {
    case HloKernel::Kind::kElementwise:
    case HloKernel::Kind::kPartial:
      elementwise();
      break;
    case HloKernel::Kind::kRows:
      rows();
      break;
    case HloKernel::Kind::kFinal:
      rest();
      break;
    case HloKernel::Kind::kDot:
      dot();
      break;
  }
  line("tt.return");
  text_ += "  }\n}\n";
  if (problems_.has_errors()) return fail(std::move(problems_));
  return std::move(text_);
}

void TritonWriter::at_op(const Op& op) {
  const SourcePosition p = op.line();
  place_ = fmt::format(" loc(\"{}\":{}:{})", p.file, p.line, p.column);
}

void TritonWriter::header() {
  at_op(*kernel_.root);
  std::string parameters;
  const auto parameter = [&](const std::string& name, const Value& v) {
    parameters +=
        fmt::format("{}%{}: !tt.ptr<{}> {{tt.divisibility = 16 : i32}} loc(\"{}\"(unknown))",
                    parameters.empty() ? "" : ", ", name, element(v), name);
  };
  if (kernel_.kind == HloKernel::Kind::kFinal) parameter("p0", result());
  for (std::size_t i = 0; i < kernel_.inputs.size(); ++i) {
    parameter(fmt::format("p{}", i), *kernel_.inputs[i]);
  }
  parameter("out", result());
  text_ = fmt::format("module {{\n  tt.func public @{}({}) attributes {{noinline = false}} {{\n",
                      kernel_.name, parameters);
}

void TritonWriter::elementwise() {
  const std::string pid = let("tt.get_program_id x : i32");
  const std::string block = let("arith.constant {} : i32", kernel_.block);
  const std::string start = let("arith.muli {}, {} : i32", pid, block);
  const std::string range =
      let("tt.make_range {{end = {} : i32, start = 0 : i32}} : {}", kernel_.block, tile("i32"));
  const std::string splat = let("tt.splat {} : i32 -> {}", start, tile("i32"));
  const std::string at = let("arith.addi {}, {} : {}", splat, range, tile("i32"));
  const std::int64_t count = kernel_.kind == HloKernel::Kind::kPartial
                                 ? kernel_.root->operands[0]->type->count()
                                 : result().type->count();
  if (count % kernel_.block != 0) {
    mask_ = let("arith.cmpi slt, {}, {} : {}", at, integers(count), tile("i32"));
  }
  if (kernel_.kind == HloKernel::Kind::kPartial) {
    return store_number(reduced(tile_of(*kernel_.root->operands[0], at)), pid);
  }
  const std::string value = compute(*kernel_.root, at);
  const std::string pointers = tile(fmt::format("!tt.ptr<{}>", element(result())));
  const std::string to = let("tt.splat %out : !tt.ptr<{}> -> {}", element(result()), pointers);
  const std::string where = let("tt.addptr {}, {} : {}, {}", to, at, pointers, tile("i32"));
  line("tt.store {}, {}{} : {}", where, value, mask_.empty() ? "" : ", " + mask_, pointers);
}

void TritonWriter::rows() {
  const auto& shape = kernel_.root->operands[0]->type->shape;
  const std::int64_t cols = kernel_.root->operands[0]->type->count() / kernel_.programs;
  const std::string pid = let("tt.get_program_id x : i32");
  const std::string width = let("arith.constant {} : i32", cols);
  const std::string start = let("arith.muli {}, {} : i32", pid, width);
  const std::string range =
      let("tt.make_range {{end = {} : i32, start = 0 : i32}} : {}", kernel_.block, tile("i32"));
  const std::string splat = let("tt.splat {} : i32 -> {}", start, tile("i32"));
  const std::string at = let("arith.addi {}, {} : {}", splat, range, tile("i32"));
  if (cols != kernel_.block) {
    mask_ = let("arith.cmpi slt, {}, {} : {}", range, integers(cols), tile("i32"));
  }
  if (shape.empty()) return refuse(*kernel_.root, "a number has no rows");
  store_number(reduced(tile_of(*kernel_.root->operands[0], at)), pid);
}

/// The parts of a reduction, in one program.
void TritonWriter::rest() {
  const std::string range =
      let("tt.make_range {{end = {} : i32, start = 0 : i32}} : {}", kernel_.block, tile("i32"));
  const Value& of = *kernel_.root->operands[0];
  const std::int64_t parts = kernel_.parts;
  if (parts != kernel_.block) {
    mask_ = let("arith.cmpi slt, {}, {} : {}", range, integers(parts), tile("i32"));
  }
  const std::string pointers = tile(fmt::format("!tt.ptr<{}>", element(of)));
  const std::string from = let("tt.splat %p0 : !tt.ptr<{}> -> {}", element(of), pointers);
  const std::string where = let("tt.addptr {}, {} : {}, {}", from, range, pointers, tile("i32"));
  const std::string loaded =
      let("tt.load {}{} : {}", where, mask_.empty() ? "" : ", " + mask_, pointers);
  store_number(reduced(loaded), "");
}

std::string TritonWriter::number(double value, kernel::DType dtype, const std::string& type) {
  const bool is_tile = type.starts_with("tensor");
  if (!kernel::is_float(dtype)) {
    const auto whole = static_cast<std::int64_t>(std::clamp(value, -2147483648.0, 2147483647.0));
    return let("arith.constant {}{}{} : {}", is_tile ? "dense<" : "", whole, is_tile ? ">" : "",
               type);
  }
  const int digits = kernel::byte_size(dtype) * 2;
  const std::string bits = fmt::format("0x{:0{}X}", exec::encode(dtype, value), digits);
  return let("arith.constant {}{}{} : {}", is_tile ? "dense<" : "", bits, is_tile ? ">" : "", type);
}

/// One number of a tile; what lies beyond the edge leaves it as it is.
std::string TritonWriter::reduced(const std::string& value) {
  const Op& op = *kernel_.root;
  at_op(op);
  const Reducer& r = *reducer_of(op);
  const kernel::DType dtype = result().type->dtype;
  const std::string e = element(result());
  std::string in = value;
  if (!mask_.empty()) {
    const std::string identity = number(r.identity, dtype, tile(e));
    in = let("arith.select {}, {}, {} : {}, {}", mask_, value, identity, tile("i1"), tile(e));
  }
  const std::string_view combine = kernel::is_float(dtype) ? r.float_op : r.integer_op;
  const std::string out = fmt::format("%{}", count_++);
  line("{} = \"tt.reduce\"({}) <{{axis = 0 : i32}}> ({{", out, in);
  text_.resize(text_.size() - place_.size() - 1);  // the op's place comes at its end
  text_ +=
      fmt::format("\n    ^bb0(%a{0}: {1} loc(unknown), %b{0}: {1} loc(unknown)):\n", count_, e);
  const std::string both = fmt::format("%{}", count_ + 1);
  line("  {} = {} %a{}, %b{} : {}", both, combine, count_, count_, e);
  line("  tt.reduce.return {} : {}", both, e);
  count_ += 2;
  line("}}) : ({}) -> {}", tile(e), e);
  if (kernel_.kind == HloKernel::Kind::kPartial) return out;
  const Value& init = *op.operands[1];
  const kernel::Attr start = init.def ? init.def->attr("value") : nullptr;
  if (!start || start->ints.empty()) {
    refuse(op, "its first value has to be a constant");
    return out;
  }
  const double first = kernel::is_float(dtype)
                           ? exec::decode(dtype, static_cast<std::uint64_t>(start->ints[0]))
                           : static_cast<double>(start->ints[0]);
  if (first == r.identity) return out;
  return let("{} {}, {} : {}", combine, out, number(first, dtype, e), e);
}

void TritonWriter::store_number(const std::string& value, const std::string& at) {
  const std::string pointer = fmt::format("!tt.ptr<{}>", element(result()));
  std::string to = "%out";
  if (!at.empty()) to = let("tt.addptr %out, {} : {}, i32", at, pointer);
  line("tt.store {}, {} : {}", to, value, pointer);
}

std::string TritonWriter::tile_of(const Value& v, const std::string& at) {
  if (text_.size() > kLongestText) {
    if (!problems_.has_errors()) refuse(*kernel_.root, "its kernel becomes too long");
    return at;
  }
  const auto key = std::pair(&v, at);
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  std::string made;
  if (graph_.in_memory(v)) {
    made = load(v, at);
  } else if (v.def) {
    made = compute(*v.def, at);
  }
  return made_[key] = made;
}

std::string TritonWriter::load(const Value& v, const std::string& at) {
  const auto input = std::find(kernel_.inputs.begin(), kernel_.inputs.end(), &v);
  const auto n = input - kernel_.inputs.begin();
  const std::string e = element(v), pointer = fmt::format("!tt.ptr<{}>", e);
  if (v.type->shape.empty()) {
    const std::string one = let("tt.load %p{} : {}", n, pointer);
    return let("tt.splat {} : {} -> {}", one, e, tile(e));
  }
  const std::string pointers = tile(pointer);
  const std::string from = let("tt.splat %p{} : {} -> {}", n, pointer, pointers);
  const std::string where = let("tt.addptr {}, {} : {}, {}", from, at, pointers, tile("i32"));
  return let("tt.load {}{} : {}", where, mask_.empty() ? "" : ", " + mask_, pointers);
}

std::string TritonWriter::compute(const Op& op, const std::string& at) {
  const Value& out = *op.result();
  const std::string e = element(out);
  at_op(op);
  if (op.name() == "stablehlo.constant") {
    const kernel::Attr value = op.attr("value");
    if (value && (value->splat || value->ints.size() == 1)) {
      const bool real = kernel::is_float(out.type->dtype);
      const double v =
          real ? exec::decode(out.type->dtype, static_cast<std::uint64_t>(value->ints[0]))
               : static_cast<double>(value->ints[0]);
      return number(v, out.type->dtype, tile(e));
    }
    refuse(op, "only constants that are one number are compiled");
    return integers(0);
  }
  if (op.name() == "stablehlo.broadcast_in_dim") return broadcast(op, at);
  if (op.name() == "stablehlo.transpose") return transposed(op, at);
  if (op.name() == "stablehlo.reshape") return tile_of(*op.operands[0], at);
  std::vector<std::string> in;
  for (const Value* v : op.operands) in.push_back(tile_of(*v, at));
  at_op(op);
  const bool real = kernel::is_float(out.type->dtype);
  if (op.name() == "stablehlo.negate") {
    if (real) return let("arith.negf {} : {}", in[0], tile(e));
    return let("arith.subi {}, {} : {}", number(0, out.type->dtype, tile(e)), in[0], tile(e));
  }
  if (op.name() == "stablehlo.logistic") {
    const std::string one = number(1, out.type->dtype, tile(e));
    const std::string minus = let("arith.negf {} : {}", in[0], tile(e));
    const std::string power = let("math.exp {} : {}", minus, tile(e));
    const std::string sum = let("arith.addf {}, {} : {}", one, power, tile(e));
    return let("arith.divf {}, {} : {}", one, sum, tile(e));
  }
  if (op.name() == "stablehlo.convert") return convert(op, in[0]);
  for (const Form& f : kForms) {
    const std::string_view form = real ? f.floats : f.integers;
    if (op.name() != f.name || form.empty()) continue;
    return let("{} {} : {}", form, fmt::join(in, ", "), tile(e));
  }
  refuse(op, "it has no Triton form");
  return in.empty() ? at : in[0];
}

std::string TritonWriter::convert(const Op& op, const std::string& in) {
  const kernel::DType from = op.operands[0]->type->dtype, to = op.result()->type->dtype;
  const bool a = kernel::is_float(from), b = kernel::is_float(to);
  if (from == to) return in;
  std::string_view name = a ? "arith.fptosi" : "arith.sitofp";
  const bool wider = kernel::byte_size(to) > kernel::byte_size(from);
  if (a && b) name = wider ? "arith.extf" : "arith.truncf";
  if (!a && !b) name = wider ? "arith.extsi" : "arith.trunci";
  return let("{} {} : {} to {}", name, in, tile(kernel::name(from)), tile(kernel::name(to)));
}

std::string TritonWriter::mapped(const std::vector<std::int64_t>& shape,
                                 const std::vector<std::int64_t>& strides, const std::string& at) {
  const std::vector<std::int64_t> own = row_major(shape);
  std::string sum;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] == 0 || shape[d] == 1) continue;
    std::string i = at;
    if (own[d] != 1) i = let("arith.divsi {}, {} : {}", i, integers(own[d]), tile("i32"));
    if (d != 0) i = let("arith.remsi {}, {} : {}", i, integers(shape[d]), tile("i32"));
    if (strides[d] != 1) i = let("arith.muli {}, {} : {}", i, integers(strides[d]), tile("i32"));
    sum = sum.empty() ? i : let("arith.addi {}, {} : {}", sum, i, tile("i32"));
  }
  return sum.empty() ? integers(0) : sum;
}

std::string TritonWriter::broadcast(const Op& op, const std::string& at) {
  const Value& from = *op.operands[0];
  if (from.type->shape.empty()) return tile_of(from, at);
  const auto& shape = op.result()->type->shape;
  const kernel::Attr dims = op.attr("broadcast_dimensions");
  const std::vector<std::int64_t> to = dims ? dims->int_list() : std::vector<std::int64_t>();
  const std::vector<std::int64_t> own = row_major(from.type->shape);
  std::vector<std::int64_t> strides(shape.size(), 0);
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (from.type->shape[d] != 1) strides[static_cast<std::size_t>(to[d])] = own[d];
  }
  if (strides == row_major(shape)) return tile_of(from, at);
  return tile_of(from, mapped(shape, strides, at));
}

std::string TritonWriter::transposed(const Op& op, const std::string& at) {
  const Value& from = *op.operands[0];
  const kernel::Attr permutation = op.attr("permutation");
  const std::vector<std::int64_t> own = row_major(from.type->shape);
  std::vector<std::int64_t> strides;
  for (const std::int64_t d : permutation->int_list()) {
    strides.push_back(own[static_cast<std::size_t>(d)]);
  }
  return tile_of(from, mapped(op.result()->type->shape, strides, at));
}

Expected<std::string> triton_text(const HloGraph& graph, const HloKernel& kernel,
                                  const TileSizes& tiles) {
  return TritonWriter(graph, kernel, tiles).run();
}

}  // namespace xpusim::run
