"""The static screen of Python: honest files pass, files that reach out are refused by name."""

from __future__ import annotations

import pytest

from kernelwright.runners.screens.python import PYTHON, python_findings
from kernelwright.runners.screens.source import static_screen

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


def add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out
"""
LINES = KERNEL.count("\n")

BLOCKED = [
    ("import time\ndef g():\n    return time.perf_counter()", "time.perf_counter"),
    ("from time import time_ns as now\nbegan = now()", "time.time_ns"),
    ("import datetime as d\nyear = d.date.today().year", "datetime.date.today"),
    ("import sys\nname = sys.orig_argv[0]", "sys.orig_argv"),
    ("import os\nwho = os.getppid()", "os.getppid"),
    ("import platform\nhost = platform.node()", "platform.node"),
    ("import sys\nthere = getattr(sys, 'mod' + 'ules')", "sys.*"),
    ("import time\nnow = getattr(time, 'ti' + 'me')()", "time.*"),
    ("import traceback\nstack = traceback.format_stack()", "traceback.format_stack"),
    ("import os\nos.system('true')", "os.system"),
    ("import os as o\nrun = o.system", "os.system"),
    ("from os import system as s\ns('true')", "os.system"),
    ("from os import *\nsystem('true')", "os.system"),
    ("import os\ngetattr(os, 'system')('true')", "os.system"),
    ("import os\nos.system.__call__('true')", "os.system.__call__"),
    ("import operator, os\noperator.attrgetter('environ', 'system')(os)", "os.system"),
    ("import os\nfrom operator import methodcaller as m\nm('system', 'true')(os)", "os.system"),
    ("import operator, sys\nname = 'mod'\noperator.attrgetter(name)(sys)", "sys.*"),
    ("import pkgutil\npkgutil.resolve_name('os:system')('true')", "pkgutil.resolve_name"),
    ("import linecache\ntold = linecache.getlines('/etc/passwd')", "linecache.getlines"),
    ("import torch\ntold = torch.from_file('/etc/passwd', size=4)", "torch.from_file"),
    ("import numpy as np\ntold = np.genfromtxt('x')", "numpy.genfromtxt"),
    ("import subprocess\nsubprocess.run(['true'])", "subprocess.run"),
    ("def f():\n    from subprocess import Popen\n    Popen('true')", "subprocess.Popen"),
    ("import socket\nsocket.socket()", "socket.socket"),
    ("import urllib.request\nurllib.request.urlopen('x')", "urllib.request.urlopen"),
    ("import ctypes\nctypes.CDLL(None)", "ctypes.CDLL"),
    ("import importlib\nimportlib.import_module('os')", "importlib.import_module"),
    ("__import__('os')", "__import__"),
    ("import sys\nsys.modules['time']", "sys.modules"),
    ("import sys\nsys._getframe(1)", "sys._getframe"),
    ("import inspect\ninspect.stack()", "inspect.stack"),
    ("import gc\ngc.get_objects()", "gc.get_objects"),
    ("eval('1')", "eval"),
    ("exec('x = 1')", "exec"),
    ("import builtins\nbuiltins.exec('x = 1')", "exec"),
    ("open('/etc/passwd')", "open"),
    ("class A:\n    open = 1\n    def f(self):\n        open('x')", "open"),
    ("def f(open):\n    return open\nopen('x')", "open"),
    ("import pathlib\npathlib.Path('x').read_text()", "read_text"),
    ("import pickle\npickle.loads(b'')", "pickle.loads"),
    ("torch.load('x')", "torch.load"),
    ("import threading\nthreading.Thread(target=print).start()", "threading.Thread"),
    ("from concurrent.futures import ThreadPoolExecutor as P\nP()",
     "concurrent.futures.ThreadPoolExecutor"),
    ("import multiprocessing as mp\nmp.Process()", "multiprocessing.Process"),
    ("import atexit\natexit.register(print)", "atexit.register"),
    ("import os\nos._exit(0)", "os._exit"),
    ("torch.cuda.synchronize = lambda: None", "torch.cuda.synchronize"),
    ("torch.cuda.Event.elapsed_time = lambda a, b: 0.1", "torch.cuda.Event.elapsed_time"),
    ("from torch.cuda import Event\nEvent.elapsed_time = None", "torch.cuda.Event.elapsed_time"),
    ("import time\ntime.perf_counter = lambda: 0.0", "time.perf_counter"),
    ("setattr(torch.cuda, 'Event', object)", "torch.cuda.Event"),
    ("name = 'Event'\nsetattr(torch.cuda, name, object)", "torch.cuda.*"),
    ("torch.allclose = lambda *a, **k: True", "torch.allclose"),
    ("torch.Tensor.__eq__ = None", "torch.Tensor.__eq__"),
    ("triton.testing.do_bench = None", "triton.testing.do_bench"),
    ("vars(torch)['allclose'] = print", "torch.__dict__"),
    ("torch.__dict__.update(allclose=print)", "torch.__dict__.update"),
    ("from unittest import mock\nmock.patch('torch.equal')", "unittest.mock.patch"),
    ("class Lazy(torch.Tensor):\n    pass", "torch.Tensor"),
    ("from torch.utils.cpp_extension import load_inline\nload_inline('x')",
     "torch.utils.cpp_extension.load_inline"),
    ("().__class__.__base__.__subclasses__()", "__subclasses__"),
    ("try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame", "tb_frame"),
    ("import kernelwright.runners.oracle.judge", "kernelwright.runners.oracle.judge"),
    ("@__import__('functools').cache\ndef f(): pass", "__import__"),
    ("def f(x=open('x')): pass", "open"),
]  # fmt: skip

PASSED = [
    "import operator\nbest = sorted([], key=operator.attrgetter('num_warps'))",
    "import operator\ntotal = operator.methodcaller('numel')(KERNELS[0]) if (KERNELS := []) else 0",
    "import os\nimport sys\nimport math\nimport functools",
    "def f(open, eval): return open(eval)",
    "def compile(x): return x\ncompile(1)",
    "compiled = torch.compile",
    "import re\nre.compile('x')",
    "from torch import nn\nclass M(nn.Module):\n    def forward(self, x): return x",
    "class Box: pass\nbox = Box()\nbox.time = 1\nsetattr(box, 'x', 2)",
    "def f(time):\n    time.sleep = 1\n    return time.sleep",
    "# os.system('x')\nTEXT = 'eval(open(1))'",
    "from triton.language.extra import libdevice\ny = libdevice.tanh",
    "try:\n    import numpy as np\nexcept ImportError:\n    np = None",
    "for exec in range(3):\n    print(exec)",
    "DEVICE = triton.runtime.driver.active.get_active_torch_device()",
    "configs = [triton.Config({'BLOCK': b}, num_warps=w) for b in (64, 128) for w in (4, 8)]",
]

NOTED = [
    ("import os\nos.environ['TRITON_PRINT_AUTOTUNING'] = '1'", "os.environ"),
    ("def g():\n    torch.cuda.synchronize()", "torch.cuda.synchronize"),
    ("import time\ndef g():\n    time.sleep(1)", "time.sleep"),
    ("import os\nWIDE = os.environ.get('WIDE', '')", "os.environ.get"),
    ("torch.backends.cuda.matmul.allow_tf32 = True", "torch.backends.cuda.matmul.allow_tf32"),
    ("def g(x):\n    try:\n        return add(x, x)\n    except Exception:\n        return x + x",
     "except"),
    ("@triton.jit\ndef k(p):\n    tl.inline_asm_elementwise('', '', [], tl.int32, True, 1)",
     "triton.language.inline_asm_elementwise"),
    ("@triton.jit\ndef k(p):\n    tl.device_print('x', p)", "triton.language.device_print"),
    ("import functools\n@functools.lru_cache\ndef g(): return 1", "functools.lru_cache"),
    ("def g(): return torch.randn(3)", "torch.randn"),
    ("import threading\nlock = threading.Lock()", "threading.Lock"),
    ("name = 'x'\ngetattr(torch, name)", "torch.*"),
    ("def g(): return torch.cuda.Stream()", "torch.cuda.Stream"),
]  # fmt: skip

BENCHMARK = """

