// How addresses spread over the L2's slices and the channels of the HBM: reads of regions and of
// pieces at a stride, one launch each, for Nsight Compute to count a slice and a channel at most
// and on average:
//
//   ncu --clock-control none --cache-control all --print-units base --csv -k touch
//       --metrics M1,M2,... ./spread
//
// with lts__t_sectors_srcunit_tex_op_read and dram__bytes_read, .sum, .max, .min, .avg. Compute
// capability 7.0.

#include "harness.cuh"

/// Reads each 16 B of the pieces once, past the L1.
__global__ void touch(std::uint32_t* out, const unsigned char* data, std::size_t vectors,
                      int of_piece, std::size_t stride) {
  std::uint32_t sum = 0;
  for (std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x; i < vectors;
       i += std::size_t(gridDim.x) * blockDim.x) {
    uint4 r;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
                 : "l"(data + i / of_piece * stride + i % of_piece * 16));
    sum += r.x ^ r.y ^ r.z ^ r.w;
  }
  if (sum == 1) *out = 1;
}

int main() {
  std::uint32_t* out = device<std::uint32_t>(64);
  unsigned char* data = device<unsigned char>(std::size_t{5} << 30);
  const auto go = [&](std::size_t pieces, int piece, std::size_t stride, std::size_t offset = 0) {
    const std::size_t vectors = pieces * piece / 16;
    const int blocks = int(std::min<std::size_t>(1056, (vectors + 255) / 256));
    touch<<<blocks, 256>>>(out, data + offset, vectors, piece / 16, stride);
    CHECK(cudaDeviceSynchronize());
    std::printf(
        "{\"name\": \"touch\", \"params\": {%s}, \"value\": %zu, \"unit\": \"bytes\"}\n",
        params("pieces", int(pieces), "piece", piece, "stride", int(stride), "offset", int(offset))
            .c_str(),
        pieces * piece);
  };
  for (std::size_t offset : {std::size_t{0}, std::size_t{64} << 20})
    for (int bits = 9; bits <= 26; ++bits) go(1, 1 << bits, 1 << bits, offset);
  for (int bits = 9; bits <= 20; ++bits) go(4096, 512, std::size_t{1} << bits);
  for (int bits = 12; bits <= 18; ++bits) go(2048, 4096, std::size_t{1} << bits);
  for (int offset = 0; offset < 16; ++offset) go(1, 4096, 4096, offset * 4096 + (200 << 20));
}
