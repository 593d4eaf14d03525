#pragma once

#include <string>

namespace YAML {
class Exception;
}

namespace xpusim::config {

/// yaml-cpp's message about a text that is not YAML, said so that a user can mend the text.
std::string syntax_message(const YAML::Exception& error);

}  // namespace xpusim::config
