"""Pallas kernels for TPUs: the sources that the locations in ir/ point to."""
import functools
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _elementwise(body, *xs, rows):
    spec = pl.BlockSpec((rows, xs[0].shape[1]), lambda i: (i, 0))
    return pl.pallas_call(body, grid=(xs[0].shape[0] // rows,), in_specs=[spec] * len(xs), out_specs=spec,
                          out_shape=jax.ShapeDtypeStruct(xs[0].shape, xs[0].dtype))(*xs)


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def add(x, y, rows=512):
    return _elementwise(add_kernel, x, y, rows=rows)


def mul_add_relu_kernel(x_ref, w_ref, b_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...] * w_ref[...] + b_ref[...], 0.0)


def mul_add_relu(x, w, b, rows=512):
    return _elementwise(mul_add_relu_kernel, x, w, b, rows=rows)


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def hbm_copy(x, rows):
    return _elementwise(copy_kernel, x, rows=rows)


def softmax_kernel(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    o_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


def softmax(x, rows=64):
    return _elementwise(softmax_kernel, x, rows=rows)


def layer_norm_kernel(x_ref, w_ref, b_ref, o_ref):
    x = x_ref[...].astype(jnp.float32)
    mean = jnp.mean(x, axis=-1, keepdims=True)
    d = x - mean
    r = jax.lax.rsqrt(jnp.mean(d * d, axis=-1, keepdims=True) + 1e-5)
    o_ref[...] = (d * r * w_ref[...] + b_ref[...]).astype(o_ref.dtype)


def layer_norm(x, w, b, rows=128):
    c = x.shape[1]
    wide = pl.BlockSpec((rows, c), lambda i: (i, 0))
    one = pl.BlockSpec((1, c), lambda i: (0, 0))
    return pl.pallas_call(layer_norm_kernel, grid=(x.shape[0] // rows,), in_specs=[wide, one, one], out_specs=wide,
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, w, b)


def matmul_kernel(x_ref, y_ref, o_ref, acc_ref, *, nk, relu):
    @pl.when(pl.program_id(2) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    @pl.when(pl.program_id(2) == nk - 1)
    def _():
        r = acc_ref[...]
        o_ref[...] = (jnp.maximum(r, 0.0) if relu else r).astype(o_ref.dtype)


def matmul(x, y, bm, bk, bn, relu=False):
    m, k = x.shape
    n = y.shape[1]
    return pl.pallas_call(functools.partial(matmul_kernel, nk=k // bk, relu=relu), grid=(m // bm, n // bn, k // bk),
                          in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
                          out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
                          out_shape=jax.ShapeDtypeStruct((m, n), x.dtype), scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
                          compiler_params=pltpu.CompilerParams(dimension_semantics=('parallel', 'parallel', 'arbitrary')))(x, y)


def flash_attention_kernel(q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref, *, nk, scale):
    j = pl.program_id(2)

    @pl.when(j == 0)
    def _():
        m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    s = jax.lax.dot_general(q_ref[0], k_ref[0], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
    m_new = jnp.maximum(m_ref[...], jnp.max(s, axis=1, keepdims=True))
    p = jnp.exp(s - m_new)
    alpha = jnp.exp(m_ref[...] - m_new)
    l_ref[...] = l_ref[...] * alpha + jnp.sum(p, axis=1, keepdims=True)
    acc_ref[...] = acc_ref[...] * alpha + jnp.dot(p.astype(v_ref.dtype), v_ref[0], preferred_element_type=jnp.float32)
    m_ref[...] = m_new

    @pl.when(j == nk - 1)
    def _():
        o_ref[0] = (acc_ref[...] / l_ref[...]).astype(o_ref.dtype)


def flash_attention(q, k, v, bq=512, bk=512):
    h, s, d = q.shape
    kv = pl.BlockSpec((1, bk, d), lambda h, i, j: (h, j, 0))
    qo = pl.BlockSpec((1, bq, d), lambda h, i, j: (h, i, 0))
    return pl.pallas_call(functools.partial(flash_attention_kernel, nk=s // bk, scale=d ** -0.5), grid=(h, s // bq, s // bk),
                          in_specs=[qo, kv, kv], out_specs=qo, out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
                          scratch_shapes=[pltpu.VMEM((bq, 1), jnp.float32), pltpu.VMEM((bq, 1), jnp.float32), pltpu.VMEM((bq, d), jnp.float32)],
                          compiler_params=pltpu.CompilerParams(dimension_semantics=('parallel', 'parallel', 'arbitrary')))(q, k, v)


def manual_dma_kernel(x_hbm, o_hbm, buf, sem):
    def step(i, _):
        load = pltpu.make_async_copy(x_hbm.at[pl.ds(i * 256, 256)], buf, sem)
        load.start()
        load.wait()
        buf[...] = buf[...] * 2.0
        store = pltpu.make_async_copy(buf, o_hbm.at[pl.ds(i * 256, 256)], sem)
        store.start()
        store.wait()
        return 0

    jax.lax.fori_loop(0, x_hbm.shape[0] // 256, step, 0)


def manual_dma(x):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(manual_dma_kernel, in_specs=[hbm], out_specs=hbm, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          scratch_shapes=[pltpu.VMEM((256, x.shape[1]), x.dtype), pltpu.SemaphoreType.DMA])(x)


def double_buffer_kernel(x_hbm, o_hbm, inb, outb, in_sem, out_sem):
    n = x_hbm.shape[0] // 128

    def load(i, slot):
        return pltpu.make_async_copy(x_hbm.at[pl.ds(i * 128, 128)], inb.at[slot], in_sem.at[slot])

    def store(i, slot):
        return pltpu.make_async_copy(outb.at[slot], o_hbm.at[pl.ds(i * 128, 128)], out_sem.at[slot])

    load(0, 0).start()

    def step(i, _):
        slot = jax.lax.rem(i, 2)

        @pl.when(i + 1 < n)
        def _():
            load(i + 1, 1 - slot).start()

        load(i, slot).wait()

        @pl.when(i >= 2)
        def _():
            store(i - 2, slot).wait()

        outb[slot] = jnp.tanh(inb[slot])
        store(i, slot).start()
        return 0

    jax.lax.fori_loop(0, n, step, 0)
    store(n - 2, 0).wait()
    store(n - 1, 1).wait()


def double_buffer(x):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    c = x.shape[1]
    return pl.pallas_call(double_buffer_kernel, in_specs=[hbm], out_specs=hbm, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          scratch_shapes=[pltpu.VMEM((2, 128, c), x.dtype), pltpu.VMEM((2, 128, c), x.dtype),
                                          pltpu.SemaphoreType.DMA((2,)), pltpu.SemaphoreType.DMA((2,))])(x)


def vmem_chain_kernel(x_ref, y_ref, o_ref, *, reps, op):
    o_ref[...] = x_ref[...]

    def body(i, _):
        v = o_ref[...]
        o_ref[...] = v + y_ref[...] if op == 'add' else jnp.exp(v)
        return 0

    jax.lax.fori_loop(0, reps, body, 0)


def vmem_chain(x, y, reps, op):
    return pl.pallas_call(functools.partial(vmem_chain_kernel, reps=reps, op=op), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)


def gather_blocks_kernel(index_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def gather_blocks(index, x):
    """Rows of blocks picked by a scalar-prefetched index."""
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(index.shape[0],),
                                        in_specs=[pl.BlockSpec((8, x.shape[1]), lambda i, index: (index[i], 0))],
                                        out_specs=pl.BlockSpec((8, x.shape[1]), lambda i, index: (i, 0)))
    return pl.pallas_call(gather_blocks_kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((index.shape[0] * 8, x.shape[1]), x.dtype))(index, x)


def causal_mask_softmax_kernel(x_ref, o_ref):
    rows, cols = x_ref.shape
    r = jax.lax.broadcasted_iota(jnp.int32, (rows, cols), 0) + pl.program_id(0) * rows
    c = jax.lax.broadcasted_iota(jnp.int32, (rows, cols), 1)
    x = jnp.where(c <= r, x_ref[...], -1e30)
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    o_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


def causal_mask_softmax(x, rows=128):
    return _elementwise(causal_mask_softmax_kernel, x, rows=rows)


def row_lengths_kernel(length_ref, x_ref, o_ref):
    n = length_ref[pl.program_id(0)]
    acc = jnp.zeros((8, x_ref.shape[2]), jnp.float32)

    def body(i, acc):
        return acc + x_ref[0, pl.ds(i * 8, 8), :]

    o_ref[0] = jax.lax.fori_loop(0, n // 8, body, acc)


def sum_rows_by_length(length, x):
    """x: [batch, rows, lanes]; sums the first length[b] rows of each batch, eight sublanes at a time."""
    b, r, c = x.shape
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(b,), in_specs=[pl.BlockSpec((1, r, c), lambda i, length: (i, 0, 0))],
                                        out_specs=pl.BlockSpec((1, 8, c), lambda i, length: (i, 0, 0)))
    return pl.pallas_call(row_lengths_kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((b, 8, c), x.dtype))(length, x)


def transpose_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].T


def transpose(x, b=512):
    m, n = x.shape
    return pl.pallas_call(transpose_kernel, grid=(m // b, n // b), in_specs=[pl.BlockSpec((b, b), lambda i, j: (i, j))],
                          out_specs=pl.BlockSpec((b, b), lambda i, j: (j, i)), out_shape=jax.ShapeDtypeStruct((n, m), x.dtype))(x)


def int8_matmul_kernel(x_ref, y_ref, o_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.int32)


def int8_matmul(x, y, bm=512, bk=512, bn=512):
    m, k = x.shape
    n = y.shape[1]
    return pl.pallas_call(int8_matmul_kernel, grid=(m // bm, n // bn, k // bk),
                          in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
                          out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)), out_shape=jax.ShapeDtypeStruct((m, n), jnp.int32))(x, y)


def ring_all_gather_kernel(x_ref, o_ref, local_sem, send_sem, recv_sem, *, size):
    me = jax.lax.axis_index('x')
    right = jax.lax.rem(me + 1, size)
    own = pltpu.make_async_copy(x_ref, o_ref.at[me], local_sem)
    own.start()
    own.wait()
    for step in range(size - 1):
        slot = jax.lax.rem(me - step + size, size)
        rdma = pltpu.make_async_remote_copy(src_ref=o_ref.at[slot], dst_ref=o_ref.at[slot], send_sem=send_sem, recv_sem=recv_sem,
                                            device_id=(right,), device_id_type=pl.DeviceIdType.MESH)
        rdma.start()
        rdma.wait()


def ring_all_gather(x, size):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(functools.partial(ring_all_gather_kernel, size=size), in_specs=[hbm], out_specs=hbm,
                          out_shape=jax.ShapeDtypeStruct((size,) + x.shape, x.dtype),
                          scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA])(x)


def matmul_whole_depth_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(o_ref.dtype)


def matmul_whole_depth(x, y, bm, bn):
    """All of K in one block: no sum is kept from step to step."""
    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(matmul_whole_depth_kernel, grid=(m // bm, n // bn),
                          in_specs=[pl.BlockSpec((bm, k), lambda i, j: (i, 0)), pl.BlockSpec((k, bn), lambda i, j: (0, j))],
                          out_specs=pl.BlockSpec((bm, bn), lambda i, j: (i, j)), out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
                          compiler_params=pltpu.CompilerParams(dimension_semantics=('parallel', 'parallel')))(x, y)


def ring_all_reduce_kernel(x_ref, o_ref, acc_ref, recv_ref, local_sem, send_sem, recv_sem, *, size):
    me = jax.lax.axis_index('x')
    right = jax.lax.rem(me + 1, size)
    left = jax.lax.rem(me - 1 + size, size)
    barrier = pltpu.get_barrier_semaphore()  # nobody writes to a neighbour that has not begun
    pltpu.semaphore_signal(barrier, 1, device_id=(left,), device_id_type=pl.DeviceIdType.MESH)
    pltpu.semaphore_signal(barrier, 1, device_id=(right,), device_id_type=pl.DeviceIdType.MESH)
    pltpu.semaphore_wait(barrier, 2)
    for step in range(size):  # each block goes round once, and every chip adds its own part of it
        block = jax.lax.rem(me - step + size, size)
        own = pltpu.make_async_copy(x_ref.at[block], acc_ref, local_sem)
        own.start()
        own.wait()
        if step > 0:
            acc_ref[...] += recv_ref[step - 1]
        if step < size - 1:
            rdma = pltpu.make_async_remote_copy(src_ref=acc_ref, dst_ref=recv_ref.at[step], send_sem=send_sem, recv_sem=recv_sem,
                                                device_id=(right,), device_id_type=pl.DeviceIdType.MESH)
            rdma.start()
            rdma.wait()
    block = jax.lax.rem(me + 1, size)  # its sum is here
    own = pltpu.make_async_copy(acc_ref, o_ref.at[block], local_sem)
    own.start()
    own.wait()
    for step in range(size - 1):  # the sums go round
        block = jax.lax.rem(me + 1 - step + size, size)
        rdma = pltpu.make_async_remote_copy(src_ref=o_ref.at[block], dst_ref=o_ref.at[block], send_sem=send_sem, recv_sem=recv_sem,
                                            device_id=(right,), device_id_type=pl.DeviceIdType.MESH)
        rdma.start()
        rdma.wait()


def ring_all_reduce(x, size):
    """x: [size, rows, columns] on each chip; all get the sum over the chips."""
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    block = x.shape[1:]
    return pl.pallas_call(functools.partial(ring_all_reduce_kernel, size=size), in_specs=[hbm], out_specs=hbm,
                          out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
                          scratch_shapes=[pltpu.VMEM(block, x.dtype), pltpu.VMEM((size - 1,) + block, x.dtype),
                                          pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
                          compiler_params=pltpu.CompilerParams(collective_id=0))(x)
