#include "models/memory/hbm_channel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/memory/hbm_reference.h"

namespace xpusim::memory {
namespace {

using Ck = HbmChannel::Ck;
using Completion = HbmChannel::Completion;

HbmParams params(const std::string& refresh = "none") {
  HbmParams p;
  p.refresh = refresh;
  return p;
}

std::vector<Completion> run(HbmChannel& channel) {
  std::vector<Completion> done;
  while (!channel.idle()) channel.advance(channel.next_due() + 100, done);
  return done;
}

// ---- single accesses, by hand

TEST(HbmChannel, takes_activate_column_and_burst_for_a_first_read) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  channel.push({7, 3, 0, 1, false}, 10);
  const auto done = run(channel);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].id, 7u);
  EXPECT_EQ(done[0].at, 10u + t.rcd_rd + t.cl + t.burst);  // 10 + 31 + 20 + 2
  EXPECT_EQ(done[0].at, 63u);
  EXPECT_EQ(channel.counters().activates, 1u);
  EXPECT_EQ(channel.counters().row_hits, 0u);
}

TEST(HbmChannel, needs_no_activate_for_a_read_of_the_open_row) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  channel.push({0, 3, 0, 1, false}, 0);
  run(channel);
  channel.push({1, 3, 0, 1, false}, 1000);
  const auto done = run(channel);
  EXPECT_EQ(done[0].at, 1000u + t.cl + t.burst);
  EXPECT_EQ(channel.counters().activates, 1u);
  EXPECT_EQ(channel.counters().row_hits, 1u);
}

TEST(HbmChannel, closes_the_row_first_for_a_read_of_another_row) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  channel.push({0, 3, 0, 1, false}, 0);
  run(channel);
  channel.push({1, 4, 0, 1, false}, 1000);
  const auto done = run(channel);
  EXPECT_EQ(done[0].at, 1000u + t.rp + t.rcd_rd + t.cl + t.burst);
  EXPECT_EQ(channel.counters().precharges, 1u);
}

TEST(HbmChannel, gives_columns_of_one_bank_group_every_ccd_l) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  channel.push({0, 3, 0, 16, false}, 0);
  EXPECT_EQ(run(channel)[0].at, t.rcd_rd + 15u * t.ccd_l + t.cl + t.burst);
}

TEST(HbmChannel, idles_for_the_gap_before_each_run) {
  HbmParams p = params();
  p.timing.run_gap = 6;
  const HbmTiming t(p);
  HbmChannel channel(t);
  channel.push({0, 3, 0, 16, false}, 0);
  EXPECT_EQ(run(channel)[0].at, t.rcd_rd + 6u + 15u * t.ccd_l + t.cl + t.burst);
}

TEST(HbmChannel, spreads_the_refreshes_of_channels_over_the_interval) {
  const HbmTiming t(params("all_bank"));
  HbmChannel first(t, 0, 4), second(t, 1, 4);
  const Ck at = t.refresh_interval - t.refresh_interval / 4 + 1;  // the second one refreshes
  first.push({0, 3, 0, 1, false}, at);
  second.push({0, 3, 0, 1, false}, at);
  EXPECT_EQ(run(first)[0].at, at + t.rcd_rd + t.cl + t.burst);
  EXPECT_GE(run(second)[0].at, at + t.rfc);
}

TEST(HbmChannel, interleaves_two_bank_groups_on_the_data_bus) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  channel.push({0, 3, 0, 16, false}, 0);
  channel.push({1, 3, 1, 16, false}, 0);  // the second activate: rrd_s later
  const auto done = run(channel);
  EXPECT_EQ(done[0].at, t.rcd_rd + 15u * t.ccd_l + t.cl + t.burst);
  EXPECT_LE(done[1].at, t.rrd_s + t.rcd_rd + 15u * t.ccd_l + t.cl + t.burst + t.ccd_s);
}

