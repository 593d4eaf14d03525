// How long tiles take to come from HBM, by the pitch and width of their rows: what a matrix product
// waits for when nothing else hides it. And which SM each block of a launch goes to.
// Compute capability 8.0.

#include "harness.cuh"

static std::uint32_t* g_out;
static unsigned char* g_data;
static float* g_flush;
constexpr std::size_t kDataBytes = std::size_t{4} << 30, kFlushBytes = std::size_t{256} << 20;
constexpr int kThreads = 512, kSteps = 24, kAlone = 120 * 1024;

/// Fills the L2 with other lines: clean ones, or dirty ones.
__global__ void flush(float* p, std::size_t n, bool dirty) {
  float sum = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (dirty)
      p[i] += 1;
    else
      sum += p[i];
  }
  if (sum == 1) p[0] = 0;  // never: p holds small whole numbers
}
static bool g_dirty = false;

/// Step after step, the block copies a tile of `rows` rows of `bytes` bytes to shared memory and
/// waits for it; the next tile lies `step` bytes further. Each step's cycles are noted.
__global__ void __launch_bounds__(kThreads, 1)
    walk(std::uint32_t* out, const unsigned char* data, int rows, int of_row_bits,
         std::size_t pitch, std::size_t step, std::size_t of_block) {
  extern __shared__ __align__(1024) unsigned char tile[];
  const unsigned char* base = data + blockIdx.x * of_block;
  const int chunks = rows << of_row_bits;
  for (int t = 0; t < kSteps; ++t) {
    __syncthreads();
    const std::uint32_t start = now();
    for (int c = threadIdx.x; c < chunks; c += kThreads) {
      const unsigned char* from =
          base + t * step + (c >> of_row_bits) * pitch + (c & ((1 << of_row_bits) - 1)) * 16;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(tile) + c * 16),
                   "l"(from)
                   : "memory");
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    const std::uint32_t end = now();
    if (threadIdx.x == 0) out[blockIdx.x * kSteps + t] = end - start;
  }
}

/// Median over blocks and steps, without the first steps, which miss in the TLBs.
static double median_step(int blocks) {
  std::vector<std::uint32_t> c(std::size_t(blocks) * kSteps), v;
  CHECK(cudaMemcpy(c.data(), g_out, c.size() * 4, cudaMemcpyDeviceToHost));
  for (int b = 0; b < blocks; ++b)
    for (int t = 4; t < kSteps; ++t) v.push_back(c[std::size_t(b) * kSteps + t]);
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

static void tiles(const char* what, int blocks, int rows, int bytes, std::size_t pitch,
                  std::size_t step, std::size_t of_block) {
  std::vector<double> cold, warm;
  for (int i = 0; i < kRepeats; ++i) {
    flush<<<1024, 256>>>(g_flush, kFlushBytes / 4, g_dirty);
    for (auto* v : {&cold, &warm}) {
      walk<<<blocks, kThreads, kAlone>>>(g_out, g_data, rows, __builtin_ctz(bytes / 16), pitch,
                                         step, of_block);
      CHECK(cudaGetLastError());
      v->push_back(median_step(blocks));
    }
  }
  const std::string p = params("what", what, "blocks", blocks, "rows", rows, "bytes", bytes,
                               "pitch", int(pitch), "l2", g_dirty ? "dirty" : "clean");
  report("tile_from_hbm", p, cold, "cycles");
  report("tile_from_l2", p, warm, "cycles");
}

__device__ __forceinline__ std::uint32_t sm_id() {
  std::uint32_t r;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
  return r;
}
__global__ void where(std::uint32_t* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = sm_id();
  const std::uint32_t start = now();
  while (now() - start < 100000) {
  }
}
static void placement(int sms, int resident) {
  const int bytes = resident == 1 ? kAlone : resident == 2 ? 100 * 1024 : 50 * 1024;
  allow_shared(where, kAlone);
  for (int blocks : {16, 32, 64, 100, 132, 256, 512}) {
    if (blocks > sms * resident) continue;
    where<<<blocks, 128, bytes>>>(g_out);
    CHECK(cudaGetLastError());
    std::vector<std::uint32_t> sm(blocks);
    CHECK(cudaMemcpy(sm.data(), g_out, blocks * 4, cudaMemcpyDeviceToHost));
    std::printf("{\"name\": \"sm_of_block\", \"params\": {%s, \"sms\": [",
                params("blocks", blocks, "resident", resident).c_str());
    for (int b = 0; b < blocks; ++b) std::printf("%s%u", b ? ", " : "", sm[b]);
    std::printf("]}, \"value\": %d, \"unit\": \"blocks\"}\n", blocks);
  }
}

int main() {
  cudaDeviceProp device_properties;
  CHECK(cudaGetDeviceProperties(&device_properties, 0));
  g_out = device<std::uint32_t>(1 << 16);
  g_data = device<unsigned char>(kDataBytes);
  g_flush = device<float>(kFlushBytes / 4);
  allow_shared(walk, kAlone);
  for (bool dirty : {false, true}) {
    g_dirty = dirty;
    for (std::size_t pitch : {1024, 2048, 8192, 8448, 65536})
      for (int rows : {1, 2, 4, 8, 16, 32, 64, 128, 256}) tiles("rows", 1, rows, 64, pitch, 64, 0);
    for (int rows : {16, 64, 256, 1024})
      tiles("contiguous", 1, rows, 64, 64, std::size_t(rows) * 64, 0);
    // Tiles of a second factor: 32 rows, the next tile below.
    for (std::size_t pitch : {2048, 8192})
      for (int bytes : {64, 256, 512}) tiles("down", 1, 32, bytes, pitch, 32 * pitch, 0);
  }
  g_dirty = false;
  // All blocks of a launch: the same rows, or rows of their own.
  for (int blocks : {16, 64, 132}) {
    for (std::size_t pitch : {2048, 8192}) {
      tiles("rows, common", blocks, 128, 64, pitch, 64, 0);
      tiles("rows, own", blocks, 128, 64, pitch, 64, 128 * pitch);
    }
    tiles("down, own columns", blocks, 32, 128, 16896, 32 * 16896, 128);
    tiles("contiguous, own", blocks, 128, 64, 64, 128 * 64, std::size_t{24} * 128 * 64);
  }
  for (int resident : {1, 2, 4}) placement(device_properties.multiProcessorCount, resident);
}
