"""The oracle on the host: references and their libraries, what it keeps, what it may not do."""

from __future__ import annotations

import ast
import importlib.util
import mmap
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_cases import ATTEMPTS, REFUSED, SHAPE, kernel, opened, truths

from kernelwright.runners.dtypes import numpy_dtype
from kernelwright.runners.errors import ReferenceFailed
from kernelwright.runners.oracle.arrays import NUMPY
from kernelwright.runners.oracle.arrays_cupy import CupyArrays
from kernelwright.runners.oracle.judge import Expected
from kernelwright.runners.oracle.kernels import RecentValues
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.oracle.references import Reference
from kernelwright.runners.processes.sandbox import landlock_abi
from kernelwright.runners.processes.seccomp import has_seccomp
from kernelwright.runners.protocol.pools import draw
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.devices import PROFILES

PLAIN = "def reference(x, a):\n    return a * x\n"
TORCH = """
import torch
def reference(x, a):
    assert type(x) is torch.Tensor and type(a) is float, (type(x), type(a))
    assert x.dtype in (torch.float64, torch.bfloat16), x.dtype
    assert torch.backends.cuda.matmul.allow_tf32 is {tf32}
    assert torch.backends.cudnn.allow_tf32 is {tf32}
    assert not torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    return torch.nn.functional.relu(a * x)
"""
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Oracle]:
    oracle = Oracle(tmp_path)
    yield oracle
    oracle.close()


def test_right_outputs_are_told_from_wrong_ones(oracle: Oracle) -> None:
    case = opened(oracle, kernel(PLAIN))
    assert case.where == "numpy on the host"
    spoilt = 2.5 * case.inputs[1]
    spoilt[3, 5] += 1
    right, wrong = case.judge({0: 2.5 * case.inputs[0], 1: spoilt})
    assert right.right
    assert not wrong.right
    assert wrong.worst_index == (3, 5)


@needs_torch
def test_a_torch_reference_gets_tensors_numbers_and_the_contracts_math(oracle: Oracle) -> None:
    for math, tf32 in (("ieee", False), ("tf32", True)):
        case = opened(oracle, kernel(TORCH.format(tf32=tf32), "bfloat16", math=math))
        assert case.where == "torch on the host"
        good = np.maximum(2.5 * case.inputs[0], 0)
        right, wrong = case.judge({0: good, 1: np.abs(case.inputs[1])})
        assert right.right, right.message
        assert right.largest > 0, "bfloat16 rounds"
        assert not wrong.right


def test_teams_of_a_references_threads_fall_asleep_soon(oracle: Oracle) -> None:
    """As the libraries that it imports are told."""
    source = "import os\nSPINS = int(os.environ['GOMP_SPINCOUNT'])\n"
    case = opened(oracle, kernel(f"{source}def reference(x, a):\n    return x + SPINS\n", "int32"))
    (right,) = case.judge({0: case.inputs[0] + 3000})
    assert right.right, right.message


def test_an_integer_contract_is_judged_exactly(oracle: Oracle) -> None:
    case = opened(oracle, kernel("def reference(x, a):\n    return x + 1\n", "int32"))
    right, wrong = case.judge({0: case.inputs[0] + 1, 1: case.inputs[1]})
    assert right.right
    assert not wrong.right


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import math\nx = 1 / 0", r"does not load: ZeroDivisionError.*\(line 2 of"),
        ("def other(x): ...", "defines no function `reference`"),
        ("import no_such_module", "does not load: ModuleNotFoundError"),
    ],
)
def test_a_reference_that_does_not_load_is_refused(oracle: Oracle, source: str, said: str) -> None:
    with pytest.raises(ReferenceFailed, match=said) as refused:
        oracle.open(kernel(source))
    assert ("nothing beside it is loaded" in str(refused.value)) is ("no_such_module" in source)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return x[0]", r"`y` with shape \(64,\)"),
        ("return x, x", "returned 2 outputs"),
        ("raise SystemExit(0)", "raised with float64 inputs: SystemExit"),
        ("return x if x.dtype == 'f8' else 1 / 0", "raised with native inputs: ZeroDivision"),
    ],
)
def test_a_reference_that_breaks_its_contract_is_refused_when_it_is_called(
    oracle: Oracle, body: str, said: str
) -> None:
    case = opened(oracle, kernel(f"def reference(x, a):\n    {body}\n"))
    with pytest.raises(ReferenceFailed, match=said):
        case.judge({0: case.inputs[0]})


