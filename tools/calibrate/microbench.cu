// Microbenchmarks of an NVIDIA GPU, for the numbers in configs/gpu/: latencies by pointer chase,
// bandwidths by size, atomics on one address, block start. Prints one JSON object a line: {"name",
// "params", "value", "unit", "spread"} (median of the repeats; spread: smallest and largest).
//
//   nvcc -O3 -std=c++17 -arch=native microbench.cu -o microbench && ./microbench > out.jsonl

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t e = (call);                                                           \
    if (e != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)

static void report(const std::string& name, const std::string& params, std::vector<double> v,
                   const char* unit) {
  std::sort(v.begin(), v.end());
  std::printf(
      "{\"name\": \"%s\", \"params\": {%s}, \"value\": %.6g, \"unit\": \"%s\", \"spread\": [%.6g, "
      "%.6g]}\n",
      name.c_str(), params.c_str(), v[v.size() / 2], unit, v.front(), v.back());
  std::fflush(stdout);
}

/// Device buffer of `bytes`, zeroed.
template <class T>
static T* device(std::size_t count) {
  T* p;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  CHECK(cudaMemset(p, 0, count * sizeof(T)));
  return p;
}

static float* g_flush;
static const std::size_t kFlushBytes = std::size_t{512} << 20;

/// Writes half a gigabyte: nothing of what the next kernel reads stays in L2.
__global__ void flush_kernel(float* p, std::size_t n) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    p[i] += 1;
}
static void flush() { flush_kernel<<<1024, 256>>>(g_flush, kFlushBytes / 4); }

/// Times in ns of one launch after a flush (or warm, after one run without), by events.
static std::vector<double> times(const std::function<void()>& launch, bool cold, int repeats = 11) {
  cudaEvent_t a, b;
  CHECK(cudaEventCreate(&a));
  CHECK(cudaEventCreate(&b));
  launch();
  CHECK(cudaGetLastError());
  std::vector<double> out;
  for (int i = 0; i < repeats; ++i) {
    if (cold) flush();
    CHECK(cudaEventRecord(a));
    launch();
    CHECK(cudaEventRecord(b));
    CHECK(cudaEventSynchronize(b));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, a, b));
    out.push_back(ms * 1e6);
  }
  return out;
}

// --- latency: one thread follows a random cycle of lines
// -----------------------------------------------

__global__ void chase(const uint32_t* next, int steps, int warm, uint32_t* cycles, uint32_t* sink) {
  uint32_t at = 0;
  for (int i = 0; i < warm; ++i) at = next[at];
  const uint32_t start = clock();
  for (int i = 0; i < steps; ++i) at = next[at];
  *cycles = clock() - start;
  *sink = at;
}

static void latencies() {
  for (std::size_t kib :
       {16, 64, 128, 512, 2048, 8192, 16384, 24576, 32768, 49152, 131072, 1048576}) {
    const std::size_t stride = 32;  // words: one 128-byte line
    const std::size_t lines = kib * 1024 / 128;
    std::vector<uint32_t> order(lines), next(lines * stride, 0);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937(1));
    for (std::size_t i = 0; i < lines; ++i)
      next[order[i] * stride] = static_cast<uint32_t>(order[(i + 1) % lines] * stride);
    uint32_t* p = device<uint32_t>(next.size());
    CHECK(cudaMemcpy(p, next.data(), next.size() * 4, cudaMemcpyHostToDevice));
    uint32_t* out = device<uint32_t>(2);
    std::vector<double> v;
    const int warm = static_cast<int>(std::min<std::size_t>(lines, 400000)), steps = 4096;
    for (int i = 0; i < 5; ++i) {
      chase<<<1, 1>>>(p, steps, warm, out, out + 1);
      uint32_t cycles;
      CHECK(cudaMemcpy(&cycles, out, 4, cudaMemcpyDeviceToHost));
      v.push_back(double(cycles) / steps);
    }
    report("chase", "\"kib\": " + std::to_string(kib), v, "cycles");
    CHECK(cudaFree(p));
    CHECK(cudaFree(out));
  }
}

// --- bandwidth: streams of 16 B a thread, a block a tile as Triton makes them
// ---------------------------

template <int kVectors, int kReads, bool kWrites>
__global__ void stream(const float4* x, const float4* y, const float4* z, float4* out,
                       std::size_t n) {
  const std::size_t base = (std::size_t{blockIdx.x} * kVectors) * blockDim.x + threadIdx.x;
  float4 a[kVectors] = {};
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::size_t i = base + v * blockDim.x;
    if (i < n) {
      const float4* sources[3] = {x, y, z};
      for (int r = 0; r < kReads; ++r) {
        const float4 t = sources[r][i];
        a[v].x += t.x;
        a[v].y += t.y;
        a[v].z += t.z;
        a[v].w += t.w;
      }
    }
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const std::size_t i = base + v * blockDim.x;
    if (kWrites ? i < n : a[v].x == 123456.f) out[i] = a[v];
  }
}

