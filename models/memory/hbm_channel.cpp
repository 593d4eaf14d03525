#include "models/memory/hbm_channel.h"

#include <algorithm>
#include <bit>

#include "sim/engine/prefetch.h"

// Arrivals, columns and the order of events. Rows and refreshes: hbm_rows.cpp.

namespace xpusim::memory {

HbmChannel::HbmChannel(const HbmTiming& timing, std::uint32_t index, std::uint32_t of)
    : t_(timing),
      two_lanes_(timing.ccd_l >= 2 * timing.ccd_s),
      ccd_l_bits_(std::has_single_bit(timing.ccd_l) ? std::countr_zero(timing.ccd_l) : -1) {
  for (Queue& q : queues_) {
    q.head.fill(kNone);
    q.tail.fill(kNone);
    q.hit.fill(kNone);
  }
  for (std::uint32_t b = 0; b < t_.banks; ++b) {
    group_of_[b] = static_cast<std::uint8_t>(b % t_.groups);
    group_banks_[group_of_[b]] |= BankMask{1} << b;
  }
  if (t_.refresh == HbmTiming::Refresh::kNone) return;
  refresh_at_ = t_.refresh_interval - std::uint64_t{t_.refresh_interval} * index / of;
  if (t_.refresh == HbmTiming::Refresh::kPerBank) refresh_bank_ = index % t_.banks;
}

void HbmChannel::push(const Request& request, Ck arrival) {
  inbox_.push_back({request, arrival});
  ++counters_.requests;
  (request.write ? counters_.write_bytes : counters_.read_bytes) += request.columns * kColumnBytes;
  if (idle()) {
    charge(arrival);
    refresh_while_idle(arrival);
  }
  if (!blocked_) next_ = std::min(next_, arrival);
}

void HbmChannel::prefetch() const {
  engine::prefetch(&t_, sizeof t_);
  engine::prefetch(banks_.data(), t_.banks * sizeof(Bank));
  engine::prefetch(groups_.data(), t_.groups * sizeof(Group));
  engine::prefetch(&queues_, sizeof queues_);
  engine::prefetch(
      &lanes_, reinterpret_cast<const char*>(this + 1) - reinterpret_cast<const char*>(&lanes_));
  engine::prefetch(runs_.data(), std::min<std::size_t>(runs_.size() * sizeof(Run), 512));
  engine::prefetch(parts_.data(), std::min<std::size_t>(parts_.size() * sizeof(Part), 256));
}

void HbmChannel::advance(Ck until, std::vector<Completion>& done) {
  while (next_ <= until) next_ = step(next_, done);
  for (const Lane& lane : lanes_) {
    if (lane.busy()) complete_parts(lane, issued(lane, until), done);
  }
}

HbmChannel::Ck HbmChannel::next_due() const {
  Ck due = next_;
  for (const Lane& lane : lanes_) {
    if (!lane.busy()) continue;
    const Run& run = runs_[lane.run];
    if (run.first_part == kNone) continue;
    const std::uint32_t nth = std::uint32_t{parts_[run.first_part].end} - run.issued;
    due = std::min(due, lane.start + t_.ccd_l * (nth - 1));
  }
  return due;
}

HbmChannel::Ck HbmChannel::step(Ck now, std::vector<Completion>& done) {
  charge(now);
  for (Lane& lane : lanes_) {
    if (lane.busy() && now > lane.start + t_.ccd_l * (lane.columns - 1)) {
      settle(lane, lane.columns, done);
    }
  }
  Ck next = admit_arrivals(now);
  next = std::min(next, switch_direction(now, done));
  if (now >= refresh_at_) schedule_refresh(now, done);
  next = std::min(next, start_lanes(now));
  next = std::min(next, row_command(now));
  const bool busy =
      queues_[0].waiting != 0 || queues_[1].waiting != 0 || refresh_due_ != 0 || arrivals_waiting();
  if (busy) next = std::min(next, refresh_at_);
  next = std::max(quiet_arrivals(next), now + 1);
  reason_ = reason(now);
  return busy ? next : kNever;
}

/// Arrivals before the next event that can cause no command by themselves need no event of their
/// own.
HbmChannel::Ck HbmChannel::quiet_arrivals(Ck next) {
  const auto lane_end = [&] {
    Ck end = kNever;
    for (const Lane& l : lanes_) {
      if (l.busy()) end = std::min(end, l.start + t_.ccd_l * (l.columns - 1) + t_.ccd_s);
    }
    return end;
  };
  Ck end = lane_end();
  while (!blocked_ && arrivals_waiting()) {
    const Arrival& a = inbox_[inbox_head_];
    if (a.at >= std::min(next, end)) break;
    if (queued(a.request.write, a.at) + 2 > t_.queue_columns) return std::min(a.at, end);
    if (merge(a.request, a.at)) {
      end = lane_end();
    } else if (is_quiet(a.request)) {
      enqueue(a.request);
    } else {
      return std::min(a.at, end);
    }
    pop_arrival();
  }
  return std::min(next, end);
}

/// A request behind others of its bank and direction, which does not turn the direction either.
bool HbmChannel::is_quiet(const Request& r) const {
  if (!(queues_[r.write].waiting >> r.bank & 1)) return false;
  if (r.write == write_mode_) return true;
  if (write_mode_) return queues_[0].columns > 0;
  return queues_[1].columns + r.columns < t_.write_high && queues_[0].columns > 0;
}

HbmChannel::Ck HbmChannel::admit_arrivals(Ck now) {
  blocked_ = false;
  while (arrivals_waiting()) {
    const Arrival& a = inbox_[inbox_head_];
    if (a.at > now) return a.at;
    const std::uint32_t taken = queued(a.request.write, now);
    // A run enters as soon as its first atom fits: it stands for requests that come one by one.
    if (taken + 2 > t_.queue_columns) {
      blocked_ = true;
      if (a.request.write != write_mode_) return kNever;
      return when_issued(taken + a.request.columns - t_.queue_columns, now);
    }
    if (!merge(a.request, now)) enqueue(a.request);
    pop_arrival();
  }
  return kNever;
}

void HbmChannel::pop_arrival() {
  if (++inbox_head_ == inbox_.size()) {
    inbox_.clear();
    inbox_head_ = 0;
  } else if (inbox_head_ >= 1024) {
    inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(inbox_head_));
    inbox_head_ = 0;
  }
}

