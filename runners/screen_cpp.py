"""The static screen of C++ and CUDA C++: names that are not the source's own.

A name that the source declares itself (`float time`), a member (`p->time`) or a declaration
does not count: a name counts where it is called, qualified, or used without being the
source's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .normalise import parse_cpp
from .screen_findings import Finding, ScreenTier

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is looked for, as a regular expression over whole identifiers."""

    pattern: str
    tier: ScreenTier
    reason: str
    member: bool = False
    """a method, found where it is called as one"""


HOST_CPP: tuple[Row, ...] = (
    Row(r"clock|clock_gettime|gettimeofday|time|ftime|times|getrusage", "block", "reads a clock"),
    Row(r"steady_clock|system_clock|high_resolution_clock|omp_get_wtime", "block", "reads a clock"),
    Row(r"_*rdtscp?|__builtin_ia32_rdtscp?|_*rdpmc", "block", "reads a clock"),
    Row(r"system|popen|exec[lv]p?e?|execve(at)?|v?fork|posix_spawnp?", "block", "starts a program"),
    Row(r"dlopen|dlsym|dlmopen|dl_iterate_phdr", "block", "loads code at run time"),
    Row(r"syscall|ptrace|process_vm_(read|write)v|prctl|kill|tgkill", "block", "calls the kernel"),
    Row(r"socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?", "block", "network"),
    Row(r"f?open(at)?|creat|freopen|i?o?fstream|shm_open|memfd_create", "block", "opens files"),
    Row(r"_?exit|quick_exit|abort|longjmp|raise", "block", "ends the process"),
    Row(r"getenv|secure_getenv|environ", "block", "looks at its environment"),
    Row(r"sig(nal|action|procmask)|atexit|on_exit|constructor", "block", "runs outside its call"),
    Row(r"daemon", "block", "leaves a process behind"),
    Row(r"detach", "block", "leaves threads behind", member=True),
    Row(r"mprotect|mmap|munmap|mremap", "note", "changes the memory map"),
    Row(r"asm|__asm__|__asm", "note", "inline assembly is not looked into"),
    Row(r"static|thread_local", "note", "may keep state between calls"),
    Row(r"printf|puts|cout|cerr", "note", "prints"),
    Row(r"_Float16|__fp16|__bf16|half", "note", "computes in a narrow type"),
)
CUDA: tuple[Row, ...] = (
    Row(r"cudaLaunchDevice\w*|cudaGetParameterBuffer\w*", "block", "launches kernels on its own"),
    Row(r"clock(64)?|__globaltimer\w*|globaltimer\w*", "note", "reads a clock"),
    Row(r"__nanosleep", "note", "waits"),
    Row(r"__trap|__brkpt|assert|__assert_fail", "note", "may stop everything on the GPU"),
    Row(r"asm|__asm__|__asm", "note", "inline PTX is not looked into"),
    Row(r"v?printf", "note", "prints"),
    Row(r"malloc|free", "note", "allocates on the device's heap"),
    Row(r"__(sin|cos|tan|exp|exp10|log|log2|log10|pow|fdivide)f", "note", "approximates"),
    Row(
        r"half2?|__half\w*|(__)?nv_bfloat16\w*|__nv_fp8\w*|__nv_fp4\w*|tf32",
        "note",
        "computes in a narrow type",
    ),
)
"""Its host code never runs, and device code can reach no file and no process."""
SCREENS: Mapping[str, tuple[Row, ...]] = {"cpp": HOST_CPP, "cuda": CUDA}
_WORD = re.compile(rb"(?P<before>(?:->|\.|::)?\s*)\b(?P<word>[A-Za-z_]\w*)(?P<call>\s*\()?")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"|//.*|/\*.*?\*/', re.DOTALL)
_NAMES = frozenset("identifier type_identifier namespace_identifier primitive_type".split())
_WORDS = frozenset("static thread_local asm __asm__ __asm".split())
_DECLARATORS = frozenset(
    "pointer_declarator reference_declarator array_declarator parenthesized_declarator "
    "init_declarator function_declarator attributed_declarator structured_binding_declarator "
    "variadic_declarator".split()
)
_TYPES = frozenset(
    "struct_specifier class_specifier union_specifier enum_specifier alias_declaration "
    "enumerator type_parameter_declaration namespace_definition".split()
)
_MACROS = frozenset({"preproc_def", "preproc_function_def"})

How = Literal["called", "qualified", "member", "attribute", "used"]


@dataclass(frozen=True, slots=True)
class Use:
    """A name in a source, how it occurs there, and the line (from 1)."""

    name: str
    how: How
    line: int


