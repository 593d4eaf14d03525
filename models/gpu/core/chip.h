#pragma once

// A GPU, elaborated: the SystemC hierarchy of one launch.

#include <memory>
#include <systemc>
#include <vector>

#include "models/gpu/core/dispatcher.h"
#include "models/gpu/core/sm.h"
#include "models/gpu/params.h"
#include "models/memory/memory_system.h"
#include "sim/engine/system.h"

namespace xpusim::gpu {

/// Over how many cycles the SMs work at once (Sm), where what they send takes `least_latency` or
/// more. One if a program has atomics whose results it uses: by these blocks wait for one another,
/// and they take effect in the order of cycles, not SM by SM.
engine::Cycle window_of(const KernelImage& image, engine::Cycle least_latency);

/// The dispatcher, the SMs and the memory system, joined; all on one clock (HBM keeps its own
/// inside). Lives for one launch: the next one gets a fresh simulation.
class Chip : public sc_core::sc_module {
 public:
  struct Work {
    KernelImage& image;
    LaunchProfile& profile;
    BlockSource& source;
    std::uint64_t blocks = 1;
    std::uint32_t blocks_of_sm = 1;
    std::int64_t l1_bytes = 0;
  };
  Chip(const sc_core::sc_module_name& name, engine::Scheduler& scheduler, const GpuParams& params,
       const Work& work);
  ~Chip() override;

  memory::MemorySystem& memory() { return *memory_; }
  const Dispatcher& dispatcher() const { return *dispatcher_; }
  const std::vector<std::unique_ptr<Sm>>& sms() const { return sms_; }
  /// Closes all ledgers at the end of the launch.
  void finish();

 private:
  void add_sm(std::uint32_t number, engine::Scheduler& scheduler, const GpuParams& params,
              const Work& work);

  std::unique_ptr<memory::MemorySystem> memory_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::unique_ptr<SmScratch>> scratch_;  ///< one an SM, or one for all
  std::vector<std::unique_ptr<Sm>> sms_;
  std::vector<std::unique_ptr<engine::Link>> links_;
};

}  // namespace xpusim::gpu