/// Extends the bank's youngest run of this direction if it is of the same row. A run is at most a
/// quarter of the queue, so that it does not distort the order of service.
bool HbmChannel::merge(const Request& request, Ck now) {
  Queue& q = queues_[request.write];
  const std::uint16_t index = q.tail[request.bank];
  if (index == kNone) return false;
  Run& run = runs_[index];
  const std::uint32_t columns = run.columns + std::uint32_t{request.columns};
  if (run.row != request.row || columns - run.issued > t_.queue_columns / 4) return false;
  if (request.write == write_mode_) {
    for (Lane& lane : lanes_) {
      if (lane.run != index) continue;
      if (now > lane.start + t_.ccd_l * lane.columns) return false;
      lane.columns += request.columns;
    }
  }
  run.columns = static_cast<std::uint16_t>(columns);
  q.columns += request.columns;
  const std::uint16_t part = new_part(request, run.columns);
  (run.first_part == kNone ? run.first_part : parts_[run.last_part].next) = part;
  run.last_part = part;
  ++counters_.row_hits;
  return true;
}

void HbmChannel::enqueue(const Request& request) {
  std::uint16_t index;
  if (free_runs_.empty()) {
    index = static_cast<std::uint16_t>(runs_.size());
    runs_.emplace_back();
  } else {
    index = free_runs_.back();
    free_runs_.pop_back();
  }
  const std::uint16_t part = new_part(request, request.columns);
  runs_[index] = {request.row, request.bank, request.columns, 0, kNone, part, part, age_++};
  Queue& q = queues_[request.write];
  const std::uint32_t b = request.bank;
  const BankMask bit = BankMask{1} << b;
  if (q.tail[b] == kNone) {
    q.head[b] = index;
    q.waiting |= bit;
  } else {
    runs_[q.tail[b]].next = index;
  }
  q.tail[b] = index;
  q.columns += request.columns;
  if ((open_ & bit) == 0 || banks_[b].row != request.row) return;
  ++counters_.row_hits;
  const bool on_lane = request.write == write_mode_ && ((lanes_[0].busy() && lanes_[0].bank == b) ||
                                                        (lanes_[1].busy() && lanes_[1].bank == b));
  if ((q.hits & bit) == 0 && !on_lane) {
    q.hit[b] = index;
    q.hits |= bit;
  }
}

std::uint16_t HbmChannel::new_part(const Request& request, std::uint16_t end) {
  std::uint16_t part;
  if (free_parts_.empty()) {
    part = static_cast<std::uint16_t>(parts_.size());
    parts_.emplace_back();
  } else {
    part = free_parts_.back();
    free_parts_.pop_back();
  }
  parts_[part] = {request.id, end, kNone};
  return part;
}

