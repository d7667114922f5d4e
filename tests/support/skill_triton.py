"""Compile every kernel of the Python files in a folder: `python skill_triton.py FOLDER`.

A process of its own, as LLVM stays in the one that it is loaded into. Leaves `compiled.json`:
the PTX of each file's kernels, or why one of them does not compile.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

COMPILE = re.compile(
    r"^# compile: (.+(?:(?<=,)\n#.+)*)$(?:.|\n)*?^@triton\.jit\ndef (\w+)", re.MULTILINE
)
OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg"}
NEXT = re.compile(r",[\s#]*(?=\w+=)")
TYPE = re.compile(r"\*|[iu]\d+$|fp\d+$|bf16$|tensordesc<")


def main(folder: Path) -> None:
    """Read the sources, write the results."""
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    results = {source.stem: result(source) for source in sorted(folder.glob("*.py"))}
    (folder / "compiled.json").write_text(json.dumps(results), encoding="utf-8")


def result(source: Path) -> dict[str, str]:
    """Of one file: `ptx`, and `error`, which is empty where all is well."""
    try:
        return {"ptx": ptx(source), "error": ""}
    except Exception as error:  # whatever a compiler raises is what the test reports
        return {"ptx": "", "error": f"{type(error).__name__}: {error}"}


def ptx(source: Path) -> str:
    """Of all kernels that a `# compile:` line says the signature of."""
    wanted = COMPILE.findall(source.read_text(encoding="utf-8"))
    if not wanted:
        raise ValueError("no kernel follows a line `# compile: x=*fp32, n=i32, BLOCK=1024`")
    spec = importlib.util.spec_from_file_location(source.stem.replace("-", "_"), source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return "\n".join(kernel_ptx(getattr(module, name), line) for line, name in wanted)


def kernel_ptx(kernel: Any, line: str) -> str:
    """One kernel. `n=i32:16` is divisible by 16, as pointers always are."""
    compiler: Any = importlib.import_module("triton.compiler")
    target: Any = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    said = dict(part.split("=", 1) for part in NEXT.split(line.strip()))
    options = {name: int(said.pop(name)) for name in OPTIONS & said.keys()}
    types = {name: value.removesuffix(":16") for name, value in said.items()}
    signature = {n: types[n] if TYPE.match(types[n]) else "constexpr" for n in kernel.arg_names}
    constants = {n: ast.literal_eval(said[n]) for n in said if signature[n] == "constexpr"}
    divisible = [said[name].startswith("*") or said[name].endswith(":16") for name in signature]
    attributes = {(i,): [["tt.divisibility", 16]] for i, yes in enumerate(divisible) if yes}
    source = compiler.ASTSource(kernel, signature, constants, attributes)
    return compiler.compile(source, target=target, options=options).asm["ptx"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
