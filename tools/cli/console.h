#pragma once

#include <string>

#include "sim/config/diagnostics.h"

namespace xpusim::cli {

inline constexpr int kFine = 0;
inline constexpr int kRunFailed =
    1;  ///< the run failed: deadlock, error of the kernel, wrong values
inline constexpr int kWrongInput = 2;  ///< the user's input is wrong

void print(const std::string& text);
/// Prints every problem to standard error, a line each.
void print(const Diagnostics& problems);
/// False, and a word about it, if what was printed did not reach standard output.
bool all_is_printed();
/// A line that later ones overwrite, on a terminal only.
void progress(const std::string& text);
void end_progress();

}  // namespace xpusim::cli
