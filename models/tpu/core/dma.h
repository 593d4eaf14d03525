#pragma once

// The DMA engines between HBM and VMEM.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <systemc>
#include <vector>

#include "models/memory/messages.h"
#include "models/tpu/params.h"
#include "sim/engine/component.h"
#include "sim/engine/link.h"
#include "sim/trace/sink.h"

namespace xpusim::tpu {

class CoreRecorder;
using engine::Cycle;

/// Contiguous bytes in HBM.
struct Run {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// A transfer: what it reads of HBM and what it writes to it (both where it copies within HBM,
/// neither where it copies within the core). Strided rows are runs.
struct Descriptor {
  std::vector<Run> reads, writes;
  std::uint64_t inside = 0;  ///< bytes that are copied within the core: VMEM, SMEM
  std::uint64_t bytes = 0;   ///< what a semaphore counts when it is done
  /// Whom its completion concerns: a window (`slot`: its copy), a semaphore of the kernel, a stream
  /// (`slot`: which of its transfers), or a transfer between chips (`slot`: its chunk).
  enum class For : std::uint8_t {
    kWindow,
    kSemaphore,
    kStream,
    kLeaving,
    kLanding
  } whom = For::kWindow;
  std::uint32_t number = 0, slot = 0;
  std::optional<std::uint32_t> source_semaphore;  ///< raised too (a copy to the own device)
  bool is_write() const { return !writes.empty(); }
  trace::NameId label = 0;   ///< in the trace
  std::uint32_t record = 0;  ///< its number in a recording; 0: none
};

/// The descriptors in flight, as they lie in the core's SMEM: the core writes them, engines read
/// them by number.
class DescriptorTable {
 public:
  std::uint32_t add(Descriptor descriptor);
  Descriptor& at(std::uint32_t id) { return table_[id]; }
  void release(std::uint32_t id) { free_.push_back(id); }

 private:
  std::vector<Descriptor> table_;
  std::vector<std::uint32_t> free_;
};

/// Message::kind between a core and its engines; `tag` is the descriptor's number.
enum DmaKind : std::uint16_t { kStartDma = 0x100, kDmaDone };

/// One DMA engine: takes descriptors in order, cuts them into requests of up to 512 B, and keeps
/// several under way, also of the next descriptors. It has a way in and a way out, of `bandwidth`
/// each (512 B, a native access, also for the few bytes of a short row); a copy within HBM writes
/// what has come. It says when the last answer of a descriptor has come. The time from the core's
/// issue to it, and from it back to the sync flag, is that of the links. It does not model the
/// engine's own instruction fetch or a conflict at the VMEM ports.
class DmaEngine : public sc_core::sc_module, public engine::Component {
 public:
  DmaEngine(const sc_core::sc_module_name& name, const DmaParams& params, DescriptorTable& table);

  engine::OutPort memory;  ///< to HBM
  engine::OutPort core;    ///< completions

  void set_id(std::uint32_t component) { id_ = component; }
  void set_trace(trace::Sink* sink, const engine::Clock& clock, std::string_view path,
                 std::uint64_t offset_fs);
  void record_with(CoreRecorder* recorder) { recorder_ = recorder; }

  Cycle tick(Cycle now) override;
  Cycle receive(const engine::Message& message, Cycle now) override;
  const char* waiting_for() const override;

  std::uint64_t read_bytes() const { return read_bytes_; }
  std::uint64_t write_bytes() const { return write_bytes_; }
  std::uint64_t requests() const { return requests_; }
  std::uint64_t busy_cycles() const { return busy_bytes_ / bytes_per_cycle_; }

 private:
  /// The next byte of a list of runs.
  struct Cursor {
    std::size_t run = 0;
    std::uint64_t offset = 0;
  };
  /// A descriptor that this engine works on.
  struct Job {
    std::uint32_t descriptor = 0;
    Cursor read, write;
    std::uint64_t inside = 0;   ///< bytes copied within the core
    std::uint64_t arrived = 0;  ///< bytes read of HBM that are not written yet
    std::uint32_t outstanding = 0;
    Cycle begin = ~Cycle{0};
  };
  enum class Way : std::uint8_t { kIn, kOut };
  /// What the job does next.
  enum class Step : std::uint8_t { kRead, kWrite, kInside, kBlocked, kDone };
  Step next(const Job& job) const;
  void perform(Job& job, Step step, Cycle now);
  void send(Job& job, const std::vector<Run>& runs, Cursor& cursor, Step step, Cycle now);
  void finish_if_done(std::size_t job, Cycle now);
  std::uint64_t& free(Way way) { return free_[static_cast<std::size_t>(way)]; }

  DescriptorTable& table_;
  std::uint64_t bytes_per_cycle_;
  std::uint32_t limit_;
  std::uint32_t id_ = 0;
  std::deque<std::uint32_t> queue_;  ///< jobs that still have requests to issue
  std::vector<Job> jobs_;            ///< by number; the tag of its requests
  std::vector<std::uint32_t> free_jobs_;
  std::uint32_t in_flight_ = 0;
  std::array<std::uint64_t, 2> free_{};  ///< by way: from which byte time on
  std::uint64_t read_bytes_ = 0, write_bytes_ = 0, requests_ = 0, busy_bytes_ = 0;
  CoreRecorder* recorder_ = nullptr;
  trace::Sink* sink_ = nullptr;
  trace::LaneId lane_ = 0;
  engine::Clock clock_{1};
  std::uint64_t offset_fs_ = 0;
};

}  // namespace xpusim::tpu
