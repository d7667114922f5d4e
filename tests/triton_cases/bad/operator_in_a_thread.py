"""Operators where no watch would see them."""

from concurrent.futures import ThreadPoolExecutor

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "a second thread"


def run(x):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(x.add_, 1).result()
    return doubled(x)
