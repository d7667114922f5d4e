"""From a spec on disk or in a request to a LoadedKernel: sources read, frozen and hashed.

Files are read only beneath the allowed roots. What is loaded here is all that the builder
and the oracle ever see of the user's files.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from .errors import AccessError, SpecError
from .model import BuildOptions, Record, Variant, content_hash
from .normalise import source_key
from .spec import KernelSpec

MAX_SOURCE = 1 << 20
SUFFIX = {"cpp": ".cpp", "cuda": ".cu", "triton": ".py"}


class LoadedKernel(Record):
    """A spec with every file it names, as it was when the kernel was opened."""

    spec: KernelSpec
    source: str
    source_name: str
    source_path: str | None = None
    """where the source came from, the place to which a winner is exported"""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    include_dirs: tuple[str, ...] = ()
    reference: str | None = None
    """source of the reference; None: the baseline is the truth"""
    init_files: dict[str, str] = Field(default_factory=dict[str, str])
    """argument name -> absolute path of its .npy file"""

    @property
    def kernel_id(self) -> str:
        """Name and content hash; the place on disk does not matter."""
        content = self.model_dump(mode="json", exclude={"source_path", "include_dirs"})
        content["spec"]["kernel"].pop("source_path", None)
        return f"{self.spec.name}-{content_hash(content, 8)}"

    def baseline(self) -> Variant:
        """The variant to start from: the source as it is, every parameter at its default."""
        kernel = self.spec.kernel
        return Variant(
            kernel_id=self.kernel_id,
            source=self.source,
            source_key=source_key(self.source, kernel.kernel_type),
            plan=kernel.plan,
            options=BuildOptions(compiler=kernel.compiler, flags=kernel.flags),
            parameters={name: p.start for name, p in self.spec.parameters.items()},
        )


class Roots:
    """The folders beneath which files may be read (and winners written)."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folder.resolve() for folder in folders)

    def resolve(self, path: str | Path, base: Path | None = None) -> Path:
        """The absolute path, links followed. Raises AccessError outside the roots."""
        full = (Path(path) if base is None else base / path).resolve()
        if not any(full.is_relative_to(folder) for folder in self.folders):
            raise AccessError(
                f"{full} lies outside the allowed roots",
                valid=", ".join(map(str, self.folders)),
                next_step="start the server in the project's folder, or with --root FOLDER",
            )
        return full

    def read(self, path: str | Path, base: Path | None = None) -> str:
        """The text of a file. Raises AccessError when it is missing, foreign or not text."""
        full = self.resolve(path, base)
        try:
            if full.stat().st_size > MAX_SOURCE:
                raise SpecError(
                    f"{full.name} holds {full.stat().st_size} bytes", valid="up to 1 MiB"
                )
            return full.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise AccessError(f"{full} is not UTF-8 text") from error
        except OSError as error:
            raise AccessError(f"{full} cannot be read: {error.strerror}") from error


def load_file(path: Path, roots: Roots) -> LoadedKernel:
    """Read a spec file and all that it names."""
    full = roots.resolve(path)
    text = roots.read(full)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpecError(
            f"{full.name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}",
            next_step="kernelwright spec --check FILE shows every problem of a spec",
        ) from error
    return load_data(data, full.parent, roots)


def load_data(data: object, folder: Path, roots: Roots) -> LoadedKernel:
    """A spec given as JSON data; relative paths start at `folder`."""
    spec = parse_spec(data)
    kernel = spec.kernel
    source, name, origin = _source(spec, folder, roots)
    reference = None
    if not isinstance(spec.reference, str):
        code, path = spec.reference.source_code, spec.reference.source_path
        reference = roots.read(path, folder) if code is None and path else (code or "")
        _limit("reference", reference)
    return LoadedKernel(
        spec=spec,
        source=source,
        source_name=name,
        source_path=origin,
        files={_inside(f): roots.read(f, folder) for f in kernel.files},
        include_dirs=tuple(str(roots.resolve(d, folder)) for d in kernel.include_dirs),
        reference=reference,
        init_files={
            a.name: str(roots.resolve(a.init.path, folder))
            for a in spec.io.arguments
            if a.init is not None and a.init.path is not None
        },
    )


def _source(spec: KernelSpec, folder: Path, roots: Roots) -> tuple[str, str, str | None]:
    kernel = spec.kernel
    if kernel.source_path is None:
        source = kernel.source_code or ""
        name, origin = spec.name + SUFFIX[kernel.kernel_type], None
    else:
        full = roots.resolve(kernel.source_path, folder)
        source, name, origin = roots.read(full), full.name, str(full)
    _limit("source", source)
    if kernel.metadata.kernel_name not in source:
        raise SpecError(
            f"kernel.metadata.kernel_name: no `{kernel.metadata.kernel_name}` in {name}",
            valid="the name of the entry function in the source",
        )
    return source, name, origin


def _limit(what: str, text: str) -> None:
    if len(text.encode()) > MAX_SOURCE:
        raise SpecError(f"the {what} holds {len(text.encode())} bytes", valid="up to 1 MiB")
    if not text.strip():
        raise SpecError(f"the {what} is empty")


def _inside(name: str) -> str:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise SpecError(f"kernel.files: `{name}`", valid="paths beside the spec, without `..`")
    return name


def parse_spec(data: object) -> KernelSpec:
    """JSON data as a KernelSpec. Raises SpecError listing every field at fault."""
    try:
        return KernelSpec.model_validate(data)
    except ValidationError as error:
        lines = [explain_problem(problem, KernelSpec) for problem in error.errors()]
        raise SpecError(
            "the spec is not valid:\n" + "\n".join(f"  {line}" for line in lines),
            next_step="kernelwright spec --schema prints every field with its meaning",
        ) from error


def explain_problem(problem: Any, model: type[BaseModel]) -> str:
    """One problem of a ValidationError in words: the field, what is wrong, what was meant."""
    where = ".".join(str(part) for part in problem["loc"]) or "as a whole"
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        known = _fields_at(model, problem["loc"][:-1])
        close = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(known)}"
        return f"{where}: unknown field; {hint}"
    given = problem.get("input")
    shown = f" (given: {given!r})" if isinstance(given, str | int | float | bool) else ""
    return f"{where}: {message}{shown}"


def _fields_at(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The field names of the model that lies at a path of a spec."""
    schema = model.model_json_schema()
    definitions, node = schema.get("$defs", {}), schema
    for part in path:
        node = _resolved(node, definitions)
        if isinstance(part, int):
            node = node.get("items", {})
        elif part in node.get("properties", {}):
            node = node["properties"][part]
        else:
            node = node.get("additionalProperties", {})
    return sorted(_resolved(node, definitions).get("properties", {}))


def _resolved(node: Any, definitions: Any) -> Any:
    for choice in (node, *node.get("anyOf", ())):
        if "$ref" in choice:
            return definitions[choice["$ref"].rsplit("/", 1)[-1]]
    return node
