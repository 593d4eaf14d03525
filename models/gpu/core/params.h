#pragma once

// What an architect may vary about the SMs and the launch. The defaults are a plain large GPU; the
// numbers of a real chip, with their sources, are in configs/gpu/.

#include <cstdint>
#include <tuple>

#include "sim/config/param.h"

namespace xpusim::gpu {

/// Issue intervals and latencies of the arithmetic pipes of one sub-core, in SM cycles.
struct PipeParams {
  std::int64_t fma_interval = 1, imad_interval = 2, alu_interval = 2, fp64_interval = 2,
               xu_interval = 8;
  std::int64_t tensor_interval = 2, uniform_interval = 1;
  std::int64_t xu_latency = 18, xu_queue = 4, fp64_latency = 8;

  static constexpr auto schema() {
    using config::field, config::Unit;
    using P = PipeParams;
    return std::tuple{
        field(
            "imad_interval", &P::imad_interval, Unit::kCycles,
            "integer multiply-adds; twice for wide products. Longer than fma_interval: one half of "
            "the FMA pipe takes them, the other only floats",
            1, 64),
        field("fma_interval", &P::fma_interval, Unit::kCycles,
              "cycles between two FMA-pipe instructions of a sub-core", 1, 64),
        field("alu_interval", &P::alu_interval, Unit::kCycles,
              "cycles between two ALU-pipe instructions", 1, 64),
        field("fp64_interval", &P::fp64_interval, Unit::kCycles,
              "cycles between two FP64 instructions", 1, 64),
        field("xu_interval", &P::xu_interval, Unit::kCycles,
              "cycles between two special-function instructions (4 lanes: 8)", 1, 64),
        field("tensor_interval", &P::tensor_interval, Unit::kCycles,
              "cycles between two HFMA2.MMA instructions", 1, 64),
        field("uniform_interval", &P::uniform_interval, Unit::kCycles,
              "cycles between two uniform-datapath instructions", 1, 64),
        field("xu_latency", &P::xu_latency, Unit::kCycles, "special function: issue to result", 1,
              1000),
        field("xu_queue", &P::xu_queue, Unit::kCount,
              "special-function instructions that a sub-core may have waiting", 1, 16),
        field("fp64_latency", &P::fp64_latency, Unit::kCycles, "FP64: issue to result", 1, 1000),
    };
  }
};

/// The tensor core of a sub-core. Rates are of 16-bit factors; half as wide ones go twice as fast.
struct TensorParams {
  std::int64_t flops = 1024, fp64_flops = 64, fp64_interval = 16;
  std::int64_t mma_interval = 2, mma_latency = 10, mma_step_latency = 7;
  std::int64_t wgmma_interval = 4, wgmma_register_interval = 8;
  std::int64_t wgmma_queue = 6, wgmma_queue_hold = 32, wgmma_tail = 46;
  std::int64_t register_latency = 16, register_gap = 4, register_tail = 27, arrive_latency = 9;
  std::int64_t beside = 2;

