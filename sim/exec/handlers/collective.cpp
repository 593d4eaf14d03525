// tt.scan, tt.gather and tt.histogram: ops that look across a tile.

#include <fmt/format.h>

#include <algorithm>

#include "sim/exec/dense.h"
#include "sim/exec/frame.h"
#include "sim/exec/handlers/axis.h"
#include "sim/exec/handlers/elements.h"
#include "sim/exec/op_table.h"
#include "sim/exec/tile_forms.h"

namespace xpusim::exec {
namespace {

bool any_unknown(Frame& f, const Instruction& in) {
  bool unknown = !f.wants(in);
  for (std::size_t k = 0; k < in.operand_count; ++k) {
    unknown = unknown || (f.has(in, k) && is_unknown(f.operand(in, k)));
  }
  if (unknown) {
    for (std::uint32_t k = 0; k < in.result_count; ++k) f.result(in, k).form = TileForm::kUnknown;
  }
  return unknown;
}

/// Moves one position of the axis (all its outer and inner elements) between a whole tile and a
/// slice.
void copy_position(std::byte* whole, std::byte* slice, const Around& a, std::size_t size,
                   std::int64_t at, bool out_of_whole) {
  const auto row = static_cast<std::size_t>(a.inner) * size;
  for (std::int64_t o = 0; o < a.outer; ++o) {
    std::byte* w = whole + static_cast<std::size_t>(o * a.n + at) * row;
    std::byte* s = slice + static_cast<std::size_t>(o) * row;
    out_of_whole ? std::memcpy(s, w, row) : std::memcpy(w, s, row);
  }
}

/// An inclusive scan, position after position: the region combines what has come so far with the
/// next.
Step scan(Frame& f, const Instruction& in) {
  const RegionCode& region = f.code->regions[in.index];
  const std::size_t width = in.operand_count;
  const Around a = around(f.operand(in, 0).shape, static_cast<std::size_t>(in.immediate));
  f.counts.flops += static_cast<std::uint64_t>(a.outer * (a.n - 1) * a.inner) * region.flops;
  if (any_unknown(f, in)) return Step::kNext;
  const std::uint64_t flops = f.counts.flops;  // those of the region are counted already
  const bool reverse = in.op->int_attr("reverse") != 0;
  for (const std::uint32_t s : region.slots) f.slots[s].shape.assign(1, a.outer * a.inner);
  for (std::size_t k = 0; k < width; ++k) {
    const Tile& t = f.operand(in, k);
    read_elements(t, 0, t.count(), dense_storage(f.result(in, k)));
  }
  for (std::int64_t i = 1; i < a.n; ++i) {
    const std::int64_t at = reverse ? a.n - 1 - i : i, before = reverse ? at + 1 : at - 1;
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t size = element_bytes(f.result(in, k));
      std::byte* whole = f.result(in, k).data->data();
      copy_position(whole, dense_storage(f.slots[region.arguments[k]]), a, size, before, true);
      copy_position(whole, dense_storage(f.slots[region.arguments[k + width]]), a, size, at, true);
    }
    for (const Instruction& step : region.instructions) {
      if (step.run(f, step) != Step::kNext) return Step::kFail;
    }
    for (std::size_t k = 0; k < width; ++k) {
      const Tile& r = f.slots[region.results[k]];
      const std::size_t size = element_bytes(r);
      std::vector<std::byte> slice(static_cast<std::size_t>(a.outer * a.inner) * size);
      read_elements(r, 0, a.outer * a.inner, slice.data());
      copy_position(f.result(in, k).data->data(), slice.data(), a, size, at, false);
    }
  }
  f.counts.flops = flops;
  return Step::kNext;
}

std::string_view prepare_axis(const kernel::Op& op, Instruction& in) {
  in.immediate = op.int_attr("axis");
  const auto rank = static_cast<std::int64_t>(op.operands[0]->type->shape.size());
  return in.immediate >= 0 && in.immediate < rank ? "" : "no such axis";
}

/// out[.., i, ..] = source[.., indices[.., i, ..], ..]
Step gather(Frame& f, const Instruction& in) {
  if (any_unknown(f, in)) return Step::kNext;
  const Tile& source = f.operand(in, 0);
  const Tile& indices = f.operand(in, 1);
  Tile& out = f.result(in);
  const auto axis = static_cast<std::size_t>(in.immediate);
  const Around from = around(source.shape, axis), to = around(out.shape, axis);
  const std::size_t size = element_bytes(out);
  std::byte* bytes = dense_storage(out);
  ChunkReader<std::int64_t> reader(indices);
  std::int64_t wrong = -1, wrong_index = 0;
  for_chunks(out.count(), [&](std::int64_t start, std::int64_t n) {
    const std::int64_t* index = reader.at(start, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t linear = start + i, j = index[i];
      if (j < 0 || j >= from.n) {
        if (wrong < 0) wrong = linear, wrong_index = j;
        continue;
      }
      const std::int64_t outer = linear / (to.n * to.inner), inner = linear % to.inner;
      read_elements(source, (outer * from.n + j) * from.inner + inner, 1,
                    bytes + static_cast<std::size_t>(linear) * size);
    }
  });
  if (wrong < 0) return Step::kNext;
  return f.fail(
      in, fmt::format("tt.gather: index {} of element {} lies outside the {} elements of its axis",
                      wrong_index, wrong, from.n));
}

/// Counts the values 0 .. bins-1; other values are outside what the language defines and not
/// counted.
Step histogram(Frame& f, const Instruction& in) {
  if (any_unknown(f, in)) return Step::kNext;
  const Tile& values = f.operand(in, 0);
  const Tile* mask = f.has(in, 1) ? &f.operand(in, 1) : nullptr;
  Tile& out = f.result(in);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(out.count()));
  for (std::int64_t i = 0; i < values.count(); ++i) {
    if (mask && element_bits(*mask, i) == 0) continue;
    std::int64_t v = 0;
    read_integers(values, i, 1, &v);
    if (v >= 0 && v < out.count()) ++counts[static_cast<std::size_t>(v)];
  }
  dense_storage(out);
  write_integers(out, 0, out.count(), counts.data());
  return Step::kNext;
}

}  // namespace

void add_collectives(OpTable& table) {
  table.add({.name = "tt.scan", .run = scan, .pure = false, .prepare = prepare_axis});
  table.add({.name = "tt.scan.return", .pure = false});
  table.add({.name = "tt.gather", .run = gather, .pure = false, .prepare = prepare_axis});
  table.add({.name = "tt.histogram", .run = histogram, .pure = false});
}

}  // namespace xpusim::exec
