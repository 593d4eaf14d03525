#include "sim/trace/atomic_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace xpusim::trace {

namespace {

tl::unexpected<Diagnostics> cannot_write(const std::string& path, int error) {
  return fail({path, 0, 0}, fmt::format("cannot write the file: {}", std::strerror(error)));
}

}  // namespace

Expected<AtomicFile> AtomicFile::create(const std::string& path) {
  std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return cannot_write(path, errno);
  return AtomicFile(path, std::move(temporary), file);
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) std::remove(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  if (error_ != 0 || bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) error_ = errno;
}

Expected<void> AtomicFile::commit() {
  if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
  if (error_ == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ != 0) return cannot_write(path_, error_);
  file_.reset();
  return {};
}

}  // namespace xpusim::trace
