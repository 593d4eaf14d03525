"""Kernels that stay in the SM: reductions, softmax bodies and layout changes in a loop."""
import triton
import triton.language as tl


@triton.jit
def loop_max(x_ptr, out_ptr, BLOCK: tl.constexpr, LOOPS: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    for _ in range(LOOPS):
        x = x * 0.5 + tl.max(x, 0)
    tl.store(out_ptr + offs, x)


@triton.jit
def loop_softmax(x_ptr, out_ptr, BLOCK: tl.constexpr, LOOPS: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    for _ in range(LOOPS):
        e = tl.exp(x - tl.max(x, 0))
        x = e / tl.sum(e, 0)
    tl.store(out_ptr + offs, x)


@triton.jit
def loop_row_sums(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr, LOOPS: tl.constexpr):
    offs = tl.program_id(0) * ROWS * COLS + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + offs)
    for _ in range(LOOPS):
        x = x * 0.5 + tl.sum(x, 1)[:, None]
    tl.store(out_ptr + offs, x)


@triton.jit
def loop_scan(x_ptr, out_ptr, BLOCK: tl.constexpr, LOOPS: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    for _ in range(LOOPS):
        x = tl.cumsum(x * 0.01, 0)
    tl.store(out_ptr + offs, x)


@triton.jit
def loop_transpose(x_ptr, out_ptr, N: tl.constexpr, LOOPS: tl.constexpr):
    offs = tl.program_id(0) * N * N + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + offs)
    for _ in range(LOOPS):
        x = tl.trans(x) * 0.5 + x
    tl.store(out_ptr + offs, x)
