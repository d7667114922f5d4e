"""Kernels cut out of a module's graph compute what the module computes."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lowered_cases import by_indices, chosen, in_pieces, pieces, places, pools, rounded, running

from kernelwright.analysis.modules.lowering import rows
from kernelwright.analysis.modules.lowering.cutting import Call, Cut, Kernel, cut
from kernelwright.analysis.modules.lowering.loops import C_TYPES, Written, operations_of, written
from kernelwright.analysis.modules.lowering.reference import calls, line, reference_text
from kernelwright.runners.dtypes import DTYPES
from kernelwright.runners.errors import SpecError
from kernelwright.runners.modules.common.graphs import ModuleGraph

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
CASES = (
    "product_and_its_activation",
    "normalised_rows",
    "attention_by_hand",
    "lower_triangle",
    "views_of_all_kinds",
    "folds",
    "left_to_aten",
    "names_of_c",
    "dear_values_of_one_kernel",
    "running_statistics",
    "pools",
    "places_of_the_most",
    "pieces_and_padding",
    "rows_by_their_number",
    "places_by_indices",
    "running_sums",
    "in_pieces",
    "rounded",
)
ALL_KERNELS = ("places_by_indices", "running_sums", "in_pieces", "rounded")


def modules() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """By case a module and its inputs."""
    import torch
    from torch import nn
    from torch.nn import functional

    def of(function: Callable[..., Any]) -> Any:
        class Made(nn.Module):
            def forward(self, *given: Any) -> Any:
                return function(*given)

        return Made()

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.transpose(-2, -1) / 4.0
        mask = torch.ones(6, 6, dtype=torch.bool).tril()
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v

    def views(x: Any) -> Any:
        y = x.permute(2, 0, 1)[1:4, :, ::2].reshape(3, -1)
        return (y.unsqueeze(0) * 2 + x[0, 0, :3].view(1, 3, 1)).flatten(), x.select(1, 1) - 1

    def triangle(a: Any, b: Any) -> Any:
        return torch.tril(a @ b)

    def twice(x: Any) -> Any:
        return functional.silu(x) + functional.silu(x)

    def gated_twice(x: Any, y: Any) -> Any:
        gated = functional.mish(functional.mish(x))
        return torch.where(gated > 0.5, gated * y, y) + torch.tanh(gated)

    def folds(x: Any) -> Any:
        return x.mean() + x.amax(-1, keepdim=True) * x.var(0) - x.amin((0, 2)).sum(), x.prod(1)

    def awkward(k: Any, out: Any) -> Any:
        k = functional.hardswish(k) + torch.where(k.isnan(), 1.0, k)
        return torch.where(k > 0, k.pow(3), out.clamp(-0.5, 0.5) ** 0.5) * 1 + out / 2

    torch.random.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    r = torch.randn
    linear = nn.Sequential(nn.Linear(20, 12), nn.GELU())
    normed = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.LayerNorm(24), nn.Softmax(-1))
    conv = nn.Sequential(nn.Conv2d(2, 3, 3), nn.LeakyReLU(0.1), nn.MaxPool2d(2), nn.Tanh())
    return {
        "product_and_its_activation": (linear, (r(7, 20),)),
        "normalised_rows": (normed, (r(5, 16),)),
        "attention_by_hand": (of(attention), (r(2, 3, 6, 16), r(2, 3, 6, 16), r(2, 3, 6, 8))),
        "lower_triangle": (of(triangle), (r(9, 4), r(4, 9))),
        "views_of_all_kinds": (of(views), (r(4, 3, 5),)),
        "folds": (of(folds), (r(3, 4, 5),)),
        "left_to_aten": (conv, (r(1, 2, 9, 9),)),
        "dear_values_of_one_kernel": (of(gated_twice), (r(6, 5), r(6, 5))),
        "names_of_c": (of(awkward), (r(6).abs(), r(6).abs())),
        "same_twice": (of(twice), (r(8),)),
        "running_statistics": (
            nn.Sequential(nn.BatchNorm2d(3), nn.GroupNorm(1, 3)),
            (r(2, 3, 4, 4),),
        ),
        "pools": (of(pools), (r(2, 3, 9, 8),)),
        "places_of_the_most": (of(places), (r(4, 5, 3),)),
        "pieces_and_padding": (of(pieces), (r(4, 3), r(4, 2))),
        "places_by_indices": (
            of(by_indices),
            (r(6, 4), torch.tensor([[0, 5, 2, 2, -1, -6, 1, 4, 3, 5], [*range(10)]]), r(10, 4)),
        ),
        "running_sums": (of(running), (r(3, 5, 7),)),
        "in_pieces": (of(in_pieces), (r(2, 4, 3, 5),)),
        "rounded": (of(rounded), (r(40), r(40))),
        "rows_by_their_number": (of(chosen), (r(6, 3), torch.tensor([5, 0, 2, 4]), 2.5)),
    }


class Workshop:
    """Cut modules, with all their kernels in one library."""

    def __init__(self, folder: Path) -> None:
        from kernelwright.runners.modules.cutting.graph import graph_of
        from kernelwright.runners.modules.forms.subjects import Loaded

        self.modules, self.cuts = modules(), dict[str, Cut]()
        self.graphs, self.kernels = dict[str, ModuleGraph](), dict[tuple[str, str], Written]()
        for case, (module, inputs) in self.modules.items():
            graph = graph_of(Loaded(module.train(), inputs, "cpu", "test", folder))
            self.graphs[case], self.cuts[case] = graph, cut(graph)
            for step in self.cuts[case].steps:
                if isinstance(step, Kernel):
                    made = written(self.cuts[case], step, f"{case}_{step.name}", "cpp")
                    self.kernels[case, step.name] = made
        text = "\n".join(made.source for made in self.kernels.values())
        (folder / "all.cpp").write_text(f'#include <cmath>\nextern "C" {{\n{_bare(text)}}}\n')
        command = ["g++", "-O1", "-shared", "-fPIC", "-o", "all.so", "all.cpp"]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        self.library = ctypes.CDLL(str(folder / "all.so"))

    def run(self, case: str) -> list[Any]:
        """Outputs of the steps of a module."""
        known = self.known(case)
        return [known[name] for name in self.cuts[case].outputs]

    def known(self, case: str) -> dict[str, Any]:
        """All that its steps compute."""
        import torch

        parts, (module, inputs) = self.cuts[case], self.modules[case]
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        known = dict[str, Any]()
        for node in parts.nodes.values():
            kind, _, where = node.given.partition(" ")
            if kind:
                known[node.name] = inputs[int(where)] if kind == "input" else state[where].detach()
        for step in parts.steps:
            node = parts.nodes[step.name]
            if isinstance(step, Call):
                exec(line(node), {"torch": torch}, known)
                continue
            made = self.kernels[case, step.name]
            known[step.name] = torch.full(node.shape or (), 77).to(getattr(torch, node.dtype))
            given = [known[name].contiguous() for name in made.reads]
            addresses = [ctypes.c_void_p(t.data_ptr()) for t in (*given, known[step.name])]
            getattr(self.library, made.entry)(*addresses)
        return known


def _bare(text: str) -> str:
    return "\n".join(each for each in text.splitlines() if not each.startswith("#")) + "\n"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.mark.parametrize("case", CASES)
def test_kernels_in_their_order_give_the_outputs_of_the_module(
    workshop: Workshop, case: str
) -> None:
    import torch

    module, inputs = workshop.modules[case]
    with torch.no_grad():
        wanted = module(*inputs)
        found = workshop.run(case)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    assert len(found) == len(wanted)
    for got, true in zip(found, wanted, strict=True):
        assert got.shape == true.shape
        assert torch.allclose(got, true, atol=2e-5, rtol=2e-5), (got - true).abs().max()


@pytest.mark.parametrize("case", ALL_KERNELS)
def test_nothing_of_them_is_left_to_aten(workshop: Workshop, case: str) -> None:
    assert not [each for each in workshop.cuts[case].steps if isinstance(each, Call)]


def test_many_places_and_places_named_twice_are_left_to_aten_with_the_reason(
    tmp_path: Path,
) -> None:
    import torch

    from kernelwright.runners.modules.cutting.graph import graph_of
    from kernelwright.runners.modules.forms.subjects import Loaded

    class Puts(torch.nn.Module):
        def forward(self, x: Any, to: Any, brought: Any) -> Any:
            return x.cumsum(0), x.index_copy(0, to, brought)

    x = torch.zeros(200, 2)
    inputs = (x, torch.tensor([1, 1]), torch.ones(2, 2))
    parts = cut(graph_of(Loaded(Puts(), inputs, "cpu", "test", tmp_path)))
    told = [step.why for step in parts.steps if isinstance(step, Call)]
    assert told[0] == "aten.cumsum.default of 200 places: an element would look at each of them"
    assert "may be named twice" in told[1]


def test_what_a_call_leaves_in_the_modules_buffers_is_computed_too(workshop: Workshop) -> None:
    import torch

    parts, (module, inputs) = (
        workshop.cuts["running_statistics"],
        workshop.modules["running_statistics"],
    )
    assert [where for _, where in parts.changed] == [
        "0.running_mean", "0.running_var", "0.num_batches_tracked",
    ]  # fmt: skip
    left = {s.name: s.why for s in parts.steps if isinstance(s, Call)}
    assert left == {parts.changed[2][0]: "a count, a single whole number"}
    before = {name: each.clone() for name, each in module.named_buffers()}
    known = workshop.known("running_statistics")
    module(*inputs)
    for value, where in parts.changed:
        assert torch.allclose(known[value], dict(module.named_buffers())[where])
    module.load_state_dict(before, strict=False)


def test_each_reference_computes_in_float64_what_its_kernel_does(workshop: Workshop) -> None:
    import torch

    case = "normalised_rows"
    parts = workshop.cuts[case]
    for (of, name), made in workshop.kernels.items():
        if of != case:
            continue
        names = dict[str, Any]()
        exec(reference_text(parts, (name,), made.reads), names)
        given = [torch.rand(parts.nodes[r].shape or (), dtype=torch.float64) for r in made.reads]
        truth = names["reference"](*given)
        assert truth.dtype == torch.float64
        single = [t.float().contiguous() for t in given]
        got = torch.empty(parts.nodes[name].shape or ())
        addresses = [ctypes.c_void_p(t.data_ptr()) for t in (*single, got)]
        getattr(workshop.library, made.entry)(*addresses)
        assert torch.allclose(got.double(), truth, atol=1e-5, rtol=1e-5)


def test_a_product_is_one_kernel_with_all_that_is_made_of_it_alone(workshop: Workshop) -> None:
    kernels = [s for s in workshop.cuts["product_and_its_activation"].steps]
    (only,) = kernels
    assert isinstance(only, Kernel) and only.sum == "mm"
    assert operations_of(workshop.cuts["product_and_its_activation"], only) == 7 * 12 * 20


def test_the_first_rows_of_a_large_elementwise_kernel_are_the_kernel_with_another_bound(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "WHOLE", 8)
    monkeypatch.setattr(rows, "PART", 12)
    parts = workshop.cuts["dear_values_of_one_kernel"]
    (only,) = parts.steps
    assert isinstance(only, Kernel)
    found = rows.first_rows(parts, only)
    assert found is not None and (found.some, found.all) == (2, 6)
    some = written(found.cut, only, "k", "cuda", rows.ROWS).source
    every = written(parts, only, "k", "cuda").source
    assert some.replace("ROWS * 5", "30") == every
    host = written(found.cut, only, "k", "cpp", rows.ROWS).source
    assert host.replace("i0 < ROWS", "i0 < 6") == written(parts, only, "k", "cpp").source
    monkeypatch.setattr(rows, "PART", 9)
    assert rows.first_rows(parts, only) is None  # of one row the text has no index of rows


@pytest.mark.parametrize("case", ["product_and_its_activation", "views_of_all_kinds"])
def test_what_needs_more_than_its_own_place_has_no_first_rows(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(rows, "WHOLE", 0)
    parts = workshop.cuts[case]
    last = parts.steps[-1]
    assert isinstance(last, Kernel) and rows.first_rows(parts, last) is None


def test_a_dear_value_that_one_kernel_reads_is_computed_in_it(workshop: Workshop) -> None:
    (only,) = workshop.cuts["dear_values_of_one_kernel"].steps
    assert isinstance(only, Kernel) and only.sum is None


def test_the_same_value_is_computed_once(workshop: Workshop) -> None:
    names = [node.op for node in workshop.cuts["same_twice"].nodes.values()]
    assert names.count("aten.sigmoid.default") == 1


def test_what_no_kernel_is_written_for_is_atens_and_the_rest_is_not(workshop: Workshop) -> None:
    parts = workshop.cuts["left_to_aten"]
    left = [parts.nodes[s.name].op for s in parts.steps if isinstance(s, Call)]
    assert left == ["aten.convolution.default", *left[1:]]
    assert any(isinstance(step, Kernel) for step in parts.steps)
    text = calls(parts, parts.outputs[:1], tuple(parts.stored - set(parts.outputs)))
    assert text[-1].startswith(f"{parts.outputs[0]} = torch.ops.aten.tanh.default(")


def test_cuda_kernels_are_the_same_elements_by_threads(workshop: Workshop) -> None:
    parts = workshop.cuts["product_and_its_activation"]
    (step,) = parts.steps
    assert isinstance(step, Kernel)
    source = written(parts, step, "fused", "cuda").source
    assert source.startswith('extern "C" __global__ void fused(const float* ')
    assert "if (at >= 84) return;" in source and "i0 = at / 12;" in source


def test_cuda_sources_define_what_is_a_header_of_c_elsewhere(workshop: Workshop) -> None:
    parts = workshop.cuts["normalised_rows"]
    kernels = [step for step in parts.steps if isinstance(step, Kernel)]
    texts = [written(parts, step, "part", "cuda").source for step in kernels]
    with_most = [text for text in texts if "fmaxf" in text]
    assert with_most and all("#define INFINITY __int_as_float(" in text for text in with_most)
    assert not any("#" in text for text in texts if text not in with_most)


def test_a_kernels_types_are_those_that_its_spec_is_built_with(tmp_path: Path) -> None:
    same = [f"std::is_same_v<{ours}, {DTYPES[name].cpp}>" for name, ours in C_TYPES.items()]
    asserts = "".join(f"static_assert({each});\n" for each in same)
    (tmp_path / "types.cpp").write_text(f"#include <cstdint>\n#include <type_traits>\n{asserts}")
    command = ["g++", "-std=c++17", "-fsyntax-only", "types.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)


def test_a_forward_that_branches_on_values_is_refused_in_a_sentence(tmp_path: Path) -> None:
    import torch

    from kernelwright.runners.modules.cutting.graph import graph_of
    from kernelwright.runners.modules.forms.subjects import Loaded

    class Branches(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x if float(x.sum()) > 0 else -x

    with pytest.raises(SpecError, match=r"torch\.export cannot follow the module"):
        graph_of(Loaded(Branches(), (torch.ones(3),), "cpu", "test", tmp_path))


def test_large_products_are_a_librarys_and_what_is_made_of_them_is_a_kernel(
    tmp_path: Path,
) -> None:
    import torch
    from torch import nn

    from kernelwright.runners.modules.cutting.graph import graph_of
    from kernelwright.runners.modules.forms.subjects import Loaded

    module = nn.Sequential(nn.Linear(512, 512), nn.ReLU())
    loaded = Loaded(module.train(), (torch.rand(256, 512),), "cpu", "test", tmp_path)
    graph = graph_of(loaded)
    found = {type(s).__name__: s.name for s in cut(graph, libraries=True).steps}
    assert found == {"Call": "mm", "Kernel": "relu"}
    assert [type(s).__name__ for s in cut(graph).steps] == ["Kernel"]
    weight = next(s for s in cut(graph, libraries=True).steps if isinstance(s, Call))
    assert weight.why == "a view, handed on as it lies"  # no copy of the weights is made for it
