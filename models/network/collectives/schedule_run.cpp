#include "models/network/collectives/schedule_run.h"

#include <algorithm>

namespace xpusim::network {

ScheduleRun::ScheduleRun(Fabric& fabric, engine::Scheduler& scheduler, const Schedule& schedule,
                         const DmaTiming& timing, Delivered delivered)
    : scheduler_(scheduler),
      schedule_(schedule),
      chunk_(fabric.chunk()),
      window_(timing.window),
      delivered_(std::move(delivered)),
      progress_(schedule.transfers.size()),
      open_(schedule.transfers.size()) {
  for (std::uint32_t chip = 0; chip < fabric.topology().chips(); ++chip)
    chips_.push_back(std::make_unique<ChipDma>(fabric, scheduler, chip, timing, *this));
  index_needs();
}

ScheduleRun::~ScheduleRun() = default;

/// Who is to be told of each transfer's progress.
void ScheduleRun::index_needs() {
  const std::size_t count = schedule_.transfers.size();
  first_follower_.assign(count + 2, 0);
  first_after_.assign(count + 2, 0);
  for (const Need& n : schedule_.needs)
    ++(n.shift == Need::kWhole ? first_after_ : first_follower_)[n.transfer + 2];
  for (std::size_t i = 2; i < count + 2; ++i) {
    first_follower_[i] += first_follower_[i - 1];
    first_after_[i] += first_after_[i - 1];
  }
  followers_.resize(first_follower_[count + 1]);
  after_.resize(first_after_[count + 1]);
  for (std::uint32_t t = 0; t < count; ++t)
    for (std::uint32_t k = 0; k < schedule_.transfers[t].needs; ++k) {
      const Need& n = schedule_.needs[schedule_.transfers[t].first_need + k];
      if (n.shift == Need::kWhole) {
        ++progress_[t].whole_needs;
        after_[first_after_[n.transfer + 1]++] = t;
      } else {
        progress_[t].follows = true;
        followers_[first_follower_[n.transfer + 1]++] = t;
      }
    }
}

void ScheduleRun::start() {
  for (std::uint32_t t = 0; t < schedule_.transfers.size(); ++t)
    if (schedule_.transfers[t].needs == 0) advance(t);
}

/// Bytes of a transfer for which all that it needs is there.
std::uint64_t ScheduleRun::allowed(std::uint32_t transfer) const {
  if (progress_[transfer].whole_needs > 0) return 0;
  const Transfer& t = schedule_.transfers[transfer];
  if (!progress_[transfer].follows) return t.bytes;
  auto least = static_cast<std::int64_t>(t.bytes);
  for (std::uint32_t k = 0; k < t.needs; ++k) {
    const Need& n = schedule_.needs[t.first_need + k];
    if (n.shift == Need::kWhole) continue;
    const std::uint64_t there = progress_[n.transfer].delivered;
    if (there == schedule_.transfers[n.transfer].bytes) continue;
    least = std::min(least, static_cast<std::int64_t>(there) - n.shift);
  }
  return least > 0 ? static_cast<std::uint64_t>(least) : 0;
}

/// Puts the chunks that may go and that the window has room for.
void ScheduleRun::advance(std::uint32_t transfer) {
  const Transfer& t = schedule_.transfers[transfer];
  Progress& p = progress_[transfer];
  if (p.put == t.bytes || p.unsent >= window_) return;
  const std::uint64_t may = allowed(transfer);
  while (p.put < t.bytes && p.unsent < window_) {
    const std::uint64_t size = std::min<std::uint64_t>(chunk_, t.bytes - p.put);
    if (p.put + size > may) return;
    const bool begins = p.put == 0;
    p.put += size;
    ++p.unsent;
    if (begins) p.lane = chips_[t.src]->lane_to(t.dst);
    chips_[t.src]->put({p.lane, static_cast<std::uint32_t>(size), transfer, t.reduces, begins});
  }
}

void ScheduleRun::left(std::uint32_t, std::uint64_t tag) {
  const auto transfer = static_cast<std::uint32_t>(tag);
  --progress_[transfer].unsent;
  advance(transfer);
}

void ScheduleRun::arrived(std::uint32_t, std::uint64_t tag, std::uint32_t bytes) {
  const auto transfer = static_cast<std::uint32_t>(tag);
  Progress& p = progress_[transfer];
  const std::uint64_t begin = p.delivered;
  p.delivered += bytes;
  if (delivered_) delivered_(transfer, begin, p.delivered);
  for (std::uint32_t i = first_follower_[transfer]; i < first_follower_[transfer + 1]; ++i)
    advance(followers_[i]);
  if (p.delivered < schedule_.transfers[transfer].bytes) return;
  for (std::uint32_t i = first_after_[transfer]; i < first_after_[transfer + 1]; ++i)
    if (--progress_[after_[i]].whole_needs == 0) advance(after_[i]);
  --open_;
  end_ = scheduler_.now();
}

}  // namespace xpusim::network
