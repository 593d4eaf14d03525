#pragma once

// Functional execution of one grid step of a Mosaic kernel over buffers that the machine owns
// (windows in VMEM, scalar-prefetch operands in SMEM, scratch), and of a window's index transform.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/exec/interpreter.h"

namespace xpusim::exec {

/// What a memref argument stands for: row-major memory of the machine's. `bytes` may be empty where
/// no payload is held (floats with --values off); then loads give unknown tiles and stores are
/// dropped.
struct Buffer {
  std::span<std::byte> bytes;
  DType dtype = DType::kNone;
  Shape shape;  ///< as in the memref's type
};

/// A memref value at run time: the part of a buffer (or of a tensor in HBM) that slices have left.
struct View {
  static constexpr std::uint32_t kNoArgument = ~0u;
  std::uint32_t argument = kNoArgument;  ///< the function's argument that it comes from
  std::span<std::byte> bytes;  ///< the whole buffer; empty: no payload held, or in device memory
  std::uint64_t address = 0;   ///< of the tensor in device memory; 0: a buffer of the machine's
  std::int64_t offset = 0;     ///< of the first element, in elements
  DType dtype = DType::kNone;  ///< kNone: a semaphore
  Shape shape, strides;        ///< strides in elements
};

class ProductListener;

/// Tells semaphores apart: the argument (or allocation) that they come from, and the element.
inline std::int64_t semaphore_key(const View& v) {
  return (static_cast<std::int64_t>(v.argument) << 32) | v.offset;
}
/// The name that the kernel's source gives a semaphore, or the array that it is one of.
std::string_view semaphore_name(const kernel::Value& semaphore);

/// What a body sends to another device: the data of a copy, or a signal. Devices run the same
/// program, so an argument's number and a semaphore's key mean the same on all of them.
struct Outgoing {
  std::uint32_t device = 0;
  bool copy = false;
  View target;                  ///< of a copy: the place, as the sender's own would be
  std::vector<std::byte> data;  ///< its elements side by side; empty: no payload is held
  std::int64_t semaphore = 0;   ///< of the receiver ...
  std::int64_t amount = 0;      ///< ... that counts so much more once it is there
};

/// Runs a kernel body grid step after grid step. Arguments: the grid indices (scalars, first), then
/// the memrefs in order: scalar-prefetch operands, inputs, outputs, scratch.
class StepInterpreter {
 public:
  using Options = Interpreter::Options;
  using State = Interpreter::State;

  static std::unique_ptr<StepInterpreter> make(std::shared_ptr<const Prepared> prepared,
                                               Options options);
  virtual ~StepInterpreter() = default;

  /// Binds the memref argument at this position among all arguments; stays until bound anew. Cheap,
  /// so a machine with double-buffered windows rebinds before each step.
  virtual void bind(std::size_t argument, const Buffer& buffer) = 0;
  /// Binds a memref argument in `any` or HBM memory to a tensor in device memory.
  virtual void bind(std::size_t argument, DeviceMemory& memory, const Allocation& tensor) = 0;

  /// The extents of the grid, where the kernel's text leaves one open and the kernel asks for it.
  virtual void set_bounds(std::span<const std::int64_t> bounds) = 0;

  /// Tells of the steps' products from now on; null: no longer.
  virtual void listen(ProductListener* listener) = 0;
  /// Makes this the body of one of several devices that run the same program. What it sends to
  /// others, and what comes from them, the machine carries; it also says when a wait is over, since
  /// others may still signal. At first there is one device, number 0, and a wait that nothing can
  /// end is an error.
  virtual void set_device(std::uint32_t device, std::uint32_t devices) = 0;
  /// What the effect that was just performed sends to another device.
  virtual std::optional<Outgoing> take_outgoing() = 0;
  /// That has arrived here, from another device.
  virtual void arrive(const Outgoing& what) = 0;
  /// What a counting semaphore holds, by its key.
  virtual std::int64_t semaphore(std::int64_t key) = 0;
  /// The value of a scalar operand of the effect.
  virtual std::int64_t integer(const kernel::Value& scalar) const = 0;

  /// Begins the step at these grid indices. Copies, semaphores and the seed of random bits live on
  /// from step to step.
  virtual void start(std::span<const std::int64_t> grid_index) = 0;
  virtual State advance() = 0;  ///< as Interpreter::advance
  /// After the last step: false if a copy was never waited for.
  virtual bool finish() = 0;
  virtual void perform() = 0;  ///< as Interpreter::perform: a DMA copies, a semaphore counts
  virtual const kernel::Op* effect() const = 0;
  /// What a memref operand of the effect (or of any op that has run) stands for now.
  virtual const View& view(const kernel::Value& memref) const = 0;

  virtual const BlockTrace& trace() const = 0;  ///< decisions of scf.for, scf.if, scf.while by site
  virtual BlockTrace& trace() = 0;
  virtual const ExecError& error() const = 0;
  virtual const WorkCounts& counts() const = 0;  ///< load and store bytes: those of the buffers
};

/// A window's `transform_indices` function, made ready once and evaluated for each grid step.
class WindowTransform {
 public:
  static Expected<std::unique_ptr<WindowTransform>> make(
      std::shared_ptr<const kernel::Module> module, const kernel::Function& function);
  virtual ~WindowTransform() = default;
  /// The block index of each window dimension. `prefetch`: the scalar-prefetch operands, with
  /// bytes. Empty when the function fails (a prefetch read out of bounds); `error` says why.
  virtual std::span<const std::int64_t> evaluate(std::span<const std::int64_t> grid_index,
                                                 std::span<const Buffer> prefetch) = 0;
  virtual const ExecError& error() const = 0;
};

/// The same as a value.
std::vector<std::int64_t> evaluate_transform(WindowTransform& transform,
                                             std::span<const std::int64_t> grid_index,
                                             std::span<const Buffer> prefetch = {});

}  // namespace xpusim::exec
