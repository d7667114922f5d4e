"""What a runner asks of the driver in one block, in order, in a process that is the runner.

`python device_calls.py FOLDER ARCH` prints, as JSON, the names of all calls of a block of four
timed samples of known outputs, after a block that made all that is made once. FOLDER holds the
machine code of `RIGHT`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from device_inside import SLOTS, Inside
from device_kernels import CONTRACT, RIGHT, Bench, N
from pretend_gpu import Twins

from kernelwright.runners.contract import bind
from kernelwright.runners.device import driver, process
from kernelwright.runners.pools import SeedPool
from kernelwright.runners.runner_messages import Block
from kernelwright.runners.specs.io_contract import Contract


class Noting:
    """The binding, with the names of what is called."""

    def __init__(self, binding: Any) -> None:
        self._binding, self.names = binding, list[str]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._binding, name)
        if not name.startswith("cu"):
            return found

        def noted(*args: object) -> Any:
            self.names.append(name)
            return found(*args)

        return noted


def main() -> None:
    """Two blocks, of which the second is told."""
    folder, noting = Path(sys.argv[1]), Noting(driver.binding())
    driver.binding = lambda: noting
    runner = process.DeviceProcess(driver.device_uuid(), folder / "registry")
    parsed = Contract.model_validate(CONTRACT)
    bound = bind(parsed, {"n": N}, "w")
    inside: Any = Inside(runner)
    twins = Twins(Path(os.environ["PRETEND_GPU_TWINS"]))
    bench = Bench(inside, folder, sys.argv[2], bound, twins)
    inside.attach(
        SeedPool("k/w", "k", bound, tuple(range(SLOTS))), parsed, bench.inputs_file(SLOTS)
    )
    for variant in ("a", "b"):
        bench.load(variant, RIGHT)
    known = dict[str, tuple[str, ...]]()
    for _ in range(4):  # each of two graphs, all seeds
        message = Block(
            pool="k/w",
            rounds=(("a", "b"), ("b", "a")),
            calls={},
            poison=0xFF,
            timeout_s=20.0,
            known=known,
        )
        noting.names.clear()
        answer, fd = runner.block(message)
        os.close(fd)
        known |= {str(r.slot): (r.digest,) for side in answer.sides for r in side.results}
    print(json.dumps(noting.names))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
