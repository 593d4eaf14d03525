#include "sim/kernel/analysis/exchange_layout.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>

namespace xpusim::kernel {
namespace {

/// Bits of a tile's coordinates, those of the first dimension lowest; a basis is one or several.
using Vector = std::uint32_t;
using Vectors = std::vector<Vector>;

constexpr std::uint32_t kVectorBits = 128;      ///< a lane moves at most
constexpr std::uint32_t kWavefrontBits = 1024;  ///< 32 banks of 32 bits
constexpr std::uint32_t kBankBits = 32;
constexpr std::size_t kAddressLanes = 3;  ///< bits of eight lanes, whose 16 bytes go together

std::uint32_t log2(std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n)) - 1; }

bool contains(const Vectors& list, Vector v) {
  return std::find(list.begin(), list.end(), v) != list.end();
}

/// A layout over flattened coordinates, without registers that hold copies.
struct Flat {
  Vectors registers, lanes, warps;

  explicit Flat(const LinearLayout& layout) {
    for (const Basis& b : layout.registers) {
      if (const Vector v = flatten(layout, b)) registers.push_back(v);
    }
    for (const Basis& b : layout.lanes) lanes.push_back(flatten(layout, b));
    for (const Basis& b : layout.warps) warps.push_back(flatten(layout, b));
  }
  static Vector flatten(const LinearLayout& layout, const Basis& basis) {
    Vector v = 0;
    std::uint32_t shift = 0;
    for (std::size_t d = 0; d < basis.size(); ++d) {
      v |= static_cast<Vector>(basis[d]) << shift;
      shift += log2(static_cast<std::uint32_t>(layout.shape[d]));
    }
    return v;
  }
};

/// An instruction: which bits of the lane's number stand for its 16 bytes besides registers, and
/// which for those of the eight lanes that go together.
struct Instruction {
  ExchangeAccess access;
  std::vector<std::size_t> row, address;

  std::size_t spare() const { return row.size() + address.size() - kAddressLanes; }
};

std::vector<Instruction> instructions(bool matrices, std::uint32_t bits) {
  std::vector<Instruction> list{{ExchangeAccess::kVectors, {}, {0, 1, 2}}};
  if (matrices && bits <= 32) list.push_back({ExchangeAccess::kMatrices, {0, 1}, {2, 3, 4}});
  if (matrices && bits == 16) {
    list.push_back({ExchangeAccess::kTransposedMatrices, {2, 3, 4}, {0, 1}});
  }
  return list;
}

/// The elements that both instructions take as 16 bytes side by side, if there are such.
std::optional<Vectors> shared_row(const Flat& a, const Instruction& of_a, const Flat& b,
                                  const Instruction& of_b, std::uint32_t bits) {
  if (of_a.row.size() > of_b.row.size()) return shared_row(b, of_b, a, of_a, bits);
  const std::size_t row = log2(kVectorBits / bits);
  if (of_b.row.size() > row || a.lanes.size() != 5 || b.lanes.size() != 5) return std::nullopt;
  const std::size_t of_registers = row - of_b.row.size();
  Vectors result;
  for (Vector r : a.registers) {
    if (result.size() < of_registers && contains(b.registers, r)) result.push_back(r);
  }
  if (result.size() < of_registers) return std::nullopt;
  const std::size_t in_registers_of_a = of_b.row.size() - of_a.row.size();
  for (std::size_t n = 0; n < of_b.row.size(); ++n) {
    const Vector lane = b.lanes[of_b.row[n]];
    const bool same = n < in_registers_of_a ? contains(a.registers, lane)
                                            : lane == a.lanes[of_a.row[n - in_registers_of_a]];
    if (lane == 0 || !same) return std::nullopt;
    result.push_back(lane);
  }
  return result;
}

