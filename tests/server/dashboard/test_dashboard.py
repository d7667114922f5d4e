"""The dashboard: who may look, what is shown, and that nothing in it is taken for code."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from kernels import FASTER
from server_talk import Place, ask, place_in, result_of
from starlette.testclient import TestClient

from kernelwright.analysis.regions import region_dag
from kernelwright.search.session.workbench import Workbench
from kernelwright.server.dashboard import site
from kernelwright.server.dashboard.looked_into import differences
from kernelwright.server.dashboard.site import Site
from kernelwright.server.http.addresses import Address, same_site

TOKEN = "a token of a test"
BASE = "http://127.0.0.1:8765"
FOLDER = Path(site.__file__).parent
ROOT = Path(__file__).parents[3]


def site_of(bench: Workbench) -> Site:
    return Site(lambda: bench, bench.outdir, TOKEN.__eq__, same_site(Address("127.0.0.1", 8765)))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[TestClient, dict[str, str]]]:
    """A page over a project with a search, opened with its link; and handles of what it shows."""
    place: Place = place_in(tmp_path_factory.mktemp("project"))

    async def searched(client: Any) -> dict[str, str]:
        built = await result_of(
            client,
            "compile_variant",
            kernel_id=place.kernel_id,
            options=FASTER,
            method="<script>alert(1)</script>",
        )
        started = await result_of(
            client, "search_step", kernel_id=place.kernel_id, planner="client"
        )
        return {
            "kernel": place.kernel_id,
            "search": started["search_id"],
            "variant": built["variant_id"],
        }

    handles = ask(place, searched)
    with Workbench(place.outdir, [place.outdir]) as bench:
        with TestClient(site_of(bench).application(), base_url=BASE) as client:
            assert client.get("/", params={"token": TOKEN}).url == f"{BASE}/"
            yield client, handles


def test_the_link_leaves_its_token_in_a_cookie_and_nothing_is_shown_without(
    shown: tuple[TestClient, dict[str, str]],
) -> None:
    client, handles = shown
    stranger = TestClient(client.app, base_url=BASE)
    for path in ("/", "/app.js", "/live", "/data/overview", f"/data/variant/{handles['variant']}"):
        assert stranger.get(path).status_code == 401
        assert stranger.get(path, params={"token": "another"}).status_code == 401
        assert client.get(path, headers={"Host": "evil.example:8765"}).status_code == 421
    assert client.get("/").headers["content-security-policy"].startswith("default-src 'none'")
    assert client.post("/data/overview").status_code == 405


def test_all_that_the_page_asks_for_is_there(shown: tuple[TestClient, dict[str, str]]) -> None:
    client, handles = shown
    found = client.get("/data/overview").json()
    assert [k["kernel_id"] for k in found["kernels"]] == [handles["kernel"]]
    assert found["searches"][0]["stands"]["budget"] > 0 and found["jobs"]
    graph = client.get(f"/data/search/{handles['search']}").json()
    assert any(node["root"] for node in graph["nodes"]) and graph["stands"]["best"]
    variant = client.get(f"/data/variant/{handles['variant']}").json()
    assert variant["summary"]["kernel_id"] == handles["kernel"] and variant["source"]
    assert variant["looked_into"]["bottleneck"] and variant["looked_into"]["regions"] == []
    assert client.get("/data/host").json()["cores"]
    assert "<h2" in client.get(f"/data/kernel/{handles['kernel']}").json()["html"]
    missing = client.get("/data/variant/v000000000000")
    assert missing.status_code == 404 and "v000000000000" in missing.json()["error"]


def test_what_planners_wrote_is_text_and_never_code(
    shown: tuple[TestClient, dict[str, str]],
) -> None:
    client, handles = shown
    assert "<script>" not in client.get(f"/data/kernel/{handles['kernel']}").json()["html"]
    script = (FOLDER / "app.js").read_text("utf-8")
    assert script.count("innerHTML") == 1, "what the server escaped, and nothing else"


def test_page_and_script_agree_and_need_nothing_from_elsewhere() -> None:
    page, script = ((FOLDER / name).read_text("utf-8") for name in ("index.html", "app.js"))
    places = set(re.findall(r'id="([\w-]+)"', page))
    assert set(re.findall(r'\$\("([\w-]+)"\)', script)) <= places
    texts = page + script + (FOLDER / "style.css").read_text("utf-8")
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", texts)


def test_what_the_code_of_two_variants_does_otherwise_is_told_of_each_kernel() -> None:
    dag = region_dag((ROOT / "tests/ptx/histogram.ptx").read_text("utf-8"))
    (same,) = differences({"k": dag}, {"renamed": dag})
    assert same["same"] == len(dag.regions) and not same["changed"]
    assert differences({}, {"k": dag}) == []
