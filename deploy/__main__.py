"""`python -m kernelwright.deploy FOLDER SCRIPT [ARGUMENTS]`: a program with winners in place.

FOLDER is a winner's, or holds folders of winners. The script runs as `python SCRIPT` would run it;
`-m MODULE` in its place runs a module.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from .aten import folders_in, install
from .reading import Refused


def main() -> None:
    """Install, then run. Ends with a sentence where nothing can be installed."""
    words = sys.argv[1:]
    if len(words) < 2 or words[1:] == ["-m"]:
        sys.exit(__doc__)
    place = Path(words[0])
    folders = folders_in(place)
    if not folders:
        sys.exit(f"{place} holds no operator of Kernelwright")
    try:
        for folder in folders:
            install(folder)
    except Refused as error:
        sys.exit(str(error))
    if words[1] == "-m":
        sys.argv = words[2:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[2], run_name="__main__", alter_sys=True)
        return
    sys.argv = words[1:]
    sys.path[0] = str(Path(words[1]).resolve().parent)
    runpy.run_path(words[1], run_name="__main__")


if __name__ == "__main__":
    main()
