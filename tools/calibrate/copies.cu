// Copies past the registers: cp.async, the TMA engine (1-D bulk copies, 2-D boxes, stores), their
// latency, rate and depth, and whether they take shared-memory bandwidth from wgmma and LDS.
// Compute capability 9.0a.

#include <cuda.h>

#include "wgmma.cuh"

static std::uint32_t* g_out;
static unsigned char* g_data;
static float* g_flush;
constexpr std::size_t kDataBytes = std::size_t{128} << 20, kFlushBytes = std::size_t{256} << 20;
constexpr int kSharedBytes = 200 * 1024;

__global__ void flush(float* p, std::size_t n) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    p[i] += 1;
}
static void flush_l2() { flush<<<1024, 256>>>(g_flush, kFlushBytes / 4); }

// --- cp.async
// ------------------------------------------------------------------------------------------

template <bool kThroughL1>
__device__ __forceinline__ void copy16(std::uint32_t to, const void* from, int bytes = 16) {
  if (kThroughL1)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n>
__device__ __forceinline__ void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}

/// Each thread issues kCopies of 16 B and waits; the last of `times` is noted: code and data are in
/// the caches.
template <int kCopies, bool kThroughL1>
__global__ void __launch_bounds__(512, 1)
    async_copies(std::uint32_t* out, const unsigned char* data, int times, int bytes) {
  extern __shared__ __align__(1024) unsigned char tile[];
  const std::uint32_t to = shared_address(tile) + threadIdx.x * 16;
  const unsigned char* from =
      data + std::size_t(blockIdx.x) * blockDim.x * kCopies * 16 + threadIdx.x * 16;
  std::uint32_t start = 0, issued = 0, end = 0;
#pragma unroll 1
  for (int t = 0; t < times; ++t) {
    __syncthreads();
    start = now();
#pragma unroll
    for (int i = 0; i < kCopies; ++i)
      copy16<kThroughL1>(to + i * blockDim.x * 16, from + i * blockDim.x * 16, bytes);
    commit();
    issued = now();
    wait<0>();
    end = now();
  }
  note(out, start, end);
  note(out + 16384, start, issued);
}
template <int kCopies, bool kThroughL1>
void async_copy(const char* what, int times, int bytes, std::initializer_list<int> warp_counts) {
  auto kernel = async_copies<kCopies, kThroughL1>;
  allow_shared(kernel, kSharedBytes);
  for (int blocks : {1, 132})
    for (int warps : warp_counts) {
      std::vector<double> issue, total;
      for (int i = 0; i <= kRepeats; ++i) {
        if (times == 1) flush_l2();
        kernel<<<blocks, 32 * warps, kSharedBytes>>>(g_out, g_data, times, bytes);
        CHECK(cudaGetLastError());
        if (i == 0) continue;
        total.push_back(span(g_out, warps, blocks));
        issue.push_back(span(g_out + 16384, warps, blocks));
      }
      const std::string p =
          params("what", what, "copies_a_thread", kCopies, "warps", warps, "blocks", blocks);
      report("cp_async_issue", p, issue, "cycles");
      report("cp_async_wait", p, total, "cycles");
    }
}

/// A ring of four stages as a matmul's: 8 copies a thread and stage, from `span_bytes` a block that
/// repeat.
__global__ void __launch_bounds__(512, 1)
    async_ring(std::uint32_t* out, const unsigned char* data, int loops, int own) {
  extern __shared__ __align__(1024) unsigned char tile[];
  const int stage = blockDim.x * 128;
  const unsigned char* from =
      data + (own ? std::size_t(blockIdx.x) * stage * 4 : 0) + threadIdx.x * 16;
  const std::uint32_t to = shared_address(tile) + threadIdx.x * 16;
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
    const int at = (i & 3) * stage;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      copy16<false>(to + at + k * blockDim.x * 16, from + at + k * blockDim.x * 16);
    commit();
    wait<3>();
    __syncthreads();
  }
  wait<0>();
  const std::uint32_t end = now();
  note(out, start, end);
}
static void async_rings() {
  allow_shared(async_ring, kSharedBytes);
  for (int own : {0, 1})
    for (int blocks : {1, 132})
      for (int warps : {4, 8, 12}) {
        auto v = slope(
            [&](int loops) {
              async_ring<<<blocks, 32 * warps, kSharedBytes>>>(g_out, g_data, loops, own);
              CHECK(cudaGetLastError());
              return span(g_out, warps, blocks);
            },
            64, 256);
        for (double& x : v) x = warps * 32 * 128 / x;
        report("cp_async_rate",
               params("warps", warps, "blocks", blocks, "source", own ? "own" : "common"), v,
               "bytes/cycle of an SM");
      }
}

