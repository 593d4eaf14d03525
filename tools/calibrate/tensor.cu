// Tensor cores: wgmma (Hopper) and mma.sync. Compute capability 9.0a; README.md has the command.

#include "wgmma.cuh"

// --- wgmma
// ---------------------------------------------------------------------------------------------

KIND(ss_n8, ONE, SS(BF16(8), LIST4(d), ", 0, 0"))
KIND(ss_n16, ONE, SS(BF16(16), LIST8(d), ", 0, 0"))
KIND(ss_n32, ONE, SS(BF16(32), LIST16(d), ", 0, 0"))
KIND(ss_n64, ONE, SS(BF16(64), LIST32(d), ", 0, 0"))
KIND(ss_n128, ONE, SS(BF16(128), LIST64(d), ", 0, 0"))
KIND(ss_n256, ONE, SS(BF16(256), LIST128(d), ", 0, 0"))
KIND(rs_n8, ONE, RS(BF16(8), LIST4(d), ", 0"))
KIND(rs_n16, ONE, RS(BF16(16), LIST8(d), ", 0"))
KIND(rs_n32, ONE, RS(BF16(32), LIST16(d), ", 0"))
KIND(rs_n64, ONE, RS(BF16(64), LIST32(d), ", 0"))
KIND(rs_n128, ONE, RS(BF16(128), LIST64(d), ", 0"))
KIND(rs_n256, ONE, RS(BF16(256), LIST128(d), ", 0"))
// B stored with n innermost ("transposed").
KIND(ss_n64_nt, ONE, SS(BF16(64), LIST32(d), ", 0, 1"))
KIND(ss_n128_nt, ONE, SS(BF16(128), LIST64(d), ", 0, 1"))
KIND(rs_n64_nt, ONE, RS(BF16(64), LIST32(d), ", 1"))
KIND(rs_n128_nt, ONE, RS(BF16(128), LIST64(d), ", 1"))
// Pairs of products into two accumulators in turn: two independent chains.
KIND(ss_n64_two, TWO, SS(BF16(64), LIST32(d), ", 0, 0") SS(BF16(64), LIST32(e), ", 0, 0"))
KIND(ss_n128_two, TWO, SS(BF16(128), LIST64(d), ", 0, 0") SS(BF16(128), LIST64(e), ", 0, 0"))
KIND(rs_n64_two, TWO, RS(BF16(64), LIST32(d), ", 0") RS(BF16(64), LIST32(e), ", 0"))
// Other types.
KIND(ss_n64_tf32, ONE, SS("m64n64k8.f32.tf32.tf32", LIST32(d), ""))
KIND(ss_n128_tf32, ONE, SS("m64n128k8.f32.tf32.tf32", LIST64(d), ""))
KIND(rs_n128_tf32, ONE, RS("m64n128k8.f32.tf32.tf32", LIST64(d), ""))
KIND(ss_n64_e4m3, ONE, SS("m64n64k32.f32.e4m3.e4m3", LIST32(d), ""))
KIND(ss_n128_e4m3, ONE, SS("m64n128k32.f32.e4m3.e4m3", LIST64(d), ""))
KIND(rs_n128_e4m3, ONE, RS("m64n128k32.f32.e4m3.e4m3", LIST64(d), ""))
KIND(ss_n64_s8, ONE, INT_SS("m64n64k32.s32.s8.s8", LIST32(d)))
KIND(ss_n128_s8, ONE, INT_SS("m64n128k32.s32.s8.s8", LIST64(d)))
KIND(ss_n128_f16acc, ONE, SS("m64n128k16.f16.f16.f16", LIST32(d), ", 0, 0"))

constexpr int kSharedBytes = 160 * 1024;

template <class Kind, int k, int kThreads>
__global__ void __launch_bounds__(kThreads, 1) wgmma(std::uint32_t* out, int loops, int swizzle) {
  extern __shared__ __align__(1024) unsigned char tile[];
  for (int i = threadIdx.x; i < kSharedBytes / 4; i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(tile)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const std::uint32_t base = (shared_address(tile) + 1023) & ~1023u;
  const std::uint32_t z = loops >> 30;
  const Operands o{descriptor(base, swizzle), descriptor(base + 32768, swizzle), z, z, z, z};
  Clocks c{}, first{};
  std::uint32_t sink = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
    Kind::template chain<k>(c, o);
    if (i == 0) first = c;
    sink ^= c.sink;
  }
  note(out, first.start, c.end);
  if (threadIdx.x == 0) {
    out[64] = c.issued - c.start;
    out[65] = c.end - c.start;
    out[66] = sink;
  }
}

static std::uint32_t* g_out;

