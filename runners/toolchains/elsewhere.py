"""What of a variant decides how it launches at shapes that it was not built for.

Machine code and the plans of an artifact say all at the shapes of a build. Two variants that agree
there may launch otherwise elsewhere: a grid that fits the known sizes alone has the machine code of
an honest one, and a verdict on either says nothing of the other.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from ..inferring.triton_signature import is_jit
from ..plans.declared_plan import declared_plan
from ..plans.launch_in_force import launch_in_force, names_used, written
from .base import BuildRequest

_WORD = re.compile(r"[A-Za-z_]\w*")


def launches(request: BuildRequest) -> Any:
    """The launching part of a variant: equal ones launch alike at every shape, as far as device
    code does not tell them apart."""
    language, variant = request.kernel.spec.kernel.language, request.variant
    if language.launches_itself:
        kernel = request.kernel.spec.kernel
        text = _without_device_code(variant.source)
        launch = launch_in_force(kernel, variant.plan)
        words = {*_WORD.findall(text)}
        if launch is not None:
            words |= names_used(launch)
            if launch != kernel.launch:
                text += json.dumps(written(launch), sort_keys=True)
        return [text, _named(variant.parameters, words)]
    if language.planned:
        declared = declared_plan(request.kernel.spec.kernel, variant.plan)
        text = json.dumps(declared.model_dump(mode="json", exclude={"defines"}), sort_keys=True)
        words = {*_WORD.findall(text)}
        defines = {n: v for n, v in declared.defines.items() if n in words}
        return [text, defines, _named(variant.parameters, words)]
    return ["", {}]


def _named(parameters: Any, words: set[str]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name in words}


def _without_device_code(source: str) -> str:
    """A Triton module as a tree, without what its device functions do; comments and layout do not
    count. A source that does not parse counts as it is."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return source
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and is_jit(node):
            node.body = [ast.Pass()]
    return ast.dump(tree)
