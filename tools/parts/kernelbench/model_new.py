"""The ModelNew of a problem: its own class with a forward of kernels, as one file.

The class stays as it is but for `forward`, as their harness makes its weights from a seed: the same
submodules in the same order. Kernels are compiled by `load_inline` and called by address.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....analysis.modules.lowering.cutting import Call, Cut, Kernel
from ....analysis.modules.lowering.reference import calls, line
from ....analysis.modules.lowering.views import is_view
from ....runners.c_source.comments import without_comments
from ....runners.modules.common.graphs import GraphNode, ModuleGraph

NEW, OLD = "ModelNew", "Model"
LEFT_OUT = ("get_inputs", "get_init_inputs")
Launch = tuple[tuple[int, int, int], tuple[int, int, int], int]
HELPERS = '''
def _built(name, sources, flags):
    """The shared library of a kernel, compiled where it was not."""
    kinds = {"extra_cuda_cflags" if "cuda_sources" in sources else "extra_cflags": flags}
    linked = [flag for flag in flags if flag == "-fopenmp"]
    path = load_inline(
        name, functions=None, no_implicit_headers=True, is_python_module=False,
        extra_ldflags=linked, **sources, **kinds,
    )
    return ctypes.CDLL(path)


def _function(library, name, count):
    """A kernel that takes that many addresses."""
    function = getattr(library, name)
    function.argtypes, function.restype = [ctypes.c_void_p] * count, None
    return function
'''


@dataclass(frozen=True)
class Winner:
    """The kernel that writes a value, as it is to be compiled and launched."""

    entry: str
    source: str
    flags: tuple[str, ...]
    reads: tuple[str, ...]
    launch: Launch | None = None
    """of CUDA: grid, block, bytes of dynamic shared memory"""


def model_new(
    problem: str,
    title: str,
    graph: ModuleGraph,
    cut: Cut,
    winners: Mapping[str, Winner],
    without: Collection[str] = (),
) -> str:
    """The file. `winners`: by the value that they write; the rest, and what is in `without`, is
    left to ATen."""
    used = {name: each for name, each in winners.items() if name not in without}
    tree = _without_words(ast.parse(problem))
    forward = ast.parse("\n".join(_forward(graph, cut, used))).body[0]
    body = [_renamed(each, forward) for each in tree.body if _is_kept(each)]
    own = "\n\n\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in body)
    kernels = [_compiled(each) for each in used.values()]
    imports = "import ctypes\n\nimport torch\nfrom torch.utils.cpp_extension import load_inline\n"
    head = f'"""{title}"""\n\n{imports if used else "import torch"}'
    parts = [head, *([HELPERS.strip("\n")] if used else []), *kernels, own]
    return "\n\n".join(parts) + "\n"


def _is_kept(statement: ast.stmt) -> bool:
    return not (isinstance(statement, ast.FunctionDef) and statement.name in LEFT_OUT)


def _renamed(statement: ast.stmt, forward: ast.stmt) -> ast.stmt:
    """`Model` by its new name, with a new forward."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id == OLD:
            node.id = NEW
    if isinstance(statement, ast.ClassDef) and statement.name == OLD:
        statement.name = NEW
        kept = [e for e in statement.body if getattr(e, "name", "") != "forward"]
        statement.body = [*kept, forward]
    return statement


def _without_words(tree: ast.Module) -> ast.Module:
    """Without what says nothing to Python, docstrings and `pass`: their checker reads words."""
    for node in ast.walk(tree):
        body: Any = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [each for each in cast("list[ast.AST]", body) if not _says_nothing(each)]
            node.body = kept or [ast.Expr(ast.Constant(...))]  # pyright: ignore[reportAttributeAccessIssue]
    return tree


def _says_nothing(statement: ast.AST) -> bool:
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Pass)


def _compiled(winner: Winner) -> str:
    source = without_comments(winner.source.encode()).decode()
    source = "\n".join(line.rstrip() for line in source.splitlines() if line.strip())
    return "\n".join(
        (
            f"{winner.entry} = _function(",
            f'    _built("{winner.entry}", {{',
            *_sources(winner, source),
            f"    }}, {list(winner.flags)!r}),",
            f'    "call_{winner.entry}", {len(winner.reads) + 1 + (winner.launch is not None)},',
            ")",
        )
    )