template <class Kind, int k>
void wgmma_chain(int swizzle, const char* layout) {
  auto kernel = wgmma<Kind, k, 128>;
  allow_shared(kernel, kSharedBytes);
  std::vector<double> issue, total;
  for (int i = 0; i <= kRepeats; ++i) {
    kernel<<<1, 128, kSharedBytes>>>(g_out, 3,
                                     swizzle);  // the third time round: code and pipes are warm
    CHECK(cudaGetLastError());
    std::uint32_t c[2];
    CHECK(cudaMemcpy(c, g_out + 64, 8, cudaMemcpyDeviceToHost));
    if (i == 0) continue;
    issue.push_back(c[0]);
    total.push_back(c[1]);
  }
  report("wgmma_issue", params("kind", Kind::kName, "layout", layout, "chain", k), issue, "cycles");
  report("wgmma_wait", params("kind", Kind::kName, "layout", layout, "chain", k), total, "cycles");
}
template <class Kind>
void wgmma_chains() {
  wgmma_chain<Kind, 0>(1, "swizzle128");
  wgmma_chain<Kind, 1>(1, "swizzle128");
  wgmma_chain<Kind, 2>(1, "swizzle128");
  wgmma_chain<Kind, 4>(1, "swizzle128");
  wgmma_chain<Kind, 8>(1, "swizzle128");
  wgmma_chain<Kind, 16>(1, "swizzle128");
}

/// Cycles of a loop "fence, k products, commit, wait for all" a warpgroup, by warpgroups on the SM.
template <class Kind, int k, int kThreads>
void wgmma_groups(int groups) {
  auto kernel = wgmma<Kind, k, kThreads>;
  allow_shared(kernel, kSharedBytes);
  auto launch = [&](int loops) {
    kernel<<<1, 128 * groups, kSharedBytes>>>(g_out, loops, 1);
    CHECK(cudaGetLastError());
    return span(g_out, 4 * groups);
  };
  report("wgmma_loop", params("kind", Kind::kName, "chain", k, "warpgroups", groups),
         slope(launch, 16, 48), "cycles/iteration");
}
template <class Kind, int kThreads>
void wgmma_shared() {
  for (int groups = 1; groups <= kThreads / 128; ++groups) {
    wgmma_groups<Kind, 1, kThreads>(groups);
    wgmma_groups<Kind, 4, kThreads>(groups);
    wgmma_groups<Kind, 16, kThreads>(groups);
  }
}
template <class Kind>
void wgmma_layouts() {
  const char* names[4] = {"none", "swizzle128", "swizzle64", "swizzle32"};
  for (int s = 0; s < 4; ++s) {
    wgmma_chain<Kind, 4>(s, names[s]);
    wgmma_chain<Kind, 16>(s, names[s]);
  }
}

// --- mma.sync
// ------------------------------------------------------------------------------------------

struct Fragment {
  std::uint32_t a[4], b[4];
  float f[4];
  int i[4];
  double d[2];
};
#define MMA(kind, text)                                \
  struct kind {                                        \
    static constexpr const char* kName = #kind;        \
    __device__ static void step(Fragment& x) { text; } \
  };
#define FLOAT_OUT(x) "+f"(x.f[0]), "+f"(x.f[1]), "+f"(x.f[2]), "+f"(x.f[3])
#define INT_OUT(x) "+r"(x.i[0]), "+r"(x.i[1]), "+r"(x.i[2]), "+r"(x.i[3])
#define A4(x) "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3])
#define FULL(shape) \
  "mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define HALF(shape) "mma.sync.aligned." shape " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
MMA(bf16_m16n8k16, asm volatile(FULL("m16n8k16.row.col.f32.bf16.bf16.f32")
                                : FLOAT_OUT(x)
                                : A4(x), "r"(x.b[0]), "r"(x.b[1])))
MMA(f16_m16n8k16, asm volatile(FULL("m16n8k16.row.col.f32.f16.f16.f32")
                               : FLOAT_OUT(x)
                               : A4(x), "r"(x.b[0]), "r"(x.b[1])))
MMA(bf16_m16n8k8, asm volatile(HALF("m16n8k8.row.col.f32.bf16.bf16.f32")
                               : FLOAT_OUT(x)
                               : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0])))
MMA(tf32_m16n8k8, asm volatile(FULL("m16n8k8.row.col.f32.tf32.tf32.f32")
                               : FLOAT_OUT(x)
                               : A4(x), "r"(x.b[0]), "r"(x.b[1])))
MMA(tf32_m16n8k4, asm volatile(HALF("m16n8k4.row.col.f32.tf32.tf32.f32")
                               : FLOAT_OUT(x)
                               : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0])))
MMA(s8_m16n8k32, asm volatile(FULL("m16n8k32.row.col.s32.s8.s8.s32")
                              : INT_OUT(x)
                              : A4(x), "r"(x.b[0]), "r"(x.b[1])))
