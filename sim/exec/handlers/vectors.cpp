// Mosaic ops that work element by element and are none of arith's or math's: casts with a rounding
// mode, packing of narrow elements, masks, activations.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/exec/affine.h"
#include "sim/exec/dense.h"
#include "sim/exec/float_ops.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/memory.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_algebra.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

/// Whether an operand is not known: then neither is the result.
bool skips(Frame& f, const Instruction& in) {
  bool unknown = !f.wants(in);
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    unknown = unknown || is_unknown(f.operand(in, k));
  }
  if (unknown) f.result(in).form = TileForm::kUnknown;
  return unknown;
}

bool names(kernel::Attr attr, std::string_view word) {
  return attr && (attr->body == word || attr->string == word);
}

constexpr std::int64_t kToNearest = 1;  // of `immediate`: fptosi rounds, it does not cut off

std::string_view prepare_to_integer(const kernel::Op& op, Instruction& in) {
  const kernel::Attr mode = op.attr("rounding_mode");
  if (names(mode, "to_nearest_even")) in.immediate = kToNearest;
  return !mode || in.immediate != 0 || names(mode, "towards_zero") ? "" : "no such rounding mode";
}

/// tpu.fptosi and fptoui: saturating, NaN gives 0.
template <bool kUnsigned>
Step to_integer(Frame& f, const Instruction& in) {
  const Tile& from = f.operand(in, 0);
  f.live[in.result] = f.live[f.slot(in, 0)];
  if (skips(f, in)) return Step::kNext;
  if (in.immediate != kToNearest) {
    float_to_integer(from, kUnsigned, f.result(in));
    return Step::kNext;
  }
  Tile whole;
  whole.shape = from.shape;
  whole.dtype = from.dtype;
  const Tile* operands[] = {&from};
  float_op(FloatOp::kRoundEven, operands, whole);
  float_to_integer(whole, kUnsigned, f.result(in));
  return Step::kNext;
}

std::string_view prepare_to_nearest(const kernel::Op& op, Instruction&) {
  const kernel::Attr mode = op.attr("rounding_mode");
  return !mode || names(mode, "to_nearest_even") ? "" : "only rounding to the nearest is supported";
}

template <bool kUnsigned>
Step from_integer(Frame& f, const Instruction& in) {
  integer_to_float(f.operand(in, 0), kUnsigned, f.result(in));
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

Step change_float(Frame& f, const Instruction& in) {
  convert_float(f.operand(in, 0), f.result(in));
  f.live[in.result] = f.live[f.slot(in, 0)];
  return Step::kNext;
}

/// Applies a function of doubles to each element; the result is rounded once.
template <class F>
Step map_floats(Frame& f, const Instruction& in, F function) {
  count_elementwise(f, in);
  if (skips(f, in)) return Step::kNext;
  const Tile& from = f.operand(in, 0);
  Tile& out = f.result(in);
  dense_storage(out);
  ChunkReader<double> reader(from);
  double results[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const double* x = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) results[i] = function(x[i]);
    write_floats(out, start, n, results);
  });
  return Step::kNext;
}

/// The chip's approximate reciprocal (`approx`) is taken as exact: its error is not public.
Step reciprocal(Frame& f, const Instruction& in) {
  return map_floats(f, in, [](double x) { return 1 / x; });
}
Step logistic(Frame& f, const Instruction& in) {
  return map_floats(f, in, [](double x) { return 1 / (1 + std::exp(-x)); });
}

/// tpu.weird: whether an element is infinite or no number.
Step weird(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  Tile& out = f.result(in);
  dense_storage(out);
  ChunkReader<double> reader(f.operand(in, 0));
  std::int64_t flags[kChunk];
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const double* x = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) flags[i] = !std::isfinite(x[i]);
    write_integers(out, start, n, flags);
  });
  return Step::kNext;
}

/// tpu.create_mask: true from low to high - 1 in each dimension.
Step create_mask(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  Tile& out = f.result(in);
  const std::size_t rank = out.shape.size();
  Box box = whole(out.shape);
  bool empty = false;
  for (std::size_t d = 0; d < rank; ++d) {
    box.low[d] = std::max<std::int64_t>(f.operand(in, d).bits, 0);
    box.high[d] = std::min(f.operand(in, rank + d).bits, out.shape[d]);
    empty = empty || box.low[d] >= box.high[d];
  }
  if (empty) {
    set_integer(out, 0);
  } else {
    out.form = TileForm::kBox;
    out.box = box;
  }
  return Step::kNext;
}

