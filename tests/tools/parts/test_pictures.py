"""Pictures of variants: where they lie, what they are of, and what cannot be drawn."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernels import tiny_kernel, with_known_peaks
from planted import PLANTED, profile

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.profiling.model import Profile
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.parts import pictures
from kernelwright.tools.parts import png as rendering
from kernelwright.tools.parts.pictures import draw

EXAMPLES = Path(__file__).parents[3] / "examples"
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
FAULT, REPAIRED = profile(PLANTED["stall_barrier"]), profile(PLANTED["tail_effect"])


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workbench, str, str]]:
    """A workbench, a baseline and a variant of it, which nobody timed."""
    with Workbench(tmp_path_factory.mktemp("pictures") / "out", [EXAMPLES]) as bench:
        kernel = open_kernel(bench, OpenKernelArguments(spec_path="cuda_sgemm/spec.json"))
        made = compile_variant(
            bench, CompileVariantArguments(kernel_id=kernel.kernel_id, parameters={"TILE": 8})
        )
        assert made.variant_id is not None
        yield bench, bench.evaluator.kernel(kernel.kernel_id).baseline, made.variant_id


def workload(bench: Workbench, variant_id: str) -> str:
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    return next(w.name for w in kernel.spec.workloads if not w.held_out)


@needs_cuda
def test_a_profiled_variant_is_drawn_by_the_profilers_time_where_it_was_not_timed(
    opened: tuple[Workbench, str, str],
) -> None:
    bench, _, variant_id = opened
    place = draw(bench, "roofline", FAULT, variant_id, workload(bench, variant_id)).svg
    assert place.parent == bench.outdir / "pictures" and place.suffix == ".svg"
    told = place.read_text(encoding="utf-8")
    assert "under ncu" in told and "at least, by 50 %" in told and variant_id in told
    assert "baseline" not in told, "nobody profiled it"


@needs_cuda
@pytest.mark.parametrize("picture", ["roofline", "stalls"])
def test_the_baseline_is_drawn_before_a_variant_where_its_profile_is_kept(
    opened: tuple[Workbench, str, str],
    picture: pictures.Picture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, baseline, variant_id = opened

    def kept(bench: Workbench, variant_id: str, workload: str) -> Profile | None:
        return FAULT if variant_id == baseline else None

    monkeypatch.setattr(pictures, "kept_profile", kept)
    label = workload(bench, variant_id)
    told = draw(bench, picture, REPAIRED, variant_id, label).svg.read_text(encoding="utf-8")
    assert told.index("baseline") < told.rindex(variant_id)
    alone = draw(bench, picture, FAULT, baseline, label).svg.read_text(encoding="utf-8")
    assert baseline in alone and "baseline" not in alone


def elsewhere(profile: Profile, device: str) -> Profile:
    """The same counters, as if taken on another GPU."""
    launches = tuple(each.model_copy(update={"device": device}) for each in profile.launches)
    return profile.model_copy(update={"launches": launches})


@needs_cuda
@pytest.mark.parametrize(
    ("device", "roof"), [("NVIDIA H200", "4.8 TB/s, datasheet"), ("NVIDIA X1", "implied by ")]
)
def test_roofs_are_those_of_the_gpu_that_a_report_was_made_on(
    opened: tuple[Workbench, str, str], device: str, roof: str
) -> None:
    """The kernel is built for an H100, whose memory is slower."""
    bench, baseline, _ = opened
    report = elsewhere(FAULT, device)
    told = draw(bench, "roofline", report, baseline, workload(bench, baseline)).svg
    svg = told.read_text(encoding="utf-8")
    assert device in svg and roof in svg and "H100" not in svg


@needs_cuda
def test_a_baseline_that_was_counted_on_another_gpu_is_not_drawn_beside_a_variant(
    opened: tuple[Workbench, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, baseline, variant_id = opened
    other = elsewhere(REPAIRED, "NVIDIA H200")

    def kept(bench: Workbench, variant_id: str, workload: str) -> Profile | None:
        return FAULT if variant_id == baseline else None

    monkeypatch.setattr(pictures, "kept_profile", kept)
    told = draw(bench, "roofline", other, variant_id, workload(bench, variant_id)).svg
    assert "baseline" not in told.read_text(encoding="utf-8")


@needs_cuda
def test_without_counters_and_time_nothing_can_be_drawn(
    opened: tuple[Workbench, str, str],
) -> None:
    bench, _, variant_id = opened
    with pytest.raises(KernelwrightError, match="neither a measured time nor counters"):
        draw(bench, "roofline", None, variant_id, workload(bench, variant_id))
    with pytest.raises(KernelwrightError, match="counted by ncu"):
        draw(bench, "stalls", None, variant_id, workload(bench, variant_id))


def test_a_report_alone_has_stalls_and_no_roofline(tmp_path: Path) -> None:
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        told = draw(bench, "stalls", FAULT, None, None).svg.read_text(encoding="utf-8")
        assert "the report" in told and "barrier" in told
        with pytest.raises(KernelwrightError, match="variant_id beside report"):
            draw(bench, "roofline", FAULT, None, None)


def test_a_picture_is_drawn_as_png_with_its_text(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="the extra `pictures` is not installed")
    if rendering.font(rendering.PLACES) is None:
        pytest.skip("no font here")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        drawn = draw(bench, "stalls", FAULT, None, None)
    assert drawn.png is not None, drawn.why_no_png
    assert drawn.png == drawn.svg.with_suffix(".png")
    content, svg = drawn.png.read_bytes(), drawn.svg.read_text(encoding="utf-8")
    assert content.startswith(b"\x89PNG")
    silent = re.sub("<text.*?</text>", "", svg)
    assert len(content) > 1.3 * len(rendering.png(silent)), "letters take room"


def test_without_a_font_a_picture_stays_svg_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("resvg_py", reason="the extra `pictures` is not installed")
    monkeypatch.setattr(rendering, "PLACES", (str(tmp_path / "fonts"),))
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        drawn = draw(bench, "stalls", FAULT, None, None)
    assert drawn.svg.exists() and drawn.png is None
    assert "no font is installed" in drawn.why_no_png and "DejaVu" in drawn.why_no_png


def test_a_measured_time_and_declared_work_are_enough_for_a_roofline(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as bench:
        kernel = open_kernel(bench, OpenKernelArguments(spec_path="spec.json"))
        baseline = bench.evaluator.kernel(kernel.kernel_id).baseline
        told = draw(bench, "roofline", None, baseline, "main").svg.read_text(encoding="utf-8")
    assert "measured" in told and "under ncu" not in told
