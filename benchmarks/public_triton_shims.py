"""Files that stand in for helpers of FlagGems, which its kernels import.

That package starts threads and reads tables of settings when it is imported, which no capture
takes. A user would put such files into `kernel.files`, as done here: decorators that do nothing, a
device of no meaning, and one configuration for each kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

SHIMS: Mapping[str, str] = {
    "flag_gems/__init__.py": "",
    "flag_gems/runtime/__init__.py": '''\
import contextlib

import torch
import triton

from flag_gems.settings import CONSTANTS


class torch_device_fn:
    device = staticmethod(lambda device: contextlib.nullcontext())
    get_device_properties = torch.cuda.get_device_properties
    current_device = torch.cuda.current_device


class device:
    name = vendor_name = "cuda"
    support_fp64 = support_bf16 = True


def get_tuned_config(name):
    return [triton.Config(dict(CONSTANTS), num_warps=4, num_stages=2)]


def get_heuristic_config(name):
    return {each: (lambda args, value=value: value) for each, value in CONSTANTS.items()}
''',
    "flag_gems/utils/__init__.py": '''\
import torch
import triton
from triton.language.extra import libdevice as tl_extra_shim


def libentry():
    return lambda kernel: kernel


def libtuner(configs, key, **_):
    return triton.autotune(configs=configs, key=key)


def get_device_properties(device):
    return torch.cuda.get_device_properties(device)


def broadcastable_to(shape, other):
    return True


def dim_compress(tensor, dims):
    dims = [dims] if isinstance(dims, int) else list(dims)
    rest = [d for d in range(tensor.ndim) if d not in dims]
    return tensor.permute(rest + dims).contiguous()
''',
    "flag_gems/utils/triton_lang_extension.py": '''\
import triton
import triton.language as tl


@triton.jit
def program_id(axis: tl.constexpr):
    return tl.program_id(axis).to(tl.int64)


@triton.jit
def num_programs(axis: tl.constexpr):
    return tl.num_programs(axis).to(tl.int64)
''',
    "flag_gems/utils/limits.py": '''\
import triton
import triton.language as tl


@triton.jit
def get_dtype_min(dtype: tl.constexpr):
    return float("-inf") if dtype.is_floating() else -(2 ** (dtype.primitive_bitwidth - 1))


@triton.jit
def get_dtype_max(dtype: tl.constexpr):
    return float("inf") if dtype.is_floating() else 2 ** (dtype.primitive_bitwidth - 1) - 1
''',
}  # fmt: skip


def shims(constants: Mapping[str, int]) -> dict[str, str]:
    """The files by name, with these constants for every tuner and heuristic."""
    return {**SHIMS, "flag_gems/settings.py": f"CONSTANTS = {dict(constants)!r}\n"}
