#pragma once

// wgmma (compute capability 9.0a) as assembly: the accumulator's registers are declared inside it,
// by decades of eight, so that a kind of product is one line and a chain of them one statement.

#include "harness.cuh"

#define E2(p, t) #p #t "0, " #p #t "1"
#define E4(p, t) E2(p, t) ", " #p #t "2, " #p #t "3"
#define E8(p, t) E4(p, t) ", " #p #t "4, " #p #t "5, " #p #t "6, " #p #t "7"
#define LIST2(p) E2(p, 1)
#define LIST4(p) E4(p, 1)
#define LIST8(p) E8(p, 1)
#define LIST16(p) E8(p, 1) ", " E8(p, 2)
#define LIST32(p) LIST16(p) ", " E8(p, 3) ", " E8(p, 4)
#define LIST64(p) LIST32(p) ", " E8(p, 5) ", " E8(p, 6) ", " E8(p, 7) ", " E8(p, 8)
#define LIST128(p)                                                                   \
  LIST64(p)                                                                          \
  ", " E8(p, 9) ", " E8(p, 10) ", " E8(p, 11) ", " E8(p, 12) ", " E8(p, 13) ", " E8( \
      p, 14) ", " E8(p, 15) ", " E8(p, 16)

struct Clocks {
  std::uint32_t start, issued, end,
      sink;  // sink: of the results, or the assembler drops the products
};
struct Operands {
  std::uint64_t a, b;            // descriptors
  std::uint32_t r0, r1, r2, r3;  // A in registers
};

// %0..%2 clocks, %3 sink, %4 A and %5 B descriptor, %6..%9 A in registers.
#define SS(shape, list, tail) \
  "wgmma.mma_async.sync.aligned." shape " {" list "}, %4, %5, p, 1, 1" tail ";\n"
#define RS(shape, list, tail) \
  "wgmma.mma_async.sync.aligned." shape " {" list "}, {%6, %7, %8, %9}, %5, p, 1, 1" tail ";\n"
#define INT_SS(shape, list) "wgmma.mma_async.sync.aligned." shape " {" list "}, %4, %5, p;\n"

#define WGMMA(declare, body, sum)                                                                  \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\n" declare                                                                 \
      "setp.ne.b32 p, %6, 12345;\nmov.u32 %0, %%clock;\nwgmma.fence.sync.aligned;\n" body          \
      "mov.u32 %1, %%clock;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" \
      "mov.u32 %2, %%clock;\n" sum "}\n"                                                           \
      : "=r"(c.start), "=r"(c.issued), "=r"(c.end), "=r"(c.sink)                                   \
      : "l"(o.a), "l"(o.b), "r"(o.r0), "r"(o.r1), "r"(o.r2), "r"(o.r3)                             \
      : "memory")

#define ONE ".reg .b32 d<170>;\n", "mov.b32 %3, d10;\n"
#define TWO ".reg .b32 d<170>;\n.reg .b32 e<170>;\n", "xor.b32 %3, d10, e10;\n"

/// Descriptor of a tile in shared memory; `swizzle` 0 none, 1 of 128, 2 of 64, 3 of 32 bytes.
__device__ inline std::uint64_t descriptor(std::uint32_t address, int swizzle) {
  const std::uint64_t leading = swizzle == 0 ? 128 : 4096, stride = swizzle == 0   ? 256
                                                                    : swizzle == 1 ? 1024
                                                                    : swizzle == 2 ? 512
                                                                                   : 256;
  return ((address & 0x3ffff) >> 4) | (leading >> 4) << 16 | (stride >> 4) << 32 |
         std::uint64_t(swizzle) << 62;
}

/// A kind of wgmma: `chain<k>` issues k of them as one group and waits for it.
#define KIND(kind, registers, one) KIND_OF(kind, registers, one)
#define KIND_OF(kind, declare, sum, one)                         \
  struct kind {                                                  \
    static constexpr const char* kName = #kind;                  \
    template <int k>                                             \
    __device__ static void chain(Clocks& c, const Operands& o) { \
      if (k == 0) WGMMA(declare, "", "mov.b32 %3, 0;\n");        \
      if (k == 1) WGMMA(declare, one, sum);                      \
      if (k == 2) WGMMA(declare, REP2(one), sum);                \
      if (k == 4) WGMMA(declare, REP4(one), sum);                \
      if (k == 8) WGMMA(declare, REP8(one), sum);                \
      if (k == 16) WGMMA(declare, REP16(one), sum);              \
    }                                                            \
  };

#define BF16(n) "m64n" #n "k16.f32.bf16.bf16"
