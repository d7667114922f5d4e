"""The judge's process: it makes inputs, holds the expected values, and compares outputs.

No user's code is ever loaded here: the reference runs in a process of its own
(`reference_process.py`), and what comes from there is arrays.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import KernelwrightError
from ..processes.channel import Answer, serve
from .confinement import begin
from .messages import JudgeOutputs, MakePool, OpenReference, Slots, told_of

if TYPE_CHECKING:
    from .kernels import OracleKernels


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD SETTINGS."""
    channel, settings = begin(sys.argv[1], sys.argv[2])
    from .kernels import OracleKernels  # numpy starts threads: they are to be confined too

    kernels = OracleKernels(settings)

    serve(channel, partial(_answer, kernels))


def _answer(kernels: OracleKernels, message: dict[str, Any], fds: list[int]) -> Answer:
    body = message["body"]
    try:
        match message["verb"]:
            case "open":
                opened = OpenReference.model_validate(body)
                kernels.open(opened)
                return {"where": kernels.where(opened.kernel)}, []
            case "pool":
                return {}, [kernels.make_pool(MakePool.model_validate(body))]
            case "known pool":
                kernels.take_pool(MakePool.model_validate(body), fds[0])
            case "drop pool":
                kernels.drop_pool(MakePool.model_validate(body).pool)
            case "forget":
                kernels.forget(OpenReference.model_validate(body).kernel)
            case "missing":
                return {"missing": kernels.missing(Slots.model_validate(body))}, []
            case "expect":
                return {"refuted": kernels.expect(Slots.model_validate(body), fds[0])}, []
            case "without lift":
                kernels.without_lift(OpenReference.model_validate(body).kernel)
            case "adopt":
                kernels.adopt(JudgeOutputs.model_validate(body), fds[0])
            case "judge":
                missing, found = kernels.judge(JudgeOutputs.model_validate(body), fds[0])
                told = [[v.model_dump() for v in each] for each in found]
                return {"missing": missing, "verdicts": told}, []
            case verb:
                raise ValueError(f"the judge knows no `{verb}`")
    except KernelwrightError as error:
        return told_of(error, spent=not kernels.work()), []
    return {}, []


if __name__ == "__main__":
    main()
