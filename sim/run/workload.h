#pragma once

// Launch files (schema xpusim.workload/1): what runs, on which tensors, and what must come out.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/config/tree.h"
#include "sim/exec/memory.h"
#include "sim/kernel/ir.h"
#include "sim/run/collective.h"
#include "sim/run/expression.h"

namespace xpusim::run {

/// A tensor of a workload: lives across its launches.
struct TensorSpec {
  std::string name;
  kernel::DType dtype = kernel::DType::kF32;
  std::vector<std::int64_t> shape;
  exec::Init init;
  bool replicated = false;            ///< several chips begin with the same, not each its own
  std::optional<std::int64_t> shard;  ///< the dimension of which each has an equal part
  SourcePosition where, shard_where;

  std::int64_t count() const;
};

/// What a launch passes for one parameter.
struct ArgSpec {
  enum class Kind { kTensor, kInteger, kReal, kNull, kDescriptor } kind = Kind::kNull;
  std::string name;    ///< the parameter's name; "" where arguments go by position
  std::string tensor;  ///< kTensor, kDescriptor
  std::int64_t integer = 0;
  double real = 0;
  std::vector<std::int64_t> block;    ///< kDescriptor
  std::vector<std::int64_t> strides;  ///< kDescriptor, in elements; empty: row-major
  bool nan_padding = false;           ///< kDescriptor: outside the tensor it reads NaN, not zero
  SourcePosition where;
};

struct LaunchSpec {
  std::string label;  ///< by which others name it; "": none
  /// Launches before it, by number, that it waits for; absent: the one before it.
  std::optional<std::vector<std::size_t>> after;
  std::optional<CollectiveSpec> collective;  ///< instead of a kernel and all that follows
  /// Kernel by machine family ("gpu", "tpu"); "" is the kernel for every family.
  std::map<std::string, std::string> kernel;
  std::vector<std::string> grid;  ///< expressions
  std::map<std::string, std::string> constexprs;
  std::vector<ArgSpec> args;  ///< in written order
  /// Where the kernel's text has them (TTGIR), num_warps is checked and num_stages a mere name.
  std::optional<std::int64_t> num_warps, num_stages;
  SourcePosition where;
  SourcePosition kernel_where;             ///< of `kernel`; unset where a file keeps no positions
  std::vector<SourcePosition> grid_where;  ///< of each in `grid`; empty likewise
  std::map<std::string, SourcePosition> constexpr_where;  ///< of their values; empty likewise

  const SourcePosition& kernel_place() const {
    return kernel_where.file.empty() ? where : kernel_where;
  }
  const SourcePosition& grid_place(std::size_t i) const {
    return i < grid_where.size() ? grid_where[i] : where;
  }
  const SourcePosition& constexpr_place(const std::string& name) const {
    const auto found = constexpr_where.find(name);
    return found == constexpr_where.end() ? where : found->second;
  }
};

/// A check after the run, against an independent reference in double precision.
struct ExpectSpec {
  std::string tensor;
  Expression reference;
  std::string text;
  std::string file;  ///< a .npy file to compare with instead; "" if there is an expression
  SourcePosition file_where;
  double rtol = 1e-5, atol = 1e-8;
  SourcePosition where;
};

struct Workload {
  std::string name;
  std::string path;  ///< the launch file; paths inside are relative to its folder
  std::vector<TensorSpec> tensors;
  std::vector<LaunchSpec> launches;
  std::vector<ExpectSpec> expect;
  std::set<std::string> variants;  ///< constexprs that sweeps choose a kernel by

  const TensorSpec* tensor(std::string_view name) const;
};

/// Element types by the names of the contract ("f32", "bf16", "f8", "u8"); none if unknown.
std::optional<kernel::DType> parse_dtype(std::string_view name);
/// "randn", "zeros", "ones", "arange", "full 2.5", "randint 100" (up to 2^53, where doubles stop
/// being exact); none if it is no such thing.
std::optional<exec::Init> parse_init(std::string_view text);

Expected<Workload> load_workload(const std::string& path);
Expected<Workload> parse_workload(const config::Node& root, const std::string& path);

/// "ttgir", "ttir", "mlir".
std::string_view file_ending(kernel::Form form);
/// `path` as seen from the folder of `file`.
std::string relative_to(const std::string& file, const std::string& path);
/// The kernel file for a stem or path, by the forms that a machine takes, best first.
Expected<std::string> find_kernel_file(const std::string& stem,
                                       const std::vector<kernel::Form>& forms,
                                       const SourcePosition& where);

}  // namespace xpusim::run