def benchmark():
    import csv
    import time
    with open("times.csv", "w") as file:
        started = time.perf_counter()
        torch.cuda.synchronize()
        file.write(str(time.perf_counter() - started))


if __name__ == "__main__":
    import subprocess
    print(subprocess.run(["nvidia-smi"]))
    print(add(torch.ones(8), torch.ones(8)))
    benchmark()
"""


@pytest.mark.parametrize(("more", "name"), BLOCKED)
def test_what_reaches_out_is_refused_by_its_full_name_and_line(more: str, name: str) -> None:
    found = static_screen(KERNEL + more + "\n", "triton")
    assert found.outcome == "failed"
    assert f"`{name}` " in found.message
    assert int(found.message.split(":")[0].removeprefix("line ")) > LINES
    assert "a kernel computes and does nothing else" in found.message


@pytest.mark.parametrize("more", PASSED)
def test_what_an_honest_file_says_passes_without_a_word(more: str) -> None:
    found = static_screen(KERNEL + more + "\n", "triton", "add")
    assert (found.outcome, found.message) == ("passed", "")


@pytest.mark.parametrize(("more", "name"), NOTED)
def test_what_an_honest_file_may_say_is_noted_and_does_not_block(more: str, name: str) -> None:
    found = static_screen(KERNEL + more + "\n", "triton")
    assert found.outcome == "note"
    assert f"`{name}` " in found.message


def test_a_kernel_alone_has_no_findings() -> None:
    assert python_findings(KERNEL) == []


def test_a_benchmark_beside_the_kernel_does_not_block_when_the_entry_is_known() -> None:
    found = static_screen(KERNEL + BENCHMARK, "triton", "add")
    assert found.outcome == "note"
    assert "`open` opens files (not reached when the kernel is called)" in found.message
    assert "subprocess" in found.message


def test_without_an_entry_everything_but_the_main_block_counts() -> None:
    found = static_screen(KERNEL + BENCHMARK, "triton")
    assert found.outcome == "failed"
    assert "`open`" in found.message


@pytest.mark.parametrize(
    "link",
    [
        "def add2(x, y):\n    benchmark()\n    return add(x, y)\n",
        "LATER = benchmark\ndef add2(x, y):\n    return add(x, y)\n",
        "def helper():\n    return benchmark\ndef add2(x, y):\n    helper()()\n",
        "def add2(x, y):\n    globals()['bench' + 'mark']()\n",
    ],
)
def test_a_function_that_the_entry_or_the_import_reaches_blocks(link: str) -> None:
    assert static_screen(KERNEL + BENCHMARK + link, "triton", "add2").outcome == "failed"


def test_only_the_real_main_block_is_excused() -> None:
    source = KERNEL + "import os\nif __name__ != '__main__':\n    os.system('true')\n"
    assert static_screen(source, "triton", "add").outcome == "failed"
    source = KERNEL + "import os\nif __name__ == '__main__':\n    pass\nelse:\n    os.system('')\n"
    assert static_screen(source, "triton", "add").outcome == "failed"


@pytest.mark.parametrize("source", ["def f(:", "x = '\x00'", "(" * 2000 + ")" * 2000])
def test_a_source_that_does_not_parse_is_left_to_the_builder(source: str) -> None:
    assert static_screen(source, "triton").outcome == "passed"


def test_every_row_gives_a_reason() -> None:
    assert all(row.reason and row.pattern for row in PYTHON)
