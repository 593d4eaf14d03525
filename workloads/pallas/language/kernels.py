"""Small Pallas kernels of our own for what pallas_kernels.py leaves out of Mosaic's operations. KERNELS gives each its
operands; tools/capture/print_pallas.py prints their Mosaic text and records what JAX's interpreter computed."""
import functools
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def whole(body, out_shape, *xs, **kw):
    """One grid step, all operands in VMEM."""
    return pl.pallas_call(body, out_shape=out_shape, **kw)(*xs)


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def rolls_kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = pltpu.roll(x, 3, 1) - pltpu.roll(x, 5, 0)


def rolls(x, **kw):
    return whole(rolls_kernel, like(x), x, **kw)


def activations_kernel(x_ref, o_ref):
    x = x_ref[...]
    y = jax.nn.sigmoid(x) * x + jnp.log(jnp.abs(x) + 1.0) + jnp.sin(x) - jnp.cos(x) + jnp.exp2(x * 0.1)
    y = y + jax.lax.erf(x) + jnp.floor(x) + jnp.sqrt(jnp.abs(x)) + jnp.power(jnp.abs(x) + 0.5, 1.5) + jnp.round(x) + jnp.sign(x)
    o_ref[...] = jnp.clip(y, -50.0, 50.0)


def activations(x, **kw):
    return whole(activations_kernel, like(x), x, **kw)


def reductions_kernel(x_ref, max_ref, min_ref, at_ref):
    x = x_ref[...]
    max_ref[...] = jnp.max(x, axis=0, keepdims=True)
    min_ref[...] = jnp.min(x, axis=1, keepdims=True)
    at_ref[...] = jnp.argmax(x, axis=1, keepdims=True).astype(jnp.int32)


def reductions(x, **kw):
    m, n = x.shape
    shape = [jax.ShapeDtypeStruct((1, n), x.dtype), jax.ShapeDtypeStruct((m, 1), x.dtype), jax.ShapeDtypeStruct((m, 1), jnp.int32)]
    return whole(reductions_kernel, shape, x, **kw)


def integers_kernel(x_ref, y_ref, o_ref):
    x, y = x_ref[...], y_ref[...]
    z = (x & y) | (x ^ 12345) | (x << 2)
    z = z + jnp.minimum(x, y) * 3 - jnp.maximum(x, -y) + (x >> 3) + jax.lax.shift_right_logical(x, 20)
    o_ref[...] = jnp.where((x > y) & (z != 7), z, -z)


def integers(x, y, **kw):
    return whole(integers_kernel, like(x), x, y, **kw)


def casts_kernel(x_ref, b_ref, i_ref, o_ref):
    x = x_ref[...]
    b_ref[...] = x.astype(jnp.bfloat16)
    i_ref[...] = (x * 10).astype(jnp.int32)
    o_ref[...] = b_ref[...].astype(jnp.float32) + i_ref[...].astype(jnp.float32) + pltpu.bitcast(x, jnp.int32).astype(jnp.float32) * 1e-9


def casts(x, **kw):
    return whole(casts_kernel, [jax.ShapeDtypeStruct(x.shape, jnp.bfloat16), jax.ShapeDtypeStruct(x.shape, jnp.int32), like(x)], x, **kw)


def shapes_kernel(x_ref, y_ref, o_ref):
    x, y = x_ref[...], y_ref[...]
    both = jnp.concatenate([x, y], axis=0)
    tall = jnp.tile(y, (2, 1))
    wide = jnp.broadcast_to(y[0:1, :], (2 * y.shape[0], y.shape[1]))
    o_ref[...] = both + tall * wide


def shapes(x, y, **kw):
    return whole(shapes_kernel, jax.ShapeDtypeStruct((2 * x.shape[0], x.shape[1]), x.dtype), x, y, **kw)


