// Latency (one dependent chain) and issue interval (independent chains, 1 and 4 warps a sub-core)
// of instructions; shared memory and its bank conflicts; barriers and fences; branches.

#include "harness.cuh"

static std::uint32_t* g_out;

/// What a chain carries: `x` changes, `y` and `z` do not.
template <class T>
struct State {
  T x, y, z;
};

#define OP(kind, T, text)                              \
  struct kind {                                        \
    using Value = T;                                   \
    static constexpr const char* kName = #kind;        \
    __device__ static void step(State<T>& s) { text; } \
  };
using U = std::uint32_t;
#define F3(text) asm volatile(text : "+f"(s.x) : "f"(s.y), "f"(s.z))
#define U3(text) asm volatile(text : "+r"(s.x) : "r"(s.y), "r"(s.z))
#define D3(text) asm volatile(text : "+d"(s.x) : "d"(s.y), "d"(s.z))
namespace op {
OP(fadd, float, F3("add.f32 %0, %0, %1;"))
OP(fmul, float, F3("mul.f32 %0, %0, %1;"))
OP(ffma, float, F3("fma.rn.f32 %0, %0, %1, %2;"))
OP(fmnmx, float, F3("{.reg .f32 t; max.f32 t, %0, %1; min.f32 %0, t, %2;}"))  // two instructions
// IADD3 and IMAD.IADD in turn, as the assembler balances the two pipes.
OP(iadd, U,
   asm volatile("{.reg .b32 t; add.u32 t, %0, %1; mov.b32 %1, %0; mov.b32 %0, t;}"
                : "+r"(s.x), "+r"(s.y)))
OP(imad, U, U3("mad.lo.u32 %0, %0, %1, %2;"))
OP(imad_wide, std::uint64_t,
   asm volatile("{.reg .b32 l, h; mov.b64 {l, h}, %0; mul.wide.u32 %0, l, h;}"
                : "+l"(s.x)))
OP(lop3, U, U3("lop3.b32 %0, %0, %1, %2, 0x2d;"))
OP(shf, U, U3("shf.l.wrap.b32 %0, %0, %1, %2;"))
OP(prmt, U, U3("prmt.b32 %0, %0, %1, %2;"))
OP(isetp_sel, U,
   U3("{.reg .pred p; setp.gt.u32 p, %0, %1; selp.b32 %0, %2, %1, p;}"))  // two instructions
OP(hfma2, U, U3("fma.rn.f16x2 %0, %0, %1, %2;"))
OP(hfma2_bf16, U, U3("fma.rn.bf16x2 %0, %0, %1, %2;"))
OP(f2fp, U, asm volatile("{.reg .f32 f; mov.b32 f, %0; cvt.rn.bf16x2.f32 %0, f, f;}" : "+r"(s.x)))
OP(i2f, U, asm volatile("{.reg .f32 f; cvt.rn.f32.s32 f, %0; mov.b32 %0, f;}" : "+r"(s.x)))
OP(f2i, U, asm volatile("{.reg .f32 f; mov.b32 f, %0; cvt.rzi.s32.f32 %0, f;}" : "+r"(s.x)))
OP(popc, U, asm volatile("popc.b32 %0, %0;" : "+r"(s.x)))
OP(ex2, float, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(s.x)))
OP(rcp_fadd, float,
   F3("{.reg .f32 t; rcp.approx.ftz.f32 t, %0; add.f32 %0, t, %1;}"))  // two instructions
OP(rsqrt, float, asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(s.x)))
OP(lg2, float, asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(s.x)))
OP(sin, float, asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(s.x)))  // FMUL, MUFU.SIN
OP(tanh, float, asm volatile("tanh.approx.f32 %0, %0;" : "+f"(s.x)))
OP(dadd, double, D3("add.f64 %0, %0, %1;"))
OP(dmul, double, D3("mul.f64 %0, %0, %1;"))
OP(dfma, double, D3("fma.rn.f64 %0, %0, %1, %2;"))
OP(shfl, U, asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;" : "+r"(s.x)))
OP(vote, U,
   asm volatile("{.reg .pred p; setp.ne.u32 p, %0, 0; vote.sync.ballot.b32 %0, p, 0xffffffff;}"
                : "+r"(s.x)))
OP(redux, U, asm volatile("redux.sync.add.u32 %0, %0, 0xffffffff;" : "+r"(s.x)))
}  // namespace op

