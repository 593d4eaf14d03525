#include "models/gpu/program/footprint.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "models/memory/messages.h"

namespace xpusim::gpu {
namespace {

using memory::kLineBytes;
using memory::kSectorBytes;
constexpr std::uint64_t kWindowBytes = 4 * kLineBytes;
constexpr std::uint32_t kAllLanes = ~0u;

/// Requests for the bytes [first, last].
void add_run(std::uint64_t first, std::uint64_t last, WarpFootprint& out) {
  for (std::uint64_t line = first & ~std::uint64_t{kLineBytes - 1}; line <= last;
       line += kWindowBytes) {
    const std::uint64_t from = std::max(first, line);
    const std::uint64_t to = std::min(last, line + kWindowBytes - 1);
    const auto low = static_cast<unsigned>((from - line) / kSectorBytes);
    const auto high = static_cast<unsigned>((to - line) / kSectorBytes);
    const auto mask = static_cast<std::uint16_t>((2u << high) - (1u << low));
    out.requests[out.count++] = {line, mask, 1, 0};
  }
  out.sectors = static_cast<std::uint32_t>(last / kSectorBytes - first / kSectorBytes + 1);
  out.lines = static_cast<std::uint32_t>(last / kLineBytes - first / kLineBytes + 1);
}

/// The bytes that lanes touch of each sector of a 128-byte line, as if they shared none.
struct Line {
  std::uint64_t number;
  std::array<std::uint32_t, 4> bytes;

  /// Sectors of which at least so many bytes are touched. Lanes on the same bytes count for more.
  std::uint16_t with(std::uint32_t least) const {
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < bytes.size(); ++i) mask |= (bytes[i] >= least ? 1u : 0u) << i;
    return static_cast<std::uint16_t>(mask);
  }
};

Line& line_of(std::uint64_t number, std::array<Line, kMaxRequests>& lines, unsigned& count) {
  unsigned at = count;
  while (at > 0 && lines[at - 1].number > number) --at;
  if (at > 0 && lines[at - 1].number == number) return lines[at - 1];
  for (unsigned i = count; i > at; --i) lines[i] = lines[i - 1];
  lines[at] = {number, {}};
  ++count;
  return lines[at];
}

constexpr std::uint32_t kBanks = 32, kWordBytes = 4;

/// The most different words that the active ones of `lanes` lanes want of one bank.
std::uint32_t words_a_bank(const std::uint64_t* address, std::uint32_t active, unsigned lanes,
                           std::uint32_t bytes) {
  std::array<std::array<std::uint64_t, kWarpLanes>, kBanks> words;
  std::array<std::uint32_t, kBanks> count{};
  std::uint32_t most = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    if ((active >> i & 1u) == 0) continue;
    for (std::uint64_t w = address[i] / kWordBytes; w <= (address[i] + bytes - 1) / kWordBytes;
         ++w) {
      auto& bank = words[w % kBanks];
      std::uint32_t& n = count[w % kBanks];
      if (n == kWarpLanes || std::find(bank.begin(), bank.begin() + n, w) != bank.begin() + n) {
        continue;
      }
      bank[n++] = w;
      most = std::max(most, n);
    }
  }
  return most;
}

/// Passes of a warp through the L1's data stage: as many neighbouring lanes as take 128 bytes
/// together go at once, one word (4 bytes) a bank at a time; the same words for others are another
/// pass. (79 wavefronts a warp on an H200, ncu: a batch norm of torch.compile whose eight loads of
/// 16 bytes a lane, 32 apart and the same for each eight lanes, take 64 of them by this rule and 32
/// if equal words were read once; a load and a store without gaps take 4 each.)
std::uint32_t data_passes(const std::uint64_t* address, std::uint32_t active, std::uint32_t bytes) {
  const unsigned lanes = std::max(1u, kBanks * kWordBytes / std::max(bytes, kWordBytes));
  std::uint32_t passes = 0;
  for (unsigned first = 0; first < kWarpLanes; first += lanes) {
    passes += words_a_bank(address + first, active >> first, lanes, bytes);
  }
  return passes;
}

