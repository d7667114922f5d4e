"""The PTX reader, on what compilers write and on the corners of the language."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_texts import NAMES, kernel, kernel_text, module, text

from kernelwright.analysis.ptx import Frame, Variable, operands, read_ptx
from kernelwright.analysis.regions import overview, region_dag
from kernelwright.runners.errors import SpecError


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_stands_on_the_line_that_it_names(name: str) -> None:
    lines = text(name).split("\n")
    for function in module(name).functions:
        for each in function.instructions:
            assert each.opcode in lines[each.line - 1]


def counted_by_expression(ptx: str) -> Counter[str]:
    """Opcodes of a whole text, found without any reader of ours."""
    code = re.sub(r"//[^\n]*", "", ptx.partition("\n\t.section")[0])
    found = re.findall(r"(?:^|[;{}])\s*(?:@!?%?\w+\s+)?([a-z]\w*(?:\.[\w:]+)*)[^:\w]", code, re.M)
    return Counter(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_plain_expression_counts_the_same_opcodes(name: str) -> None:
    ours = Counter(i.opcode for f in module(name).functions for i in f.instructions)
    found = counted_by_expression(text(name))
    # The expression takes the name of a device function and what a call goes over for opcodes.
    assert {op: found[op] for op in ours} == dict(ours)


def _opcodes_of_pyptx(body: Any) -> Iterator[str]:
    for each in body:
        if type(each).__name__ == "Instruction":
            yield each.opcode + "".join(each.modifiers)
        elif type(each).__name__ == "Block":
            yield from _opcodes_of_pyptx(each.body)


@pytest.mark.skipif(
    importlib.util.find_spec("pyptx") is None, reason="pyptx, the other parser, is not installed"
)
@pytest.mark.parametrize("name", NAMES)
def test_another_parser_counts_the_same_opcodes(name: str) -> None:
    parser: Any = importlib.import_module("pyptx.parser")
    parsed = [d for d in parser.parse(text(name)).directives if type(d).__name__ == "Function"]
    theirs = Counter(op for function in parsed for op in _opcodes_of_pyptx(function.body))
    directives = {op for op in theirs if op.startswith(".")}
    ours = Counter(i.opcode for f in module(name).functions for i in f.instructions)
    assert {op: n for op, n in theirs.items() if op not in directives} == dict(ours)


def test_a_header_says_what_the_kernel_takes_and_how_many_threads_it_has() -> None:
    entry = module("triton_softmax").entries[0]
    assert (entry.name, entry.threads) == ("softmax", 128)
    assert [p.type for p in entry.parameters] == ["u64", "u64", "u32", "u64", "u64"]
    assert module("cub_scan").entries[0].directives["maxntid"] == (128, 1, 1)
    assert module("copy4").version == "9.0"


def test_shared_memory_is_listed_with_its_size() -> None:
    tile = module("transpose").entries[0].variables[0]
    assert (tile.space, tile.type, tile.length) == ("shared", "b8", 32 * 33 * 4)
    outside = module("triton_softmax").variables[0]
    assert outside == Variable("shared", "b8", "global_smem", None, outside.line)


def test_nvcc_s_chain_of_inlined_calls_ends_at_the_kernel_s_own_line() -> None:
    shuffles = [i for i in module("cub_sum").entries[0].instructions if i.stem == "shfl"]
    depths = [len(each.place) for each in shuffles]
    assert depths == [depths[0] + n for n in range(5)]  # a template that calls its next step
    for each in shuffles:
        assert each.place[-1] == Frame("reductions.cu", 55, 5)
        assert each.place[0].file.endswith("warp_reduce_shfl.cuh")
        assert each.place[0].function.startswith("_ZN3cub")


def test_a_step_of_a_recursive_template_is_not_taken_for_its_own_caller() -> None:
    body = """
