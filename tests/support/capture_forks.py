"""Captures in forks of one process that has torch and Triton loaded, as builds do it.

Run as a script it is that process: folders come in a line each, with `request.json` in them; once
`result.json` is there, the folder goes out again.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.runners.capture import CaptureRequest, CaptureResult, capture
from kernelwright.runners.plans.plan_check import check_plan
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains.triton_jit import preload

CASES = Path(__file__).parents[1] / "triton_cases"
H100 = PROFILES[0][0]


@dataclass
class Forks:
    """The process that forks, a place for the folders of its captures, and the cases so far.

    It makes captures in the order in which they were asked for.
    """

    process: subprocess.Popen[str]
    place: Path
    count: int = 0
    cases: dict[Path, Path] = field(default_factory=dict[Path, Path])
    known: dict[Path, CaptureResult] = field(default_factory=dict[Path, CaptureResult])

    @classmethod
    def start(cls, place: Path) -> Forks:
        """Start it: one, as torch and Triton take seconds of a processor to import; the first
        captures wait until it is ready."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        command = [sys.executable, __file__]
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)
        return cls(process, place)

    def stop(self) -> None:
        """End it and wait."""
        self.process.kill()
        self.process.communicate()

    def capture(self, source: str, contract: Mapping[str, str], **fields: Any) -> CaptureResult:
        """The capture of a source; what it finds has passed the plan's own check."""
        return self._result(self._asked(source, contract, **fields))

    def ahead(self, paths: Iterable[Path]) -> None:
        """Have these cases captured before they are asked for one by one."""
        for path in paths:
            if path not in self.cases:
                self.cases[path] = self._asked_case(path)

    def case(self, path: Path) -> CaptureResult:
        """The capture of a case as it says of itself, made once."""
        if path not in self.known:
            self.known[path] = self._result(self.folder(path))
        return self.known[path]

    def folder(self, path: Path) -> Path:
        """Where a case is captured, with its modules."""
        self.ahead([path])
        return self.cases[path]

    def case_again(self, path: Path, **fields: Any) -> CaptureResult:
        """Another capture of a case, some fields of its request replaced."""
        return self._result(self._asked_case(path, **fields))

    def _asked_case(self, path: Path, **fields: Any) -> Path:
        own: dict[str, Any] = {
            "launch": constant(path, "LAUNCH"),
            "symbols": constant(path, "SYMBOLS") or {},
            "defines": constant(path, "DEFINES") or {},
        }
        source = path.read_text(encoding="utf-8")
        return self._asked(source, constant(path, "CONTRACT"), **own, **fields)

    def _asked(self, source: str, contract: Mapping[str, str], **fields: Any) -> Path:
        """The folder of a capture that has been asked for."""
        folder = self.place / str(self.count)
        stdin = self.process.stdin
        self.count += 1
        folder.mkdir()
        (folder / "source.py").write_text(source, encoding="utf-8")
        shutil.copy(CASES / "doubling.py", folder)
        given = {"entry": "run", "symbols": {}, "label": "main", "device": H100.model_dump()}
        request = CaptureRequest.model_validate(
            {**given, "source_path": "source.py", "contract": contract_of(contract), **fields}
        )
        (folder / "request.json").write_text(request.model_dump_json(), encoding="utf-8")
        assert stdin is not None
        stdin.write(f"{folder}\n")
        stdin.flush()
        return folder

    def _result(self, folder: Path) -> CaptureResult:
        stdout = self.process.stdout
        assert stdout is not None
        while not (folder / "seconds").exists():
            assert stdout.readline(), "the process that forks has ended"
        request = CaptureRequest.model_validate_json((folder / "request.json").read_bytes())
        result = CaptureResult.model_validate_json((folder / "result.json").read_bytes())
        if result.plan is not None:
            check_plan(result.plan, bind(request.contract, request.symbols, request.label))
            for module in result.modules:
                file = folder / f"{module.sha256}.{module.kind}"
                assert file.stat().st_size == module.nbytes
        return result


def constant(path: Path, name: str) -> Any:
    """A literal at the top of a source, which is not run here."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return None


def contract_of(lines: Mapping[str, str]) -> dict[str, Any]:
    """`{"x": "input float32 [8,4] strides 1,8 align 4", "n": "scalar int32 8"}` as a contract."""
    return {"arguments": [_argument(name, *line.split()) for name, line in lines.items()]}


def _argument(name: str, role: str, dtype: str, value: str, *more: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "role": role, "dtype": dtype}
    if role == "scalar":
        return found | {"value": json.loads(value)}
    options = dict(zip(more[::2], more[1::2], strict=True))
    if "align" in options:
        found["align"] = int(options["align"])
    if "strides" in options:
        found["strides"] = [int(n) for n in options["strides"].split(",")]
    return found | {"shape": json.loads(value)}


def serve() -> None:
    """Fork for every folder that comes in, with what the product's own forks have ready: to hash
    all of Triton takes each that has not as long as its capture."""
    preload()
    for line in sys.stdin:
        folder = Path(line.strip())
        pid = os.fork()
        if pid == 0:
            _capture_in_fork(folder)
        started = time.monotonic()
        os.waitpid(pid, 0)
        (folder / "seconds").write_text(str(time.monotonic() - started), encoding="utf-8")
        print(folder, flush=True)


def _capture_in_fork(folder: Path) -> None:
    try:
        gc.disable()
        os.chdir(folder)
        os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
        log = os.open("log", os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        request = CaptureRequest.model_validate_json(Path("request.json").read_bytes())
        text = capture(request).model_dump_json()
        (folder / "result.json").write_text(text, encoding="utf-8")
    finally:
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    serve()
