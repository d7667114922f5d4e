"""More programs than the launcher can count."""

from doubling import double

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "over 2**31 - 1"


def run(x, y):
    double[(65536, 32768)](x, y, 10, 2.0, BLOCK=256)
