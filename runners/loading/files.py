"""From a spec on disk or in a request to a LoadedKernel: sources read, frozen and hashed.

Files are read only beneath the allowed roots. What is loaded here is all that the builder
and the oracle ever see of the user's files.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from pydantic import Field, ValidationError

from .. import openmp
from ..c_source.own_headers import quoted, within
from ..errors import AccessError, SpecError
from ..languages import LANGUAGES, KernelType
from ..model import BuildOptions, Record, Variant, content_hash
from ..plans.declared_plan import check_declared
from ..specs.contract import check_workloads
from ..specs.nearest import nearest
from ..specs.normalise import source_key
from ..specs.problems import explain_problems, json_kind
from ..specs.spec import KernelSpec
from .at_launch import at_launch
from .completing import KINDS, Draft, completed, decided, draft_of_source, entries
from .headers import folder_hash
from .identity import content_of
from .left_open import OPEN, left_open

MAX_SOURCE = 1 << 20


class LoadedKernel(Record):
    """A spec with every file it names, as it was when the kernel was opened."""

    spec: KernelSpec
    source: str
    source_name: str
    source_path: str | None = None
    """where the source came from, the place to which a winner is exported"""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    include_dirs: tuple[str, ...] = ()
    include_hashes: tuple[str, ...] = ()
    """of the headers beneath each of them, as they were when the kernel was opened"""
    reference: str | None = None
    """source of the reference; None: the baseline is the truth"""
    lifted_reference: str | None = None
    """where the baseline is the truth: a reference in numpy that was read from the baseline, and
    whose values are the truth as long as the baseline agrees with them"""
    init_files: dict[str, str] = Field(default_factory=dict[str, str])
    """argument name -> absolute path of its .npy file"""
    init_hashes: dict[str, str] = Field(default_factory=dict[str, str])
    """argument name -> hash of that file's bytes, as they were when the kernel was opened"""
    environment: dict[str, str] = Field(default_factory=dict[str, str])
    """OpenMP's variables of the processes that are timed: the user's own, and the spec's over
    them. With others it is another kernel, of which nothing is known yet"""

    @property
    def kernel_id(self) -> str:
        """Name and hash of what counts (`identity.py`)."""
        content = content_of(self.model_dump(mode="json"))
        return f"{self.spec.name}-{content_hash(content, 8)}"

    def baseline(self) -> Variant:
        """The variant to start from: the source as it is, every parameter at its default."""
        kernel = self.spec.kernel
        declared = kernel.plan or (kernel.launch if kernel.language.planned else None)
        plan = None if declared is None else declared.model_dump(mode="json", exclude_unset=True)
        return Variant(
            kernel_id=self.kernel_id,
            source=self.source,
            source_key=source_key(self.source, kernel.kernel_type),
            plan=plan,
            options=BuildOptions(compiler=kernel.compiler, flags=kernel.flags),
            parameters={name: p.start for name, p in self.spec.parameters.items()},
        )


