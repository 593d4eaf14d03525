#pragma once

// What the microbenchmarks share: device buffers, in-kernel clocks, repeats, and the JSON lines.
// Times are cycles of the SM's clock, read in the kernel by every warp; all warps of a block are on
// one SM and read the same counter.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                    \
  do {                                                                                 \
    cudaError_t e_ = (call);                                                           \
    if (e_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

#define REP2(x) x x
#define REP4(x) REP2(x) REP2(x)
#define REP8(x) REP4(x) REP4(x)
#define REP16(x) REP8(x) REP8(x)
#define REP32(x) REP16(x) REP16(x)
#define REP64(x) REP32(x) REP32(x)
#define REP128(x) REP64(x) REP64(x)

constexpr int kRepeats = 7;

inline std::string quoted(const char* v) { return std::string("\"") + v + "\""; }
inline std::string quoted(int v) { return std::to_string(v); }

/// `params("n", 8, "operands", "ss")` is `"n": 8, "operands": "ss"`.
inline std::string params() { return ""; }
template <class T, class... Rest>
std::string params(const char* key, T value, Rest... rest) {
  const std::string tail = params(rest...);
  return quoted(key) + ": " + quoted(value) + (tail.empty() ? "" : ", ") + tail;
}

/// One measurement: median, smallest and largest of the repeats.
inline void report(const char* name, const std::string& params, std::vector<double> v,
                   const char* unit) {
  std::sort(v.begin(), v.end());
  std::printf(
      "{\"name\": \"%s\", \"params\": {%s}, \"value\": %.6g, \"unit\": \"%s\", \"spread\": [%.6g, "
      "%.6g]}\n",
      name, params.c_str(), v[v.size() / 2], unit, v.front(), v.back());
  std::fflush(stdout);
}

template <class T>
T* device(std::size_t count) {
  T* p;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  CHECK(cudaMemset(p, 0, count * sizeof(T)));
  return p;
}

__device__ __forceinline__ std::uint32_t now() {
  std::uint32_t c;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(c)::"memory");
  return c;
}

/// Start and end of a warp; lane 0 writes them to `out[2 * warp]`.
__device__ __forceinline__ void note(std::uint32_t* out, std::uint32_t start, std::uint32_t end) {
  if (threadIdx.x % 32 == 0) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    out[2 * warp] = start;
    out[2 * warp + 1] = end;
  }
}

/// Cycles from the first start to the last end over the warps of each block: the median block's.
inline double span(const std::uint32_t* device_out, int warps, int blocks = 1) {
  std::vector<std::uint32_t> c(2 * std::size_t(warps) * blocks);
  CHECK(cudaMemcpy(c.data(), device_out, c.size() * 4, cudaMemcpyDeviceToHost));
  std::vector<std::uint32_t> spans;
  for (int b = 0; b < blocks; ++b) {
    const std::uint32_t* w = c.data() + 2 * std::size_t(warps) * b;
    std::uint32_t first = w[0];
    for (int i = 0; i < warps; ++i)
      if (std::int32_t(w[2 * i] - first) < 0) first = w[2 * i];
    std::uint32_t longest = 0;
    for (int i = 0; i < warps; ++i) longest = std::max(longest, w[2 * i + 1] - first);
    spans.push_back(longest);
  }
  std::sort(spans.begin(), spans.end());
  return spans[spans.size() / 2];
}

/// `launch(n)` runs a kernel whose loop has n iterations and returns its cycles; the result is the
/// cycles of one iteration, from the difference of two lengths, without what is outside the loop.
inline std::vector<double> slope(const std::function<double(int)>& launch, int shorter,
                                 int longer) {
  launch(longer);
  std::vector<double> v;
  for (int i = 0; i < kRepeats; ++i)
    v.push_back((launch(longer) - launch(shorter)) / (longer - shorter));
  return v;
}

/// The cycles of `launch()` itself; one run before the repeats warms the caches.
inline std::vector<double> repeated(const std::function<double()>& launch) {
  launch();
  std::vector<double> v;
  for (int i = 0; i < kRepeats; ++i) v.push_back(launch());
  return v;
}

/// Gives a kernel all the shared memory that a block may have.
template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

/// Shared-memory address as the PTX instructions take it.
__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
