#include "models/energy/gpu_events.h"

namespace xpusim::energy {

EventTable<GpuEvent> event_table(const GpuEnergyParams& p) {
  EventTable<GpuEvent> table;
  const auto set = [&](GpuEvent event, std::string_view component, double picojoules,
                       Domain domain = Domain::kCore) {
    table[static_cast<std::size_t>(event)] = {component, picojoules, domain};
  };
  set(GpuEvent::kAlu, "sm.alu", p.alu);
  set(GpuEvent::kFma, "sm.fma", p.fma);
  set(GpuEvent::kFp64, "sm.fp64", p.fp64);
  set(GpuEvent::kXu, "sm.xu", p.xu);
  set(GpuEvent::kLsu, "sm.lsu", p.lsu);
  set(GpuEvent::kUniform, "sm.uniform", p.uniform);
  set(GpuEvent::kControl, "sm.control", p.control);
  set(GpuEvent::kTensor, "sm.tensor", p.tensor);
  set(GpuEvent::kMac8Bit, "sm.tensor", p.mac_8bit);
  set(GpuEvent::kMac16Bit, "sm.tensor", p.mac_16bit);
  set(GpuEvent::kMacTf32, "sm.tensor", p.mac_tf32);
  set(GpuEvent::kMacF64, "sm.tensor", p.mac_f64);
  set(GpuEvent::kL1Sector, "sm.l1", p.l1_sector);
  set(GpuEvent::kSharedWavefront, "sm.shared", p.shared_wavefront);
  set(GpuEvent::kNocSector, "noc", p.noc_sector);
  set(GpuEvent::kL2Sector, "l2", p.l2_sector);
  set(GpuEvent::kHbmReadByte, "hbm", p.hbm_read_byte, Domain::kFixed);
  set(GpuEvent::kHbmWriteByte, "hbm", p.hbm_write_byte, Domain::kFixed);
  set(GpuEvent::kHbmActivate, "hbm", p.hbm_activate, Domain::kFixed);
  return table;
}

}  // namespace xpusim::energy