std::string_view prepare_mask(const kernel::Op& op, Instruction&) {
  return op.operands.size() == 2 * op.result()->type->shape.size()
             ? ""
             : "it needs two bounds for each dimension";
}

Step same_elements(Frame& f, const Instruction& in) {
  reshape(f.operand(in, 0), f.result(in));
  return Step::kNext;
}

std::string_view prepare_same_count(const kernel::Op& op, Instruction&) {
  return op.operands[0]->type->count() == op.result()->type->count()
             ? ""
             : "operand and result differ in their number of elements";
}

/// The element type that an attribute names.
DType type_attr(const kernel::Op& op, const char* key) {
  const kernel::Attr attr = op.attr(key);
  return attr && attr->type ? attr->type->dtype : DType::kNone;
}

/// tpu.pack_elementwise: source k of several lands in bits k * width .. of each 32-bit element.
Step pack(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const DType narrow = type_attr(*in.op, "target_type");
  const auto width = static_cast<unsigned>(kernel::bit_width(narrow));
  Tile& out = f.result(in);
  std::byte* to = dense_storage(out);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < in.operand_count; ++k) {
      const Tile& from = f.operand(in, k);
      std::uint64_t bits = element_bits(from, i);
      if (kernel::is_float(narrow)) bits = encode(narrow, decode(from.dtype, bits));
      bits &= (std::uint64_t{1} << width) - 1;
      word |= static_cast<std::uint32_t>(bits << (k * width));
    }
    std::memcpy(to + i * 4, &word, 4);
  }
  return Step::kNext;
}

std::string_view prepare_pack(const kernel::Op& op, Instruction&) {
  const DType narrow = type_attr(op, "target_type");
  if (narrow == DType::kNone) return "no target type";
  const kernel::Type out = op.result()->type;
  if (kernel::byte_size(out->dtype) != 4) return "its result is no vector of 32-bit elements";
  for (const auto* v : op.operands) {
    if (v->type->shape != out->shape) return "its sources differ in shape";
    if (kernel::is_float(v->type->dtype) != kernel::is_float(narrow))
      return "it packs floats to floats and integers to integers";
  }
  const auto bits = static_cast<std::size_t>(kernel::bit_width(narrow)) * op.operands.size();
  return bits <= 32 ? "" : "its sources do not fit in 32 bits";
}

/// tpu.unpack_elementwise: the index-th narrow element of each 32-bit one.
Step unpack(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const DType narrow = type_attr(*in.op, "source_type");
  const auto width = static_cast<unsigned>(kernel::bit_width(narrow));
  const auto shift = static_cast<unsigned>(in.op->int_attr("index")) * width;
  const Tile& from = f.operand(in, 0);
  Tile& out = f.result(in);
  const std::size_t size = element_bytes(out);
  std::byte* to = dense_storage(out);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    std::uint64_t bits = element_bits(from, i) >> shift & ((std::uint64_t{1} << width) - 1);
    if (kernel::is_float(narrow)) {
      bits = encode(out.dtype, decode(narrow, bits));
    } else {
      bits = static_cast<std::uint64_t>(wrap(narrow, static_cast<std::int64_t>(bits)));
    }
    std::memcpy(to + static_cast<std::size_t>(i) * size, &bits, size);
  }
  return Step::kNext;
}

std::string_view prepare_unpack(const kernel::Op& op, Instruction&) {
  const DType narrow = type_attr(op, "source_type");
  if (narrow == DType::kNone) return "no source type";
  const kernel::Type from = op.operands[0]->type, out = op.result()->type;
  if (kernel::byte_size(from->dtype) != 4 || from->shape != out->shape)
    return "its operand is no vector of 32-bit elements in the result's shape";
  if (kernel::is_float(out->dtype) != kernel::is_float(narrow))
    return "it unpacks floats to floats and integers to integers";
  const std::int64_t index = op.int_attr("index"), width = kernel::bit_width(narrow);
  return index >= 0 && (index + 1) * width <= 32 ? "" : "no such part of 32 bits";
}

