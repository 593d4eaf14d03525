"""Prints the IR of Triton kernels for several GPUs, runs them on the GPU at hand, and saves what went in and came out.

  print_triton.py MODULE OUT [REGEX]

MODULE is a Python module with LAUNCHES: (kernel, arguments, constexprs, grid[, name]). For each, OUT gets
ir/NAME.ttir and .ttgir, ir/NAME.sm80.ttgir where sm_80 has it, data/NAME.ARG.npy for each tensor before the launch and
data/NAME.ARG.out.npy for each that it changed, and a line of launches.jsonl.
"""
import importlib, json, os, re, sys
import numpy as np
import torch, triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

DTYPES = dict(f64=torch.float64, f32=torch.float32, f16=torch.float16, bf16=torch.bfloat16, f8=torch.float8_e4m3fn,
              f8e5=torch.float8_e5m2, i64=torch.int64, i32=torch.int32, i16=torch.int16, i8=torch.int8, u8=torch.uint8)
ACC = dict(fp16=tl.float16, fp32=tl.float32, fp64=tl.float64, int32=tl.int32)


def tensor(spec, seed):
    g = torch.Generator().manual_seed(seed)
    dtype, shape, init = DTYPES[spec['dtype']], spec['shape'], spec['init']
    if init == 'randn':
        x = torch.randn(shape, generator=g)
        x = (x * 20).round() if not dtype.is_floating_point else x
    elif init == 'zeros':
        x = torch.zeros(shape)
    elif init.startswith('steps'):
        x = torch.arange(int(np.prod(shape))).reshape(shape) * int(init.split()[1])
    else:
        x = torch.randint(0, int(init.split()[1]), shape, generator=g) + (120 if spec['dtype'] == 'u8' else 0)
    return x.to(dtype).cuda()


def plain(x):
    """A NumPy array of the same bits: types that NumPy lacks as unsigned integers."""
    x = x.detach().cpu()
    if x.dtype == torch.bfloat16:
        return x.view(torch.uint16).numpy()
    if x.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return x.view(torch.uint8).numpy()
    return x.numpy()


def write(path, kernel, kinds=('ttir', 'ttgir')):
    for kind in kinds:
        text = kernel.asm[kind]
        text = re.sub(r'"[^"]*/(\w+\.py)"', r'"\1"', text)
        open(f'{path}.{kind}', 'w').write(text)


def for_sm80(fn, args, values, constexprs):
    """Compiles without launching: the signature and the divisibility of a launch with these values."""
    signature, attrs = {}, {}
    names = {torch.float64: 'fp64', torch.float32: 'fp32', torch.float16: 'fp16', torch.bfloat16: 'bf16', torch.float8_e4m3fn: 'fp8e4nv',
             torch.float8_e5m2: 'fp8e5', torch.int64: 'i64', torch.int32: 'i32', torch.int16: 'i16', torch.int8: 'i8', torch.uint8: 'u8'}
    for i, name in enumerate(fn.arg_names):
        v = values.get(name)
        if name in constexprs:
            signature[name] = 'constexpr'
        elif isinstance(v, torch.Tensor):
            signature[name] = '*' + names[v.dtype]
            attrs[(i, )] = [['tt.divisibility', 16]]
        elif isinstance(v, float):
            signature[name] = 'fp32'
        elif v == 1:
            signature[name] = 'constexpr'
            constexprs = dict(constexprs, **{name: 1})
        else:
            signature[name] = 'i32'
            if v % 16 == 0:
                attrs[(i, )] = [['tt.divisibility', 16]]
    return triton.compile(ASTSource(fn, signature, constexprs, attrs), target=GPUTarget('cuda', 80, 32))


def main():
    module, out = importlib.import_module(sys.argv[1]), sys.argv[2]
    only = sys.argv[3] if len(sys.argv) > 3 else ''
    for folder in ('ir', 'data'):
        os.makedirs(f'{out}/{folder}', exist_ok=True)
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device='cuda'))
    with open(f'{out}/launches.jsonl', 'w') as lines:
        for launch in module.LAUNCHES:
            kernel, args, constexprs, grid = launch[:4]
            name = launch[4] if len(launch) > 4 else kernel
            if not re.search(only, name):
                continue
            fn = getattr(module, kernel)
            values = {a: tensor(v, i) if isinstance(v, dict) else v for i, (a, v) in enumerate(args.items())}
            before = {a: v.clone() for a, v in values.items() if isinstance(v, torch.Tensor)}
            given = {k: ACC.get(v, v) if k == 'ACC' else v for k, v in constexprs.items()}
            record = dict(name=name, kernel=kernel, args=args, constexprs=constexprs, grid=grid)
            try:
                k = fn[tuple(grid)](**values, **given)
                torch.cuda.synchronize()
                write(f'{out}/ir/{name}', k)
                record['num_warps'] = k.metadata.num_warps
                changed = []
                for a, x in before.items():
                    np.save(f'{out}/data/{name}.{a}.npy', plain(x))
                    if not np.array_equal(plain(x), plain(values[a])):
                        np.save(f'{out}/data/{name}.{a}.out.npy', plain(values[a]))
                        changed.append(a)
                record['outputs'] = changed
                print('OK', name, changed, flush=True)
            except Exception as e:
                record['failed'] = str(e)[-600:]
                print('FAILED', name, str(e)[-600:].replace('\n', ' | '), flush=True)
            try:
                write(f'{out}/ir/{name}.sm80', for_sm80(fn, args, values, given), ['ttgir'])
            except Exception as e:
                record['failed_sm80'] = str(e)[-600:]
                print('FAILED on sm_80', name, str(e)[-300:].replace('\n', ' | '), flush=True)
            lines.write(json.dumps(record) + '\n')


if __name__ == '__main__':
    main()
