#pragma once

// When each warp of a launch starts, has its data and ends, by SM, after a launch that fills the
// L2. Compute capability 7.0.

#include <map>

#include "harness.cuh"

static std::uint32_t* g_out;
static float* g_flush;
static int g_sms;
static double g_cycles_of_ns;  // the highest clock: without tensor work that is the clock
constexpr std::size_t kFlushFloats = std::size_t{128} << 20;
constexpr int kNoted = 5;  // words a warp: global time, SM, start, data, end

__device__ __forceinline__ std::uint32_t global_time() {
  std::uint32_t t;
  asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(t));
  return t;
}

__device__ __forceinline__ std::uint32_t sm_number() {
  std::uint32_t t;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(t));
  return t;
}

/// The clock when `value` is there (never 1.5, as the assembler does not know).
__device__ __forceinline__ std::uint32_t clock_after(float value) {
  std::uint32_t c;
  asm volatile("{ .reg .pred p; setp.eq.f32 p, %1, 0f3FC00000; @p trap; mov.u32 %0, %%clock; }"
               : "=r"(c)
               : "f"(value)
               : "memory");
  return c;
}

__device__ __forceinline__ void note_warp(std::uint32_t* out, std::uint32_t time,
                                          std::uint32_t start, std::uint32_t data) {
  const std::uint32_t end = now();
  if (threadIdx.x % 32 != 0) return;
  std::uint32_t* o = out + kNoted * ((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  o[0] = time, o[1] = sm_number(), o[2] = start, o[3] = data, o[4] = end;
}

/// Fills the L2 with other, clean lines.
static __global__ void flush(float* p, std::size_t n) {
  float sum = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += p[i];
  if (sum == 1) p[0] = 0;  // never: p holds zeros
}

/// Each thread reads V vectors of one or two arrays, a block's width apart, and writes V.
template <int V, class T, int Reads, bool Write>
__global__ void stream(std::uint32_t* out, const T* x, const T* y, T* z) {
  const std::uint32_t time = global_time(), start = now();
  const std::size_t base = std::size_t{blockIdx.x} * blockDim.x * V + threadIdx.x;
  T a[V]{}, b[V]{};
#pragma unroll
  for (int i = 0; i < V && Reads > 0; ++i) a[i] = __ldg(x + base + i * blockDim.x);
#pragma unroll
  for (int i = 0; i < V && Reads > 1; ++i) b[i] = __ldg(y + base + i * blockDim.x);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    a[i].x += b[i].x, a[i].y += b[i].y;
    sum += a[i].x + a[i].y;
  }
  std::uint32_t data = clock_after(sum);
#pragma unroll
  for (int i = 0; i < V && Write; ++i) z[base + i * blockDim.x] = a[i];
  if (sum == 1) data = 0;  // never, as the compiler does not know
  note_warp(out, time, start, data);
}

struct Warp {
  double start, data, end;
};
using Sms = std::map<std::uint32_t, std::vector<Warp>>;

/// Runs `launch` with cold caches (or warm ones); the warps of each SM, in cycles since the first
/// start. The SMs' clocks are aligned by the global timer, to its step of 32 ns.
template <class Launch>
Sms run(int blocks, int threads, Launch launch, bool cold = true) {
  if (cold) flush<<<4 * g_sms, 512>>>(g_flush, kFlushFloats);
  launch();
  CHECK(cudaDeviceSynchronize());
  std::vector<std::uint32_t> raw(std::size_t{kNoted} * blocks * (threads / 32));
  CHECK(cudaMemcpy(raw.data(), g_out, raw.size() * 4, cudaMemcpyDeviceToHost));
  std::map<std::uint32_t, std::vector<const std::uint32_t*>> by_sm;
  for (std::size_t i = 0; i < raw.size(); i += kNoted) by_sm[raw[i + 1]].push_back(&raw[i]);
  Sms sms;
  double first = 1e30;
  for (const auto& [sm, warps] : by_sm) {
    const std::uint32_t clock = warps[0][2], time = raw[0];
    const auto since = [&](std::uint32_t c) { return double(std::int32_t(c - clock)); };
    double offset = 1e30;
    for (const auto* w : warps)
      offset = std::min(offset, since(w[2]) - g_cycles_of_ns * double(std::int32_t(w[0] - time)));
    for (const auto* w : warps) {
      sms[sm].push_back({since(w[2]) - offset, since(w[3]) - offset, since(w[4]) - offset});
      first = std::min(first, since(w[2]) - offset);
    }
  }
  for (auto& [sm, warps] : sms) {
    for (Warp& w : warps) w.start -= first, w.data -= first, w.end -= first;
    std::sort(warps.begin(), warps.end(),
              [](const Warp& a, const Warp& b) { return a.start < b.start; });
  }
  return sms;
}

/// The device, and room for the notes.
inline void set_up() {
  int khz = 0;
  CHECK(cudaDeviceGetAttribute(&g_sms, cudaDevAttrMultiProcessorCount, 0));
  CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  g_cycles_of_ns = khz * 1e-6;
  g_flush = device<float>(kFlushFloats), g_out = device<std::uint32_t>(std::size_t{8} << 20);
}