template <class Op, int kChains, int kBody>
__global__ void __launch_bounds__(1024, 1)
    chains(std::uint32_t* out, int loops, typename Op::Value y, typename Op::Value z) {
  using T = typename Op::Value;
  State<T> s[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) s[c] = {T(threadIdx.x + c) * y, y, z};
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
#pragma unroll
    for (int r = 0; r < kBody / kChains; ++r)
#pragma unroll
      for (int c = 0; c < kChains; ++c) Op::step(s[c]);
  }
  const std::uint32_t end = now();
  note(out, start, end);
  T sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += s[c].x;
  if (sum == T(123456)) out[200] = 1;
}
/// Cycles of one step, from two lengths of the loop's body: the loop itself falls out.
template <class Op, int kChains>
std::vector<double> step_cycles(int warps) {
  constexpr int kShort = 32, kLong = 64, kLoops = 64;
  auto run = [&](auto kernel) {
    kernel<<<1, 32 * warps>>>(g_out, kLoops, typename Op::Value(3), typename Op::Value(1));
    CHECK(cudaGetLastError());
    return span(g_out, warps);
  };
  return slope(
      [&](int body) {
        return body == kShort ? run(chains<Op, kChains, kShort>) : run(chains<Op, kChains, kLong>);
      },
      kShort, kLong);
}
template <class Op>
void instruction() {
  auto scaled = [](std::vector<double> v, double by) {
    for (double& x : v) x *= by;
    return v;
  };
  report("latency", params("op", Op::kName), scaled(step_cycles<Op, 1>(1), 1.0 / 64), "cycles");
  report("interval", params("op", Op::kName, "warps_a_sub_core", "a quarter"),
         scaled(step_cycles<Op, 8>(1), 1.0 / 64), "cycles");
  report("interval", params("op", Op::kName, "warps_a_sub_core", "1"),
         scaled(step_cycles<Op, 8>(4), 1.0 / 64), "cycles");
  report("interval", params("op", Op::kName, "warps_a_sub_core", "4"),
         scaled(step_cycles<Op, 8>(16), 1.0 / 256), "cycles");
}

// --- shared memory
// -------------------------------------------------------------------------------------

enum class Access {
  kLoad32,
  kLoad64,
  kLoad128,
  kStore32,
  kStore64,
  kStore128,
  kMatrix1,
  kMatrix2,
  kMatrix4,
  kStoreMatrix4,
  kAdd
};
static const char* name(Access a) {
  static const char* names[] = {"lds32", "lds64", "lds128", "sts32", "sts64", "sts128",
                                "ldsm1", "ldsm2", "ldsm4",  "stsm4", "atoms"};
  return names[static_cast<int>(a)];
}

template <Access kAccess>
__device__ __forceinline__ void access(std::uint32_t at, std::uint32_t* r) {
  switch (kAccess) {
    case Access::kLoad32:
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(r[0]) : "r"(at));
      break;
    case Access::kLoad64:
      asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
      break;
    case Access::kLoad128:
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(at));
      break;
    case Access::kStore32:
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(r[0]));
      break;
    case Access::kStore64:
      asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(at), "r"(r[0]), "r"(r[1]));
      break;
    case Access::kStore128:
      asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(r[0]), "r"(r[1]),
                   "r"(r[2]), "r"(r[3]));
      break;
    case Access::kMatrix1:
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
      break;
    case Access::kMatrix2:
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(r[0]), "=r"(r[1])
                   : "r"(at));
      break;
    case Access::kMatrix4:
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(at));
      break;
    case Access::kStoreMatrix4:
      asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                   "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
      break;
    case Access::kAdd:
      asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(r[0]));
      break;
  }
}

/// Each lane at `lane_bytes` from the one before; eight accesses in flight a warp.
template <Access kAccess>
__global__ void __launch_bounds__(1024, 1)
    shared_rate(std::uint32_t* out, int loops, int lane_bytes) {
  __shared__ __align__(128) std::uint32_t words[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) words[i] = 0;
  const std::uint32_t at = shared_address(words) + (threadIdx.x % 32) * lane_bytes;
  std::uint32_t r[8][4] = {};
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i)
#pragma unroll
    for (int k = 0; k < 8; ++k) access<kAccess>(at + (i & 3) * 512 + k * 2048, r[k]);
  std::uint32_t sum = 0;
  for (int k = 0; k < 8; ++k) sum += r[k][0] + r[k][1] + r[k][2] + r[k][3];
  if (sum == 1) out[200] = 1;
  const std::uint32_t end = now();
  note(out, start, end);
}
template <Access kAccess>
void shared_rates(std::initializer_list<int> strides) {
  for (int lane_bytes : strides)
    for (int warps : {1, 4, 16}) {
      auto v = slope(
          [&](int loops) {
            shared_rate<kAccess><<<1, 32 * warps>>>(g_out, loops, lane_bytes);
            CHECK(cudaGetLastError());
            return span(g_out, warps);
          },
          16, 80);
      for (double& x : v) x /= 8 * warps;
      report("shared_interval",
             params("access", name(kAccess), "lane_bytes", lane_bytes, "warps", warps), v,
             "SM cycles/warp instruction");
    }
}

