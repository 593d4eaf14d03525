#pragma once

// What a front end makes of a kernel: its body over tiles, its buffers in VMEM, and the windows
// that travel between HBM and VMEM while the grid runs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/tpu/compiler/tile_ir.h"
#include "models/tpu/params.h"
#include "sim/exec/interpreter.h"

namespace xpusim::tpu {

/// An operand that is brought to VMEM, or taken from it, block by block.
struct WindowPlan {
  std::uint16_t buffer = 0;
  std::size_t operand = 0;   ///< among the launch's arguments
  std::size_t argument = 0;  ///< among the function's arguments
  bool output = false;
  bool synchronous = false;  ///< one copy: its fetch is not ahead of its use
  Element element = Element::kF32;
  std::vector<std::int64_t> block;              ///< its shape, in elements
  const kernel::Function* transform = nullptr;  ///< null: the whole operand (or Triton)
  std::uint32_t site = 0;       ///< Triton: of the load or store in the program's execution
  bool whole = false;           ///< Triton: all of its tensor, in SMEM from first step to last
  bool dependent = false;       ///< its place depends on what another window brings
  std::int64_t scalar_ops = 0;  ///< scalar instructions to find a block and write its descriptor
  std::uint32_t line = 0;       ///< of the first load or store
};

/// A load or store in a loop or branch of a Triton program: a DMA each time it is executed.
struct StreamPlan {
  std::uint16_t buffer = 0;
  std::size_t operand = 0;  ///< among the launch's arguments
  std::uint32_t site = 0;   ///< in the program's execution
  bool output = false;
};

struct KernelPlan {
  Program program;  ///< name, lines and buffers; no bundles yet
  TileFunction function;
  std::vector<WindowPlan> windows;  ///< in buffer order
  std::vector<StreamPlan> streams;  ///< their numbers are those of the program's DMAs, less one
  std::vector<std::int64_t> grid;   ///< steps in each dimension; the last one runs fastest
  bool one_core = false;            ///< its steps depend on each other
};

/// The element type that the vector core uses for a dtype; kNone if it has none (f16, f64, ...).
Element element_of(kernel::DType dtype);

/// Reads a Mosaic function. `prepared` numbers its control sites. Ops and shapes that this compiler
/// has no code for are refused by line. `joined`: other chips run it too, so semaphores are looked
/// at in their own cycle.
Expected<KernelPlan> plan_mosaic(const exec::Launch& launch, const exec::Prepared& prepared,
                                 const CoreParams& core, bool joined = false);
/// The module's attribute that says how many buffers the loads of a Triton program's loops have.
inline constexpr const char* kStagesAttribute = "tpu.num_stages";
/// Reads a Triton function (TTIR).
Expected<KernelPlan> plan_triton(const exec::Launch& launch, const exec::Prepared& prepared,
                                 const CoreParams& core);
/// Why the Mosaic compiler has no code for an op, or "".
std::string refuse_mosaic(const kernel::Op& op);

/// Why the Triton front end has no code for an op, or "".
std::string refuse_triton(const kernel::Op& op);

/// Wraps the body in the pipeline that the grid and the windows ask for, and lowers all of it.
Expected<Program> compile(KernelPlan plan, const CoreParams& core);

}  // namespace xpusim::tpu
