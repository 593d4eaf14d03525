#pragma once

#include <string>

namespace xpusim::e2e {

/// What a call of the binary printed, and how it ended.
struct Result {
  int exit_code = -1;  ///< 128 + signal when it was killed
  std::string out, err;
};

/// Runs `xpusim ARGUMENTS` in the project's folder.
Result xpusim(const std::string& arguments);

std::string read_file(const std::string& path);
/// Writes a file into the test's own temporary folder and returns its path.
std::string temporary(const std::string& name, const std::string& content);

}  // namespace xpusim::e2e
