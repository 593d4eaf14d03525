#pragma once

// Whole launches of Mosaic kernels from workloads/pallas, for tests.

#include <string>
#include <vector>

#include "sim/exec/mosaic_run.h"
#include "tests/exec/kernel_harness.h"

namespace xpusim::exec {

/// A kernel of workloads/pallas/<stem>.mlir with its operands in order.
class MosaicKernel {
 public:
  explicit MosaicKernel(const std::string& stem, std::uint64_t capacity = std::uint64_t{1} << 33);
  /// The same with a smaller grid than the text's `iteration_bounds`.
  MosaicKernel(const std::string& stem, const std::vector<std::int64_t>& grid);
  explicit MosaicKernel(std::shared_ptr<const kernel::Module> read,
                        std::uint64_t capacity = std::uint64_t{1} << 33)
      : module(std::move(read)), memory(capacity) {}

  /// The next operand.
  void operand(DType dtype, std::vector<std::int64_t> shape, Init init);
  void data(DType dtype, std::vector<std::int64_t> shape, std::vector<std::byte> bytes);
  void integers(std::vector<std::int64_t> shape, const std::vector<std::int32_t>& values);
  void same_as(std::size_t other) { args_.push_back(args_[other]); }  ///< the same tensor again
  void extent(std::int64_t n) { grid_[0] = n; }  ///< of a grid that the text leaves open
  /// False: `problems` says why.
  bool run(bool values = true);
  std::vector<double> values(std::size_t operand) const;
  std::vector<std::byte> bytes(std::size_t operand) const;

  std::shared_ptr<const kernel::Module> module;
  DeviceMemory memory;
  MosaicResult result;
  std::string problems;

 private:
  std::vector<Argument> args_;
  std::array<std::int64_t, 3> grid_{1, 1, 1};
};

Init unwritten();
/// The raw elements of a .npy file of format 1.0.
std::vector<std::byte> npy_bytes(const std::string& path);
std::string pallas_path(const std::string& file);

}  // namespace xpusim::exec
