"""Small Triton kernels of our own for what kernels.py and ops_kernels.py leave out of the language: tuples and
joins, conversions, scans, sorts, generators of random numbers, calls, early returns, descriptors made on the
device, matrix products of other types, atomics of all kinds. LAUNCHES gives each its arguments;
tools/capture/print_triton.py prints their IR and records what a real GPU computed."""
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice


@triton.jit
def complex_multiply(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = 2 * i[:, None] + tl.arange(0, 2)[None, :]
    mask = (i < n)[:, None]
    ar, ai = tl.split(tl.load(a_ptr + at, mask=mask, other=0.0))
    br, bi = tl.split(tl.load(b_ptr + at, mask=mask, other=0.0))
    tl.store(out_ptr + at, tl.join(ar * br - ai * bi, ar * bi + ai * br), mask=mask)


@triton.jit
def quantize_rows(x_ptr, q_ptr, back_ptr, scale_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x), 0), 1e-6) / 448.0
    q = tl.clamp(x / scale, -448.0, 448.0).to(tl.float8e4nv)
    tl.store(q_ptr + row * n_cols + cols, q, mask=mask)
    coarse = x.to(tl.float8e5).to(tl.float32)
    tl.store(back_ptr + row * n_cols + cols, q.to(tl.float32) * scale + coarse, mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def random_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    keep = tl.rand(seed, i) > p
    tl.store(out_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@triton.jit
def random_integers(out_ptr, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out_ptr + i, (a ^ b) + (c >> 3) + d)


@triton.jit
def scans(x_ptr, sum_ptr, prod_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
    tl.store(sum_ptr + row * n_cols + cols, tl.cumsum(x, 0, reverse=True), mask=mask)
    tl.store(prod_ptr + row * n_cols + cols, tl.cumprod(1.0 + 0.001 * x, 0), mask=mask)


@triton.jit
def _segmented(a_value, a_start, b_value, b_start):
    return tl.where(b_start != 0, b_value, a_value + b_value), a_start | b_start


@triton.jit
def segmented_sum(x_ptr, start_ptr, out_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + at)
    start = tl.load(start_ptr + at)
    sums, _ = tl.associative_scan((x, start), 1, _segmented)
    tl.store(out_ptr + at, sums)


@triton.jit
def _welford(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    part = tl.where(n == 0.0, 0.0, n_b / n)
    return mean_a + delta * part, m2_a + m2_b + delta * delta * n_a * part, n


@triton.jit
def variance(x_ptr, mean_ptr, var_ptr, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mean = tl.zeros((ROWS, BLOCK), tl.float32)
    m2 = tl.zeros((ROWS, BLOCK), tl.float32)
    count = tl.zeros((ROWS, BLOCK), tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
        x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
        new = count + tl.where(mask, 1.0, 0.0)
        delta = x - mean
        mean = tl.where(mask, mean + delta / tl.maximum(new, 1.0), mean)
        m2 = tl.where(mask, m2 + delta * (x - mean), m2)
        count = new
    mean, m2, count = tl.reduce((mean, m2, count), 1, _welford)
    tl.store(mean_ptr + rows, mean, mask=rows < n_rows)
    tl.store(var_ptr + rows, m2 / count, mask=rows < n_rows)


@triton.jit
def order_statistics(x_ptr, sorted_ptr, top_ptr, flipped_ptr, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + cols)
    tl.store(sorted_ptr + row * BLOCK + cols, tl.sort(x, descending=True))
    tl.store(top_ptr + row * K + tl.arange(0, K), tl.topk(x, K))
    tl.store(flipped_ptr + row * BLOCK + cols, tl.flip(x, 0))


@triton.jit
def extremes(x_ptr, i_ptr, value_ptr, index_ptr, bits_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=float('inf'))
    low, at = tl.min(x, 0, return_indices=True)
    tl.store(value_ptr + row, low)
    tl.store(index_ptr + row, at)
    n = tl.load(i_ptr + row * n_cols + cols, mask=mask, other=0)
    tl.store(bits_ptr + row, tl.xor_sum(n, 0) + tl.argmax(n, 0) * 65536)


@triton.jit
def bag_of_rows(table_ptr, index_ptr, offset_ptr, out_ptr, limit, WIDTH: tl.constexpr):
    bag = tl.program_id(0)
    cols = tl.arange(0, WIDTH)
    i = tl.load(offset_ptr + bag)
    end = tl.load(offset_ptr + bag + 1)
    acc = tl.zeros((WIDTH, ), tl.float32)
    total = 0.0
    while (i < end) & (total < limit):
        row = tl.load(index_ptr + i)
        if row >= 0:
            values = tl.load(table_ptr + row * WIDTH + cols)
            acc += values
            total += tl.sum(tl.abs(values), 0)
        i += 1
    tl.store(out_ptr + bag * WIDTH + cols, acc)


@triton.jit
def all_atomics(x_ptr, f_ptr, i_ptr, l_ptr, h_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    slot = i % 8
    tl.atomic_add(f_ptr + slot, x.to(tl.float32))
    tl.atomic_max(f_ptr + 8 + slot, x.to(tl.float32))
    tl.atomic_min(f_ptr + 16 + slot, x.to(tl.float32), sem='relaxed')
    tl.atomic_and(i_ptr + slot, x | 1)
    tl.atomic_or(i_ptr + 8 + slot, x, mask=x > 10)
    tl.atomic_xor(i_ptr + 16 + slot, x)
    tl.atomic_max(i_ptr + 24 + slot, x)
    tl.atomic_min(i_ptr + 32 + slot, x.to(tl.uint32), scope='cta')
    tl.atomic_add(l_ptr + slot, x.to(tl.int64))
    tl.atomic_add(h_ptr + slot, (x % 4).to(tl.float16))


@triton.jit
def exchange(slots_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.atomic_xchg(slots_ptr + i, i + 1000)
    seen = tl.atomic_cas(slots_ptr + i, i + 1000, old * 2, sem='acq_rel')
    tl.store(out_ptr + i, old + seen)


@triton.jit
def integers(a_ptr, b_ptr, s_ptr, u_ptr, w_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(a_ptr + i, mask=mask, other=1)
    b = tl.load(b_ptr + i, mask=mask, other=1) | 1
    s = (a // b) * 3 + (a % b) - tl.cdiv(a, 7) + ((a << 3) >> 1) + (~a & b) + tl.minimum(a, b)
    tl.store(s_ptr + i, s, mask=mask)
    ua, ub = a.to(tl.uint32, bitcast=True), b.to(tl.uint32, bitcast=True)
    u = ua // ub + ua % ub + (ua >> 5) + tl.umulhi(ua, ub) + tl.maximum(ua, ub)
    tl.store(u_ptr + i, u.to(tl.int32, bitcast=True), mask=mask)
    wide = a.to(tl.int64) * b.to(tl.int64) + a.to(tl.int8).to(tl.int64) + a.to(tl.int16)
    wide += ua.to(tl.uint64).to(tl.int64) + (a > b).to(tl.int64) + libdevice.popc(a) + libdevice.clz(b)
    tl.store(w_ptr + i, wide, mask=mask)


@triton.jit
def functions(x_ptr, out_ptr, d_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=1.0)
    p = tl.abs(x) + 0.5
    y = tl.floor(x) + tl.ceil(x) * 2 + tl.exp2(x) + tl.log2(p) + tl.cos(x) + tl.erf(x) + tl.fma(x, p, 3.0)
    y += tl.sqrt_rn(p) + tl.div_rn(x, p) + libdevice.tanh(x) + libdevice.pow(p, x) + libdevice.atan2(x, p)
    y += libdevice.rint(x) + libdevice.log1p(p) + libdevice.expm1(x) + libdevice.trunc(x)
    y = tl.where(libdevice.isnan(y).to(tl.int1), 0.0, y)
    y = tl.maximum(y, x, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + i, y, mask=mask)
    d = x.to(tl.float64)
    tl.store(d_ptr + i, tl.exp(d) / (1.0 + d * d) + tl.sqrt(tl.abs(d)), mask=mask)


@triton.jit
def conversions(x_ptr, i_ptr, h_ptr, b_ptr, u8_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    tl.store(i_ptr + i, (x * 100).to(tl.int32), mask=mask)
    tl.store(h_ptr + i, x.to(tl.float16), mask=mask)
    tl.store(b_ptr + i, x.to(tl.bfloat16, fp_downcast_rounding='rtz'), mask=mask)
    byte = (tl.abs(x) * 20).to(tl.uint8)
    tl.store(u8_ptr + i, byte, mask=mask)
    bits = x.to(tl.int32, bitcast=True)
    back = (bits & 0x7fffffff).to(tl.float32, bitcast=True) + byte.to(tl.float32) + x.to(tl.float16).to(tl.float32)
    tl.store(out_ptr + i, back + (bits >> 31).to(tl.float32), mask=mask)


@triton.jit(noinline=True)
def _polynomial(x, order):
    y = x
    for _ in range(order):
        y = y * x + 1.0
    return y


@triton.jit
def call_a_function(x_ptr, out_ptr, n, order, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    scale = tl.load(x_ptr + tl.program_id(0))
    tl.store(out_ptr + i, x * _polynomial(scale, order) - _polynomial(scale * 0.5, 2), mask=i < n)


@triton.jit
def narrow_floats(x_ptr, q_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    q = tl.load(x_ptr + i, mask=mask, other=0.0).to(tl.float8e5)
    tl.store(q_ptr + i, q, mask=mask)
    tl.store(out_ptr + i, q.to(tl.float16) * 2.0, mask=mask)


@triton.jit
def early_return(lengths_ptr, x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(lengths_ptr + row)
    if length <= 0:
        return
    cols = tl.arange(0, BLOCK)
    if length > width:
        length = width
    x = tl.load(x_ptr + row * width + cols, mask=cols < length, other=0.0)
    total = tl.sum(x, 0)
    if total < 0.0:
        tl.store(out_ptr + row, -total)
        return
    tl.store(out_ptr + row, total)


@triton.jit
def device_descriptor(x_ptr, y_ptr, sum_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    total = tl.make_tensor_descriptor(sum_ptr, [BLOCK_M, BLOCK_N], [BLOCK_N, 1], [BLOCK_M, BLOCK_N])
    i, j = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    v = x.load([i, j])
    y.store([i, j], v * 2.0)
    total.atomic_add([0, 0], v)


@triton.jit
def dot_of_type(a_ptr, b_ptr, c_ptr, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                PRECISION: tl.constexpr, ACC: tl.constexpr):
    m, n, k = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), ACC)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * BLOCK_N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION, out_dtype=ACC)
    tl.store(c_ptr + m[:, None] * BLOCK_N + n[None, :], acc)


@triton.jit
def batched_dot(a_ptr, b_ptr, c_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    b, m, n, k = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a_ptr + b[:, None, None] * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b_ptr + b[:, None, None] * K * N + k[None, :, None] * N + n[None, None, :])
    z = tl.dot(x, y)
    tl.store(c_ptr + b[:, None, None] * M * N + m[None, :, None] * N + n[None, None, :], z)


@triton.jit
def shapes(x_ptr, y_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    i = tl.arange(0, A * B * C)
    x = tl.permute(tl.reshape(tl.load(x_ptr + i), (A, B, C)), (2, 0, 1))
    y = tl.load(y_ptr + tl.arange(0, A))[None, :, None]
    z = tl.trans(tl.sum(x * y, axis=1, keep_dims=True).broadcast_to(C, A, B), 1, 2, 0)
    both = tl.interleave(tl.ravel(z), tl.load(x_ptr + i))
    j = tl.arange(0, 2 * A * B * C)
    tl.store(out_ptr + j, both + tl.cat(tl.full((A * B * C, ), 1.0, tl.float32), tl.zeros((A * B * C, ), tl.float32), can_reorder=True))


@triton.jit
def checked_copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.assume(n > 0)
    x = tl.load(x_ptr + i, mask=i < n, other=0, eviction_policy='evict_first')
    tl.device_assert(x >= 0, 'negative')
    tl.device_print('x', x)
    tl.debug_barrier()
    x += tl.load(x_ptr, volatile=True) - tl.load(x_ptr, cache_modifier='.cg')
    tl.store(out_ptr + tl.max_contiguous(tl.multiple_of(i, BLOCK), BLOCK), x, mask=i < n, cache_modifier='.cs')


@triton.jit
def loop_forms(x_ptr, out_ptr, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, ), tl.float32)
    for i in tl.range(0, n, BLOCK, num_stages=3):
        acc += tl.load(x_ptr + i + cols, mask=i + cols < n, other=0.0)
    for i in tl.range(0, 8, loop_unroll_factor=2):
        acc = acc * 0.5 + i
    for i in tl.static_range(PARTS):
        acc += tl.load(x_ptr + i * BLOCK + cols, mask=i * BLOCK + cols < n, other=0.0)
    for i in range(7, 0, -2):
        if i % 4 == 3:
            acc -= i
    tl.store(out_ptr + cols, acc)


@triton.jit
def pair_of_dots(q_ptr, k_ptr, v_ptr, out_ptr, N, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m, n, d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, D)
    q = tl.load(q_ptr + (tl.program_id(0) * BLOCK_M + m)[:, None] * D + d[None, :])
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    for start in range(0, N, BLOCK_N):
        k = tl.load(k_ptr + (start + n)[:, None] * D + d[None, :])
        v = tl.load(v_ptr + (start + n)[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k))
        s = tl.where(s > 0, s, s * 0.1)
        acc = tl.dot(s.to(v.dtype), v, acc)
    tl.store(out_ptr + (tl.program_id(0) * BLOCK_M + m)[:, None] * D + d[None, :], acc.to(tl.float16))


@triton.jit
def scaled_dot(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + n[None, :])
    sa = tl.load(a_scale_ptr + m[:, None] * (K // 32) + s[None, :])
    sb = tl.load(b_scale_ptr + n[:, None] * (K // 32) + s[None, :])
    c = tl.dot_scaled(a, sa, 'e4m3', b, sb, 'e5m2')
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@triton.jit
def address_arithmetic(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = (x_ptr.to(tl.int64) + 16).to(tl.pointer_type(tl.float32))
    x = tl.load(base + i % (n - 4))
    block = tl.make_block_ptr(x_ptr, (n, ), (1, ), (0, ), (BLOCK, ), (0, ))
    y = tl.load(tl.advance(block, (3, )), boundary_check=(0, ), padding_option='zero')
    tl.store(out_ptr + i, x + y + tl.num_programs(0), mask=i < n)


@triton.jit
def inline_assembly(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise('add.s32 $0, $1, $1;', '=r,r', [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + i, y)


def t(dtype, *shape, init='randn'):
    """A tensor argument."""
    return {'dtype': dtype, 'shape': list(shape), 'init': init}


def out(dtype, *shape):
    return {'dtype': dtype, 'shape': list(shape), 'init': 'zeros'}


def dot(a, b, c, acc, precision='tf32', name=''):
    return (f'dot_of_type', dict(a_ptr=t(a, 32, 128), b_ptr=t(b, 128, 64), c_ptr=out(c, 32, 64), K=128),
            dict(BLOCK_M=32, BLOCK_N=64, BLOCK_K=64, PRECISION=precision, ACC=acc), [1], f'dot_{name or a}')


# kernel, arguments, constexprs, grid[, name]
LAUNCHES = [
    ('complex_multiply', dict(a_ptr=t('f32', 1000, 2), b_ptr=t('f32', 1000, 2), out_ptr=out('f32', 1000, 2), n=1000), dict(BLOCK=256), [4]),
    ('quantize_rows', dict(x_ptr=t('f32', 5, 200), q_ptr=out('f8', 5, 200), back_ptr=out('f32', 5, 200), scale_ptr=out('f32', 5), n_cols=200), dict(BLOCK=256), [5]),
    ('random_dropout', dict(x_ptr=t('f32', 1000), out_ptr=out('f32', 1000), n=1000, p=0.3, seed=1234), dict(BLOCK=256), [4]),
    ('random_integers', dict(out_ptr=out('i32', 1024), seed=77), dict(BLOCK=256), [4]),
    ('scans', dict(x_ptr=t('f32', 4, 200), sum_ptr=out('f32', 4, 200), prod_ptr=out('f32', 4, 200), n_cols=200), dict(BLOCK=256), [4]),
    ('segmented_sum', dict(x_ptr=t('f32', 8, 128), start_ptr=t('i32', 8, 128, init='randint 2'), out_ptr=out('f32', 8, 128)), dict(ROWS=8, BLOCK=128), [1]),
    ('variance', dict(x_ptr=t('f32', 10, 300), mean_ptr=out('f32', 10), var_ptr=out('f32', 10), n_rows=10, n_cols=300), dict(ROWS=4, BLOCK=128), [3]),
    ('order_statistics', dict(x_ptr=t('f32', 3, 256), sorted_ptr=out('f32', 3, 256), top_ptr=out('f32', 3, 16), flipped_ptr=out('f32', 3, 256)), dict(BLOCK=256, K=16), [3]),
    ('extremes', dict(x_ptr=t('f32', 6, 100), i_ptr=t('i32', 6, 100, init='randint 1000'), value_ptr=out('f32', 6), index_ptr=out('i32', 6), bits_ptr=out('i32', 6), n_cols=100), dict(BLOCK=128), [6]),
    ('bag_of_rows', dict(table_ptr=t('f32', 50, 64), index_ptr=t('i32', 64, init='randint 50'), offset_ptr=t('i32', 9, init='steps 7'), out_ptr=out('f32', 8, 64), limit=200.0), dict(WIDTH=64), [8]),
    ('all_atomics', dict(x_ptr=t('i32', 512, init='randint 100'), f_ptr=out('f32', 24), i_ptr=out('i32', 40), l_ptr=out('i64', 8), h_ptr=out('f16', 8)), dict(BLOCK=128), [4]),
    ('exchange', dict(slots_ptr=t('i32', 256, init='randint 100'), out_ptr=out('i32', 256)), dict(BLOCK=128), [2]),
    ('integers', dict(a_ptr=t('i32', 500, init='randint 100000'), b_ptr=t('i32', 500, init='randint 300'), s_ptr=out('i32', 500), u_ptr=out('i32', 500), w_ptr=out('i64', 500), n=500), dict(BLOCK=256), [2]),
    ('functions', dict(x_ptr=t('f32', 500), out_ptr=out('f32', 500), d_ptr=out('f64', 500), n=500), dict(BLOCK=256), [2]),
    ('conversions', dict(x_ptr=t('f32', 500), i_ptr=out('i32', 500), h_ptr=out('f16', 500), b_ptr=out('bf16', 500), u8_ptr=out('i8', 500), out_ptr=out('f32', 500), n=500), dict(BLOCK=256), [2]),
    ('call_a_function', dict(x_ptr=t('f32', 500), out_ptr=out('f32', 500), n=500, order=4), dict(BLOCK=256), [2]),
    ('narrow_floats', dict(x_ptr=t('f32', 500), q_ptr=out('f8e5', 500), out_ptr=out('f16', 500), n=500), dict(BLOCK=256), [2]),
    ('early_return', dict(lengths_ptr=t('i32', 12, init='randint 150'), x_ptr=t('f32', 12, 100), out_ptr=out('f32', 12), width=100), dict(BLOCK=128), [12]),
    ('device_descriptor', dict(x_ptr=t('f32', 100, 96), y_ptr=out('f32', 100, 96), sum_ptr=out('f32', 32, 32), M=100, N=96), dict(BLOCK_M=32, BLOCK_N=32), [4, 3]),
    dot('f16', 'f16', 'f32', 'fp32'), dot('bf16', 'bf16', 'f32', 'fp32'), dot('f8', 'f8', 'f32', 'fp32'), dot('f8e5', 'f8e5', 'f32', 'fp32'), dot('f64', 'f64', 'f64', 'fp64', 'ieee'),
    dot('f16', 'f16', 'f16', 'fp16', name='f16_into_f16'), dot('f32', 'f32', 'f32', 'fp32', 'tf32'), dot('f32', 'f32', 'f32', 'fp32', 'ieee', 'f32_ieee'),
    dot('f32', 'f32', 'f32', 'fp32', 'tf32x3', 'f32_tf32x3'), dot('i8', 'i8', 'i32', 'int32'),
    ('batched_dot', dict(a_ptr=t('f16', 4, 16, 32), b_ptr=t('f16', 4, 32, 16), c_ptr=out('f32', 4, 16, 16)), dict(B=4, M=16, N=16, K=32), [1]),
    ('shapes', dict(x_ptr=t('f32', 256), y_ptr=t('f32', 4), out_ptr=out('f32', 512)), dict(A=4, B=8, C=8), [1]),
    ('checked_copy', dict(x_ptr=t('i32', 300, init='randint 9'), out_ptr=out('i32', 300), n=300), dict(BLOCK=256), [2]),
    ('loop_forms', dict(x_ptr=t('f32', 1000), out_ptr=out('f32', 128), n=1000), dict(BLOCK=128, PARTS=3), [1]),
    ('pair_of_dots', dict(q_ptr=t('f16', 128, 64), k_ptr=t('f16', 192, 64), v_ptr=t('f16', 192, 64), out_ptr=out('f16', 128, 64), N=192), dict(D=64, BLOCK_M=64, BLOCK_N=64), [2]),
    ('scaled_dot', dict(a_ptr=t('f8', 128, 64), a_scale_ptr=t('u8', 128, 2, init='randint 4'), b_ptr=t('f8e5', 64, 64), b_scale_ptr=t('u8', 64, 2, init='randint 4'), c_ptr=out('f32', 128, 64)), dict(M=128, N=64, K=64), [1]),
    ('address_arithmetic', dict(x_ptr=t('f32', 300), out_ptr=out('f32', 300), n=300), dict(BLOCK=256), [2]),
    ('inline_assembly', dict(x_ptr=t('i32', 256, init='randint 100'), out_ptr=out('i32', 256)), dict(BLOCK=256), [1]),
]
