#include <algorithm>

#include "models/gpu/compiler/passes/encodings.h"
#include "sim/kernel/analysis/linear_layout.h"

namespace xpusim::gpu::passes {
namespace {

using kernel::Basis;
using kernel::LinearLayout;

Attr bases_attr(Context& context, const std::vector<Basis>& bases) {
  std::vector<Attr> list;
  for (const Basis& basis : bases) {
    std::vector<Attr> coordinates;
    for (const std::int64_t c : basis) coordinates.push_back(context.integer(c, nullptr));
    list.push_back(context.array(std::move(coordinates)));
  }
  return context.array(std::move(list));
}

Attr linear_attr(Context& context, const LinearLayout& layout) {
  kernel::AttrData data;
  data.kind = kernel::AttrKind::kDialect;
  data.string = "ttg.linear";
  data.fields = {{"register", bases_attr(context, layout.registers)},
                 {"lane", bases_attr(context, layout.lanes)},
                 {"warp", bases_attr(context, layout.warps)},
                 {"block", context.array({})}};
  return context.attr(std::move(data));
}

/// Steps of two along each dimension that threads (or warps) take.
Shape extent(const std::vector<Basis>& bases, std::size_t rank) {
  Shape counts(rank, 1);
  for (const Basis& basis : bases) {
    for (std::size_t d = 0; d < rank; ++d) {
      if (basis[d] != 0) counts[d] *= 2;
    }
  }
  return counts;
}

/// The #ttg.blocked that is this layout, or null.
Attr as_blocked(Context& context, const LinearLayout& layout) {
  const std::size_t rank = layout.shape.size();
  Blocked b{Shape(rank, 1), extent(layout.lanes, rank), extent(layout.warps, rank),
            row_major(rank)};
  for (const Basis& basis : layout.registers) {
    for (std::size_t d = 0; d < rank; ++d) {
      if (basis[d] == b.per_thread[d]) b.per_thread[d] *= 2;
    }
  }
  const Attr encoding = encoding_of(context, b);
  const auto read = kernel::linear_layout(encoding, layout.shape, {});
  return read && *read == layout ? encoding : nullptr;
}

Basis refold(const Basis& basis, const Shape& from, const Shape& to) {
  std::int64_t flat = 0;
  for (std::size_t d = 0; d < from.size(); ++d) flat = flat * from[d] + basis[d];
  Basis out(to.size());
  for (std::size_t d = to.size(); d-- > 0;) {
    out[d] = flat % to[d];
    flat /= to[d];
  }
  return out;
}

}  // namespace

Attr reshaped(Context& context, Attr encoding, const Shape& from, const Shape& to) {
  auto layout = kernel::linear_layout(encoding, from, {});
  if (!layout) return nullptr;
  for (auto* bases : {&layout->registers, &layout->lanes, &layout->warps}) {
    for (Basis& basis : *bases) basis = refold(basis, from, to);
  }
  layout->shape = to;
  const Attr blocked = as_blocked(context, *layout);
  return blocked ? blocked : linear_attr(context, *layout);
}

Attr joined(Context& context, Attr encoding) {
  if (!is_blocked(encoding)) return nullptr;
  Blocked b = read_blocked(encoding);
  b.per_thread.push_back(2);
  b.threads.push_back(1);
  b.warps.push_back(1);
  b.order.insert(b.order.begin(), static_cast<std::int64_t>(b.order.size()));
  return encoding_of(context, b);
}

Attr halved(Context& context, Attr encoding) {
  if (!is_blocked(encoding)) return nullptr;
  Blocked b = read_blocked(encoding);
  const auto last = static_cast<std::int64_t>(b.order.size()) - 1;
  const bool in_thread = b.per_thread.back() == 2 && b.threads.back() == 1 && b.warps.back() == 1 &&
                         b.order.front() == last;
  if (!in_thread) return nullptr;
  b.per_thread.pop_back();
  b.threads.pop_back();
  b.warps.pop_back();
  b.order.erase(b.order.begin());
  return encoding_of(context, b);
}

}  // namespace xpusim::gpu::passes
