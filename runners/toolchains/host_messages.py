"""What a host compiler says, for whoever wrote the kernel: its own lines, and what they mean."""

from __future__ import annotations

import re

from ..dtypes import DTYPES
from ..processes.machine import memory_share
from ..specs.io_contract import Contract
from .base import BuildRequest
from .compilers.diagnostics import errors

MEMORY_BYTES = memory_share(8 << 30)
OUTPUT_BYTES = 256 << 20
SHIM = "kernelwright_shim.cpp"
MOST_SAID = 500
"""characters of what a compiler says that names no error"""
_BOUNDS = {
    r"(?m)^(?:\S+: )?(?:(?:virtual )?memory exhausted|out of memory allocating)"
    r"|^LLVM ERROR: out of memory|^terminate called after .*std::bad_alloc": (
        f"the compiler needed more memory than the {MEMORY_BYTES / 2**30:.3g} GiB it may take"
    ),
    r"(?m)^\S+: .*(?:File too large|File size limit exceeded)": (
        f"the compiler wrote more than the {OUTPUT_BYTES >> 20} MiB it may write"
    ),
}
"""What compilers say where they meet our limits."""
_IN_SHIM = re.compile(rf"(?m)^{re.escape(SHIM)}:\d+:(?:\d+:)? (?:fatal )?error:")


def expected_signature(contract: Contract, entry: str) -> str:
    """The entry as the contract promises to call it, for error messages."""
    parts = list[str]()
    for argument in contract.arguments:
        cpp = DTYPES[argument.dtype].cpp
        kind = {"input": f"const {cpp}*", "scalar": f"{cpp}"}.get(argument.role, f"{cpp}*")
        parts.append(f"{kind} {argument.name}")
    return f"void {entry}({', '.join(parts)})"


def explain(request: BuildRequest, stderr: str) -> str:
    """Why a kernel does not build, from all that the compiler said."""
    for words, meaning in _BOUNDS.items():
        if re.search(words, stderr):
            return f"{meaning}\n{errors(stderr)}"
    spec = request.kernel.spec
    entry = spec.kernel.metadata.kernel_name
    if not _IN_SHIM.search(stderr):
        return errors(stderr) or stderr.strip()[-MOST_SAID:] or "the compiler failed without a word"
    signature = expected_signature(spec.io, entry)
    own = errors(stderr, without=SHIM)
    if f"{SHIM}:" in own:  # nothing was said of the user's own lines
        own = ""
    missing = (f"'{entry}' was not declared", f"undeclared identifier '{entry}'")
    if any(words in stderr for words in missing):
        if "error:" in own:  # what is wrong before the function may be why there is none
            return own
        return f"{request.kernel.source_name} has no function `{entry}`; wanted: {signature}"
    return f"`{entry}` does not take the contract's arguments; wanted: {signature}\n{own}".rstrip()
