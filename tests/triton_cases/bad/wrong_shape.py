"""Another shape than the contract."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "comes back as float32 [10, 100]"


def run(x):
    return doubled(x).view(10, 100)
