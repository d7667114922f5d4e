"""From a spec on disk to a LoadedKernel: only inside the roots, and known by content alone."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data, load_file
from kernelwright.runners.plans.declared_plan import declared_plan

SOURCE = '#include "part.hpp"\nvoid scale(const float* x, float* y, int n) {}\n'
REFERENCE = "def reference(x): return 2 * x\n"
GOLDEN = Path(__file__).parents[2] / "golden" / "kernel_ids.json"
IDS: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
"""specs of each language, with plan, launch and neither, by the ids of commit 05df874"""


def spec() -> dict[str, Any]:
    init = {"kind": "file", "path": "x.npy"}
    return {
        "name": "scale",
        "kernel": {
            "kernel_type": "cpp",
            "source_path": "scale.cpp",
            "files": ["part.hpp"],
            "metadata": {"kernel_name": "scale"},
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"], "init": init},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": None},
        "workloads": [{"name": "w", "symbols": {"n": 4}}],
        "parameters": {"TILE": {"values": [8, 16], "default": 16}},
        "reference": "reference.py",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "spec.json").write_text(json.dumps(spec()), encoding="utf-8")
    (made / "scale.cpp").write_text(SOURCE, encoding="utf-8")
    (made / "part.hpp").write_text("// part\n", encoding="utf-8")
    (made / "reference.py").write_text(REFERENCE, encoding="utf-8")
    np.save(made / "x.npy", np.arange(4, dtype=np.float32))
    return made


def load(folder: Path, data: object | None = None) -> LoadedKernel:
    """The spec of the folder, or one given as data, with that folder as the only root."""
    if data is not None:
        return load_data(data, folder, Roots([folder]))
    return load_file(folder / "spec.json", Roots([folder]))


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(p): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_everything_a_spec_names_is_read_and_frozen(folder: Path) -> None:
    kernel = load(folder)
    (folder / "scale.cpp").write_text("changed", encoding="utf-8")
    assert kernel.source == SOURCE
    assert kernel.source_path == str(folder / "scale.cpp")
    assert kernel.files == {"part.hpp": "// part\n"}
    assert kernel.reference == REFERENCE
    assert kernel.init_files == {"x": str(folder / "x.npy")}


def test_the_baseline_has_the_source_as_it_is_and_every_default(folder: Path) -> None:
    kernel = load(folder)
    assert kernel.baseline().source == SOURCE
    assert kernel.baseline().parameters == {"TILE": 16}
    assert kernel.baseline().kernel_id == kernel.kernel_id


def test_the_kernel_id_begins_with_the_name_and_is_the_same_every_time(folder: Path) -> None:
    assert load(folder).kernel_id == load(folder).kernel_id
    assert load(folder).kernel_id.startswith("scale-")


@pytest.mark.parametrize("kernel_id", IDS)
def test_a_kernel_has_the_id_that_its_first_stores_know_it_by(folder: Path, kernel_id: str) -> None:
    """A spec that sets no later field: `runners/loading/identity.py` says which those are."""
    assert load(folder, IDS[kernel_id]).kernel_id == kernel_id


def test_the_kernel_id_does_not_change_with_the_folder(folder: Path) -> None:
    elsewhere = folder.with_name("elsewhere")
    shutil.copytree(folder, elsewhere)
    assert load(elsewhere).kernel_id == load(folder).kernel_id


def test_the_kernel_id_does_not_change_with_the_names_of_files(folder: Path) -> None:
    before = load(folder).kernel_id
    data = spec()
    for old, new in (("scale.cpp", "k.cc"), ("reference.py", "truth.py"), ("x.npy", "in.npy")):
        (folder / old).rename(folder / new)
    data["kernel"]["source_path"] = "k.cc"
    data["reference"] = "truth.py"
    data["io"]["arguments"][0]["init"]["path"] = "in.npy"
    assert load(folder, data).kernel_id == before


def test_the_kernel_id_is_the_same_for_a_source_in_the_spec_and_one_beside_it(
    folder: Path,
) -> None:
    data = spec()
    del data["kernel"]["source_path"]
    data["kernel"]["source_code"] = SOURCE
    data["reference"] = {"source_code": REFERENCE}
    assert load(folder, data).kernel_id == load(folder).kernel_id


@pytest.mark.parametrize("name", ["scale.cpp", "part.hpp", "reference.py"])
def test_the_kernel_id_changes_with_the_content_of_every_text_file(folder: Path, name: str) -> None:
    before = load(folder).kernel_id
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("\n# more\n")
    assert load(folder).kernel_id != before


def test_the_kernel_id_changes_with_the_values_of_an_init_file(folder: Path) -> None:
    before = load(folder).kernel_id
    np.save(folder / "x.npy", np.ones(4, dtype=np.float32))
    assert load(folder).kernel_id != before


CHANGES: list[tuple[str, Any]] = [
    ("name", "other"),
    ("kernel.flags", ["-O2"]),
    ("kernel.compiler", "clang++"),
    ("kernel.defines", {"A": 1}),
    ("kernel.invocation_example", "bump(x, y)"),
    ("io.deterministic", False),
    ("io.flops", "n"),
    ("io.arguments.0.align", 32),
    ("io.arguments.1.tolerance", {"factor": 3}),
    ("io.arguments.0.init.scale", 2),
    ("symbols.n", {"max": 9}),
    ("workloads.0.symbols.n", 5),
    ("workloads.0.weight", 2),
    ("workloads.0.name", "v"),
    ("parameters.TILE.default", 8),
    ("parameters.TILE.values", [8, 16, 32]),
    ("constraints", ["TILE > 1"]),
    ("reference", "baseline"),
    ("device_profile", {"arch": "x86-64-v3"}),
]


@pytest.mark.parametrize(("path", "value"), CHANGES)
def test_the_kernel_id_changes_with_what_the_spec_says(folder: Path, path: str, value: Any) -> None:
    data = spec()
    node: Any = data
    *way, last = path.split(".")
    for part in way:
        node = node[int(part)] if part.isdigit() else node[part]
    node[last] = value
    assert load(folder, data).kernel_id != load(folder).kernel_id


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": "scale",}', "there is a comma before the `}` in line 1, column 18"),
        ('{"values": [1, 2,\n ]}', "there is a comma before the `]` in line 2, column 2"),
        ("", "Expecting value in line 1, column 1"),
        ("{'name': 1}", "property name enclosed in double quotes"),
        ('{\n "name": \n}', "line 3"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": ' + "9" * 5000 + "}", "is not JSON"),
        ('{"symbols": {"n": null, "n": {"max": 3}}}', "two fields `n`"),
    ],
)
def test_a_file_that_is_no_json_is_refused_with_the_place(
    folder: Path, text: str, words: str
) -> None:
    (folder / "spec.json").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load(folder)
    assert caught.value.message.startswith("spec.json is not JSON: ")
    assert words in caught.value.message
    assert "spec --schema" in caught.value.next_step


def test_a_source_given_as_a_spec_is_told_where_it_belongs(folder: Path) -> None:
    with pytest.raises(
        SpecError, match=r"scale\.cpp is the source of a kernel.*\n.*\n.*source_path"
    ):
        load_file(folder / "scale.cpp", Roots([folder]))


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "null"])
def test_json_that_is_no_object_is_refused(folder: Path, text: str) -> None:
    (folder / "spec.json").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match="a spec is a JSON object"):
        load(folder)


CUDA = "namespace ns { template <class T, int N> __global__ void scale(T* x, T* y, int n) {} }\n"


def cuda(name: str, **launch: object) -> dict[str, Any]:
    kernel = {"kernel_type": "cuda", "source_code": CUDA, "metadata": {"kernel_name": name}}
    return spec() | {"kernel": kernel | {"launch": {"grid": ["n"], "block": [32], **launch}}}


@pytest.mark.parametrize("name", ["ns::scale<float, 4>", "scale<float, TILE>", "ns::scale"])
def test_the_entry_of_a_cuda_kernel_may_be_a_cpp_name(folder: Path, name: str) -> None:
    loaded = load(folder, cuda(name))
    assert loaded.spec.kernel.metadata.kernel_name == "scale"
    assert declared_plan(loaded.spec.kernel, None).launches[0].launch == name
    older = load(folder, cuda("scale", entry=name))
    assert loaded.kernel_id == older.kernel_id


def test_two_entries_that_differ_are_refused(folder: Path) -> None:
    with pytest.raises(SpecError, match=r"kernel\.launch\.entry `ns::other`"):
        load(folder, cuda("ns::scale<float, 4>", entry="ns::other"))


def test_a_cpp_name_of_what_is_not_there_names_the_launchs_entry(folder: Path) -> None:
    with pytest.raises(SpecError, match="no `scales` in"):
        load(folder, cuda("ns::scales<float, 4>"))
    with pytest.raises(SpecError, match="kernel_name"):
        load(folder, cuda("scale<float"))
    host = spec()
    host["kernel"]["metadata"] = {"kernel_name": "ns::scale"}
    with pytest.raises(SpecError, match=r"launch\.entry"):
        load(folder, host)


def test_a_missing_entry_function_is_named_with_the_one_that_is_there(folder: Path) -> None:
    data = spec()
    data["kernel"]["metadata"]["kernel_name"] = "scales"
    with pytest.raises(SpecError) as caught:
        load(folder, data)
    assert caught.value.message == "kernel.metadata.kernel_name: no `scales` in scale.cpp"
    assert caught.value.valid == "did you mean `scale`?"


def test_a_missing_entry_function_that_is_like_no_other_lists_what_is_there(folder: Path) -> None:
    data = spec()
    data["kernel"]["metadata"]["kernel_name"] = "another"
    with pytest.raises(SpecError) as caught:
        load(folder, data)
    assert caught.value.valid == "scale"


def test_a_part_of_another_name_is_no_entry_function(folder: Path) -> None:
    data = spec()
    data["kernel"]["metadata"]["kernel_name"] = "cal"
    with pytest.raises(SpecError, match="no `cal` in"):
        load(folder, data)


@pytest.mark.parametrize("place", ["source", "file", "reference"])
def test_ten_megabytes_are_refused_with_the_limit(folder: Path, place: str) -> None:
    large, data = "// scale\n" + " " * 10_000_000, spec()
    if place == "source":
        del data["kernel"]["source_path"]
        data["kernel"]["source_code"] = large
    else:
        (folder / "reference.py").write_text(large, encoding="utf-8")
        data["reference"] = "reference.py"
    if place == "file":
        (folder / "scale.cpp").write_text(large, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load(folder, data)
    assert "10000009 bytes" in caught.value.message
    assert caught.value.valid == "up to 1 MiB"


def test_an_empty_source_is_refused(folder: Path) -> None:
    (folder / "scale.cpp").write_text(" \n", encoding="utf-8")
    with pytest.raises(SpecError, match="the source is empty"):
        load(folder)


def _set(data: dict[str, Any], place: str, path: str) -> dict[str, Any]:
    match place:
        case "source":
            data["kernel"]["source_path"] = path
        case "files":
            data["kernel"]["files"] = [path]
        case "include_dirs":
            data["kernel"]["include_dirs"] = [path]
        case "reference":
            data["reference"] = path
        case _:
            data["io"]["arguments"][0]["init"]["path"] = path
    return data


PLACES = ["source", "files", "include_dirs", "reference", "init"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["absolute", "dots", "link", "linked folder"])
def test_nothing_outside_the_roots_is_read(folder: Path, place: str, way: str) -> None:
    outside = folder.with_name("outside")
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("void scale();", encoding="utf-8")
    (folder / "link").symlink_to(secret)
    (folder / "linked").symlink_to(outside)
    path = {
        "absolute": str(secret),
        "dots": "../outside/secret",
        "link": "link",
        "linked folder": "linked/secret",
    }[way]
    with pytest.raises((AccessError, SpecError)) as caught:
        load(folder, _set(spec(), place, path))
    assert "outside the allowed roots" in caught.value.message or (
        place == "files" and "without `..`" in caught.value.valid
    )
    assert "void scale" not in str(caught.value)


@pytest.mark.parametrize("place", PLACES)
def test_a_link_that_stays_inside_the_roots_is_followed(folder: Path, place: str) -> None:
    target = {"source": "scale.cpp", "files": "part.hpp", "reference": "reference.py"}
    (folder / "link").symlink_to(folder / target.get(place, "x.npy"))
    if place == "include_dirs":
        (folder / "link").unlink()
        (folder / "link").symlink_to(folder)
    assert load(folder, _set(spec(), place, "link")).kernel_id


@pytest.mark.parametrize("place", [p for p in PLACES if p != "include_dirs"])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing", "No such file"),
        ("ring", "ring"),
        ("a\0b", "is not a path"),
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
        ("x" * 5000, "name too long"),
    ],
    ids=["missing", "ring", "nul", "folder", "pipe", "long"],
)
def test_what_cannot_be_read_is_refused_and_never_waited_for(
    folder: Path, place: str, path: str, words: str
) -> None:
    (folder / "ring").symlink_to(folder / "ring")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    with pytest.raises(AccessError) as caught:
        load(folder, _set(spec(), place, path))
    assert words in caught.value.message
    assert f"files are read beneath {folder}" in caught.value.next_step


@pytest.mark.parametrize("path", ["x" * 300, "new/" * 2000])
def test_a_place_to_write_that_no_file_can_have_is_refused(folder: Path, path: str) -> None:
    assert Roots([folder]).resolve("new/file.cpp", folder) == folder / "new" / "file.cpp"
    with pytest.raises(AccessError, match="name too long"):
        Roots([folder]).resolve(path, folder)


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / "reference.py").write_bytes(b"\xff\xfe")
    with pytest.raises(AccessError, match="not UTF-8 text"):
        load(folder)


def test_a_spec_outside_the_roots_is_refused_with_the_roots(folder: Path) -> None:
    with pytest.raises(AccessError) as caught:
        load_file(folder / "spec.json", Roots([folder / "sub"]))
    assert str(folder / "sub") in caught.value.valid
    assert "--root" in caught.value.next_step


def test_a_folder_whose_name_only_begins_like_a_root_is_outside(folder: Path) -> None:
    twin = folder.with_name("project2")
    twin.mkdir()
    with pytest.raises(AccessError, match="outside the allowed roots"):
        Roots([folder]).resolve(twin / "file")


def test_refused_specs_change_nothing_on_disk(folder: Path) -> None:
    before = tree(folder)
    for place in PLACES:
        with pytest.raises((AccessError, SpecError)):
            load(folder, _set(spec(), place, "../outside"))
    assert tree(folder) == before


@pytest.mark.parametrize(
    ("path", "valid"),
    [
        ("spce.json", "in {}: spec.json"),
        ("other/deep/spec.json", "in {}: spec.json"),
        ("other/deep/spec.toml", ""),
        ("kernel/spec.json", "in {}: kernels/"),
        ("kernels/d.json", "in {}/kernels: b.json, a.json"),
        ("kernels", "in {}/kernels: a.json, b.json, c.cpp"),
        ("spec.json/more", "in {}: spec.json"),
        ("kernels/unlike_any_of_them.json", "in {}/kernels: a.json, b.json"),
    ],
)
def test_a_path_without_a_file_is_answered_with_what_lies_near_it_and_the_roots(
    folder: Path, path: str, valid: str
) -> None:
    (folder / "kernels").mkdir()
    for name in ("a.json", "b.json", "c.cpp", ".hidden.json"):
        (folder / "kernels" / name).write_text("", encoding="utf-8")
    with pytest.raises(AccessError) as caught:
        load_file(folder / path, Roots([folder]))
    assert caught.value.valid == valid.format(folder)
    assert caught.value.next_step == f"correct the path; files are read beneath {folder}"


def test_nothing_beside_the_roots_is_named(folder: Path) -> None:
    (folder.parent / "secret.json").write_text("", encoding="utf-8")
    with pytest.raises(AccessError) as caught:
        load_file(folder / "away" / "secrets.json", Roots([folder / "away"]))
    assert caught.value.valid == ""


def test_the_mark_that_editors_put_before_a_text_is_no_part_of_it(folder: Path) -> None:
    plain = load(folder)
    for name in ("spec.json", "reference.py"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8-sig")
    assert load(folder) == plain