/// The bases that tell apart the 16 bytes of eight lanes that go together.
std::optional<Vectors> lanes_together(const Instruction& i, const Flat& layout,
                                      const Vectors& row) {
  Vectors result;
  for (Vector r : layout.registers) {
    if (result.size() + i.address.size() < kAddressLanes && !contains(row, r)) result.push_back(r);
  }
  if (result.size() + i.address.size() < kAddressLanes) return std::nullopt;
  for (std::size_t lane : i.address) result.push_back(layout.lanes[lane]);
  return result;
}

/// The unit vectors that complete `given` to a basis of all coordinates.
Vectors complement(const Vectors& given, std::uint32_t dim) {
  Vectors rows;  // each with a lowest bit that no other has
  for (Vector v : given) {
    for (Vector r : rows) v = (v & (r & -r)) != 0 ? v ^ r : v;
    if (v == 0) continue;
    for (Vector& r : rows) r = (r & (v & -v)) != 0 ? r ^ v : r;
    rows.push_back(v);
  }
  Vector lowest = 0;
  for (Vector r : rows) lowest |= r & -r;
  Vectors result;
  for (std::uint32_t b = 0; b < dim; ++b) {
    if ((lowest & (1u << b)) == 0) result.push_back(1u << b);
  }
  return result;
}

/// The bases from one wavefront's worth of memory to the next: what neither side has among the
/// lanes that go together; then pairs of what one and the other have; then, with conflicts, those
/// themselves.
Vectors segments(const Vectors& from, const Vectors& to, std::uint32_t dim, std::size_t count) {
  Vectors result;
  for (std::uint32_t b = 0; b < dim && result.size() < count; ++b) {
    if (!contains(from, 1u << b) && !contains(to, 1u << b)) result.push_back(1u << b);
  }
  if (result.size() == count) return result;
  Vectors fewer, more;
  for (Vector v : from) {
    if (v != 0 && !contains(to, v)) fewer.push_back(v);
  }
  for (Vector v : to) {
    if (v != 0 && !contains(from, v)) more.push_back(v);
  }
  if (fewer.size() > more.size()) std::swap(fewer, more);
  std::sort(fewer.begin(), fewer.end());
  std::sort(more.begin(), more.end());
  const std::size_t paired = fewer.size() + result.size();
  const std::size_t conflicts = count > paired ? std::min(count - paired, fewer.size()) : 0;
  for (std::size_t n = conflicts; n < fewer.size(); ++n) result.push_back(fewer[n] ^ more[n]);
  result.insert(result.end(), fewer.begin(),
                fewer.begin() + static_cast<std::ptrdiff_t>(conflicts));
  result.insert(result.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(conflicts));
  if (result.size() > count) result.resize(count);
  return result;
}

/// The bases of an offset, from the lowest bit on, and those of the round's number.
struct Placement {
  Vectors row, banks, segments, rounds;
  std::size_t conflicts = 0;  ///< bases of lanes that go together but differ in the segment
};

Placement place(const Flat& from, const Flat& to, const Vectors& row, const Vectors& lanes_from,
                const Vectors& lanes_to, std::uint32_t bits, std::uint32_t dim,
                std::size_t keep_in_round) {
  Placement p{.row = row, .banks = {}, .segments = {}, .rounds = {}};
  Vectors all_from = row, all_to = row;
  all_from.insert(all_from.end(), lanes_from.begin(), lanes_from.end());
  all_to.insert(all_to.end(), lanes_to.begin(), lanes_to.end());
  const std::uint32_t rest = dim - static_cast<std::uint32_t>(row.size());
  const std::uint32_t in_bank = std::max(1u, kWavefrontBits / (bits << row.size()));
  const std::uint32_t banks = std::min(log2(in_bank), rest);
  const Vectors all_segments = segments(all_from, all_to, dim, rest - banks);
  Vectors taken = row;
  taken.insert(taken.end(), all_segments.begin(), all_segments.end());
  p.banks = complement(taken, dim);
  for (Vector s : all_segments) {
    const bool of_both = contains(from.registers, s) && contains(to.registers, s);
    if (!of_both || keep_in_round > 0) {
      if (of_both) --keep_in_round;
      p.segments.push_back(s);
    } else {
      p.rounds.push_back(s);
    }
  }
  const auto conflicts = [&](const Vectors& lanes) {
    const auto n = std::count_if(p.segments.begin(), p.segments.end(),
                                 [&](Vector s) { return contains(lanes, s); });
    return (std::size_t{1} << n) - 1;
  };
  p.conflicts = conflicts(lanes_from) + conflicts(lanes_to);
  return p;
}

