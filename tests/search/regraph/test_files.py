"""ReGraph as files and on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from typer.testing import CliRunner

from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.model import Ending
from kernelwright.search.outdir.published import schema
from kernelwright.search.outdir.regraph_files import DATASET, append_dataset, publish
from kernelwright.search.regraph.file import from_json, to_json
from kernelwright.search.regraph.patterns import patterns
from kernelwright.search.regraph.picture import MOST, picture
from kernelwright.search.regraph.posterior import Posteriors
from kernelwright.search.regraph.report import brought, by_gain, edges, tactic_graph
from kernelwright.search.regraph.tallies import ReGraph, aggregate
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.stored.experience import Experience, learned_now, regraph_of
from kernelwright.search.stored.records import Learned
from kernelwright.server.cli import app
from kernelwright.store.store import STATE_FILE, Store

SVG = "{http://www.w3.org/2000/svg}"
FIRED = {"poor_coalescing": "poor-coalescing"}


def step(
    number: int, method: str, gain: float | None, previous: str = "baseline", search: str = "s0"
) -> Transition:
    return Transition(
        kernel_id="softmax-1a2b3c4d",
        search_id=search,
        edge_id=f"e{number:06d}",
        arch="sm_90a",
        language="cuda",
        from_method=previous,
        to_method=method,
        ending=Ending.wrong if gain is None else Ending.faster,
        gain=gain,
        rules=FIRED,
    )


STEPS = (
    step(0, "coalesce_global_accesses", 1.5),
    step(1, "coalesce_global_accesses", 1.2, "tune_parameters"),
    step(2, "tune_parameters", 0.1),
    step(3, "compiler_flags", None),
    step(4, "smem_tiling", -0.4, "tune_parameters"),
    step(5, "shared_memory_tiling", 0.0, "tune_parameters"),
)


def outdir(folder: Path, steps: tuple[Transition, ...] = STEPS) -> Path:
    with Store.open(folder / STATE_FILE) as store:
        keep(store, steps)
    return folder


def keep(store: Store, steps: tuple[Transition, ...]) -> None:
    with store.transaction() as writer:
        for each in steps:
            writer.append("transitions", each.model_dump(mode="json"))


def told(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["regraph", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_regraph_goes_from_one_outdir_to_another(tmp_path: Path) -> None:
    here, there = outdir(tmp_path / "here"), outdir(tmp_path / "there", ())
    assert "6 steps of 1 searches on 1 kernels" in told("build", here)
    told("import", here / "regraph.json", "--outdir", there)
    told("import", here / "regraph.json", "--outdir", there)
    with Store.open(there / STATE_FILE) as store:
        assert regraph_of(store) == aggregate(STEPS)


def test_files_that_share_a_search_are_merged_without_counting_it_twice(tmp_path: Path) -> None:
    one = outdir(tmp_path / "one")
    two = outdir(tmp_path / "two", (*STEPS, step(0, "tune_parameters", 1.0, search="s1")))
    told("build", one)
    told("build", two)
    both = tmp_path / "both.json"
    told("merge", one / "regraph.json", two / "regraph.json", "--to", both)
    assert [each.search_id for each in from_json(both.read_text()).searches] == ["s0", "s1"]
    assert "7 steps of 2 searches" in told("build", one, two, "--to", both)


def test_names_are_merged_with_the_reason_unless_told_otherwise(tmp_path: Path) -> None:
    here = outdir(tmp_path)
    told("build", here)
    merged = json.loads((here / "regraph.json").read_text())["merged"]
    assert merged["smem_tiling"] == {"into": "shared_memory_tiling", "reason": "alias by hand"}
    told("build", here, "--no-merge")
    assert json.loads((here / "regraph.json").read_text())["merged"] == {}


def test_show_lists_steps_by_gain_and_by_count_and_what_rules_brought(tmp_path: Path) -> None:
    here = outdir(tmp_path)
    steps = told("show", here)
    assert steps.index("coalesce_global_accesses") < steps.index("compiler_flags")
    assert "100 %" in steps and "after tune_parameters" in steps
    assert "smem_tiling is counted as shared_memory_tiling" in steps
    rules = told("show", here, "--rules")
    assert "poor_coalescing" in rules and "poor-coalescing" in rules


def test_an_export_has_every_form(tmp_path: Path) -> None:
    here = outdir(tmp_path / "here")
    written = told("export", here, "--to", tmp_path / "out").split()
    names = {Path(each).name for each in written}
    assert names == {"regraph.json", "global_tactic_graph.json", "patterns.md", "regraph.svg"}
    for each in (Path(path) for path in written if path.endswith(".json")):
        jsonschema.validate(json.loads(each.read_text(encoding="utf-8")), schema(each.name))


def test_a_folder_without_state_and_another_file_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"nodes": []}')
    with pytest.raises(AccessError):
        told("show", tmp_path)
    with pytest.raises(SpecError, match=r"no regraph\.json"):
        told("show", other)


def test_the_dataset_grows_by_what_is_new_and_is_written_anew_where_it_is_damaged(
    tmp_path: Path,
) -> None:
    path = tmp_path / DATASET
    with Store.open(tmp_path / STATE_FILE) as store:
        append_dataset(store, path)
        assert path.read_text() == ""
        keep(store, STEPS[:2])
        append_dataset(store, path)
        first = path.read_text()
        keep(store, STEPS[2:])
        append_dataset(store, path)
        append_dataset(store, path)
        whole = path.read_text()
        assert whole.startswith(first)
        assert [Transition.model_validate_json(line) for line in whole.splitlines()] == [*STEPS]
        for line in whole.splitlines():
            jsonschema.validate(json.loads(line), schema(DATASET))
        path.write_text(whole[:-9])
        append_dataset(store, path)
        assert path.read_text() == whole


def test_a_dataset_of_a_state_that_is_gone_is_written_anew(tmp_path: Path) -> None:
    old, new = outdir(tmp_path / "old"), outdir(tmp_path / "new", STEPS[:1])
    path = tmp_path / DATASET
    for folder in (old, new):
        with Store.open(folder / STATE_FILE) as store:
            append_dataset(store, path)
    assert len(path.read_text().splitlines()) == 1


def test_a_search_weighs_by_what_there_was_when_it_began(tmp_path: Path) -> None:
    place = ("baseline", "unknown", "sm_90a", "cuda")
    with Store.open(outdir(tmp_path, STEPS[:3]) / STATE_FILE) as store:
        began = learned_now(store, "hard")
        keep(store, STEPS[3:])
        soft = Experience(store, "k", began, "soft").weights(*place)
        hard = Experience(store, "k", began, "hard").weights("tune_parameters", *place[1:])
        assert Experience(store, "k", began, "off").weights(*place) == {}
        assert Experience(store, "k", Learned(), "soft").weights(*place) == {}
    assert soft.keys() == {"coalesce_global_accesses", "tune_parameters"}
    assert hard["tune_parameters"] == 0 < hard["coalesce_global_accesses"]


def test_what_follows_from_the_dataset_is_written_when_it_is_asked_for(tmp_path: Path) -> None:
    with Store.open(tmp_path / STATE_FILE) as store:
        keep(store, STEPS)
        publish(store, tmp_path, whole=False)
        assert not (tmp_path / "patterns.md").exists()
        publish(store, tmp_path, whole=True)
    assert (
        "after tune_parameters: coalesce_global_accesses" in (tmp_path / "patterns.md").read_text()
    )
    assert from_json((tmp_path / "regraph.json").read_text()) == aggregate(STEPS)


def test_the_file_has_methods_as_nodes_and_steps_as_edges_beside_its_cells() -> None:
    told = json.loads(to_json(aggregate(STEPS)))
    assert told["version"] == 1 and told["searches"][0]["cells"]
    methods = {node["method"]: node["count"] for node in told["nodes"]}
    assert methods["coalesce_global_accesses"] == 2
    edge = next(e for e in told["edges"] if e["method"] == "compiler_flags")
    assert (edge["previous"], edge["right"], edge["count"]) == ("baseline", 0, 1)


def test_patterns_say_why_a_step_paid_or_did_not() -> None:
    bound = [
        each.model_copy(update={"bottleneck": "memory" if each.gain else "latency"})
        for each in STEPS
    ]
    page = patterns(Posteriors(aggregate(bound)))
    why = page[page.index("## Why") :]
    first = why[why.index("- at first: coalesce_global_accesses") :].split("\n- ")[1 - 1]
    assert "paid where bound by memory (2.83x a try in 1)" in first
    assert "`poor_coalescing` had asked for it in 2 tries: it saves the sectors" in first
    assert "of 1 try 1 failed" in why[why.index("- at first: compiler_flags") :]


def test_the_graph_has_nodes_edges_places_and_where_they_are_from() -> None:
    graph = tactic_graph(Posteriors(aggregate(STEPS)))
    edge = graph.edges[0]
    assert edge.method and edge.previous and edge.count and edge.kernels
    assert sum(each.count for each in graph.edges) == len(STEPS)
    assert all(each.arch and each.language for each in graph.places)
    assert graph.rules["poor_coalescing"].count == 2
    assert brought(Posteriors(aggregate(STEPS)), "skill")["poor-coalescing"].count == 2


def test_nothing_learned_gives_empty_tables_and_a_picture() -> None:
    nothing = Posteriors(ReGraph())
    assert "0 evaluated steps" in patterns(nothing)
    ElementTree.fromstring(picture(nothing))


def test_lines_say_how_much_and_how_sure() -> None:
    best = by_gain(edges(Posteriors(aggregate(STEPS))))[0]
    assert best.method == "coalesce_global_accesses"
    assert re.fullmatch(
        r"[\d.]+x \([\d.]+ to [\d.]+\) in 1 try on 1 kernel, 0 % failed", best.describe()
    )


def test_in_the_picture_nothing_leaves_the_paper_and_no_words_meet() -> None:
    names = [f"{letter * 30}_a_method" for letter in "abcdefghijklmnopqrst"]
    many = [
        step(number, names[number % 20], (number % 7 - 3) / 4, names[number * 3 % 20])
        for number in range(90)
    ]
    root = ElementTree.fromstring(picture(Posteriors(aggregate(many, merging=False))))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = list[tuple[float, float, float, float]]()
    for each in root.iter(f"{SVG}text"):
        size, x = float(each.attrib["font-size"]), float(each.attrib["x"])
        long = 0.6 * size * len(each.text or "")
        left = x - long if each.attrib["text-anchor"] == "end" else x
        y = float(each.attrib["y"])
        boxes.append((left, y - 0.8 * size, left + long, y + 0.2 * size))
    for left, top, right, bottom in boxes:
        assert 0 <= left and right <= width and 0 <= top and bottom <= height
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]
    assert len(list(root.iter(f"{SVG}circle"))) == 2 * MOST


def test_patterns_tell_what_a_method_brought_on_each_machine() -> None:
    other = step(0, "tune_parameters", -1.0, search="s9").model_copy(update={"arch": "sm_80"})
    lines = patterns(Posteriors(aggregate([*STEPS, other]))).splitlines()
    found = [line for line in lines if line.startswith("| tune_parameters | cuda |")]
    assert [line.split(" | ")[2] for line in found] == ["sm_90a", "sm_80"]
    assert all("x (" in line and line.endswith("| 1 | 0 % | 1 |") for line in found)
