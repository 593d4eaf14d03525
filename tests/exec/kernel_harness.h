#pragma once

// Runs kernels from workloads/ over small tensors, for tests and benchmarks.

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/exec/interpreter.h"

namespace xpusim::exec {

/// All files of workloads/<folder> that are <kernel>_<anything><extension>, or <kernel><extension>.
std::vector<std::filesystem::path> kernel_files(const std::string& folder,
                                                const std::string& kernel,
                                                const std::string& extension);
/// Reads a module; a failure prints its diagnostics and gives null.
std::shared_ptr<const kernel::Module> read_kernel(const std::filesystem::path& path);
std::shared_ptr<const kernel::Module> read_kernel_text(std::string_view text);

/// The end of the first tt.make_range of a kernel: its BLOCK.
std::int64_t block_size(const kernel::Module& module);

/// A kernel with device memory, ready to be given arguments and run.
class KernelRun {
 public:
  explicit KernelRun(std::shared_ptr<const kernel::Module> module, std::uint64_t capacity = 1 << 28)
      : memory(capacity), module_(std::move(module)) {}

  /// Allocates a tensor and binds it to the parameter of that name.
  void tensor(const std::string& parameter, DType dtype, std::vector<std::int64_t> shape,
              Init init);
  /// Binds a TMA descriptor of a tensor (allocated by `tensor`) to the parameters of that name:
  /// blocks as in the parameter's type, rows side by side.
  void descriptor(const std::string& parameter, const std::string& tensor,
                  bool pads_with_nan = false);
  void integer(const std::string& parameter, std::int64_t value);
  void real(const std::string& parameter, double value);
  /// Runs all blocks in order; visible effects take place at once. False: `error` says why.
  bool run(std::array<std::int64_t, 3> grid, bool values = true);
  std::vector<double> values(const std::string& tensor) const;
  Launch launch(std::array<std::int64_t, 3> grid) const;
  std::shared_ptr<const Prepared> prepared();

  DeviceMemory memory;
  ExecError error;
  WorkCounts counts;
  int effects = 0;  ///< visible effects performed
  /// If set, each run that ends well with values appends what all its tensors hold.
  static inline std::vector<std::vector<double>>* log = nullptr;

 private:
  std::shared_ptr<const kernel::Module> module_;
  std::shared_ptr<const Prepared> prepared_;
  std::map<std::string, Argument> args_;
};

Init randn(std::uint64_t seed);
Init zeros();

}  // namespace xpusim::exec
