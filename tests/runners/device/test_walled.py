"""Buffers with nothing around them: what reaches beyond them breaks, what is right stays right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from device_kernels import HEAD, INDEX, THREADS, DeviceBench, N, integer, is_twice, launch, pointer
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.device.cuda_driver import mapping
from kernelwright.runners.device.cuda_driver.faults import DriverFault, OutOfDeviceMemory
from kernelwright.runners.device.walled import WalledShape, places
from kernelwright.runners.protocol.messages import Placement

GRANULE = 2 << 20
EVERY: tuple[Placement, ...] = ("end", "start", "anywhere")
IF = "    if (i < n) y[i] = 2 * x[i];"
SUMMED = 'extern "C" __global__ void twice(float* x, float* y, int n, float* s) {\n'


def reading(where: str) -> str:
    """A kernel that is right, and reads one element that is not its own."""
    return f"{HEAD}{INDEX}    ((volatile float*)x)[i == 0 ? {where} : 0];\n{IF}\n}}\n"


@pytest.mark.parametrize("placement", EVERY)
def test_a_right_kernel_is_right_wherever_its_buffers_lie(
    bench: DeviceBench, placement: Placement
) -> None:
    params = (pointer("x"), pointer("y"), integer("n", N), pointer("s"))
    bench.load(
        "scratch",
        SUMMED + INDEX + "    if (i < n) { s[i] = x[i]; y[i] = s[i] + x[i]; }\n}\n",
        scratch=[("s", 4 * N)],
        steps=[launch("twice", -(-N // THREADS), *params)],
    )
    results, rows = bench.check("scratch", (0, 1, 0), placement=placement)
    assert is_twice(bench, results, rows)
    assert results[0].digest == results[2].digest


@pytest.mark.parametrize(
    ("where", "placement", "words"),
    [
        ("n", "end", "it reached behind the end of a buffer"),
        ("-1", "start", "it reached before the start of a buffer"),
    ],
)
def test_a_load_beyond_a_buffer_breaks_where_nothing_lies_there(
    bench: DeviceBench, where: str, placement: Placement, words: str
) -> None:
    bench.load("reaches", reading(where))
    unseen, rows = bench.check("reaches")
    assert is_twice(bench, unseen, rows)
    results, _ = bench.check("reaches", placement=placement)
    assert [r.fault_kind for r in results] == ["crashed"]
    assert "illegal address" in results[0].fault and words in results[0].fault
    assert bench.works()


@pytest.mark.parametrize(
    ("where", "placement", "words"),
    [
        ("y[n]", "start", "byte 1 behind the end of `y`"),
        ("y[-1]", "end", "byte 1 before the start of `y`"),
    ],
)
def test_a_store_beside_a_buffer_is_found_where_its_memory_goes_on(
    bench: DeviceBench, where: str, placement: Placement, words: str
) -> None:
    bench.load("bad", f"{HEAD}{INDEX}{IF}\n    if (i == 0) {where} = 1;\n}}\n")
    results, _ = bench.check("bad", placement=placement)
    assert [r.overrun for r in results] == [words, words]
    assert bench.works()


def test_what_lies_in_a_guard_band_and_is_put_back_is_seen_where_there_is_none(
    bench: DeviceBench,
) -> None:
    borrows = (
        "    __shared__ float kept;\n    if (i == 0) { volatile float* band = y + n; kept = *band;"
        " *band = x[0]; y[0] = 2 * *band; *band = kept; return; }\n"
    )
    bench.load("borrows", HEAD + INDEX + borrows + IF + "\n}\n")
    results, rows = bench.check("borrows")
    assert is_twice(bench, results, rows)
    results, _ = bench.check("borrows", placement="end")
    assert [r.fault_kind for r in results] == ["crashed"]
    assert bench.works()


BUFFERS = st.lists(
    st.tuples(st.integers(0, 3 * GRANULE), st.sampled_from([1, 4, 16, 256, 4096])), max_size=6
)


@given(BUFFERS, st.sampled_from(EVERY))
def test_each_buffer_lies_in_memory_of_its_own_aligned_as_promised(
    sizes: list[tuple[int, int]], placement: Placement
) -> None:
    buffers = [(f"b{i}", nbytes, align) for i, (nbytes, align) in enumerate(sizes)]
    found, total = places(buffers, placement, GRANULE)
    assert [place.name for place in found] == [name for name, _, _ in buffers]
    end = 0
    for place in sorted(found, key=lambda each: each.piece):
        start, size = place.piece
        assert start >= end + GRANULE, "nothing lies between two pieces, or before the first"
        assert start % GRANULE == size % GRANULE == 0
        end = start + size
    assert not found or total >= end + GRANULE
    for place, (_, nbytes, align) in zip(found, buffers, strict=True):
        start, size = place.piece
        before, behind = place.start - start, start + size - place.start - nbytes
        assert before >= 0 and behind >= 0 and place.start % align == 0
        assert placement != "end" or behind < align
        assert placement != "start" or before == 0
        assert size <= nbytes + 2 * GRANULE


def test_order_distances_and_offsets_are_drawn() -> None:
    buffers = [(name, 1000, 16) for name in "abcd"]
    orders, apart, offsets = set[str](), set[int](), set[int]()
    for _ in range(64):
        found, _ = places(buffers, "anywhere", GRANULE)
        by_place = sorted(found, key=lambda each: each.start)
        orders.add("".join(each.name for each in by_place))
        apart.add(by_place[1].start - by_place[0].start)
        offsets.add(found[0].start - found[0].piece[0])
    assert min(len(orders), len(apart), len(offsets)) > 8


def test_memory_around_a_buffer_is_all_told_by_its_guards() -> None:
    buffers = [("a", 1000, 16), ("b", 5 * GRANULE, 256)]
    shape = WalledShape(*places(buffers, "anywhere", GRANULE), "anywhere")
    addresses, guards = shape.addresses(0, 0), shape.guards(0, 0)
    for (name, nbytes, _), (start, size), before, behind in zip(
        buffers, shape.spans(0, 0), guards[::2], guards[1::2], strict=True
    ):
        assert before == (start, addresses[name] - start)
        assert behind == (addresses[name] + nbytes, start + size - addresses[name] - nbytes)


@pytest.mark.parametrize("fails", ["cuMemCreate", "cuMemMap", "cuMemSetAccess"])
def test_where_memory_cannot_be_had_nothing_of_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    held, calls = list[object](), list[str]()

    def call(name: str, *args: Any) -> Any:
        calls.append(name)
        if name == fails and calls.count(name) == 2:
            raise OutOfDeviceMemory("CUDA_ERROR_OUT_OF_MEMORY", name)
        answers: dict[str, Callable[[], Any]] = {
            "cuMemAddressReserve": lambda: held.append("addresses") or GRANULE,
            "cuMemCreate": lambda: held.append(f"memory {len(calls)}") or held[-1],
            "cuMemMap": lambda: held.append(args[0]),
            "cuMemUnmap": lambda: held.remove(args[0]),
            "cuMemRelease": lambda: held.remove(args[0]),
            "cuMemAddressFree": lambda: held.remove("addresses"),
        }
        return answers.get(name, lambda: None)()

    monkeypatch.setattr(mapping, "call", call)
    for made in ("_memory_of", "_access_of"):
        monkeypatch.setattr(mapping, made, id)
    pieces = [(GRANULE * at, GRANULE) for at in (1, 3, 5)]
    with pytest.raises(DriverFault):
        mapping.Mapped(8 * GRANULE, pieces)
    assert held == []
    if fails == "cuMemCreate":
        calls.clear()
        made = mapping.Mapped(2 * GRANULE, pieces[:1])
        assert len(held) == 3 and made.pieces == ((2 * GRANULE, GRANULE),)
        made.release()
        assert held == []