/// Requests for `lanes` lanes' `bytes` at `address`.
void add_lanes(const std::uint64_t* address, unsigned lanes, std::uint32_t bytes,
               WarpFootprint& out) {
  std::array<Line, kMaxRequests> lines;
  unsigned count = 0;
  for (unsigned i = 0; i < lanes; ++i) {
    const std::uint64_t first = address[i] / kSectorBytes;
    const std::uint64_t last = (address[i] + bytes - 1) / kSectorBytes;
    for (std::uint64_t sector = first; sector <= last; ++sector) {
      const std::uint64_t from = std::max(address[i], sector * kSectorBytes);
      const std::uint64_t to = std::min(address[i] + bytes, (sector + 1) * kSectorBytes);
      line_of(sector / 4, lines, count).bytes[sector % 4] += static_cast<std::uint32_t>(to - from);
    }
  }
  out.lines = count;
  const auto [low, high] = std::minmax_element(address, address + lanes);
  const bool gaps = *high + bytes - *low > std::uint64_t{lanes} * bytes;
  for (unsigned i = 0; i < count;) {
    SectorRequest request{lines[i].number * kLineBytes, 0, 1, 0};
    const std::uint64_t begin = lines[i].number;
    for (; i < count && lines[i].number < begin + 4; ++i) {
      const auto at = 4 * (lines[i].number - begin);
      const std::uint16_t sectors = lines[i].with(1);
      request.sectors |= static_cast<std::uint16_t>(sectors << at);
      const auto some = static_cast<std::uint16_t>(sectors & ~lines[i].with(kSectorBytes));
      if (gaps) request.partial |= static_cast<std::uint16_t>(some << at);
    }
    out.sectors += static_cast<std::uint32_t>(std::popcount(request.sectors));
    out.requests[out.count++] = request;
  }
}

/// Atomics of lanes on one address take one pass after another. Sorts the addresses.
void count_passes(std::uint64_t* address, unsigned lanes, WarpFootprint& out) {
  std::sort(address, address + lanes);
  SectorRequest* request = out.requests.data();
  for (std::uint32_t r = 0; r < out.count; ++r) request[r].passes = 0;
  for (unsigned i = 0; i < lanes;) {
    const std::uint64_t sector = address[i] / kSectorBytes;
    unsigned most = 0;
    while (i < lanes && address[i] / kSectorBytes == sector) {
      const unsigned first = i;
      while (i < lanes && address[i] == address[first]) ++i;
      most = std::max(most, i - first);
    }
    while (sector * kSectorBytes >= request->address + kWindowBytes) ++request;
    request->passes = static_cast<std::uint16_t>(request->passes + most);
  }
}

void finish(std::uint32_t active, std::uint32_t bytes, WarpFootprint& out) {
  out.lanes = static_cast<std::uint32_t>(std::popcount(active));
  out.bytes = out.lanes * bytes;
  out.wavefronts = std::max(out.wavefronts, (out.bytes + kLineBytes - 1) / kLineBytes);
}

std::int64_t digits_at(const exec::Affine& affine, const std::int64_t* index) {
  std::int64_t sum = 0;
  for (const auto& d : affine.digits) {
    std::int64_t i = index[d.dim] / d.div;
    if (d.mod != 0) i %= d.mod;
    sum += d.stride * i;
  }
  return sum;
}

bool same_digits(const exec::Affine& a, const exec::Affine& b) {
  if (a.digits.size() != b.digits.size()) return false;
  for (std::size_t i = 0; i < a.digits.size(); ++i) {
    const auto &x = a.digits[i], &y = b.digits[i];
    if (x.stride != y.stride || x.div != y.div || x.mod != y.mod || x.dim != y.dim) return false;
  }
  return true;
}

