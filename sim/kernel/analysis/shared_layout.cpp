#include "sim/kernel/analysis/shared_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "sim/kernel/analysis/layout_bases.h"

namespace xpusim::kernel {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMostTmaSize = 256;  ///< elements a TMA box has along a dimension
constexpr std::int64_t kSwizzleRows = 8;    ///< rows over which nvmma_shared permutes
constexpr std::int64_t kSwizzleBytes = 16;  ///< of what it permutes
constexpr std::int64_t kDefaultAlignment = 16, kTmaAlignment = 128;

std::int64_t product(const Sizes& sizes) {
  std::int64_t n = 1;
  for (auto s : sizes) n *= s;
  return n;
}

/// Gives the bits of a tile's coordinates places in memory, from the fastest on.
class Places {
 public:
  Places(const Sizes& tile, std::int64_t element_bytes)
      : bases_(tile.size()), taken_(tile.size(), 1), next_(element_bytes) {}

  /// The next places go to the first `count` positions of `dim`, as far as these have none.
  void take(std::size_t dim, std::int64_t count) {
    for (; taken_[dim] < count; taken_[dim] *= 2, next_ *= 2) bases_[dim].push_back(next_);
  }
  /// Bit `bit` of `dim` also moves an element by these bytes (exclusive or).
  void move(std::size_t dim, std::size_t bit, std::int64_t bytes) { bases_[dim][bit] ^= bytes; }
  std::size_t bits(std::size_t dim) const { return bases_[dim].size(); }

  std::vector<std::vector<std::int64_t>> bases() && { return std::move(bases_); }

 private:
  std::vector<std::vector<std::int64_t>> bases_;
  Sizes taken_;
  std::int64_t next_;
};

/// An integer parameter, or what it is if it is not given.
std::int64_t integer(Attr encoding, const char* key, std::int64_t otherwise) {
  const Attr value = encoding->get(key);
  return value ? value->integer : otherwise;
}
bool is_true(Attr encoding, const char* key) { return integer(encoding, key, 0) != 0; }

/// One reading of an encoding: takes the tile's dimensions from the shape, then its bases.
class Reading {
 public:
  Reading(Attr encoding, const Sizes& shape, std::int64_t element_bytes,
          const SourcePosition& where)
      : encoding_(encoding), where_(where) {
    layout_.shape = shape;
    layout_.element_bytes = element_bytes;
    layout_.alignment = kDefaultAlignment;
  }

  Expected<SharedLayout> read() {
    if (auto problem = check_cluster(encoding_); !problem.empty()) return fail(where_, problem);
    std::string problem;
    if (encoding_->string == "ttg.swizzled_shared") {
      problem = swizzled();
    } else if (encoding_->string == "ttg.nvmma_shared") {
      problem = nvmma();
    } else if (encoding_->string == "ttg.padded_shared") {
      problem = padded();
    } else if (encoding_->string == "ttg.shared_linear") {
      problem = linear();
    } else {
      problem = "the layout #" + encoding_->string + " in shared memory is not modelled";
    }
    if (!problem.empty()) return fail(where_, problem);
    finish();
    return layout_;
  }

 private:
  std::string swizzled();
  std::string nvmma();
  std::string padded();
  std::string linear();

  /// The last `rank` dimensions are the tile's.
  std::string set_tile(std::size_t rank);
  std::string set_order(const Sizes& order);
  /// Bases from those of the offset's bits: [bit] the coordinates of the element there.
  std::string invert(const std::vector<Basis>& places);
  void finish();

  Attr encoding_;
  const SourcePosition& where_;
  SharedLayout layout_;
  Sizes tile_;
};

std::string Reading::set_tile(std::size_t rank) {
  const Sizes& shape = layout_.shape;
  if (rank == 0 || rank > shape.size()) {
    return fmt::format("{} is of rank {}, the allocation of rank {}", encoding_->text, rank,
                       shape.size());
  }
  layout_.buffer_dims = shape.size() - rank;
  tile_.assign(shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end());
  std::int64_t bytes = layout_.element_bytes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 0 || (d >= layout_.buffer_dims && !power_of_two(shape[d]))) {
      return fmt::format("a tile's dimensions are powers of two, not {}", shape[d]);
    }
    if (shape[d] > kMostBytes / bytes) return "the allocation in shared memory is too large";
    bytes *= shape[d];
  }
  return "";
}