MMA(s8_m16n8k16, asm volatile(HALF("m16n8k16.row.col.s32.s8.s8.s32")
                              : INT_OUT(x)
                              : "r"(x.a[0]), "r"(x.a[1]), "r"(x.b[0])))
MMA(f64_m8n8k4,
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(x.d[0]), "+d"(x.d[1])
                 : "d"(double(x.a[0])), "d"(double(x.b[0]))))

template <class Kind, int kChains>
__global__ void __launch_bounds__(512, 1) mma(std::uint32_t* out, int loops, std::uint32_t zero) {
  Fragment x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) {
    for (int i = 0; i < 4; ++i) {
      x[c].a[i] = zero;
      x[c].b[i] = zero;
      x[c].f[i] = static_cast<float>(zero);
      x[c].i[i] = static_cast<int>(zero);
    }
    x[c].d[0] = x[c].d[1] = zero;
  }
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
#pragma unroll
    for (int r = 0; r < 32 / kChains; ++r)
#pragma unroll
      for (int c = 0; c < kChains; ++c) Kind::step(x[c]);
  }
  const std::uint32_t end = now();
  note(out, start, end);
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c)
    for (int i = 0; i < 4; ++i)
      sum += x[c].f[i] + static_cast<float>(x[c].i[i]) + static_cast<float>(x[c].d[i % 2]);
  if (sum == 123456.f) out[100] = 1;
}
template <class Kind, int kChains>
void mma_rate(int warps) {
  auto launch = [&](int loops) {
    mma<Kind, kChains><<<1, 32 * warps>>>(g_out, loops, 0);
    CHECK(cudaGetLastError());
    return span(g_out, warps);
  };
  std::vector<double> v = slope(launch, 8, 40);
  for (double& t : v) t /= 32;
  report("mma_sync", params("kind", Kind::kName, "chains", kChains, "warps", warps), v,
         "cycles/instruction of a warp");
}
template <class Kind>
void mma_rates() {
  mma_rate<Kind, 1>(1);
  mma_rate<Kind, 2>(1);
  mma_rate<Kind, 4>(1);
  mma_rate<Kind, 8>(1);
  for (int warps : {4, 8, 12, 16}) {
    mma_rate<Kind, 1>(warps);
    mma_rate<Kind, 2>(warps);
    mma_rate<Kind, 4>(warps);
    mma_rate<Kind, 8>(warps);
  }
}

int main() {
  g_out = device<std::uint32_t>(4096);
  wgmma_chains<ss_n8>();
  wgmma_chains<ss_n16>();
  wgmma_chains<ss_n32>();
  wgmma_chains<ss_n64>();
  wgmma_chains<ss_n128>();
  wgmma_chains<ss_n256>();
  wgmma_chains<rs_n8>();
  wgmma_chains<rs_n16>();
  wgmma_chains<rs_n32>();
  wgmma_chains<rs_n64>();
  wgmma_chains<rs_n128>();
  wgmma_chains<rs_n256>();
  wgmma_chains<ss_n64_nt>();
  wgmma_chains<ss_n128_nt>();
  wgmma_chains<rs_n64_nt>();
  wgmma_chains<rs_n128_nt>();
  wgmma_chains<ss_n64_two>();
  wgmma_chains<ss_n128_two>();
  wgmma_chains<rs_n64_two>();
  wgmma_chains<ss_n64_tf32>();
  wgmma_chains<ss_n128_tf32>();
  wgmma_chains<rs_n128_tf32>();
  wgmma_chains<ss_n64_e4m3>();
  wgmma_chains<ss_n128_e4m3>();
  wgmma_chains<rs_n128_e4m3>();
  wgmma_chains<ss_n64_s8>();
  wgmma_chains<ss_n128_s8>();
  wgmma_chains<ss_n128_f16acc>();
  wgmma_layouts<ss_n64>();
  wgmma_layouts<ss_n128>();
  wgmma_layouts<rs_n64>();
  wgmma_shared<ss_n32, 512>();
  wgmma_shared<ss_n64, 512>();
  wgmma_shared<ss_n128, 512>();
  wgmma_shared<ss_n256, 256>();
  wgmma_shared<rs_n32, 512>();
  wgmma_shared<rs_n64, 512>();
  wgmma_shared<rs_n128, 384>();
  wgmma_shared<rs_n256, 256>();
  mma_rates<bf16_m16n8k16>();
  mma_rates<f16_m16n8k16>();
  mma_rates<bf16_m16n8k8>();
  mma_rates<tf32_m16n8k8>();
  mma_rates<tf32_m16n8k4>();
  mma_rates<s8_m16n8k32>();
  mma_rates<s8_m16n8k16>();
  mma_rates<f64_m8n8k4>();
  CHECK(cudaDeviceSynchronize());
  return 0;
}
