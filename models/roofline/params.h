#pragma once

#include <tuple>

#include "sim/config/param.h"

namespace xpusim::roofline {

/// The limits of a chip, and nothing else about it.
struct RooflineParams {
  double flops = 60e12;
  double tensor_flops = 990e12;
  double hbm_bandwidth = 4.8e12;
  std::uint64_t hbm_capacity = 141'000'000'000;

  static constexpr auto schema() {
    using config::field;
    using config::Unit;
    return std::tuple{field("flops", &RooflineParams::flops, Unit::kFlopsPerSecond,
                            "peak of the vector units in f32", 1e6, 1e18),
                      field("tensor_flops", &RooflineParams::tensor_flops, Unit::kFlopsPerSecond,
                            "peak of the matrix units, dense bf16", 1e6, 1e18),
                      field("hbm_bandwidth", &RooflineParams::hbm_bandwidth, Unit::kBytesPerSecond,
                            "bandwidth of device memory", 1e6, 1e15),
                      field("hbm_capacity", &RooflineParams::hbm_capacity, Unit::kBytes,
                            "size of device memory", 1e6, 1e14)};
  }
};

}  // namespace xpusim::roofline
