#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace xpusim::run {

/// FNV-1a in 128 bits: names things by their content. It guards against accidents, not against an
/// adversary who looks for two texts of one digest.
class Digest {
 public:
  /// Pieces do not run into each other: the length goes in first.
  void add(std::string_view piece);
  std::string hex() const;  ///< 32 digits

 private:
  void byte(std::uint8_t b);

  std::uint64_t high_ = 0x6c62272e07bb0142, low_ = 0x62b821756295c58d;  ///< the offset basis
};

}  // namespace xpusim::run