void Reading::finish() {
  const std::int64_t bytes = product(layout_.shape) * layout_.element_bytes;
  layout_.buffer_bytes = product(tile_) * layout_.element_bytes;
  layout_.bytes = bytes;
  for (const auto& p : layout_.paddings) {
    layout_.bytes += (bytes - 1) / p.every * p.bytes;  // none behind the last element
  }
}

std::string check_order(Attr encoding, const Sizes& order) {
  std::uint64_t seen = 0;
  for (auto d : order) {
    if (d >= 0 && d < 32) seen |= 1ull << d;
  }
  if (order.empty() || order.size() > 31 || seen + 1 != (1ull << order.size())) {
    return "order of " + encoding->text + " is no permutation";
  }
  return "";
}

std::string Reading::set_order(const Sizes& order) {
  if (auto problem = check_order(encoding_, order); !problem.empty()) return problem;
  return set_tile(order.size());
}

std::string Reading::swizzled() {
  const Attr list = encoding_->get("order");
  const Sizes order = list ? list->int_list() : Sizes{};
  if (auto problem = set_order(order); !problem.empty()) return problem;
  const std::int64_t vec = integer(encoding_, "vec", 0);
  const std::int64_t per_phase = integer(encoding_, "perPhase", 0);
  const std::int64_t max_phase = integer(encoding_, "maxPhase", 0);
  for (auto n : {vec, per_phase, max_phase}) {
    if (!power_of_two(n) || n > kMostBytes) {
      return "vec, perPhase and maxPhase are powers of two: " + encoding_->text;
    }
  }
  Places places(tile_, layout_.element_bytes);
  for (auto d : order) places.take(static_cast<std::size_t>(d), tile_[static_cast<std::size_t>(d)]);
  if (order.size() > 1) {
    const auto column = static_cast<std::size_t>(order[0]),
               row = static_cast<std::size_t>(order[1]);
    for (std::size_t bit = 0; bit < places.bits(row); ++bit) {
      const std::int64_t phase = (std::int64_t{1} << bit) / per_phase % max_phase;
      const std::int64_t columns = phase >= tile_[column] ? 0 : phase * vec % tile_[column];
      places.move(row, bit, columns * layout_.element_bytes);
    }
  }
  layout_.bases = std::move(places).bases();
  return "";
}

std::string Reading::nvmma() {
  const std::int64_t width = integer(encoding_, "swizzlingByteWidth", -1);
  const std::int64_t bits = integer(encoding_, "elementBitWidth", -1);
  if (width != 0 && width != 32 && width != 64 && width != 128) {
    return "swizzlingByteWidth is 0, 32, 64 or 128: " + encoding_->text;
  }
  if (is_true(encoding_, "fp4Padded")) return "padded 4-bit elements are not modelled";
  if (bits != layout_.element_bytes * 8) {
    return fmt::format("{} is not for elements of {} bytes", encoding_->text,
                       layout_.element_bytes);
  }
  const std::int64_t named_rank = integer(encoding_, "rank", 2);
  const auto rank = named_rank < 1 ? 0 : static_cast<std::size_t>(named_rank);
  const bool vector = layout_.shape.size() == 1 && width == 0;
  if (auto problem = set_tile(vector ? 1 : rank); !problem.empty()) return problem;
  layout_.alignment = width == 0 ? kTmaAlignment : kSwizzleRows * width;

  const bool transposed = is_true(encoding_, "transposed") && width != 0;
  const std::size_t last = tile_.size() - 1, column = transposed ? 0 : last;
  const std::int64_t row_elements = width * 8 / bits;
  if (width != 0 && (tile_.size() < 2 || tile_[column] < row_elements)) {
    return fmt::format("a row of the tile is shorter than the {} bytes of {}", width,
                       encoding_->text);
  }
  Places places(tile_, layout_.element_bytes);
  places.take(column, width == 0 ? std::min(tile_[column], kMostTmaSize) : row_elements);
  std::int64_t rows = 1;
  for (std::size_t d = tile_.size(); d-- > 0;) {
    if (d == column) continue;
    places.take(d, std::min(tile_[d], kMostTmaSize));
    for (std::size_t bit = 0; bit < places.bits(d); ++bit, rows *= 2) {
      if (rows >= kSwizzleRows || width == 0) continue;
      const std::int64_t per_phase = 128 / width, phases = width / kSwizzleBytes;
      places.move(d, bit, rows / per_phase % phases * kSwizzleBytes);
    }
  }
  for (std::size_t i = 0; i < tile_.size(); ++i) {
    const std::size_t d = width == 0 ? last - i : i;
    places.take(d, tile_[d]);
  }
  layout_.bases = std::move(places).bases();
  return "";
}

