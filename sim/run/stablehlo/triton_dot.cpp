// A matrix product of a StableHLO module as a Triton kernel: a program makes a block of the result,
// step by step along the dimension that is summed over.

#include "sim/run/stablehlo/triton_writer.h"

namespace xpusim::run {
namespace {

std::vector<std::int64_t> dimensions(const kernel::Op& dot, std::string_view attribute) {
  const kernel::Attr dims = dot.attr(attribute);
  return dims ? dims->int_list() : std::vector<std::int64_t>();
}

/// Which of a factor's last two dimensions is summed over, 0 or 1; -1 for other products. Those
/// before them have to be its batches, in order. (The reader checks that they are dimensions.)
std::int64_t summed(const kernel::Op& dot, std::size_t operand) {
  const bool left = operand == 0;
  const auto batches = dimensions(dot, left ? "lhs_batching" : "rhs_batching");
  const auto list = dimensions(dot, left ? "lhs_contracting" : "rhs_contracting");
  const auto rank = static_cast<std::int64_t>(dot.operands[operand]->type->shape.size());
  for (std::size_t d = 0; d < batches.size(); ++d) {
    if (batches[d] != static_cast<std::int64_t>(d)) return -1;
  }
  const bool fits = list.size() == 1 && static_cast<std::int64_t>(batches.size()) == rank - 2;
  return fits ? list[0] - (rank - 2) : -1;
}

}  // namespace

std::optional<TritonWriter::Product> TritonWriter::product() {
  const kernel::Op& op = *kernel_.root;
  const auto no = [&](std::string why) {
    refuse(op, std::move(why));
    return std::nullopt;
  };
  Product p;
  p.left = summed(op, 0);
  p.right = summed(op, 1);
  if (p.left < 0 || p.right < 0) {
    return no("only products that sum over one dimension, batches before the others");
  }
  const kernel::TypeData &a = *op.operands[0]->type, &b = *op.operands[1]->type;
  const kernel::DType out = result().type->dtype;
  if (a.dtype != b.dtype) return no("factors of different types are not compiled");
  if (!kernel::is_float(a.dtype) || !kernel::is_float(out) || kernel::byte_size(out) > 4) {
    return no("only products of floats, of up to 32 bits, are compiled");
  }
  for (const kernel::Value* v : op.operands) {
    if (!graph_.in_memory(*v)) return no("a factor that is a constant is not compiled");
  }
  const auto& c = result().type->shape;
  p.m = c[c.size() - 2];
  p.n = c.back();
  p.k = a.shape[a.shape.size() - 2 + static_cast<std::size_t>(p.left)];
  return p;
}

void TritonWriter::dot() {
  const std::optional<Product> p = product();
  if (!p) return;
  const std::int64_t bm = tiles_.dot_m, bn = tiles_.dot_n;
  const std::int64_t down = (p->m + bm - 1) / bm, across = (p->n + bn - 1) / bn;
  std::string pid = let("tt.get_program_id x : i32"), batch;
  if (result().type->shape.size() > 2) {
    const std::string count = let("arith.constant {} : i32", down * across);
    batch = let("arith.divsi {}, {} : i32", pid, count);
    pid = let("arith.remsi {}, {} : i32", pid, count);
  }
  const std::string wide = let("arith.constant {} : i32", across);
  const std::string rm = indices(let("arith.divsi {}, {} : i32", pid, wide), bm);
  const std::string rn = indices(let("arith.remsi {}, {} : i32", pid, wide), bn);
  std::string value = steps(*p, rm, rn, batch);
  const std::string out = element(result());
  if (out != "f32") {
    value =
        let("arith.truncf {0} : tensor<{1}x{2}xf32> to tensor<{1}x{2}x{3}>", value, bm, bn, out);
  }
  const Factor to{0, rm, rn, bm, bn, p->m, p->n, p->n, 1, batch};
  const auto [where, mask] = places(to, "%out", out);
  line("tt.store {}, {}{} : tensor<{}x{}x!tt.ptr<{}>>", where, value,
       mask.empty() ? "" : ", " + mask, bm, bn, out);
}

/// The places that a block of so many covers along one dimension.
std::string TritonWriter::indices(const std::string& block, std::int64_t size) {
  const std::string length = let("arith.constant {} : i32", size);
  const std::string start = let("arith.muli {}, {} : i32", block, length);
  const std::string type = fmt::format("tensor<{}xi32>", size);
  const std::string range =
      let("tt.make_range {{end = {} : i32, start = 0 : i32}} : {}", size, type);
  const std::string splat = let("tt.splat {} : i32 -> {}", start, type);
  return let("arith.addi {}, {} : {}", splat, range, type);
}

/// The loop along what is summed over; gives the sums of a block of the result, in f32.
std::string TritonWriter::steps(const Product& p, const std::string& rm, const std::string& rn,
                                const std::string& batch) {
  const std::int64_t bm = tiles_.dot_m, bn = tiles_.dot_n, bk = tiles_.dot_k;
  const std::string wide = fmt::format("tensor<{}x{}xf32>", bm, bn);
  const std::string zero = let("arith.constant dense<0.000000e+00> : {}", wide);
  const std::string low = let("arith.constant 0 : i32"), one = let("arith.constant 1 : i32");
  const std::string high = let("arith.constant {} : i32", (p.k + bk - 1) / bk);
  std::string sum = fmt::format("%{}", count_++);
  line("{} = scf.for %step = {} to {} step {} iter_args(%acc = {}) -> ({})  : i32 {{", sum, low,
       high, one, zero, wide);
  text_.resize(text_.size() - place_.size() - 1);
  text_ += '\n';
  indent_ += 2;
  const std::string rk = indices("%step", bk);
  const bool a_turned = p.left == 0, b_turned = p.right == 1;
  const Factor lhs{0, rm, rk, bm, bk, p.m, p.k, a_turned ? 1 : p.k, a_turned ? p.m : 1, batch};
  const Factor rhs{1, rk, rn, bk, bn, p.k, p.n, b_turned ? 1 : p.n, b_turned ? p.k : 1, batch};
  const std::string x = factor(lhs), y = factor(rhs);
  const std::string e = element(*kernel_.root->operands[0]);
  const std::string next =
      let("tt.dot {}, {}, %acc, inputPrecision = tf32 : tensor<{}x{}x{}> * tensor<{}x{}x{}> -> {}",
          x, y, bm, bk, e, bk, bn, e, wide);
  line("scf.yield {} : {}", next, wide);
  indent_ -= 2;
  line("}}");
  return sum;
}

/// Pointers to a block of a matrix, and the mask of what lies inside; "" where all does.
std::pair<std::string, std::string> TritonWriter::places(const Factor& f, const std::string& base,
                                                         const std::string& element) {
  const auto type = [](std::int64_t rows, std::int64_t cols, std::string_view e) {
    return fmt::format("tensor<{}x{}x{}>", rows, cols, e);
  };
  const std::string pointer = fmt::format("!tt.ptr<{}>", element);
  std::string offset[2], inside[2];
  for (int axis = 0; axis < 2; ++axis) {
    const bool down = axis == 0;
    const std::int64_t size = down ? f.block_rows : f.block_cols;
    const std::string own = type(down ? size : 1, down ? 1 : size, "i32");
    const std::string flag = type(down ? size : 1, down ? 1 : size, "i1");
    std::string i = let("tt.expand_dims {} {{axis = {} : i32}} : tensor<{}xi32> -> {}",
                        down ? f.row_index : f.col_index, down ? 1 : 0, size, own);
    const std::int64_t extent = down ? f.rows : f.cols;
    if (extent % size != 0) {
      const std::string limit = let("arith.constant dense<{}> : {}", extent, own);
      const std::string cut = let("arith.cmpi slt, {}, {} : {}", i, limit, own);
      inside[axis] =
          let("tt.broadcast {} : {} -> {}", cut, flag, type(f.block_rows, f.block_cols, "i1"));
    }
    const std::int64_t stride = down ? f.row_stride : f.col_stride;
    if (stride != 1) {
      i = let("arith.muli {}, {} : {}", i, let("arith.constant dense<{}> : {}", stride, own), own);
    }
    offset[axis] =
        let("tt.broadcast {} : {} -> {}", i, own, type(f.block_rows, f.block_cols, "i32"));
  }
  const std::string ints = type(f.block_rows, f.block_cols, "i32");
  const std::string pointers = type(f.block_rows, f.block_cols, pointer);
  const std::string sum = let("arith.addi {}, {} : {}", offset[0], offset[1], ints);
  std::string first = base;
  if (!f.batch.empty()) {
    const std::string size = let("arith.constant {} : i32", f.rows * f.cols);
    const std::string at = let("arith.muli {}, {} : i32", f.batch, size);
    first = let("tt.addptr {}, {} : {}, i32", base, at, pointer);
  }
  const std::string from = let("tt.splat {} : {} -> {}", first, pointer, pointers);
  const std::string where = let("tt.addptr {}, {} : {}, {}", from, sum, pointers, ints);
  std::string mask = inside[0].empty() ? inside[1] : inside[0];
  if (!inside[0].empty() && !inside[1].empty()) {
    mask =
        let("arith.andi {}, {} : {}", inside[0], inside[1], type(f.block_rows, f.block_cols, "i1"));
  }
  return {where, mask};
}

std::string TritonWriter::factor(const Factor& f) {
  const kernel::Value& v = *kernel_.root->operands[f.operand];
  const auto input = std::find(kernel_.inputs.begin(), kernel_.inputs.end(), &v);
  const std::string e = element(v);
  const auto [where, mask] = places(f, fmt::format("%p{}", input - kernel_.inputs.begin()), e);
  const std::string type = fmt::format("tensor<{}x{}x{}>", f.block_rows, f.block_cols, e);
  std::string rest;
  if (!mask.empty()) rest = fmt::format(", {}, {}", mask, number(0, v.type->dtype, type));
  return let("tt.load {}{} : tensor<{}x{}x!tt.ptr<{}>>", where, rest, f.block_rows, f.block_cols,
             e);
}

}  // namespace xpusim::run
