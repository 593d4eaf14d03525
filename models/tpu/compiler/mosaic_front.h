#pragma once

// Reads a Mosaic function into a kernel plan.

#include <optional>
#include <string>
#include <vector>

#include "models/tpu/compiler/builder.h"
#include "models/tpu/compiler/kernel_plan.h"

namespace xpusim::tpu {

class MosaicFront {
 public:
  MosaicFront(const exec::Launch& launch, const exec::Prepared& prepared, const CoreParams& core,
              bool joined);
  Expected<KernelPlan> run();

  using Handler = void (MosaicFront::*)(const kernel::Op& op);
  /// The handler of an op that is not element-wise, or null.
  static Handler handler(std::string_view op);

 private:
  /// Rows and columns of a shaped type; leading dimensions are slabs of whole tile rows.
  struct Extent {
    std::int64_t slabs = 1, rows = 1, cols = 1;
  };
  static Extent extent(const kernel::TypeData& type);
  static VregGrid grid_of(const Extent& e, Element element);
  /// Grid and ragged edges of an op over all of a shape.
  static void cover(const Extent& e, Element element, TileOp& op);

  // the signature
  void arguments();
  void window(std::size_t argument, std::size_t operand, kernel::Attr params);
  void scratch(std::size_t argument);
  bool is_stored(const kernel::Value& memref) const;
  std::uint16_t add_buffer(const kernel::Value& memref, const Extent& e, Element element,
                           BufferKind kind, int copies);

  // ops
  void block(const kernel::Block& block);
  void op(const kernel::Op& op);
  void elementwise(const kernel::Op& op);
  void constant(const kernel::Op& op);
  void broadcast(const kernel::Op& op);
  void shape_cast(const kernel::Op& op);
  void reduction(const kernel::Op& op);
  void iota(const kernel::Op& op);
  void matmul(const kernel::Op& op);
  void transpose(const kernel::Op& op);
  void rotate(const kernel::Op& op);
  void gather(const kernel::Op& op);
  void strided_load(const kernel::Op& op);
  void extract(const kernel::Op& op);
  void load(const kernel::Op& op);
  void store(const kernel::Op& op);
  void scalar_load(const kernel::Op& op);
  void scalar_store(const kernel::Op& op);
  void scalar(const kernel::Op& op);
  void alias(const kernel::Op& op);
  void nothing(const kernel::Op& op);
  void slice(const kernel::Op& op);
  void start_dma(const kernel::Op& op);
  void wait_dma(const kernel::Op& op);
  void device_id(const kernel::Op& op);
  void control(TileOp::Kind kind);
  void semaphore(const kernel::Op& op);
  void allocate(const kernel::Op& op);
  void region(const kernel::Op& op);
  void for_loop(const kernel::Op& op);
  void if_else(const kernel::Op& op);
  void yield_to(const kernel::Block& block, const std::vector<std::uint16_t>& carried);

  /// The tile op of a load or store at `indices` of a memref.
  std::optional<TileOp> access(const kernel::Op& op, const kernel::Value& memref,
                               std::span<kernel::Value* const> indices,
                               const kernel::TypeData& vector);
  std::uint16_t carry(const kernel::Value& v);
  ValueId load_carried(std::uint16_t buffer, const kernel::Value& v);
  void store_carried(std::uint16_t buffer, const kernel::Value& from);
  void refuse(const kernel::Op& op, std::string reason);
  ValueId get(const kernel::Value& v);
  void set(const kernel::Value& v, ValueId id);
  Element element(const kernel::Value& v, const kernel::Op& op);

  const exec::Launch& launch_;
  const exec::Prepared& prepared_;
  const kernel::Function& function_;
  const CoreParams& core_;
  bool joined_;  ///< other chips run the kernel too, and may signal to this one
  KernelPlan plan_;
  ProgramWriter lines_;
  TileBuilder build_;
  std::vector<ValueId> values_;                     ///< by kernel value
  std::vector<std::uint16_t> buffers_;              ///< by kernel value: memrefs
  std::vector<std::vector<std::uint16_t>> yields_;  ///< carry buffers of the enclosing control ops
  Diagnostics problems_;
};

/// A value that does not depend on the run, if it is one: constants and simple arithmetic on them.
std::optional<std::int64_t> constant_of(const kernel::Value& v);
/// A number that divides the value whatever happens; 0 for the value 0.
std::int64_t divisor_of(const kernel::Value& v);

}  // namespace xpusim::tpu
