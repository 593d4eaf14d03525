#include "models/memory/hbm_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "models/memory/hbm_channel.h"

namespace xpusim::memory {
namespace {

const std::vector<std::string> kRefreshNames{"none", "all_bank", "per_bank"};
const std::vector<std::string> kSpreadNames{"hashed", "skewed"};

HbmTiming::Refresh refresh_of(const std::string& name) {
  if (name == "none") return HbmTiming::Refresh::kNone;
  return name == "all_bank" ? HbmTiming::Refresh::kAllBank : HbmTiming::Refresh::kPerBank;
}

/// The least number of CK that lasts at least `ns`; a hundredth of a CK is rounding of the input.
std::uint32_t ck(double ns, double clock_hz) {
  return static_cast<std::uint32_t>(std::max(0.0, std::ceil(ns * 1e-9 * clock_hz - 0.01)));
}

void require_power_of_two(std::int64_t value, std::string_view path, std::string_view key,
                          Diagnostics& problems) {
  if (value <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(value))) {
    problems.error({}, fmt::format("{}.{}: {} is not a power of two", path, key, value));
  }
}

}  // namespace

void check(const HbmParams& p, std::string_view path, Diagnostics& problems) {
  require_power_of_two(p.interleave_bytes, path, "interleave", problems);
  require_power_of_two(p.row_bytes, path, "row_bytes", problems);
  const std::int64_t banks = p.bank_groups * p.banks_per_group;
  if (banks > HbmChannel::kMaxBanks) {
    problems.error(
        {}, fmt::format("{}.bank_groups: {} banks a pseudo channel; at most {} are modelled", path,
                        banks, HbmChannel::kMaxBanks));
  }
  if (std::find(kRefreshNames.begin(), kRefreshNames.end(), p.refresh) == kRefreshNames.end()) {
    problems.error({}, fmt::format("{}.refresh: '{}' is none of none, all_bank, per_bank{}", path,
                                   p.refresh, did_you_mean(p.refresh, kRefreshNames)));
  }
  if (std::find(kSpreadNames.begin(), kSpreadNames.end(), p.spread) == kSpreadNames.end()) {
    problems.error({}, fmt::format("{}.spread: '{}' is none of hashed, skewed{}", path, p.spread,
                                   did_you_mean(p.spread, kSpreadNames)));
  }
  if (p.write_low >= p.write_high) {
    problems.error({}, fmt::format("{}.write_low: write_low ({}) must be below write_high ({})",
                                   path, p.write_low, p.write_high));
  }
  const HbmTimingParams& t = p.timing;
  if (t.ccd_s < t.burst || t.ccd_l < t.ccd_s) {
    problems.error({}, fmt::format("{}.timing: burst <= ccd_s <= ccd_l does not hold ({}, {}, {})",
                                   path, t.burst, t.ccd_s, t.ccd_l));
  }
  if (p.refresh == "per_bank" &&
      (t.rfc_pb_ns >= t.refi_ns || t.rrefd_ns * static_cast<double>(banks) >= t.refi_ns)) {
    problems.error(
        {}, fmt::format("{}.timing.rfc_pb: {} bank refreshes of {} ns, {} ns apart, do not fit "
                        "into refi",
                        path, banks, t.rfc_pb_ns, t.rrefd_ns));
  }
  if (t.rfc_ns >= t.refi_ns) {
    problems.error({}, fmt::format("{}.timing.rfc: must be shorter than refi", path));
  }
}

HbmTiming::HbmTiming(const HbmParams& p) {
  const HbmTimingParams& t = p.timing;
  const auto whole = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  const auto ns = [&](double v) { return ck(v, t.clock_hz); };
  banks = whole(p.bank_groups * p.banks_per_group);
  groups = whole(p.bank_groups);
  burst = whole(t.burst), ccd_s = whole(t.ccd_s), ccd_l = whole(t.ccd_l);
  run_gap = whole(t.run_gap);
  rtw = whole(t.rtw), cl = whole(t.cl), cwl = whole(t.cwl), ppd = whole(t.ppd);
  rcd_rd = ns(t.rcd_rd_ns), rcd_wr = ns(t.rcd_wr_ns), rp = ns(t.rp_ns), ras = ns(t.ras_ns);
  rc = ns(t.rc_ns), wr = ns(t.wr_ns), rtp = ns(t.rtp_ns), rrd_s = ns(t.rrd_s_ns);
  rrd_l = ns(t.rrd_l_ns), faw = ns(t.faw_ns), wtr_s = ns(t.wtr_s_ns), wtr_l = ns(t.wtr_l_ns);
  rrefd = ns(t.rrefd_ns);
  refresh = refresh_of(p.refresh);
  const bool per_bank = refresh == Refresh::kPerBank;
  rfc = ns(per_bank ? t.rfc_pb_ns : t.rfc_ns);
  refresh_interval = std::max(1u, ns(t.refi_ns) / (per_bank ? banks : 1));
  queue_columns = whole(p.queue_bytes) / kColumnBytes;
  const auto share = [&](double f) { return static_cast<std::uint32_t>(f * queue_columns); };
  write_high = std::max(1u, share(p.write_high));
  write_low = std::min(share(p.write_low), write_high - 1);
  row_columns = whole(p.row_bytes) / kColumnBytes;
}

}  // namespace xpusim::memory
