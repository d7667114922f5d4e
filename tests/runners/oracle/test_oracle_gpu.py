"""The oracle on a GPU: references with tensors and cupy arrays there, and still confined."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle_cases import ATTEMPTS, REFUSED, SHAPE, Array, kernel, opened

from kernelwright.analysis.lift.reference.prelude import Floats
from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.errors import ReferenceFailed
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.devices import DeviceFacts

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no NVIDIA driver here"),
]
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)
needs_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None, reason="cupy is not installed"
)
TORCH = """
import torch
def reference(x, a):
    assert x.is_cuda and type(a) is float, (x.device, type(a))
    assert (a * torch.zeros(1)).is_cuda, "new tensors belong on the GPU"
    return torch.relu(a * x.float()).to(x.dtype) if x.dtype.itemsize == 1 else torch.relu(a * x)
"""
PRODUCT = "import torch\ndef reference(x, a):\n    return x @ (x.T @ x) / 64\n"
CUPY = """
import numpy as np
def reference(x, a):
    assert type(x).__module__.startswith("cupy"), type(x)
    return np.maximum(a * x, 0)
"""
NUMPY = "import numpy as np\ndef reference(x, a):\n    return np.maximum(a * x, 0)\n"
MIXING = "import numpy as np\ndef reference(x, a):\n    return np.zeros(x.shape) + a * x\n"
FAULTING = """
import torch
def reference(x, a):
    return x[:, torch.full((64,), 1 << 40, device=x.device)]
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> DeviceFacts:
    probed = probe_devices(tmp_path_factory.mktemp("probe"))
    if not probed.devices:
        pytest.skip(probed.why_none)
    return probed.devices[0]


@pytest.fixture
def oracle(tmp_path: Path, device: DeviceFacts) -> Iterator[Oracle]:
    oracle = Oracle(tmp_path, device)
    yield oracle
    oracle.close()


def relu(x: Array) -> Array:
    return np.maximum(2.5 * x, 0)


