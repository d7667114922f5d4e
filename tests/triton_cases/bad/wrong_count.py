"""More tensors than outputs."""

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "returns 2 tensors, the contract has 1 outputs (y)"


def run(x):
    return doubled(x), doubled(x)