def reshapes_kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = jnp.sum(x.reshape(4, x.shape[0] // 4, x.shape[1]), axis=0) + x_ref[0:x.shape[0] // 4, :]


def reshapes(x, **kw):
    return whole(reshapes_kernel, jax.ShapeDtypeStruct((x.shape[0] // 4, x.shape[1]), x.dtype), x, **kw)


def strided_kernel(x_ref, o_ref):
    half = o_ref.shape[0]
    o_ref[...] = x_ref[pl.ds(0, half, stride=2), :] - x_ref[pl.ds(1, half, stride=2), :]


def strided_rows(x, **kw):
    return whole(strided_kernel, jax.ShapeDtypeStruct((x.shape[0] // 2, x.shape[1]), x.dtype), x, **kw)


def masked_kernel(n_ref, x_ref, o_ref):
    n = n_ref[0]
    lane = jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 1)
    o_ref[...] = jnp.zeros_like(o_ref)
    pltpu.store(o_ref, x_ref[...] * 2.0, mask=lane < n)


def masked_store(n, x, **kw):
    return pl.pallas_call(masked_kernel, out_shape=like(x), in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()], **kw)(n, x)


def gather_lanes_kernel(x_ref, i_ref, o_ref):
    o_ref[...] = jnp.take_along_axis(x_ref[...], i_ref[...], axis=1)


def gather_lanes(x, i, **kw):
    return whole(gather_lanes_kernel, like(x), x, i, **kw)


def reciprocals_kernel(x_ref, o_ref):
    x = jnp.abs(x_ref[...]) + 1.0
    o_ref[...] = pl.reciprocal(x, approx=True) + pl.reciprocal(x)


def reciprocals(x, **kw):
    return whole(reciprocals_kernel, like(x), x, **kw)


def random_bits_kernel(seed_ref, o_ref):
    pltpu.prng_seed(seed_ref[0])
    o_ref[...] = pltpu.prng_random_bits(o_ref.shape).astype(jnp.int32)


def random_bits(seed, **kw):
    return pl.pallas_call(random_bits_kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)], out_shape=jax.ShapeDtypeStruct((8, 128), jnp.int32), **kw)(seed)


def newton_kernel(x_ref, o_ref, count_ref):
    x = x_ref[...]

    def unfinished(state):
        y, i = state
        return (jnp.max(jnp.abs(y * y - x)) > 1e-3) & (i < 30)

    def step(state):
        y, i = state
        return 0.5 * (y + x / y), i + 1

    y, n = jax.lax.while_loop(unfinished, step, (jnp.ones_like(x), 0))
    o_ref[...] = y
    count_ref[0] = n


def newton(x, **kw):
    return pl.pallas_call(newton_kernel, out_shape=[like(x), jax.ShapeDtypeStruct((1, ), jnp.int32)],
                          out_specs=[pl.BlockSpec(), pl.BlockSpec(memory_space=pltpu.SMEM)], **kw)(x)


def branch_kernel(which_ref, x_ref, o_ref):
    w = which_ref[pl.program_id(0)]
    o_ref[...] = jax.lax.cond(w > 1, lambda x: x * 2.0, lambda x: x - 1.0, x_ref[...])

    @pl.when(w == 0)
    def _():
        o_ref[0:8, :] = jnp.zeros((8, o_ref.shape[1]), jnp.float32)


def branches(which, x, **kw):
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=which.shape, in_specs=[pl.BlockSpec((16, 128), lambda i, w: (i, 0))],
                                        out_specs=pl.BlockSpec((16, 128), lambda i, w: (i, 0)))
    return pl.pallas_call(branch_kernel, grid_spec=spec, out_shape=like(x), **kw)(which, x)


def running_total_kernel(x_ref, o_ref, total_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        total_ref[0] = 0.0

    total_ref[0] += jnp.sum(x_ref[...])
    o_ref[...] = jnp.full_like(o_ref, total_ref[0])


def running_total(x, **kw):
    return pl.pallas_call(running_total_kernel, grid=(x.shape[0] // 8, ), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
                          out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), out_shape=like(x), scratch_shapes=[pltpu.SMEM((1, ), jnp.float32)], **kw)(x)


def update_kernel(x_ref, g_ref, o_ref):
    o_ref[...] = x_ref[...] - 0.1 * g_ref[...]


def in_place_update(x, g, **kw):
    spec = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(update_kernel, grid=(x.shape[0] // 16, ), in_specs=[spec, spec], out_specs=spec, out_shape=like(x),
                          input_output_aliases={0: 0}, **kw)(x, g)


def inner_pipeline_kernel(x_ref, y_ref, o_ref):
    def body(x, y, o):
        o[...] = x[...] * y[...]

    spec = pl.BlockSpec((16, 128), lambda i: (i, 0))
    pltpu.emit_pipeline(body, grid=(x_ref.shape[0] // 16, ), in_specs=[spec, spec], out_specs=[spec])(x_ref, y_ref, o_ref)


def inner_pipeline(x, y, **kw):
    any_ = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(inner_pipeline_kernel, in_specs=[any_, any_], out_specs=any_, out_shape=like(x), **kw)(x, y)


def semaphores_kernel(x_ref, o_ref, sem):
    pl.semaphore_signal(sem, 3)
    pl.semaphore_wait(sem, 2)
    o_ref[...] = x_ref[...] + pl.semaphore_read(sem).astype(jnp.float32)
    pl.semaphore_wait(sem, 1)


def semaphores(x, **kw):
    return pl.pallas_call(semaphores_kernel, out_shape=like(x), scratch_shapes=[pltpu.SemaphoreType.REGULAR], **kw)(x)


def matmul_kernel(x_ref, y_ref, o_ref, *, dims, precision):
    o_ref[...] = jax.lax.dot_general(x_ref[...], y_ref[...], (dims, ((), ())), precision=precision, preferred_element_type=o_ref.dtype)


def matmul_transposed(x, y, **kw):
    return whole(functools.partial(matmul_kernel, dims=((1, ), (1, )), precision=None), jax.ShapeDtypeStruct((x.shape[0], y.shape[0]), jnp.float32), x, y, **kw)


def matmul_exact(x, y, **kw):
    return whole(functools.partial(matmul_kernel, dims=((1, ), (0, )), precision=jax.lax.Precision.HIGHEST), jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), jnp.float32), x, y, **kw)


def ragged_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0


def ragged_blocks(x, **kw):
    """The last block hangs over the edge."""
    spec = pl.BlockSpec((16, 128), lambda i: (i, 0))
    return pl.pallas_call(ragged_kernel, grid=(pl.cdiv(x.shape[0], 16), ), in_specs=[spec], out_specs=spec, out_shape=like(x), **kw)(x)


def dynamic_grid_kernel(n_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * (pl.program_id(0) + 1).astype(jnp.float32)


def dynamic_grid(n, x, **kw):
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(n[0], ), in_specs=[pl.BlockSpec((8, 128), lambda i, n: (i, 0))],
                                        out_specs=pl.BlockSpec((8, 128), lambda i, n: (i, 0)))
    return pl.pallas_call(dynamic_grid_kernel, grid_spec=spec, out_shape=like(x), **kw)(n, x)


def own_buffers_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 0.5


def own_buffers(x, **kw):
    """Two buffers for the input, one for the output."""
    return pl.pallas_call(own_buffers_kernel, grid=(x.shape[0] // 16, ), in_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(2))],
                          out_specs=pl.BlockSpec((16, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(1)), out_shape=like(x), **kw)(x)


# name, [(dtype, shape, init)]
KERNELS = [
    ('rolls', [('f32', (16, 256), 'randn')]),
    ('activations', [('f32', (16, 256), 'randn')]),
    ('reductions', [('f32', (16, 256), 'randn')]),
    ('integers', [('i32', (16, 128), 'randint 100000'), ('i32', (16, 128), 'randint 1000')]),
    ('casts', [('f32', (16, 128), 'randn')]),
    ('shapes', [('f32', (8, 128), 'randn'), ('f32', (8, 128), 'randn')]),
    ('reshapes', [('f32', (32, 128), 'randn')]),
    ('strided_rows', [('f32', (32, 128), 'randn')]),
    ('masked_store', [('i32', (1, ), 'randint 100'), ('f32', (8, 128), 'randn')]),
    ('gather_lanes', [('f32', (8, 128), 'randn'), ('i32', (8, 128), 'randint 128')]),
    ('reciprocals', [('f32', (8, 128), 'randn')]),
    ('random_bits', [('i32', (1, ), 'randint 100')]),
    ('newton', [('f32', (8, 128), 'positive')]),
    ('branches', [('i32', (4, ), 'randint 3'), ('f32', (64, 128), 'randn')]),
    ('running_total', [('f32', (64, 128), 'randn')]),
    ('in_place_update', [('f32', (64, 128), 'randn'), ('f32', (64, 128), 'randn')]),
    ('inner_pipeline', [('f32', (64, 128), 'randn'), ('f32', (64, 128), 'randn')]),
    ('semaphores', [('f32', (8, 128), 'randn')]),
    ('matmul_transposed', [('bf16', (64, 128), 'randn'), ('bf16', (128, 128), 'randn')]),
    ('matmul_exact', [('f32', (64, 128), 'randn'), ('f32', (128, 128), 'randn')]),
    ('ragged_blocks', [('f32', (40, 128), 'randn')]),
    ('dynamic_grid', [('i32', (1, ), 'three'), ('f32', (24, 128), 'randn')]),
    ('own_buffers', [('f32', (96, 128), 'randn')]),
]
