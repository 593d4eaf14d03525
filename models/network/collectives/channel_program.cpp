#include "models/network/collectives/channel_program.h"

#include <algorithm>
#include <map>

namespace xpusim::network {
namespace {

/// Whether `transfer` may follow what it needs chunk by chunk, as the same bytes.
bool in_step(const Schedule& schedule, const Transfer& transfer, const Need& need) {
  const Transfer& other = schedule.transfers[need.transfer];
  return need.shift == 0 && other.bytes == transfer.bytes && other.part == transfer.part;
}

class Programmer {
 public:
  Programmer(const Schedule& schedule, bool apart)
      : schedule_(schedule), apart_(apart), onward_(schedule.transfers.size(), kNoTransfer) {
    order_.reserve(schedule.transfers.size());
    for (std::uint32_t t = 0; t < schedule.transfers.size(); ++t) {
      order_.push_back(order_of(t));
      const std::uint32_t before = continued(t);
      if (before != kNoTransfer && onward_[before] == kNoTransfer) onward_[before] = t;
    }
  }

  std::vector<ChannelProgram> programs() {
    for (std::uint32_t t = 0; t < schedule_.transfers.size(); ++t) {
      const Transfer& transfer = schedule_.transfers[t];
      if (transfer.src == transfer.dst) {
        keep(t);
      } else {
        send(t);
        if (onward_[t] == kNoTransfer) receive(t);
      }
    }
    std::vector<ChannelProgram> out;
    for (auto& [key, actions] : actions_) out.push_back(program_of(key.chip, actions));
    return out;
  }

 private:
  /// When a transfer's turn is: after whole others (phase), and among those that go in step.
  struct Order {
    std::uint32_t phase = 0, step = 0;
    auto operator<=>(const Order&) const = default;
  };
  struct Placed {
    Order order;
    ChannelAction action;
  };
  struct Key {
    std::uint32_t chip;
    std::uint16_t part;
    bool receives;
    auto operator<=>(const Key&) const = default;
  };

  Order order_of(std::uint32_t t) const {
    const Transfer& transfer = schedule_.transfers[t];
    Order o;
    for (std::uint32_t k = 0; k < transfer.needs; ++k) {
      const Need& n = schedule_.needs[transfer.first_need + k];
      const Order& before = order_[n.transfer];
      o.phase = std::max(o.phase, before.phase + (in_step(schedule_, transfer, n) ? 0 : 1));
      o.step = std::max(o.step, before.step + 1);
    }
    return o;
  }

  /// The transfer that `t` passes on as it comes, or kNoTransfer.
  std::uint32_t continued(std::uint32_t t) const {
    const Transfer& transfer = schedule_.transfers[t];
    if (transfer.src == transfer.dst) return kNoTransfer;
    for (std::uint32_t k = 0; k < transfer.needs; ++k) {
      const Need& n = schedule_.needs[transfer.first_need + k];
      const Transfer& other = schedule_.transfers[n.transfer];
      if (in_step(schedule_, transfer, n) && other.dst == transfer.src && other.src != other.dst)
        return n.transfer;
    }
    return kNoTransfer;
  }

  /// Of one step a core's sends come before its receives, or neighbours would wait for each other.
  void add(std::uint32_t chip, std::uint32_t t, bool receives, ChannelAction action) {
    const Order& o = order_[t];
    actions_[{chip, schedule_.transfers[t].part, apart_ && receives}].push_back(
        {{o.phase, 2 * o.step + (receives ? 1 : 0)}, std::move(action)});
  }

  static ChannelProgram program_of(std::uint32_t chip, std::vector<Placed>& actions) {
    std::stable_sort(actions.begin(), actions.end(),
                     [](const Placed& a, const Placed& b) { return a.order < b.order; });
    ChannelProgram program;
    program.chip = chip;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (i == 0 || actions[i].order.phase != actions[i - 1].order.phase)
        program.segments.emplace_back();
      program.segments.back().push_back(std::move(actions[i].action));
    }
    return program;
  }

  void send(std::uint32_t t) {
    const Transfer& transfer = schedule_.transfers[t];
    ChannelAction a;
    a.out = t;
    a.bytes = transfer.bytes;
    const std::uint32_t before = continued(t);
    if (before != kNoTransfer && onward_[before] == t) {
      const bool reduced = schedule_.transfers[before].reduces;
      a.in = before;
      if (reduced) ++a.reads;
      // A sum under way is passed on only; what is final is kept too.
      if (!reduced || !transfer.reduces) ++a.writes;
    }
    for (std::uint32_t k = 0; k < transfer.needs; ++k) {
      const Need& n = schedule_.needs[transfer.first_need + k];
      const Transfer& needed = schedule_.transfers[n.transfer];
      // What the chip copied by itself its core has done before.
      if (n.transfer != a.in && needed.dst == transfer.src && needed.src != needed.dst)
        a.after.push_back({n.transfer, !in_step(schedule_, transfer, n)});
    }
    add(transfer.src, t, false, std::move(a));
  }

  void receive(std::uint32_t t) {
    const Transfer& transfer = schedule_.transfers[t];
    ChannelAction a;
    a.in = t;
    a.bytes = transfer.bytes;
    a.reads = transfer.reduces ? 2 : 1;
    a.writes = 1;
    add(transfer.dst, t, true, std::move(a));
  }

  /// A copy within the chip: where the same bytes are sent too, their send writes them.
  void keep(std::uint32_t t) {
    const Transfer& transfer = schedule_.transfers[t];
    for (Placed& placed : actions_[{transfer.src, transfer.part, false}]) {
      ChannelAction& a = placed.action;
      if (a.out == kNoTransfer || a.in != kNoTransfer || a.bytes != transfer.bytes) continue;
      const Transfer& sent = schedule_.transfers[a.out];
      if (sent.from.space != transfer.from.space || sent.from.offset != transfer.from.offset)
        continue;
      ++a.writes;
      return;
    }
    ChannelAction a;
    a.bytes = transfer.bytes;
    a.writes = 1;
    add(transfer.src, t, apart_, std::move(a));  // apart: receives leave more of the time
  }

  const Schedule& schedule_;
  bool apart_;
  std::vector<std::uint32_t> onward_;  ///< [transfer]: the one that passes it on
  std::vector<Order> order_;           ///< [transfer]
  std::map<Key, std::vector<Placed>> actions_;
};

}  // namespace

std::vector<ChannelProgram> channel_programs(const Schedule& schedule, bool apart) {
  return Programmer(schedule, apart).programs();
}

}  // namespace xpusim::network
