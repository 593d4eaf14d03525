#pragma once

// Parameters of an HBM memory: geometry, JEDEC-style timing, controller.

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "sim/config/diagnostics.h"
#include "sim/config/param.h"

namespace xpusim::memory {

/// What one column command moves on a pseudo channel: BL8 x 32 bit (HBM3), BL4 x 64 bit (HBM2).
inline constexpr std::uint32_t kColumnBytes = 32;

/// Timing of one pseudo channel. Times that the DRAM core sets are in ns; times that the interface
/// sets are in CK, the command clock (HBM3: data rate / 4, HBM2: data rate / 2). Defaults:
/// JESD238-style HBM3 at 6.4 Gb/s, the values that Ramulator 2.1 uses for HBM3_6400Mbps; no vendor
/// publishes its own.
struct HbmTimingParams {
  double clock_hz = 1.6e9;
  std::int64_t burst = 2, ccd_s = 2, ccd_l = 4, run_gap = 0, rtw = 20, cl = 20, cwl = 10, ppd = 2;
  double rcd_rd_ns = 19.375, rcd_wr_ns = 9.375, rp_ns = 16.25, ras_ns = 28.125, rc_ns = 45;
  double wr_ns = 20.625, rtp_ns = 5.625, rrd_s_ns = 2.5, rrd_l_ns = 3.125, faw_ns = 15;
  double wtr_s_ns = 4.375, wtr_l_ns = 6.25;
  double refi_ns = 3900, rfc_ns = 350, rfc_pb_ns = 200, rrefd_ns = 8.125;

  static constexpr auto schema() {
    using P = HbmTimingParams;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("clock", &P::clock_hz, U::kHertz, "CK, the command clock", 1e8, 1e10),
        field("burst", &P::burst, U::kCycles, "CK on the data bus a column of 32 B", 1, 16),
        field("ccd_s", &P::ccd_s, U::kCycles, "column to column, other bank group", 1, 64),
        field("ccd_l", &P::ccd_l, U::kCycles, "column to column, same bank group", 1, 64),
        field("run_gap", &P::run_gap, U::kCycles,
              "idle before the columns of another row: stack id changes, lost turns", 0, 64),
        field("rtw", &P::rtw, U::kCycles, "read command to write command", 1, 200),
        field("cl", &P::cl, U::kCycles, "read command to data", 1, 200),
        field("cwl", &P::cwl, U::kCycles, "write command to data", 1, 200),
        field("ppd", &P::ppd, U::kCycles, "precharge to precharge", 1, 64),
        field("rcd_rd", &P::rcd_rd_ns, U::kNanoseconds, "activate to read", 0, 100),
        field("rcd_wr", &P::rcd_wr_ns, U::kNanoseconds, "activate to write", 0, 100),
        field("rp", &P::rp_ns, U::kNanoseconds, "precharge to activate", 0, 100),
        field("ras", &P::ras_ns, U::kNanoseconds, "activate to precharge", 0, 200),
        field("rc", &P::rc_ns, U::kNanoseconds, "activate to activate, same bank", 0, 200),
        field("wr", &P::wr_ns, U::kNanoseconds, "end of write data to precharge", 0, 200),
        field("rtp", &P::rtp_ns, U::kNanoseconds, "read to precharge", 0, 100),
        field("rrd_s", &P::rrd_s_ns, U::kNanoseconds, "activate to activate, other group", 0, 100),
        field("rrd_l", &P::rrd_l_ns, U::kNanoseconds, "activate to activate, same group", 0, 100),
        field("faw", &P::faw_ns, U::kNanoseconds, "window of four activates", 0, 400),
        field("wtr_s", &P::wtr_s_ns, U::kNanoseconds, "end of write data to read, other group", 0,
              100),
        field("wtr_l", &P::wtr_l_ns, U::kNanoseconds, "end of write data to read, same group", 0,
              100),
        field("refi", &P::refi_ns, U::kNanoseconds, "interval of all-bank refreshes", 100, 1e6),
        field("rfc", &P::rfc_ns, U::kNanoseconds, "an all-bank refresh", 0, 2000),
        field("rfc_pb", &P::rfc_pb_ns, U::kNanoseconds, "a refresh of one bank", 0, 2000),
        field("rrefd", &P::rrefd_ns, U::kNanoseconds, "bank refresh to the next command to a row",
              0, 200)};
  }
};

