"""Captures the Triton kernels that torch.compile makes of a program of yours, and measures each once.

  ncu --profile-from-start off --clock-control none --cache-control all --metrics $(paste -sd, ncu_metrics.txt) \
      --page raw --csv --log-file ncu.csv python3 compiled.py record PROGRAM OUT
  python3 compiled.py join OUT ncu.csv     add what ncu counted to OUT/cases.json

PROGRAM is a Python module with `programs() -> [(name, function)]`: each function compiles what it likes and returns a
callable without arguments, which is called until everything is compiled and then once more, recorded. Kernels that
differ neither in their code nor in the sizes of their arguments are kept once. OUT/ir gets their TTIR, TTGIR and cubin,
OUT/cases.json a case each, in the form that `xpusim correlate` reads. Tensors of integers are described by their
largest value (what is negative is lost), all others as normally distributed; a kernel with arguments of other kinds is
left out and named. Written for PyTorch 2.11 and Triton 3.6; set TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER=0.
`--programs` and `--kernels`: seconds after which no further program, or kernel, is begun (300 and 540).
"""
import argparse, csv, hashlib, importlib, json, os, time

COUNTERS = dict(
    duration_ns='gpu__time_duration.sum', cycles='gpc__cycles_elapsed.max', sm_cycles_active_avg='sm__cycles_active.avg',
    dram_read_bytes='dram__bytes_read.sum', dram_write_bytes='dram__bytes_write.sum',
    dram_clock_hz='dram__cycles_elapsed.avg.per_second',
    **{f'l2_sectors_{n}': f'lts__t_sectors_op_{n}.sum' for n in ('read', 'write', 'atom', 'red')},
    **{f'l2_sectors_{n}': f'lts__t_sectors_lookup_{n}.sum' for n in ('hit', 'miss')},
    l1_sectors_global_load='l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum',
    l1_requests_global_load='l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum',
    l1_sectors_global_store='l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum',
    l1_requests_global_store='l1tex__t_requests_pipe_lsu_mem_global_op_st.sum',
    l1_sectors_global_load_hit='l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum',
    shared_bank_conflicts='l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum',
    shared_wavefronts='l1tex__data_pipe_lsu_wavefronts_mem_shared.sum',
    warp_instructions='smsp__inst_executed.sum', smsp_cycles_active_avg='smsp__cycles_active.avg',
    warps_active_per_smsp='smsp__warps_active.avg.per_cycle_active',
    issue_active_pct='smsp__issue_active.avg.pct_of_peak_sustained_active',
    tensor_active_pct='sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active',
    **{f'inst_{n}': f'sm__inst_executed_pipe_{n}.sum' for n in ('alu', 'fma', 'xu', 'lsu', 'tensor')},
    **{f'stall_{n}': f'smsp__average_warps_issue_stalled_{n}_per_issue_active.ratio' for n in (
        'long_scoreboard', 'short_scoreboard', 'barrier', 'wait', 'math_pipe_throttle', 'lg_throttle', 'mio_throttle', 'gmma')},
    registers_per_thread='launch__registers_per_thread', shared_bytes_per_block='launch__shared_mem_per_block',
    occupancy_limit_registers='launch__occupancy_limit_registers', occupancy_limit_shared='launch__occupancy_limit_shared_mem',
    theoretical_occupancy_pct='sm__maximum_warps_per_active_cycle_pct')
UNITS = dict(Kbyte=1e3, Mbyte=1e6, Gbyte=1e9, us=1e3, ms=1e6, s=1e9, Ghz=1e9, Mhz=1e6, Khz=1e3)

DTYPES = {'float64': 'f64', 'float32': 'f32', 'float16': 'f16', 'bfloat16': 'bf16', 'int64': 'i64', 'int32': 'i32', 'int16': 'i16',
          'int8': 'i8', 'uint8': 'u8', 'bool': 'i1', 'float8_e4m3fn': 'f8E4M3FN', 'float8_e5m2': 'f8E5M2'}
LARGEST = 2 ** 53  # that `randint` takes


class Recorder:
    """Stands between the compiler's launcher and the driver while a program is recorded."""

    def __init__(self):
        self.kernels, self.launches, self.active = {}, {}, None

    def install(self):
        from triton.backends.nvidia.driver import CudaLauncher
        from triton.compiler.compiler import CompiledKernel
        recorder, init_handles, launch = self, CompiledKernel._init_handles, CudaLauncher.__call__

        def with_handle(kernel):
            init_handles(kernel)
            recorder.kernels[kernel.function] = kernel

        def with_record(launcher, x, y, z, stream, function, *args):
            if recorder.active is not None:
                recorder.record(lambda: launch(launcher, x, y, z, stream, function, *args), (x, y, z), function, args[4:])
            return launch(launcher, x, y, z, stream, function, *args)

        CompiledKernel._init_handles, CudaLauncher.__call__ = with_handle, with_record

    def record(self, run, grid, function, values):
        kernel = self.kernels.get(function)
        if kernel is None:
            print('LEFT OUT: a kernel that was not compiled here', flush=True)
            return
        parameters = {n: v for (n, kind), v in zip(kernel.src.signature.items(), values) if kind != 'constexpr'}
        described = {n: describe(v) for n, v in parameters.items()}
        if any(d is None for d in described.values()):
            print('LEFT OUT:', kernel.metadata.name, {n: type(v) for n, v in parameters.items()}, flush=True)
            return
        ir = kernel.asm['ttir'] + kernel.asm['ttgir']
        key = hashlib.md5((ir + repr(grid) + repr(described)).encode()).hexdigest()
        self.launches.setdefault(key, (self.active, kernel, grid, described, run))


