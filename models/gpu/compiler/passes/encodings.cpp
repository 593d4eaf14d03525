#include "models/gpu/compiler/passes/encodings.h"

#include <algorithm>

namespace xpusim::gpu::passes {
namespace {

using kernel::AttrData;
using kernel::AttrKind;

Attr number(Context& context, std::int64_t n) { return context.integer(n, nullptr); }

Attr numbers(Context& context, const Shape& list) {
  std::vector<Attr> elements;
  for (const std::int64_t n : list) elements.push_back(number(context, n));
  return context.array(std::move(elements));
}

Attr dialect_attr(Context& context, std::string name, Attrs fields) {
  AttrData data;
  data.kind = AttrKind::kDialect;
  data.string = std::move(name);
  data.fields = std::move(fields);
  return context.attr(std::move(data));
}

bool is_named(Attr encoding, std::string_view name) {
  return encoding && encoding->kind == AttrKind::kDialect && encoding->string == name;
}

Shape permuted(const Shape& list, const Shape& order) {
  Shape out;
  for (const std::int64_t from : order) out.push_back(list[static_cast<std::size_t>(from)]);
  return out;
}

Shape inverse(const Shape& order) {
  Shape out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    out[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return out;
}

/// The layout of a tile whose dimensions are taken in another order.
Attr transposed(Context& context, Attr encoding, const Shape& order) {
  if (!is_blocked(encoding)) return nullptr;
  const Blocked from = read_blocked(encoding);
  return encoding_of(context, {permuted(from.per_thread, order), permuted(from.threads, order),
                               permuted(from.warps, order), permuted(inverse(order), from.order)});
}

}  // namespace

Attr encoding_of(Context& context, const Blocked& b) {
  return dialect_attr(context, "ttg.blocked",
                      {{"sizePerThread", numbers(context, b.per_thread)},
                       {"threadsPerWarp", numbers(context, b.threads)},
                       {"warpsPerCTA", numbers(context, b.warps)},
                       {"order", numbers(context, b.order)}});
}

bool is_blocked(Attr encoding) { return is_named(encoding, "ttg.blocked"); }
bool is_mma(Attr encoding) { return is_named(encoding, "ttg.nvidia_mma"); }
bool is_dot_operand(Attr encoding) { return is_named(encoding, "ttg.dot_op"); }

Blocked read_blocked(Attr encoding) {
  return {encoding->get("sizePerThread")->int_list(), encoding->get("threadsPerWarp")->int_list(),
          encoding->get("warpsPerCTA")->int_list(), encoding->get("order")->int_list()};
}

Blocked spread(const Shape& tile, Shape per_thread, Shape order, std::int64_t warps) {
  const std::size_t rank = tile.size();
  Blocked b{std::move(per_thread), Shape(rank, 1), Shape(rank, 1), std::move(order)};
  std::int64_t lanes_left = kThreadsPerWarp, warps_left = warps;
  std::int64_t threads_left = warps * kThreadsPerWarp;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto d = static_cast<std::size_t>(b.order[i]);
    if (i + 1 == rank) {
      b.threads[d] = lanes_left;
      b.warps[d] = warps_left;
      break;
    }
    const std::int64_t wanted = std::max<std::int64_t>(1, tile[d] / b.per_thread[d]);
    const std::int64_t threads = std::clamp<std::int64_t>(threads_left, 1, wanted);
    b.threads[d] = std::clamp<std::int64_t>(threads, 1, lanes_left);
    b.warps[d] = std::clamp<std::int64_t>(threads / b.threads[d], 1, warps_left);
    warps_left /= b.warps[d];
    lanes_left /= b.threads[d];
    threads_left /= threads;
  }
  return b;
}

Shape row_major(std::size_t rank) {
  Shape order;
  for (std::size_t d = rank; d > 0; --d) order.push_back(static_cast<std::int64_t>(d) - 1);
  return order;
}

Attr plain_layout(Context& context, const Shape& tile, std::int64_t warps) {
  return encoding_of(context, spread(tile, Shape(tile.size(), 1), row_major(tile.size()), warps));
}

Attr slice(Context& context, std::int64_t dim, Attr parent) {
  return dialect_attr(context, "ttg.slice", {{"dim", number(context, dim)}, {"parent", parent}});
}

Attr dot_operand(Context& context, std::int64_t index, Attr parent, std::int64_t k_width) {
  Attrs fields{{"opIdx", number(context, index)}, {"parent", parent}};
  if (k_width > 0) fields.emplace_back("kWidth", number(context, k_width));
  return dialect_attr(context, "ttg.dot_op", std::move(fields));
}

Attr mma(Context& context, std::int64_t version, const Shape& warps, const Shape& instruction) {
  return dialect_attr(context, "ttg.nvidia_mma",
                      {{"versionMajor", number(context, version)},
                       {"versionMinor", number(context, 0)},
                       {"warpsPerCTA", numbers(context, warps)},
                       {"instrShape", numbers(context, instruction)}});
}

Attr wgmma_shared(Context& context, const Shape& tile, std::int64_t bits, bool transposed) {
  const std::int64_t row_bytes = tile[transposed ? tile.size() - 2 : tile.size() - 1] * bits / 8;
  std::int64_t swizzle = 0;
  for (const std::int64_t width : {32, 64, 128}) {
    if (row_bytes % width == 0) swizzle = width;
  }
  return dialect_attr(context, "ttg.nvmma_shared",
                      {{"swizzlingByteWidth", number(context, swizzle)},
                       {"transposed", context.boolean(transposed)},
                       {"elementBitWidth", number(context, bits)}});
}

Attr swizzled_shared(Context& context, std::int64_t vec, std::int64_t per_phase,
                     std::int64_t max_phase, const Shape& order) {
  return dialect_attr(context, "ttg.swizzled_shared",
                      {{"vec", number(context, vec)},
                       {"perPhase", number(context, per_phase)},
                       {"maxPhase", number(context, max_phase)},
                       {"order", numbers(context, order)}});
}

Type memdesc(Context& context, Shape shape, Type element, Attr encoding, bool is_mutable) {
  kernel::TypeData data;
  data.kind = kernel::TypeKind::kMemDesc;
  data.dtype = element->dtype;
  data.shape = std::move(shape);
  data.element = element;
  data.encoding = encoding;
  data.memory_space = dialect_attr(context, "ttg.shared_memory", {});
  data.is_mutable = is_mutable;
  return context.type(std::move(data));
}

Shape order_of(Attr encoding, std::size_t rank) {
  if (is_blocked(encoding)) return encoding->get("order")->int_list();
  if (is_named(encoding, "ttg.slice")) {
    const std::int64_t dim = encoding->get("dim")->integer;
    Shape order;
    for (const std::int64_t d : order_of(encoding->get("parent"), rank + 1)) {
      if (d != dim) order.push_back(d > dim ? d - 1 : d);
    }
    return order;
  }
  return row_major(rank);
}

bool keeps_layout(const Op& op) {
  if (op.info->has(kernel::kElementwise)) return true;
  const std::string_view name = op.name();
  return name == "tt.broadcast" || name == "arith.select" || name == "tt.scan" ||
         name == "tt.load" || name == "tt.store" || name == "tt.atomic_rmw" ||
         name == "tt.atomic_cas" || name == "tt.gather";
}

Attr operand_encoding(Context& context, const Op& op, Attr result) {
  const std::string_view name = op.name();
  if (keeps_layout(op) || name == "ttg.convert_layout") return result;
  if (name == "tt.expand_dims") return slice(context, op.int_attr("axis"), result);
  if (name == "tt.reduce") {
    const bool fits =
        is_named(result, "ttg.slice") && result->get("dim")->integer == op.int_attr("axis");
    return fits ? result->get("parent") : nullptr;
  }
  if (name == "tt.trans") return transposed(context, result, inverse(op.attr("order")->int_list()));
  if (name == "tt.reshape")
    return reshaped(context, result, op.result()->type->shape, op.operands[0]->type->shape);
  if (name == "tt.join") return halved(context, result);
  if (name == "tt.split") return joined(context, result);
  return nullptr;
}

Attr result_encoding(Context& context, const Op& op, Attr operand) {
  const std::string_view name = op.name();
  if (keeps_layout(op) || name == "ttg.convert_layout") return operand;
  if (name == "tt.reduce") return slice(context, op.int_attr("axis"), operand);
  if (name == "tt.expand_dims") {
    const bool fits =
        is_named(operand, "ttg.slice") && operand->get("dim")->integer == op.int_attr("axis");
    return fits ? operand->get("parent") : nullptr;
  }
  if (name == "tt.trans") return transposed(context, operand, op.attr("order")->int_list());
  if (name == "tt.reshape")
    return reshaped(context, operand, op.operands[0]->type->shape, op.result()->type->shape);
  if (name == "tt.join") return joined(context, operand);
  if (name == "tt.split") return halved(context, operand);
  return nullptr;
}

}  // namespace xpusim::gpu::passes
