"""A Triton kernel that reads the clocks of the SM it runs on; energy.py launches it before and after a loop."""
import triton
import triton.language as tl


@triton.jit
def clock_probe(out_ptr):
    sm = tl.inline_asm_elementwise('mov.u32 $0, %smid;', '=r', [], dtype=tl.int32, is_pure=False, pack=1)
    cycles = tl.inline_asm_elementwise('mov.u64 $0, %clock64;', '=l', [], dtype=tl.int64, is_pure=False, pack=1)
    ns = tl.inline_asm_elementwise('mov.u64 $0, %globaltimer;', '=l', [], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(out_ptr + sm * 2, cycles)
    tl.store(out_ptr + sm * 2 + 1, ns)
