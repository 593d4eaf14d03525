// How evenly the chip serves its SMs: when each of them ends its part of a stream, how long single
// loads take while all SMs ask, by SM, and rows that blocks read, sum up and write (as a softmax
// does). With a file as argument every warp's times go there, as 32-bit words; the lines `raw` say
// which. Compute capability 7.0.

#include <cstring>

#include "warp_times.cuh"

static float *g_x, *g_y, *g_z;
static std::FILE* g_raw = nullptr;
static std::size_t g_raw_words = 0;
constexpr std::size_t kFloats = std::size_t{96} << 20;

static void keep_raw(const std::string& what, std::size_t words) {
  if (g_raw == nullptr) return;
  std::vector<std::uint32_t> raw(words);
  CHECK(cudaMemcpy(raw.data(), g_out, words * 4, cudaMemcpyDeviceToHost));
  std::fwrite(raw.data(), 4, words, g_raw);
  std::printf(
      "{\"name\": \"raw\", \"params\": {%s, \"first\": %zu}, \"value\": %zu, \"unit\": "
      "\"words\"}\n",
      what.c_str(), g_raw_words, words);
  g_raw_words += words;
}

static double at_share(std::vector<double> v, double share) {
  std::sort(v.begin(), v.end());
  return v[static_cast<std::size_t>(share * static_cast<double>(v.size() - 1))];
}

/// Of the warps of a launch: when SMs end, and how long their loads take.
static void report_warps(const std::string& what, int blocks, int threads,
                         const std::function<void()>& launch, bool cold) {
  std::map<std::string, std::vector<double>> found;
  std::vector<std::size_t> of_sm(g_sms, 0);
  for (int r = 0; r < kRepeats; ++r) {
    const Sms sms = run(blocks, threads, launch, cold);
    for (const auto& [sm, warps] : sms) of_sm[sm] += warps.size();
    if (r < 3) keep_raw(what, std::size_t{kNoted} * blocks * (threads / 32));
    std::vector<double> ends, loads, warps_of;
    for (const auto& [sm, warps] : sms) {
      double end = 0;
      for (const Warp& w : warps) {
        end = std::max(end, w.end);
        loads.push_back(w.data - w.start);
      }
      ends.push_back(end);
      warps_of.push_back(double(warps.size()));
    }
    for (int p : {0, 10, 50, 90, 100}) {
      found["sm_ends_p" + std::to_string(p)].push_back(at_share(ends, p / 100.0));
      found["load_p" + std::to_string(p)].push_back(at_share(loads, p / 100.0));
      if (p % 100 == 0 || p == 50)
        found["warps_of_sm_p" + std::to_string(p)].push_back(at_share(warps_of, p / 100.0));
    }
  }
  for (const auto& [name, v] : found)
    report(name.c_str(), what, v, name[0] == 'w' ? "warps" : "cycles");
  if (blocks < 8 * g_sms) return;
  std::string list;
  for (std::size_t n : of_sm) list += (list.empty() ? "" : ", ") + std::to_string(n);
  report("warps_by_sm", what + ", \"all_repeats\": [" + list + "]", {double(of_sm.size())}, "SMs");
}

template <int V, class T, int Reads, bool Write>
void report_stream(int kilo_floats, int threads, bool cold = true) {
  const int per_thread = V * sizeof(T) / 4;
  const int blocks = kilo_floats * 1024 / (per_thread * threads);
  report_warps(
      params("kernel", "stream", "reads", Reads, "writes", int(Write), "kilo_floats", kilo_floats,
             "floats_a_thread", per_thread, "threads", threads, "cold", int(cold)),
      blocks, threads,
      [&] {
        stream<V, T, Reads, Write>
            <<<blocks, threads>>>(g_out, (const T*)g_x, (const T*)g_y, (T*)g_z);
      },
      cold);
}

/// A block reads a row of V float4 a thread, sums it up over all its threads, and writes it.
template <int V>
__global__ void rows(std::uint32_t* out, const float4* x, float4* z) {
  __shared__ float sums[32];
  const std::uint32_t time = global_time(), start = now();
  const std::size_t base = std::size_t{blockIdx.x} * blockDim.x * V + threadIdx.x;
  float4 a[V];
#pragma unroll
  for (int i = 0; i < V; ++i) a[i] = x[base + i * blockDim.x];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) sum += a[i].x + a[i].y + a[i].z + a[i].w;
