"""References that do what one that attacks its judge does as well, and mean no harm by it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oracle_cases import kernel, opened

from kernelwright.runners.oracle.oracle import Oracle

HONEST = {
    "prints what it does": "def reference(x, a):\n    print('scaled by', a)\n    return a * x",
    "changes its own copy": "def reference(x, a):\n    x = x.copy()\n    x *= a\n    return x",
    "works in place": "def reference(x, a):\n    x *= a\n    return x",
    "remembers what it worked out": (
        "from functools import lru_cache\n@lru_cache\ndef factor(a):\n    return a + 0\n"
        "def reference(x, a):\n    return factor(a) * x"
    ),
    "counts its calls": (
        "calls = []\ndef reference(x, a):\n    calls.append(a)\n    return a * x if calls else None"
    ),
    "silences warnings": (
        "import warnings\nwarnings.simplefilter('ignore')\n"
        "def reference(x, a):\n    with np.errstate(all='ignore'):\n        return a * x"
    ),
    "sets how numpy prints": (
        "np.set_printoptions(precision=2)\ndef reference(x, a):\n    repr(x)\n    return a * x"
    ),
    "sets how numpy errs": (
        "np.seterr(all='raise')\ndef reference(x, a):\n    return np.multiply(a, x)"
    ),
    "draws from its own generator": (
        "def reference(x, a):\n    order = np.random.default_rng(7).permutation(len(x))\n"
        "    y = np.empty_like(x)\n    y[order] = a * x[order]\n    return y"
    ),
    "draws from numpy's": (
        "np.random.seed(3)\ndef reference(x, a):\n    np.random.rand()\n    return a * x"
    ),
    "asks for the time": (
        "import time\ndef reference(x, a):\n    begun = time.perf_counter()\n    y = a * x\n"
        "    print(time.perf_counter() - begun)\n    return y"
    ),
    "has threads": (
        "from concurrent.futures import ThreadPoolExecutor\ndef reference(x, a):\n"
        "    with ThreadPoolExecutor(2) as pool:\n"
        "        return np.stack(list(pool.map(lambda row: a * row, x)))"
    ),
    "collects garbage": (
        "import gc\ndef reference(x, a):\n    gc.collect()\n    gc.freeze()\n    return a * x"
    ),
    "recurses deeply": (
        "import sys\nsys.setrecursionlimit(5000)\ndef reference(x, a):\n"
        "    def down(n):\n        return a * x if n == 0 else down(n - 1)\n    return down(900)"
    ),
    "returns a view": "def reference(x, a):\n    return np.ascontiguousarray((a * x).T).T",
    "returns rows backwards, twice": "def reference(x, a):\n    return (a * x)[::-1][::-1]",
    "returns an array of its own kind": (
        "class Told(np.ndarray):\n    pass\ndef reference(x, a):\n    return (a * x).view(Told)"
    ),
    "loops over elements": (
        "def reference(x, a):\n    y = np.zeros_like(x)\n"
        "    for at in np.ndindex(*x.shape):\n        y[at] = a * x[at]\n    return y"
    ),
    "keeps a longer type": (
        "def reference(x, a):\n    return a * x.astype(np.longdouble).astype(x.dtype)"
    ),
    "mends what it met and goes on": (
        "def reference(x, a):\n    try:\n        return no_such_name\n"
        "    except NameError:\n        return a * x"
    ),
}
"""by what they do; each is a times x"""


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    oracle = Oracle(tmp_path_factory.mktemp("oracle"))
    yield oracle
    oracle.close()


@pytest.mark.parametrize("what", HONEST)
def test_an_honest_reference_is_the_truth(oracle: Oracle, what: str) -> None:
    case = opened(oracle, kernel(f"import numpy as np\n{HONEST[what]}\n"))
    spoilt = 2.5 * case.inputs[1]
    spoilt[3, 5] += 1
    right, wrong = case.judge({0: 2.5 * case.inputs[0], 1: spoilt})
    assert right.right, right.message
    assert not wrong.right
