#pragma once

// The memory system of a GPU: networks, L2 slices, HBM. A machine makes one and joins its SMs to
// it:
//
//   MemorySystem memory("memory", scheduler, params, sm_count);
//   for each SM i:  sm.memory(memory.sm_port(i));            // bind the SM's OutPort: requests
//                   memory.connect_sm(i, sm_component_id);   // responses arrive at this component
//
// Requests and responses are those of messages.h; the memory system knows SMs by number and ignores
// `from`. Everything runs on the one scheduler; HBM keeps its own clock inside.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <systemc>
#include <utility>
#include <vector>

#include "models/memory/hbm.h"
#include "models/memory/l2_params.h"
#include "models/memory/l2_slice.h"
#include "models/memory/read_coalescer.h"
#include "models/memory/sm_groups.h"
#include "models/network/crossbar.h"

namespace xpusim::memory {

/// Totals since the start of the simulation, with the names of the cases files.
struct MemoryCounters {
  std::uint64_t dram_read_bytes = 0, dram_write_bytes = 0;
  std::uint64_t l2_sectors_read = 0, l2_sectors_write = 0, l2_sectors_atom = 0, l2_sectors_red = 0;
  std::uint64_t l2_sectors_hit = 0, l2_sectors_miss = 0;
  std::uint64_t dram_activates = 0, dram_refreshes = 0, dram_row_hits = 0, dram_requests = 0;
  std::uint64_t coalesced_sectors = 0;  ///< reads that joined another SM's: the L2 did not see them
  std::uint64_t request_messages = 0, reply_messages = 0, reply_bytes = 0, bridge_bytes = 0;
};

/// How busy a part of the memory system was: shares of the time, of its ports on the mean and of
/// the busiest one.
struct PartUse {
  std::string_view name;
  double mean = 0, busiest = 0;
};

/// What the caches hold: handed from one launch's system to the next one's (warm caches).
struct CacheContents {
  std::vector<L2Tags> slices;
};

/// The SMs' way to memory. SMs stand in the groups of the coalescers (the GPCs: SmGroups), and the
/// groups on the halves of the L2 in turn. SM -> slice -> SM takes requests.latency +
/// l2.hit_latency + replies.latency cycles for a hit in an idle system; a miss in HBM adds
/// l2.miss_latency +
/// l2.fill_latency - l2.hit_latency and the time in HBM; a far one the bridge twice and a look-up.
class MemorySystem : public sc_core::sc_module {
 public:
  MemorySystem(const sc_core::sc_module_name& name, engine::Scheduler& scheduler,
               const MemoryParams& params, std::uint32_t sms);
  ~MemorySystem() override;

  engine::MessageIf& sm_port(std::uint32_t sm);
  void connect_sm(std::uint32_t sm, std::uint32_t component_id);
  /// An SM may date its requests back by less than that: neither the way to the L2 nor that of an
  /// answer to a read that joins another is shorter.
  engine::Cycle window() const { return std::min(requests_->latency(), replies_->latency()); }

  MemoryCounters counters() const;
  /// Over the first `cycles`; after finish(). Ports' headers count, messages without data do not.
  std::vector<PartUse> use(engine::Cycle cycles) const;
  /// Bytes of each of these ranges (address, bytes; in order of addresses, apart from one another)
  /// that the L2 holds, in whole sectors; a copy in the other half counts no second time.
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  std::vector<std::uint64_t> cached_bytes(const std::vector<Range>& ranges) const;
  /// The most that can be left dirty in the L2.
  std::uint64_t most_dirty_bytes() const;
  Hbm& hbm() { return *hbm_; }
  L2Slice& slice(std::uint32_t i) { return *slices_[i]; }
  /// How the SMs stand together, on which half of the L2.
  const SmGroups& groups() const { return groups_; }
  std::uint32_t slices() const { return static_cast<std::uint32_t>(slices_.size()); }
  const AddressMap& map() const { return map_; }

  /// As a cold start finds the caches: nothing of its own in them, but `l2.left_dirty` bytes of
  /// others that go to HBM when their lines are taken. They lie scattered over pages at the end of
  /// the memory, an atom in each of their lines (an assumption: kernels that only read displace
  /// half of them with 57 MB of lines; full lines would leave room for 60).
  void cold_caches();
  CacheContents caches() const;
  void set_caches(CacheContents contents);  ///< of a system with the same parameters
  /// Charges all ledgers up to `now`, at the end of a run.
  void finish(engine::Cycle now);

 private:
  class SmPort;
  class AnswerPort;
  const engine::Scheduler& scheduler_;
  AddressMap map_;
  std::uint32_t halves_;
  SmGroups groups_;
  std::uint64_t left_dirty_, capacity_;  ///< bytes
  std::unique_ptr<network::Crossbar> requests_, replies_, bridge_;
  std::unique_ptr<Hbm> hbm_;
  std::vector<std::unique_ptr<L2Slice>> slices_;
  engine::Cycle coalescer_latency_;
  std::vector<ReadCoalescer> coalescers_;  ///< one a group of SMs; none: reads go straight
  std::vector<std::unique_ptr<AnswerPort>> answer_ports_;
  std::vector<std::unique_ptr<SmPort>> ports_;
};

}  // namespace xpusim::memory