def _sources(winner: Winner, source: str) -> list[str]:
    count = len(winner.reads) + 1
    parameters = [f"const void* a{n}" for n in range(count - 1)] + [f"void* a{count - 1}"]
    if winner.launch is None:
        given = ", ".join(f"(P{n})a{n}" for n in range(count))
        caller = _caller(winner.entry, count, parameters, f"call({given})")
        return [f'        "cpp_sources": r"""{source}\n{caller}"""']
    grid, block, shared = winner.launch
    launch = (
        f"{winner.entry}<<<dim3{grid}, dim3{block}, {shared}, (cudaStream_t)stream>>>"
        f"({', '.join(f'(P{n})a{n}' for n in range(count))})"
    )
    if shared > 48 * 1024:
        launch = (
            f"cudaFuncSetAttribute({winner.entry}, cudaFuncAttributeMaxDynamicSharedMemorySize, "
            f"{shared}); {launch}"
        )
    caller = _caller(winner.entry, count, [*parameters, "void* stream"], launch)
    return [
        '        "cpp_sources": "",',
        f'        "cuda_sources": r"""#include <cuda_runtime.h>\n{source}\n{caller}""",',
        '        "with_cuda": True,',
    ]


def _caller(entry: str, count: int, parameters: Sequence[str], call: str) -> str:
    """A function of C that hands addresses on as the types that the kernel takes them for."""
    types = ", ".join(f"typename P{n}" for n in range(count))
    takes = ", ".join(f"P{n}" for n in range(count))
    names = ", ".join(f"a{n}" for n in range(count))
    more = ", stream" if len(parameters) > count else ""
    call = call.replace("call(", "kernel(").replace(f"{entry}<<<", "kernel<<<")
    return (
        f"template <{types}> static void hand_on(void (*kernel)({takes}), "
        f"{', '.join(parameters)}) {{ {call}; }}\n"
        f'extern "C" void call_{entry}({", ".join(parameters)}) '
        f"{{ hand_on({entry}, {names}{more}); }}\n"
    )


def _forward(graph: ModuleGraph, cut: Cut, winners: Mapping[str, Winner]) -> list[str]:
    """The new forward: what it is given, then step by step, then what it returns."""
    lines = ["def forward(self, *given):"]
    first = next((n for n in cut.nodes.values() if n.given.startswith("input")), None)
    for node in cut.nodes.values():
        if node.given and (node.shape is not None):
            lines.append(f"    {node.name} = {_given(node)}")
            if node.given.startswith("input"):
                lines += [
                    f"    if {node.name}.shape != {node.shape!r}:",
                    f"        raise ValueError('made for inputs of shape {list(node.shape)}')",
                ]
    device = "" if first is None else f"{first.name}.device"
    on_gpu = any(each.launch is not None for each in winners.values())
    if on_gpu:
        lines.append("    stream = torch.cuda.current_stream().cuda_stream")
    for step in cut.steps:
        lines += [f"    {each}" for each in _step(step, cut, winners, device)]
    lines += [f"    {_state(where)}.copy_({name})" for name, where in cut.changed]
    told = ", ".join(cut.outputs)
    return [*lines, f"    return {told}" if graph.one_output else f"    return ({told},)"]


def _given(node: GraphNode) -> str:
    kind, _, where = node.given.partition(" ")
    if kind == "input":
        return f"given[{where}].contiguous()"
    return _state(where) if node.contiguous else f"{_state(where)}.contiguous()"


def _state(where: str) -> str:
    """`self.layers[0].weight`, of `layers.0.weight`."""
    parts = where.split(".")
    return "self" + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts)


def _step(step: Kernel | Call, cut: Cut, winners: Mapping[str, Winner], device: str) -> list[str]:
    node = cut.nodes[step.name]
    if isinstance(step, Call):
        lines = [line(node)]
        made = not any(isinstance(each, dict) and "node" in each for each in node.args)
        if made and device:
            lines = [f"{lines[0][:-1]}, device={device})"]
        if node.shape is not None and not is_view(node):
            lines.append(f"{node.name} = {node.name}.contiguous()")
        return lines
    winner = winners.get(step.name)
    if winner is None:
        stored = [name for name in cut.stored if name != step.name]
        return [*calls(cut, (step.name,), stored), f"{step.name} = {step.name}.contiguous()"]
    given = [f"{name}.data_ptr()" for name in (*winner.reads, step.name)]
    given += ["stream"] if winner.launch is not None else []
    return [
        f"{step.name} = torch.empty({node.shape!r}, dtype=torch.{node.dtype}, device={device})",
        f"{winner.entry}({', '.join(given)})",
    ]
