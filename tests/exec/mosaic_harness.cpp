#include "tests/exec/mosaic_harness.h"

#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

namespace xpusim::exec {
namespace {

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) std::cerr << "cannot read " << path << "\n";
  return text.str();
}

std::string with_grid(std::string text, const std::vector<std::int64_t>& grid) {
  const std::string key = "iteration_bounds = array<i64: ";
  const std::size_t at = text.find(key) + key.size();
  std::string bounds;
  for (const std::int64_t n : grid) bounds += (bounds.empty() ? "" : ", ") + std::to_string(n);
  return text.replace(at, text.find('>', at) - at, bounds);
}

}  // namespace

std::string pallas_path(const std::string& file) {
  return std::string(XPUSIM_SOURCE_DIR) + "/workloads/pallas/" + file;
}

MosaicKernel::MosaicKernel(const std::string& stem, std::uint64_t capacity)
    : MosaicKernel(read_kernel(pallas_path(stem + ".mlir")), capacity) {}

MosaicKernel::MosaicKernel(const std::string& stem, const std::vector<std::int64_t>& grid)
    : MosaicKernel(read_kernel_text(with_grid(file_bytes(pallas_path(stem + ".mlir")), grid))) {}

void MosaicKernel::operand(DType dtype, std::vector<std::int64_t> shape, Init init) {
  const std::string name = "operand" + std::to_string(args_.size());
  const auto address = memory.allocate(name, dtype, std::move(shape), std::move(init));
  if (!address) std::cerr << address.error().str() << "\n";
  args_.push_back(
      {Argument::Kind::kPointer, address ? static_cast<std::int64_t>(*address) : 0, 0, name, {}});
}

void MosaicKernel::data(DType dtype, std::vector<std::int64_t> shape,
                        std::vector<std::byte> bytes) {
  Init init;
  init.kind = Init::Kind::kData;
  init.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  operand(dtype, std::move(shape), std::move(init));
}

void MosaicKernel::integers(std::vector<std::int64_t> shape,
                            const std::vector<std::int32_t>& values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  data(DType::kI32, std::move(shape), std::move(bytes));
}

bool MosaicKernel::run(bool values) {
  Launch launch;
  launch.module = module;
  launch.function = module->kernel();
  launch.args = args_;
  launch.grid = grid_;
  auto done = run_mosaic(launch, memory, {values});
  if (!done) {
    problems = done.error().str();
    return false;
  }
  result = std::move(*done);
  return true;
}

std::vector<double> MosaicKernel::values(std::size_t operand) const {
  return memory.as_doubles(*memory.find(args_[operand].tensor));
}

std::vector<std::byte> MosaicKernel::bytes(std::size_t operand) const {
  const Allocation& a = *memory.find(args_[operand].tensor);
  std::vector<std::byte> out(a.bytes);
  memory.read(a.address, out);
  return out;
}

Init unwritten() {
  Init i;
  i.kind = Init::Kind::kUnwritten;
  return i;
}

std::vector<std::byte> npy_bytes(const std::string& path) {
  const std::string file = file_bytes(path);
  if (file.size() < 10) return {};
  const std::size_t header =
      10 + static_cast<unsigned char>(file[8]) + 256 * static_cast<unsigned char>(file[9]);
  const auto* data = reinterpret_cast<const std::byte*>(file.data());
  return {data + std::min(header, file.size()), data + file.size()};
}

}  // namespace xpusim::exec