// --- who competes for shared memory
// --------------------------------------------------------------------

KIND(ss_n64, ONE, SS(BF16(64), LIST32(d), ", 0, 0"))
KIND(ss_n128, ONE, SS(BF16(128), LIST64(d), ", 0, 0"))
KIND(ss_n256, ONE, SS(BF16(256), LIST128(d), ", 0, 0"))
KIND(rs_n128, ONE, RS(BF16(128), LIST64(d), ", 0"))
struct lds128 {
  static constexpr const char* kName = "lds128";
  /// As long as the products: 8 loads of a warp 16 times.
  template <int k>
  __device__ static void chain(Clocks& c, const Operands& o) {
    const std::uint32_t at = o.r1 + (threadIdx.x % 128) * 16;
    std::uint32_t r[4];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(at + i * 2048));
      c.sink ^= r[0] ^ r[1] ^ r[2] ^ r[3];
    }
  }
};
enum Rival { kNone, kCopies, kLoads, kStores };

/// Warps 0 to 3 do a fixed number of groups of products; warps 4 to 7 keep shared memory busy until
/// they are done.
template <class Kind>
__global__ void __launch_bounds__(256, 1)
    rivalry(std::uint32_t* out, const unsigned char* data, int loops, int rival) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ volatile int done;
  __shared__ int rounds;
  const std::uint32_t base = (shared_address(tile) + 1023) & ~1023u;
  if (threadIdx.x == 0) done = 0, rounds = 0;
  for (int i = threadIdx.x; i < kSharedBytes / 4; i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(tile)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x < 128) {
    const std::uint32_t z = loops >> 30;
    const Operands o{descriptor(base, 1), descriptor(base + 32768, 1), z, base, z, z};
    Clocks c{};
    std::uint32_t sink = 0;
    const std::uint32_t start = now();
#pragma unroll 1
    for (int i = 0; i < loops; ++i) {
      Kind::template chain<8>(c, o);
      sink ^= c.sink;
    }
    const std::uint32_t end = now();
    done = 1;
    note(out, start, end);
    if (sink == 1) out[4000] = 1;
  } else {
    const int t = threadIdx.x - 128;
    const std::uint32_t to = base + 98304 + t * 16;
    const unsigned char* from = data + std::size_t(blockIdx.x) * 65536 + t * 16;
    int n = 0;
    std::uint32_t r[4] = {}, sink = 0;
    while (!done) {
      ++n;
      const int at = (n & 3) * 16384;
      if (rival == kNone) __nanosleep(200);
      if (rival == kCopies) {
#pragma unroll
        for (int k = 0; k < 8; ++k) copy16<false>(to + at + k * 2048, from + at + k * 2048);
        commit();
        wait<3>();
      }
      if (rival == kLoads)
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                       : "r"(to + at + k * 2048));
          sink ^= r[0] ^ r[1] ^ r[2] ^ r[3];
        }
      if (rival == kStores)
#pragma unroll
        for (int k = 0; k < 8; ++k)
          asm volatile(
              "st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to + at + k * 2048), "r"(n)
              : "memory");
    }
    wait<0>();
    atomicAdd(&rounds, t % 32 == 0 ? n : 0);
    if (sink == 1) out[4000] = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) out[4001] = rounds;
  if (threadIdx.x >= 128) note(out, 0, 0);
}
template <class Kind>
void rivalries() {
  allow_shared(rivalry<Kind>, kSharedBytes);
  const char* names[] = {"none", "cp_async", "lds128", "sts128"};
  for (int blocks : {1, 132})
    for (int rival : {kNone, kCopies, kLoads, kStores}) {
      std::vector<double> cycles, bytes;
      constexpr int kLoops = 400;
      for (int i = 0; i <= kRepeats; ++i) {
        rivalry<Kind><<<blocks, 256, kSharedBytes>>>(g_out, g_data, kLoops, rival);
        CHECK(cudaGetLastError());
        std::uint32_t c[2], rounds;
        CHECK(cudaMemcpy(c, g_out, 8, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&rounds, g_out + 4001, 4, cudaMemcpyDeviceToHost));
        if (i == 0) continue;
        const double t = c[1] - c[0];
        cycles.push_back(t / (kLoops * 8));
        bytes.push_back(rounds * 8.0 * 512 / t);
      }
      const std::string p = params("loop", Kind::kName, "rival", names[rival], "blocks", blocks);
      report("rivalry", p, cycles, "cycles/product (lds128: /2 loads of 4 warps)");
      report("rivalry_bytes", p, bytes, "bytes/cycle of the rival");
    }
}

// --- TMA
// -----------------------------------------------------------------------------------------------

