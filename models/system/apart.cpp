#include "models/system/apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/exec/needed.h"

namespace xpusim::system {
namespace {

constexpr std::size_t kCopyDevice = 4;  // operand of tpu.enqueue_dma
constexpr const char* kThrough = "other_chips";

template <class Holds>
bool any_op(const kernel::Region& region, const Holds& holds) {
  for (const auto& block : region.blocks)
    for (const auto& op : block->ops) {
      if (holds(*op)) return true;
      for (const auto& inner : op->regions)
        if (any_op(*inner, holds)) return true;
    }
  return false;
}

template <class Holds>
bool any_op(const kernel::Module& module, const Holds& holds) {
  return std::any_of(module.functions.begin(), module.functions.end(), [&](const auto& f) {
    return std::any_of(f.op->regions.begin(), f.op->regions.end(),
                       [&](const auto& region) { return any_op(*region, holds); });
  });
}

/// Adds the cycles of a chip, `times` over, and those in which it waits for the slowest.
void add_ledger(run::LaunchReport& all, const run::LaunchReport& chip, double slowest_ns,
                std::uint64_t times) {
  std::map<std::string, std::uint64_t> cycles;
  for (const run::LedgerEntry& e : chip.ledger) cycles[e.unit] += e.cycles;
  const auto add = [&](const run::LedgerEntry& e) {
    const auto known = std::find_if(all.ledger.begin(), all.ledger.end(), [&](const auto& x) {
      return x.unit == e.unit && x.reason == e.reason;
    });
    if (known == all.ledger.end()) {
      all.ledger.push_back(e);
      all.ledger.back().cycles = e.cycles * times;
    } else {
      known->cycles += e.cycles * times;
    }
  };
  for (const run::LedgerEntry& e : chip.ledger) add(e);
  const double more = slowest_ns / chip.duration_ns - 1;
  if (more <= 0) return;
  for (const auto& [unit, own] : cycles)
    add({unit, kThrough, static_cast<std::uint64_t>(std::llround(static_cast<double>(own) * more)),
         "is through, and other chips are not"});
}

void add_lines(run::LaunchReport& all, const run::LaunchReport& chip, std::uint64_t times) {
  for (const run::LineEntry& e : chip.lines) {
    const auto known = std::find_if(all.lines.begin(), all.lines.end(), [&](const auto& x) {
      return x.line.line == e.line.line && x.line.column == e.line.column && x.unit == e.unit &&
             x.reason == e.reason && x.line.file == e.line.file;
    });
    if (known == all.lines.end()) {
      all.lines.push_back(e);
      all.lines.back().cycles = e.cycles * times;
      all.lines.back().executed = e.executed * times;
    } else {
      known->cycles += e.cycles * times;
      known->executed += e.executed * times;
    }
  }
}

void add_energy(run::LaunchReport& all, const run::LaunchReport& chip, double times) {
  for (const run::EnergyEntry& e : chip.energy) {
    const auto known = std::find_if(all.energy.begin(), all.energy.end(),
                                    [&](const auto& x) { return x.component == e.component; });
    if (known == all.energy.end())
      all.energy.push_back({e.component, e.microjoules * times});
    else
      known->microjoules += e.microjoules * times;
  }
}

void add_work(run::LaunchReport& all, const run::LaunchReport& chip, double times) {
  all.flops += chip.flops * times;
  all.tensor_flops += chip.tensor_flops * times;
  all.hbm_read_bytes += chip.hbm_read_bytes * times;
  all.hbm_write_bytes += chip.hbm_write_bytes * times;
  all.compulsory_bytes += chip.compulsory_bytes * times;
}

}  // namespace

bool talks(const kernel::Module& module) {
  return any_op(module, [](const kernel::Op& op) {
    const std::string_view name = op.name();
    return name == "tpu.device_id" || name.starts_with("tpu.sem_") ||
           (name == "tpu.enqueue_dma" && op.operand_of(kCopyDevice));
  });
}

bool follows_data(const kernel::Module& module) {
  constexpr std::uint32_t kReads = kernel::kReadsGlobal | kernel::kReadsShared | kernel::kAtomic;
  for (const auto& function : module.functions) {
    if (function.op->regions.empty() || function.op->regions[0]->blocks.empty()) continue;
    const auto needed = exec::needed_values(module, function);
    const auto depends = [&](const kernel::Op& op) {
      return (op.info->effects & kReads) != 0 &&
             std::any_of(op.results.begin(), op.results.end(), [&](const auto& r) {
               return !r->type->is_pointer_like() && needed.count(r.get()) > 0;
             });
    };
    for (const auto& region : function.op->regions)
      if (any_op(*region, depends)) return true;
  }
  return false;
}

run::LaunchReport together(const std::vector<run::LaunchReport>& apart, std::uint32_t chips,
                           const std::string& family) {
  const run::LaunchReport& slowest =
      *std::max_element(apart.begin(), apart.end(),
                        [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; });
  run::LaunchReport all = slowest;
  all.flops = all.tensor_flops = all.hbm_read_bytes = all.hbm_write_bytes = 0;
  all.compulsory_bytes = 0;
  all.simulated_instructions = all.simulated_messages = 0;
  all.ledger.clear();
  all.lines.clear();
  all.energy.clear();
  all.listing = apart.front().listing;
  all.simulated_chips = static_cast<std::uint32_t>(apart.size());
  const std::uint64_t times = apart.size() == 1 ? chips : 1;
  for (const run::LaunchReport& chip : apart) {
    add_work(all, chip, static_cast<double>(times));
    add_ledger(all, chip, slowest.duration_ns, times);
    add_lines(all, chip, times);
    add_energy(all, chip, static_cast<double>(times));
    all.simulated_instructions += chip.simulated_instructions;
    all.simulated_messages += chip.simulated_messages;
  }
  for (std::uint32_t c = 0; c < chips; ++c) {
    const run::LaunchReport& own = apart[apart.size() == 1 ? 0 : c];
    run::ChipEntry entry;
    entry.name = fmt::format("{}[{}]", family, c);
    entry.cycles = own.cycles;
    entry.hbm_bytes = own.hbm_read_bytes + own.hbm_write_bytes;
    all.chips.push_back(std::move(entry));
  }
  return all;
}

}  // namespace xpusim::system