Vectors without(const Vectors& list, const Vectors& taken) {
  Vectors result;
  for (Vector v : list) {
    if (v != 0 && !contains(taken, v)) result.push_back(v);
  }
  return result;
}
Vectors common(const Vectors& list, const Vectors& other) {
  Vectors result;
  for (Vector v : list) {
    if (v != 0 && contains(other, v)) result.push_back(v);
  }
  return result;
}

/// The elements side by side when not both sides can move 16 bytes: what both have in registers;
/// then, up to a bank's width, what one has in registers and the other in warps (no conflict comes
/// of it); then warps.
Vectors narrow_row(const Flat& from, const Flat& to, std::uint32_t bits) {
  Vectors row = common(from.registers, to.registers);
  const std::size_t most = log2(kVectorBits / bits);
  if (row.size() > most) row.resize(most);
  const std::size_t bank = bits < kBankBits ? log2(kBankBits / bits) : 0;
  if (row.size() >= bank) return row;
  const Vectors of_from = common(without(from.registers, row), to.warps);
  const Vectors of_to = common(without(to.registers, row), from.warps);
  const bool by_store = of_from.size() == of_to.size() ? !of_from.empty() && of_from < of_to
                                                       : of_from.size() > of_to.size();
  Vectors more = by_store ? of_from : of_to;
  for (Vector v : common(from.warps, to.warps)) more.push_back(v);
  for (std::size_t n = 0; n < std::max(from.warps.size(), to.warps.size()); ++n) {
    if (n < from.warps.size()) more.push_back(from.warps[n]);
    if (n < to.warps.size()) more.push_back(to.warps[n]);
  }
  for (Vector v : more) {
    if (row.size() < bank && v != 0 && !contains(row, v)) row.push_back(v);
  }
  return row;
}

/// The lanes that go together when a side moves the first bases of `row` as its vectors.
Vectors lanes_of_vectors(const Flat& layout, const Vectors& row, std::uint32_t bits) {
  std::size_t of_vector = 0;
  while (of_vector < row.size() && of_vector < layout.registers.size() &&
         layout.registers[of_vector] == row[of_vector]) {
    ++of_vector;
  }
  const std::uint32_t vector_bits = bits << of_vector;
  Vectors lanes = layout.lanes;
  if (vector_bits > kBankBits) {
    lanes.resize(lanes.size() - std::min<std::size_t>(lanes.size(), log2(vector_bits / kBankBits)));
  }
  std::erase_if(lanes, [&](Vector v) { return contains(row, v); });
  return lanes;
}

/// For each unit vector, the numbers of the bases whose exclusive or it is.
Vectors inverse(const Vectors& bases, std::uint32_t dim) {
  std::vector<std::pair<Vector, Vector>> rows;  // vector, bases it is made of; reduced
  for (std::size_t n = 0; n < bases.size(); ++n) {
    std::pair<Vector, Vector> v{bases[n], 1u << n};
    for (const auto& r : rows) {
      if ((v.first & (r.first & -r.first)) != 0) v = {v.first ^ r.first, v.second ^ r.second};
    }
    if (v.first == 0) continue;
    for (auto& r : rows) {
      if ((r.first & (v.first & -v.first)) != 0) r = {r.first ^ v.first, r.second ^ v.second};
    }
    rows.push_back(v);
  }
  Vectors result(dim, 0);
  for (const auto& [vector, made_of] : rows) {
    result[static_cast<std::size_t>(std::countr_zero(vector))] = made_of;
  }
  return result;
}

