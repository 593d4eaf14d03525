#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace xpusim::stats {

/// The cycle ledger of a unit: each cycle that it lives is charged to exactly one reason, so the
/// sum over the reasons equals the cycles lived. `Reason` is an enum class ending in kCount.
template <class Reason>
class Ledger {
 public:
  static constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::kCount);

  /// Charges the cycles from the last charged one up to `until` (not included) to `reason`.
  void charge_until(std::uint64_t until, Reason reason) {
    if (until <= charged_) return;
    spent_[static_cast<std::size_t>(reason)] += until - charged_;
    charged_ = until;
  }
  void start_at(std::uint64_t cycle) { start_ = charged_ = cycle; }
  std::uint64_t charged() const { return charged_; }  ///< all cycles before this one are charged
  std::uint64_t lived() const { return charged_ - start_; }
  std::uint64_t of(Reason r) const { return spent_[static_cast<std::size_t>(r)]; }
  /// The sum over the reasons; equals lived().
  std::uint64_t sum() const {
    std::uint64_t s = 0;
    for (auto v : spent_) s += v;
    return s;
  }

 private:
  std::array<std::uint64_t, kReasons> spent_{};
  std::uint64_t start_ = 0, charged_ = 0;
};

/// The ledgers of like units added up.
template <class Reason>
class LedgerSum {
 public:
  void add(const Ledger<Reason>& ledger) {
    for (std::size_t r = 0; r < spent_.size(); ++r) spent_[r] += ledger.of(static_cast<Reason>(r));
    lived_ += ledger.lived();
    ++units_;
  }
  std::uint64_t of(Reason r) const { return spent_[static_cast<std::size_t>(r)]; }
  std::uint64_t lived() const { return lived_; }
  std::uint64_t units() const { return units_; }

 private:
  std::array<std::uint64_t, Ledger<Reason>::kReasons> spent_{};
  std::uint64_t lived_ = 0, units_ = 0;
};

}  // namespace xpusim::stats