#pragma unroll
  for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(~0u, sum, i);
  const std::uint32_t data = clock_after(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int i = 0; i < blockDim.x / 32; ++i) sum += sums[i];
  const float scale = 1 / sum;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    a[i].x *= scale, a[i].y *= scale, a[i].z *= scale, a[i].w *= scale;
    z[base + i * blockDim.x] = a[i];
  }
  note_warp(out, time, start, data);
}

template <int V>
void report_rows(int count, int threads) {
  report_warps(
      params("kernel", "rows", "rows", count, "floats_a_thread", 4 * V, "threads", threads), count,
      threads, [&] { rows<V><<<count, threads>>>(g_out, (const float4*)g_x, (float4*)g_z); }, true);
}

constexpr int kSteps = 32;

/// Every warp reads `Loads` times 512 B and waits, again and again, each time from elsewhere.
template <int Loads>
__global__ void __launch_bounds__(1024, 2)
    all_load(std::uint32_t* out, const float4* x, std::size_t vectors) {
  __shared__ std::uint32_t took[32][kSteps];
  const int warps = gridDim.x * 32, warp = blockIdx.x * 32 + threadIdx.x / 32;
  const std::uint32_t first = now();
  float sum = 0;
  for (int t = 0; t < kSteps; ++t) {
    float4 a[Loads];
    const std::uint32_t start = now();
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
      const std::size_t at =
          ((std::size_t(t) * Loads + i) * warps + warp) * 32 % vectors + threadIdx.x % 32;
      asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(a[i].x), "=f"(a[i].y), "=f"(a[i].z), "=f"(a[i].w)
                   : "l"(x + at));
    }
#pragma unroll
    for (int i = 0; i < Loads; ++i) sum += a[i].x + a[i].y + a[i].z + a[i].w;
    const std::uint32_t end = clock_after(sum);
    if (threadIdx.x % 32 == 0) took[threadIdx.x / 32][t] = end - start;
    __syncwarp();
  }
  std::uint32_t* o = out + std::size_t(warp) * (kSteps + 3);
  const std::uint32_t last = now();
  o[3 + threadIdx.x % 32] = took[threadIdx.x / 32][threadIdx.x % 32];
  if (threadIdx.x % 32 == 0) o[0] = sm_number(), o[1] = first, o[2] = last;
}

template <int Loads>
void report_all_load(int mega_bytes, bool cold) {
  const int blocks = 2 * g_sms, words = kSteps + 3;
  const std::size_t vectors = std::size_t(mega_bytes) << 16;
  const std::string what = params("loads", Loads, "mega_bytes", mega_bytes, "cold", int(cold));
  std::map<std::string, std::vector<double>> found;
  for (int r = 0; r < kRepeats; ++r) {
    if (cold) flush<<<4 * g_sms, 512>>>(g_flush, kFlushFloats);
    all_load<Loads><<<blocks, 1024>>>(g_out, (const float4*)g_x, vectors);
    CHECK(cudaDeviceSynchronize());
    const std::size_t count = std::size_t(blocks) * 32 * words;
    if (r > 0 && r < 3) keep_raw("\"kernel\": \"all_load\", " + what, count);
    std::vector<std::uint32_t> c(count);
    CHECK(cudaMemcpy(c.data(), g_out, c.size() * 4, cudaMemcpyDeviceToHost));
    std::vector<double> loads;
    std::map<std::uint32_t, std::vector<double>> of_sm;
    for (std::size_t w = 0; w < c.size(); w += words)
      for (int t = 4; t < kSteps - 4; ++t) {
        loads.push_back(c[w + 3 + t]);
        of_sm[c[w]].push_back(c[w + 3 + t]);
      }
    std::vector<double> sms;
    for (const auto& [sm, v] : of_sm) {
      double sum = 0;
      for (double x : v) sum += x;
      sms.push_back(sum / v.size());
    }
    for (int p : {0, 10, 50, 90, 99, 100}) {
      found["loaded_latency_p" + std::to_string(p)].push_back(at_share(loads, p / 100.0));
      if (p != 99)
        found["loaded_latency_of_sm_p" + std::to_string(p)].push_back(at_share(sms, p / 100.0));
    }
  }
  for (const auto& [name, v] : found) report(name.c_str(), what, v, "cycles");
}

/// A stream of one float4 a thread whose blocks read in another order than they come in. `touched`:
/// each warp first reads a word of the same large page.
__global__ void scattered(std::uint32_t* out, const float4* x, int by, int from, bool touched) {
  constexpr std::size_t kBeyond = std::size_t{1} << 16;  // float4: 1 MiB
  const std::size_t block = (std::size_t{blockIdx.x} * by + from) % gridDim.x;
  const std::size_t at = block * blockDim.x + threadIdx.x;
  float sum = 0;
  if (touched) {
    sum = __ldg(&x[(at | (kBeyond - 1)) ^ (kBeyond * 1) ^ 0x1f].x);
    if (clock_after(sum) == 1) sum = 1;
  }
  __syncthreads();
  const std::uint32_t time = global_time(), start = now();
  const float4 a = __ldg(x + at);
  sum += a.x + a.y + a.z + a.w;
  note_warp(out, time, start, clock_after(sum));
}

