// What other instructions wait for while a wgmma runs, of its own warp and of others, and what
// overwriting the address of an asynchronous copy costs. Compute capability 9.0a.

#include "wgmma.cuh"

static std::uint32_t* g_out;
constexpr int kSharedBytes = 160 * 1024;

KIND(ss_n64, ONE, SS(BF16(64), LIST32(d), ", 0, 1"))
KIND(ss_n128, ONE, SS(BF16(128), LIST64(d), ", 0, 1"))
KIND(ss_n256, ONE, SS(BF16(256), LIST128(d), ", 0, 1"))

__device__ Operands operands() {
  extern __shared__ __align__(1024) unsigned char tile[];
  const std::uint32_t base = (shared_address(tile) + 1023) & ~1023u;
  return {descriptor(base, 1), descriptor(base + 32768, 1), 0, 0, base + 131072, threadIdx.x};
}
__device__ void clear_tile() {
  extern __shared__ __align__(1024) unsigned char tile[];
  for (int i = threadIdx.x; i < kSharedBytes / 4; i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(tile)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// --- the warp's own instructions after its wgmmas

// %0..%2 clocks: before the products, after them, after the others; %3 sink; %4, %5 descriptors;
// %6 zero, %8 an address in shared memory, %9 the thread.
#define START(r, n) "mad.lo.u32 " #r ", %9, " #n ", %1;\n"
#define BESIDE(products, others)                                                                  \
  asm volatile(                                                                                   \
      "{\n.reg .pred p;\n.reg .b32 d<170>;\n.reg .b32 t<4>, u<4>, v<4>;\n"                        \
      "setp.ne.b32 p, %6, 12345;\nmov.u32 %0, %%clock;\nwgmma.fence.sync.aligned;\n" products     \
      "mov.u32 %1, %%clock;\n" START(t0, 3) START(t1, 5) START(t2, 7) START(t3, 9) START(u0, 11)  \
          START(u1, 13) START(u2, 15) START(u3, 17) START(v0, 19) START(v1, 21) START(v2, 23)     \
              START(v3, 25) others                                                                \
      "xor.b32 t0, t0, t1;\nxor.b32 t0, t0, t2;\nxor.b32 t0, t0, t3;\n"                           \
      "st.volatile.shared.b32 [%8], t0;\nmov.u32 %2, %%clock;\n"                                  \
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmov.b32 %3, d10;\n}\n" \
      : "=r"(c.start), "=r"(c.issued), "=r"(c.end), "=r"(c.sink)                                  \
      : "l"(o.a), "l"(o.b), "r"(o.r0), "r"(o.r1), "r"(o.r2), "r"(o.r3)                            \
      : "memory")

#define SHF(t, u) "shf.l.wrap.b32 " #t ", " #t ", " #u ", 7;\n"
#define IMAD(t, u, v) "mad.lo.u32 " #t ", " #t ", " #u ", " #v ";\n"
#define IMAD4 IMAD(t0, u0, v0) IMAD(t1, u1, v1) IMAD(t2, u2, v2) IMAD(t3, u3, v3)
#define SHF4 SHF(t0, u0) SHF(t1, u1) SHF(t2, u2) SHF(t3, u3)
#define BOTH4 SHF(t0, u0) IMAD(t1, u1, v1) SHF(t2, u2) IMAD(t3, u3, v3)
#define CHAIN4 SHF(t0, u0) IMAD(t0, u1, v1) SHF(t0, u2) IMAD(t0, u3, v3)

template <int products, int op, int count>
__device__ void run_beside(Clocks& c, const Operands& o) {
#define COUNTS(products, n, text)                           \
  if (op == n && count == 0) BESIDE(products, "");          \
  if (op == n && count == 16) BESIDE(products, REP4(text)); \
  if (op == n && count == 64) BESIDE(products, REP16(text));
#define CASES(n, text)                                                                          \
  if (products == n) {                                                                          \
    COUNTS(text, 0, IMAD4) COUNTS(text, 1, SHF4) COUNTS(text, 2, BOTH4) COUNTS(text, 3, CHAIN4) \
  }
  CASES(0, "")
  CASES(64, REP4(SS(BF16(64), LIST32(d), ", 0, 1")))
  CASES(128, REP4(SS(BF16(128), LIST64(d), ", 0, 1")))
  CASES(256, SS(BF16(256), LIST128(d), ", 0, 1"))
  CASES(512, REP2(SS(BF16(256), LIST128(d), ", 0, 1")))
#undef CASES
#undef COUNTS
}

template <int products, int op, int count>
__global__ void __launch_bounds__(128, 1) beside(std::uint32_t* out, int loops) {
  clear_tile();
  const Operands o = operands();
  Clocks c{};
  std::uint32_t sink = 0;
  __syncthreads();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
    run_beside<products, op, count>(c, o);
    sink ^= c.sink;
  }
  if (threadIdx.x == 0) out[0] = c.issued - c.start, out[1] = c.end - c.issued;
  if (sink == 12345) out[100] = sink;
}

template <int products, int op, int count>
void report_beside() {
  static const char* ops[] = {"imad", "shf", "both", "both in one chain"};
  auto kernel = beside<products, op, count>;
  allow_shared(kernel, kSharedBytes);
  std::vector<double> issue, others;
  for (int i = 0; i <= kRepeats; ++i) {
    kernel<<<1, 128, kSharedBytes>>>(g_out, 3);
    CHECK(cudaGetLastError());
    std::uint32_t c[2];
    CHECK(cudaMemcpy(c, g_out, 8, cudaMemcpyDeviceToHost));
    if (i == 0) continue;
    issue.push_back(c[0]), others.push_back(c[1]);
  }
  const std::string p = params("n", products == 512 ? 256 : products, "products",
                               products == 0     ? 0
                               : products == 256 ? 1
                               : products == 512 ? 2
                                                 : 4,
                               "op", ops[op], "count", count);
  report("beside_wgmma_issue", p, issue, "cycles");
  report("beside_wgmma", p, others, "cycles");
}
template <int products>
void report_products() {
  report_beside<products, 0, 0>();
  report_beside<products, 0, 16>(), report_beside<products, 0, 64>();
  report_beside<products, 1, 16>(), report_beside<products, 1, 64>();
  report_beside<products, 2, 16>(), report_beside<products, 2, 64>();
  report_beside<products, 3, 16>(), report_beside<products, 3, 64>();
}

// --- other warps' instructions

/// Warps 0 to 3 multiply (or sleep); 4 to 7 work on their own.
template <class Kind, bool multiply, int op, int chains>
__global__ void __launch_bounds__(256, 1) aside(std::uint32_t* out, int loops) {
  __shared__ volatile int done;
  clear_tile();
  done = 0;
  __syncthreads();
  if (threadIdx.x < 128) {
    const Operands o = operands();
    Clocks c{};
    std::uint32_t sink = 0;
    while (!done) {
      if (multiply) {
        Kind::template chain<8>(c, o);
        sink ^= c.sink;
      } else {
        __nanosleep(1000);
      }
    }
    if (sink == 12345) out[100] = sink;
    return;
  }
  std::uint32_t t[4], u[4], v[4];
  std::uint64_t l[4];
  float f[4], g[4];
  for (int j = 0; j < 4; ++j) {
    t[j] = threadIdx.x + j, u[j] = 3 * j * threadIdx.x, v[j] = 5 * j + threadIdx.x;
    l[j] = t[j], f[j] = t[j], g[j] = u[j];
  }
  const std::uint32_t start = now();
  for (int i = 0; i < loops; ++i) {
#pragma unroll
    for (int k = 0; k < 64 / chains; ++k) {
#pragma unroll
      for (int j = 0; j < chains; ++j) {
        if (op == 0 || (op == 4 && k % 2 == 1))
          asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(t[j]) : "r"(u[j]), "r"(v[j]));
        if (op == 1 || (op == 4 && k % 2 == 0))
          asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(t[j]) : "r"(u[j]));
        if (op == 2) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[j]) : "f"(g[j]));
        if (op == 3)
          asm volatile("mad.wide.u32 %0, %1, %2, %0;" : "+l"(l[j]) : "r"(u[j]), "r"(v[j]));
      }
    }
  }
  for (int j = 0; j < 4; ++j) t[0] += t[j] + std::uint32_t(l[j]) + std::uint32_t(f[j]);
  const std::uint32_t end = now();
  if (t[0] == 12345) out[101] = 1;
  done = 1;
  note(out, start, end);
}
template <class Kind, bool multiply, int op, int chains>
void report_aside() {
  static const char* ops[] = {"imad", "shf", "ffma", "imad_wide", "shf and imad in turn"};
  auto kernel = aside<Kind, multiply, op, chains>;
  allow_shared(kernel, kSharedBytes);
  std::vector<double> v;
  constexpr int kLoops = 400;
  for (int i = 0; i <= kRepeats; ++i) {
    kernel<<<1, 256, kSharedBytes>>>(g_out, kLoops);
    CHECK(cudaGetLastError());
    std::uint32_t c[2];
    CHECK(cudaMemcpy(c, g_out + 8, 8, cudaMemcpyDeviceToHost));
    if (i > 0) v.push_back((c[1] - c[0]) / (64.0 * kLoops));
  }
  report("aside_wgmma",
         params("kind", multiply ? Kind::kName : "none", "op", ops[op], "chains", chains), v,
         "cycles/instruction of a warp a sub-core");
}
template <class Kind, bool multiply>
void report_asides() {
  report_aside<Kind, multiply, 0, 1>(), report_aside<Kind, multiply, 0, 4>();
  report_aside<Kind, multiply, 1, 1>(), report_aside<Kind, multiply, 1, 4>();
  report_aside<Kind, multiply, 2, 1>(), report_aside<Kind, multiply, 2, 4>();
  report_aside<Kind, multiply, 3, 1>(), report_aside<Kind, multiply, 3, 4>();
  report_aside<Kind, multiply, 4, 1>(), report_aside<Kind, multiply, 4, 4>();
}

