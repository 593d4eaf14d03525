#include "models/network/collectives/builder.h"

#include <optional>

namespace xpusim::network {
namespace {

/// The transfers that brought each run of a shard; none for a run without bytes.
using Brought = std::vector<std::optional<std::uint32_t>>;

std::vector<std::uint32_t> those(const Brought& brought) {
  std::vector<std::uint32_t> out;
  for (const auto& t : brought)
    if (t) out.push_back(*t);
  return out;
}

Group turned(const Group& group, bool rising) {
  return rising ? group : Group(group.rbegin(), group.rend());
}

}  // namespace

void ScheduleBuilder::begin_part(std::uint16_t part) {
  part_ = part;
  for (Holding& h : held_) h = {};
}

std::uint32_t ScheduleBuilder::add(const Ends& ends, const Run& run, const Layout* addend,
                                   std::span<const Need> needs) {
  Transfer t;
  t.src = ends.src;
  t.dst = ends.dst;
  t.from = ends.from.place(run.begin);
  t.to = ends.to.place(run.begin);
  t.reduces = addend != nullptr;
  if (addend) t.addend = addend->place(run.begin);
  t.part = part_;
  t.bytes = run.bytes();
  if (!run.contiguous()) {
    t.row = run.row;
    t.pitch = run.pitch;
    t.rows = run.rows;
    t.plane_pitch = run.plane_pitch;
  }
  t.first_need = static_cast<std::uint32_t>(schedule_.needs.size());
  t.needs = static_cast<std::uint32_t>(needs.size());
  schedule_.needs.insert(schedule_.needs.end(), needs.begin(), needs.end());
  schedule_.transfers.push_back(t);
  return static_cast<std::uint32_t>(schedule_.transfers.size() - 1);
}

void ScheduleBuilder::need(const Holding& holding, const Region& region, std::size_t i,
                           std::vector<Need>& out) const {
  if (holding.brought.empty()) return;
  if (holding.run_by_run && holding.region == region && holding.brought.size() == region.size()) {
    out.push_back({holding.brought[i], 0});
  } else if (holding.run_by_run && holding.region.size() == 1 && holding.region[0].contiguous() &&
             holding.brought.size() == 1 && region.size() == 1 && region[0].contiguous()) {
    out.push_back({holding.brought[0], static_cast<std::int64_t>(region[0].begin) -
                                           static_cast<std::int64_t>(holding.region[0].begin)});
  } else {
    for (const std::uint32_t t : holding.brought) out.push_back({t, Need::kWhole});
  }
}

void ScheduleBuilder::ring_reduce_scatter(const Group& group, bool rising,
                                          std::span<const Region> shards, Layout to,
                                          const LayoutOf& last) {
  const Group ring = turned(group, rising);
  const auto n = static_cast<std::uint32_t>(ring.size());
  const auto shard_at = [&](std::uint32_t place) -> const Region& {
    return shards[rising ? place : n - 1 - place];
  };
  // [member]: what brought it the sum that it sends on next.
  std::vector<Brought> came(n), comes(n);
  std::vector<Need> needs;
  for (std::uint32_t step = 0; step + 1 < n; ++step) {
    for (std::uint32_t q = 0; q < n; ++q) {
      const std::uint32_t next = (q + 1) % n;
      const Region& region = shard_at((q + 2 * n - 1 - step) % n);
      const Holding& here = held_[ring[q]];
      const Holding& there = held_[ring[next]];
      const Layout target = step + 2 == n ? last(ring[next]) : to;
      comes[next].assign(region.size(), std::nullopt);
      for (std::size_t i = 0; i < region.size(); ++i) {
        if (region[i].bytes() == 0) continue;
        needs.clear();
        if (step == 0) {
          need(here, region, i, needs);
        } else {
          needs.push_back({*came[q][i], 0});
        }
        need(there, region, i, needs);
        comes[next][i] = add({ring[q], ring[next], step == 0 ? here.layout : to, target}, region[i],
                             &there.layout, needs);
      }
    }
    std::swap(came, comes);
  }
  for (std::uint32_t q = 0; q < n; ++q)
    held_[ring[q]] = {shard_at(q), last(ring[q]), those(came[q]), true};
}

void ScheduleBuilder::ring_all_gather(const Group& group, bool rising,
                                      std::span<const Region> shards, const Region& whole,
                                      Layout to) {
  const Group ring = turned(group, rising);
  const auto n = static_cast<std::uint32_t>(ring.size());
  std::vector<Brought> came(n), comes(n);
  std::vector<std::vector<std::uint32_t>> brought(n);
  std::vector<Need> needs;
  for (std::uint32_t step = 0; step + 1 < n; ++step) {
    for (std::uint32_t q = 0; q < n; ++q) {
      const std::uint32_t next = (q + 1) % n, of = (q + n - step) % n;
      const Region& region = shards[rising ? of : n - 1 - of];
      const Holding& here = held_[ring[q]];
      comes[next].assign(region.size(), std::nullopt);
      for (std::size_t i = 0; i < region.size(); ++i) {
        if (region[i].bytes() == 0) continue;
        needs.clear();
        if (step == 0) {
          need(here, region, i, needs);
        } else {
          needs.push_back({*came[q][i], 0});
        }
        comes[next][i] =
            add({ring[q], ring[next], step == 0 ? here.layout : to, to}, region[i], nullptr, needs);
        brought[next].push_back(*comes[next][i]);
      }
    }
    std::swap(came, comes);
  }
  for (std::uint32_t q = 0; q < n; ++q) {
    copy(ring[q], to);
    const auto& own = held_[ring[q]].brought;
    brought[q].insert(brought[q].end(), own.begin(), own.end());
    held_[ring[q]] = {whole, to, std::move(brought[q]), false};
  }
}

void ScheduleBuilder::copy(std::uint32_t chip, Layout layout) {
  Holding& h = held_[chip];
  if (h.layout == layout) return;
  std::vector<std::uint32_t> brought;
  std::vector<Need> needs;
  for (std::size_t i = 0; i < h.region.size(); ++i) {
    if (h.region[i].bytes() == 0) continue;
    needs.clear();
    need(h, h.region, i, needs);
    brought.push_back(add({chip, chip, h.layout, layout}, h.region[i], nullptr, needs));
  }
  const bool run_by_run = brought.size() == h.region.size();
  h = {h.region, layout, std::move(brought), run_by_run};
}

void ScheduleBuilder::direct_reduce_scatter(const Group& group, std::span<const Region> shards,
                                            const LayoutOf& last) {
  const auto n = static_cast<std::uint32_t>(group.size());
  const std::vector<Holding> before = holdings(group);
  // Each begins with its own; what the others send is added in the order in which it comes.
  for (std::uint32_t i = 0; i < n; ++i) {
    Holding& h = held_[group[i]];
    if (h.layout == last(group[i])) continue;
    h = {shards[i], h.layout, h.brought, h.run_by_run && h.region == shards[i]};
    copy(group[i], last(group[i]));
  }
  std::vector<std::vector<std::uint32_t>> brought(n);
  std::vector<Need> needs;
  for (std::uint32_t k = 1; k < n; ++k)
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t to = (i + k) % n;
      const Holding& there = held_[group[to]];
      for (std::size_t r = 0; r < shards[to].size(); ++r) {
        if (shards[to][r].bytes() == 0) continue;
        needs.clear();
        need(before[i], shards[to], r, needs);
        need(there, shards[to], r, needs);
        brought[to].push_back(add({group[i], group[to], before[i].layout, there.layout},
                                  shards[to][r], &there.layout, needs));
      }
    }
  for (std::uint32_t i = 0; i < n; ++i)
    held_[group[i]] = {shards[i], last(group[i]), std::move(brought[i]), false};
}