/// A chain of dependent loads from shared memory; or of LDSM, whose result is the next address.
template <Access kAccess>
__global__ void shared_chase(std::uint32_t* out, int loops) {
  __shared__ __align__(128) std::uint32_t words[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = shared_address(words);
  __syncthreads();
  std::uint32_t r[4] = {shared_address(words) + (threadIdx.x % 32) * 16};
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i)
#pragma unroll
    for (int k = 0; k < 16; ++k) access<kAccess>(r[0], r);
  const std::uint32_t end = now();
  note(out, start, end);
  if (r[0] == 1) out[200] = 1;
}
template <Access kAccess>
void shared_latency() {
  auto v = slope(
      [&](int loops) {
        shared_chase<kAccess><<<1, 32>>>(g_out, loops);
        CHECK(cudaGetLastError());
        return span(g_out, 1);
      },
      8, 40);
  for (double& x : v) x /= 16;
  report("shared_latency", params("access", name(kAccess)), v, "cycles");
}

// --- barriers, fences, branches
// ------------------------------------------------------------------------

enum class Sync {
  kBlock,
  kNamed,
  kWarp,
  kFenceBlock,
  kFenceDevice,
  kFenceAsync,
  kMbarrier,
  kMbarrierOne,
  kClock,
  kAtomAdd,
  kAtomShared
};
static const char* name(Sync s) {
  static const char* names[] = {"bar_sync",
                                "bar_sync_id1",
                                "syncwarp",
                                "membar_cta",
                                "membar_gl",
                                "fence_async",
                                "mbarrier_all_arrive_and_wait",
                                "mbarrier_lane_arrives_all_wait",
                                "clock",
                                "atom_global",
                                "atom_shared"};
  return names[static_cast<int>(s)];
}

__device__ __forceinline__ void wait_parity(std::uint32_t bar, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra "
      "DONE;\nbra WAIT;\nDONE:\n}" ::"r"(bar),
      "r"(parity)
      : "memory");
}

template <Sync kSync>
__global__ void __launch_bounds__(1024, 1) sync_cost(std::uint32_t* out, int loops) {
  __shared__ __align__(8) std::uint64_t barrier;
  __shared__ std::uint32_t word;
  const std::uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    word = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar),
                 "r"(kSync == Sync::kMbarrierOne ? 1u : blockDim.x));
  }
  __syncthreads();
  std::uint32_t r = 0;
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (kSync == Sync::kBlock) asm volatile("bar.sync 0;" ::: "memory");
      if (kSync == Sync::kNamed) asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x) : "memory");
      if (kSync == Sync::kWarp) asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
      if (kSync == Sync::kFenceBlock) asm volatile("membar.cta;" ::: "memory");
      if (kSync == Sync::kFenceDevice) asm volatile("membar.gl;" ::: "memory");
      if (kSync == Sync::kFenceAsync) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      if (kSync == Sync::kClock) r += now();
      if (kSync == Sync::kAtomAdd)
        asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(r) : "l"(out + 300) : "memory");
      if (kSync == Sync::kAtomShared)
        asm volatile("atom.shared.add.u32 %0, [%1], %0;"
                     : "+r"(r)
                     : "r"(shared_address(&word))
                     : "memory");
      if (kSync == Sync::kMbarrier || kSync == Sync::kMbarrierOne) {
        if (kSync == Sync::kMbarrier || threadIdx.x == 0)
          asm volatile("{.reg .b64 t; mbarrier.arrive.shared::cta.b64 t, [%0];}" ::"r"(bar)
                       : "memory");
        wait_parity(bar, k & 1);
        // With one arrival a phase nothing else keeps the warps within a phase of each other.
        if (kSync == Sync::kMbarrierOne) asm volatile("bar.sync 0;" ::: "memory");
      }
    }
  }
  const std::uint32_t end = now();
  note(out, start, end);
  if (r == 1) out[200] = 1;
}
template <Sync kSync>
void sync_costs(std::initializer_list<int> warp_counts) {
  for (int warps : warp_counts) {
    auto v = slope(
        [&](int loops) {
          sync_cost<kSync><<<1, 32 * warps>>>(g_out, loops);
          CHECK(cudaGetLastError());
          return span(g_out, warps);
        },
        16, 80);
    for (double& x : v) x /= 4;
    report("sync", params("what", name(kSync), "warps", warps), v, "cycles");
  }
}