@needs_cupy
@pytest.mark.parametrize("kind", ["sum", "product"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_terms_are_joined_one_by_one_on_the_gpu_as_on_the_host(kind: str, dtype: str) -> None:
    cupy = importlib.import_module("cupy")
    terms = np.random.default_rng(7).uniform(0.99, 1.01, (3, 1, 5000, 2, 1, 1, 1, 1)).astype(dtype)

    def joined(array: Any) -> Any:
        floats = Floats(array, exact=False)
        first = array.dtype.type(kind == "product")
        return floats.folded(kind, lambda k: array[:, :, k.ravel()], terms.shape[2], 2, first)

    assert np.array_equal(cupy.asnumpy(joined(cupy.asarray(terms))), joined(terms))


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_a_torch_reference_computes_on_the_gpu_in_every_kind_of_float(
    oracle: Oracle, device: DeviceFacts, dtype: str
) -> None:
    case = opened(oracle, kernel(TORCH, dtype))
    assert case.where == f"torch on {device.name}"
    spoilt = relu(case.inputs[1])
    spoilt[2, 7] += 3
    right, wrong = case.judge({0: relu(case.inputs[0]), 1: spoilt})
    assert right.right, right.message
    assert not wrong.right
    assert wrong.worst_index == (2, 7)


@needs_torch
def test_the_trusted_result_uses_tf32_where_the_contract_allows_it(oracle: Oracle) -> None:
    allowed = dict[str, float]()
    for math in ("ieee", "tf32"):
        case = opened(oracle, kernel(PRODUCT, shape=(256, 256), math=math))
        x = case.inputs[0]
        (verdict,) = case.judge({0: x @ (x.T @ x) / 64})
        assert verdict.right, verdict.message
        allowed[math] = verdict.allowed
    assert allowed["ieee"] < 1e-4
    assert allowed["tf32"] > 1e-3


@needs_torch
def test_after_a_fault_on_the_gpu_the_next_kernel_is_judged_all_the_same(oracle: Oracle) -> None:
    good = opened(oracle, kernel(TORCH))
    bad = opened(oracle, kernel(FAULTING))
    with pytest.raises(ReferenceFailed):
        bad.judge({0: bad.inputs[0]})
    (verdict,) = good.judge({0: relu(good.inputs[0])})
    assert verdict.right


@needs_cupy
def test_a_numpy_reference_computes_on_the_gpu_through_cupy(
    oracle: Oracle, device: DeviceFacts
) -> None:
    case = opened(oracle, kernel(CUPY))
    assert case.where == f"cupy on {device.name}"
    right, wrong = case.judge({0: relu(case.inputs[0]), 1: 2.5 * case.inputs[1]})
    assert right.right, right.message
    assert not wrong.right
    assert case.where == f"cupy on {device.name}"


@needs_cupy
@pytest.mark.parametrize(
    ("source", "dtype", "said"),
    [
        (NUMPY, "bfloat16", "no bfloat16"),
        (NUMPY, "float8_e5m2", "no float8"),
        (MIXING, "float32", "TypeError"),
    ],
)
def test_what_cupy_refuses_numpy_computes_and_the_gpu_judges(
    oracle: Oracle, source: str, dtype: str, said: str
) -> None:
    case = opened(oracle, kernel(source, dtype))
    wanted = [relu(x) if source is NUMPY else 2.5 * x for x in case.inputs]
    right, wrong = case.judge({0: wanted[0], 1: wanted[1] - 3})
    assert right.right, right.message
    assert not wrong.right
    assert "numpy on the host, because cupy refused" in case.where
    assert said in case.where


@needs_cupy
def test_integers_are_judged_exactly_on_the_gpu(oracle: Oracle) -> None:
    case = opened(oracle, kernel("def reference(x, a):\n    return x + 1\n", "int32"))
    spoilt = case.inputs[1] + 1
    spoilt[0, 3] += 1
    right, wrong = case.judge({0: case.inputs[0] + 1, 1: spoilt})
    assert right.right
    assert wrong.worst_index == (0, 3)


@needs_cupy
def test_an_adopted_truth_is_compared_on_the_gpu(oracle: Oracle, device: DeviceFacts) -> None:
    case = opened(oracle, kernel(None, "bfloat16"))
    assert case.where == f"cupy on {device.name}"
    assert case.judge({0: relu(case.inputs[0])}, adopt=True)[0].right
    assert not case.judge({0: case.inputs[0]})[0].right


@needs_torch
@needs_cupy
@pytest.mark.parametrize("source", [TORCH, NUMPY], ids=["torch", "cupy"])
def test_the_same_seeds_give_the_same_inputs_in_another_process(
    tmp_path: Path, device: DeviceFacts, source: str
) -> None:
    made = list[tuple[bytes, ...]]()
    for name in ("first", "again"):
        (tmp_path / name).mkdir()
        oracle = Oracle(tmp_path / name, device)
        made.append(tuple(x.tobytes() for x in opened(oracle, kernel(source)).inputs))
        oracle.close()
    assert made[0] == made[1]
    assert made[0][0] != made[0][1]


@needs_torch
def test_expected_values_that_no_longer_fit_are_worked_out_again(
    tmp_path: Path, device: DeviceFacts
) -> None:
    oracle = Oracle(tmp_path, device.model_copy(update={"memory_bytes": 8}))
    case = opened(oracle, kernel(TORCH), seeds=(1, 2, 3))
    outputs = {slot: relu(x) for slot, x in enumerate(case.inputs)}
    for _ in range(2):
        assert all(v.right for v in case.judge(outputs))
    assert not case.judge({0: np.ones(SHAPE)})[0].right
    oracle.close()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("import torch\nat_work = torch.ones(2, device='cuda')", marks=needs_torch),
        pytest.param("import cupy\nat_work = cupy.ones(2) + 1", marks=needs_cupy),
    ],
    ids=["torch", "cupy"],
)
def test_with_cuda_at_work_a_reference_is_still_confined(
    tmp_path: Path, device: DeviceFacts, source: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    (tmp_path / "scratch").mkdir()
    body = f"def reference(x, a):\n    raise ValueError(attempts({str(outside)!r}))\n"
    oracle = Oracle(tmp_path / "scratch", device)
    case = opened(oracle, kernel(f"{source}\n{ATTEMPTS}{body}"))
    assert case.where.endswith(f" on {device.name}")
    with pytest.raises(ReferenceFailed) as caught:
        case.judge({0: case.inputs[0]})
    oracle.close()
    told = re.search(r"\{.*?\}", caught.value.message)
    assert told is not None, caught.value.message
    found = ast.literal_eval(told[0])
    assert {name: code for name, code in found.items() if code not in REFUSED[name]} == {}
    assert found.keys() == REFUSED.keys()
    assert outside.read_text() == "secret"