// --- the address of a copy is overwritten

/// Each iteration copies `copies` vectors a thread, and moves their addresses on in place.
template <int copies, bool moves>
__global__ void __launch_bounds__(256, 1)
    overwrite(std::uint32_t* out, const unsigned char* data, std::size_t step) {
  extern __shared__ __align__(1024) unsigned char tile[];
  const std::uint32_t to = shared_address(tile) + threadIdx.x * 16;
  const unsigned char* from[copies];
  for (int i = 0; i < copies; ++i) from[i] = data + (i * blockDim.x + threadIdx.x) * 16;
  for (int t = 0; t < 2; ++t) {
    __syncthreads();
    const std::uint32_t start = now();
#pragma unroll 1
    for (int i = 0; i < 8 / copies; ++i) {
#pragma unroll
      for (int k = 0; k < copies; ++k) {
        asm volatile("cp.async.cg.shared.global [%1], [%0], 16;" ::"l"(from[k]), "r"(to + k * 4096)
                     : "memory");
        if (moves) asm volatile("add.s64 %0, %0, %1;" : "+l"(from[k]) : "l"(step) : "memory");
      }
    }
    const std::uint32_t end = now();
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    note(out, start, end);
  }
  if (from[0] == nullptr) out[101] = 1;
}
template <int copies, bool moves>
void report_overwrite(const unsigned char* data) {
  auto kernel = overwrite<copies, moves>;
  allow_shared(kernel, kSharedBytes);
  for (int warps : {1, 4, 8}) {
    auto v = repeated([&] {
      kernel<<<1, 32 * warps, kSharedBytes>>>(g_out, data, 4096);
      CHECK(cudaGetLastError());
      return span(g_out, warps) / 8;
    });
    report("copy_address", params("copies", copies, "overwritten", int(moves), "warps", warps), v,
           "cycles/copy of a warp");
  }
}

int main() {
  g_out = device<std::uint32_t>(4096);
  report_products<0>();
  report_products<64>();
  report_products<128>();
  report_products<256>();
  report_products<512>();
  report_asides<ss_n64, false>();
  report_asides<ss_n64, true>();
  report_asides<ss_n128, true>();
  report_asides<ss_n256, true>();
  const unsigned char* data = device<unsigned char>(1 << 20);
  report_overwrite<1, false>(data), report_overwrite<1, true>(data);
  report_overwrite<2, false>(data), report_overwrite<2, true>(data);
  report_overwrite<4, false>(data), report_overwrite<4, true>(data);
  CHECK(cudaDeviceSynchronize());
}