  static constexpr auto schema() {
    using config::field, config::Unit;
    using P = TensorParams;
    return std::tuple{
        field("flops", &P::flops, Unit::kCount, "operations a cycle, 16-bit factors", 1, 1 << 20),
        field("fp64_flops", &P::fp64_flops, Unit::kCount, "operations a cycle, f64", 1, 1 << 20),
        field("fp64_interval", &P::fp64_interval, Unit::kCycles,
              "cycles that an f64 mma.sync takes at least", 1, 1000),
        field("mma_interval", &P::mma_interval, Unit::kCycles,
              "cycles of the core that an mma.sync takes beside its products", 0, 1000),
        field("mma_latency", &P::mma_latency, Unit::kCycles,
              "mma.sync: issue to result, beside its steps", 1, 1000),
        field("mma_step_latency", &P::mma_step_latency, Unit::kCycles,
              "mma.sync: latency of a step, two cycles of products", 0, 1000),
        field("wgmma_interval", &P::wgmma_interval, Unit::kCycles,
              "least cycles between two wgmmas of a sub-core, left factor in shared memory", 1, 64),
        field("wgmma_register_interval", &P::wgmma_register_interval, Unit::kCycles,
              "the same, left factor in registers", 1, 64),
        field("wgmma_queue", &P::wgmma_queue, Unit::kCount,
              "wgmmas that a sub-core may have under way", 1, 64),
        field("wgmma_queue_hold", &P::wgmma_queue_hold, Unit::kCycles,
              "begin of a wgmma to its place in the queue being free", 0, 1000),
        field("wgmma_tail", &P::wgmma_tail, Unit::kCycles,
              "end of a wgmma on the core to its completion, left factor in shared memory", 0,
              1000),
        field("register_latency", &P::register_latency, Unit::kCycles,
              "wgmma with its left factor in registers: issue to its begin at the earliest", 0,
              1000),
        field("register_gap", &P::register_gap, Unit::kCycles, "between two such wgmmas of a warp",
              0, 1000),
        field("register_tail", &P::register_tail, Unit::kCycles,
              "end of such a wgmma on the core to its completion", 0, 1000),
        field("arrive_latency", &P::arrive_latency, Unit::kCycles,
              "WARPGROUP.ARRIVE: last warp to release", 1, 1000),
        field("beside", &P::beside, Unit::kCount,
              "times the intervals of the ALU and of the FMA pipe's integer half beside a wgmma", 1,
              16),
    };
  }
};

/// The memory input/output unit, the load/store unit and the L1 of an SM.
struct MioParams {
  std::int64_t issue_interval = 2, queue = 8, lg_queue = 12;
  std::int64_t shared_latency = 29, shuffle_latency = 23, special_register_latency = 20;
  std::int64_t constant_latency = 28, read_latency = 10;
  std::int64_t barrier_latency = 30, barrier_interval = 2, membar_latency = 186;
  std::int64_t l1_latency = 33, l1_ways = 4, l1_tags = 4, outstanding_lines = 640;
  std::int64_t outstanding_stores = 256;
  std::int64_t request_interval = 1, fill_latency = 12, invalidate_cycles = 150;
  std::int64_t copies = 256, shared_bytes_per_cycle = 128, copied_bytes_per_cycle = 256;
  std::int64_t copy_latency = 0, copy_interval = 0;
  std::int64_t proxy_fence_latency = 13, drain_latency = 0;

  static constexpr auto schema() {
    using config::field, config::Unit;
    using P = MioParams;
    return std::tuple{
        field("issue_interval", &P::issue_interval, Unit::kCycles,
              "cycles between two MIO instructions of a sub-core", 1, 64),
        field("queue", &P::queue, Unit::kCount, "MIO instructions that a sub-core may have waiting",
              1, 64),
        field("lg_queue", &P::lg_queue, Unit::kCount,
              "global memory instructions that an SM's L1 may have waiting", 1, 256),
        field("shared_latency", &P::shared_latency, Unit::kCycles,
              "shared memory: service to result", 1, 1000),
        field("shuffle_latency", &P::shuffle_latency, Unit::kCycles, "shuffle: service to result",
              1, 1000),
        field("special_register_latency", &P::special_register_latency, Unit::kCycles,
              "special register read: service to result", 1, 1000),
        field("constant_latency", &P::constant_latency, Unit::kCycles,
              "constant load that hits: service to result", 1, 1000),
        field("read_latency", &P::read_latency, Unit::kCycles,
              "issue to the read of the source registers by the MIO", 1, 1000),
        field("barrier_latency", &P::barrier_latency, Unit::kCycles,
              "last arrival at a block barrier to release", 1, 1000),
        field("barrier_interval", &P::barrier_interval, Unit::kCycles,
              "cycles between two arrivals at an SM's block barriers", 1, 64),
        field("membar_latency", &P::membar_latency, Unit::kCycles,
              "memory fence after the last earlier access is performed", 1, 10000),
        field("l1_latency", &P::l1_latency, Unit::kCycles, "L1 hit: service to result", 1, 1000),
        field("l1_ways", &P::l1_ways, Unit::kCount, "associativity of the L1", 1, 4),
        field("l1_tags", &P::l1_tags, Unit::kCount, "lines that the L1 looks up in a cycle", 1, 32),
        field("outstanding_lines", &P::outstanding_lines, Unit::kCount,
              "lines that an SM's loads may have requested and not received", 4, 8192),
        field("outstanding_stores", &P::outstanding_stores, Unit::kCount,
              "sectors of an SM's stores that may be under way", 16, 65536),
        field("request_interval", &P::request_interval, Unit::kCycles,
              "cycles between two requests that leave the SM", 1, 64),
        field("fill_latency", &P::fill_latency, Unit::kCycles,
              "arrival of the last response to the result", 1, 1000),
        field("invalidate", &P::invalidate_cycles, Unit::kCycles,
              "time that CCTL.IVALL keeps the L1's tag stage", 1, 10000),
        field("copies", &P::copies, Unit::kCount,
              "cp.async instructions that an SM may have under way", 1, 65536),
        field("copy_latency", &P::copy_latency, Unit::kCycles,
              "what cp.async brings from beyond the L1: data to the end of the group", 0, 10000),
        field("copy_interval", &P::copy_interval, Unit::kCycles,
              "between the ends of two warps' waits for cp.async", 0, 1000),
        field("shared_bytes_per_cycle", &P::shared_bytes_per_cycle, Unit::kCount,
              "bytes of shared memory that wgmma, asynchronous copies and the MIO move together", 1,
              2047),
        field("copied_bytes_per_cycle", &P::copied_bytes_per_cycle, Unit::kCount,
              "bytes that asynchronous copies write to shared memory if nothing else does", 1,
              2047),
        field("drain_latency", &P::drain_latency, Unit::kCycles,
              "the last store of a block leaves the SM: until the block's slot is free", 0, 1000),
        field("proxy_fence_latency", &P::proxy_fence_latency, Unit::kCycles,
              "FENCE.VIEW.ASYNC: issue to the next instruction", 1, 1000),
    };
  }
};

/// The engine that copies boxes of tensors, and mbarriers.
struct TmaParams {
  std::int64_t issue_latency = 28, store_latency = 130, descriptor_latency = 450;
  std::int64_t box_interval = 32, line_interval = 1, store_line_interval = 4;
  std::int64_t lines = 384, fill_latency = 12;
  std::int64_t arrive_latency = 6, wait_latency = 43;

