#pragma once

// A pseudo channel cycle by cycle, command by command, written as plainly as it can be: the oracle
// for HbmChannel. Slow; shares nothing with it but the parameters.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "models/memory/hbm_timing.h"

namespace xpusim::memory::reference {

/// A request of one or two columns of a row.
struct Atom {
  std::uint32_t id, row, bank, columns;
  bool write;
  std::uint64_t arrival;
};

struct Result {
  std::uint64_t end = 0;  ///< last data on the bus
  std::uint64_t activates = 0, refreshes = 0;
  std::vector<std::uint64_t> done;  ///< by id: its last data on the bus
};

class Channel {
 public:
  explicit Channel(const HbmTiming& t) : t_(t), banks_(t.banks), groups_(t.groups) {
    if (t_.refresh != HbmTiming::Refresh::kNone) refresh_at_ = t_.refresh_interval;
  }

  Result run(const std::vector<Atom>& atoms, std::uint32_t ids) {
    result_.done.assign(ids, 0);
    incoming_.assign(atoms.begin(), atoms.end());
    for (std::uint64_t now = 0; !incoming_.empty() || !reads_.empty() || !writes_.empty(); ++now) {
      cycle(now);
    }
    return result_;
  }

 private:
  struct Bank {
    bool open = false, refresh = false;
    std::uint32_t row = 0;
    std::uint64_t act = 0, pre = 0, read = 0, write = 0;
  };
  struct Group {
    std::uint64_t act = 0, read = 0, write = 0;
  };
  using Queue = std::vector<Atom>;

  static void at_least(std::uint64_t& a, std::uint64_t b) { a = std::max(a, b); }
  Group& group(std::uint32_t bank) { return groups_[bank % t_.groups]; }
  static std::uint32_t columns(const Queue& q) {
    std::uint32_t n = 0;
    for (const Atom& a : q) n += a.columns;
    return n;
  }

  void cycle(std::uint64_t now) {
    admit(now);
    const std::uint32_t w = columns(writes_);
    if (!write_mode_) {
      if (w >= t_.write_high || (reads_.empty() && !writes_.empty())) write_mode_ = true;
    } else if (writes_.empty() || (w <= t_.write_low && !reads_.empty())) {
      write_mode_ = false;
    }
    if (now >= refresh_at_) mark_refresh();
    column(now);
    if (now >= row_bus_) row(now);
  }

  void admit(std::uint64_t now) {
    while (!incoming_.empty() && incoming_.front().arrival <= now) {
      Queue& q = incoming_.front().write ? writes_ : reads_;
      if (columns(q) + incoming_.front().columns > t_.queue_columns) return;
      q.push_back(incoming_.front());
      incoming_.pop_front();
    }
  }

  void mark_refresh() {
    if (t_.refresh == HbmTiming::Refresh::kAllBank) {
      for (Bank& b : banks_) b.refresh = true;
    } else {
      banks_[refresh_bank_].refresh = true;
      refresh_bank_ = (refresh_bank_ + 1) % t_.banks;
    }
    refresh_at_ += t_.refresh_interval;
  }

  /// The oldest request whose row is open and whose column command may be given now.
  void column(std::uint64_t now) {
    Queue& q = write_mode_ ? writes_ : reads_;
    for (auto it = q.begin(); it != q.end(); ++it) {
      Bank& b = banks_[it->bank];
      Group& g = group(it->bank);
      if (!b.open || b.row != it->row || b.refresh) continue;
      if ((write_mode_ ? std::max({b.write, g.write, any_write_})
                       : std::max({b.read, g.read, any_read_})) > now) {
        continue;
      }
      const std::uint64_t data_end = now + (write_mode_ ? t_.cwl : t_.cl) + t_.burst;
      if (write_mode_) {
        at_least(any_write_, now + t_.ccd_s);
        at_least(g.write, now + t_.ccd_l);
        at_least(any_read_, data_end + t_.wtr_s);
        at_least(g.read, data_end + t_.wtr_l);
        at_least(b.pre, data_end + t_.wr);
      } else {
        at_least(any_read_, now + t_.ccd_s);
        at_least(g.read, now + t_.ccd_l);
        at_least(any_write_, now + t_.rtw);
        at_least(b.pre, now + t_.rtp);
      }
      at_least(result_.done[it->id], data_end);
      at_least(result_.end, data_end);
      if (--it->columns == 0) q.erase(it);
      return;
    }
  }