__device__ __forceinline__ void init_barrier(std::uint32_t bar) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void expect(std::uint32_t bar, std::uint32_t bytes) {
  asm volatile("{.reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1;}" ::"r"(bar),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void wait_parity(std::uint32_t bar, std::uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra "
      "DONE;\nbra WAIT;\nDONE:\n}" ::"r"(bar),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes,
                                          std::uint32_t bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(bar)
      : "memory");
}
__device__ __forceinline__ void box_load(std::uint32_t to, const CUtensorMap* map, int x, int y,
                                         std::uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

/// One thread issues `count` copies of `bytes` on one mbarrier and waits. rows > 0: boxes of 64 x
/// rows (2 B).
__global__ void tma_load(std::uint32_t* out, const unsigned char* data,
                         const __grid_constant__ CUtensorMap map, int times, int bytes, int count,
                         int rows) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ __align__(8) std::uint64_t barrier;
  const std::uint32_t bar = shared_address(&barrier), base = (shared_address(tile) + 1023) & ~1023u;
  if (threadIdx.x != 0) return;
  init_barrier(bar);
  std::uint32_t start = 0, issued = 0, end = 0;
#pragma unroll 1
  for (int t = 0; t < times; ++t) {
    start = now();
    expect(bar, bytes * count);
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      if (rows > 0)
        box_load(base + i * bytes, &map, (blockIdx.x % 64) * 64,
                 (blockIdx.x / 64) * 1024 + i * rows, bar);
      else
        bulk_load(base + i * bytes, data + (std::size_t(blockIdx.x) * count + i) * bytes, bytes,
                  bar);
    }
    issued = now();
    wait_parity(bar, t & 1);
    end = now();
  }
  out[2 * blockIdx.x] = start;
  out[2 * blockIdx.x + 1] = end;
  out[16384 + 2 * blockIdx.x] = start;
  out[16384 + 2 * blockIdx.x + 1] = issued;
}
/// The same from shared to global memory, 1-D: until the data has been read, and until it is
/// written.
__global__ void tma_store(std::uint32_t* out, unsigned char* data, int times, int bytes,
                          int count) {
  extern __shared__ __align__(1024) unsigned char tile[];
  const std::uint32_t base = shared_address(tile);
  std::uint32_t start = 0, read = 0, end = 0;
#pragma unroll 1
  for (int t = 0; t < times; ++t) {
    start = now();
#pragma unroll 1
    for (int i = 0; i < count; ++i)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                       data + (std::size_t(blockIdx.x) * count + i) * bytes),
                   "r"(base + i * bytes), "r"(bytes)
                   : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    read = now();
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    end = now();
  }
  out[2 * blockIdx.x] = start;
  out[2 * blockIdx.x + 1] = end;
  out[16384 + 2 * blockIdx.x] = start;
  out[16384 + 2 * blockIdx.x + 1] = read;
}
/// A ring of four stages of `bytes`, one copy a stage (rows > 0: boxes).
__global__ void tma_ring(std::uint32_t* out, const unsigned char* data,
                         const __grid_constant__ CUtensorMap map, int loops, int bytes, int rows) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ __align__(8) std::uint64_t barrier[4];
  const std::uint32_t bar = shared_address(barrier), base = (shared_address(tile) + 1023) & ~1023u;
  if (threadIdx.x != 0) return;
  for (int s = 0; s < 4; ++s) init_barrier(bar + 8 * s);
  auto load = [&](int i) {
    const int s = i & 3;
    expect(bar + 8 * s, bytes);
    if (rows > 0)
      box_load(base + s * bytes, &map, (blockIdx.x % 64) * 64, (blockIdx.x / 64) * 1024 + s * rows,
               bar + 8 * s);
    else
      bulk_load(base + s * bytes, data + (std::size_t(blockIdx.x) * 4 + s) * bytes, bytes,
                bar + 8 * s);
  };
  const std::uint32_t start = now();
  for (int i = 0; i < 4; ++i) load(i);
#pragma unroll 1
  for (int i = 0; i < loops; ++i) {
    wait_parity(bar + 8 * (i & 3), (i >> 2) & 1);
    if (i + 4 < loops) load(i + 4);
  }
  const std::uint32_t end = now();
  out[2 * blockIdx.x] = start;
  out[2 * blockIdx.x + 1] = end;
}

/// A matrix of 4096 columns of 2 B, in boxes of 64 columns, 128-byte swizzle.
static CUtensorMap tensor_map(int rows) {
  static decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  if (encode == nullptr) {
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled",
                                           reinterpret_cast<void**>(&encode), 12000,
                                           cudaEnableDefault, &found));
  }
  CUtensorMap map{};
  const cuuint64_t size[2] = {4096, kDataBytes / 8192}, pitch[1] = {8192};
  const cuuint32_t box[2] = {64, static_cast<cuuint32_t>(rows)}, step[2] = {1, 1};
  const CUresult e = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, g_data, size, pitch, box,
                            step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                            CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (e != CUDA_SUCCESS) std::fprintf(stderr, "cuTensorMapEncodeTiled: %d\n", static_cast<int>(e));
  return map;
}

