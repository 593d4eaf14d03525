#pragma once

// What an architect may vary of a TPU. Numbers of an instruction set (8x128 registers, 64 of them)
// are constants in program/opcode.h. Every default says where it comes from.

#include <cstdint>
#include <string>
#include <tuple>

#include "models/energy/tpu_events.h"
#include "models/memory/hbm_timing.h"
#include "models/tpu/program/opcode.h"
#include "sim/config/param.h"

namespace xpusim::tpu {

using config::field;
using config::group;
using config::Unit;

/// Issue slots of a bundle.
struct SlotParams {
  std::int64_t scalar = 2;        ///< XProf resource table: 2 on every generation
  std::int64_t vector_alu = 4;    ///< XProf counters VECTOR_ALU_INSTRUCTION_0..3 (v6e)
  std::int64_t vector_load = 2;   ///< XProf counters VLD_INSTRUCTION_0,1 (v6e)
  std::int64_t vector_store = 1;  ///< XProf counter VST_INSTRUCTION
  std::int64_t eup = 1;
  std::int64_t xlu = 2;         ///< "2 XLUs" (scaling book, v6e resource table)
  std::int64_t matrix = 2;      ///< assumed; 1 on v2 and v3 (Hot Chips 2020: a push and a pop)
  std::int64_t matrix_pop = 2;  ///< assumed; 1 on v2 and v3
  std::int64_t misc = 1;        ///< one DMA issue a cycle (scaling book)

  static constexpr auto schema() {
    return std::tuple{
        field("scalar", &SlotParams::scalar, Unit::kCount, "scalar instructions a bundle", 1, 8),
        field("vector_alu", &SlotParams::vector_alu, Unit::kCount,
              "vector ALU instructions a bundle", 1, 16),
        field("vector_load", &SlotParams::vector_load, Unit::kCount, "vector loads a bundle", 1, 8),
        field("vector_store", &SlotParams::vector_store, Unit::kCount, "vector stores a bundle", 1,
              8),
        field("eup", &SlotParams::eup, Unit::kCount, "transcendental instructions a bundle", 1, 4),
        field("xlu", &SlotParams::xlu, Unit::kCount, "cross-lane instructions a bundle", 1, 4),
        field("matrix", &SlotParams::matrix, Unit::kCount,
              "weights and rows to the matrix units a bundle", 1, 8),
        field("matrix_pop", &SlotParams::matrix_pop, Unit::kCount,
              "results from the matrix units a bundle", 1, 8),
        field("misc", &SlotParams::misc, Unit::kCount,
              "DMA, synchronisation and control instructions a bundle", 1, 4)};
  }
};

/// Cycles from issue until a result can be read, and between issues to one unit.
struct LatencyParams {
  std::int64_t scalar = 1;
  std::int64_t scalar_load = 4;
  std::int64_t vector_alu = 2;    ///< scaling book: 2-cycle latency, 1-cycle throughput
  std::int64_t vector_load = 3;   ///< fits the fixed part of the measured VMEM loops (v6e)
  std::int64_t eup = 16;          ///< fits the measured VMEM exp loop
  std::int64_t eup_interval = 1;  ///< XProf: tanh, exp, log 2 cycles on v5e, 1 on v6e
  std::int64_t xlu = 40;          ///< assumed; no public number
  std::int64_t xlu_interval = 4;  ///< XProf: 4 cycles an instruction on v6e, 9 on v5e (B32)
  std::int64_t taken_branch = 1;  ///< cycles lost by a loop's back edge