def describe(value):
    import torch
    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, (bool, int, float)) else None
    extent = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride())) if value.numel() else 0
    dtype = DTYPES.get(str(value.dtype).split('.')[1])
    if extent == 0 or dtype is None:
        return None
    if value.dtype.is_floating_point:
        return dict(dtype=dtype, shape=[extent], init='randn')
    return dict(dtype=dtype, shape=[extent], init=f'randint {min(max(1, int(value.max()) + 1), LARGEST)}')


def record(options):
    import torch
    began, recorder = time.time(), Recorder()
    recorder.install()
    for name, build in importlib.import_module(options.program).programs():
        if time.time() - began > options.programs:
            print('NO TIME FOR', name, flush=True)
            continue
        before = len(recorder.launches)
        try:
            run = build()
            run(), run()
            torch.cuda.synchronize()
            recorder.active = name
            run()
        except Exception as e:
            print('FAILED', name, type(e).__name__, str(e)[:500], flush=True)
        finally:
            recorder.active = None
        torch.cuda.synchronize()
        print(f'{time.time() - began:.0f} s: {name}: {len(recorder.launches) - before} kernels', flush=True)
    if not recorder.launches:
        raise SystemExit('no launch was recorded: does the program compile anything, through Triton\'s own launcher?')
    os.makedirs(f'{options.out}/ir', exist_ok=True)
    cases = []
    for n, (program, kernel, grid, described, run) in enumerate(recorder.launches.values()):
        stem = f"{kernel.metadata.name}_{hashlib.md5((kernel.asm['ttir'] + kernel.asm['ttgir']).encode()).hexdigest()[:10]}"
        for kind in ('ttir', 'ttgir', 'cubin'):
            open(f'{options.out}/ir/{stem}.{kind}', 'wb' if kind == 'cubin' else 'w').write(kernel.asm[kind])
        cases.append(dict(name=f'{program}_{n}_{kernel.metadata.name}', kernel=kernel.metadata.name, ir=f'ir/{stem}', grid=list(grid),
                          num_warps=kernel.metadata.num_warps, num_stages=kernel.metadata.num_stages, constexprs={}, args=described,
                          registers_per_thread=kernel.n_regs, spills=kernel.n_spills, shared_bytes=kernel.metadata.shared, flops=0, measured={}))
    json.dump(cases, open(f'{options.out}/cases.json', 'w'), indent=1)
    for case, (_, _, _, _, run) in zip(cases, recorder.launches.values()):
        if time.time() - began > options.kernels:
            break
        run(), torch.cuda.synchronize()
        torch.cuda.profiler.start()
        run(), torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        print('PROFILED', case['name'], flush=True)


def join(options):
    """Rows of ncu come in the order in which kernels ran, which is that of the cases. The last cases may be unmeasured."""
    lines = [line for line in open(options.csv) if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    if len(rows) < 2:
        raise SystemExit(f'{options.csv}: no kernel was measured')
    units, rows = rows[0], rows[1:]
    cases = json.load(open(f'{options.out}/cases.json'))
    for case, row in zip(cases, rows):
        assert row['Kernel Name'].startswith(case['kernel']), (case['name'], row['Kernel Name'])
        numbers = {n: (row.get(m) or '').replace(',', '') for n, m in COUNTERS.items()}
        case['counters'] = {n: float(v) * UNITS.get(units[COUNTERS[n]], 1) for n, v in numbers.items() if v and v != 'n/a'}
    json.dump(cases, open(f'{options.out}/cases.json', 'w'), indent=1)
    print(len(rows), 'of', len(cases), 'cases measured')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    one = verbs.add_parser('record')
    one.add_argument('program'), one.add_argument('out')
    one.add_argument('--programs', type=float, default=300), one.add_argument('--kernels', type=float, default=540)
    one.set_defaults(run=record)
    two = verbs.add_parser('join')
    two.add_argument('out'), two.add_argument('csv')
    two.set_defaults(run=join)
    options = parser.parse_args()
    options.run(options)


if __name__ == '__main__':
    main()
