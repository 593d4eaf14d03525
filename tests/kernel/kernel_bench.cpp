// How fast kernels are read and printed, in bytes of text a second.

#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>
#include <string>

#include "sim/kernel/ir.h"

namespace {

std::string text_of(const char* name) {
  std::ifstream in(std::string(XPUSIM_SOURCE_DIR) + "/workloads/" + name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void read(benchmark::State& state, const char* name) {
  const std::string text = text_of(name);
  for (auto _ : state) benchmark::DoNotOptimize(xpusim::kernel::read_module(text, name));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

void print(benchmark::State& state, const char* name) {
  const std::string text = text_of(name);
  const auto module = xpusim::kernel::read_module(text, name);
  for (auto _ : state) benchmark::DoNotOptimize(xpusim::kernel::print_module(*module));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK_CAPTURE(read, matmul_ttgir, "triton/ir/matmul_01729cede5.ttgir");
BENCHMARK_CAPTURE(read, sort_ttgir, "triton/ir/sort_rows_3510f7af6b.ttgir");
BENCHMARK_CAPTURE(read, flash_mosaic, "pallas/ir/flash.mlir");
BENCHMARK_CAPTURE(print, matmul_ttgir, "triton/ir/matmul_01729cede5.ttgir");
BENCHMARK_CAPTURE(print, flash_mosaic, "pallas/ir/flash.mlir");

}  // namespace
