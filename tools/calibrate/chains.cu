// Chains that go through the MIO or the special-function unit and come back: a shuffle, a special
// function or a load from shared memory whose lanes are all off, then `adds` dependent additions,
// again and again. The steps of `adds` show whether a pipe takes work only at some cycles. One
// block; `warps` of them on the SM.

#include "harness.cuh"

static std::uint32_t* g_out;

enum Kind { kShuffle, kSpecial, kOffShared };

template <Kind kKind, int kAdds>
__global__ void __launch_bounds__(1024, 1) chain(std::uint32_t* out, float y, int off) {
  __shared__ float table[1024];
  table[threadIdx.x] = 0;
  __syncthreads();
  float x = threadIdx.x * y;
  std::uint32_t at = static_cast<std::uint32_t>(__cvta_generic_to_shared(table + threadIdx.x));
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
#pragma unroll
    for (int r = 0; r < 16; ++r) {
      if (kKind == kShuffle)
        asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+f"(x));
      if (kKind == kSpecial) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
      if (kKind == kOffShared)
        asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; @p ld.shared.f32 %0, [%1];}"
                     : "+f"(x)
                     : "r"(at), "r"(off));
#pragma unroll
      for (int a = 0; a < kAdds; ++a) asm volatile("add.f32 %0, %0, %1;" : "+f"(x) : "f"(y));
    }
  }
  const std::uint32_t end = now();
  note(out, start, end);
  if (x == 12345.f) out[0] = 1;
}

template <Kind kKind, int kAdds>
void measure(const char* what) {
  for (int warps : {1, 4, 16, 32}) {
    std::vector<double> v;
    for (int r = 0; r < kRepeats; ++r) {
      chain<kKind, kAdds><<<1, 32 * warps>>>(g_out, 1.5f, 0);
      CHECK(cudaDeviceSynchronize());
      v.push_back(span(g_out, warps) / 256);
    }
    report("chain", params("what", what, "adds", kAdds, "warps", warps), v,
           "cycles/step of one warp");
  }
}

template <Kind kKind>
void all(const char* what) {
  measure<kKind, 1>(what);
  measure<kKind, 2>(what);
  measure<kKind, 3>(what);
  measure<kKind, 4>(what);
  measure<kKind, 5>(what);
  measure<kKind, 6>(what);
}

int main() {
  g_out = device<std::uint32_t>(4096);
  all<kShuffle>("shuffle");
  all<kSpecial>("special");
  all<kOffShared>("shared, all lanes off");
}