void ScheduleBuilder::direct_all_gather(const Group& group, std::span<const Region> shards,
                                        const Region& whole, Layout to) {
  const auto n = static_cast<std::uint32_t>(group.size());
  std::vector<std::vector<std::uint32_t>> brought(n);
  std::vector<Need> needs;
  for (std::uint32_t k = 1; k < n; ++k)
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t other = (i + k) % n;
      const Holding& here = held_[group[i]];
      for (std::size_t r = 0; r < shards[i].size(); ++r) {
        if (shards[i][r].bytes() == 0) continue;
        needs.clear();
        need(here, shards[i], r, needs);
        brought[other].push_back(
            add({group[i], group[other], here.layout, to}, shards[i][r], nullptr, needs));
      }
    }
  for (std::uint32_t i = 0; i < n; ++i) {
    copy(group[i], to);
    const auto& own = held_[group[i]].brought;
    brought[i].insert(brought[i].end(), own.begin(), own.end());
    held_[group[i]] = {whole, to, std::move(brought[i]), false};
  }
}

void ScheduleBuilder::exchange(const Group& group,
                               const std::function<Region(std::uint32_t member)>& region_of,
                               std::int64_t stride, Layout to) {
  const auto n = static_cast<std::uint32_t>(group.size());
  const std::vector<Holding> before = holdings(group);
  std::vector<std::vector<std::uint32_t>> brought(n);
  std::vector<Need> needs;
  for (std::uint32_t k = 0; k < n; ++k)
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t j = (i + k) % n;
      const Region region = region_of(j);
      Layout moved = to;
      moved.shift += (std::int64_t{i} - std::int64_t{j}) * stride;
      for (std::size_t r = 0; r < region.size(); ++r) {
        if (region[r].bytes() == 0) continue;
        needs.clear();
        need(before[i], region, r, needs);
        brought[j].push_back(
            add({group[i], group[j], before[i].layout, moved}, region[r], nullptr, needs));
      }
    }
  for (std::uint32_t i = 0; i < n; ++i)
    held_[group[i]] = {before[i].region, to, std::move(brought[i]), false};
}