TEST(HbmChannel, waits_for_written_data_before_it_reads_again) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  const Ck write = t.rcd_wr;
  channel.push({0, 3, 0, 1, true}, 0);
  channel.push({1, 3, 0, 1, false}, write + 1);
  const auto done = run(channel);
  EXPECT_EQ(done[0].at, write + t.cwl + t.burst);
  EXPECT_EQ(done[1].at, write + t.cwl + t.burst + t.wtr_l + t.cl + t.burst);
}

TEST(HbmChannel, tells_when_each_request_of_a_merged_run_is_done) {
  const HbmTiming t(params());
  HbmChannel channel(t);
  for (std::uint32_t i = 0; i < 4; ++i) channel.push({i, 3, 0, 2, false}, 0);
  const auto done = run(channel);
  ASSERT_EQ(done.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(done[i].id, i);
    EXPECT_EQ(done[i].at, t.rcd_rd + (2u * i + 1) * t.ccd_l + t.cl + t.burst);
  }
  EXPECT_EQ(channel.counters().activates, 1u);
  EXPECT_EQ(channel.counters().row_hits, 3u);
}

TEST(HbmChannel, refreshes_as_often_when_idle_as_its_interval_says) {
  for (const char* mode : {"per_bank", "all_bank"}) {
    const HbmTiming t(params(mode));
    HbmChannel channel(t);
    const Ck later = Ck{t.refresh_interval} * 100 + 5;
    channel.push({0, 3, 0, 1, false}, later);
    std::vector<Completion> done;
    channel.advance(later + 1000, done);
    EXPECT_NEAR(static_cast<double>(channel.counters().refreshes), 101.0, 2.0) << mode;
    ASSERT_EQ(done.size(), 1u);
    EXPECT_GE(done[0].at, later + t.rcd_rd + t.cl + t.burst);
    EXPECT_LE(done[0].at, later + t.rfc + t.rcd_rd + t.cl + t.burst);
  }
}

// ---- against the reference

struct Pattern {
  const char* name;
  std::uint32_t columns;  ///< a request
  bool random;
  double writes;          ///< share of random requests
  std::uint32_t streams;  ///< sequential streams; of three, the last writes
};
constexpr Pattern kPatterns[] = {
    {"read stream", 16, false, 0, 1},
    {"two read streams", 16, false, 0, 2},
    {"2R:1W streams", 16, false, 0, 3},
    {"write stream", 16, false, 1, 1},
    {"random 1 KiB", 32, true, 0, 0},
    {"random 512 B", 16, true, 0, 0},
    {"random 256 B", 8, true, 0, 0},
    {"random 128 B", 4, true, 0, 0},
    {"random 64 B", 2, true, 0, 0},
    {"random 512 B, 1/3 writes", 16, true, 0.33, 0},
    {"random 256 B, 1/3 writes", 8, true, 0.33, 0},
    {"random 64 B, 1/3 writes", 2, true, 0.33, 0},
};

struct Traffic {
  std::vector<std::pair<HbmChannel::Request, Ck>> requests;
  std::vector<reference::Atom> atoms;
};

/// About `bytes` of a pattern at `load` times the peak rate (1: everything is there at once).
Traffic traffic(const Pattern& p, std::uint64_t bytes, double load, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Traffic out;
  std::vector<std::uint64_t> position(std::max(1u, p.streams));
  for (std::size_t i = 0; i < position.size(); ++i) position[i] = i * 65536 * 32 + i * 7 * 32;
  double at = 0;
  std::uint32_t id = 0;
  for (std::uint64_t columns = 0; columns < bytes / kColumnBytes; columns += p.columns, ++id) {
    HbmChannel::Request r{id, 0, 0, static_cast<std::uint16_t>(p.columns), false};
    if (p.random) {
      r.row = static_cast<std::uint32_t>(random() % 16384);
      r.bank = static_cast<std::uint16_t>(random() % 16);
      r.write = std::uniform_real_distribution<>(0, 1)(random) < p.writes;
    } else {
      const std::size_t s = id % position.size();
      const std::uint64_t page = position[s] / 32;
      r.bank = static_cast<std::uint16_t>((page + page / 16 * 5) % 16);
      r.row = static_cast<std::uint32_t>(page / 16);
      r.write = p.writes > 0 || s == 2;
      position[s] += p.columns;
    }
    out.requests.emplace_back(r, load < 1 ? static_cast<Ck>(at) : 0);
    for (std::uint32_t c = 0; c < p.columns; c += 2) {
      out.atoms.push_back({id, r.row, r.bank, std::min(2u, p.columns - c), r.write,
                           load < 1 ? static_cast<Ck>(at) : 0});
      at += 2 * 2 / load;
    }
  }
  return out;
}

