// What stores leave in the L1: a block stores, then loads what another of its threads has stored.
// The hits are for Nsight Compute to count:
//
//   nvcc -O3 -std=c++17 -arch=native l1_stores.cu -o l1_stores
//   ncu --metrics l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,\
//       l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum --csv ./l1_stores
//
// Launches come in the order of main(). Results on an H200: traces/h200/microbench_l1_stores.jsonl.

#include "harness.cuh"

constexpr int kThreads = 1024, kFloatsOfKiB = 256, kFloatsOfSector = 8;

__device__ float load(const float* p) {
  float v;
  asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
  return v;
}
__device__ void store(float* p, float v) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}

/// Loads all of p, each element by another warp than stored it; the sum keeps the loads.
__device__ void load_all(const float* p, int n, float* out) {
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += kThreads) sum += load(p + (i ^ 33));
  if (sum == -1.0f) *out = sum;
}

__global__ void whole_sectors(float* p, int n, float* out) {
  for (int i = threadIdx.x; i < n; i += kThreads) store(p + i, 1.0f);
  load_all(p, n, out);
}

/// Writes one half of each sector, and, if `both`, the other with a second instruction.
__global__ void half_sectors(float* p, int n, bool both, float* out) {
  constexpr int kHalf = kFloatsOfSector / 2;
  for (int half = 0; half <= (both ? 1 : 0); ++half) {
    for (int i = threadIdx.x; i < n / 2; i += kThreads) {
      store(p + i / kHalf * kFloatsOfSector + half * kHalf + i % kHalf, 1.0f);
    }
  }
  load_all(p, n, out);
}

/// Loads p, stores q, loads p again: what do stores displace?
__global__ void displaced(float* p, int n, float* q, int m, float* out) {
  load_all(p, n, out);
  __syncthreads();
  for (int i = threadIdx.x; i < m; i += kThreads) store(q + i, 1.0f);
  load_all(p, n, out);
}

int main() {
  constexpr int kLargest = 512 * kFloatsOfKiB;
  float* p = device<float>(kLargest);
  float* q = device<float>(kLargest);
  float* out = device<float>(1);
  for (int kib : {4, 32, 64, 128, 192, 224, 256, 512}) {
    whole_sectors<<<1, kThreads>>>(p, kib * kFloatsOfKiB, out);
  }
  for (bool both : {false, true}) {
    half_sectors<<<1, kThreads>>>(p, 32 * kFloatsOfKiB, both, out);
  }
  for (int kib : {0, 32, 64, 96, 128, 160, 192, 256}) {
    displaced<<<1, kThreads>>>(p, 96 * kFloatsOfKiB, q, kib * kFloatsOfKiB, out);
  }
  CHECK(cudaDeviceSynchronize());
}
