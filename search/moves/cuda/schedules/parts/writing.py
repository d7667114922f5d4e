"""How a schedule's text becomes a source and a plan: another kernel under the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ......analysis.lift.expressions import Call, Expr, Name, Number, Sum
from ......analysis.lift.statements import Scatter, Store, statements_in
from ......runners.c_source.nodes import top_of
from ......runners.specs.declared_plan_model import LaunchStep
from ....shared.edits import Edit, edited
from ....shared.lifted.c_expressions import Unwritable
from ...parts.reading import arguments_of, plan_json
from .c_text import TYPES, Writer
from .plain import WRITTEN, Plain


def parameters(plain: Plain, written: frozenset[str]) -> list[str]:
    """Declarations of the parameters, those that are added among them; no two arrays overlap."""
    found = list[str]()
    for each in plain.lifted.arguments:
        if each.array:
            const = "" if each.name in written else "const "
            found.append(f"{const}{TYPES[each.dtype]}* __restrict__ {each.name}")
        else:
            found.append(f"{TYPES[each.dtype]} {each.name}")
    return [*found, *(f"int {name}" for name in plain.added)]


def handed(plain: Plain) -> str:
    """The parameters as arguments of a call with the same ones."""
    return ", ".join([*(each.name for each in plain.lifted.arguments), *plain.added])


def source_with(
    plain: Plain, told: str, prelude: str, declared: Sequence[str], body: str, bounds: str = ""
) -> str:
    """The source with the kernel's definition replaced; what stands around it stays.

    `told`: the comment over it; `prelude`: device functions before it; `bounds`: threads of its
    `__launch_bounds__`.
    """
    function = plain.function
    top = top_of(function.node)
    bounded = f" __launch_bounds__({bounds})" if bounds else ""
    head = f"__global__ void{bounded} {function.name}({', '.join(declared)})"
    inner = body.strip("\n")
    definition = f"{head} {{\n{inner}\n}}"
    before = "\n\n".join([*plain.tables.definitions, prelude.strip("\n")])
    first = f"{before}\n\n{WRITTEN}{told}\n"
    return edited(
        plain.source,
        [
            Edit(top.start_byte, top.start_byte, first),
            Edit(function.node.start_byte, function.node.end_byte, definition),
        ],
    )


def plan_with(
    plain: Plain,
    grid: Sequence[int | str],
    block: Sequence[int | str],
    *,
    defines: Mapping[str, int] | None = None,
    more: Sequence[dict[str, Any]] = (),
    buffers: Mapping[str, dict[str, Any]] | None = None,
    extra: Sequence[Any] = (),
) -> dict[str, Any]:
    """The plan with this launch in place of the old one; `more`: steps right behind it; `extra`:
    further arguments of the launch."""
    args: dict[str, Any] = {}
    if plain.added or extra or plain.launch.args is not None:
        given = [_dumped(each) for each in arguments_of(plain.launch, plain.spec)]
        args = {"args": [*given, *plain.added, *extra]}
    launched = LaunchStep.model_validate(
        {"launch": plain.launch.launch, "grid": list(grid), "block": list(block), **args}
    )
    steps = list(plain.plan.steps)
    steps[plain.step : plain.step + 1] = [
        launched,
        *(LaunchStep.model_validate(each) for each in more),
    ]
    found = plan_json(plain.plan.model_copy(update={"steps": tuple(steps)}))
    if defines:
        found["defines"] = {**found.get("defines", {}), **defines}
    if buffers:
        found["buffers"] = {**found.get("buffers", {}), **buffers}
    return found


def _dumped(arg: Any) -> Any:
    return arg if isinstance(arg, str) or arg is None else arg.model_dump(mode="json")


def plan_text(expr: Expr, plain: Plain) -> str:
    """An integer over the kernel's parameters as an expression of a plan. Raises Unwritable."""
    match expr:
        case Number(value):
            return str(value)
        case Name(name) if name in plain.sizes:
            text = str(plain.sizes[name])
            return text if text.isidentifier() or text.isdigit() else f"({text})"
        case Sum(terms):
            words = [
                " * ".join([str(number), *(plan_text(each, plain) for each in factors)])
                for factors, number in terms
            ]
            return f"({' + '.join(words)})".replace("(1 * ", "(").replace(" 1 * ", " ")
        case Call("div", (left, right)):
            return f"({plan_text(left, plain)} // {plan_text(right, plain)})"
        case _:
            raise Unwritable("a number of places that no plan can tell")


def condition(needs: Iterable[Expr], width: int, writer: Writer) -> list[str]:
    """The tests that sizes are multiples of a width."""
    return [f"{writer.text(each, inside=True)} % {width} == 0" for each in needs]


def chosen(tests: list[str], way: Callable[[int], list[str]], lanes: int) -> list[str]:
    """Vectors where the sizes are multiples of them, else single elements."""
    if not tests:
        return [f"    {line}" for line in way(lanes)]
    return [
        f"    if ({' && '.join(tests)}) {{",
        *(f"        {line}" for line in way(lanes)),
        "    } else {",
        *(f"        {line}" for line in way(1)),
        "    }",
    ]


def written(plain: Plain) -> frozenset[str]:
    """Arrays that the kernel writes."""
    return frozenset(
        s.array for s in statements_in(plain.lifted.body) if isinstance(s, Store | Scatter)
    )