std::int64_t dense_address(const exec::Tile& tile, std::int64_t index) {
  std::int64_t value;
  std::memcpy(&value, tile.data->data() + index * static_cast<std::int64_t>(sizeof value),
              sizeof value);
  return value;
}

/// XOR of the bases of the set bits of `number`, in dimension `dim`.
std::int64_t basis_sum(const std::vector<std::vector<std::int64_t>>& bases, unsigned number,
                       unsigned dim) {
  std::int64_t c = 0;
  for (std::size_t bit = 0; bit < bases.size(); ++bit) {
    if ((number >> bit) & 1u) c ^= bases[bit][dim];
  }
  return c;
}

}  // namespace

Footprint::Footprint(const SiteLayout& layout)
    : layout_(layout), rank_(static_cast<unsigned>(layout.shape.size())) {
  warp_mask_ = (1u << layout.warp_bases.size()) - 1;
  const std::size_t slots = static_cast<std::size_t>(warp_mask_ + 1) * layout.vectors;
  patterns_.resize(slots);
  lane_coordinates_.resize(kWarpLanes * rank_);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    for (unsigned d = 0; d < rank_; ++d) {
      lane_coordinates_[lane * rank_ + d] = basis_sum(layout.lane_bases, lane, d);
    }
  }
  slot_coordinates_.resize(slots * rank_);
  extents_.resize(slots * rank_);
  for (std::size_t s = 0; s < slots; ++s) {
    const auto warp = static_cast<unsigned>(s / layout.vectors);
    const auto vector = static_cast<unsigned>(s % layout.vectors);
    for (unsigned d = 0; d < rank_; ++d) {
      slot_coordinates_[s * rank_ + d] =
          basis_sum(layout.reg_bases, vector, d) ^ basis_sum(layout.warp_bases, warp, d);
      Extent e{coordinate(s, 0, d), coordinate(s, 0, d)};
      for (unsigned lane = 1; lane < kWarpLanes; ++lane) {
        e.low = std::min(e.low, coordinate(s, lane, d));
        e.high = std::max(e.high, coordinate(s, lane, d));
      }
      e.high += d == layout.vector_dim ? layout.vector_elements : 1;
      extents_[s * rank_ + d] = e;
    }
  }
}

std::uint32_t Footprint::held_lanes(const exec::Access& access, unsigned warp) const {
  if (access.kind == exec::AccessKind::kLoad || access.kind == exec::AccessKind::kAsyncCopy) {
    return kAllLanes;
  }
  if ((layout_.warp_zero_only && warp != 0) || (warp & layout_.skip_warps) != 0) return 0;
  if (layout_.lane_zero_only) return 1;
  if (layout_.skip_lanes == 0) return kAllLanes;
  std::uint32_t lanes = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((lane & layout_.skip_lanes) == 0) lanes |= 1u << lane;
  }
  return lanes;
}

std::int64_t Footprint::flat_index(std::size_t slot, unsigned lane) const {
  std::int64_t index = 0;
  for (unsigned d = 0; d < rank_; ++d) index = index * layout_.shape[d] + coordinate(slot, lane, d);
  return index;
}

std::uint32_t Footprint::box_lanes(const exec::Box& box, std::size_t slot) const {
  bool full = true;
  for (unsigned d = 0; d < rank_; ++d) {
    const Extent& e = extents_[slot * rank_ + d];
    if (box.low[d] >= box.high[d] || e.high <= box.low[d] || e.low >= box.high[d]) return 0;
    full = full && e.low >= box.low[d] && e.high <= box.high[d];
  }
  if (full) return kAllLanes;
  std::uint32_t lanes = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    bool inside = true;
    for (unsigned d = 0; d < rank_ && inside; ++d) {
      const std::int64_t c = coordinate(slot, lane, d);
      const std::int64_t length = d == layout_.vector_dim ? layout_.vector_elements : 1;
      inside = c < box.high[d] && c + length > box.low[d];
    }
    if (inside) lanes |= 1u << lane;
  }
  return lanes;
}

