// What kernels leave dirty in the L2, and what they displace of what others left: kernels that
// read, write or do both, by size, at three places of one buffer. DRAM bytes are for Nsight Compute
// to count; run alone:
//
//   nvcc -O3 -std=c++17 -arch=native dirty.cu -o dirty
//   ncu --clock-control none --cache-control all --print-units base --csv -k traffic --metrics
//       dram__bytes_write.sum,dram__bytes_read.sum,lts__t_sectors_op_read.sum,
//       lts__t_sectors_op_write.sum ./dirty
//
// A line `launch` for each launch, in their order, and the latency of 512 lines, 4 KiB apart: cold,
// read again, and after the same SM has written them. Results on an H200:
// traces/h200/microbench_dirty.jsonl.

#include "harness.cuh"

constexpr int kPiece = 4096, kOfPiece = kPiece / sizeof(uint4);

/// Blocks take pieces of 4 KiB in turns: each reads piece i of `in`, and writes the piece of `out`
/// that is `later` of its turns before. `first`: all writes of a block come before its reads.
__global__ void traffic(const uint4* in, int reads, uint4* out, int writes, int later, bool first,
                        std::uint32_t* sink) {
  std::uint32_t sum = 0;
  const int n = max(reads, writes), step = gridDim.x, lane = threadIdx.x;
  if (first) {
    for (int i = blockIdx.x; i < writes; i += step)
      out[i * kOfPiece + lane] = make_uint4(i, 1, 2, 3);
  }
  for (int i = blockIdx.x; i < n + later * step; i += step) {
    if (i < reads) {
      uint4 r;
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                   : "l"(in + i * kOfPiece + lane));
      sum += r.x ^ r.y ^ r.z ^ r.w;
    }
    const int w = i - later * step;
    if (!first && w >= 0 && w < writes) out[w * kOfPiece + lane] = make_uint4(i, 1, 2, 3);
  }
  if (sum == 1) *sink = 1;
}

/// One warp: loads of each line, cold, again, and after all were stored.
__global__ void lone(std::uint32_t* data, int lines, int stride, std::uint32_t* out) {
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = 0; i < lines; ++i) {
      std::uint32_t* p = data + std::size_t(i) * stride + threadIdx.x;
      if (pass == 2) {
        asm volatile("st.global.cg.u32 [%0], %1;" ::"l"(p), "r"(i) : "memory");
        continue;
      }
      std::uint32_t v;
      const std::uint32_t start = now();
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
      if (v == 0x7fffffff) __trap();
      const std::uint32_t end = now();
      if (threadIdx.x == 0) out[pass * lines + i] = end - start;
    }
    __threadfence();
    __syncwarp();
    for (int k = 0; k < 20; ++k) __nanosleep(1000);
  }
}

int main() {
  constexpr std::size_t kMiB = 1 << 20;
  char* data = device<char>(1024 * kMiB);
  std::uint32_t* sink = device<std::uint32_t>(1);
  const auto go = [&](double read, double write, int later, bool first, int place) {
    const auto pieces = [](double mb) { return int(mb * 1e6 / kPiece); };
    std::printf("launch read %.1f write %.1f later %d first %d place %d\n", read, write, later,
                first, place);
    traffic<<<264, kOfPiece>>>(reinterpret_cast<uint4*>(data + place * kMiB), pieces(read),
                               reinterpret_cast<uint4*>(data + (place + 320) * kMiB), pieces(write),
                               later, first, sink);
    CHECK(cudaDeviceSynchronize());
  };
  for (int place : {0, 100, 222}) {
    for (double m : {20, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 50, 60, 80})
      go(m, 0, 0, false, place);
    for (double m : {12, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 50, 64, 100})
      go(0, m, 0, false, place);
    for (double m : {12, 14, 16, 17, 18, 20, 24, 34, 67, 134}) go(m, m, 1, false, place);
    for (double m : {20, 26, 34}) go(m, 12, 1, true, place);
    for (double m : {8, 16, 24, 34}) go(8.4, m, 40, false, place);
    for (double m : {4, 8, 16}) go(2 * m, m, 1, false, place);
  }
  constexpr int kLines = 512;
  std::uint32_t* out = device<std::uint32_t>(4 * kLines);
  lone<<<1, 32>>>(reinterpret_cast<std::uint32_t*>(data + 700 * kMiB), kLines,
                  kPiece / sizeof(std::uint32_t), out);
  std::vector<std::uint32_t> cycles(4 * kLines);
  CHECK(cudaMemcpy(cycles.data(), out, cycles.size() * sizeof(std::uint32_t),
                   cudaMemcpyDeviceToHost));
  const char* names[] = {"cold_load", "load_again", "", "load_after_own_store"};
  for (int pass : {0, 1, 3}) {
    const auto at = cycles.begin() + pass * kLines;
    report(names[pass], params("lines", kLines), std::vector<double>(at, at + kLines), "cycles");
  }
}
