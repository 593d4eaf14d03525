#include "models/energy/tpu_events.h"

namespace xpusim::energy {

EventTable<TpuEvent> event_table(const TpuEnergyParams& p) {
  EventTable<TpuEvent> table;
  const auto set = [&](TpuEvent event, std::string_view component, double picojoules,
                       Domain domain = Domain::kCore) {
    table[static_cast<std::size_t>(event)] = {component, picojoules, domain};
  };
  set(TpuEvent::kBundle, "core.issue", p.bundle);
  set(TpuEvent::kVectorAlu, "core.vpu", p.vector_alu);
  set(TpuEvent::kEup, "core.eup", p.eup);
  set(TpuEvent::kXlu, "core.xlu", p.xlu);
  set(TpuEvent::kMxuPassBf16, "core.mxu", p.mxu_pass_bf16);
  set(TpuEvent::kMxuPassInt8, "core.mxu", p.mxu_pass_int8);
  set(TpuEvent::kMxuPassF8, "core.mxu", p.mxu_pass_f8);
  set(TpuEvent::kVmemLoad, "core.vmem", p.vmem_load);
  set(TpuEvent::kVmemStore, "core.vmem", p.vmem_store);
  set(TpuEvent::kDmaByte, "dma", p.dma_byte);
  set(TpuEvent::kHbmReadByte, "hbm", p.hbm_read_byte, Domain::kFixed);
  set(TpuEvent::kHbmWriteByte, "hbm", p.hbm_write_byte, Domain::kFixed);
  set(TpuEvent::kHbmActivate, "hbm", p.hbm_activate, Domain::kFixed);
  return table;
}

}  // namespace xpusim::energy