def test_a_reference_may_spoil_its_inputs_and_return_them(oracle: Oracle) -> None:
    case = opened(oracle, kernel("def reference(x, a):\n    x *= a\n    return x\n"))
    verdicts = case.judge({0: 2.5 * case.inputs[0], 1: 2.5 * case.inputs[1]})
    assert all(v.right for v in verdicts)


def test_the_same_seeds_give_the_same_inputs_in_another_process(tmp_path: Path) -> None:
    made = list[tuple[bytes, ...]]()
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        oracle = Oracle(tmp_path / name)
        made.append(tuple(x.tobytes() for x in opened(oracle, kernel(PLAIN)).inputs))
        oracle.close()
    assert made[0] == made[1]
    assert made[0][0] != made[0][1]


def test_nobody_can_write_to_inputs(oracle: Oracle) -> None:
    loaded = kernel(PLAIN)
    oracle.open(loaded)
    pool = draw(loaded.kernel_id, bind(loaded.spec.io, {}, "w"), name="w", slots=1)
    fd = oracle.make_pool(pool)
    try:
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"0", 0)
        with pytest.raises(PermissionError):
            mmap.mmap(fd, 4096 // 4)
        with pytest.raises(PermissionError):
            os.ftruncate(fd, 1)
    finally:
        os.close(fd)


def test_what_the_oracle_knew_outlives_its_process(oracle: Oracle) -> None:
    adopting = opened(oracle, kernel(None))
    first = adopting.judge({slot: x + 1 for slot, x in enumerate(adopting.inputs)}, adopt=True)
    assert all(v.right for v in first)
    plain = opened(oracle, kernel(PLAIN))
    ending = opened(oracle, kernel("import os\ndef reference(x, a):\n    os._exit(3)\n"))
    with pytest.raises(ReferenceFailed, match="exit status 3"):
        ending.judge({0: ending.inputs[0]})
    assert [v.right for v in adopting.judge({1: adopting.inputs[1] + 1})] == [True]
    assert [v.right for v in adopting.judge({0: adopting.inputs[0]}, adopt=True)] == [False]
    assert [v.right for v in plain.judge({0: 2.5 * plain.inputs[0]})] == [True]


def test_a_baseline_that_has_not_run_is_no_truth(oracle: Oracle) -> None:
    case = opened(oracle, kernel(None))
    with pytest.raises(ReferenceFailed, match="has not been run"):
        case.judge({0: case.inputs[0]})


def test_a_closed_oracle_holds_no_descriptors(tmp_path: Path) -> None:
    def held() -> int:
        return len(os.listdir("/proc/self/fd"))

    oracle = Oracle(tmp_path)
    opened(oracle, kernel(PLAIN)).judge({0: np.zeros(SHAPE)})
    oracle.close()
    before = held()
    case = opened(oracle, kernel(None))
    case.judge({0: case.inputs[0]}, adopt=True)
    opened(oracle, kernel(None)).judge({0: case.inputs[0]}, adopt=True)
    oracle.close()
    assert held() == before


@pytest.mark.skipif(not (has_seccomp() and landlock_abi() >= 6), reason="needs landlock, seccomp")
@pytest.mark.parametrize("gpu", [False, True], ids=["host", "gpu"])
def test_a_reference_is_confined(tmp_path: Path, gpu: bool) -> None:
    """With a GPU's wider rules, too, whether or not there is one."""
    outside = tmp_path / "outside"
    outside.write_text("secret")
    (tmp_path / "scratch").mkdir()
    device = PROFILES[0][0].model_copy(update={"uuid": "GPU-none"}) if gpu else None
    body = f"def reference(x, a):\n    raise ValueError(attempts({str(outside)!r}))\n"
    oracle = Oracle(tmp_path / "scratch", device)
    case = opened(oracle, kernel(ATTEMPTS + body))
    with pytest.raises(ReferenceFailed) as caught:
        case.judge({0: case.inputs[0]})
    oracle.close()
    told = re.search(r"\{.*\}", caught.value.message)
    assert told is not None, caught.value.message
    found = ast.literal_eval(told[0])
    assert {name: code for name, code in found.items() if code not in REFUSED[name]} == {}
    assert found.keys() == REFUSED.keys()
    assert outside.read_text() == "secret"


CUDAS_WAYS = """
import errno, fcntl, os, socket, tempfile
def attempt(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def cache():
    folder = tempfile.mkdtemp()
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(b"kernel")
        fcntl.lockf(file, fcntl.LOCK_EX)
    os.rename(file.name, folder + "/kernel")
    os.unlink(folder + "/kernel")
    os.rmdir(folder)
def reference(x, a):
    local = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    raise ValueError({
        "cache": attempt(cache),
        "device": attempt(lambda: os.open("/dev/null", os.O_RDWR)),
        "listen": attempt(lambda: (local.bind("\\0cuda-uvmfd"), local.listen())),
        "connect": attempt(lambda: local.connect("\\0somebody")),
        "send": attempt(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),
        "netlink": attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
        "chmod": attempt(lambda: os.chmod(tempfile.gettempdir(), 0o777)),
        "terminal": attempt(lambda: fcntl.ioctl(0, 0x5412, b"x")),
    })
"""


@pytest.mark.skipif(not (has_seccomp() and landlock_abi() >= 1), reason="needs landlock, seccomp")
def test_with_a_gpu_what_cudas_driver_and_caches_do_is_allowed_and_no_more(tmp_path: Path) -> None:
    oracle = Oracle(tmp_path, PROFILES[0][0].model_copy(update={"uuid": "GPU-none"}))
    case = opened(oracle, kernel(CUDAS_WAYS))
    with pytest.raises(ReferenceFailed) as caught:
        case.judge({0: case.inputs[0]})
    oracle.close()
    told = re.search(r"\{.*\}", caught.value.message)
    assert told is not None, caught.value.message
    found = ast.literal_eval(told[0])
    assert {name for name, code in found.items() if code == "done"} == {"cache", "device", "listen"}
    assert {code for code in found.values()} == {"done", "EPERM"}


FALLS_ONCE = """
import os, tempfile
def reference(x, a):
    been = os.path.join(tempfile.gettempdir(), "been")
    if not os.path.exists(been):
        open(been, "w").close()
        os.abort()
    return a * x
"""


@pytest.mark.skipif(not (has_seccomp() and landlock_abi() >= 1), reason="needs landlock, seccomp")
def test_on_a_gpu_what_fell_once_is_asked_again_of_a_new_process(tmp_path: Path) -> None:
    oracle = Oracle(tmp_path, PROFILES[0][0].model_copy(update={"uuid": "GPU-none"}))
    case = opened(oracle, kernel(FALLS_ONCE))
    (verdict,) = case.judge({0: 2.5 * case.inputs[0]})
    oracle.close()
    assert verdict.right


def test_a_reference_that_always_falls_is_refused_on_a_gpu_too(tmp_path: Path) -> None:
    oracle = Oracle(tmp_path, PROFILES[0][0].model_copy(update={"uuid": "GPU-none"}))
    case = opened(oracle, kernel("import os\ndef reference(x, a):\n    os.abort()\n"))
    with pytest.raises(ReferenceFailed, match="ended its process"):
        case.judge({0: case.inputs[0]})
    oracle.close()


@needs_torch
@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there may be a GPU")
def test_where_the_gpu_is_of_no_use_the_host_serves_and_the_reason_is_told(tmp_path: Path) -> None:
    oracle = Oracle(tmp_path, PROFILES[0][0].model_copy(update={"uuid": "GPU-none"}))
    torch = opened(oracle, kernel(TORCH.format(tf32=False), "bfloat16"))
    assert torch.where.startswith("torch on the host: torch ")
    assert torch.judge({0: np.maximum(2.5 * torch.inputs[0], 0)})[0].right
    plain = opened(oracle, kernel(PLAIN))
    assert plain.where.startswith("numpy on the host: ")
    assert "cupy" in plain.where
    assert plain.judge({0: 2.5 * plain.inputs[0]})[0].right
    oracle.close()


def test_what_cupy_cannot_do_numpy_does_and_it_is_told_once() -> None:
    loaded = kernel(PLAIN, "bfloat16")
    contract = bind(loaded.spec.io, {}, "w")
    in_cupys_place = CupyArrays(np, np.asarray, lambda: None)
    reference = Reference(PLAIN, in_cupys_place, "ieee")
    for seed in (1, 2):
        x = np.random.default_rng(seed).standard_normal(SHAPE).astype(numpy_dtype("bfloat16"))
        (truth,) = truths(reference, contract, {"x": x})
        np.testing.assert_array_equal(truth.exact, 2.5 * x.astype(np.float64))
    assert reference.fallen_back == (
        "with native inputs by numpy on the host, because cupy refused: "
        "DtypeUnknown: cupy has no bfloat16"
    )


def value(size: int) -> list[Expected]:
    array = np.zeros(size, dtype=np.uint8)
    return [Expected(NUMPY, array, 1.0, array, True, 0.0, 0.0, None)]


def test_the_values_least_recently_used_go_first_and_the_latest_stays() -> None:
    values = RecentValues(100)
    for slot in (0, 1):
        values.put(("p", slot), value(50))
    assert values.get(("p", 0)) is not None
    values.put(("q", 0), value(40))
    assert values.get(("p", 1)) is None
    assert values.get(("p", 0)) is not None
    values.forget("p")
    assert values.get(("p", 0)) is None
    assert values.get(("q", 0)) is not None
    values.put(("q", 1), value(1000))
    assert values.get(("q", 1)) is not None
    assert values.get(("q", 0)) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 60)), min_size=1))
