"""A transposed view of a copy, where a kernel would have to turn rows into columns."""

from doubling import doubled

CONTRACT = {"x": "input float32 [50,20]", "y": "output float32 [20,50]"}
REASON = "comes back with strides [1, 20]; a caller finds its elements at [50, 1]"


def run(x):
    return doubled(x).t()
