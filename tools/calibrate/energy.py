#!/usr/bin/env python3
"""Measures the energy, the power and the real clock of launches in steady loops on the GPU at hand.

  energy.py CASES.json[,CASES.json...] KERNELS.py[,KERNELS.py...] OUT.json [--names FILE] [--seconds S] [--limit S]

CASES.json is in the form of traces/h200/cases.json; the kernels are those of workloads/triton. OUT.json has the same form,
each case with `measured.energy_uj_per_launch, loop_us, mean_power_w, clock_mhz, nvml_clock_mhz, throttle, temperature_c`,
written anew after every case. --names FILE: only these cases, in this order (a name a line). --limit: stop in good time.

A loop is a captured graph of ten launches, replayed for --seconds, the first third of it unmeasured. Power is the slope of
the chip's total-energy counter between its first and its last step inside the window, so that the counter's period does not
matter; energy a launch is power times the loop's time a launch, gaps inside. `clock_mhz` is cycles over nanoseconds that the
SMs themselves counted over the window; `nvml_clock_mhz`, what the driver says, can be higher: a clock that the hardware
stretches under load is not in it. `throttle` is the union of NVML's reasons. Needs torch, triton, pynvml.
"""
import argparse, importlib.util, json, multiprocessing, os, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'capture'))
START = time.time()


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def chosen(options):
    cases = {c['name']: c for file in options.cases.split(',') for c in json.load(open(file))}
    if not options.names:
        return list(cases.values())
    return [cases[n] for n in open(options.names).read().split()]


def module_of(case, modules):
    return next(m for m in modules if hasattr(m, case['kernel']))


def compile_share(cases, paths, done):
    """In a process of its own: runs each case once, for the compiler's cache on disk."""
    import measure, torch
    modules = [load(p) for p in paths]
    for c in cases:
        try:
            measure.launcher(c, module_of(c, modules))()
            torch.cuda.synchronize()
        except Exception as e:
            print('compile', c['name'], e, flush=True)
    done.put(1)


class Sampler:
    """Reads the chip's counters every few milliseconds while a loop runs."""

    def __init__(self):
        import pynvml as nv
        nv.nvmlInit()
        self.nv, self.gpu = nv, nv.nvmlDeviceGetHandleByIndex(0)
        self.reasons = getattr(nv, 'nvmlDeviceGetCurrentClocksEventReasons', None) or nv.nvmlDeviceGetCurrentClocksThrottleReasons

    def start(self):
        self.samples, self.stopping = [], False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        nv, gpu = self.nv, self.gpu
        while not self.stopping:
            joules = nv.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3
            self.samples.append((time.perf_counter(), joules, nv.nvmlDeviceGetClockInfo(gpu, nv.NVML_CLOCK_SM),
                                 self.reasons(gpu)))
            time.sleep(0.003)

    def stop(self, begin):
        """What the samples since `begin` say."""
        self.stopping = True
        self.thread.join()
        kept = [s for s in self.samples if s[0] >= begin]
        steps = [b for a, b in zip(kept, kept[1:]) if b[1] != a[1]]
        if len(steps) < 3:
            return None
        throttle = 0
        for s in kept:
            throttle |= s[3]
        return dict(mean_power_w=(steps[-1][1] - steps[0][1]) / (steps[-1][0] - steps[0][0]),
                    nvml_clock_mhz=sum(s[2] for s in kept) / len(kept), throttle=throttle, energy_steps=len(steps),
                    temperature_c=self.nv.nvmlDeviceGetTemperature(self.gpu, self.nv.NVML_TEMPERATURE_GPU))


def clock_probe():
    """A launch that notes, for each SM, its clock counter and the global timer."""
    import torch, triton
    import triton.language as tl

    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'clock_probe.py')
    probe = load(source).clock_probe
    buffers = [torch.zeros((256, 2), dtype=torch.int64, device='cuda') for _ in range(2)]

    def note(i):
        probe[(1056,)](buffers[i], num_warps=1)

    def mhz():
        delta = (buffers[1] - buffers[0]).cpu().tolist()
        rates = sorted(c * 1e3 / ns for c, ns in delta if ns > 0)
        return rates[len(rates) // 2] if rates else None

    note(0), note(1), torch.cuda.synchronize()  # compiled before anything is timed
    return note, mhz


def steady(run, us, count, seconds, sampler, note, mhz):
    """`run` does `count` launches of about `us` microseconds each."""
    import torch
    n = max(3, int(seconds * 1e6 / (us * count)))
    sampler.start()
    for _ in range(n // 2):
        run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    note(0), start.record()
    for _ in range(n):
        run()
    end.record(), note(1)
    torch.cuda.synchronize()
    found = sampler.stop(begin)
    if found is None:
        return None
    loop_us = start.elapsed_time(end) * 1e3 / (n * count)
    return dict(energy_uj_per_launch=found['mean_power_w'] * loop_us, loop_us=loop_us, clock_mhz=mhz(), **found)


def rest(seconds, sampler, name):
    """The chip without work."""
    sampler.start()
    time.sleep(seconds / 3)
    begin = time.perf_counter()
    time.sleep(seconds)
    return dict(name=name, measured=sampler.stop(begin))


def main():
    parser = argparse.ArgumentParser()
    for name in ('cases', 'kernels', 'out'):
        parser.add_argument(name)
    parser.add_argument('--names')
    parser.add_argument('--seconds', type=float, default=1.0)
    parser.add_argument('--limit', type=float, default=1e9)
    parser.add_argument('--compilers', type=int, default=8)
    options = parser.parse_args()
    cases, paths = chosen(options), options.kernels.split(',')
    results, sampler = [], Sampler()

    def keep(result):
        results.append(result)
        json.dump(results, open(options.out, 'w'), indent=1)
        m = result['measured']
        print('%5.1f s' % (time.time() - START), result['name'],
              {k: v and round(v, 2) for k, v in m.items()} if m else m, flush=True)

    keep(rest(1.0, sampler, 'rest'))
    context, waiting = multiprocessing.get_context('spawn'), []
    done = context.Queue()
    for i in range(options.compilers):
        share = cases[i::options.compilers]
        if share:
            waiting.append(context.Process(target=compile_share, args=(share, paths, done), daemon=True))
            waiting[-1].start()
    for p in waiting:
        p.join(max(1, options.limit / 3 - (time.time() - START)))
    for p in waiting:
        if p.is_alive():
            p.terminate()
    print('%5.1f s compiled' % (time.time() - START), flush=True)

    import measure, torch
    modules = [load(p) for p in paths]
    try:
        note, mhz = clock_probe()
    except Exception as e:
        print('no clocks of the SMs:', repr(e)[:300], flush=True)
        note, mhz = (lambda i: None), (lambda: None)
    keep(rest(0.8, sampler, 'rest_with_context'))
    spin = lambda: torch.cuda._sleep(2_000_000)
    keep(dict(name='one_thread_spins', measured=steady(spin, 1010, 1, options.seconds, sampler, note, mhz)))
    for c in cases:
        if time.time() - START > options.limit:
            print('out of time before', c['name'], flush=True)
            break
        try:
            run = measure.launcher(c, module_of(c, modules))
            k = run()
            torch.cuda.synchronize()
            graph, us = measure.captured(run)
            m = steady(graph.replay, us, 10, options.seconds, sampler, note, mhz)
            keep(dict(c, registers_here=k.n_regs, shared_here=k.metadata.shared, measured=m and dict(m, warm_us=us)))
        except Exception as e:
            print(c['name'], 'failed:', repr(e)[:300], flush=True)


if __name__ == '__main__':
    main()
