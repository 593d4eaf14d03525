#pragma once

// Reads a Triton function (TTIR) into a kernel plan: one program is one grid step, and its loads
// and stores of affine pointer tiles are windows.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/tpu/compiler/affine_form.h"
#include "models/tpu/compiler/builder.h"
#include "models/tpu/compiler/kernel_plan.h"

namespace xpusim::tpu {

class TritonFront {
 public:
  TritonFront(const exec::Launch& launch, const CoreParams& core);
  Expected<KernelPlan> run();

  using Handler = void (TritonFront::*)(const kernel::Op& op);
  static Handler handler(std::string_view op);

 private:
  /// How the elements of a tile lie in its registers.
  enum class Layout : std::uint8_t {
    kUniform,  ///< the same everywhere
    kFlat,     ///< one dimension, 1024 elements a register
    kTiled,    ///< two dimensions, (8,128) a register
    kColumn,   ///< a value a row, the same in all lanes: what a reduction over columns leaves
    kRow,      ///< a value a column, the same in all rows
  };
  /// What is known of a value: affine, a mask, or data in registers.
  struct Known {
    std::optional<AffineForm> form;
    std::optional<AffineMask> mask;
    ValueId data = kNoValue;
    Layout layout = Layout::kUniform;
  };

  void op(const kernel::Op& op);
  void arguments();
  void elementwise(const kernel::Op& op);
  bool affine_arithmetic(const kernel::Op& op);
  void constant(const kernel::Op& op);
  void program_id(const kernel::Op& op);
  void make_range(const kernel::Op& op);
  void splat(const kernel::Op& op);
  void expand_dims(const kernel::Op& op);
  void same(const kernel::Op& op);
  void compare(const kernel::Op& op);
  void both(const kernel::Op& op);
  void load(const kernel::Op& op);
  void store(const kernel::Op& op);
  void reduce(const kernel::Op& op);
  void nothing(const kernel::Op& op);

  /// The window of a load or store; problems are reported.
  std::optional<std::uint16_t> window(const kernel::Op& op, const kernel::Value& pointer,
                                      const kernel::Value* mask, bool output);
  ValueId data(const kernel::Value& v, const kernel::Op& op);
  ValueId select_other(const kernel::Op& op, ValueId loaded, const kernel::Value& mask,
                       const kernel::Value& other);
  Known& known(const kernel::Value& v) { return known_[v.id]; }
  void refuse(const kernel::Op& op, std::string reason);
  static VregGrid grid_of(const kernel::TypeData& type);
  static Layout layout_of(const kernel::TypeData& type);

  const exec::Launch& launch_;
  const kernel::Function& function_;
  KernelPlan plan_;
  ProgramWriter lines_;
  TileBuilder build_;
  std::vector<Known> known_;
  Diagnostics problems_;
};

}  // namespace xpusim::tpu