static void report_scattered(int blocks, bool touched) {
  constexpr int kThreads = 128;
  for (int r = 0; r < 8; ++r) {
    const int by = 2 * (r * 37 % 64) + 1, from = r * 11;
    const std::string what = params("kernel", "scattered", "blocks", blocks, "by", by, "from", from,
                                    "touched", int(touched));
    run(blocks, kThreads,
        [&] { scattered<<<blocks, kThreads>>>(g_out, (const float4*)g_x, by, from, touched); });
    keep_raw(what, std::size_t{kNoted} * blocks * (kThreads / 32));
  }
}

/// One warp of one SM reads 512 B after the other; each load's cycles.
__global__ void lone(std::uint32_t* out, const float4* x, int sm, int count) {
  if (int(sm_number()) != sm) return;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t start = now();
    const float4 a = __ldg(x + i * 32 + threadIdx.x);
    const std::uint32_t end = clock_after(a.x + a.y + a.z + a.w);
    if (threadIdx.x == 0) out[i] = end - start;
  }
}

/// Each 4 KiB is far or near: by their median loads. `bits`: of the address, from 12, that turn it.
static void report_lone(int sm) {
  constexpr int kAlone = 120 * 1024, kCount = 4096, kOfPiece = 8;
  allow_shared(lone, kAlone);
  flush<<<4 * g_sms, 512>>>(g_flush, kFlushFloats);
  lone<<<g_sms, 32, kAlone>>>(g_out, (const float4*)g_x, sm, kCount);
  CHECK(cudaDeviceSynchronize());
  keep_raw(params("kernel", "lone", "sm", sm), kCount);
  std::vector<std::uint32_t> c(kCount);
  CHECK(cudaMemcpy(c.data(), g_out, c.size() * 4, cudaMemcpyDeviceToHost));
  std::vector<double> pieces, sides[2];
  for (int i = 0; i < kCount; i += kOfPiece)
    pieces.push_back(at_share({c.begin() + i, c.begin() + i + kOfPiece}, 0.5));
  const double middle = (at_share(pieces, 0.1) + at_share(pieces, 0.9)) / 2;
  const auto far = [&](std::size_t piece) { return pieces[piece] > middle; };
  std::string bits;
  for (int b = 0; b < 9; ++b)
    if (far(std::size_t{1} << b) != far(0))
      bits += (bits.empty() ? "" : " ") + std::to_string(12 + b);
  for (int i = 0; i < kCount; ++i) sides[far(i / kOfPiece)].push_back(c[i]);
  for (bool side : {false, true}) {
    const std::string what = params("sm", sm, "side", side ? "far" : "near", "bits", bits.c_str(),
                                    "first_piece", far(0) ? "far" : "near");
    for (int p : {10, 50, 80, 85, 90, 95, 99})
      report(("lone_load_p" + std::to_string(p)).c_str(), what, {at_share(sides[side], p / 100.0)},
             "cycles");
  }
}

int main(int argc, char** argv) {
  if (argc > 1) g_raw = std::fopen(argv[1], "wb");
  set_up();
  g_x = device<float>(kFloats), g_y = device<float>(kFloats), g_z = device<float>(kFloats);
  for (int kilo : {64, 256, 512, 1024, 2048, 4096}) report_stream<1, float4, 1, false>(kilo, 128);
  report_stream<1, float4, 1, false>(2048, 128, false);
  report_stream<2, float4, 2, true>(1024, 128);
  report_stream<4, float4, 2, true>(10240, 64);
  report_stream<2, float4, 2, true>(10240, 128);
  report_rows<16>(2048, 256);
  report_rows<32>(2048, 128);
  report_rows<4>(4096, 256);
  report_all_load<1>(256, true);
  report_all_load<2>(256, true);
  report_all_load<1>(16, false);
  report_all_load<2>(16, false);
  for (int sm : {0, 1, 2, 4, 6, 14, 60, 130}) report_lone(sm);
  if (g_raw == nullptr) return 0;
  for (int blocks : {128, 512, 2048})
    for (bool touched : {false, true}) report_scattered(blocks, touched);
  std::fclose(g_raw);
}
