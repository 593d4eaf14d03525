#include <algorithm>
#include <bit>

#include "models/memory/hbm_channel.h"

// Rows of a pseudo channel: activates, precharges, refreshes.

namespace xpusim::memory {
namespace {

/// CK for which an activate (two-cycle command) and any other row command hold the row command bus.
constexpr std::uint32_t kActivateBus = 2, kRowBus = 1;

}  // namespace

/// Gives the one row command that `now` has room for; returns when the next may come.
HbmChannel::Ck HbmChannel::row_command(Ck now) {
  if (now < row_bus_at_) return row_bus_at_;
  Ck next = kNever;
  if (refresh_due_ != 0 && refresh_command(now, next)) return now + 1;
  const Pick pick = pick_row(now);
  if (pick.bank < 0) return std::min(next, pick.next);
  const auto b = static_cast<std::uint32_t>(pick.bank);
  if (open_ >> b & 1) {
    precharge(b, now);
  } else {
    activate(b, runs_[queues_[write_mode_].head[b]].row, now);
  }
  return row_bus_at_;
}

/// The bank whose oldest run needs a row command: no run of its open row waits, none streams.
HbmChannel::Pick HbmChannel::pick_row(Ck now) const {
  const Queue& q = queues_[write_mode_];
  BankMask mask = q.waiting & ~q.hits & ~refresh_due_;
  for (const Lane& lane : lanes_) {
    if (lane.busy()) mask &= ~(BankMask{1} << lane.bank);
  }
  if (mask == 0) return {};
  const Ck any_act = std::max(act_at_, faw_[faw_next_]);
  Pick pick;
  std::uint64_t oldest = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const int b = std::countr_zero(mask);
    const auto i = static_cast<std::size_t>(b);
    const Ck ready = (open_ >> b & 1)
                         ? std::max(banks_[i].pre_at, pre_at_)
                         : std::max({banks_[i].act_at, groups_[group_of_[i]].act_at, any_act});
    if (ready > now) {
      pick.next = std::min(pick.next, ready);
    } else if (const std::uint64_t age = runs_[q.head[i]].age; age < oldest) {
      oldest = age;
      pick.bank = b;
    }
  }
  return pick;
}

void HbmChannel::activate(std::uint32_t bank, std::uint32_t row, Ck now) {
  Bank& b = banks_[bank];
  b.row = row;
  open_ |= BankMask{1} << bank;
  b.read_at = std::max(b.read_at, now + t_.rcd_rd);
  b.write_at = std::max(b.write_at, now + t_.rcd_wr);
  b.pre_at = std::max(b.pre_at, now + t_.ras);
  b.act_at = now + t_.rc;
  Group& g = groups_[group_of_[bank]];
  g.act_at = std::max(g.act_at, now + t_.rrd_l);
  act_at_ = std::max(act_at_, now + t_.rrd_s);
  faw_[faw_next_] = now + t_.faw;
  faw_next_ = (faw_next_ + 1) % 4;
  row_bus_at_ = now + kActivateBus;
  ++counters_.activates;
  find_hit(queues_[0], bank);
  find_hit(queues_[1], bank);
}

void HbmChannel::precharge(std::uint32_t bank, Ck now) {
  const BankMask bit = BankMask{1} << bank;
  open_ &= ~bit;
  for (Queue& q : queues_) q.hits &= ~bit;
  banks_[bank].act_at = std::max(banks_[bank].act_at, now + t_.rp);
  pre_at_ = now + t_.ppd;
  row_bus_at_ = now + kRowBus;
  ++counters_.precharges;
}

/// A refresh falls due: its banks get no new command until it is done, streams on them stop.
void HbmChannel::schedule_refresh(Ck now, std::vector<Completion>& done) {
  BankMask banks = all_banks();
  if (t_.refresh == HbmTiming::Refresh::kPerBank) {
    banks = BankMask{1} << refresh_bank_;
    refresh_bank_ = (refresh_bank_ + 1) % t_.banks;
  }
  refresh_due_ |= banks;
  refresh_at_ += t_.refresh_interval;
  for (Lane& lane : lanes_) {
    if (lane.busy() && (banks >> lane.bank & 1)) settle(lane, issued(lane, now), done);
  }
}

/// Closes a bank that waits for its refresh, or refreshes; false if neither can be done now.
bool HbmChannel::refresh_command(Ck now, Ck& next) {
  for (BankMask m = refresh_due_ & open_; m != 0; m &= m - 1) {
    const auto b = static_cast<std::uint32_t>(std::countr_zero(m));
    const Ck ready = std::max(banks_[b].pre_at, pre_at_);
    if (ready <= now) {
      precharge(b, now);
      return true;
    }
    next = std::min(next, ready);
  }
  const bool all = t_.refresh == HbmTiming::Refresh::kAllBank;
  if (all && (refresh_due_ & open_) != 0) return false;
  Ck together = 0;
  for (BankMask m = refresh_due_ & ~open_; m != 0; m &= m - 1) {
    const auto b = static_cast<std::uint32_t>(std::countr_zero(m));
    const Ck ready = std::max({banks_[b].act_at, groups_[group_of_[b]].act_at, act_at_});
    together = std::max(together, ready);
    if (all) continue;
    if (ready <= now) {
      refresh(BankMask{1} << b, now);
      return true;
    }
    next = std::min(next, ready);
  }
  if (!all) return false;
  if (together <= now) {
    refresh(refresh_due_, now);
    return true;
  }
  next = std::min(next, together);
  return false;
}

void HbmChannel::refresh(BankMask banks, Ck now) {
  for (BankMask m = banks; m != 0; m &= m - 1) {
    Bank& b = banks_[static_cast<std::size_t>(std::countr_zero(m))];
    b.act_at = b.refreshed_at = now + t_.rfc;
  }
  refresh_due_ &= ~banks;
  if (t_.refresh == HbmTiming::Refresh::kPerBank) act_at_ = std::max(act_at_, now + t_.rrefd);
  row_bus_at_ = now + kRowBus;
  ++counters_.refreshes;
}

/// The refreshes that fell due while nothing was queued, without an event each.
void HbmChannel::refresh_while_idle(Ck until) {
  if (refresh_at_ > until || t_.refresh == HbmTiming::Refresh::kNone) return;
  const bool all = t_.refresh == HbmTiming::Refresh::kAllBank;
  std::uint64_t count = (until - refresh_at_) / t_.refresh_interval + 1;
  const std::uint64_t matter = all ? 1 : t_.banks;
  if (count > matter) {  // those before the last turn leave no trace
    const std::uint64_t skipped = count - matter;
    counters_.refreshes += skipped;
    refresh_at_ += skipped * t_.refresh_interval;
    refresh_bank_ = static_cast<std::uint32_t>((refresh_bank_ + skipped) % t_.banks);
    count = matter;
  }
  for (; count > 0; --count) {
    const BankMask banks = all ? all_banks() : BankMask{1} << refresh_bank_;
    if (!all) refresh_bank_ = (refresh_bank_ + 1) % t_.banks;
    const Ck closed = (open_ & banks) != 0 ? refresh_at_ + t_.rp : refresh_at_;
    for (Queue& q : queues_) q.hits &= ~banks;
    open_ &= ~banks;
    refresh(banks, closed);
    refresh_at_ += t_.refresh_interval;
  }
}

}  // namespace xpusim::memory
