"""A module that is not installed."""

import no_such_module
from doubling import doubled

CONTRACT = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
REASON = "(line 3: `import no_such_module`)\nNext: files of your own belong into kernel.files"


def run(x):
    return no_such_module.applied(doubled(x))
