#pragma once

// The phases that algorithms are made of.

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "models/network/collectives/region.h"
#include "models/network/collectives/schedule.h"

namespace xpusim::network {

/// Where the bytes of the data lie in a chip's memory: byte b at b + shift.
struct Layout {
  Space space = Space::kInput;
  std::int64_t shift = 0;
  Place place(std::uint64_t byte) const {
    return {space, static_cast<std::uint64_t>(static_cast<std::int64_t>(byte) + shift)};
  }
  bool operator==(const Layout&) const = default;
};

/// What a chip holds of the data at some point of an algorithm, and what brought it there.
struct Holding {
  Region region;
  Layout layout;
  std::vector<std::uint32_t> brought;  ///< transfers into this chip; empty: it was there at first
  bool run_by_run = false;             ///< brought[i] brought region[i], and nothing else did
};

/// Chips in the order of a ring or a line, or as members behind a switch.
using Group = std::vector<std::uint32_t>;

/// Adds transfers to a schedule, phase by phase, for one part of the data.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(std::uint32_t chips) : held_(chips) {}

  Schedule take() { return std::move(schedule_); }
  /// Takes room in each chip's scratch memory; returns its begin.
  std::uint64_t scratch(std::uint64_t bytes) {
    return std::exchange(schedule_.scratch_bytes, schedule_.scratch_bytes + bytes);
  }

  /// A new part of the data; nobody holds anything of it yet.
  void begin_part(std::uint16_t part);
  Holding& held(std::uint32_t chip) { return held_[chip]; }

  /// Within a group by a ring: on return member i holds the sum of shard i, by the layout `last`
  /// gives for its chip; sums under way lie at `to`. All members must hold all shards.
  using LayoutOf = std::function<Layout(std::uint32_t chip)>;
  void ring_reduce_scatter(const Group& group, bool rising, std::span<const Region> shards,
                           Layout to, const LayoutOf& last);
  /// Within a group by a ring, of the shards that its members hold: on return all hold `whole` at
  /// `to`.
  void ring_all_gather(const Group& group, bool rising, std::span<const Region> shards,
                       const Region& whole, Layout to);
  /// The same, each member sending to all others itself.
  void direct_reduce_scatter(const Group& group, std::span<const Region> shards,
                             const LayoutOf& last);
  void direct_all_gather(const Group& group, std::span<const Region> shards, const Region& whole,
                         Layout to);
  /// Within a group whose members hold blocks for each other: the region of member j (which lies
  /// `stride` bytes behind that of member j - 1) goes to j, into the place of the sender's region.
  void exchange(const Group& group, const std::function<Region(std::uint32_t member)>& region_of,
                std::int64_t stride, Layout to);
  /// Within a group: what member i holds goes to member i + by, cyclically, at `to`.
  void rotate(const Group& group, std::int64_t by, Layout to);
  /// Sends what `from` holds on to `to` (as it comes, run by run), where it then is held at
  /// `layout`.
  void pass(std::uint32_t from, std::uint32_t to, Layout layout);
  /// Adds what `from` holds into what `to` holds; the sum lies at `layout`.
  void pass_sum(std::uint32_t from, std::uint32_t to, Layout layout);
  /// Copies what a chip holds to another place of its own memory.
  void copy(std::uint32_t chip, Layout layout);

 private:
  std::vector<Holding> holdings(const Group& group) const;

  struct Ends {
    std::uint32_t src, dst;
    Layout from, to;
  };
  std::uint32_t add(const Ends& ends, const Run& run, const Layout* addend,
                    std::span<const Need> needs);
  /// What a transfer of run `i` of `region` needs, if it reads (or adds to) a holding of this.
  void need(const Holding& holding, const Region& region, std::size_t i,
            std::vector<Need>& out) const;

  Schedule schedule_;
  std::vector<Holding> held_;
  std::uint16_t part_ = 0;
};

}  // namespace xpusim::network
