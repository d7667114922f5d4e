"""What to do where a reference lacks something that lies beside it: a module, or a file of data."""

from __future__ import annotations

ONE_FILE = (
    "a reference is one file, and nothing beside it is loaded: write what it takes from {module} "
    "into it, or import a package that is installed where kernelwright is"
)
NO_FILES = (
    "a reference opens no files: make what it reads an input of the contract "
    '("init": {{"kind": "file", "path": "table.npy"}}, which the kernel is given as well), or '
    "write it into the reference{wanted}"
)


def way_out(error: BaseException) -> str:
    """What the author of a reference that raised this can do; empty where its words say enough.

    Modules are missing (also those that a relative import asks for), files are missing or not to be
    read, or it asks where it lies (`__file__`), which is nowhere.
    """
    match error:
        case ModuleNotFoundError(name=str(name)):
            return ONE_FILE.format(module=f"`{name}`")
        case ImportError(msg=str(words)) if "relative import" in words:
            return ONE_FILE.format(module="its neighbours")
        case FileNotFoundError() | PermissionError():
            wanted = f": {error.filename}" if isinstance(error.filename, str) else ""
            return NO_FILES.format(wanted=wanted)
        case NameError(name="__file__"):
            return NO_FILES.format(wanted="")
        case _:
            return ""
