#pragma once

// Reads a Triton function (TTIR) into a kernel plan. A program is a grid step. Loads and stores
// outside loops are windows, those in loops are streams of DMAs; where their elements lie is asked
// of the program's execution, so that wrap-around, masks and gathered rows need no form here. What
// the front end settles is which values are in registers, and how they lie there.

#include <optional>
#include <string>
#include <vector>

#include "models/tpu/compiler/builder.h"
#include "models/tpu/compiler/kernel_plan.h"
#include "models/tpu/compiler/triton_values.h"
#include "sim/kernel/analysis/axis_info.h"

namespace xpusim::tpu {

class TritonFront {
 public:
  TritonFront(const exec::Launch& launch, const exec::Prepared& prepared, const CoreParams& core);
  Expected<KernelPlan> run();

  using Handler = void (TritonFront::*)(const kernel::Op& op);
  static Handler handler(std::string_view op);

 private:
  /// How the elements of a tile lie in its registers.
  enum class Layout : std::uint8_t {
    kUniform,     ///< the same everywhere
    kFlat,        ///< one dimension, 1024 elements a register
    kTiled,       ///< two dimensions, (8,128) a register
    kTransposed,  ///< two dimensions, columns down and rows across: as memory has it
    kColumn,      ///< one dimension, a value a row: what a reduction over columns leaves
    kRow,         ///< one dimension, a value a column
  };
  /// A value in registers.
  struct Known {
    ValueId data = kNoValue;
    Layout layout = Layout::kUniform;
  };
  /// Where a load or store has its place in VMEM.
  struct Place {
    std::uint16_t buffer = kNoBuffer;
    Layout layout = Layout::kFlat;
    VregGrid grid;
    std::int32_t stream = -1;  ///< -1: a window
    bool whole = false;        ///< all of its tensor, in SMEM
  };

  void block(const kernel::Block& block);
  void op(const kernel::Op& op);
  void elementwise(const kernel::Op& op);
  void integer_division(const kernel::Op& op);
  Layout joined_layout(const kernel::Op& op);
  void constant(const kernel::Op& op);
  void same(const kernel::Op& op);
  void expand_dims(const kernel::Op& op);
  void transpose(const kernel::Op& op);
  void reduce(const kernel::Op& op);
  void dot(const kernel::Op& op);
  void nothing(const kernel::Op& op);

  // memory
  void load(const kernel::Op& op);
  void store(const kernel::Op& op);
  void atomic(const kernel::Op& op);
  void scatter(const kernel::Op& op);
  static std::int64_t pointer_ops(const kernel::Value& pointer);
  std::optional<Place> place(const kernel::Op& op, const kernel::Type accessed, bool output);
  void add_window(const kernel::Op& op, Place& place, bool output);
  void add_stream(const kernel::Op& op, Place& place, bool output);
  std::uint16_t add_buffer(const kernel::Op& op, const Place& place, Element e, bool output,
                           std::int32_t copies);
  std::int64_t address_ops(const kernel::Op& op) const;
  std::size_t tensor_of(const kernel::Value& pointer) const;
  bool is_gather(const kernel::Op& op) const;

  // control
  void for_loop(const kernel::Op& op);
  void run_ahead(const std::vector<std::int32_t>& streams, TileRegion& body);
  void if_else(const kernel::Op& op);
  struct Carried {
    std::uint16_t buffer = kNoBuffer;
    Layout layout = Layout::kUniform;
    VregGrid grid;
    Element element = Element::kNone;
  };
  std::optional<Carried> carry(const kernel::Value& v, const kernel::Value& next);
  void store_carried(const Carried& c, const kernel::Value& from, const kernel::Op& op);
  Known load_carried(const Carried& c);
  Layout layout_ahead(const kernel::Value& v, int depth) const;

  /// A value in registers, in a layout of its rank (kUniform: whichever it has).
  ValueId get(const kernel::Value& v, const kernel::Op& op, Layout want = Layout::kUniform);
  ValueId index_tile(const kernel::Value& v, Layout layout);
  bool is_index(const kernel::Value& v) const;
  Known& known(const kernel::Value& v) { return known_[v.id]; }
  Element element(const kernel::Value& v, const kernel::Op& op);
  void refuse(const kernel::Op& op, std::string reason);
  static VregGrid grid_of(const kernel::TypeData& type, Layout layout, Element e);
  static Layout natural(const kernel::TypeData& type);

  const exec::Launch& launch_;
  const exec::Prepared& prepared_;
  const kernel::Function& function_;
  const CoreParams& core_;
  TritonValues values_;
  kernel::AxisAnalysis axes_;
  KernelPlan plan_;
  ProgramWriter lines_;
  TileBuilder build_;
  std::vector<Known> known_;
  int loops_ = 0, branches_ = 0;                ///< around the op
  std::vector<std::int32_t>* ahead_ = nullptr;  ///< streams of the innermost loop that run ahead
  Diagnostics problems_;
};

}  // namespace xpusim::tpu