template <int kVectors, int kReads, bool kWrites>
static void bandwidth(float4* p, const char* mode) {
  for (std::size_t mib : {4, 16, 40, 80, 160, 320, 1024}) {
    const std::size_t n = mib * 1024 * 1024 / 16;
    const std::size_t step = std::size_t{1} << 26;  // 1 GiB apart
    const int threads = 128;
    const unsigned blocks =
        static_cast<unsigned>((n + threads * kVectors - 1) / (threads * kVectors));
    for (bool cold : {true, false}) {
      auto t = times(
          [&] {
            stream<kVectors, kReads, kWrites>
                <<<blocks, threads>>>(p, p + step, p + 2 * step, p + 3 * step, n);
          },
          cold);
      report("stream",
             std::string("\"mode\": \"") + mode + "\", \"vectors\": " + std::to_string(kVectors) +
                 ", \"mib_each\": " + std::to_string(mib) +
                 ", \"cold\": " + (cold ? "true" : "false"),
             t, "ns");
    }
  }
}

// --- atomics
// -------------------------------------------------------------------------------------------

template <class T, bool kReturns>
__global__ void atomics(T* p, int per_block, int spread, T* sink) {
  if (threadIdx.x == 0)
    for (int i = 0; i < per_block; ++i) {
      T r = atomicAdd(p + (blockIdx.x % spread) * 64, T(1));
      if (kReturns) *sink = r;
    }
}
/// All lanes of a warp on `distinct` different words of one line.
__global__ void atomics_lanes(int* p, int distinct, int repeats) {
  for (int i = 0; i < repeats; ++i) atomicAdd(p + (blockIdx.x * 32) + threadIdx.x % distinct, 1);
}

static void atomic_rates() {
  float* f = device<float>(1 << 20);
  int* n = device<int>(1 << 20);
  for (int blocks : {1024, 4096, 16384, 65536}) {
    for (int spread : {1, 2, 8, 64, 1024}) {
      const std::string params =
          "\"blocks\": " + std::to_string(blocks) + ", \"addresses\": " + std::to_string(spread);
      report(
          "red_f32", params,
          times([&] { atomics<float, false><<<blocks, 128>>>(f, 1, spread, f + 999999); }, false),
          "ns");
      report("red_i32", params,
             times([&] { atomics<int, false><<<blocks, 128>>>(n, 1, spread, n + 999999); }, false),
             "ns");
      report("atom_f32", params,
             times([&] { atomics<float, true><<<blocks, 128>>>(f, 1, spread, f + 999999); }, false),
             "ns");
    }
    report("no_atomics", "\"blocks\": " + std::to_string(blocks),
           times([&] { atomics<float, false><<<blocks, 128>>>(f, 0, 1, f + 999999); }, false),
           "ns");
  }
  for (int distinct : {1, 2, 4, 8, 16, 32})
    report("red_lanes",
           "\"blocks\": 1320, \"repeats\": 64, \"distinct\": " + std::to_string(distinct),
           times([&] { atomics_lanes<<<1320, 32>>>(n, distinct, 64); }, false), "ns");
}

// --- block start
// -------------------------------------------------------------------------------------

__global__ void empty(int* p) {
  if (threadIdx.x == 9999) *p = 1;
}

static void block_start() {
  int* p = device<int>(1);
  for (int threads : {32, 128, 256, 1024})
    for (int blocks : {1, 132, 1320, 13200, 132000, 1056000})
      report("empty_kernel",
             "\"threads\": " + std::to_string(threads) + ", \"blocks\": " + std::to_string(blocks),
             times([&] { empty<<<blocks, threads>>>(p); }, false), "ns");
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  g_flush = device<float>(kFlushBytes / 4);
  std::printf(
      "{\"name\": \"device\", \"params\": {\"name\": \"%s\", \"sms\": %d, \"l2_bytes\": %d}}\n",
      prop.name, prop.multiProcessorCount, prop.l2CacheSize);
  latencies();
  block_start();
  atomic_rates();
  float4* p = device<float4>(std::size_t{1} << 28);
  bandwidth<1, 1, false>(p, "read");
  bandwidth<8, 1, false>(p, "read");
  bandwidth<1, 1, true>(p, "copy");
  bandwidth<8, 1, true>(p, "copy");
  bandwidth<2, 2, true>(p, "add");
  bandwidth<2, 3, true>(p, "triad3");
  bandwidth<1, 0, true>(p, "write");
  bandwidth<8, 0, true>(p, "write");
  CHECK(cudaDeviceSynchronize());
  return 0;
}
