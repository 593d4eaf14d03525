#pragma once

// The functional side of a grid step.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tpu/core/windows.h"
#include "models/tpu/program/program.h"
#include "sim/exec/step_interpreter.h"

namespace xpusim::exec {
class ProductListener;
}

namespace xpusim::tpu {

/// Executes the kernel's body on the windows' current copies when the step's computation begins,
/// and keeps the decisions of its control flow for the timing of that step.
class KernelBody {
 public:
  virtual ~KernelBody() = default;
  /// Runs the current step; false when the kernel fails (`error` says why).
  virtual bool run(WindowSet& windows) = 0;
  /// After the last step; false when something was left undone.
  virtual bool finish() { return true; }
  /// A DMA of the kernel's own, at which its execution stands.
  struct Dma {
    bool wait = false;               ///< a wait for one
    std::int64_t semaphore = 0;      ///< that it raises or waits for
    std::string_view name;           ///< of the semaphore in the kernel's text
    std::uint64_t bytes = 0;         ///< by which it raises it, or for which it waits
    std::vector<Run> reads, writes;  ///< in HBM
    bool signals = false;            ///< of a semaphore that counts signals: its amount is `bytes`
    std::uint64_t held = 0;          ///< by that semaphore now
    std::optional<std::int64_t> source_semaphore;  ///< raised when the source has been read
  };
  /// What the execution stands at; none at the end of the step, or in a body without own DMAs.
  virtual std::optional<Dma> dma() { return std::nullopt; }
  /// Performs that and goes on to the next one or to the end; false when the kernel fails.
  virtual bool resume() { return true; }
  /// What that sent to another chip.
  virtual std::optional<exec::Outgoing> take_outgoing() { return std::nullopt; }
  /// Something from another chip is here.
  virtual void arrive(const exec::Outgoing&) {}
  /// How many transfers a stream has in this step, and where in HBM one of them lies.
  virtual std::uint32_t stream_count(std::uint32_t) { return 0; }
  virtual void stream_runs(std::uint32_t, std::uint32_t, std::vector<Run>&) {}
  virtual bool stream_is_output(std::uint32_t) const { return false; }
  /// The buffer of the program that it goes to or comes from.
  virtual std::uint16_t stream_buffer(std::uint32_t) const { return kNoBuffer; }
  /// Tells of the steps' products from now on, where it executes a step when that begins.
  virtual void listen(exec::ProductListener*) {}
  virtual const exec::BlockTrace& trace() const = 0;
  virtual const exec::ExecError& error() const = 0;
  virtual const exec::WorkCounts& counts() const = 0;
};

}  // namespace xpusim::tpu
