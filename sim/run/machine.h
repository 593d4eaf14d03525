#pragma once

// What a machine is to a run: it takes a bound launch and gives a report. A machine is one folder
// under models/; it registers its family with one line in tools/cli/machines.cpp.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/tree.h"
#include "sim/exec/interpreter.h"
#include "sim/run/collective.h"
#include "sim/run/stablehlo/tile_sizes.h"
#include "sim/trace/sink.h"

namespace xpusim::network {
class Topology;
struct NetworkParams;
}  // namespace xpusim::network

namespace xpusim::run {

/// A figure that may be unmodelled: absent is printed as null, never as 0.
using Figure = std::optional<double>;

/// Cycles of one kind of unit charged to one reason, summed over its instances.
struct LedgerEntry {
  std::string unit;    ///< "gpu.sm.sub", "tpu.core.issue"
  std::string reason;  ///< "issued", "long_scoreboard", "no_warp", ...
  std::uint64_t cycles = 0;
  std::string meaning;  ///< of the reason, in a few words for people: "waits for global memory"
};

/// Cycles by source line and reason: what the top reasons of the report are made of.
struct LineEntry {
  SourcePosition line;
  std::string unit, reason;
  std::uint64_t cycles = 0;
  std::uint64_t executed = 0;  ///< instructions or bundles of this line (reason "issued")
};

/// How busy a part of the way to memory was, as shares of the launch: its ports (channels, slices)
/// on the mean, and the busiest of them.
struct PartUse {
  std::string part;  ///< "HBM data bus", "L2 slices"
  double mean = 0, busiest = 0;
};

struct EnergyEntry {
  std::string component;  ///< "sm.fma", "l2", "hbm", "static"
  double microjoules = 0;
};

/// What one of several chips did in a launch of a kernel.
struct ChipEntry {
  std::string name;                  ///< "tpu[2]"
  std::uint64_t cycles = 0;          ///< until it was through
  std::uint64_t exposed_cycles = 0;  ///< in which it did nothing but wait for another chip
  double hbm_bytes = 0, sent_bytes = 0, received_bytes = 0;
  std::uint64_t copies = 0, signals = 0;  ///< sent to other chips ...
  std::uint64_t hops = 0;                 ///< ... and the links that they crossed
};

/// What a launch did on a machine. All cycles are of `clock_mhz`.
struct LaunchReport {
  std::string name;
  std::uint64_t cycles = 0;
  double duration_ns = 0;
  double clock_mhz = 0;
  std::string clock_reason;  ///< why this clock, for people; empty: not told
  double flops = 0;
  double hbm_read_bytes = 0, hbm_write_bytes = 0;
  /// Bytes that had to cross the memory at least once: per tensor, its loads capped by its size,
  /// plus its stores capped so, less what caches held at the start or may hold dirty at the end.
  /// The roofline's memory traffic.
  double compulsory_bytes = 0;
  double tensor_flops = 0;  ///< the part of flops that dots did, on the matrix units
  double tensor_speed = 1;  ///< how much faster those may be than dense bf16: 8-bit numbers
  std::vector<std::pair<std::string, Figure>> counters;  ///< names of the cases files
  std::vector<LedgerEntry> ledger;
  std::vector<LineEntry> lines;
  std::vector<PartUse> memory;               ///< empty: not told
  std::optional<NetworkUse> network;         ///< of a launch on several chips
  std::vector<ChipEntry> chips;              ///< of a kernel on several chips
  std::uint32_t simulated_chips = 0;         ///< of these: fewer where all do the same; 0: all
  std::vector<EnergyEntry> energy;           ///< empty: the machine has no energy model
  std::vector<std::string> notes;            ///< what was not modelled, by name
  std::uint64_t simulated_instructions = 0;  ///< warp instructions, bundles
  std::uint64_t simulated_messages = 0;
  std::string listing;    ///< as LaunchOptions::listing asked: text for people
  std::string recording;  ///< as LaunchOptions::record asked: JSON, of the family's own kind
};

/// The machine's limits, for percentages and bounds.
struct Peaks {
  double flops_per_s = 0;         ///< of the vector units in f32
  double tensor_flops_per_s = 0;  ///< of the matrix units, dense bf16
  double hbm_bytes_per_s = 0;
  std::uint64_t hbm_bytes = 0;  ///< capacity
  std::optional<double> dollars_per_hour;
};

/// What a launch is to keep for a page about it: what one core (an SM) did in a window of cycles.
struct RecordRequest {
  std::uint32_t core = 0;
  std::optional<std::uint64_t> first_cycle;  ///< absent: when the core gets its first work
  std::uint64_t cycles = 20'000;
};

/// How much a machine tells of the code that a launch was compiled to.
enum class Listing : std::uint8_t {
  kNone,
  kLines,  ///< its parts by source line
  kAll,    ///< ... and each instruction
};

struct LaunchOptions {
  bool values = true;
  bool warm_caches = false;               ///< caches keep what the last launch left
  std::optional<std::uint64_t> clock_hz;  ///< core clock; absent: the machine's own
  trace::Sink* trace = nullptr;
  std::uint64_t trace_start_fs = 0;  ///< where this launch begins in the trace
  std::optional<RecordRequest> record;
  Listing listing = Listing::kNone;  ///< of what the launch was compiled to, and how it ran
  bool every_chip = false;           ///< simulate each chip of a system, even where all do the same
};

struct Family;
struct LoadedMachine;

/// What joins the chips of a system; a kernel knows them by device id.
struct Interconnect {
  const network::Topology& topology;
  const network::NetworkParams& params;
  std::vector<std::uint32_t> chip_of;  ///< by device id: the topology's chip
};

class Machine {
 public:
  virtual ~Machine() = default;
  /// Runs one launch to its end. A kernel's own error, a deadlock or an unsupported op is a
  /// failure.
  virtual Expected<LaunchReport> launch(const exec::Launch& launch, exec::DeviceMemory& memory,
                                        const LaunchOptions& options) = 0;
  /// Whether it has the code and the room for a launch: what `launch` finds before it simulates.
  virtual Expected<void> accepts(const exec::Launch&, exec::DeviceMemory&) const { return {}; }
  /// Chips that run together, each with its own memory; they are numbered by device id.
  virtual std::uint32_t chips() const { return 1; }
  /// The devices that differ in these axes of the mesh only (empty: all axes), by position.
  virtual std::vector<std::vector<std::uint32_t>> groups(const std::vector<std::string>&) const {
    return {{0}};
  }
  /// Whether a collective fits it: what `collective` finds before it simulates.
  virtual Expected<void> accepts_collective(const CollectiveLaunch& launch) const;
  /// Runs a collective; `memories`: of each chip, or empty if no values are asked for.
  virtual Expected<LaunchReport> collective(const CollectiveLaunch& launch,
                                            std::span<exec::DeviceMemory* const> memories,
                                            const LaunchOptions& options);
  /// Whether chips that run a launch each alone may do so in different ways: it follows what their
  /// memories hold.
  virtual bool chips_differ(const exec::Launch&) const { return false; }
  /// Runs one launch of a kernel on all chips at once: the same kernel and arguments on each, with
  /// `memories` of their own, in which the tensors lie at the same addresses. Without values, chips
  /// that do the same are simulated once. For systems; a chip runs it alone.
  virtual Expected<LaunchReport> launch_on_all(const exec::Launch& launch,
                                               std::span<exec::DeviceMemory* const> memories,
                                               const LaunchOptions& options) {
    return this->launch(launch, *memories.front(), options);
  }
  /// The same of chips of this kind that a network joins; a machine that cannot refuses by name.
  virtual Expected<LaunchReport> launch_joined(const exec::Launch& launch,
                                               std::span<exec::DeviceMemory* const> memories,
                                               const Interconnect& joined,
                                               const LaunchOptions& options);
  /// One of the chips of a system; null: it is a chip itself.
  virtual const LoadedMachine* chip() const { return nullptr; }
  virtual Peaks peaks() const = 0;              ///< of a system: of all its chips together
  virtual const std::string& name() const = 0;  ///< "h200"
  /// Ops of a function that this machine cannot run, as "op (line): reason"; empty if it can.
  virtual std::vector<std::string> unsupported(const kernel::Module& module) const = 0;
};

/// What a launch says of a kernel whose text leaves it open (TTIR).
struct Schedule {
  std::int64_t num_warps = 4, num_stages = 3;
};

/// A family of machines: configurations whose top-level key is `name` (gpu:, tpu:, roofline:) make
/// one.
struct Family {
  std::string name;
  std::vector<kernel::Form> forms;  ///< kernel forms it takes, best first
  /// Makes of a kernel as it was read what the machines run; null: they run what was read.
  Expected<kernel::Module> (*compile)(kernel::Module kernel, const Schedule& schedule) = nullptr;
  Expected<std::unique_ptr<Machine>> (*create)(const config::Node& config,
                                               const std::string& name) = nullptr;
  TileSizes tiles;       ///< of kernels that are made from StableHLO
  bool traces = false;   ///< its machines write to LaunchOptions::trace
  bool records = false;  ///< its machines follow LaunchOptions::record
  bool lists = false;    ///< its machines follow LaunchOptions::listing
  bool joins = false;    ///< several of its machines run kernels together: Machine::launch_joined
  /// Every parameter, with its value in a configuration (null: none).
  std::vector<config::ParamDoc> (*params)(const config::Node* config) = nullptr;
  /// The bounds of a launch on a machine with these peaks, in ns by name, from the work that the
  /// launch reports (flops, compulsory bytes); only families that compute bounds have it.
  std::map<std::string, double> (*bound)(const LaunchReport&, const Peaks&) = nullptr;
};

void register_family(Family family);
const std::vector<Family>& families();
const Family* find_family(std::string_view name);

}  // namespace xpusim::run
