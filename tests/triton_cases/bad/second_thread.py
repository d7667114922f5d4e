"""Launches from another thread."""

import threading

from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "a second thread"


def run(x, y):
    thread = threading.Thread(target=lambda: doubled(x, y))
    thread.start()
    thread.join()
