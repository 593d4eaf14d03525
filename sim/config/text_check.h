#pragma once

#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

namespace xpusim::config {

bool is_utf8(std::string_view text);

/// Refuses what a YAML parser would misread before it sees it: bytes that are not UTF-8, control
/// characters (yaml-cpp takes 0x04 for the end of the file), and tabs in a line's indentation.
void check_text(std::string_view text, const std::string& file, Diagnostics& problems);

}  // namespace xpusim::config