def test_values_never_outgrow_their_bound(puts: list[tuple[int, int]]) -> None:
    values, sizes = RecentValues(100), dict[int, int]()
    for slot, size in puts:
        values.put(("p", slot), value(size))
        sizes[slot] = size
        held = [s for s in sizes if values.get(("p", s)) is not None]
        assert slot in held
        assert sum(sizes[s] for s in held) <= 100


def test_a_reference_is_timed_with_the_kernels_own_types(oracle: Oracle) -> None:
    slow = "import time\ndef reference(x, a):\n    assert x.itemsize < 8\n    time.sleep(0.01)\n"
    case = opened(oracle, kernel(slow))
    took = oracle.reference_seconds(case.pool.pool, 0, 0.05)
    assert took is not None
    assert took >= 0.01
    once = oracle.reference_seconds(case.pool.pool, 0, 0.0)
    assert once is not None, "a call that takes longer than asked is its time"
    assert once >= 0.01


def test_a_reference_that_fails_while_it_is_timed_says_so(oracle: Oracle) -> None:
    case = opened(oracle, kernel("def reference(x, a):\n    raise ValueError('no')\n"))
    with pytest.raises(ReferenceFailed, match="ValueError: no"):
        oracle.reference_seconds(case.pool.pool, 0, 0.05)
