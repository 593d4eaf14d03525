#pragma once

// A StableHLO module as a list of kernels: XLA in small.

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/run/stablehlo/tile_sizes.h"

namespace xpusim::run {

/// One kernel of a module: it computes the root, and with it whatever the root needs that no other
/// kernel leaves in memory.
struct HloKernel {
  enum class Kind : std::uint8_t {
    kElementwise,  ///< a value at each place of the root's shape
    kRows,         ///< a sum (or maximum, ...) of each row: of the last dimensions
    kPartial,      ///< one over everything, of each program's part ...
    kFinal,        ///< ... and of these
    kDot,          ///< a matrix product
  } kind = Kind::kElementwise;
  const kernel::Op* root = nullptr;
  std::string name;                          ///< as XLA calls its fusions: by the ops in it
  std::vector<const kernel::Value*> inputs;  ///< what it reads of memory, in order
  std::int64_t block = 0;                    ///< elements of a program; kDot: none
  std::int64_t programs = 1;
  std::int64_t parts = 0;  ///< kFinal: of how many
};

/// What can be computed in place: the ops of a function, and the values that lie in memory, which
/// are its arguments and the kernels' roots. Element-wise ops, broadcasts, reshapes and
/// transpositions of a value are computed wherever they are needed (`fuse`), as often as they are;
/// or each is a kernel of its own, as when JAX runs op by op. Broadcasts of numbers never are.
/// Left out: XLA's cost model (it may fuse less), fusion into products, several results a kernel.
class HloGraph {
 public:
  static Expected<HloGraph> make(const kernel::Function& function, bool fuse,
                                 const TileSizes& tiles);

  const std::vector<HloKernel>& kernels() const { return kernels_; }
  bool in_memory(const kernel::Value& v) const { return in_memory_.contains(&v); }
  /// The function's results, in order.
  const std::vector<const kernel::Value*>& results() const { return results_; }

 private:
  void find_roots(const kernel::Function& function, bool fuse);
  void add_kernels(const kernel::Op& op, const TileSizes& tiles, Diagnostics& problems);
  void add_reduction(const kernel::Op& op, const TileSizes& tiles, Diagnostics& problems);
  void add(HloKernel kernel);
  /// What a kernel computes besides its root.
  struct Computed {
    std::unordered_set<const kernel::Value*> seen;
    std::vector<std::string> ops;
  };
  void find_inputs(const kernel::Value& v, HloKernel& kernel, Computed& computed) const;

  std::unordered_set<const kernel::Value*> in_memory_;
  std::vector<const kernel::Value*> results_;
  std::vector<HloKernel> kernels_;
};

/// What a reduction's reducer does, and what it leaves as it is.
struct Reducer {
  std::string_view float_op, integer_op;  ///< of the arith dialect
  double identity;
};
const Reducer* reducer_of(const kernel::Op& reduce);

}  // namespace xpusim::run
