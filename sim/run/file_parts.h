#pragma once

// What launch, sweep and comparison files have in common: a schema, a name, and keys that are
// known.

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/tree.h"

namespace xpusim::run {

bool is_text(const config::Node& node);

/// A key that is not among the known ones is a problem; `what` says of what: "a sweep file".
void check_keys(const config::Node& map, const std::vector<std::string>& known,
                std::string_view what, Diagnostics& problems);

/// Checks the schema of a file; returns its name: as written, else the stem of its path.
std::string read_head(const config::Node& root, std::string_view schema, const std::string& path,
                      Diagnostics& problems);

}  // namespace xpusim::run