class AgainstReference : public testing::TestWithParam<std::tuple<int, double, const char*>> {};

TEST_P(AgainstReference, agrees_on_time_activates_and_refreshes) {
  const Pattern& pattern = kPatterns[std::get<0>(GetParam())];
  const double load = std::get<1>(GetParam());
  const HbmTiming timing(params(std::get<2>(GetParam())));
  const Traffic t = traffic(pattern, 900'000, load, 42);
  const auto ids = static_cast<std::uint32_t>(t.requests.size());
  const auto expected = reference::Channel(timing).run(t.atoms, ids);

  HbmChannel channel(timing);
  for (const auto& [request, at] : t.requests) channel.push(request, at);
  std::vector<Ck> done(ids, 0);
  Ck end = 0;
  for (const Completion& c : run(channel)) {
    EXPECT_EQ(done[c.id], 0u) << "answered twice";
    done[c.id] = c.at;
    end = std::max(end, c.at);
  }
  double latency = 0, expected_latency = 0;
  for (std::uint32_t i = 0; i < ids; ++i) {
    ASSERT_GT(done[i], 0u) << "never answered";
    latency += static_cast<double>(done[i] - t.requests[i].second);
    expected_latency += static_cast<double>(expected.done[i] - t.requests[i].second);
  }
  const auto error = [](double a, double b) { return 100 * (a - b) / b; };
  const double time_error = error(static_cast<double>(end), static_cast<double>(expected.end));
  const std::string what = fmt::format(
      "{} load {} refresh {}: time {} vs {} ({:+.2f} %), activates {} vs {}, mean "
      "latency {:+.1f} %",
      pattern.name, load, std::get<2>(GetParam()), end, expected.end, time_error,
      channel.counters().activates, expected.activates, error(latency, expected_latency));
  SCOPED_TRACE(what);
  RecordProperty("comparison", what);  // into the XML report
  EXPECT_NEAR(time_error, 0, 2.0);
  EXPECT_NEAR(static_cast<double>(channel.counters().refreshes),
              static_cast<double>(expected.refreshes),
              2.0 + 0.02 * static_cast<double>(expected.refreshes));
  channel.finish(end);
  EXPECT_EQ(channel.ledger().sum(), channel.ledger().lived());
}

INSTANTIATE_TEST_SUITE_P(HbmChannel, AgainstReference,
                         testing::Combine(testing::Range(0, int{std::size(kPatterns)}),
                                          testing::Values(1.0, 0.8, 0.5),
                                          testing::Values("none", "per_bank", "all_bank")));

// ---- independence of how it is driven

TEST(HbmChannel, gives_the_same_result_whatever_the_window) {
  const HbmTiming timing(params("per_bank"));
  const Traffic t = traffic(kPatterns[10], 100'000, 0.7, 7);
  std::vector<std::vector<Ck>> results;
  for (const Ck window : {Ck{1}, Ck{17}, Ck{128}}) {
    HbmChannel channel(timing);
    std::vector<Ck> done_at(t.requests.size(), 0);
    std::vector<Completion> done;
    std::size_t next = 0;
    for (Ck now = 0; next < t.requests.size() || !channel.idle(); now += window) {
      for (; next < t.requests.size() && t.requests[next].second < now + window; ++next) {
        channel.push(t.requests[next].first, t.requests[next].second);
      }
      channel.advance(now + window - 1, done);
    }
    for (const Completion& c : done) done_at[c.id] = c.at;
    results.push_back(done_at);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace xpusim::memory