  static constexpr auto schema() {
    using config::field, config::Unit;
    using P = TmaParams;
    return std::tuple{
        field("issue_latency", &P::issue_latency, Unit::kCycles,
              "instruction to the first request of its box", 1, 10000),
        field("store_latency", &P::store_latency, Unit::kCycles,
              "instruction to the first read of its box from shared memory", 1, 10000),
        field("descriptor_latency", &P::descriptor_latency, Unit::kCycles,
              "an SM's first copy: its descriptor from memory", 0, 100000),
        field("box_interval", &P::box_interval, Unit::kCycles,
              "cycles between the first requests of two boxes", 1, 10000),
        field("line_interval", &P::line_interval, Unit::kCycles,
              "cycles between two requested lines", 1, 64),
        field("store_line_interval", &P::store_line_interval, Unit::kCycles,
              "cycles between two lines that are written", 1, 64),
        field("lines", &P::lines, Unit::kCount, "lines that an SM's copies may have under way", 4,
              65536),
        field("fill_latency", &P::fill_latency, Unit::kCycles,
              "arrival of a response to its writing to shared memory", 1, 1000),
        field("arrive_latency", &P::arrive_latency, Unit::kCycles,
              "arrival at an mbarrier: service to effect", 1, 1000),
        field("wait_latency", &P::wait_latency, Unit::kCycles,
              "a phase's end, or the wait for one that is over, to the next instruction", 1, 1000),
    };
  }
};

/// Instruction and constant caches of an SM, cold at the start of a launch.
struct FetchParams {
  std::int64_t miss_latency = 200, line_interval = 16, prefetch_lines = 4;
  std::int64_t first_bytes = 32 << 10, second_bytes = 128 << 10, preloaded_bytes = 64 << 10;
  std::int64_t second_latency = 40, l2_interval = 45, cold_interval = 115;
  std::int64_t constant_miss_latency = 200, branch_latency = 12;

