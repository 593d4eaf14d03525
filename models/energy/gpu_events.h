#pragma once

#include <cstdint>
#include <tuple>

#include "models/energy/meter.h"
#include "models/energy/power.h"
#include "sim/config/param.h"

namespace xpusim::energy {

/// What a GPU's energy is counted in. A warp instruction's energy holds fetch, issue and the
/// register file; the data it moves or the products it makes are counted on their own. Not counted:
/// constant and instruction caches, texture, NVLink.
enum class GpuEvent : std::uint8_t {
  kAlu,  ///< warp instructions, by pipe
  kFma,
  kFp64,
  kXu,
  kLsu,
  kUniform,
  kControl,
  kTensor,
  kMac8Bit,   ///< multiply-accumulates of the tensor cores, by operand: f8, i8
  kMac16Bit,  ///< f16, bf16
  kMacTf32,
  kMacF64,
  kL1Sector,         ///< 32 bytes looked up in the L1
  kSharedWavefront,  ///< one pass over the 32 banks of shared memory
  kNocSector,        ///< 32 bytes between an SM and the L2
  kL2Sector,         ///< 32 bytes looked up in the L2, as l2_sectors_read and _write count them
  kHbmReadByte,
  kHbmWriteByte,
  kHbmActivate,  ///< one row opened
  kCount,
};

/// Energy per event in pJ at the nominal clock. The defaults are those of
/// configs/energy/hopper_4n.yaml, where each number's source is.
struct GpuEnergyParams {
  double alu = 174, fma = 306, fp64 = 570, xu = 996, lsu = 283;
  double uniform = 60, control = 60, tensor = 174;
  double mac_8bit = 0.7, mac_16bit = 1.4, mac_tf32 = 2.8, mac_f64 = 12;
  double l1_sector = 56, shared_wavefront = 118, noc_sector = 193, l2_sector = 1159;
  double hbm_read_byte = 30.1, hbm_write_byte = 30.1, hbm_activate = 909;
  PowerParams power{88, 81, 1.98e9, 0.65};

  static constexpr auto schema() {
    using P = GpuEnergyParams;
    constexpr auto energy = [](std::string_view name, double P::*member, std::string_view doc) {
      return config::field(name, member, config::Unit::kPicojoules, doc, 0, 1e6);
    };
    return std::tuple{
        energy("alu", &P::alu, "a warp instruction: integer, logic, compare, move"),
        energy("fma", &P::fma, "a warp instruction: f32 or packed f16 multiply-add"),
        energy("fp64", &P::fp64, "a warp instruction: f64 multiply-add"),
        energy("xu", &P::xu, "a warp instruction: exp, log, sin, reciprocal, conversion"),
        energy("lsu", &P::lsu, "a warp instruction: address part of a load, store, shuffle"),
        energy("uniform", &P::uniform, "an instruction of the uniform datapath"),
        energy("control", &P::control, "a warp instruction: branch, barrier"),
        energy("tensor", &P::tensor, "issue of a tensor instruction, without its products"),
        energy("mac_8bit", &P::mac_8bit, "a multiply-accumulate of f8 or i8 in the tensor cores"),
        energy("mac_16bit", &P::mac_16bit, "a multiply-accumulate of f16 or bf16"),
        energy("mac_tf32", &P::mac_tf32, "a multiply-accumulate of tf32"),
        energy("mac_f64", &P::mac_f64, "a multiply-accumulate of f64"),
        energy("l1_sector", &P::l1_sector, "32 bytes in the L1"),
        energy("shared_wavefront", &P::shared_wavefront, "one pass over the shared-memory banks"),
        energy("noc_sector", &P::noc_sector, "32 bytes between an SM and the L2"),
        energy("l2_sector", &P::l2_sector, "32 bytes in the L2, with its way between partitions"),
        energy("hbm_read_byte", &P::hbm_read_byte, "a byte read, array to controller"),
        energy("hbm_write_byte", &P::hbm_write_byte, "a byte written"),
        energy("hbm_activate", &P::hbm_activate, "a row opened"),
        config::group("power", &P::power, "standing power and voltage")};
  }
};

EventTable<GpuEvent> event_table(const GpuEnergyParams& params);

}  // namespace xpusim::energy
