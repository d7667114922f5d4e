"""The two libraries that are loaded into recorded programs: built here on first use, and kept.

`record`: CUPTI's injection library. `shim`: a libcuda.so.1 that stands in front of the driver. They
are built from `native/` with the user's g++ against the headers of whichever CUDA is found.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import ToolchainMissing
from ..whole_files import replacing

NATIVE = Path(__file__).with_name("native")
HEADERS = "an NVIDIA header, which comes with the CUDA toolkit, with triton and with torch"
LINK = "kernelwright_real_cuda.so"
"""the shim's one dependency: a link to the real driver"""
FLAGS = ("-O2", "-g1", "-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden")
BUILD_S = 180


@dataclass(frozen=True, slots=True)
class Libraries:
    """What is there to be loaded into a program."""

    record: Path | None
    """None: CUPTI or its headers are not on this machine, `why_not` says which"""
    shim: Path
    cupti: Path | None
    why_not: str = ""


def library_folder() -> Path:
    """Where built libraries are kept: a folder of this user that nobody else may write to, as what
    lies in it is loaded into his programs."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "kernelwright" / "recording"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def built_libraries(folder: Path | None = None) -> Libraries:
    """Both libraries, built where they are not yet. Raises ToolchainMissing."""
    folder = folder or library_folder()
    shim = _built(folder, "shim_front.cpp", header_folder())
    # wheels of CUDA 13 carry CUPTI's headers without those of the compiler that they include
    with_cupti = _folder_with("cupti.h", "cuda.h", "crt/host_defines.h")
    cupti = _cupti_library()
    if with_cupti is None or cupti is None:
        lacking = "header cupti.h" if with_cupti is None else "library libcupti.so"
        return Libraries(None, shim, cupti, f"CUPTI's {lacking} is not on this machine")
    return Libraries(_built(folder, "cupti_front.cpp", with_cupti), shim, cupti)


def header_folder() -> Path:
    """Where cuda.h lies. Raises ToolchainMissing."""
    found = _folder_with("cuda.h")
    if found is None:
        raise ToolchainMissing(
            "programs cannot be recorded: there is no cuda.h",
            valid=HEADERS,
            next_step="install it, or name the toolkit's folder in CUDA_HOME",
        )
    return found


def real_driver() -> Path | None:
    """The driver's libcuda.so.1, where programs of this environment find it."""
    named = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    usual = (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/lib/wsl/lib",
        "/usr/lib/aarch64-linux-gnu",
    )
    for folder in (*named, *usual):
        found = Path(folder or "/nowhere") / "libcuda.so.1"
        if found.exists():
            return found.resolve()
    listed = subprocess.run(
        [shutil.which("ldconfig") or "/sbin/ldconfig", "-p"],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    for line in listed.stdout.splitlines():
        if line.strip().startswith("libcuda.so.1 "):
            return Path(line.split("=>")[-1].strip()).resolve()
    return None


def driver_link(folder: Path, driver: Path) -> Path:
    """A folder in which `LINK` is the real driver; the program's loader looks there."""
    key = hashlib.sha256(str(driver).encode()).hexdigest()[:16]
    links = folder / f"driver-{key}"
    links.mkdir(exist_ok=True, mode=0o700)
    with replacing(links / LINK) as partial:
        partial.symlink_to(driver)
    return links


def _built(folder: Path, front: str, headers: Path) -> Path:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ToolchainMissing("recording needs a C++ compiler", valid="g++ or clang++ on PATH")
    library = folder / f"{front.removesuffix('.cpp')}-{_key(compiler, headers)}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(library) as partial:
            command = [compiler, *FLAGS, f"-I{headers}", str(NATIVE / front), "-o", str(partial)]
            _run([*command, *_linked(folder, compiler, front), "-ldl", "-lpthread"])
    return library


def _linked(folder: Path, compiler: str, front: str) -> list[str]:
    """What makes the shim a driver: its name, and the real one as its only dependency."""
    if not front.startswith("shim"):
        return []
    stub = folder / "stub"
    stub.mkdir(exist_ok=True)
    with replacing(stub / LINK) as partial:
        _run(
            [
                compiler,
                "-shared",
                "-x",
                "c++",
                os.devnull,
                "-o",
                str(partial),
                f"-Wl,-soname,{LINK}",
            ]
        )
    return ["-Wl,-soname,libcuda.so.1", "-Wl,--no-as-needed", f"-L{stub}", f"-l:{LINK}"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, check=False)
    if done.returncode:
        raise ToolchainMissing(f"the recorder does not compile:\n{done.stderr[-2000:]}")


def _key(compiler: str, headers: Path) -> str:
    digest = hashlib.sha256(f"{compiler} {headers} {FLAGS}".encode())
    for source in sorted(NATIVE.iterdir()):
        digest.update(source.read_bytes())
    digest.update((headers / "cuda.h").read_bytes())
    return digest.hexdigest()[:16]


def _roots() -> Iterator[Path]:
    """Where CUDA may lie: packages of this Python before the system, as torch loads those."""
    for packages in map(Path, sys.path):
        yield from sorted(packages.glob("nvidia/cu*"), reverse=True)
        yield from (packages / "nvidia" / "cuda_cupti", packages / "nvidia" / "cuda_runtime")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if named := os.environ.get(variable):
            yield Path(named)
    yield from (Path("/usr/local/cuda"), Path("/opt/cuda"))
    for packages in map(Path, sys.path):
        yield packages / "triton" / "backends" / "nvidia"


def _folder_with(*names: str) -> Path | None:
    for root in _roots():
        for folder in (root / "include", root / "extras" / "CUPTI" / "include"):
            if all((folder / name).is_file() for name in names):
                return folder
    return None


def _cupti_library() -> Path | None:
    for root in _roots():
        for folder in ("lib", "lib64", "lib/cupti", "extras/CUPTI/lib64"):
            found = sorted((root / folder).glob("libcupti.so.1[2-9]"), reverse=True)
            if found:
                return found[0]
    return None