/// An HBM memory of a chip: stacks of channels of pseudo channels, and their controllers.
///
/// Not modelled: stack-id (rank) timing beyond `run_gap`, the command bus that two pseudo channels
/// share, RFM, ECC traffic, temperature-dependent refresh, vendor-specific scheduling.
struct HbmParams {
  std::int64_t stacks = 6, channels = 16, pseudo_channels = 2;
  std::int64_t bank_groups = 4, banks_per_group = 4, row_bytes = 1024;
  std::int64_t capacity_bytes = 141'000'000'000;
  std::int64_t interleave_bytes = 512;
  std::string spread = "hashed";
  std::string refresh = "per_bank";
  std::int64_t queue_bytes = 6144;
  double write_high = 0.75, write_low = 0.25;
  double request_ns = 50, reply_ns = 70;
  HbmTimingParams timing;

  static constexpr auto schema() {
    using P = HbmParams;
    using config::field;
    using U = config::Unit;
    return std::tuple{
        field("stacks", &P::stacks, U::kCount, "HBM stacks of the chip", 1, 64),
        field("channels", &P::channels, U::kCount, "channels a stack", 1, 64),
        field("pseudo_channels", &P::pseudo_channels, U::kCount, "pseudo channels a channel", 1, 8),
        field("bank_groups", &P::bank_groups, U::kCount, "bank groups a pseudo channel", 1, 16),
        field("banks_per_group", &P::banks_per_group, U::kCount, "banks a group", 1, 16),
        field("row_bytes", &P::row_bytes, U::kBytes, "a row (page) of one pseudo channel", 512,
              16384),
        field("capacity", &P::capacity_bytes, U::kBytes, "bytes of all stacks", 1e6, 1e13),
        field("interleave", &P::interleave_bytes, U::kBytes,
              "consecutive bytes on one pseudo channel: a power of two from 512 B", 512, 65536),
        field("spread", &P::spread, U::kNone,
              "of addresses over pseudo channels and banks: hashed or skewed"),
        field("refresh", &P::refresh, U::kNone, "per_bank, all_bank or none"),
        field("queue", &P::queue_bytes, U::kBytes,
              "read queue and write queue of a pseudo channel, each", 512, 65536),
        field("write_high", &P::write_high, U::kRatio,
              "share of the write queue at which writes are drained", 0.1, 1),
        field("write_low", &P::write_low, U::kRatio,
              "share of the write queue at which waiting reads go again", 0, 0.9),
        field("request_latency", &P::request_ns, U::kNanoseconds,
              "controller pipeline before the queue", 0, 1000),
        field("reply_latency", &P::reply_ns, U::kNanoseconds, "controller pipeline after the data",
              1, 1000),
        config::group("timing", &P::timing, "timing of a pseudo channel")};
  }

  std::int64_t total_channels() const { return stacks * channels; }
  std::int64_t total_pseudo_channels() const { return stacks * channels * pseudo_channels; }
  double bytes_per_second() const {  ///< the peak of the data buses
    return static_cast<double>(total_pseudo_channels()) * kColumnBytes * timing.clock_hz /
           static_cast<double>(timing.burst);
  }
};

/// Says what the ranges of single fields cannot: powers of two, consistent timings, known words.
void check(const HbmParams& params, std::string_view path, Diagnostics& problems);

/// The timing in whole CK (ns rounded up), and what the controller needs beside it.
struct HbmTiming {
  enum class Refresh : std::uint8_t { kNone, kAllBank, kPerBank };
  std::uint32_t banks, groups;
  std::uint32_t burst, ccd_s, ccd_l, run_gap, rtw, cl, cwl, ppd, rcd_rd, rcd_wr, rp, ras, rc, wr,
      rtp;
  std::uint32_t rrd_s, rrd_l, faw, wtr_s, wtr_l, rfc, rrefd;
  std::uint32_t refresh_interval;  ///< between two refresh commands of any bank
  Refresh refresh;
  std::uint32_t queue_columns, write_high, write_low, row_columns;
  explicit HbmTiming(const HbmParams& params);
};

}  // namespace xpusim::memory
