"""A hook around launches sees what it would see, and adds nothing."""

from doubling import doubled
from triton import knobs

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}


def run(x):
    knobs.runtime.launch_enter_hook = lambda metadata: None
    return doubled(x)
