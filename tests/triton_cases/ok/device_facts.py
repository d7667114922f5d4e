"""A grid from the facts of the device."""

import torch
from doubling import double

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    facts = torch.cuda.get_device_properties(x.device)
    assert (
        torch.cuda.get_device_capability() >= (9, 0) and facts.shared_memory_per_block_optin > 2**17
    )
    y = torch.empty_like(x)
    double[(facts.multi_processor_count,)](x, y, x.numel(), 2.0, BLOCK=256)
    torch.cuda.synchronize()
    assert torch.cuda.current_stream().cuda_stream == 0
    return y
