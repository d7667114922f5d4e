"""The command line without a process of its own: most of a short command's time is its start."""

from __future__ import annotations

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from subprocess import CompletedProcess

import pytest

from kernelwright.server import cli


def typed(*words: str) -> CompletedProcess[str]:
    """`kernelwright` with these words, as its console script runs; raises what that lets pass."""
    code, out, err = 0, StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["kernelwright", *words])
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return CompletedProcess(words, code, out.getvalue(), err.getvalue())