static void tma_loads(int bytes, int count, int rows) {
  const CUtensorMap map = tensor_map(rows > 0 ? rows : 64);
  for (int blocks : {1, 132})
    for (int times : {1, 3}) {
      std::vector<double> issue, total;
      for (int i = 0; i <= kRepeats; ++i) {
        if (times == 1) flush_l2();
        tma_load<<<blocks, 32, kSharedBytes>>>(g_out, g_data, map, times, bytes, count, rows);
        CHECK(cudaGetLastError());
        if (i == 0) continue;
        total.push_back(span(g_out, 1, blocks));
        issue.push_back(span(g_out + 16384, 1, blocks));
      }
      const std::string p = params("bytes", bytes, "box_rows", rows, "count", count, "blocks",
                                   blocks, "from", times == 1 ? "HBM, cold" : "L2");
      report("tma_issue", p, issue, "cycles");
      report("tma_wait", p, total, "cycles");
    }
}
static void tma_stores(int bytes, int count) {
  for (int blocks : {1, 132}) {
    std::vector<double> read, total;
    for (int i = 0; i <= kRepeats; ++i) {
      tma_store<<<blocks, 1, kSharedBytes>>>(g_out, g_data, 3, bytes, count);
      CHECK(cudaGetLastError());
      if (i == 0) continue;
      total.push_back(span(g_out, 1, blocks));
      read.push_back(span(g_out + 16384, 1, blocks));
    }
    const std::string p = params("bytes", bytes, "count", count, "blocks", blocks);
    report("tma_store_read", p, read, "cycles");
    report("tma_store_done", p, total, "cycles");
  }
}
static void tma_rings(int bytes, int rows) {
  const CUtensorMap map = tensor_map(rows > 0 ? rows : 64);
  for (int blocks : {1, 132}) {
    auto v = slope(
        [&](int loops) {
          tma_ring<<<blocks, 32, kSharedBytes>>>(g_out, g_data, map, loops, bytes, rows);
          CHECK(cudaGetLastError());
          return span(g_out, 1, blocks);
        },
        64, 256);
    for (double& x : v) x = bytes / x;
    report("tma_rate", params("bytes", bytes, "box_rows", rows, "blocks", blocks), v,
           "bytes/cycle of an SM");
  }
}

int main() {
  g_out = device<std::uint32_t>(65536);
  g_data = device<unsigned char>(kDataBytes);
  g_flush = device<float>(kFlushBytes / 4);
  allow_shared(tma_load, kSharedBytes);
  allow_shared(tma_store, kSharedBytes);
  allow_shared(tma_ring, kSharedBytes);
  async_copy<1, false>("cg", 3, 16, {1, 4, 8});
  async_copy<2, false>("cg", 3, 16, {1, 4, 8});
  async_copy<4, false>("cg", 3, 16, {1, 4, 8});
  async_copy<8, false>("cg", 3, 16, {1, 4, 8});
  async_copy<16, false>("cg", 3, 16, {1, 4, 8});
  async_copy<32, false>("cg", 3, 16, {1, 4, 8});
  async_copy<1, true>("ca", 3, 16, {1, 4});
  async_copy<8, true>("ca", 3, 16, {1, 4});
  async_copy<8, false>("cg, zero fill", 3, 0, {1, 4});
  async_copy<1, false>("cg, HBM", 1, 16, {1});
  async_copy<8, false>("cg, HBM", 1, 16, {4});
  async_rings();
  rivalries<ss_n64>();
  rivalries<ss_n128>();
  rivalries<ss_n256>();
  rivalries<rs_n128>();
  rivalries<lds128>();
  for (int bytes : {256, 1024, 2048, 4096, 8192, 16384, 32768}) tma_loads(bytes, 1, 0);
  for (int count : {2, 4, 8, 16}) tma_loads(2048, count, 0);
  for (int rows : {8, 16, 32, 64, 128, 256}) tma_loads(rows * 128, 1, rows);
  for (int count : {2, 4}) tma_loads(64 * 128, count, 64);
  for (int bytes : {1024, 4096, 16384, 32768}) tma_stores(bytes, 1);
  tma_stores(4096, 4);
  for (int bytes : {2048, 8192, 16384, 32768}) tma_rings(bytes, 0);
  for (int rows : {16, 64, 128, 256}) tma_rings(rows * 128, rows);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
