#pragma once

#include <cstdint>
#include <tuple>

#include "models/energy/clock.h"
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
  double alu = 336, fma = 281, fp64 = 570, xu = 136, lsu = 484;
  double uniform = 62, control = 55, tensor = 176;
  double mac_8bit = 0.37, mac_16bit = 1.61, mac_tf32 = 2.15, mac_f64 = 9.55;
  double l1_sector = 64, shared_wavefront = 227, noc_sector = 148, l2_sector = 1326;
  double hbm_read_byte = 33, hbm_write_byte = 33, hbm_activate = 909;
  PowerParams power{75.1, 45.3, 1.98e9, 0.7};
  ClockParams clock;  ///< of the board, not of the process: nothing unless a table says it

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
        config::group("power", &P::power, "standing power and voltage"),
        config::group("clock", &P::clock, "how the clock follows the work")};
  }
};

EventTable<GpuEvent> event_table(const GpuEnergyParams& params);

}  // namespace xpusim::energy