  static constexpr auto schema() {
    using config::field, config::Unit;
    using P = FetchParams;
    return std::tuple{
        field("miss_latency", &P::miss_latency, Unit::kCycles,
              "first touch of an instruction line that was not prefetched", 0, 100000),
        field(
            "line_interval", &P::line_interval, Unit::kCycles,
            "cycles between two instruction lines that come from the second cache, or at the start "
            "of a launch",
            1, 10000),
        field("first_bytes", &P::first_bytes, Unit::kBytes, "instruction cache of an SM", 1024,
              1 << 26),
        field("second_bytes", &P::second_bytes, Unit::kBytes, "second instruction cache", 1024,
              1 << 26),
        field("preloaded_bytes", &P::preloaded_bytes, Unit::kBytes,
              "code that a launch has near at hand when it begins", 0, 1 << 26),
        field("second_latency", &P::second_latency, Unit::kCycles,
              "line from the second cache that was not prefetched", 0, 10000),
        field("l2_interval", &P::l2_interval, Unit::kCycles,
              "cycles between two instruction lines from the L2", 1, 10000),
        field("cold_interval", &P::cold_interval, Unit::kCycles,
              "the same at first touch, beyond what is near at hand", 1, 10000),
        field("prefetch_lines", &P::prefetch_lines, Unit::kCount,
              "lines fetched ahead of a missing one", 0, 64),
        field("constant_miss_latency", &P::constant_miss_latency, Unit::kCycles,
              "first touch of the constants by an SM", 0, 100000),
        field("branch_latency", &P::branch_latency, Unit::kCycles,
              "taken branch to the issue of its target", 1, 1000),
    };
  }
};

/// A streaming multiprocessor: what it can hold, and its parts.
struct SmParams {
  std::int64_t count = 132, warps = 64, blocks = 32;
  std::int64_t registers = 65536, shared_bytes = 233472, shared_reserved_bytes = 1024;
  std::int64_t l1_bytes = 262144;
  PipeParams pipes;
  TensorParams tensor;
  MioParams mio;
  TmaParams tma;
  FetchParams fetch;

  static constexpr auto schema() {
    using config::field, config::group, config::Unit;
    using P = SmParams;
    return std::tuple{
        field("count", &P::count, Unit::kCount, "SMs of the chip", 1, 1024),
        field("warps", &P::warps, Unit::kCount, "warps that an SM holds (16 a sub-core)", 4, 64),
        field("blocks", &P::blocks, Unit::kCount, "blocks that an SM holds", 1, 64),
        field("registers", &P::registers, Unit::kCount, "32-bit registers of an SM", 1024, 1 << 20),
        field("shared", &P::shared_bytes, Unit::kBytes, "shared memory that blocks can have", 0,
              1 << 20),
        field("shared_reserved", &P::shared_reserved_bytes, Unit::kBytes,
              "shared memory that the system takes for each block", 0, 65536),
        field("l1", &P::l1_bytes, Unit::kBytes, "L1 and shared memory together", 4096, 1 << 20),
        group("pipes", &P::pipes, "arithmetic pipes of a sub-core"),
        group("tensor", &P::tensor, "tensor core of a sub-core"),
        group("mio", &P::mio, "MIO, load/store unit and L1"),
        group("tma", &P::tma, "copies of boxes of tensors, and mbarriers"),
        group("fetch", &P::fetch, "instruction and constant caches"),
    };
  }
};

/// How a grid gets to the SMs. What a host does before the launch is left out.
struct LaunchParams {
  double start_ns = 900, drain_ns = 500, sm_interval = 24, block_interval = 1;
  std::int64_t block_latency = 100, warp_interval = 2;

  static constexpr auto schema() {
    using config::field, config::Unit;
    using P = LaunchParams;
    return std::tuple{
        field("start", &P::start_ns, Unit::kNanoseconds,
              "launch on the device to the first block leaving the dispatcher", 0, 1e6),
        field("drain", &P::drain_ns, Unit::kNanoseconds,
              "end of the last block to the end of the launch", 0, 1e6),
        field(
            "sm_interval", &P::sm_interval, Unit::kCycles,
            "cycles between two blocks that leave for the same SM while all SMs fill for the first "
            "time",
            0.001, 10000),
        field("block_interval", &P::block_interval, Unit::kCycles,
              "cycles between two blocks that leave for slots which others have left (1.2: five "
              "blocks in six cycles)",
              0.001, 10000),
        field("block_latency", &P::block_latency, Unit::kCycles,
              "dispatcher to an SM (and a finished block's notice back)", 1, 10000),
        field("warp_interval", &P::warp_interval, Unit::kCycles,
              "cycles between the starts of two warps of a block on an SM", 0, 1000),
    };
  }
};

}  // namespace xpusim::gpu