.loc 1 10 1
.loc 2 5 1, function_name F, inlined_at 1 10 1
.loc 2 5 1, function_name G, inlined_at 2 5 1
add.u32 %r1, %r1, 1;
.loc 2 6 1, function_name G, inlined_at 2 5 1
add.u32 %r1, %r1, 1;
.loc 2 5 1, function_name G, inlined_at 2 5 1
add.u32 %r1, %r1, 1;"""
    files = '.file 1 "kernel.cu"\n.file 2 "steps.h"\n'
    places = [i.place for i in read_ptx(kernel_text(body) + files).entries[0].instructions]
    told = [[(frame.line, frame.function) for frame in place] for place in places]
    outside = [(5, "F"), (10, "")]
    assert told == [[(5, "G"), *outside], [(6, "G"), *outside], [(5, "G"), *outside]]


def test_triton_s_chain_of_inlined_calls_is_read_from_the_comment() -> None:
    found = {i.place for i in module("triton_softmax").entries[0].instructions if len(i.place) > 1}
    assert found
    for place in found:
        assert place[0].file == "triton/language/standard.py"
        assert place[-1].file == "triton_kernels.py"


def test_a_line_of_zero_leaves_the_former_place() -> None:
    body = ".loc 1 7 3\nadd.u32 %r1, %r2, 1;\n.loc 1 0 3\nadd.u32 %r3, %r2, 1;\nret;"
    entry = read_ptx(kernel_text(body) + '.file 1 "a.cu"\n').entries[0]
    assert [i.place for i in entry.instructions] == [(Frame("a.cu", 7, 3),)] * 3


def test_a_nested_scope_keeps_its_names_to_itself() -> None:
    scope = "{ .reg .pred q; WAIT: mov.pred q, 1; @q bra DONE; bra WAIT; DONE: }"
    entry = kernel(f"{scope}\n{scope}\nret;")
    first, second = entry.instructions[1], entry.instructions[4]
    assert operands.branch_target(first) != operands.branch_target(second)
    assert [entry.labels[operands.branch_target(i) or ""] for i in (first, second)] == [3, 6]
    assert operands.name_in_scope(first, first.guard) != operands.name_in_scope(second, "q")
    assert {r.name for r in entry.registers if r.length is None} == {
        operands.name_in_scope(first, "q"),
        operands.name_in_scope(second, "q"),
    }


def test_several_statements_share_a_line_and_one_statement_takes_several() -> None:
    entry = kernel("add.u32 %r1, %r2,\n  /* two\n */ 3; @!%p1 bra L; L: ret; // done;\n")
    assert [i.text for i in entry.instructions] == [
        "add.u32 %r1, %r2, 3;",
        "@!%p1 bra L;",
        "ret;",
    ]
    assert [i.line for i in entry.instructions] == [8, 10, 10]
    assert entry.labels == {"L": 2}


def test_a_branch_table_is_read_with_its_labels() -> None:
    entry = kernel("T: .branchtargets A, B;\nbrx.idx %r1, T;\nA: ret;\nB: ret;")
    assert entry.tables == {"T": ("A", "B")}
    assert operands.branch_target(entry.instructions[0]) == "T"


def test_inline_assembly_is_marked() -> None:
    marked = [i for i in module("triton_matmul").entries[0].instructions if i.asm]
    assert {"cp.async.cg.shared.global"} <= {i.opcode for i in marked}


def test_a_call_is_one_instruction() -> None:
    call = next(i for i in module("calls").entries[0].instructions if i.stem == "call")
    assert call.text == "call.uni (retval0), _Z5norm3fff, ( param0, param1, param2 );"


def test_operands_come_apart() -> None:
    assert operands.split("{%r1, %r2}, [%rd1+16], 0x10, p|q") == (
        "{%r1, %r2}", "[%rd1+16]", "0x10", "p|q",
    )  # fmt: skip
    assert operands.address("[ %rd1 + -16 ]") == ("%rd1", -16)
    assert operands.address("[0x10]") == ("", 16)
    assert operands.address("[%rd1, {%r1, %r2}]") is None
    assert operands.vector("{%r1, %r2}") == ("%r1", "%r2")
    assert (operands.integer("-0x1F"), operands.integer("12U")) == (-31, 12)
    assert operands.floating("0f3F800000") == 1.0
    assert operands.floating("0d3FF8000000000000") == 1.5


@settings(deadline=None)
@given(st.integers(-(2**63), 2**64 - 1))
def test_an_integer_is_read_as_it_is_written(value: int) -> None:
    assert operands.integer(str(value)) == value
    assert operands.integer(hex(value)) == value


WORDS = st.sampled_from(
    (
        *"{ } ; , [ ] %r1 @ bra add.s32 setp shl 0x .loc : // /* bar.sync ² mma.m1n".split(),
        *("", ".reg .b32 t<9>;", ".loc 1 2 3", "9" * 5000),
    )
)


@pytest.mark.parametrize("name", ["cub_sort", "bulk_sum", "triton_matmul_flat", "scan"])
@settings(deadline=None)
@given(st.data())
def test_a_damaged_text_is_read_or_refused_but_never_breaks_the_reader(
    name: str, data: st.DataObject
) -> None:
    words = re.split(r"(\s+)", text(name))
    for _ in range(data.draw(st.integers(1, 3))):
        words[data.draw(st.integers(0, len(words) - 1))] = data.draw(WORDS)
    with suppress(SpecError):
        overview(region_dag("".join(words)))


BROKEN = {
    "nothing": ("", 1),
    "another language": ("int main() { return 0; }", 1),
    "no body's end": (kernel_text("ret;").rstrip("}\n"), 8),
    "half a statement": (kernel_text("add.u32 %r1, %r2").rstrip("}\n"), 8),
    "half a section": (kernel_text("ret;") + ".section .debug_str\n{\n.b8 1\n", 10),
    "half a header": (kernel_text("ret;").partition("\n{")[0], 4),
    "SASS": ("/*0000*/ MOV R1, c[0x0][0x28] ;\n", 1),
    "too many registers in a scope": (kernel_text("{ .reg .b32 t<99999>; }\nret;"), 8),
    "a foreign statement": (kernel_text("ret;\n%r1 = add i32 1, 2;"), 9),
}


@pytest.mark.parametrize("what", BROKEN)
def test_text_that_is_no_whole_module_is_refused_with_the_line(what: str) -> None:
    ptx, line = BROKEN[what]
    with pytest.raises(SpecError, match=rf"line {line}\b") as refused:
        read_ptx(ptx)
    assert refused.value.next_step


@pytest.mark.parametrize("name", ["triton_matmul", "cub_sum", "tma_copy"])
@settings(deadline=None)
@given(share=st.floats(0, 1))
def test_a_kernel_that_was_cut_off_is_never_taken_for_a_whole(name: str, share: float) -> None:
    whole = text(name)
    first, last = whole.index(".entry"), whole.rindex("ret;")
    with pytest.raises(SpecError):
        read_ptx(whole[: first + int((last - first) * share)])
