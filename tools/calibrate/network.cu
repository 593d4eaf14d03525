// Between SMs and L2: which SMs form a GPC, the latency of an L2 hit from every SM, the read rate
// of L1 and L2, and whether reads of the same lines by several SMs at once are merged on the way
// ("coalescer"). For the last, run the program under Nsight Compute too: `ncu ... ./network
// coalescer` counts what reaches L2.

#include <cstring>
#include <map>
#include <numeric>

#include "harness.cuh"

static std::uint32_t* g_out;
static unsigned char* g_data;
static int g_sms;
static bool g_once =
    false;  // under a profiler: two launches of each kind, the second from a warm L2
constexpr std::size_t kDataBytes = std::size_t{64} << 20;
constexpr int kAlone = 120 * 1024;  // so much shared memory that every SM gets one block

__device__ __forceinline__ std::uint32_t sm_id() {
  std::uint32_t r;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
  return r;
}

// --- GPCs: the blocks of a cluster run on one GPC
// ------------------------------------------------------

__global__ void where(std::uint32_t* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = sm_id();
  const std::uint32_t start = now();
  while (now() - start < 20000) {
  }
}

/// The GPC of every SM, numbered by its first SM; each SM alone where clusters do not run.
static std::vector<int> gpcs() {
  std::vector<int> leader(g_sms);
  std::iota(leader.begin(), leader.end(), 0);
  auto find = [&](int i) {
    while (leader[i] != i) i = leader[i];
    return i;
  };
  cudaFuncSetAttribute(where, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  allow_shared(where, kAlone);
  for (int size : {16, 8, 4, 2})
    for (int repeat = 0; repeat < 4; ++repeat) {
      const int blocks = size * (g_sms / size) * 2;
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(blocks);
      config.blockDim = dim3(32);
      config.dynamicSmemBytes = kAlone;
      cudaLaunchAttribute attribute{};
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim.x = size;
      attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
      config.attrs = &attribute;
      config.numAttrs = 1;
      if (cudaLaunchKernelEx(&config, where, g_out) != cudaSuccess) {
        cudaGetLastError();  // no clusters of this size here
        continue;
      }
      std::vector<std::uint32_t> at(blocks);
      CHECK(cudaMemcpy(at.data(), g_out, blocks * 4, cudaMemcpyDeviceToHost));
      for (int b = 0; b < blocks; ++b) leader[find(at[b])] = find(at[b / size * size]);
    }
  std::vector<int> gpc(g_sms), number(g_sms, -1);
  int count = 0;
  for (int i = 0; i < g_sms; ++i) {
    int& n = number[find(i)];
    if (n < 0) n = count++;
    gpc[i] = n;
  }
  return gpc;
}
static std::string list(const std::vector<int>& v) {
  std::string s;
  for (int x : v) s += (s.empty() ? "" : ", ") + std::to_string(x);
  return s;
}

// --- L2 hits from every SM
// -----------------------------------------------------------------------------

__global__ void chase_from(const std::uint32_t* p, std::uint32_t* out) {
  std::uint32_t at = 0;
  for (int i = 0; i < 8; ++i) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(p + at));
  const std::uint32_t start = now();
#pragma unroll 1
  for (int i = 0; i < 64; ++i) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(p + at));
  out[sm_id()] = (now() - start) / 64 + at;
}
static void hits_by_sm() {
  allow_shared(chase_from, kAlone);
  CHECK(cudaMemset(g_data, 0, kDataBytes));
  for (int line = 0; line < 12; ++line) {
    for (int i = 0; i < 2; ++i)
      chase_from<<<g_sms, 1, kAlone>>>(reinterpret_cast<std::uint32_t*>(g_data) + line * 1024 * 37,
                                       g_out);
    CHECK(cudaGetLastError());
    std::vector<std::uint32_t> c(g_sms);
    CHECK(cudaMemcpy(c.data(), g_out, c.size() * 4, cudaMemcpyDeviceToHost));
    report("l2_hit_by_sm",
           params("line", line) + ", \"cycles\": [" + list({c.begin(), c.end()}) + "]",
           {c.begin(), c.end()}, "cycles");
  }
}

// --- read rates
// ----------------------------------------------------------------------------------------

template <bool kL1>
__device__ __forceinline__ uint4 load(const uint4* p) {
  uint4 r;
  if (kL1)
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "l"(p));
  else
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "l"(p));
  return r;
}
/// Every block reads `vectors` of 16 B `times` times over, from its own place or all from the same.
template <bool kL1>
__global__ void __launch_bounds__(512, 1)
    read_rate(std::uint32_t* out, const uint4* data, int vectors, int times, int own) {
  const uint4* from = data + (own ? std::size_t(blockIdx.x) * vectors : 0) + threadIdx.x;
  std::uint32_t sum = 0;
  __syncthreads();
  const std::uint32_t start = now();
#pragma unroll 1
  for (int t = 0; t < times; ++t)
#pragma unroll 8
    for (int i = 0; i < vectors; i += 512) {
      const uint4 r = load<kL1>(from + i);
      sum += r.x ^ r.y ^ r.z ^ r.w;
    }
  if (sum == 1) out[4000] = 1;
  const std::uint32_t end = now();
  note(out, start, end);
}
template <bool kL1>
void read_rates(int kib, int own, int blocks) {
  allow_shared(read_rate<kL1>, kAlone);
  auto v = slope(
      [&](int times) {
        read_rate<kL1><<<blocks, 512, kAlone>>>(g_out, reinterpret_cast<uint4*>(g_data), kib * 64,
                                                times, own);
        CHECK(cudaGetLastError());
        return span(g_out, 16, blocks);
      },
      4, 12);
  for (double& x : v) x = kib * 1024 / x;
  report("read_rate",
         params("level", kL1 ? "L1" : "L2", "kib_a_block", kib, "blocks", blocks, "source",
                own ? "own" : "common"),
         v, "bytes/cycle of an SM");
}

