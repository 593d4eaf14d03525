// How a grid fills the chip, and how long short streams take: when each warp starts, has its data
// and ends, with cold caches. Compute capability 7.0.

#include "warp_times.cuh"

static float *g_x, *g_y, *g_z;
constexpr std::size_t kFloats = std::size_t{64} << 20;

/// Each block stays for so many cycles, and sleeps meanwhile.
__global__ void stay(std::uint32_t* out, std::uint32_t cycles) {
  const std::uint32_t time = global_time(), start = now();
  while (now() - start < cycles) __nanosleep(100);
  note_warp(out, time, start, start);
}

/// The same without a note; the block may store a word a thread as the last thing it does.
__global__ void stay_and_store(float* z, std::uint32_t cycles, bool store) {
  const std::uint32_t start = now();
  while (now() - start < cycles) {
  }
  if (store) z[8 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x)] = start;
}

/// Cycles from the first start to the last end on an SM, on average over the SMs; and of the chip.
template <int V, class T, int Reads, bool Write>
void report_stream(int kilo_floats, int threads = 128) {
  const int per_thread = V * sizeof(T) / 4;
  const int blocks = kilo_floats * 1024 / (per_thread * threads);
  std::vector<double> of_sm, of_chip;
  for (int r = 0; r < kRepeats; ++r) {
    const Sms sms = run(blocks, threads, [&] {
      stream<V, T, Reads, Write><<<blocks, threads>>>(g_out, (const T*)g_x, (const T*)g_y, (T*)g_z);
    });
    double sum = 0, last = 0;
    for (const auto& [sm, warps] : sms) {
      double end = 0;
      for (const Warp& w : warps) end = std::max(end, w.end);
      sum += end - warps[0].start;
      last = std::max(last, end);
    }
    of_sm.push_back(sum / sms.size());
    of_chip.push_back(last);
  }
  const std::string what = params("reads", Reads, "writes", int(Write), "kilo_floats", kilo_floats,
                                  "floats_a_thread", per_thread, "threads", threads);
  report("stream_of_sm", what, of_sm, "cycles");
  report("stream_of_chip", what, of_chip, "cycles");
}

/// Cycles between the starts of the first blocks of an SM (half of what fits).
void report_first_starts(int threads) {
  const int fit = std::min(32, 2048 / threads), warps = threads / 32;
  std::vector<double> v;
  for (int r = 0; r < kRepeats; ++r) {
    const Sms sms =
        run(g_sms * fit, threads, [&] { stay<<<g_sms * fit, threads>>>(g_out, 20000); });
    const auto& list = sms.begin()->second;
    const int blocks = std::max(2, fit / 2);
    v.push_back((list[(blocks - 1) * warps].start - list[0].start) / (blocks - 1));
  }
  report("first_starts", params("threads", threads), v, "cycles");
}

/// Cycles of the chip a block, when all slots are filled again and again.
void report_refill(int threads, int stays) {
  std::vector<double> v;
  const int fit = std::min(32, 2048 / threads), blocks = g_sms * fit;
  const auto last = [&](int rounds) {
    double start = 0;
    const Sms sms =
        run(blocks * rounds, threads, [&] { stay<<<blocks * rounds, threads>>>(g_out, stays); });
    for (const auto& [sm, warps] : sms) start = std::max(start, warps.back().start);
    return start;
  };
  for (int r = 0; r < kRepeats; ++r) v.push_back((last(8) - last(4)) / (blocks * 4));
  report("refill", params("threads", threads, "stays", stays), v, "cycles");
}

/// Cycles from the end of a stay to the start of the next block's in the same slot, at a quarter of
/// the blocks that fit, so that neither slots nor dispatches are short. By events.
void report_turnaround(int threads, bool store) {
  constexpr int kStay = 8000, kRounds[] = {8, 24};
  const int fit = std::max(1, std::min(32, 2048 / threads) / 4);
  const int shared = 200 * 1024 / fit;
  allow_shared(stay_and_store, shared);
  int resident = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, stay_and_store, threads, shared));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  const auto cycles = [&](int rounds) {
    CHECK(cudaEventRecord(begin));
    stay_and_store<<<g_sms * resident * rounds, threads, shared>>>(g_z, kStay, store);
    CHECK(cudaEventRecord(end));
    CHECK(cudaDeviceSynchronize());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    return ms * 1e6 * g_cycles_of_ns;
  };
  std::vector<double> v;
  cycles(kRounds[1]);
  for (int r = 0; r < kRepeats; ++r) {
    v.push_back((cycles(kRounds[1]) - cycles(kRounds[0])) / (kRounds[1] - kRounds[0]) - kStay);
  }
  report("turnaround", params("threads", threads, "blocks_of_sm", resident, "stores", int(store)),
         v, "cycles");
}

int main() {
  set_up();
  g_x = device<float>(kFloats), g_y = device<float>(kFloats), g_z = device<float>(kFloats);
  for (int threads : {32, 64, 128, 256, 512, 1024}) report_first_starts(threads);
  for (int threads : {32, 128, 256})
    for (bool store : {false, true}) report_turnaround(threads, store);
  for (int threads : {32, 64, 128, 256}) report_refill(threads, 0), report_refill(threads, 2000);
  for (int kilo : {64, 256, 1024, 4096, 16384}) {
    report_stream<1, float4, 1, false>(kilo);
    report_stream<2, float4, 0, true>(kilo);
    report_stream<2, float4, 1, true>(kilo);
    report_stream<2, float4, 2, true>(kilo);
  }
  for (int kilo : {1024, 10240}) {
    report_stream<1, float2, 2, true>(kilo);
    report_stream<1, float4, 2, true>(kilo);
    report_stream<4, float4, 2, true>(kilo, 64);
    report_stream<8, float4, 2, true>(kilo);
    report_stream<1, float2, 2, false>(kilo);
    report_stream<2, float4, 2, false>(kilo);
    report_stream<8, float4, 2, false>(kilo);
  }
}
