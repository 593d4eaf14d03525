#pragma once

// What the tests of the kernel IR share: reading texts, comparing IRs, finding ops.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/kernel/ir.h"
#include "sim/kernel/op_info.h"

namespace xpusim::kernel::testing {

/// The module of a text that must read; a failure of the test, and an empty module, if it does not.
Module read(const std::string& text);
/// A function with this body; its parameters are `args` ("%p: !tt.ptr<f32>, %n: i32").
std::string function(const std::string& args, const std::string& body);
/// The diagnostics of a text that must not read, one a line.
std::string problems(const std::string& text);

/// "" if the two IRs are the same, but for where they stand in their texts; else the first
/// difference.
std::string difference(const Op& a, const Op& b);

/// All ops below `op` with that name, in textual order.
std::vector<const Op*> find_ops(const Op& op, std::string_view name);
/// The only one; the test fails if there are none or several.
const Op& only_op(const Module& module, std::string_view name);
std::size_t count_ops(const Module& module, std::string_view name);

std::string file_text(const std::string& path);
/// All kernels below workloads/ with this extension, wherever an ir/ folder lies.
std::vector<std::string> kernel_files(const std::string& extension);
/// Those of the measured families (without language/) whose name begins with `stem`.
std::vector<std::string> workload_files(const std::string& stem, const std::string& extension);

}  // namespace xpusim::kernel::testing
