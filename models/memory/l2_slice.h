#pragma once

#include <array>
#include <cstdint>
#include <systemc>

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
  std::uint64_t busy_fractions = 0;  ///< of the look-up pipeline, in 1/256 of a cycle
};

/// The `data` of a request inside the L2: its sectors within the block (bits 0-15), its first line
/// in the block (16, 17), the home slice (18-31), the block's number within that slice (32-63). The
/// SMs' ports work it out once; `address` is the block's.
struct BlockRequest {
  std::uint16_t mask;
  std::uint32_t line, home, place;

  static BlockRequest of(std::uint64_t data) {
    return {static_cast<std::uint16_t>(data), static_cast<std::uint32_t>(data >> 16 & 3),
            static_cast<std::uint32_t>(data >> 18 & 0x3fff),
            static_cast<std::uint32_t>(data >> 32)};
  }
  std::uint64_t data() const {
    return std::uint64_t{mask} | std::uint64_t{line} << 16 | std::uint64_t{home} << 18 |
           std::uint64_t{place} << 32;
  }
};

/// One slice of an L2 with one or two halves. Every address has a home slice; the slice of the same
/// place in the other half is its *copy point* for the SMs of that half:
///
/// * an SM asks the slice of its own half. If that is not the home, a read looks for a copy there,
/// and
///   on a miss asks the home slice (a second look-up) and keeps a copy;
/// * writes and atomics pass through a copy point to the home (two look-ups); a write leaves a copy
///   (measured: what is written displaces as many lines as what is read, and a far line is near to
///   the SM that wrote it), an atomic drops it;
/// * a write of the home's half makes the other half drop its copy;
/// * a read that misses at home fetches whole 64 B atoms from memory. Writes allocate without a
/// fetch
///   and always hit. A read of sectors that are on their way waits for them and counts as a hit;
/// * dirty data goes to memory when its line leaves, or when the slice has too many dirty lines.
///
/// A slice looks up `sectors_per_cycle` in order of arrival; fills cost no look-ups, but what comes
/// from memory and from SMs enters the data at `filled_per_cycle`. An atomic is then performed by
/// the unit of its 256 B, pass after pass, in order of arrival; one that adds floats keeps its
/// sector longer than the unit, which goes on with others. All follows from messages by time
/// stamps: a slice is never ticked. Not modelled: a limit on misses under way, byte masks within a
/// sector, compression, residency hints (evict_first and the like), ECC, a clock of its own, an
/// order of write-backs beyond LRU.
class L2Slice : public sc_core::sc_module, public engine::Component {
 public:
  /// `far_reply`: cycles that an answer from the home to an SM of the other half takes on top.
  L2Slice(const sc_core::sc_module_name& name, const L2Params& params, std::uint32_t index,
          engine::Cycle far_reply);

  engine::OutPort replies;  ///< to the SMs: `to` is the SM's number
  engine::OutPort bridge;   ///< to the other half: `to` is the slice's number
  engine::OutPort memory;   ///< to HBM: `from` is this slice's component id

  void set_id(std::uint32_t component_id) { id_ = component_id; }

  engine::Cycle tick(engine::Cycle) override { return engine::kNever; }
  engine::Cycle receive(const engine::Message& message, engine::Cycle now) override;
  void expect(const engine::Message& message) const override;
  void expect_soon(const engine::Message& message) const override;
  const char* waiting_for() const override { return fills_.empty() ? "" : "a fill"; }

  const L2Counters& counters() const { return counters_; }
  double busy_cycles() const;  ///< of the look-up pipeline, or of the busiest atomic unit
  const L2Tags& tags() const { return tags_; }
  L2Tags& tags() { return tags_; }

 private:
  using Cycle = engine::Cycle;
  using Message = engine::Message;

  bool is_home(const BlockRequest& r) const { return r.home == index_; }
  Cycle occupy(std::uint32_t sectors, Cycle now);
  Cycle take_in(std::uint32_t sectors, Cycle at);
  Cycle perform(const Message& m, const BlockRequest& r, Cycle start);
  void read(const Message& m, Cycle now);
  void write(const Message& m, Cycle now);
  void atomic(const Message& m, Cycle now);
  void flush(const Message& m, Cycle now);
  void pass_to_home(const Message& m, std::uint16_t kind, Cycle at);
  L2Fills::Waiter waiter(const Message& m, const BlockRequest& r) const;
  void fetch(const Message& m, const BlockRequest& r, std::uint16_t filled, Cycle start);
  void write_back(const L2Tags::Victims& victims, Cycle at);
  void write_back(std::uint32_t block, std::uint16_t sectors, Cycle at);
  void drop_copy(const Message& m, const BlockRequest& r, std::uint16_t copied, Cycle at);
  void expect_answer(const L2Fills::Waiter& waiter) const;
  void answer(std::uint32_t block, const L2Fills::Waiter& waiter, Cycle at);

  L2Params params_;
  std::uint32_t index_, other_, id_ = 0;
  Cycle far_reply_;
  /// What a sector takes, in fractions of a cycle.
  std::uint64_t look_up_, fill_, atomic_, float_atomic_;
  std::uint64_t next_free_ = 0;  ///< of the look-up pipeline, in fractions of a cycle
  std::uint64_t next_fill_ = 0;  ///< when the data array takes in more, likewise
  struct AtomicUnit {
    std::uint64_t next_free = 0, busy = 0;  ///< in fractions of a cycle
    struct Sector {
      std::uint64_t number = ~std::uint64_t{0}, free = 0;
    };
    std::array<Sector, 4> last{};  ///< the sectors that it worked on last
    std::uint32_t oldest = 0;

    void perform(std::uint64_t sector, std::uint64_t start, std::uint64_t takes,
                 std::uint64_t until_next);
  };
  std::vector<AtomicUnit> units_;
  L2Tags tags_;
  L2Fills fills_;
  L2Counters counters_;
};

}  // namespace xpusim::memory
