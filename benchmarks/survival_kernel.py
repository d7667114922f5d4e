"""The kernel that the survival benchmark spoils, on the host and in CUDA, and honest variants.

An honest variant does a twelfth of the baseline's work and has machine code of its own by a tag,
so that nothing that is known already answers for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import Variant
from kernelwright.runners.specs.normalise import source_key
from kernelwright.store.records import VariantRecord

HOST_SOURCE = """\
#ifndef REPEAT
#define REPEAT 12
#endif

void lift(const float* x, float* y, int n) {
    for (int r = 0; r < REPEAT; ++r)
        for (int i = 0; i < n; ++i) {
            volatile float kept = x[i];
            y[i] = 2.0f * kept + 1.0f;
        }
}
"""
HOST_BODY = HOST_SOURCE[HOST_SOURCE.index("    for (int r") :]
DEVICE_SOURCE = """\
#ifndef REPEAT
#define REPEAT 12
#endif

extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int r = 0; r < REPEAT; ++r) {
            volatile float* out = y;
            out[i] = 2.0f * x[i] + 1.0f;
        }
}
"""
DEVICE_BODY = DEVICE_SOURCE[DEVICE_SOURCE.index("    if (i < n)") :]
REFERENCE = "def reference(x, n):\n    return 2 * x + 1\n"
SIZES = {"native": 20000, "device": 1 << 22}
WRONG = ("+ 1.0f;", "+ 1.01f;")


@dataclass(frozen=True)
class Subject:
    """A loaded kernel with the place in its source where faults go."""

    loaded: LoadedKernel
    source: str
    body: str

    @classmethod
    def of(cls, tier: str, folder: Path, size: int = 0) -> Subject:
        """The kernel of a tier, on so many elements; 0: as many as are timed well."""
        size = size or SIZES[tier]
        source = HOST_SOURCE if tier == "native" else DEVICE_SOURCE
        body = HOST_BODY if tier == "native" else DEVICE_BODY
        return cls(load_data(_spec(tier, source, size), folder, Roots([folder])), source, body)

    def spoiled(self, line: str, above: str = "", tag: int = 0) -> str:
        """The source with one statement before its work, and lines at its top."""
        return above + self.source.replace(self.body, f"    {line}\n{self._tagged(tag)}")

    def variant(self, source: str, **changes: Any) -> VariantRecord:
        """A variant with another source; `parameters` and other fields as given."""
        base: Variant = self.loaded.baseline()
        kind = self.loaded.spec.kernel.kernel_type
        content = {"source": source, "source_key": source_key(source, kind), **changes}
        made = base.model_copy(update=content)
        return VariantRecord(variant=made, parent=base.variant_id, method="by_hand")

    def with_reference(self, source: str) -> LoadedKernel:
        """Another kernel: the same source, and a truth that fails."""
        spec = self.loaded.spec.model_dump(mode="json", exclude_none=True)
        changed = {**spec, "reference": {"source_code": source}}
        folder = Path.cwd()
        return load_data(changed, folder, Roots([folder]))

    def honest(self, tag: int) -> VariantRecord:
        """Right and faster than the baseline; another one for each tag."""
        source = self.source.replace(self.body, self._tagged(tag))
        return self.variant(source, parameters={"REPEAT": 1})

    def wrong(self, tag: int) -> VariantRecord:
        """An honest one that computes something else."""
        source = self.source.replace(self.body, self._tagged(tag)).replace(*WRONG)
        return self.variant(source, parameters={"REPEAT": 1})

    def _tagged(self, tag: int) -> str:
        return f"    if (n == -{tag + 1}) y[0] = {tag}.0f;\n{self.body}"


def _spec(tier: str, source: str, size: int) -> dict[str, Any]:
    kernel: dict[str, Any] = {
        "kernel_type": "cpp" if tier == "native" else "cuda",
        "source_code": source,
        "metadata": {"kernel_name": "lift"},
    }
    if tier == "device":
        kernel["launch"] = {"grid": ["cdiv(n, 256)"], "block": [256]}
    return {
        "name": "lift",
        "kernel": kernel,
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ],
            "bytes": "8 * n",
            "flops": "2 * n",
        },
        "symbols": {"n": {"min": 1, "max": 1 << 26}},
        "workloads": [{"name": "usual", "symbols": {"n": size}}],
        "parameters": {"REPEAT": {"values": [12, 1]}},
        "reference": {"source_code": REFERENCE},
    }
