#pragma once

#include <string>

namespace xpusim::run {

/// Text as it stands in XML and HTML, also inside quotes.
std::string escaped(const std::string& text);

}  // namespace xpusim::run
