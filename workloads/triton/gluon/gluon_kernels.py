"""Kernels in Triton's Gluon language: the sources that the locations in *.ttgir point to."""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.experimental.gluon.language.nvidia.hopper import tma, mbarrier, fence_async_shared, warpgroup_mma, warpgroup_mma_wait

@gluon.jit
def load_partition(a_desc, b_desc, c_desc, a_bufs, b_bufs, empty, ready, K, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, num_warps: gl.constexpr):
    off_m = gl.program_id(0) * a_desc.block_type.shape[0]
    off_n = gl.program_id(1) * b_desc.block_type.shape[1]
    i = 0
    for k in range(0, K, BLOCK_K):
        s = i % STAGES
        phase = (i // STAGES) & 1
        mbarrier.wait(empty.index(s), phase ^ 1)
        mbarrier.expect(ready.index(s), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(a_desc, [off_m, k], ready.index(s), a_bufs.index(s))
        tma.async_copy_global_to_shared(b_desc, [k, off_n], ready.index(s), b_bufs.index(s))
        i += 1

@gluon.jit
def mma_partition(a_desc, b_desc, c_desc, a_bufs, b_bufs, empty, ready, K, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, num_warps: gl.constexpr):
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BN: gl.constexpr = b_desc.block_type.shape[1]
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[num_warps, 1], instr_shape=[16, BN, 16])
    acc = gl.zeros((BM, BN), gl.float32, layout)
    i = 0
    for k in range(0, K, BLOCK_K):
        s = i % STAGES
        phase = (i // STAGES) & 1
        mbarrier.wait(ready.index(s), phase)
        acc = warpgroup_mma(a_bufs.index(s), b_bufs.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc, ))
        mbarrier.arrive(empty.index(s), count=1)
        i += 1
    c_smem = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_smem.store(acc.to(c_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [gl.program_id(0) * BM, gl.program_id(1) * BN], c_smem)
    tma.store_wait(0)

@gluon.jit
def ws_matmul(a_desc, b_desc, c_desc, K, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, num_warps: gl.constexpr):
    a_bufs = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_bufs = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(empty.index(i), count=1)
        mbarrier.init(ready.index(i), count=1)
    fence_async_shared()
    gl.warp_specialize([
        (mma_partition, (a_desc, b_desc, c_desc, a_bufs, b_bufs, empty, ready, K, BLOCK_K, STAGES, num_warps)),
        (load_partition, (a_desc, b_desc, c_desc, a_bufs, b_bufs, empty, ready, K, BLOCK_K, STAGES, num_warps)),
    ], [1], [24])
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(empty.index(i))
        mbarrier.invalidate(ready.index(i))

@gluon.jit
def tma_matmul(a_desc, b_desc, c_desc, K, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, num_warps: gl.constexpr):
    BM: gl.constexpr = a_desc.block_type.shape[0]
    BN: gl.constexpr = b_desc.block_type.shape[1]
    a_bufs = gl.allocate_shared_memory(a_desc.dtype, [STAGES] + a_desc.block_type.shape, a_desc.layout)
    b_bufs = gl.allocate_shared_memory(b_desc.dtype, [STAGES] + b_desc.block_type.shape, b_desc.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
    fence_async_shared()
    off_m = gl.program_id(0) * BM
    off_n = gl.program_id(1) * BN
    for i in gl.static_range(STAGES - 1):
        mbarrier.expect(ready.index(i), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(a_desc, [off_m, i * BLOCK_K], ready.index(i), a_bufs.index(i))
        tma.async_copy_global_to_shared(b_desc, [i * BLOCK_K, off_n], ready.index(i), b_bufs.index(i))
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[num_warps, 1], instr_shape=[16, BN, 16])
    acc = gl.zeros((BM, BN), gl.float32, layout)
    i = 0
    for k in range(0, K, BLOCK_K):
        s = i % STAGES
        mbarrier.wait(ready.index(s), (i // STAGES) & 1)
        acc = warpgroup_mma(a_bufs.index(s), b_bufs.index(s), acc, is_async=True)
        acc = warpgroup_mma_wait(0, deps=(acc, ))
        n = i + STAGES - 1
        q = n % STAGES
        p = k + (STAGES - 1) * BLOCK_K < K
        mbarrier.expect(ready.index(q), a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=p)
        tma.async_copy_global_to_shared(a_desc, [off_m, k + (STAGES - 1) * BLOCK_K], ready.index(q), a_bufs.index(q), pred=p)
        tma.async_copy_global_to_shared(b_desc, [k + (STAGES - 1) * BLOCK_K, off_n], ready.index(q), b_bufs.index(q), pred=p)
        i += 1
    c_smem = gl.allocate_shared_memory(c_desc.dtype, c_desc.block_type.shape, c_desc.layout)
    c_smem.store(acc.to(c_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [off_m, off_n], c_smem)
    tma.store_wait(0)
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(i))

# an elementwise kernel of three partitions: a loader, an adder (the default one), a storer
@gluon.jit
def ea_load(descs, barriers, buffers, row, N, BX: gl.constexpr, ST: gl.constexpr, layout: gl.constexpr):
    a_desc, b_desc, c_desc = descs
    le, lf, ce, cf = barriers
    ab, bb, cb = buffers
    i = 0
    for x in range(0, N, BX):
        s = i % ST
        mbarrier.wait(le.index(s), ((i // ST) & 1) ^ 1)
        mbarrier.expect(lf.index(s), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(a_desc, [row, x], lf.index(s), ab.index(s))
        tma.async_copy_global_to_shared(b_desc, [row, x], lf.index(s), bb.index(s))
        i += 1

@gluon.jit
def ea_store(descs, barriers, buffers, row, N, BX: gl.constexpr, ST: gl.constexpr, layout: gl.constexpr):
    a_desc, b_desc, c_desc = descs
    le, lf, ce, cf = barriers
    ab, bb, cb = buffers
    i = 0
    for x in range(0, N, BX):
        s = i % ST
        mbarrier.wait(cf.index(s), (i // ST) & 1)
        tma.async_copy_shared_to_global(c_desc, [row, x], cb.index(s))
        tma.store_wait(0)
        mbarrier.arrive(ce.index(s), count=1)
        i += 1

@gluon.jit
def ea_compute(descs, barriers, buffers, row, N, BX: gl.constexpr, ST: gl.constexpr, layout: gl.constexpr):
    le, lf, ce, cf = barriers
    ab, bb, cb = buffers
    i = 0
    for x in range(0, N, BX):
        s = i % ST
        mbarrier.wait(lf.index(s), (i // ST) & 1)
        a = ab.index(s).load(layout)
        b = bb.index(s).load(layout)
        fence_async_shared()
        mbarrier.arrive(le.index(s), count=1)
        mbarrier.wait(ce.index(s), ((i // ST) & 1) ^ 1)
        cb.index(s).store(a + b)
        fence_async_shared()
        mbarrier.arrive(cf.index(s), count=1)
        i += 1

@gluon.jit
def ws_add(a_desc, b_desc, c_desc, N, BX: gl.constexpr, BY: gl.constexpr, ST: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [1, num_warps], [1, 0])
    dt: gl.constexpr = a_desc.dtype
    ab = gl.allocate_shared_memory(dt, [ST, BY, BX], a_desc.layout)
    bb = gl.allocate_shared_memory(dt, [ST, BY, BX], b_desc.layout)
    cb = gl.allocate_shared_memory(dt, [ST, BY, BX], c_desc.layout)
    le = gl.allocate_shared_memory(gl.int64, [ST, 1], mbarrier.MBarrierLayout())
    lf = gl.allocate_shared_memory(gl.int64, [ST, 1], mbarrier.MBarrierLayout())
    ce = gl.allocate_shared_memory(gl.int64, [ST, 1], mbarrier.MBarrierLayout())
    cf = gl.allocate_shared_memory(gl.int64, [ST, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(ST):
        mbarrier.init(le.index(i), count=1)
        mbarrier.init(lf.index(i), count=1)
        mbarrier.init(ce.index(i), count=1)
        mbarrier.init(cf.index(i), count=1)
    fence_async_shared()
    row = gl.program_id(0) * BY
    descs = (a_desc, b_desc, c_desc)
    bars = (le, lf, ce, cf)
    bufs = (ab, bb, cb)
    gl.warp_specialize([
        (ea_compute, (descs, bars, bufs, row, N, BX, ST, layout)),
        (ea_load, (descs, bars, bufs, row, N, BX, ST, layout)),
        (ea_store, (descs, bars, bufs, row, N, BX, ST, layout)),
    ], [1, 1], [24, 24])