/// Whether a placement's bases are one for each bit of a coordinate, independent of one another.
bool is_basis(const Placement& p, std::uint32_t dim) {
  Vectors bases;
  for (const Vectors* part : {&p.row, &p.banks, &p.segments, &p.rounds}) {
    bases.insert(bases.end(), part->begin(), part->end());
  }
  return bases.size() == dim && complement(bases, dim).empty();
}

/// Elements in order of their coordinates, in one round: right for any two layouts.
Placement in_order(std::uint32_t dim) {
  Placement p;
  for (std::uint32_t b = 0; b < dim; ++b) p.segments.push_back(1u << b);
  return p;
}

ExchangeLayout finish(const Placement& p, const std::vector<std::int64_t>& shape,
                      std::uint32_t bits, std::uint32_t dim) {
  Vectors bases;
  for (const Vectors* part : {&p.row, &p.banks, &p.segments, &p.rounds}) {
    bases.insert(bases.end(), part->begin(), part->end());
  }
  const Vectors number = inverse(bases, dim);
  const auto of_offset = static_cast<std::uint32_t>(dim - p.rounds.size());
  ExchangeLayout e;
  e.rounds = 1u << p.rounds.size();
  e.shared.shape = shape;
  e.shared.element_bytes = bits / 8;
  e.shared.alignment = kVectorBits / 8;
  e.shared.bytes = e.shared.buffer_bytes = e.shared.element_bytes << of_offset;
  std::size_t at = 0;
  for (std::int64_t extent : shape) {
    auto& offsets = e.shared.bases.emplace_back();
    auto& rounds = e.round_bases.emplace_back();
    for (std::int64_t step = 1; step < extent; step *= 2, ++at) {
      offsets.push_back((number[at] & ((1u << of_offset) - 1)) * e.shared.element_bytes);
      rounds.push_back(number[at] >> of_offset);
    }
  }
  return e;
}

}  // namespace

std::uint32_t ExchangeLayout::round(const Basis& at) const {
  std::uint32_t number = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    for (std::size_t bit = 0; bit < round_bases[d].size(); ++bit) {
      if ((at[d] >> bit & 1) != 0) number ^= round_bases[d][bit];
    }
  }
  return number;
}

ExchangeLayout exchange_layout(const LinearLayout& from, const LinearLayout& to, std::uint32_t bits,
                               const ExchangeTarget& target) {
  const Flat a(from), b(to);
  std::uint32_t dim = 0;
  for (std::int64_t extent : to.shape) dim += log2(static_cast<std::uint32_t>(extent));
  std::optional<Placement> best;
  ExchangeAccess store = ExchangeAccess::kVectors, load = ExchangeAccess::kVectors;
  for (const Instruction& i : instructions(target.stores_matrices, bits)) {
    for (const Instruction& j : instructions(target.loads_matrices, bits)) {
      const auto row = shared_row(a, i, b, j, bits);
      if (!row) continue;
      const auto lanes_a = lanes_together(i, a, *row), lanes_b = lanes_together(j, b, *row);
      if (!lanes_a || !lanes_b) continue;
      const std::size_t keep = std::min(i.spare(), j.spare());
      Placement p = place(a, b, *row, *lanes_a, *lanes_b, bits, dim, keep);
      if (!is_basis(p, dim)) continue;
      const bool better = !best || std::tuple(p.conflicts, best->rounds.size()) <
                                       std::tuple(best->conflicts, p.rounds.size());
      if (!better) continue;
      best = std::move(p);
      store = i.access;
      load = j.access;
    }
  }
  if (!best) {
    const Vectors row = narrow_row(a, b, bits);
    best = place(a, b, row, lanes_of_vectors(a, row, bits), lanes_of_vectors(b, row, bits), bits,
                 dim, 0);
    if (!is_basis(*best, dim)) best = in_order(dim);
  }
  ExchangeLayout e = finish(*best, to.shape, bits, dim);
  e.store = store;
  e.load = load;
  return e;
}

}  // namespace xpusim::kernel
