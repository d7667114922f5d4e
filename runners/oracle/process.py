"""The oracle's process: it makes inputs, holds the expected values, and compares outputs.

The user's reference runs here and nowhere else, confined before anything of it is loaded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..device.presence.registry import register
from ..errors import KernelwrightError
from ..processes.channel import Answer, Channel, serve
from .confinement import confine
from .messages import Foresee, JudgeOutputs, MakePool, OpenReference, OracleSettings

if TYPE_CHECKING:
    from .kernels import OracleKernels


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD SETTINGS."""
    channel = Channel.from_fd(int(sys.argv[1]))
    settings = OracleSettings.model_validate_json(sys.argv[2])
    if settings.registry:
        register(Path(settings.registry))
    confine(settings)
    from .kernels import OracleKernels  # numpy starts threads: they are to be confined too

    kernels = OracleKernels(settings)

    def answer(message: dict[str, Any], fds: list[int]) -> Answer:
        reply, out = _answer(kernels, message, fds)
        return reply | {"where": kernels.moved()}, out

    serve(channel, answer)


def _answer(kernels: OracleKernels, message: dict[str, Any], fds: list[int]) -> Answer:
    body = message["body"]
    try:
        match message["verb"]:
            case "open":
                kernels.open(OpenReference.model_validate(body))
            case "pool":
                return {}, [kernels.make_pool(MakePool.model_validate(body))]
            case "known pool":
                kernels.take_pool(MakePool.model_validate(body), fds[0])
            case "drop pool":
                kernels.drop_pool(MakePool.model_validate(body).pool)
            case "forget":
                kernels.forget(OpenReference.model_validate(body).kernel)
            case "foresee":
                kernels.foresee(Foresee.model_validate(body))
            case "adopt":
                kernels.adopt(JudgeOutputs.model_validate(body), fds[0])
            case "judge":
                found = kernels.judge(JudgeOutputs.model_validate(body), fds[0])
                return {"verdicts": [[v.model_dump() for v in each] for each in found]}, []
            case verb:
                raise ValueError(f"the oracle knows no `{verb}`")
    except KernelwrightError as error:
        told = {"kind": type(error).__name__, "message": error.message, "valid": error.valid}
        return {"error": told, "spent": not kernels.work()}, []
    return {}, []


if __name__ == "__main__":
    main()
