"""A descriptor that the hardware cannot take."""

from triton.tools.tensor_descriptor import TensorDescriptor

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "base must be 16-byte aligned"


def run(x):
    return TensorDescriptor.from_tensor(x[1:], [32])
