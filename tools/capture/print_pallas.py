"""Prints the Mosaic text of Pallas kernels without a TPU, runs them in JAX's interpreter, and saves what went in and came out.

  print_pallas.py MODULE OUT [REGEX]

MODULE is a Python module with KERNELS: (name, [(dtype, shape, init)]). For each, OUT gets ir/NAME.mlir, data/NAME.IN<i>.npy,
data/NAME.OUT<i>.npy, and a line of launches.jsonl.
"""
import base64, contextlib, importlib, json, os, re, sys
import numpy as np
import jax, jax.numpy as jnp
from jax.experimental.pallas import tpu as pltpu

DTYPES = dict(f32=jnp.float32, bf16=jnp.bfloat16, i32=jnp.int32, i8=jnp.int8)


def operand(spec, seed):
    dtype, shape, init = spec
    rng = np.random.default_rng(seed)
    if init in ('randn', 'positive'):
        x = rng.standard_normal(shape)
        x = np.abs(x) + 0.1 if init == 'positive' else x
    elif init == 'three':
        x = np.full(shape, 3)
    else:
        x = rng.integers(0, int(init.split()[1]), shape)
    return jnp.asarray(x, DTYPES[dtype])


def plain(x):
    x = np.asarray(x)
    return x.view(np.uint16) if x.dtype == jnp.bfloat16 else x


def for_tpu():
    device = jax.sharding.AbstractDevice(device_kind='TPU v5 lite', platform='tpu', num_cores=1)
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((1, ), ('_x', ), abstract_device=device))


def mosaic_text(fn, xs):
    from jax._src.lib.mlir import ir, passmanager
    from jax._src.lib import tpu
    with for_tpu():
        exported = jax.export.export(jax.jit(fn), platforms=['tpu'])(*xs)
    for m in re.finditer(r'backend_config = "((?:[^"\\]|\\.)*)"', exported.mlir_module()):
        raw = re.sub(r'\\([0-9A-F]{2})', lambda h: chr(int(h.group(1), 16)), m.group(1))
        body = json.loads(raw).get('custom_call_config', {}).get('body') if raw.startswith('{') else None
        if not body:
            continue
        context = ir.Context()
        context.allow_unregistered_dialects = True
        tpu.register_dialect(context)
        with context:
            module = ir.Module.parse(base64.b64decode(body))
            passmanager.PassManager.parse('builtin.module(mosaic-serde{serialize=false})').run(module.operation)
            text = module.operation.get_asm(enable_debug_info=True)
        text = re.sub(r'"[^"]*/site-packages/', '"', text)
        return re.sub(r'"[^"]*/(\w+)\.py"', r'"\1.py"', text)
    raise RuntimeError('no Mosaic kernel in the module')


def main():
    module, out = importlib.import_module(sys.argv[1]), sys.argv[2]
    only = sys.argv[3] if len(sys.argv) > 3 else ''
    for folder in ('ir', 'data'):
        os.makedirs(f'{out}/{folder}', exist_ok=True)
    with open(f'{out}/launches.jsonl', 'w') as lines:
        for name, specs in module.KERNELS:
            if not re.search(only, name):
                continue
            fn = getattr(module, name)
            xs = [operand(s, i) for i, s in enumerate(specs)]
            record = dict(name=name, operands=specs)
            try:
                open(f'{out}/ir/{name}.mlir', 'w').write(mosaic_text(fn, xs))
            except Exception as e:
                record['failed'] = repr(e)[-600:]
                print('FAILED to print', name, repr(e)[-500:], flush=True)
            for i, x in enumerate(xs):
                np.save(f'{out}/data/{name}.IN{i}.npy', plain(x))
            for interpret in (pltpu.InterpretParams() if hasattr(pltpu, 'InterpretParams') else True, True):
                try:
                    with for_tpu() if name == 'inner_pipeline' else contextlib.nullcontext():
                        ys = fn(*xs, interpret=interpret)
                    ys = ys if isinstance(ys, (list, tuple)) else [ys]
                    for i, y in enumerate(ys):
                        np.save(f'{out}/data/{name}.OUT{i}.npy', plain(y))
                    record['outputs'] = [[str(y.dtype), list(y.shape)] for y in ys]
                    break
                except Exception as e:
                    record['not_interpreted'] = repr(e)[-400:]
                    print('FAILED to interpret', name, repr(e)[-300:], flush=True)
            lines.write(json.dumps(record) + '\n')
            print(name, {k: v for k, v in record.items() if k != 'operands'}, flush=True)


if __name__ == '__main__':
    main()
