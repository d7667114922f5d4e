"""The PTX texts that tests share: real ones beside `ptx/make.py`, and frames for small ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kernelwright.analysis.ptx import Function, Module, read_ptx

FOLDER = Path(__file__).parents[1] / "ptx"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.ptx")))


@cache
def text(name: str) -> str:
    """A compiler's PTX."""
    return (FOLDER / f"{name}.ptx").read_text(encoding="utf-8")


@cache
def module(name: str) -> Module:
    """The same, read."""
    return read_ptx(text(name))


def kernel_text(body: str, parameters: str = "") -> str:
    """A module with one kernel `k` of this body, which begins on line 8."""
    registers = ".reg .pred %p<9>; .reg .b16 %h<99>; .reg .b32 %r<99>; .reg .b64 %rd<99>;"
    more = " .reg .f32 %f<99>; .reg .f64 %fd<99>; .reg .b128 %q<9>;"
    head = f".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k({parameters})\n"
    return f"{head}.reqntid 128\n{{\n{registers}{more}\n{body}\n}}\n"


def kernel(body: str, parameters: str = "") -> Function:
    """The kernel of `kernel_text`."""
    return read_ptx(kernel_text(body, parameters)).entries[0]