std::uint32_t Footprint::mask_lanes(const exec::Tile& mask, std::size_t slot) const {
  switch (mask.form) {
    case exec::TileForm::kBox:
      return box_lanes(mask.box, slot);
    case exec::TileForm::kDense: {
      std::int64_t step = 1;  // from one element of a vector to the next, in the flattened tile
      for (unsigned d = rank_; d-- > layout_.vector_dim + 1;) step *= layout_.shape[d];
      std::uint32_t lanes = 0;
      for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
        const std::int64_t first = flat_index(slot, lane);
        for (std::uint32_t e = 0; e < layout_.vector_elements; ++e) {
          const auto at = static_cast<std::size_t>(first + e * step);
          if ((*mask.data)[at] != std::byte{0}) lanes |= 1u << lane;
        }
      }
      return lanes;
    }
    default:
      return mask.bits != 0 ? kAllLanes : 0;
  }
}

bool Footprint::any_active(const exec::Access& access, unsigned warp, unsigned vector) {
  const std::uint32_t held = held_lanes(access, warp);
  if (held == 0 || !access.masked) return held != 0;
  return (mask_lanes(access.mask, slot(warp, vector)) & held) != 0;
}

std::array<std::uint64_t, kWarpLanes> Footprint::addresses(const exec::Access& access,
                                                           unsigned warp, unsigned vector) const {
  const std::size_t s = slot(warp, vector);
  const std::uint32_t held = held_lanes(access, warp);
  const std::uint32_t active =
      held != 0 && access.masked ? mask_lanes(access.mask, s) & held : held;
  const exec::Tile& pointers = access.pointers;
  std::array<std::uint64_t, kWarpLanes> result;
  std::array<std::int64_t, exec::kMaxRank> index{};
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    std::int64_t at = pointers.bits;
    if (pointers.form == exec::TileForm::kAffine) {
      for (unsigned d = 0; d < rank_; ++d) index[d] = coordinate(s, lane, d);
      at = pointers.affine.base + digits_at(pointers.affine, index.data());
    } else if (pointers.form == exec::TileForm::kDense) {
      at = dense_address(pointers, flat_index(s, lane));
    }
    result[lane] = (active >> lane) & 1u ? static_cast<std::uint64_t>(at) : kNoAddress;
  }
  return result;
}

void Footprint::use_digits(const exec::Access& access) {
  if (element_bytes_ == access.element_bytes && same_digits(digits_, access.pointers.affine)) {
    return;
  }
  element_bytes_ = access.element_bytes;
  digits_ = access.pointers.affine;
  for (auto& p : patterns_) {
    p.lanes = 0;
    p.forget_shapes();
  }
}

Footprint::Pattern& Footprint::pattern(std::size_t slot, std::uint32_t lanes) {
  Pattern& p = patterns_[slot];
  if (p.lanes == lanes) return p;
  p.lanes = lanes;
  p.forget_shapes();
  std::array<std::int64_t, exec::kMaxRank> index{};
  std::array<std::int64_t, kWarpLanes> sorted;
  unsigned count = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    for (unsigned d = 0; d < rank_; ++d) index[d] = coordinate(slot, lane, d);
    p.offset[lane] = digits_at(digits_, index.data());
    if ((lanes >> lane) & 1u) sorted[count++] = p.offset[lane];
  }
  std::sort(sorted.begin(), sorted.begin() + count);
  p.low = sorted[0];
  bool gap = false;
  for (unsigned i = 1; i < count; ++i) gap = gap || sorted[i] - sorted[i - 1] > bytes_;
  p.run = gap ? 0 : static_cast<std::uint32_t>(sorted[count - 1] + bytes_ - p.low);
  std::array<std::uint64_t, kWarpLanes> from_low;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    from_low[lane] = static_cast<std::uint64_t>(p.offset[lane] - p.low);
  }
  p.data_passes = data_passes(from_low.data(), lanes, bytes_);
  return p;
}

