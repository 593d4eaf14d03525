#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "sim/config/diagnostics.h"

namespace xpusim::trace {

/// A file that appears complete or not at all: bytes go to a temporary file beside it, which
/// commit() renames; without commit() nothing is left behind. Does not survive a power cut (no
/// fsync).
class AtomicFile {
 public:
  static Expected<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  void write(std::string_view bytes);  ///< an error is kept for commit()
  Expected<void> commit();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  AtomicFile(std::string path, std::string temporary, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

  std::string path_, temporary_;
  std::unique_ptr<std::FILE, Close> file_;  ///< null once committed or moved from
  int error_ = 0;                           ///< errno of the first write that failed
};

}  // namespace xpusim::trace
