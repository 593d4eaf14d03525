#include <benchmark/benchmark.h>

#include "models/gpu/program/footprint.h"

namespace xpusim::gpu {
namespace {

/// What one warp access costs the host: `stride` bytes between elements, with or without a box
/// mask.
void touch(benchmark::State& state) {
  SiteLayout l;
  l.shape = {1024};
  l.vectors = 2;
  l.vector_elements = 4;
  l.reg_bases = {{512}};
  l.lane_bases = {{4}, {8}, {16}, {32}, {64}};
  l.warp_bases = {{128}, {256}};
  exec::Access a;
  a.element_bytes = 4;
  a.pointers.shape = {1024};
  a.pointers.form = exec::TileForm::kAffine;
  a.pointers.affine.base = 4096;
  a.pointers.affine.digits.push_back({state.range(0), 1, 0, 0});
  a.masked = true;
  a.mask.form = exec::TileForm::kBox;
  a.mask.box.low = {0};
  a.mask.box.high = {state.range(1)};
  Footprint f(l);
  WarpFootprint out;
  unsigned i = 0;
  for (auto _ : state) {
    f.touch(a, i & 3, (i >> 2) & 1, out);
    benchmark::DoNotOptimize(out.count);
    a.pointers.affine.base += 4096;
    ++i;
  }
}
BENCHMARK(touch)->ArgNames({"stride", "below"})->Args({4, 1024})->Args({32, 1024})->Args({4, 900});

}  // namespace
}  // namespace xpusim::gpu