  static constexpr auto schema() {
    using L = LatencyParams;
    return std::tuple{
        field("scalar", &L::scalar, Unit::kCycles, "scalar result", 1, 100),
        field("scalar_load", &L::scalar_load, Unit::kCycles, "scalar load from SMEM", 1, 100),
        field("vector_alu", &L::vector_alu, Unit::kCycles, "vector ALU result", 1, 100),
        field("vector_load", &L::vector_load, Unit::kCycles, "vector load from VMEM", 1, 100),
        field("eup", &L::eup, Unit::kCycles, "transcendental result", 1, 1000),
        field("eup_interval", &L::eup_interval, Unit::kCycles, "between transcendental issues", 1,
              100),
        field("xlu", &L::xlu, Unit::kCycles, "cross-lane result", 1, 1000),
        field("xlu_interval", &L::xlu_interval, Unit::kCycles, "between issues to one XLU", 1, 100),
        field("taken_branch", &L::taken_branch, Unit::kCycles, "lost by a loop's back edge", 0,
              100)};
  }
};

/// The matrix units: weight-stationary systolic arrays.
struct MatrixParams {
  std::int64_t count = 4;
  std::int64_t size = 128;
  std::int64_t rows_per_cycle = 1;       ///< bf16 rows that one unit takes a cycle
  std::int64_t rows_per_cycle_8bit = 2;  ///< int8 rows; 0: it has no int8
  std::int64_t rows_per_cycle_f8 = 1;    ///< f8 rows, XProf widens them to bf16; 0: it has no f8
  std::int64_t push_rows_per_cycle = 4;  ///< XProf: latch bf16 4 cycles a packed register
  bool accumulates = false;              ///< jax tpu_info.py: from v7 on
  std::int64_t results = 256;            ///< registers of results that wait or are on their way
  std::int64_t pop = 2;                  ///< assumed: from the result buffer to a register

  static constexpr auto schema() {
    using M = MatrixParams;
    return std::tuple{
        field("count", &M::count, Unit::kCount, "matrix units of a core", 1, 8),
        field("size", &M::size, Unit::kCount, "rows and columns of one", 4, 1024),
        field("rows_per_cycle", &M::rows_per_cycle, Unit::kCount, "bf16 rows one takes a cycle", 1,
              16),
        field("rows_per_cycle_8bit", &M::rows_per_cycle_8bit, Unit::kCount,
              "int8 rows one takes a cycle; 0: it cannot", 0, 64),
        field("rows_per_cycle_f8", &M::rows_per_cycle_f8, Unit::kCount,
              "f8 rows one takes a cycle; 0: it cannot", 0, 64),
        field("push_rows_per_cycle", &M::push_rows_per_cycle, Unit::kCount,
              "rows of 128 16-bit weights that one takes a cycle; half of them transposed, four "
              "times as many of int8",
              1, 64),
        field("accumulates", &M::accumulates, Unit::kNone,
              "sums over several sets of weights stay in the result buffer"),
        field("results", &M::results, Unit::kCount,
              "registers of results that one holds, with those under way", 16, 4096),
        field("pop", &M::pop, Unit::kCycles, "from its result buffer to a register", 1, 100)};
  }
};

/// The TensorCore: slots, latencies, what the vector ALU computes natively, and the matrix units.
struct CoreParams {
  std::int64_t count = 1;
  bool native_bf16 = true;      ///< bf16 ALU and EUP (v6e); without: unpack, compute in f32, pack
  std::int64_t rows_16bit = 8;  ///< jax tpu_info.py: of a register's tile; 16 from v7 on
  std::int64_t unroll = 64;     ///< tiles a loop body works on, as far as the registers allow
  SlotParams slots;
  LatencyParams latency;
  MatrixParams mxu;

  /// Whether a tile of 16-bit elements fills a register.
  bool wide_tiles() const { return rows_16bit == 2 * kSublanes; }