/// Loops of `kBody` independent adds: what the taken branch costs beyond them.
template <int kBody>
__global__ void loop_cost(std::uint32_t* out, int loops) {
  float x[4] = {};
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
#pragma unroll
    for (int k = 0; k < kBody; ++k) asm volatile("add.f32 %0, %0, %1;" : "+f"(x[k % 4]) : "f"(3.f));
  }
  const std::uint32_t end = now();
  note(out, start, end);
  if (x[0] + x[1] + x[2] + x[3] == 1.f) out[200] = 1;
}
/// The branch waits for what the chain has just computed: IMAD, ISETP, BRA.
__global__ void branch_chain(std::uint32_t* out, std::uint32_t limit, std::uint32_t step) {
  std::uint32_t x = 1, all = 0;
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  while (x != limit) {
    asm volatile("mad.lo.u32 %0, %0, 5, %1;" : "+r"(x) : "r"(step));
    all ^= x;  // keeps the loop alive
  }
  const std::uint32_t end = now();
  note(out, start, end);
  if (all == 1) out[200] = 1;
}
template <int kBody>
void loop_costs() {
  for (int warps : {1, 4, 16})
    report("loop", params("body", kBody, "warps", warps),
           slope(
               [&](int loops) {
                 loop_cost<kBody><<<1, 32 * warps>>>(g_out, loops);
                 CHECK(cudaGetLastError());
                 return span(g_out, warps);
               },
               64, 256),
           "cycles/iteration");
}

int main() {
  g_out = device<std::uint32_t>(4096);
  instruction<op::fadd>();
  instruction<op::fmul>();
  instruction<op::ffma>();
  instruction<op::fmnmx>();
  instruction<op::iadd>();
  instruction<op::imad>();
  instruction<op::imad_wide>();
  instruction<op::lop3>();
  instruction<op::shf>();
  instruction<op::prmt>();
  instruction<op::isetp_sel>();
  instruction<op::hfma2>();
  instruction<op::hfma2_bf16>();
  instruction<op::f2fp>();
  instruction<op::i2f>();
  instruction<op::f2i>();
  instruction<op::popc>();
  instruction<op::ex2>();
  instruction<op::rcp_fadd>();
  instruction<op::rsqrt>();
  instruction<op::lg2>();
  instruction<op::sin>();
  instruction<op::tanh>();
  instruction<op::dadd>();
  instruction<op::dmul>();
  instruction<op::dfma>();
  instruction<op::shfl>();
  instruction<op::vote>();
  instruction<op::redux>();
  shared_rates<Access::kLoad32>({0, 4, 8, 16, 32, 64, 128});
  shared_rates<Access::kLoad64>({8, 16});
  shared_rates<Access::kLoad128>({0, 16, 32, 128});
  shared_rates<Access::kStore32>({4, 8, 16, 32, 64, 128});
  shared_rates<Access::kStore64>({8});
  shared_rates<Access::kStore128>({16, 32});
  shared_rates<Access::kMatrix1>({16, 128});
  shared_rates<Access::kMatrix2>({16});
  shared_rates<Access::kMatrix4>({16, 32, 64, 128});
  shared_rates<Access::kStoreMatrix4>({16, 128});
  shared_rates<Access::kAdd>({0, 4, 128});
  shared_latency<Access::kLoad32>();
  shared_latency<Access::kMatrix1>();
  shared_latency<Access::kMatrix4>();
  sync_costs<Sync::kBlock>({1, 2, 4, 8, 16, 32});
  sync_costs<Sync::kNamed>({4, 8, 16});
  sync_costs<Sync::kWarp>({1, 4});
  sync_costs<Sync::kFenceBlock>({1, 4});
  sync_costs<Sync::kFenceDevice>({1, 4});
  sync_costs<Sync::kFenceAsync>({1, 4, 8});
  sync_costs<Sync::kMbarrier>({1, 4, 8});
  sync_costs<Sync::kMbarrierOne>({1, 4, 8});
  sync_costs<Sync::kClock>({1});
  sync_costs<Sync::kAtomAdd>({1});
  sync_costs<Sync::kAtomShared>({1});
  loop_costs<4>();
  loop_costs<16>();
  loop_costs<64>();
  report("branch_chain", params("what", "IMAD, ISETP, BRA"),
         slope(
             [&](int loops) {
               std::uint32_t limit = 1;
               for (int i = 0; i < loops; ++i) limit = limit * 5 + 1;
               branch_chain<<<1, 32>>>(g_out, limit, 1);
               CHECK(cudaGetLastError());
               return span(g_out, 1);
             },
             64, 256),
         "cycles/iteration");
  CHECK(cudaDeviceSynchronize());
  return 0;
}
