#pragma once

#include <cstdint>
#include <systemc>
#include <vector>

#include "models/memory/l2_fills.h"
#include "models/memory/l2_params.h"
#include "models/memory/l2_tags.h"
#include "models/memory/messages.h"
#include "sim/engine/component.h"
#include "sim/engine/link.h"

namespace xpusim::memory {

/// Sectors looked up in the slices; names of the cases files. A look-up in each half counts.
struct L2Counters {
  std::uint64_t read = 0, write = 0, atom = 0, red = 0;
  std::uint64_t hit = 0, miss = 0;
  std::uint64_t busy_cycles = 0;
  L2Counters& operator+=(const L2Counters& o);
};

/// One slice of an L2 with one or two halves. Addresses have a home slice; the slice of the same
/// place in the other half is their *copy point* for the SMs of that half:
///
/// * an SM asks the slice of its own half. Is that not the home, a read looks for a copy there, and
///   on a miss asks the home slice (a second look-up) and keeps a copy;
/// * writes and atomics pass through a copy point to the home (two look-ups) and leave no copy;
/// * a write at home makes the other half drop its copy;
/// * a read that misses at home fetches whole 64 B atoms from memory. Writes allocate without a
/// fetch
///   and always hit. A read of sectors that are on their way waits for them and counts as a hit;
/// * dirty data goes to memory when its line leaves, or when its set has too many dirty lines.
///
/// A slice looks up `sectors_per_cycle` in order of arrival; fills cost no look-ups. Everything
/// follows from messages by time stamps: a slice is never ticked. Not modelled: a limit on misses
/// under way, byte masks within a sector, compression, residency hints (evict_first and the like),
/// ECC, a clock of its own, write-back order beyond LRU.
class L2Slice : public sc_core::sc_module, public engine::Component {
 public:
  /// `index` of `slices`; the first slices_per_half are half 0.
  L2Slice(const sc_core::sc_module_name& name, const L2Params& params, std::uint32_t index);

  engine::OutPort replies;  ///< to the SMs: `to` is the SM's number
  engine::OutPort bridge;   ///< to the other half: `to` is the slice's number
  engine::OutPort memory;   ///< to HBM: `from` is this slice's component id

  void set_id(std::uint32_t component_id) { id_ = component_id; }

  engine::Cycle tick(engine::Cycle) override { return engine::kNever; }
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  const char* waiting_for() const override;

  const L2Counters& counters() const { return counters_; }
  L2Tags& tags() { return tags_; }

 private:
  L2Params params_;
  std::uint32_t index_, other_, id_ = 0;
  engine::Cycle next_free_ = 0;
  L2Tags tags_;
  L2Fills fills_;
  L2Counters counters_;
};

}  // namespace xpusim::memory
