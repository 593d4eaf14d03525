#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/run/workload.h"

namespace xpusim::run {

// What a launch file offers to sweep and tune:
//
//   variants: {BLOCK: {256: ir/a_256, 1024: ir/a_1024}}        # one constexpr and its kernels, or
//   variants:                                                  # whole schedules
//     - {kernel: ir/mm_a, BLOCK_M: 128, num_warps: 8, num_stages: 3}
//   sizes:                                                     # what else changes with a size
//     - {n: 4096, tensors.x.shape: [4096]}
//
// A schedule holds its kernel, the constexprs it was compiled with, `num_warps`, and `grid` where
// it has one of its own; `num_stages` only names it, since the text holds what it means. It takes
// the place of every launch's kernel that the list has. A size is a map of launch parameters; a
// bare name is an argument. Either may have a `name`.

/// A choice's name: its `name`, else "BLOCK_M=128 num_warps=8", else its kernel.
std::string choice_name(const config::Node& choice);
/// The names of a list of choices; empty if there is none.
std::vector<std::string> choice_names(const config::Node* list);
/// The choice of this name, or null.
const config::Node* find_choice(const config::Node* list, std::string_view name);

/// The path of a size's parameter: `n` is `args.n`.
std::string size_path(const std::string& name);

/// Whether two nodes name the same kernel.
bool same_kernel(const config::Node& a, const config::Node& b);

/// Says what is wrong with `variants` and `sizes`, and notes the constexprs that variants set.
void check_choices(const config::Node& launch_file, Workload& workload, Diagnostics& problems);

}  // namespace xpusim::run