// --- the same lines from several SMs at once
// -----------------------------------------------------------

constexpr int kRegion = 256 * 1024;

/// The SMs of a group read the same 256 KiB past L1, after all have met; the SM of rank r starts r
/// * skew cycles later. Group -1: idle.
__global__ void __launch_bounds__(256, 1)
    together(std::uint32_t* out, const unsigned char* data, const int* group, const int* rank,
             int skew, int sms, unsigned* arrived) {
  const int sm = sm_id();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (*reinterpret_cast<volatile unsigned*>(arrived) < unsigned(sms)) __nanosleep(200);
  }
  __syncthreads();
  const std::uint32_t begin = now();
  while (now() - begin < 2000u + rank[sm] * skew) {
  }
  std::uint32_t sum = 0;
  const std::uint32_t start = now();
  if (group[sm] >= 0) {
    const uint4* from =
        reinterpret_cast<const uint4*>(data + std::size_t(group[sm]) * kRegion) + threadIdx.x;
#pragma unroll 4
    for (int i = 0; i < kRegion / 16; i += 256) {
      const uint4 r = load<false>(from + i);
      sum += r.x ^ r.y ^ r.z ^ r.w;
    }
  }
  if (sum == 1) out[4000] = 1;
  const std::uint32_t end = now();
  note(out, start, end);
}

struct Grouping {
  std::string name;
  std::vector<int> group;
};

static void coalescer(const std::vector<int>& gpc) {
  std::vector<Grouping> groupings;
  auto by = [&](const std::string& name, auto of) {
    Grouping g{name, std::vector<int>(g_sms)};
    for (int i = 0; i < g_sms; ++i) g.group[i] = of(i);
    groupings.push_back(g);
  };
  by("own", [](int i) { return i; });
  for (int k : {2, 4, 6, 8, 16, 18, 33, 66, 132})
    by("neighbours " + std::to_string(k), [&](int i) { return i / k; });
  for (int d : {2, 4, 6, 8, 10, 12, 14, 16, 32, 64})
    by("pairs at distance " + std::to_string(d), [&](int i) { return i / (2 * d) * d + i % d; });
  {
    std::map<int, std::vector<int>> members;  // by GPC
    for (int i = 0; i < g_sms; ++i) members[gpc[i]].push_back(i);
    by("whole GPC", [&](int i) { return gpc[i]; });
    std::vector<int> index(g_sms);
    for (auto& [n, m] : members)
      for (std::size_t k = 0; k < m.size(); ++k) index[m[k]] = static_cast<int>(k);
    by("one SM of every GPC", [&](int i) { return index[i]; });
    by("TPC pairs", [&](int i) { return i / 2; });
    for (int k : {4, 6, 8})
      by("runs of " + std::to_string(k) + " in a GPC",
         [&](int i) { return gpc[i] * 16 + index[i] / k; });
    by("two of a GPC, of different TPCs",
       [&](int i) { return gpc[i] * 16 + index[i] / 4 * 2 + index[i] % 2; });
  }
  int* tables = device<int>(2 * g_sms);
  unsigned* arrived = device<unsigned>(1);
  allow_shared(together, kAlone);
  for (const Grouping& g : groupings)
    for (int skew : {0, 100, 400, 1600}) {
      if (skew > 0 && g.name != "neighbours 2" && g.name != "whole GPC" &&
          g.name != "neighbours 132" && g.name != "one SM of every GPC")
        continue;
      std::vector<int> rank(g_sms);
      std::map<int, int> seen;
      for (int i = 0; i < g_sms; ++i) rank[i] = seen[g.group[i]]++;
      CHECK(cudaMemcpy(tables, g.group.data(), 4 * g_sms, cudaMemcpyHostToDevice));
      CHECK(cudaMemcpy(tables + g_sms, rank.data(), 4 * g_sms, cudaMemcpyHostToDevice));
      auto launch = [&] {
        CHECK(cudaMemset(arrived, 0, 4));
        together<<<g_sms, 256, kAlone>>>(g_out, g_data, tables, tables + g_sms, skew, g_sms,
                                         arrived);
        CHECK(cudaGetLastError());
        return span(g_out, 8, g_sms);
      };
      report("together",
             params("group", g.name.c_str(), "groups", static_cast<int>(seen.size()), "skew", skew),
             g_once ? std::vector<double>{launch(), launch()} : repeated(launch),
             "cycles for 256 KiB an SM");
    }
}

int main(int argc, char** argv) {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  g_sms = prop.multiProcessorCount;
  g_out = device<std::uint32_t>(65536);
  g_data = device<unsigned char>(kDataBytes);
  const std::vector<int> gpc = gpcs();
  if (argc > 1 && std::strcmp(argv[1], "coalescer") == 0) {
    g_once = true;
    coalescer(gpc);
    return 0;
  }
  report("gpc_of_sm", "\"gpc\": [" + list(gpc) + "]", {double(g_sms)}, "SMs");
  hits_by_sm();
  read_rates<true>(64, 1, 1);
  read_rates<true>(64, 1, g_sms);
  for (int blocks : {1, 2, 8, 16, 33, 66, g_sms}) read_rates<false>(128, 1, blocks);
  read_rates<false>(64, 1, g_sms);
  read_rates<false>(192, 1, g_sms);
  read_rates<false>(256, 1, g_sms);
  read_rates<false>(128, 0, g_sms);
  read_rates<false>(4096, 0, g_sms);
  read_rates<false>(16384, 0, g_sms);
  coalescer(gpc);
  CHECK(cudaDeviceSynchronize());
  return 0;
}