/// The numbers in `text` between `from` and the bracket that closes there.
struct Numbers {
  Sizes values;
  std::size_t inner = 0;  ///< how many stand in the first inner list
  std::size_t end = 0;
};
Numbers numbers(std::string_view text, std::size_t from) {
  Numbers found;
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[') ++depth;
    if (c == ']' && found.inner == 0) found.inner = found.values.size();
    if (c == ']' && --depth <= 0) {
      found.end = i;
      return found;
    }
    if (!std::isdigit(static_cast<unsigned char>(c))) continue;
    std::int64_t value = 0;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])); ++i) {
      value = std::min(kMostBytes, value * 10 + (text[i] - '0'));
    }
    --i;
    found.values.push_back(value);
  }
  found.end = text.size();
  return found;
}
/// The list that a parameter of a raw text is, or none.
Numbers list_named(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  const auto open = at == std::string_view::npos ? at : text.find('[', at);
  return open == std::string_view::npos ? Numbers{} : numbers(text, open);
}

std::string Reading::padded() {
  const std::string_view body = encoding_->body;
  const auto open = body.find('[');
  if (open == std::string_view::npos) return encoding_->text + " lacks its paddings";
  const Numbers pads = numbers(body, open);
  for (std::size_t i = 0; i + 1 < pads.values.size(); i += 2) {
    const std::int64_t every = pads.values[i], pad = pads.values[i + 1];
    if (!power_of_two(every) || !power_of_two(pad) || every >= kMostBytes || pad >= kMostBytes) {
      return "paddings are powers of two: " + encoding_->text;
    }
    layout_.paddings.push_back({every * layout_.element_bytes, pad * layout_.element_bytes});
  }
  if (pads.values.size() % 2 != 0) return encoding_->text + " lacks a padding";
  const std::string_view rest = body.substr(pads.end);
  if (const Numbers order = list_named(rest, "order"); !order.values.empty()) {
    if (auto problem = set_order(order.values); !problem.empty()) return problem;
    Places places(tile_, layout_.element_bytes);
    for (auto d : order.values) {
      places.take(static_cast<std::size_t>(d), tile_[static_cast<std::size_t>(d)]);
    }
    layout_.bases = std::move(places).bases();
    return "";
  }
  const Numbers offsets = list_named(rest, "offset");
  if (offsets.inner == 0) return encoding_->text + " lacks 'order' or 'offset'";
  if (auto problem = set_tile(offsets.inner); !problem.empty()) return problem;
  std::vector<Basis> places;
  for (std::size_t i = 0; i + offsets.inner <= offsets.values.size(); i += offsets.inner) {
    const auto begin = offsets.values.begin() + static_cast<std::ptrdiff_t>(i);
    places.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(offsets.inner));
  }
  return invert(places);
}

std::string Reading::linear() {
  const Attr list = encoding_->get("offset");
  if (!list || list->elements.empty()) return encoding_->text + " lacks 'offset'";
  std::vector<Basis> places;
  for (Attr entry : list->elements) places.push_back(entry->int_list());
  if (auto problem = set_tile(places[0].size()); !problem.empty()) return problem;
  const std::int64_t alignment = integer(encoding_, "alignment", kDefaultAlignment);
  if (power_of_two(alignment)) layout_.alignment = alignment;
  return invert(places);
}

