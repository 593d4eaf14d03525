// Atomics on global memory, performed at the L2: how far apart addresses must lie to be served at
// once (which piece of memory one unit of a slice owns), what lanes on one address cost with and
// without a result, and what one SM can send. Cycles are of the SM's clock, from the difference of
// two lengths of a loop, while the queues to the L2 are full.

#include <type_traits>

#include "harness.cuh"

static int g_sms;
static std::uint32_t* g_out;

template <class T, bool kReturns>
__device__ __forceinline__ T add(T* p, T v) {
  T old{};
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (kReturns)
      asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(p), "f"(v) : "memory");
    else
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
  } else {
    if constexpr (kReturns)
      asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    else
      asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
  }
  return old;
}

/// Lane i of every warp adds to word `warp % places * apart + i % distinct * lane_apart` of
/// `data`, `n` times; lanes from `lanes` on do not.
template <class T, bool kReturns>
__global__ void adds(std::uint32_t* out, T* data, int n, int places, int apart, int lanes,
                     int distinct, int lane_apart) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  T* p = data + std::size_t(warp % places) * apart + lane % distinct * lane_apart;
  T sum{};
  __syncthreads();
  const std::uint32_t start = now();
  if (lane < lanes) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) sum += add<T, kReturns>(p, T(1));
  }
  __threadfence();
  __syncwarp();
  const std::uint32_t end = now();
  if (kReturns && sum == T(123)) out[1 << 16] = 1;
  note(out, start, end);
}

struct Pattern {
  int blocks = 0;  ///< 0: one an SM
  int places = 1, apart = 0, lanes = 32, distinct = 1, lane_apart = 1;
};

/// Cycles for one round of all warps' instructions.
template <class T, bool kReturns>
std::vector<double> round_of(const Pattern& p, int warps) {
  static T* data = device<T>(std::size_t{8} << 20);
  const int blocks = p.blocks == 0 ? g_sms : p.blocks;
  return slope(
      [&](int n) {
        adds<T, kReturns><<<blocks, 32 * warps>>>(g_out, data, n, p.places, p.apart, p.lanes,
                                                  p.distinct, p.lane_apart);
        CHECK(cudaGetLastError());
        return span(g_out, warps, blocks);
      },
      32, 96);
}

/// One lane a warp, all SMs, on several words: twice as fast where two are served at once.
static void apart() {
  constexpr int kWarps = 8;
  for (int places : {1, 2, 4, 8}) {
    for (int bytes : {4, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}) {
      if (places == 1 && bytes > 4) continue;
      Pattern p;
      p.places = places, p.apart = bytes / 4, p.lanes = 1;
      auto u = round_of<unsigned, false>(p, kWarps);
      for (double& x : u) x /= g_sms * kWarps;
      report("red_apart", params("type", "u32", "places", places, "bytes", bytes), u,
             "cycles an add");
      auto f = round_of<float, false>(p, kWarps);
      for (double& x : f) x /= g_sms * kWarps;
      report("red_apart", params("type", "f32", "places", places, "bytes", bytes), f,
             "cycles an add");
    }
  }
}

template <class T, bool kReturns>
void lanes_on_a_sector(const char* type) {
  constexpr int kWarps = 8;
  for (int distinct : {1, 2, 4, 8}) {
    for (int lanes : {8, 16, 32}) {
      Pattern p;
      p.lanes = lanes, p.distinct = distinct;
      auto v = round_of<T, kReturns>(p, kWarps);
      for (double& x : v) x /= g_sms * kWarps;
      report(kReturns ? "atom_lanes_of_a_sector" : "red_lanes_of_a_sector",
             params("type", type, "lanes", lanes, "distinct", distinct), v,
             "cycles an instruction");
    }
  }
}

/// What one SM sends when nobody else does: each warp on lines of its own.
template <class T, bool kReturns>
void from_one_sm(const char* type) {
  constexpr int kWarps = 16, kSectorWords = 8;
  for (int distinct : {1, 2, 4, 8, 16, 32}) {
    for (int lane_apart : {1, kSectorWords}) {
      Pattern p;
      p.blocks = 1, p.places = kWarps, p.apart = 32 * kSectorWords;
      p.distinct = distinct, p.lane_apart = lane_apart;
      auto v = round_of<T, kReturns>(p, kWarps);
      for (double& x : v) x /= kWarps;
      report(kReturns ? "atom_of_one_sm" : "red_of_one_sm",
             params("type", type, "distinct", distinct, "bytes_apart", 4 * lane_apart), v,
             "cycles an instruction");
    }
  }
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  g_sms = prop.multiProcessorCount;
  g_out = device<std::uint32_t>((1 << 16) + 1);
  apart();
  lanes_on_a_sector<unsigned, false>("u32");
  lanes_on_a_sector<float, false>("f32");
  lanes_on_a_sector<unsigned, true>("u32");
  lanes_on_a_sector<float, true>("f32");
  from_one_sm<unsigned, false>("u32");
  from_one_sm<float, false>("f32");
  from_one_sm<unsigned, true>("u32");
}