  static constexpr auto schema() {
    return std::tuple{
        field("count", &CoreParams::count, Unit::kCount, "TensorCores that share a launch", 1, 8),
        field("native_bf16", &CoreParams::native_bf16, Unit::kNone,
              "the vector units compute in bf16"),
        field("rows_16bit", &CoreParams::rows_16bit, Unit::kCount,
              "rows of a tile of 16-bit elements: 8 (half a register) or 16 (all of it)", 8, 16),
        field("unroll", &CoreParams::unroll, Unit::kCount, "tiles a loop body works on", 1, 1024),
        group("slots", &CoreParams::slots, "issue slots of a bundle"),
        group("latency", &CoreParams::latency, "result latencies and issue intervals"),
        group("mxu", &CoreParams::mxu, "matrix units")};
  }
};

/// Vector memory.
struct VmemParams {
  std::int64_t bytes = 128 << 20;

  static constexpr auto schema() {
    return std::tuple{field("bytes", &VmemParams::bytes, Unit::kBytes, "VMEM of a core", 4096,
                            static_cast<double>(std::int64_t{1} << 34))};
  }
};

/// Scalar memory.
struct SmemParams {
  std::int64_t bytes = 1 << 20;

  static constexpr auto schema() {
    return std::tuple{field("bytes", &SmemParams::bytes, Unit::kBytes, "SMEM of a core", 64,
                            static_cast<double>(std::int64_t{1} << 30))};
  }
};

/// The DMA engines between HBM and VMEM.
struct DmaParams {
  std::int64_t engines = 2;   ///< half of them for each way
  double issue_ns = 60;       ///< descriptor fetch and address generation
  double completion_ns = 60;  ///< last byte to the sync flag seen by the core
  std::int64_t bytes_per_cycle =
      1024;                         ///< what XProf's VMEM peaks leave beside the vector accesses
  std::int64_t outstanding = 1024;  ///< messages of up to 512 B in flight an engine

  static constexpr auto schema() {
    return std::tuple{
        field("engines", &DmaParams::engines, Unit::kCount,
              "DMA engines of a core: half of them bring blocks, half take them away", 1, 64),
        field("issue", &DmaParams::issue_ns, Unit::kNanoseconds,
              "from the core's issue to the first request", 0, 1e5),
        field("completion", &DmaParams::completion_ns, Unit::kNanoseconds,
              "from the last response to the core's sync flag", 0, 1e5),
        field("bandwidth", &DmaParams::bytes_per_cycle, Unit::kBytesPerCycle, "of one engine", 1,
              65536),
        field("outstanding", &DmaParams::outstanding, Unit::kCount, "requests in flight an engine",
              1, 65536)};
  }
};

/// A TPU chip.
struct TpuParams {
  double clock_hz = 1.75e9;
  double launch_ns = 300;  ///< from the launch to the first bundle, on the device
  CoreParams core;
  VmemParams vmem;
  SmemParams smem;
  DmaParams dma;
  memory::HbmParams hbm;
  energy::TpuEnergyParams energy;

  static constexpr auto schema() {
    using T = TpuParams;
    return std::tuple{field("clock", &T::clock_hz, Unit::kHertz, "of the TensorCore", 1e6, 1e11),
                      field("launch", &T::launch_ns, Unit::kNanoseconds,
                            "from the launch on the device to the first bundle", 0, 1e6),
                      group("core", &T::core, "the TensorCore"),
                      group("vmem", &T::vmem, "vector memory"),
                      group("smem", &T::smem, "scalar memory"),
                      group("dma", &T::dma, "engines between HBM and VMEM"),
                      group("hbm", &T::hbm, "device memory"),
                      group("energy", &T::energy, "energy per event")};
  }
};

/// What no single field's range says of a TensorCore whose fields are at `path`.
void check(const CoreParams& core, std::string_view path, Diagnostics& problems);

/// Cycles after which an instruction's result can be read.
std::int64_t result_latency(const CoreParams& core, Opcode op);
/// Cycles for which an instruction occupies its unit.
std::int64_t issue_interval(const LatencyParams& latency, Opcode op);
/// Instructions of a slot that one bundle holds.
std::int64_t slot_count(const SlotParams& slots, Slot slot);

}  // namespace xpusim::tpu