void Footprint::touch_lanes(std::array<std::uint64_t, kWarpLanes>& address, std::uint32_t active,
                            bool atomic, WarpFootprint& out) const {
  unsigned count = 0;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((active >> lane) & 1u) address[count++] = address[lane];
  }
  add_lanes(address.data(), count, bytes_, out);
  if (atomic) count_passes(address.data(), count, out);
}

void Footprint::touch_affine(const exec::Access& access, std::size_t slot, std::uint32_t held,
                             std::uint32_t active, WarpFootprint& out) {
  use_digits(access);
  Pattern& p = pattern(slot, held);
  const std::int64_t base = access.pointers.affine.base;
  const auto first = static_cast<std::uint64_t>(base + p.low);
  const bool atomic = access.kind == exec::AccessKind::kAtomic;
  if (active == held) out.wavefronts = p.data_passes;
  if (active == held && p.run != 0 && !atomic) {
    add_run(first, first + p.run - 1, out);
    return;
  }
  const auto alignment = static_cast<std::int64_t>(first % kLineBytes);
  const std::uint64_t origin = first - static_cast<std::uint64_t>(alignment);
  Shape& shape = p.shapes[static_cast<std::size_t>(alignment / kSectorBytes)];
  if (active == held && shape.alignment == alignment) {
    for (const auto& r : shape.requests) {
      out.requests[out.count] = r;
      out.requests[out.count++].address += origin;
    }
    out.lines = shape.lines;
    out.sectors = shape.sectors;
    return;
  }
  std::array<std::uint64_t, kWarpLanes> address;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    address[lane] = static_cast<std::uint64_t>(base + p.offset[lane]);
  }
  if (active != held) out.wavefronts = data_passes(address.data(), active, bytes_);
  touch_lanes(address, active, atomic, out);
  if (active != held) return;
  shape.alignment = alignment;
  shape.requests.assign(out.requests.begin(), out.requests.begin() + out.count);
  for (auto& r : shape.requests) r.address -= origin;
  shape.lines = out.lines;
  shape.sectors = out.sectors;
}

void Footprint::touch(const exec::Access& access, unsigned warp, unsigned vector,
                      WarpFootprint& out) {
  out.count = out.lanes = out.lines = out.sectors = out.bytes = out.wavefronts = 0;
  const std::size_t s = slot(warp, vector);
  const std::uint32_t held = held_lanes(access, warp);
  const std::uint32_t active = access.masked ? mask_lanes(access.mask, s) & held : held;
  if (active == 0) return;
  bytes_ = access.element_bytes * layout_.vector_elements;
  const bool atomic = access.kind == exec::AccessKind::kAtomic;
  const exec::Tile& pointers = access.pointers;
  if (pointers.form == exec::TileForm::kAffine && !pointers.affine.digits.empty()) {
    touch_affine(access, s, held, active, out);
    finish(active, bytes_, out);
  } else if (pointers.form == exec::TileForm::kDense) {
    std::array<std::uint64_t, kWarpLanes> address{};
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      if ((active >> lane) & 1u) {
        address[lane] = static_cast<std::uint64_t>(dense_address(pointers, flat_index(s, lane)));
      }
    }
    out.wavefronts = data_passes(address.data(), active, bytes_);
    touch_lanes(address, active, atomic, out);
    finish(active, bytes_, out);
  } else {
    const std::int64_t at =
        pointers.form == exec::TileForm::kAffine ? pointers.affine.base : pointers.bits;
    add_run(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(at) + bytes_ - 1, out);
    finish(active, bytes_, out);
    if (!atomic) return;
    out.requests[0].passes = static_cast<std::uint16_t>(out.lanes);
  }
}

}  // namespace xpusim::gpu
