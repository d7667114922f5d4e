"""What single opcodes do: phases, bytes, FLOPs, results."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from ptx_texts import NAMES, kernel, module, text

from kernelwright.analysis.ptx.effects import Phase, effect
from kernelwright.analysis.ptx.registers import accesses

PHASES = {
    "ld.global.nc.L1::evict_first.v4.b32": Phase.global_load,
    "ld.volatile.global.u32": Phase.global_load,
    "ld.f32": Phase.global_load,
    "st.global.b32": Phase.global_store,
    "ld.volatile.shared.f32": Phase.shared,
    "ld.relaxed.cluster.shared::cluster.b32": Phase.shared,
    "st.shared::cta.b64": Phase.shared,
    "st.local.b32": Phase.local,
    "ld.param.u64": Phase.address,
    "ld.const.f32": Phase.address,
    "atom.shared.add.u32": Phase.atomic,
    "red.global.add.f32": Phase.atomic,
    "cp.async.ca.shared.global": Phase.async_copy,
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes": Phase.async_copy,
    "cp.async.wait_all": Phase.sync,
    "cp.async.mbarrier.arrive.noinc.shared.b64": Phase.sync,
    "mbarrier.try_wait.parity.shared::cta.b64": Phase.sync,
    "fence.proxy.async": Phase.sync,
    "membar.gl": Phase.sync,
    "barrier.cluster.wait.acquire": Phase.sync,
    "bar.warp.sync": Phase.sync,
    "shfl.sync.bfly.b32": Phase.exchange,
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": Phase.tensor,
    "wgmma.commit_group.sync.aligned": Phase.tensor,
    "tcgen05.mma.cta_group::1.kind::f16": Phase.tensor,
    "ex2.approx.ftz.f32": Phase.special,
    "div.rn.f32": Phase.special,
    "div.s32": Phase.address,
    "add.s64": Phase.address,
    "mad.lo.s32": Phase.address,
    "setp.lt.f32": Phase.compute,
    "setp.lt.s32": Phase.address,
    "cvt.rn.f16x2.f32": Phase.compute,
    "cvt.u64.u32": Phase.address,
    "selp.b32": Phase.address,
    "bra.uni": Phase.address,
    "call.uni": Phase.call,
}


@pytest.mark.parametrize("opcode", PHASES)
def test_an_opcode_has_its_phase(opcode: str) -> None:
    assert effect(opcode).phase is PHASES[opcode]


BYTES = {
    "ld.global.b8": 1,
    "ld.global.v2.f64": 16,
    "ld.global.v4.b32": 16,
    "ld.global.v8.b32": 32,
    "ld.global.L2::128B.v2.bf16x2": 8,
    "st.shared.v4.u16": 8,
    "ld.global.b128": 16,
    "atom.global.add.v2.f32": 8,
    "atom.global.add.noftz.f16x2": 4,
    "tex.2d.v4.f32.s32": 16,
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": 16,  # 4 matrices of 8 x 8 x 2 bytes, 32 threads
    "stmatrix.sync.aligned.m8n8.x1.shared.b16": 4,
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16": 16,
    "wmma.load.b.sync.aligned.col.m32n8k16.shared.f16": 8,
    "wmma.store.d.sync.aligned.row.m16n16k16.global.f32": 32,
}


@pytest.mark.parametrize("opcode", BYTES)
def test_an_access_moves_its_bytes(opcode: str) -> None:
    assert effect(opcode).nbytes == BYTES[opcode]


FLOPS = {
    "fma.rn.f32": ("fma.f32", 2),
    "fma.rn.f16x2": ("fma.f16", 4),
    "fma.rn.bf16x2": ("fma.bf16", 4),
    "fma.rn.f32x2": ("fma.f32", 4),
    "mad.f64": ("fma.f64", 2),
    "add.ftz.f32": ("add.f32", 1),
    "sub.f16x2": ("add.f16", 2),
    "mul.f64": ("mul.f64", 1),
    "max.f32": ("", 0),
    "rsqrt.approx.f32": ("special", 1),
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": ("tensor.f16.m16n8k16", 2 * 16 * 8 * 16),
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64": ("tensor.f64.m8n8k4", 2 * 8 * 8 * 4),
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32": ("tensor.s8.m16n8k32", 2 * 16 * 8 * 32),
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32": ("tensor.f16.m16n16k16", 2 * 16 * 16 * 16),
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16": (
        "tensor.f16.m64n128k16",
        2 * 64 * 128 * 16,
    ),
    "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3": (
        "tensor.e4m3.m64n256k32",
        2 * 64 * 256 * 32,
    ),
}


@pytest.mark.parametrize("opcode", FLOPS)
def test_an_operation_counts_its_flops(opcode: str) -> None:
    kind, flops = FLOPS[opcode]
    found = effect(opcode)
    assert found.kind == kind
    assert found.flops * found.row.together == flops  # of a thread, a warp or a warpgroup


ACCESSES = {
    "add.s32 %r1, %r2, %r3;": ("r1", "r2 r3"),
    "@!%p1 mov.b32 %r1, 7;": ("r1", "p1"),
    "st.global.v2.b32 [%rd1+8], {%r1, %r2};": ("", "rd1 r1 r2"),
    "ld.global.v2.b32 {%r1, %r2}, [%rd1];": ("r1 r2", "rd1"),
    "setp.lt.s32 %p1|%p2, %r1, %r2;": ("p1 p2", "r1 r2"),
    "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;": ("r1 p1", "r2"),
    "atom.global.add.u32 _, [%rd1], %r2;": ("", "rd1 r2"),
    "mov.b64 {%r1, _}, %rd1;": ("r1", "rd1"),
    "bar.sync %r1;": ("", "r1"),
    "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;": ("", "r1 rd1 r2"),
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1;": (
        "f1 f2 f3 f4",
        "f1 f2 f3 f4 rd1 rd2 p1",
    ),
    "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;": ("p1", "r1 r2"),
    "call.uni (param0), %rd1, (param1);": ("", "rd1"),
}


@pytest.mark.parametrize("statement", ACCESSES)
def test_a_statement_writes_and_reads_its_registers(statement: str) -> None:
    instruction = kernel(statement).instructions[0]
    written, read = accesses(instruction, effect(instruction.opcode))
    expected = [[f"%{each}" for each in found.split()] for found in ACCESSES[statement]]
    assert [written, read] == expected


def test_registers_of_a_scope_are_told_apart_from_those_outside() -> None:
    scope = "{ .reg .b32 t; .reg .pred q; mov.b64 {t, %r1}, %rd1; @q st.shared.b32 [t], %r1; }"
    first, second = kernel(scope).instructions
    inside, seen = accesses(first, effect(first.opcode))
    assert (inside[1], seen) == ("%r1", ["%rd1"])
    assert accesses(second, effect(second.opcode)) == ([], [inside[0], "%r1", second.names["q"]])  # type: ignore[index]


@pytest.mark.parametrize("name", NAMES)
def test_every_register_that_is_read_is_written_or_special(name: str) -> None:
    for function in module(name).functions:
        both = [accesses(i, effect(i.opcode)) for i in function.instructions]
        written = {register for into, _ in both for register in into}
        read = {register for _, out_of in both for register in out_of}
        special = re.compile(
            r"%(n?tid|n?ctaid|laneid|warpid|globaltimer|cluster_\w+|is_explicit_cluster)$"
        )
        unknown = {r for r in read - written if not special.match(r)}
        assert not unknown


@pytest.mark.parametrize("name", NAMES)
def test_tensor_barrier_and_atomic_instructions_are_all_recognised(name: str) -> None:
    code = re.sub(r"//[^\n]*", "", text(name).partition("\n\t.section")[0])
    said = Counter(effect(i.opcode).phase for f in module(name).functions for i in f.instructions)
    atomics = re.findall(r"\b(?:atom|red)\.\w", code)
    tensor = re.findall(r"\b(?:wgmma\.(?:mma|fence|commit)|mma\.sync|wmma\.mma)", code)
    syncs = re.findall(
        r"(?<!wgmma\.)(?<!\w)(?:bar|barrier|mbarrier|fence|membar)\.\w"
        r"|\.wait_group|\.wait_all|nanosleep\.",
        code,
    )
    assert said[Phase.atomic] == len(atomics)
    assert said[Phase.tensor] == len(tensor)
    assert said[Phase.sync] == len(syncs)