std::string Reading::invert(const std::vector<Basis>& places) {
  const std::string no_map = encoding_->text + " does not give each element of the tile one place";
  // A coordinate as one number: the bits of the first dimension lowest.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;  // coordinate bits, offset bits
  for (std::size_t bit = 0; bit < places.size(); ++bit) {
    if (places[bit].size() != tile_.size() || bit > 40) return no_map;
    std::uint64_t coordinate = 0;
    int shift = 0;
    for (std::size_t d = 0; d < tile_.size(); ++d) {
      if (places[bit][d] < 0 || places[bit][d] >= tile_[d]) return no_map;
      coordinate |= static_cast<std::uint64_t>(places[bit][d]) << shift;
      shift += std::countr_zero(static_cast<std::uint64_t>(tile_[d]));
    }
    rows.emplace_back(coordinate, std::uint64_t{1} << bit);
  }
  if ((std::int64_t{1} << places.size()) != product(tile_)) return no_map;
  for (std::size_t bit = 0; bit < rows.size(); ++bit) {  // Gauss-Jordan over bits
    std::size_t pivot = bit;
    while (pivot < rows.size() && ((rows[pivot].first >> bit) & 1) == 0) ++pivot;
    if (pivot == rows.size()) return no_map;
    std::swap(rows[bit], rows[pivot]);
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other == bit || ((rows[other].first >> bit) & 1) == 0) continue;
      rows[other].first ^= rows[bit].first;
      rows[other].second ^= rows[bit].second;
    }
  }
  layout_.bases.resize(tile_.size());
  std::size_t bit = 0;
  for (std::size_t d = 0; d < tile_.size(); ++d) {
    for (std::int64_t n = 1; n < tile_[d]; n *= 2) {
      const auto elements = static_cast<std::int64_t>(rows[bit++].second);
      layout_.bases[d].push_back(elements * layout_.element_bytes);
    }
  }
  return "";
}

}  // namespace

std::int64_t SharedLayout::unpadded(const Basis& in_tile) const {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < bases.size(); ++d) {
    for (std::size_t bit = 0; bit < bases[d].size(); ++bit) {
      if (((in_tile[d] >> bit) & 1) != 0) at ^= bases[d][bit];
    }
  }
  return at;
}

std::int64_t SharedLayout::offset(const Basis& at) const {
  const std::size_t buffers = at.size() == shape.size() ? buffer_dims : 0;
  std::int64_t buffer = 0;
  for (std::size_t d = 0; d < buffers; ++d) buffer = buffer * shape[d] + at[d];
  const Basis in_tile(at.begin() + static_cast<std::ptrdiff_t>(buffers), at.end());
  const std::int64_t without = buffer * buffer_bytes + unpadded(in_tile);
  std::int64_t with = without;
  for (const Padding& p : paddings) with += without / p.every * p.bytes;
  return with;
}

Expected<SharedLayout> shared_layout(Attr encoding, const std::vector<std::int64_t>& shape,
                                     std::int64_t element_bytes, const SourcePosition& where) {
  if (!encoding) return fail(where, "the allocation in shared memory has no layout");
  if (element_bytes <= 0) return fail(where, "elements in shared memory need a size");
  return Reading(encoding, shape, element_bytes, where).read();
}

Expected<SharedLayout> shared_layout(Type memdesc, const SourcePosition& where) {
  auto shape = memdesc->shape;
  if (memdesc->alloc_shape.size() >= shape.size() && !shape.empty()) {
    const auto rank = static_cast<std::ptrdiff_t>(shape.size());
    shape.assign(memdesc->alloc_shape.end() - rank, memdesc->alloc_shape.end());
  }
  const std::int64_t bytes = memdesc->is_pointer_like() ? 8 : byte_size(memdesc->dtype);
  return shared_layout(memdesc->encoding, shape, bytes, where);
}

}  // namespace xpusim::kernel