std::vector<Holding> ScheduleBuilder::holdings(const Group& group) const {
  std::vector<Holding> out;
  for (const std::uint32_t chip : group) out.push_back(held_[chip]);
  return out;
}

void ScheduleBuilder::pass(std::uint32_t from, std::uint32_t to, Layout layout) {
  const Holding here = held_[from];
  Holding next = {here.region, layout, {}, true};
  std::vector<Need> needs;
  for (std::size_t i = 0; i < here.region.size(); ++i) {
    if (here.region[i].bytes() == 0) continue;
    needs.clear();
    need(here, here.region, i, needs);
    next.brought.push_back(add({from, to, here.layout, layout}, here.region[i], nullptr, needs));
  }
  held_[to] = std::move(next);
}

void ScheduleBuilder::rotate(const Group& group, std::int64_t by, Layout to) {
  const auto n = static_cast<std::int64_t>(group.size());
  const std::vector<Holding> before = holdings(group);
  std::vector<Need> needs;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t from = group[static_cast<std::size_t>(i)];
    const std::uint32_t target = group[static_cast<std::size_t>(((i + by) % n + n) % n)];
    const Holding& here = before[static_cast<std::size_t>(i)];
    Holding next = {here.region, to, {}, true};
    for (std::size_t r = 0; r < here.region.size(); ++r) {
      if (here.region[r].bytes() == 0) continue;
      needs.clear();
      need(here, here.region, r, needs);
      next.brought.push_back(add({from, target, here.layout, to}, here.region[r], nullptr, needs));
    }
    held_[target] = std::move(next);
  }
}

void ScheduleBuilder::pass_sum(std::uint32_t from, std::uint32_t to, Layout layout) {
  const Holding& here = held_[from];
  Holding& there = held_[to];
  Holding next = {here.region, layout, {}, true};
  std::vector<Need> needs;
  for (std::size_t i = 0; i < here.region.size(); ++i) {
    if (here.region[i].bytes() == 0) continue;
    needs.clear();
    need(here, here.region, i, needs);
    need(there, here.region, i, needs);
    next.brought.push_back(
        add({from, to, here.layout, layout}, here.region[i], &there.layout, needs));
  }
  there = std::move(next);
}

}  // namespace xpusim::network