  void row(std::uint64_t now) {
    if (refresh(now)) return;
    Queue& q = write_mode_ ? writes_ : reads_;
    for (auto it = q.begin(); it != q.end(); ++it) {
      Bank& b = banks_[it->bank];
      const auto same_bank = [&](const Atom& a) { return a.bank == it->bank; };
      const auto hit = [&](const Atom& a) { return a.bank == it->bank && a.row == b.row; };
      if (b.refresh || std::find_if(q.begin(), it, same_bank) != it) continue;
      if (b.open) {
        if (std::any_of(q.begin(), q.end(), hit) || std::max(b.pre, any_pre_) > now) continue;
        precharge(b, now);
        return;
      }
      const std::uint64_t window = acts_.size() < 4 ? 0 : acts_.front() + t_.faw;
      if (std::max({b.act, group(it->bank).act, any_act_, window}) > now) continue;
      activate(b, *it, now);
      return;
    }
  }

  void precharge(Bank& b, std::uint64_t now) {
    b.open = false;
    at_least(b.act, now + t_.rp);
    any_pre_ = now + t_.ppd;
    row_bus_ = now + 1;
  }

  void activate(Bank& b, const Atom& a, std::uint64_t now) {
    b.open = true;
    b.row = a.row;
    at_least(b.read, now + t_.rcd_rd);
    at_least(b.write, now + t_.rcd_wr);
    at_least(b.pre, now + t_.ras);
    b.act = now + t_.rc;
    at_least(group(a.bank).act, now + t_.rrd_l);
    at_least(any_act_, now + t_.rrd_s);
    acts_.push_back(now);
    if (acts_.size() > 4) acts_.pop_front();
    row_bus_ = now + 2;
    ++result_.activates;
  }

  bool refresh(std::uint64_t now) {
    const bool all = t_.refresh == HbmTiming::Refresh::kAllBank;
    bool some_open = false;
    std::uint64_t ready = 0;
    for (std::uint32_t i = 0; i < t_.banks; ++i) {
      Bank& b = banks_[i];
      if (b.refresh && b.open) {
        some_open = true;
        if (std::max(b.pre, any_pre_) <= now) {
          precharge(b, now);
          return true;
        }
      }
      at_least(ready, std::max(b.act, group(i).act));
    }
    for (std::uint32_t i = 0; i < t_.banks; ++i) {
      Bank& b = banks_[i];
      if (!b.refresh || b.open) continue;
      if (all ? (some_open || std::max(ready, any_act_) > now)
              : std::max({b.act, group(i).act, any_act_}) > now) {
        continue;
      }
      for (Bank& x : banks_) {
        if (!all && &x != &b) continue;
        x.act = now + t_.rfc;
        x.refresh = false;
      }
      if (!all) at_least(any_act_, now + t_.rrefd);
      row_bus_ = now + 1;
      ++result_.refreshes;
      return true;
    }
    return false;
  }

  HbmTiming t_;
  std::vector<Bank> banks_;
  std::vector<Group> groups_;
  std::deque<Atom> incoming_;
  Queue reads_, writes_;
  bool write_mode_ = false;
  std::uint64_t any_act_ = 0, any_pre_ = 0, any_read_ = 0, any_write_ = 0, row_bus_ = 0;
  std::deque<std::uint64_t> acts_;
  std::uint64_t refresh_at_ = ~std::uint64_t{0};
  std::uint32_t refresh_bank_ = 0;
  Result result_;
};

}  // namespace xpusim::memory::reference
