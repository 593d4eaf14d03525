#pragma once

// Counters without a registry. A component counts in a plain struct of std::uint64_t members; at
// the end of a run the machine adds up the structs of like components and gives the sums their
// names.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace xpusim::stats {

/// Adds each member of `counters` to the same member of `sum`. All members must be std::uint64_t.
template <class Counters>
void add_counters(Counters& sum, const Counters& counters) {
  static_assert(std::is_trivially_copyable_v<Counters> && sizeof(Counters) % 8 == 0 &&
                    alignof(Counters) == alignof(std::uint64_t),
                "a struct of std::uint64_t");
  using Words = std::array<std::uint64_t, sizeof(Counters) / 8>;
  auto total = std::bit_cast<Words>(sum);
  const auto more = std::bit_cast<Words>(counters);
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += more[i];
  sum = std::bit_cast<Counters>(total);
}

/// Named values in the order in which they were put; what is not modelled, or has no value (a ratio
/// over nothing), is there by name and without a number, so that a report can print null and never
/// 0.
class CounterSet {
 public:
  using Entry = std::pair<std::string, std::optional<double>>;

  /// Adds an entry, or replaces the value of the one with this name.
  void put(std::string_view name, double value) { set(name, value); }
  void put(std::string_view name, std::uint64_t value) { set(name, static_cast<double>(value)); }
  /// scale * part / whole; no value if the whole is 0.
  void ratio(std::string_view name, double part, double whole, double scale = 1);
  void not_modelled(std::string_view name) { set(name, std::nullopt); }

  /// The value of a name; none if there is none or it is not modelled.
  std::optional<double> value(std::string_view name) const;
  bool has(std::string_view name) const;
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void set(std::string_view name, std::optional<double> value);

  std::vector<Entry> entries_;
};

}  // namespace xpusim::stats
