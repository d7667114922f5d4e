"""The reference's process: the user's code runs here and nowhere else, and judges nothing.

It is confined before anything of the user's is loaded. It gets inputs that it cannot write to and
memory for outputs, and keeps nothing from one question to the next but the loaded functions: what
it does to its own interpreter, numpy included, changes its own outputs alone.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import KernelwrightError
from ..processes.channel import Answer, serve
from .confinement import begin
from .messages import Compute, OpenReference, TimeReference, told_of

if TYPE_CHECKING:
    from .reference_kernels import ReferenceKernels


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD SETTINGS."""
    channel, settings = begin(sys.argv[1], sys.argv[2])
    from .reference_kernels import ReferenceKernels  # numpy's threads are to be confined too

    serve(channel, partial(_answer, ReferenceKernels(settings.gpu)))


def _answer(kernels: ReferenceKernels, message: dict[str, Any], fds: list[int]) -> Answer:
    body = message["body"]
    try:
        match message["verb"]:
            case "open":
                opened = OpenReference.model_validate(body)
                kernels.open(opened)
                return {"where": kernels.where(opened.kernel)}, []
            case "forget":
                kernels.forget(OpenReference.model_validate(body).kernel)
            case "compute":
                wanted = Compute.model_validate(body)
                kernels.compute(wanted, fds[0], fds[1])
                return {"where": kernels.where(wanted.pool.kernel)}, []
            case "time":
                asked = TimeReference.model_validate(body)
                return {"seconds": kernels.seconds(asked, fds[0])}, []
            case verb:
                raise ValueError(f"the reference's process knows no `{verb}`")
    except KernelwrightError as error:
        return told_of(error, spent=not kernels.work()), []
    return {}, []


if __name__ == "__main__":
    main()