/// Column commands given up to and including `now`.
std::uint32_t HbmChannel::issued(const Lane& lane, Ck now) const {
  if (!lane.busy() || now < lane.start) return 0;
  const auto since = static_cast<std::uint32_t>(now - lane.start);
  const std::uint32_t n = ccd_l_bits_ >= 0 ? since >> ccd_l_bits_ : since / t_.ccd_l;
  return std::min(n + 1, lane.columns);
}

std::uint32_t HbmChannel::queued(bool write, Ck now) const {
  std::uint32_t n = queues_[write].columns;
  if (write == write_mode_) n -= issued(lanes_[0], now) + issued(lanes_[1], now);
  return n;
}

/// About when the lanes will have given this many more commands (never too late).
HbmChannel::Ck HbmChannel::when_issued(std::uint32_t columns, Ck now) const {
  const auto lanes = static_cast<std::uint32_t>(busy_lanes());
  if (lanes == 0) return kNever;
  const std::uint32_t turns = (columns + lanes - 1) / lanes;
  return now + std::max(1u, t_.ccd_l * turns - std::min(t_.ccd_l - 1, t_.ccd_l * turns - 1));
}

HbmChannel::Ck HbmChannel::start_lanes(Ck now) {
  Ck next = kNever;
  Queue& q = queues_[write_mode_];
  for (std::size_t i = 0; i < 2; ++i) {
    Lane& lane = lanes_[i];
    const Lane& other = lanes_[1 - i];
    if (lane.busy() || (!two_lanes_ && other.busy())) continue;
    const Pick pick = pick_hit(other, now);
    if (pick.bank < 0) {
      next = std::min(next, pick.next);
      if (!other.busy()) break;  // the other lane would find the same
      continue;
    }
    const auto b = static_cast<std::uint32_t>(pick.bank);
    lane.run = q.hit[b];
    lane.bank = static_cast<std::uint16_t>(b);
    lane.columns = static_cast<std::uint32_t>(runs_[lane.run].columns - runs_[lane.run].issued);
    lane.start = now + t_.run_gap;
    if (other.busy()) {  // into the gaps of the other lane's columns
      const auto phase = [&] {
        return (lane.start + t_.ccd_l - other.start % t_.ccd_l) % t_.ccd_l;
      };
      while (phase() < t_.ccd_s || phase() > t_.ccd_l - t_.ccd_s) ++lane.start;
    }
    q.hits &= ~(BankMask{1} << b);
  }
  return next;
}

HbmChannel::Pick HbmChannel::pick_hit(const Lane& other, Ck now) const {
  const Queue& q = queues_[write_mode_];
  BankMask mask = q.hits & ~refresh_due_;
  if (other.busy()) mask &= ~group_banks_[group_of_[other.bank]];
  if (mask == 0) return {};
  const Ck bus = other.busy() ? 0 : (write_mode_ ? write_at_ : read_at_);
  Pick pick;
  std::uint64_t oldest = ~std::uint64_t{0};
  for (; mask != 0; mask &= mask - 1) {
    const int b = std::countr_zero(mask);
    const auto i = static_cast<std::size_t>(b);
    const Group& g = groups_[group_of_[i]];
    const Ck ready = write_mode_ ? std::max({banks_[i].write_at, g.write_at, bus})
                                 : std::max({banks_[i].read_at, g.read_at, bus});
    if (ready > now) {
      pick.next = std::min(pick.next, ready);
    } else if (const std::uint64_t age = runs_[q.hit[i]].age; age < oldest) {
      oldest = age;
      pick.bank = b;
    }
  }
  return pick;
}

/// Ends (or interrupts) the run on a lane after this many columns.
void HbmChannel::settle(Lane& lane, std::uint32_t columns, std::vector<Completion>& done) {
  Queue& q = queues_[write_mode_];
  const std::uint16_t index = lane.run;
  if (columns > 0) {
    complete_parts(lane, columns, done);
    hold_after(lane, columns);
    runs_[index].issued = static_cast<std::uint16_t>(runs_[index].issued + columns);
    q.columns -= columns;
    moved_settled_ += columns * t_.ccd_s;
  }
  lane.run = kNone;
  if (runs_[index].issued == runs_[index].columns) remove_run(q, index);
  find_hit(q, lane.bank);
}