/// tpu.stochastic_convert: random bits below the last kept one decide whether it rounds up.
Step stochastic_convert(Frame& f, const Instruction& in) {
  if (skips(f, in)) return Step::kNext;
  const Tile& from = f.operand(in, 0);
  const Tile& random = f.operand(in, 1);
  Tile& out = f.result(in);
  std::byte* to = dense_storage(out);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    auto bits = static_cast<std::uint32_t>(element_bits(from, i));
    constexpr std::uint32_t kExponent = 0x7f800000u;
    if ((bits & kExponent) != kExponent)
      bits += static_cast<std::uint32_t>(element_bits(random, i)) & 0xffffu;
    const auto half = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(to + i * 2, &half, 2);
  }
  return Step::kNext;
}

std::string_view prepare_stochastic(const kernel::Op& op, Instruction&) {
  const kernel::Type from = op.operands[0]->type, out = op.result()->type;
  if (from->dtype != DType::kF32 || out->dtype != DType::kBF16)
    return "only f32 to bf16 is supported";
  return from->shape == out->shape && op.operands[1]->type->shape == out->shape &&
                 kernel::byte_size(op.operands[1]->type->dtype) == 4
             ? ""
             : "operands and result differ in shape";
}

/// tpu.assume_multiple: what the compiler was told must hold.
Step assume_multiple(Frame& f, const Instruction& in) {
  const Tile& from = f.operand(in, 0);
  assign(f.result(in), from);
  if (is_unknown(from) || !is_splat(from) || in.immediate <= 1) return Step::kNext;
  if (from.bits % in.immediate == 0) return Step::kNext;
  return f.fail(in, "assumed to be a multiple of " + std::to_string(in.immediate) + ", it is " +
                        std::to_string(from.bits));
}

std::string_view prepare_multiple(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("multiple");
  return "";
}

/// The extent of the grid in one dimension, from the text or from the launch.
Step iteration_bound(Frame& f, const Instruction& in) {
  const auto d = static_cast<std::size_t>(in.immediate);
  if (d >= f.bounds.size() || f.bounds[d] < 0) {
    return f.fail(in, "the grid has no such dimension, or its extent was not given");
  }
  set_integer(f.result(in), f.bounds[d]);
  return Step::kNext;
}

std::string_view prepare_bound(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("dim", -1);
  return in.immediate >= 0 ? "" : "no such dimension";
}

}  // namespace

void add_vectors(OpTable& table) {
  table.add({.name = "tpu.fptosi", .run = to_integer<false>, .prepare = prepare_to_integer});
  table.add({.name = "tpu.fptoui", .run = to_integer<true>, .prepare = prepare_to_integer});
  table.add({.name = "tpu.sitofp", .run = from_integer<false>, .prepare = prepare_to_nearest});
  table.add({.name = "tpu.uitofp", .run = from_integer<true>, .prepare = prepare_to_nearest});
  table.add({.name = "tpu.truncf", .run = change_float, .prepare = prepare_to_nearest});
  table.add({.name = "tpu.extf", .run = change_float});
  table.add({.name = "tpu.reciprocal", .run = reciprocal, .flops = 1});
  table.add({.name = "tpu.logistic", .run = logistic, .flops = 1});
  table.add({.name = "tpu.weird", .run = weird});
  table.add({.name = "tpu.create_mask", .run = create_mask, .prepare = prepare_mask});
  for (const auto* name : {"tpu.reshape", "tpu.mask_cast"}) {
    table.add({.name = name, .run = same_elements, .prepare = prepare_same_count});
  }
  table.add({.name = "tpu.pack_elementwise", .run = pack, .prepare = prepare_pack});
  table.add({.name = "tpu.unpack_elementwise", .run = unpack, .prepare = prepare_unpack});
  table.add(
      {.name = "tpu.stochastic_convert", .run = stochastic_convert, .prepare = prepare_stochastic});
  table.add({.name = "tpu.assume_multiple",
             .run = assume_multiple,
             .pure = false,
             .prepare = prepare_multiple});
  table.add({.name = "tpu.iteration_bound",
             .run = iteration_bound,
             .pure = false,
             .prepare = prepare_bound});
}

}  // namespace xpusim::exec
