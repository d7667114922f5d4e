"""Our replay of every Triton example against Triton's own launch of it, on one GPU.

Usage: python benchmarks/triton_bit_equality.py [NAME...]
The plan is built without Triton's launcher and replayed by the device runner; Triton launches
the same kernel in a process of its own (`triton_launches.py`) on the same inputs. Outputs must be
equal bit for bit, and times within 1 %, taken in alternating blocks. Writes
benchmarks/results/triton_bit_equality.json; exit status 1 when something differs.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import IO, Any

import numpy as np
from environment import write
from gpu_examples import Example, gpu_examples

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_file
from kernelwright.runners.model import Variant
from kernelwright.runners.oracle.inputs import Array, make_inputs, pack, unpack
from kernelwright.runners.processes.locks import timing_lock
from kernelwright.runners.protocol.layout import record
from kernelwright.runners.protocol.messages import Block, Check
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.proxies.runner import RUNNERS, Runner
from kernelwright.runners.specs.contract import BoundContract, workload_contracts
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.toolchains import BuildRequest, Shape

SEED = 2025
MOST_SLOTS, POOL_BYTES = 16, 256 << 20
ROUNDS, SAMPLES = 15, 7
SAMPLE_NS = 300_000
WITHIN = 0.01
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Bench:
    """What every example is run with."""

    device: DeviceFacts
    builder: Builder
    runner: Runner
    folder: Path


def main() -> None:
    """Compare, print a line for each example and workload, write the result."""
    examples = [e for e in gpu_examples(sys.argv[1:]) if _is_triton(e)]
    with tempfile.TemporaryDirectory() as scratch, _bench(Path(scratch)) as bench:
        rows = [row for example in examples for row in _compared(bench, example)]
    path = write("triton_bit_equality", {"within": WITHIN, "rows": rows})
    for row in rows:
        print(
            f"{row['kernel']:24} {row['workload']:11} "
            f"{'equal bits' if row['equal'] else 'DIFFERENT BITS'}  "
            f"ours {row['ours_us']:.2f} us, Triton's {row['triton_us']:.2f} us: "
            f"{row['ratio']:.4f} ({row['low']:.4f} to {row['high']:.4f})"
        )
    print(path)
    sys.exit(not all(row["equal"] and row["within_1_percent"] for row in rows))


@contextmanager
def _bench(scratch: Path) -> Generator[Bench]:
    probed = probe_devices(scratch / "probe")
    if not probed.devices:
        sys.exit(f"no GPU here: {probed.why_none}")
    device = probed.devices[0]
    builder = Builder(scratch / "modules", scratch / "builds")
    runner = RUNNERS["device"](scratch, device, None)
    try:
        yield Bench(device, builder, runner, scratch)
    finally:
        runner.close()
        builder.close()


def _compared(bench: Bench, example: Example) -> list[dict[str, Any]]:
    loaded = load_file(example.path, Roots([example.path.parent]))
    variant = loaded.baseline()
    contracts = workload_contracts(loaded.spec)
    shapes = tuple(Shape(label=c.label, symbols=dict(c.symbols)) for c in contracts)
    request = BuildRequest(kernel=loaded, variant=variant, shapes=shapes, device=bench.device)
    built = bench.builder.build(request)
    if built.artifact is None:
        sys.exit(f"{example.name} does not build: {built.message}")
    paths = {m.sha256: bench.builder.module_path(m) for m in built.artifact.loaded}
    bench.runner.load(variant.variant_id, paths, tuple(built.artifact.plans.values()))
    found = {name: p.start for name, p in built.parameters.items()}
    values = {**found, **variant.parameters}
    return [_row(bench, loaded, variant, contract, values) for contract in contracts]


def _row(
    bench: Bench,
    loaded: LoadedKernel,
    variant: Variant,
    contract: BoundContract,
    parameters: dict[str, int],
) -> dict[str, Any]:
    slots = max(1, min(MOST_SLOTS, POOL_BYTES // record(contract.inputs).nbytes))
    name = f"{loaded.kernel_id}/{contract.label}"
    pool = SeedPool(name, loaded.kernel_id, contract, (SEED,) * slots)
    arrays = make_inputs(contract, SEED)
    bench.runner.attach(pool, loaded.spec.io, _records(contract, arrays, slots))
    ours = _our_outputs(bench.runner, variant.variant_id, pool)
    once = _our_block(bench.runner, variant.variant_id, pool, 1)
    calls = max(1, min(slots, math.ceil(SAMPLE_NS / once)))
    folder = bench.folder / f"{loaded.spec.name}-{contract.label}"
    folder.mkdir()
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    with _triton(folder, loaded, contract, parameters, calls) as ask:
        ask("run")
        theirs = {b.name: np.load(folder / f"{b.name}.npy") for b in contract.outputs}
        times = list[tuple[float, float]]()
        with timing_lock(bench.device.uuid or "gpu"):
            for _ in range(ROUNDS):
                block = _our_block(bench.runner, variant.variant_id, pool, calls)
                times.append((block, median(ask(f"block {SAMPLES}")["ns"])))
    logs = sorted(math.log(their / our) for our, their in times)
    ratio = math.exp(median(logs))
    return {
        "kernel": loaded.spec.name,
        "workload": contract.label,
        "equal": all(ours[n].tobytes() == theirs[n].tobytes() for n in theirs),
        "ours_us": median(our for our, _ in times) / 1e3,
        "triton_us": median(their for _, their in times) / 1e3,
        "ratio": ratio,
        "low": math.exp(logs[len(logs) // 10]),
        "high": math.exp(logs[-1 - len(logs) // 10]),
        "within_1_percent": abs(ratio - 1) <= WITHIN,
        "calls": calls,
        "blocks": times,
    }


def _records(contract: BoundContract, arrays: dict[str, Array], slots: int) -> int:
    """A file descriptor with equal records of the inputs, as an oracle would make it."""
    layout, fd = record(contract.inputs), os.memfd_create("inputs")
    os.ftruncate(fd, layout.nbytes * slots)
    whole = np.frombuffer(mmap.mmap(fd, layout.nbytes * slots), dtype=np.uint8)
    for slot in range(slots):
        for bound, place in zip(contract.inputs, layout.slots, strict=True):
            start = slot * layout.nbytes + place.offset
            pack(bound, arrays[bound.name], whole[start : start + place.nbytes])
    return fd


def _our_outputs(runner: Runner, variant: str, pool: SeedPool) -> dict[str, Array]:
    """What the replayed plan computes. Exits when the run failed."""
    message = Check(
        variant=variant, pool=pool.pool, slots=(0,), poisons=(0xFF,), timeout_s=TIMEOUT_S
    )
    results, fd = runner.check(message)
    first, outputs = results[0], pool.contract.outputs
    if first.fault or first.overrun or first.stored is None:
        sys.exit(f"{pool.pool}: {first.fault or first.overrun or 'no outputs came back'}")
    layout = record(outputs)
    data = np.frombuffer(os.pread(fd, layout.nbytes, first.stored * layout.nbytes), np.uint8)
    os.close(fd)
    return {
        b.name: unpack(b, data[p.offset : p.offset + p.nbytes])
        for b, p in zip(outputs, layout.slots, strict=True)
    }


def _our_block(runner: Runner, variant: str, pool: SeedPool, calls: int) -> float:
    """The median of one block, in nanoseconds a call."""
    message = Block(
        pool=pool.pool,
        rounds=((variant,),) * SAMPLES,
        calls={variant: calls},
        poison=0xFF,
        timeout_s=TIMEOUT_S,
    )
    block, fd = runner.block(message)
    os.close(fd)
    side = block.sides[0]
    if side.fault:
        sys.exit(f"{pool.pool}: {side.fault}")
    return median(side.nanoseconds)


@contextmanager
def _triton(
    folder: Path,
    loaded: LoadedKernel,
    contract: BoundContract,
    parameters: dict[str, int],
    calls: int,
) -> Generator[Callable[[str], dict[str, Any]]]:
    """The other process; yields a function that asks it one command."""
    spec = loaded.spec
    launch = spec.kernel.launch
    request = {
        "folder": str(folder),
        "source": loaded.source_path,
        "entry": spec.kernel.metadata.kernel_name,
        "contract": spec.io.model_dump(mode="json"),
        "symbols": dict(contract.symbols),
        "label": contract.label,
        "parameters": parameters,
        "launch": None if launch is None else launch.model_dump(mode="json", exclude_none=True),
        "calls": calls,
    }
    file = folder / "request.json"
    file.write_text(json.dumps(request), encoding="utf-8")
    script = Path(__file__).with_name("triton_launches.py")
    command = [sys.executable, str(script), str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        sending, receiving = process.stdin, process.stdout
        yield partial(_asked, sending, receiving)
        sending.close()


def _asked(sending: IO[str], receiving: IO[str], text: str) -> dict[str, Any]:
    sending.write(text + "\n")
    sending.flush()
    line = receiving.readline()
    if not line:
        sys.exit("the process that launches through Triton ended; its own words are above")
    return json.loads(line)


def _is_triton(example: Example) -> bool:
    data = json.loads(example.path.read_text(encoding="utf-8"))
    return data["kernel"]["kernel_type"] == "triton"


if __name__ == "__main__":
    main()
