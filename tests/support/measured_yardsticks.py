"""A script that runs the yardsticks of the folders it is given, beside their references."""

from __future__ import annotations

YARDSTICK = """
import importlib, json, runpy, sys
import numpy as np
from pathlib import Path
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.loading.files import parse_spec

torch = importlib.import_module("torch")
for path in map(Path, sys.argv[1:]):
    file = path / "spec.json" if path.is_dir() else path
    spec, folder = parse_spec(json.loads(file.read_text())), file.parent
    bound = bind(spec.io, dict(zip(spec.symbols, (33, 17, 29, 5))), "small")
    given = {b.name: b.value for b in bound.arguments if b.argument.role == "scalar"}
    given |= make_inputs(bound, 5)
    expected = runpy.run_path(str(folder / "reference.py"))["reference"](**given)
    tensors = {}
    for name, value in given.items():
        tensors[name] = torch.from_numpy(value.copy()) if hasattr(value, "shape") else value
    for output in bound.outputs:
        dtype = getattr(torch, output.argument.dtype)
        tensors.setdefault(output.name, torch.empty(output.shape, dtype=dtype))
    found = runpy.run_path(str(folder / "yardstick.py"))["yardstick"](**tensors)
    np.testing.assert_allclose(found.numpy(), expected, rtol=4e-3, atol=4e-3, err_msg=folder.name)
"""
