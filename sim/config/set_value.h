#pragma once

#include <string_view>

#include "sim/config/tree.h"

namespace xpusim::config {

/// Puts `value` at a dotted path below `root`, in place of a value that is there; maps on the way
/// are made where they are missing, with the origin of the value's key, so that a later complaint
/// about them (an unknown key) leads to where the path was written. Whether the path means anything
/// is for `bind` to say.
Expected<void> set_value(Node& root, std::string_view path, Node value);

}  // namespace xpusim::config