class Roots:
    """The folders beneath which files may be read (and winners written)."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))

    def resolve(self, path: str | Path, base: Path | None = None) -> Path:
        """The absolute path, links followed. Raises AccessError outside the roots."""
        try:
            full = (Path(path) if base is None else base / path).resolve()
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                full.lstat()  # `resolve` lets a name pass that no file can have
        except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, a ring of links
            raise AccessError(
                f"{str(path)!r} is not a path: {error}", next_step=self._correct
            ) from error
        if not any(full.is_relative_to(folder) for folder in self.folders):
            raise AccessError(
                f"{full} lies outside the allowed roots",
                valid=", ".join(map(str, self.folders)),
                next_step="start the server in the project's folder, or with --root FOLDER",
            )
        return full

    def read(self, path: str | Path, base: Path | None = None) -> str:
        """The text of a file. Raises AccessError when it is missing, foreign or not text."""
        full = self.file(path, base)
        try:
            if full.stat().st_size > MAX_SOURCE:
                raise SpecError(
                    f"{full.name} holds {full.stat().st_size} bytes", valid="up to 1 MiB"
                )
            return full.read_text(encoding="utf-8-sig")  # editors may begin a file with a mark
        except UnicodeDecodeError as error:
            raise AccessError(f"{full} is not UTF-8 text", next_step="save it as UTF-8") from error
        except OSError as error:
            raise AccessError(f"{full} cannot be read: {error.strerror}") from error

    def file(self, path: str | Path, base: Path | None = None) -> Path:
        """As `resolve`, for regular files; reading a pipe or device might never end."""
        full = self.resolve(path, base)
        try:
            regular = stat.S_ISREG(full.stat().st_mode)
        except OSError as error:
            raise self._unread(full, str(error.strerror)) from error
        if not regular:
            raise self._unread(full, "it is not a regular file")
        return full

    def _unread(self, full: Path, why: str) -> AccessError:
        return AccessError(
            f"{str(full)[-200:]} cannot be read: {why}",
            valid=nearest(full, self.folders),
            next_step=self._correct,
        )

    @property
    def _correct(self) -> str:
        return f"correct the path; files are read beneath {', '.join(map(str, self.folders))}"


def load_file(path: Path, roots: Roots) -> LoadedKernel:
    """Read a spec file and all that it names."""
    full = roots.resolve(path)
    text = roots.read(full)
    if full.suffix.lower() in KINDS:
        raise SpecError(
            f"{full.name} is the source of a kernel, and no spec",
            valid="a spec (JSON) that names it",
            next_step=f"give it as source_path; `kernelwright spec --infer {full.name}` writes a "
            "spec for it",
        )
    return load_data(_json(full.name, text), full.parent, roots)


def _json(name: str, text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        problem = f"{_problem(error)} in line {error.lineno}, column {error.colno}"
    except RecursionError:
        problem = "it is nested too deeply"
    except ValueError as error:
        problem = str(error)
    raise SpecError(
        f"{name} is not JSON: {problem}",
        next_step="correct it there; kernelwright spec --schema prints every field of a spec",
    )


def _problem(error: json.JSONDecodeError) -> str:
    """A comma too many in words of its own: Python before 3.13 only says what it expected."""
    end, before = error.doc[error.pos : error.pos + 1], error.doc[: error.pos].rstrip()
    if end and end in "}]" and before.endswith(","):
        return f"there is a comma before the `{end}`"
    return error.msg


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object as a dict; JSON itself would silently keep the last of two equal names."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has two fields `{twice}`")
    return made


def load_data(data: object, folder: Path, roots: Roots) -> LoadedKernel:
    """A spec given as JSON data; relative paths start at `folder`.

    One without `io` is completed from its source where that leaves no doubt (`completing.py`).
    """

    def read(path: str) -> str:
        return roots.read(path, folder)

    spec = parse_spec(completed(data, read), read)
    kernel = spec.kernel
    init_files = {
        a.name: roots.file(a.init.path, folder)
        for a in spec.io.arguments
        if a.init is not None and a.init.path is not None
    }
    source, name, origin = _source(spec, folder, roots)
    reference = None
    if not isinstance(spec.reference, str):
        code, path = spec.reference.source_code, spec.reference.source_path
        reference = roots.read(path, folder) if code is None and path else (code or "")
        _limit("reference", reference)
    include_dirs = [roots.resolve(d, folder) for d in kernel.include_dirs]
    return LoadedKernel(
        spec=spec,
        source=source,
        source_name=name,
        source_path=origin,
        files={_inside(f): roots.read(f, folder) for f in kernel.files},
        include_dirs=tuple(map(str, include_dirs)),
        include_hashes=tuple(map(folder_hash, include_dirs)),
        reference=reference,
        init_files={name: str(file) for name, file in init_files.items()},
        init_hashes={name: _file_hash(file) for name, file in init_files.items()},
        environment={} if kernel.language.on_gpu else openmp.of_this_process() | kernel.environment,
    )


def load_path(path: Path, roots: Roots) -> LoadedKernel:
    """A spec file, or a kernel from its source alone (`load_source`)."""
    source = path.suffix.lower() in KINDS
    return load_source(path, roots) if source else load_file(path, roots)


def load_source(path: Path, roots: Roots, entry: str | None = None) -> LoadedKernel:
    """A kernel from its source alone. Raises SpecError with the spec to edit where it is open."""
    found = decided(draft_of_file(path, roots, entry), beside=path.name)
    return load_data(found, roots.resolve(path).parent, roots)


def draft_of_file(path: Path, roots: Roots, entry: str | None = None) -> Draft:
    """A spec for a source file, to be saved beside it; headers that lie there are listed.

    Raises SpecError when the file holds no kernel, or several and `entry` names none.
    """
    full = roots.resolve(path)
    source = roots.read(full)
    kind = KINDS.get(full.suffix.lower())
    in_c = kind is not None and LANGUAGES[kind].syntax == "c"
    files = _included(source, full.parent, roots) if in_c else {}
    return draft_of_source(path.name, source, entry, files)


def _included(source: str, folder: Path, roots: Roots) -> dict[str, str]:
    """Files beneath a folder that a source there includes, and those that they include."""
    found = dict[str, str]()
    open_ = [(name, "") for name in quoted(source)]
    while open_:
        name, inside = open_.pop(0)
        path = next((p for p in (within(name, inside), name) if _is_beneath(folder, p)), "")
        if path and path not in found:
            found[path] = roots.read(path, folder)
            open_ += [(each, str(Path(path).parent)) for each in quoted(found[path])]
    return found


def _is_beneath(folder: Path, path: str) -> bool:
    return ".." not in Path(path).parts and (folder / path).is_file()


def _file_hash(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise AccessError(f"{file} cannot be read: {error.strerror}") from error


def _source(spec: KernelSpec, folder: Path, roots: Roots) -> tuple[str, str, str | None]:
    kernel = spec.kernel
    if kernel.source_path is None:
        source = kernel.source_code or ""
        name, origin = spec.name + kernel.language.suffixes[0], None
    else:
        full = roots.resolve(kernel.source_path, folder)
        source, name, origin = roots.read(full), full.name, str(full)
    _limit("source", source)
    _check_entry(kernel.metadata.kernel_name, source, name, kernel.kernel_type)
    return source, name, origin


def _check_entry(entry: str, source: str, name: str, kernel_type: KernelType) -> None:
    if re.search(rf"\b{entry}\b", source):
        return
    functions = entries(source, kernel_type)
    close = difflib.get_close_matches(entry, functions, n=1)
    listed = ", ".join(functions) or "the name of the entry function in it"
    hint = f"did you mean `{close[0]}`?" if close else listed
    raise SpecError(f"kernel.metadata.kernel_name: no `{entry}` in {name}", valid=hint)


def _limit(what: str, text: str) -> None:
    nbytes = len(text.encode())
    if nbytes > MAX_SOURCE:
        raise SpecError(f"the {what} holds {nbytes} bytes", valid="up to 1 MiB")
    if not text.strip():
        raise SpecError(f"the {what} is empty")


def _inside(name: str) -> str:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise SpecError(f"kernel.files: `{name}`", valid="paths beside the spec, without `..`")
    return name


def parse_spec(data: object, read: Callable[[str], str] | None = None) -> KernelSpec:
    """JSON data as a KernelSpec. `read` gives the text of `kernel.source_path`. Raises SpecError
    listing every field at fault."""
    if not isinstance(data, dict):
        raise SpecError(
            f"a spec is a JSON object, this is {json_kind(data)}",
            next_step="kernelwright spec --schema prints every field with its meaning",
        )
    if lines := left_open(cast(object, data)):
        raise SpecError(
            f"the spec is not filled in yet, `{OPEN}` stands at:\n"
            + "\n".join(f"  {line}" for line in lines),
            next_step=f"replace each `{OPEN}`",
        )
    try:
        json.dumps(data, ensure_ascii=False, default=str).encode()
        spec = KernelSpec.model_validate(data)
    except UnicodeEncodeError as error:
        raise SpecError("the spec holds half a surrogate pair, which is no text") from error
    except ValidationError as error:
        lines = explain_problems(error, KernelSpec)
        raise SpecError(
            "the spec is not valid:\n" + "\n".join(f"  {line}" for line in lines),
            next_step="kernelwright spec --schema prints every field with its meaning",
        ) from error
    check_declared(spec, at_launch(spec, read))
    check_workloads(spec)
    return spec