void HbmChannel::complete_parts(const Lane& lane, std::uint32_t columns,
                                std::vector<Completion>& done) {
  Run& run = runs_[lane.run];
  const Ck data = (write_mode_ ? t_.cwl : t_.cl) + t_.burst;
  while (run.first_part != kNone) {
    const std::uint16_t index = run.first_part;
    const Part& part = parts_[index];
    const std::uint32_t nth = std::uint32_t{part.end} - run.issued;
    if (nth > columns) return;
    done.push_back({part.id, lane.start + t_.ccd_l * (nth - 1) + data});
    run.first_part = part.next;
    free_parts_.push_back(index);
  }
}

/// What the last of these columns forbids to those that follow.
void HbmChannel::hold_after(const Lane& lane, std::uint32_t columns) {
  const Ck last = lane.start + t_.ccd_l * (columns - 1);
  Bank& b = banks_[lane.bank];
  Group& g = groups_[group_of_[lane.bank]];
  const auto hold = [](Ck& at, Ck until) { at = std::max(at, until); };
  if (write_mode_) {
    const Ck data_end = last + t_.cwl + t_.burst;
    hold(write_at_, last + t_.ccd_s);
    hold(g.write_at, last + t_.ccd_l);
    hold(read_at_, data_end + t_.wtr_s);
    hold(g.read_at, data_end + t_.wtr_l);
    hold(b.pre_at, data_end + t_.wr);
  } else {
    hold(read_at_, last + t_.ccd_s);
    hold(g.read_at, last + t_.ccd_l);
    hold(write_at_, last + t_.rtw);
    hold(b.pre_at, last + t_.rtp);
  }
}

void HbmChannel::remove_run(Queue& q, std::uint16_t index) {
  const std::uint32_t b = runs_[index].bank;
  std::uint16_t before = kNone;
  for (std::uint16_t k = q.head[b]; k != index; k = runs_[k].next) before = k;
  (before == kNone ? q.head[b] : runs_[before].next) = runs_[index].next;
  if (q.tail[b] == index) q.tail[b] = before;
  if (q.head[b] == kNone) q.waiting &= ~(BankMask{1} << b);
  free_runs_.push_back(index);
}

void HbmChannel::find_hit(Queue& q, std::uint32_t bank) {
  const BankMask bit = BankMask{1} << bank;
  q.hits &= ~bit;
  if ((open_ & bit) == 0) return;
  for (std::uint16_t k = q.head[bank]; k != kNone; k = runs_[k].next) {
    if (runs_[k].row == banks_[bank].row) {
      q.hit[bank] = k;
      q.hits |= bit;
      return;
    }
  }
}

HbmChannel::Ck HbmChannel::switch_direction(Ck now, std::vector<Completion>& done) {
  const std::uint32_t writes = queued(true, now), reads = queued(false, now);
  const bool to_write = writes >= t_.write_high || (reads == 0 && writes > 0);
  const bool to_read = writes == 0 || (writes <= t_.write_low && reads > 0);
  if (write_mode_ ? to_read : to_write) {
    for (Lane& lane : lanes_) {
      if (lane.busy()) settle(lane, issued(lane, now), done);
    }
    write_mode_ = !write_mode_;
    return kNever;
  }
  if (write_mode_ && reads > 0) return when_issued(writes - t_.write_low, now);
  return kNever;
}

void HbmChannel::charge(Ck now) {
  if (now <= ledger_.charged()) return;
  const std::uint64_t moved =
      moved_settled_ + (issued(lanes_[0], now) + issued(lanes_[1], now)) * t_.ccd_s;
  const std::uint64_t counted = std::min(moved - moved_charged_, now - ledger_.charged());
  moved_charged_ += counted;
  ledger_.charge_until(ledger_.charged() + counted, HbmReason::kTransfer);
  ledger_.charge_until(now, reason_);
}

HbmReason HbmChannel::reason(Ck now) const {
  const int lanes = busy_lanes();
  if (lanes > 0) return HbmReason::kBankGroup;
  const Queue& q = queues_[write_mode_];
  if (queues_[0].waiting == 0 && queues_[1].waiting == 0) return HbmReason::kIdle;
  if (((q.waiting | q.hits) & ~refresh_due_) == 0) return HbmReason::kRefresh;
  if ((q.hits & ~refresh_due_) != 0 && (write_mode_ ? write_at_ : read_at_) > now) {
    return HbmReason::kTurnaround;
  }
  const auto head_refreshes = [&](BankMask m) {
    return banks_[static_cast<std::size_t>(std::countr_zero(m))].refreshed_at > now;
  };
  for (BankMask m = q.waiting & ~open_; m != 0; m &= m - 1) {
    if (head_refreshes(m)) return HbmReason::kRefresh;
  }
  return HbmReason::kRow;
}

void HbmChannel::finish(Ck ck) { charge(ck); }

}  // namespace xpusim::memory
