// Instruction supply: straight-line code of independent adds, larger and larger, run by one warp,
// by one warp a sub-core and by four; cold, and again while the code is still in the caches. Sizes
// at which the cycles an instruction step up are the sizes of the instruction caches.

#include "harness.cuh"

#define ADDS8                                                                                    \
  "add.f32 %0, %0, %8;\nadd.f32 %1, %1, %8;\nadd.f32 %2, %2, %8;\nadd.f32 %3, %3, %8;\nadd.f32 " \
  "%4, %4, %8;\n"                                                                                \
  "add.f32 %5, %5, %8;\nadd.f32 %6, %6, %8;\nadd.f32 %7, %7, %8;\n"
#define ADDS(text)                                                                       \
  asm volatile(text                                                                      \
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), \
                 "+f"(x[6]), "+f"(x[7])                                                  \
               : "f"(y))

/// 64 * n adds; by halves, since the compiler unrolls a loop only so far.
template <int n>
__device__ __forceinline__ void adds(float (&x)[8], float y) {
  if constexpr (n == 1) {
    ADDS(REP8(ADDS8));
  } else {
    adds<n / 2>(x, y);
    adds<n - n / 2>(x, y);
  }
}

/// kLength adds without a branch, three times over; lane 0 of each warp notes the clock around each
/// pass.
template <int kLength>
__global__ void __launch_bounds__(512, 1) straight(std::uint32_t* out, float y) {
  float x[8] = {};
  std::uint32_t start[3], end[3];
  __syncthreads();
#pragma unroll 1
  for (int pass = 0; pass < 3; ++pass) {
    start[0] = start[1], start[1] = start[2];
    end[0] = end[1], end[1] = end[2];
    start[2] = now();
    adds<kLength / 64>(x, y);
    end[2] = now();
  }
  if (threadIdx.x % 32 == 0) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32,
              warps = gridDim.x * blockDim.x / 32;
#pragma unroll
    for (int pass = 0; pass < 3; ++pass) {
      out[2 * (pass * warps + warp)] = start[pass];
      out[2 * (pass * warps + warp) + 1] = end[pass];
    }
  }
  if (x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] == 1.f) out[0] = 1;
}

static std::uint32_t* g_out;
static float* g_flush;
constexpr std::size_t kFlushBytes = std::size_t{256} << 20;

/// Other data in L2, other code in the instruction caches.
__global__ void flush(float* p, std::size_t n) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    p[i] += 1;
}

template <int kLength>
void supply() {
  for (int blocks : {1, 132})
    for (int warps : {1, 4, 16}) {
      std::vector<double> v[2][3];
      for (int i = 0; i < 5; ++i)
        for (int again = 0; again < 2;
             ++again) {  // again: a second launch, the code is in L2 at least
          if (again == 0) {
            flush<<<1024, 256>>>(g_flush, kFlushBytes / 4);
            straight<kLength == 65536 ? 32768 : 65536><<<132, 32>>>(g_out, 3);
            flush<<<1024, 256>>>(g_flush, kFlushBytes / 4);
          }
          straight<kLength><<<blocks, 32 * warps>>>(g_out, 3);
          CHECK(cudaGetLastError());
          for (int pass = 0; pass < 3; ++pass)
            v[again][pass].push_back(span(g_out + 2 * pass * warps * blocks, warps, blocks) /
                                     kLength);
        }
      for (int again = 0; again < 2; ++again)
        for (int pass = 0; pass < 3; ++pass)
          if (pass < 2 || again == 1)
            report("supply",
                   params("instructions", kLength, "blocks", blocks, "warps", warps, "launch",
                          again == 0 ? "cold" : "again", "pass", pass),
                   v[again][pass], "cycles/instruction");
    }
}

int main() {
  g_out = device<std::uint32_t>(65536);
  g_flush = device<float>(kFlushBytes / 4);
  supply<64>();
  supply<128>();
  supply<256>();
  supply<512>();
  supply<1024>();
  supply<2048>();
  supply<4096>();
  supply<6144>();
  supply<8192>();
  supply<12288>();
  supply<16384>();
  supply<32768>();
  supply<65536>();
  CHECK(cudaDeviceSynchronize());
  return 0;
}
