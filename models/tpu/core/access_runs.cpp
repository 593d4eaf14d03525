#include "models/tpu/core/access_runs.h"

#include <algorithm>
#include <optional>

namespace xpusim::tpu {
namespace {

using exec::Tile;
using exec::TileForm;

void append(std::vector<Run>& out, std::uint64_t address, std::uint64_t bytes) {
  if (!out.empty() && out.back().address + out.back().bytes == address) {
    out.back().bytes += bytes;
  } else {
    out.push_back({address, bytes});
  }
}

/// The dimension along which neighbours lie side by side without wrapping around; none for other
/// tiles.
std::optional<std::size_t> row_dimension(const Tile& pointers, std::int64_t element_bytes) {
  if (pointers.form != TileForm::kAffine) return std::nullopt;
  std::optional<std::size_t> row;
  for (const exec::Digit& d : pointers.affine.digits) {
    const bool plain = d.div == 1 && (d.mod == 0 || d.mod >= pointers.shape[d.dim]);
    if (d.stride == element_bytes && plain) row = d.dim;
  }
  if (!row) return std::nullopt;
  const auto others = std::count_if(pointers.affine.digits.begin(), pointers.affine.digits.end(),
                                    [&](const exec::Digit& d) { return d.dim == *row; });
  return others == 1 ? row : std::nullopt;
}

/// Goes to the next element in all dimensions but `fixed`; false after the last one.
bool next(std::vector<std::int64_t>& index, const Tile& tile, std::size_t fixed) {
  for (std::size_t d = index.size(); d-- > 0;) {
    if (d == fixed) continue;
    if (++index[d] < tile.shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

/// Rows that begin and end where a box says.
void box_rows(const exec::Access& access, std::size_t row, std::vector<Run>& out) {
  const Tile& p = access.pointers;
  const bool box = access.masked && access.mask.form == TileForm::kBox;
  const auto low = [&](std::size_t d) { return box ? access.mask.box.low[d] : 0; };
  const auto high = [&](std::size_t d) { return box ? access.mask.box.high[d] : p.shape[d]; };
  const std::int64_t length = high(row) - low(row);
  if (length <= 0) return;
  std::vector<std::int64_t> index(p.shape.size(), 0);
  do {
    bool inside = true;
    for (std::size_t d = 0; d < index.size(); ++d) {
      inside = inside && (d == row || (index[d] >= low(d) && index[d] < high(d)));
    }
    if (!inside) continue;
    std::vector<std::int64_t> first = index;
    first[row] = low(row);
    append(out, static_cast<std::uint64_t>(exec::integer_at(p, first)),
           static_cast<std::uint64_t>(length * access.element_bytes));
  } while (next(index, p, row));
}

}  // namespace

void access_runs(const exec::Access& access, std::vector<Run>& out) {
  out.clear();
  const Tile& mask = access.mask;
  const bool box = !access.masked || mask.form == TileForm::kBox || mask.form == TileForm::kSplat;
  if (access.masked && mask.form == TileForm::kSplat && mask.bits == 0) return;
  const auto row = row_dimension(access.pointers, access.element_bytes);
  if (box && row) return box_rows(access, *row, out);
  const std::vector<std::int64_t> addresses = exec::to_integers(access.pointers);
  const std::vector<std::int64_t> active =
      access.masked ? exec::to_integers(mask) : std::vector<std::int64_t>();
  // Row by row along the dimension of neighbours: the last one, or the first of two.
  const auto count = static_cast<std::int64_t>(addresses.size());
  const std::int64_t cols = access.pointers.shape.empty() ? 1 : access.pointers.shape.back();
  const bool down =
      access.pointers.shape.size() == 2 && cols < count &&
      addresses[static_cast<std::size_t>(cols)] - addresses[0] == access.element_bytes;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t rows = count / cols;
    const auto i = static_cast<std::size_t>(down ? n % rows * cols + n / rows : n);
    if (!active.empty() && active[i] == 0) continue;
    append(out, static_cast<std::uint64_t>(addresses[i]), access.element_bytes);
  }
}

}  // namespace xpusim::tpu
