"""A kernel compiled first, and a grid from its registers and shared memory."""

import torch
import triton
from doubling import double

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    y = torch.empty_like(x)
    device = triton.runtime.driver.active.get_active_torch_device()
    facts = triton.runtime.driver.active.utils.get_device_properties(device.index)
    kernel = double.warmup(x, y, x.numel(), 2.0, BLOCK=256, grid=(1,))
    kernel._init_handles()
    programs = facts["max_num_regs"] // (kernel.n_regs * 32 * 4)
    assert kernel.n_spills == 0 and kernel.metadata.shared < facts["max_shared_mem"]
    kernel[(min(programs, 4), 1, 1)](x, y, x.numel(), 2.0, 256)
    return y
