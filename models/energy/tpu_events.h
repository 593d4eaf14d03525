#pragma once

#include <cstdint>
#include <tuple>

#include "models/energy/meter.h"
#include "models/energy/power.h"
#include "sim/config/param.h"

namespace xpusim::energy {

/// What a TPU's energy is counted in; vector events are of one 8x128 register (4 KiB). An
/// operation's energy holds its register accesses. Not counted: the scalar unit (inside the
/// bundle), ICI links, SparseCore, the host interface.
enum class TpuEvent : std::uint8_t {
  kBundle,  ///< a VLIW bundle fetched, decoded and issued, with its scalar slots
  kVectorAlu,
  kEup,          ///< a transcendental
  kXlu,          ///< a transpose, rotate or lane reduction step
  kMxuPassBf16,  ///< 8x128 times 128x128: 131,072 multiply-accumulates into f32
  kMxuPassInt8,  ///< the same in int8, into int32
  kMxuPassF8,    ///< the same in f8, into f32
  kVmemLoad,     ///< a register from VMEM
  kVmemStore,
  kDmaByte,  ///< a byte through the DMA engine and the chip's interconnect, with its VMEM side
  kHbmReadByte,
  kHbmWriteByte,
  kHbmActivate,  ///< one row opened
  kCount,
};

/// Energy per event in pJ. The defaults are those of configs/energy/tpu_7nm.yaml, where each
/// number's source is.
struct TpuEnergyParams {
  double bundle = 110, vector_alu = 2400, eup = 8700, xlu = 7900;
  double mxu_pass_bf16 = 64900, mxu_pass_int8 = 13100, mxu_pass_f8 = 64900;
  double vmem_load = 7170, vmem_store = 7170, dma_byte = 3.5;
  double hbm_read_byte = 27.8, hbm_write_byte = 27.8, hbm_activate = 909;
  PowerParams power{90, 0, 1.05e9, 0};

  static constexpr auto schema() {
    using P = TpuEnergyParams;
    constexpr auto energy = [](std::string_view name, double P::*member, std::string_view doc) {
      return config::field(name, member, config::Unit::kPicojoules, doc, 0, 1e7);
    };
    return std::tuple{
        energy("bundle", &P::bundle, "a bundle: fetch, decode, issue, scalar slots"),
        energy("vector_alu", &P::vector_alu, "a vector ALU operation on an 8x128 register"),
        energy("eup", &P::eup, "a transcendental on an 8x128 register"),
        energy("xlu", &P::xlu, "a cross-lane operation on an 8x128 register"),
        energy("mxu_pass_bf16", &P::mxu_pass_bf16, "8x128 times 128x128 in bf16"),
        energy("mxu_pass_int8", &P::mxu_pass_int8, "8x128 times 128x128 in int8"),
        energy("mxu_pass_f8", &P::mxu_pass_f8, "8x128 times 128x128 in f8"),
        energy("vmem_load", &P::vmem_load, "an 8x128 register from VMEM"),
        energy("vmem_store", &P::vmem_store, "an 8x128 register to VMEM"),
        energy("dma_byte", &P::dma_byte, "a byte moved by DMA, without the HBM's own energy"),
        energy("hbm_read_byte", &P::hbm_read_byte, "a byte read, array to controller"),
        energy("hbm_write_byte", &P::hbm_write_byte, "a byte written"),
        energy("hbm_activate", &P::hbm_activate, "a row opened"),
        config::group("power", &P::power, "standing power and voltage")};
  }
};

EventTable<TpuEvent> event_table(const TpuEnergyParams& params);

}  // namespace xpusim::energy