@dataclass(slots=True)
class _Own:
    """The names that a source gives to things of its own."""

    names: set[str]
    functions: set[str]

    def explains(self, use: Use) -> bool:
        """Whether that use means a thing of the source itself."""
        if use.how == "called":
            return use.name in self.functions
        return use.how == "used" and use.name in self.names


def cpp_findings(source: str, rows: Sequence[Row]) -> list[Finding]:
    """What a source names of these rows, in order."""
    return [
        Finding(row.tier, use.line, use.name, row.reason)
        for use in foreign_names(source)
        for row in rows
        if (use.how == "member") is row.member and re.fullmatch(row.pattern, use.name)
    ]


def foreign_names(source: str) -> list[Use]:
    """Names in C++ or CUDA source that are not its own; macro bodies count as well."""
    uses, own = list[Use](), _Own(set(), set())
    pending = [parse_cpp(source.encode()).root_node]
    while pending:
        node = pending.pop()
        if node.type == "preproc_arg":
            uses += _in_macro(node)
        elif node.type in _WORDS:
            uses.append(Use(_text(node), "attribute", node.start_point.row + 1))
        elif node.type in _NAMES:
            _sort(node, uses, own)
        elif node.type == "field_identifier" and _followed_by_call(node):
            uses.append(Use(_text(node), "member", node.start_point.row + 1))
        pending.extend(reversed(node.children))
    return [use for use in uses if not own.explains(use)]


def _sort(node: Node, uses: list[Use], own: _Own) -> None:
    """A name declares a thing of the source, or uses one that may be somebody else's."""
    name, parent = _text(node), node.parent
    if parent is not None and parent.type in _MACROS and _is_field(parent, "name", node):
        own.names.add(name)
        own.functions.add(name)
        return
    if parent is not None and (
        parent.type == "preproc_params"
        or (parent.type in _TYPES and _is_field(parent, "name", node) and _has_body(parent))
    ):
        own.names.add(name)
        return
    declared = _declaration(node)
    if declared is None:
        uses.append(Use(name, _how(node), node.start_point.row + 1))
    elif declared != "foreign":
        own.names.add(name)
        if declared == "function":
            own.functions.add(name)


def _declaration(node: Node) -> Literal["variable", "function", "foreign"] | None:
    """What the declarator around a name declares; None: the name is not what is declared.

    A prototype and an `extern` variable are foreign: the thing itself is elsewhere.
    """
    inner, parent, is_function, value = node, node.parent, False, None
    while parent is not None and parent.type in _DECLARATORS:
        if parent.child_by_field_name("declarator") not in (None, inner):
            return None
        if parent.type == "array_declarator" and _is_field(parent, "size", inner):
            return None
        if parent.type == "init_declarator":
            value = parent.child_by_field_name("value")
        is_function = is_function or parent.type == "function_declarator"
        inner, parent = parent, parent.parent
    if parent is None:
        return None
    if parent.type == "lambda_capture_initializer" and parent.child(0) == inner:
        return "variable"
    if inner not in parent.children_by_field_name("declarator"):
        return None
    if parent.type == "function_definition":
        return "function"
    if parent.type == "declaration":
        words = {_text(c) for c in parent.children if c.type == "storage_class_specifier"}
        if is_function or ("extern" in words and value is None):
            return "foreign"
    return "function" if value is not None and value.type == "lambda_expression" else "variable"


def _how(node: Node) -> How:
    parent: Node | None = node.parent
    if parent is not None and parent.type == "qualified_identifier":
        return "qualified"
    above = parent
    for _ in range(4):
        if above is not None and above.type.startswith("attribute"):
            return "attribute"
        above = above.parent if above is not None else None
    return "called" if _followed_by_call(node) else "used"


def _followed_by_call(node: Node) -> bool:
    following: Node | None = node
    while following is not None and following.next_sibling is None:
        following = following.parent
    text = following.next_sibling.text if following and following.next_sibling else None
    return (text or b"").startswith(b"(")


def _in_macro(node: Node) -> Iterator[Use]:
    for found in _WORD.finditer(_TEXT.sub(b" ", node.text or b"")):
        before = found["before"].strip()
        how: How = "called" if found["call"] else "used"
        if before == b"::":
            how = "qualified"
        elif before:
            how = "member"
        yield Use(found["word"].decode("utf-8", "replace"), how, node.start_point.row + 1)


def _is_field(parent: Node, field: str, node: Node) -> bool:
    return parent.child_by_field_name(field) == node


def _has_body(node: Node) -> bool:
    specifier = node.type.endswith("_specifier")
    return not specifier or node.child_by_field_name("body") is not None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
